"""Make keyword-stuffed distractors out of off-topic documents, to see which ranking they fool."""

import random
from collections.abc import Callable, Sequence

from causalviz.errors import ParameterError

SENTENCE_ENDS = "。！？.!?\n"


def _listed(query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    words = list(terms) * 6
    draw.shuffle(words)
    return f"{query}\n{' '.join(words)}\n{text}"


def _woven(query: str, terms: Sequence[str], text: str, draw: random.Random) -> str:
    pieces = []
    for sentence in _sentences(text):
        some = draw.sample(list(terms), min(3, len(terms)))
        pieces.append(f"{sentence} {' '.join(some)}")
    return f"{query} {' '.join(pieces)}"


STYLES: dict[str, Callable[[str, Sequence[str], str, random.Random], str]] = {
    "list": _listed,
    "woven": _woven,
}
"""Each takes the query, its keywords, an off-topic text and a source of randomness."""


def stuff(query: str, terms: Sequence[str], text: str, style: str, seed: int) -> str:
    """Stuff an off-topic text with a query's keywords.

    Args:
        query: The question itself; it opens the text, as stuffed pages do in their heading.
        terms: The question's keywords.
        text: What the page is really about.
        style: "list" puts the keywords six times in one block above the text; "woven" puts three after each sentence.
        seed: Same seed, same text.

    Raises:
        ParameterError: the style is unknown.
    """
    if style not in STYLES:
        raise ParameterError(f"there is no stuffing style '{style}'; choose one of: {', '.join(STYLES)}.")
    return STYLES[style](query, terms, text, random.Random(seed))  # noqa: S311 - a reproducible draw, no secret


def _sentences(text: str) -> list[str]:
    pieces, start = [], 0
    for i, character in enumerate(text):
        if character in SENTENCE_ENDS:
            pieces.append(text[start : i + 1].strip())
            start = i + 1
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]
