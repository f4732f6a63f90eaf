"""What each sentence of an answer rests on: a rule that a person can check by eye.

Support of a sentence by sources = share of its content words that occur in them. A sentence is supported from SUPPORT
on, unless it holds a number that the sources do not hold: a wrong number in the right words is the costliest mistake.
Only words are compared, so a true paraphrase in quite other words counts as unsupported, and a false sentence in the
source's own words as supported.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import regex

from causalviz.answer.sentences import sentences
from causalviz.keywords import Token

SUPPORT = 0.5
"""Least share of content words. Of the sample's own sentences, 14 % find as many in the best of the seven other
documents of their theme: words that a theme shares make support look a little better than it is."""

Kind = Literal["cited", "uncited", "elsewhere", "unsupported", "nothing"]

_CITATION = regex.compile(r"\[(\d+(?:\s*[,，、]\s*\d+)*)\]|【(\d+)】")


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportedSentence:
    """One sentence of an answer."""

    start: int
    end: int
    """Its half-open range in the answer."""
    kind: Kind
    """What was found: "cited", the sources it cites support it; "uncited", it cites none, one supports it;
    "elsewhere", another source than those it cites supports it; "unsupported"; "nothing", it holds no content word."""
    sources: tuple[int, ...]
    """Numbers of the sources that support it, or come nearest to it."""
    share: float
    """Share of its content words that these sources hold."""
    missing: tuple[str, ...]
    """Its content words that they do not hold, in reading order."""
    numbers: tuple[str, ...]
    """Those of them that hold a digit: with one, a sentence is never supported."""
    unknown: tuple[int, ...]
    """Numbers it cites that no source has."""


Words = Callable[[str], Sequence[Token]]


def check_support(answer: str, sources: Mapping[int, str], words: Words) -> list[SupportedSentence]:
    """Link every sentence of an answer to the source that supports it.

    A sentence that cites sources is held against these together, then against every other one; a sentence that cites
    none against every one, of equal ones the first.

    Args:
        answer: As the model wrote it, with citations such as [1] or [1, 2].
        sources: Text by number.
        words: Content words of a text.
    """
    held = {number: frozenset(token.term for token in words(text)) for number, text in sources.items()}
    return [_check(answer, start, end, held, words) for start, end in sentences(answer)]


def _check(
    answer: str, start: int, end: int, held: Mapping[int, frozenset[str]], words: Words
) -> SupportedSentence:
    sentence = answer[start:end]
    cited = _cited(sentence)
    known = tuple(number for number in cited if number in held)
    terms = list(dict.fromkeys(token.term for token in words(_CITATION.sub(" ", sentence))))

    def made(kind: Kind, numbers: tuple[int, ...]) -> SupportedSentence:
        missing = tuple(term for term in terms if not any(term in held[number] for number in numbers))
        return SupportedSentence(
            start=start,
            end=end,
            kind=kind,
            sources=numbers,
            share=1 - len(missing) / len(terms) if terms else 0.0,
            missing=missing,
            numbers=tuple(term for term in missing if regex.search(r"\p{N}", term)),
            unknown=tuple(number for number in cited if number not in held),
        )

    if not terms:
        return made("nothing", known)
    together = made("cited", known)
    if known and _supported(together):
        return together
    alone = [made("elsewhere" if cited else "uncited", (number,)) for number in held]
    best = max(alone, key=lambda found: (_supported(found), found.share), default=None)
    if best is not None and _supported(best):
        return best
    if known or best is None:
        return made("unsupported", known)
    return made("unsupported", best.sources if best.share > 0 else ())


def _supported(found: SupportedSentence) -> bool:
    return found.share >= SUPPORT and not found.numbers


def _cited(sentence: str) -> tuple[int, ...]:
    numbers = (
        int(number) for match in _CITATION.finditer(sentence) for number in regex.findall(r"\d+", match[0])
    )
    return tuple(dict.fromkeys(numbers))
