"""Make keyword-stuffed distractors out of off-topic documents, to see which ranking they fool."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from math import ceil

import regex

from causalviz.errors import ParameterError

# A full stop inside a number or a name (3.5, node.js) ends no sentence; a closing quote belongs to the one before it.
_SENTENCE_END = regex.compile(r"""[。！？][”’」』）]*+ | [.!?]["'”’)\]]*+(?=\s|$) | \n""", regex.VERBOSE)
_HAN = regex.compile(r"\p{Han}")
_BLOCK = 6
"""How often "list" repeats every keyword."""
_HEAVY = 2
"""Characters of keywords in "heavy" for each one of the text, at least."""

Related = Mapping[str, Sequence[str]]
"""Words near in meaning, by keyword."""
_Write = Callable[[str, Sequence[str], str, random.Random], str]
"""Takes the query, its keywords, an off-topic text and a source of randomness."""


def _listed(query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    return f"{query}\n{_shuffled(terms, _BLOCK, draw)}\n{text}"


def _woven(query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    pieces = []
    for sentence in _sentences(text):
        some = draw.sample(list(terms), min(3, len(terms)))
        pieces.append(f"{sentence} {' '.join(some)}")
    return f"{query} {' '.join(pieces)}"


def _titled(query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    words = draw.sample(list(terms), len(terms))
    return f"{query}\n{' | '.join(words)}\n\n{text}"


def _light(_query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    places: list[list[str]] = [[sentence] for sentence in _sentences(text)]
    for term in terms:
        for _ in range(draw.randint(1, 2)):
            draw.choice(places).append(term)
    return " ".join(piece for place in places for piece in place)


def _heavy(_query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    sentences = _sentences(text)
    once = sum(len(term) for term in terms) * (len(sentences) + 1)
    times = ceil(_HEAVY * len(text) / once)
    blocks = [_shuffled(terms, times, draw) for _ in range(len(sentences) + 1)]
    return "\n".join(
        [blocks[0], *(part for pair in zip(sentences, blocks[1:], strict=True) for part in pair)]
    )


def _phrases(query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    sentences = _sentences(text)
    templates, and_ = (_CHINESE, "和") if _HAN.search(query) else (_ENGLISH, " and ")
    order = draw.sample(list(terms), len(terms))
    pairs = [and_.join(order[i : i + 2]) for i in range(0, len(order), 2)]
    count = max(len(sentences), len(pairs))
    wording = islice(cycle(draw.sample(templates, len(templates))), count)
    phrases = [template.format(pair) for template, pair in zip(wording, cycle(pairs), strict=False)]
    mixed = [part for pair in zip(sentences, phrases, strict=False) for part in pair]
    return " ".join(mixed + phrases[len(sentences) :])


_ENGLISH = (
    "This page explains {} in detail.",
    "Many readers ask about {}.",
    "Here is what you should know about {}.",
    "We have collected the latest news on {}.",
    "Experts agree that it all comes down to {}.",
    "If you are looking for {}, you are in the right place.",
    "Our guide to {} is updated every week.",
    "There is a lot to say about {}, so read on.",
)
_CHINESE = (
    "本文为您详细介绍{}。",
    "很多读者都在问{}的问题。",
    "想了解{}，请继续往下看。",
    "这里整理了{}的最新资料。",
    "专家认为，{}值得每个人关注。",
    "关于{}，下面逐一解答。",
    "我们的{}指南每周更新。",
    "欢迎留言，一起讨论{}。",
)

_EXACT: dict[str, _Write] = {
    "list": _listed,
    "woven": _woven,
    "title": _titled,
    "light": _light,
    "heavy": _heavy,
    "phrases": _phrases,
}
DEVELOPMENT = ("list", "woven", "title")
"""Styles that rules and thresholds may be fitted on."""
HELD_OUT = ("light", "heavy", "synonyms", "phrases")
"""Styles nothing is ever fitted on: what a rule does against them is what it does against stuffing it has not seen."""


def stuff(  # noqa: PLR0913 - what a text is made of, and one more for one style
    query: str, terms: Sequence[str], text: str, style: str, seed: int, *, related: Related | None = None
) -> str:
    """Stuff an off-topic text with a query's keywords, in Chinese or English.

    Args:
        query: The question itself; in "list", "woven", "title" and "synonyms" it opens the text, as stuffed pages do in
            their heading.
        terms: The question's keywords, at least one.
        text: What the page is really about; not empty.
        style: One of DEVELOPMENT or HELD_OUT.
            "list" puts the keywords six times in one block above the text;
            "woven" puts three after each sentence;
            "title" puts each once in a line below the question and leaves the text as it is;
            "light" puts each once or twice after sentences drawn at random;
            "heavy" puts blocks of them before, between and after the sentences, at least twice as long as the text;
            "synonyms" is "woven" with related words instead of the keywords;
            "phrases" puts a fluent sentence about one or two of them after each sentence, in the question's language.
        seed: Same seed, same text.
        related: For "synonyms", which alone needs it; a keyword it has no word for stands for itself.

    Raises:
        ParameterError: the style is unknown, there are no keywords or no text, or "synonyms" is given no related words.
    """
    if style not in (*DEVELOPMENT, *HELD_OUT):
        raise ParameterError(
            f"there is no stuffing style '{style}'; choose one of: {', '.join((*DEVELOPMENT, *HELD_OUT))}."
        )
    if not terms or not text.strip():
        raise ParameterError(
            f"there are {len(terms)} keywords and {len(text.strip())} characters of text, but stuffing takes some of "
            "both; leave this query or document out."
        )
    draw = random.Random(seed)  # noqa: S311 - a reproducible draw, no secret
    if style in _EXACT:
        return _EXACT[style](query, terms, text, draw)
    if related is None:
        raise ParameterError(
            "style 'synonyms' was given no related words, but writes nothing else; pass them by keyword."
        )
    return _woven(query, _instead(terms, related), text, draw)


def _instead(terms: Sequence[str], related: Related) -> list[str]:
    """Every keyword's related words, or itself where it has none."""
    return list(dict.fromkeys(word for term in terms for word in related.get(term) or [term]))


def _shuffled(terms: Sequence[str], times: int, draw: random.Random) -> str:
    words = list(terms) * times
    draw.shuffle(words)
    return " ".join(words)


def _sentences(text: str) -> list[str]:
    pieces, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        pieces.append(text[start : end.end()].strip())
        start = end.end()
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]
