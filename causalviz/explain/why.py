"""One sentence on why a document stands where it stands; assets/view/why.js says the same in the page.

It relies on one fact: candidate j can only fall behind i although it is at least as similar if i's causal score is
strictly higher (or j was put last for lack of keywords). So "closer than what is left of those it passed" holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from causalviz.explain.why_facts import Facts, facts
from causalviz.rank import Ranking
from causalviz.records import RankSettings, Trace

NAMED = 3
"""Keywords named in a list before it trails off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A piece of the sentence: plain text, or a keyword and the set it is in."""

    text: str
    set: Literal["A", "B", "Q"] | None = None
    """Q: the question's own keyword that one of A is close to."""


def why_sentence(trace: Trace, ranking: Ranking, settings: RankSettings, index: int) -> str:
    """Say in plain words why a document stands where it stands.

    Args:
        trace: What was ranked.
        ranking: ``rank.rerank`` of it under ``settings``.
        settings: Likewise.
        index: The document's place in baseline order.

    Raises:
        ParameterError: there is no such candidate.
    """
    return "".join(part.text for part in why_parts(trace, ranking, settings, index))


def why_parts(trace: Trace, ranking: Ranking, settings: RankSettings, index: int) -> tuple[Part, ...]:
    """As ``why_sentence``, in parts, so that keywords can be coloured."""
    f = facts(trace, ranking, settings, index)
    if f.candidates == 1:
        return (_text("The only candidate: there is no other document to rank it against."),)
    told = [_text(_lead(f)), *_body(f)]
    if f.ties:
        told.append(
            _text(
                f" Its final score equals that of {_some(f.ties)}; equal scores keep the order by similarity."
            )
        )
    return tuple(told)


def _text(text: str) -> Part:
    return Part(text=text)


def _documents(n: int) -> str:
    return "the document" if n == 1 else f"the {n} documents"


def _some(n: int) -> str:
    return "1 document" if n == 1 else f"{n} documents"


def _terms(keywords: Sequence[str], side: Literal["A", "B"]) -> list[Part]:
    parts: list[Part] = []
    for keyword in keywords[:NAMED]:
        if parts:
            parts.append(_text(", "))
        parts.append(Part(text=keyword, set=side))
    if len(keywords) > NAMED:
        parts.append(_text(", …"))
    return parts


def _close(f: Facts) -> list[Part]:
    """Name keywords of A that are not the question's own, each with the one it is close to."""
    parts: list[Part] = []
    for keyword, match in f.close[:NAMED]:
        if parts:
            parts.append(_text(", "))
        parts += [Part(text=keyword, set="A"), _text(" ≈ "), Part(text=match, set="Q")]
    if len(f.close) > NAMED:
        parts.append(_text(", …"))
    return parts


def _lead(f: Facts) -> str:
    if f.before > f.now:
        return f"Moved up {f.before - f.now}"
    if f.before < f.now:
        return f"Moved down {f.now - f.before}"
    return f"Stays at rank {f.now}"


def _body(f: Facts) -> list[Part]:
    if f.settings.method == "similarity":
        return [_text(": ranked by similarity alone, the keywords play no part.")]
    if f.settings.method == "cross-encoder":
        return [_text(_cross_encoder(f))]
    if f.settings.method == "guarded":
        return _guarded(f)
    if f.empty:
        return _without_rest(f)
    if f.settings.method == "hybrid" and f.settings.alpha == 1:
        return [_text(_only_similarity(f))]
    told = _moved_up(f) if f.before > f.now else _moved_down(f) if f.before < f.now else _stayed(f)
    if f.against and f.pulling:
        told += [_text(" Pulling the other way: "), *_terms(f.against, "B"), _text(".")]
    return told


def _set_aside(f: Facts) -> list[Part]:
    if not f.shared:
        return [_text("words close to the question’s ("), *_close(f), _text(")")]
    shared = [_text("the words it shares with the question ("), *_terms(f.shared, "A"), _text(")")]
    if not f.close:
        return shared
    return [*shared, _text(" or that are close to its words ("), *_close(f), _text(")")]


def _subject(f: Facts) -> list[Part]:
    """What was set aside and what is left: the subject of most sentences."""
    left = [*_terms(f.left, "B"), _text(")")]
    if not f.shared and not f.close:
        none = (
            "it holds none of the question’s own keywords"
            if f.settings.mode == "exact"
            else "it shares no keyword with the question"
        )
        return [_text(f"{none}, so nothing was set aside; what it says ("), *left]
    return [*_set_aside(f), _text(" were set aside, and what is left ("), *left]


def _compared(f: Facts, whom: str, *, better: bool) -> str:
    """How what is left compares with the documents it changed places with."""
    if f.filled_in:
        return f" has a {'higher' if better else 'lower'} causal score than {whom}"
    theirs = f"what is left of {whom}"
    if f.vanished:
        return f" cancels out (causal score 0), {'still more' if better else 'less'} than {theirs}"
    if better and not f.pulling:
        return f" does not point towards the question, yet {theirs} points further away"
    return f" is {'closer' if better else 'less close'} to the question than {theirs}"


def _drifted(f: Facts, word: str, whom: str, reason: str, rest: str) -> list[Part]:
    """It rose or fell although its causal rank is on the other side of its similarity rank."""
    own = f"Its own is no {word} placed (causal rank {f.causal_rank}, similarity rank {f.before})"
    return [
        _text(f" because others {whom}, with a {reason} causal score. {own}{rest}: "),
        *_subject(f),
        _text(" cancels out." if f.vanished else " is what counts."),
    ]


def _moved_up(f: Facts) -> list[Part]:
    back = f"; {_some(f.overtaken)} passed it in turn" if f.overtaken else ""
    has, its = ("has", "its") if f.passed_last == 1 else ("have", "their")
    ownless = f"{_some(f.passed_last)} above it {has} no keyword of {its} own and went last"
    if not f.passed:
        tail = " cancels out." if f.vanished else f" has causal rank {f.causal_rank} of {f.candidates}."
        lead = _text(f" only because others moved: {ownless}{back}. For its part, ")
        return [lead, *_subject(f), _text(tail)]
    rest = (f"; {ownless}" if f.passed_last else "") + back
    if f.causal_rank >= f.before:
        return _drifted(f, "better", f"fell: it passed {_some(f.passed)}", "lower", rest)
    comparison = _compared(f, f"{_documents(f.passed)} it passed", better=True)
    return [_text(": "), *_subject(f), _text(f"{comparison}{rest}.")]


def _moved_down(f: Facts) -> list[Part]:
    up = f.passed + f.passed_last
    back = f"; it passed {_some(up)} in turn" if up else ""
    if f.causal_rank <= f.before:
        return _drifted(f, "worse", f"rose: {_some(f.overtaken)} passed it", "higher", back)
    comparison = _compared(f, f"{_documents(f.overtaken)} that passed it", better=False)
    return [_text(": "), *_subject(f), _text(f"{comparison}{back}.")]


def _stayed(f: Facts) -> list[Part]:
    up = f.passed + f.passed_last
    places = (
        f", and it passed {_some(up)} while {_some(f.overtaken)} passed it"
        if up
        else ", and no document changes places with it"
    )
    score = (
        "cancels out (causal score 0)"
        if f.vanished
        else f"gives it causal rank {f.causal_rank} of {f.candidates}"
    )
    return [_text(": "), *_subject(f), _text(f" {score}{places}.")]


def _all_in_a(f: Facts) -> list[Part]:
    close = [*_close(f), _text(")")]
    if not f.shared:
        return [_text(": every keyword it has ("), *close, _text(" is close to one of the question’s")]
    shared = [*_terms(f.shared, "A"), _text(")")]
    if not f.close:
        return [_text(": every keyword it has ("), *shared, _text(" is shared with the question")]
    return [
        _text(": every keyword it has is shared with the question ("),
        *shared,
        _text(" or close to one of the question’s ("),
        *close,
    ]


def _without_rest(f: Facts) -> list[Part]:
    """B is empty: nothing of its own is left to compare with the question."""
    if f.keywords:
        cause = [*_all_in_a(f), _text(", so nothing of its own is left to compare; ")]
    else:
        cause = [_text(": no keyword could be drawn from its text, so there is nothing to compare; ")]
    if f.last:
        rule = (
            "that holds for every candidate, so the order by similarity stands."
            if f.all_empty
            else "such documents go last."
        )
        return [*cause, _text(rule)]
    compared = []
    if f.passed and f.settings.method != "guarded":
        compared.append(f"higher than that of {_documents(f.passed)} it passed")
    if f.overtaken and f.settings.method != "guarded":
        compared.append(f"lower than that of {_documents(f.overtaken)} that passed it")
    tail = f", {' and '.join(compared)}" if compared else ""
    return [*cause, _text(f"it keeps its similarity in place of a causal score{tail}.")]


def _guarded(f: Facts) -> list[Part]:
    """By the guard only suspected documents fall; the others rise past them or stay."""
    passed = f.passed + f.passed_last
    if not f.suspect:
        keeps = "its similarity counts, and its keywords play no part."
        if not passed:
            return [_text(f": it is not suspected of stuffing, so {keeps}")]
        return [
            _text(
                f" only because {_some(passed)} above it, suspected of stuffing, fell. It is not suspected itself: "
                f"{keeps}"
            )
        ]
    why = f": it is suspected of stuffing{', for ' if f.reason else ''}{f.reason}"
    ranks = f"its causal rank ({f.causal_rank} of {f.candidates}) is"
    if f.causal_rank <= f.before:
        rose = f"; it rose because {_some(passed)} above it, also suspected, fell" if passed else ""
        return [
            _text(
                f"{why}. But {ranks} no lower than its rank by similarity ({f.before}), so it keeps its "
                f"similarity{rose}."
            )
        ]
    cause = "as other suspected documents fell too" if f.now < f.causal_rank else "behind others as similar"
    place = "" if f.now == f.causal_rank else f" (rank {f.now}, {cause})"
    lead = f"{why}. And {ranks} lower than its rank by similarity ({f.before}), so it takes that place{place}"
    told = [_text(lead)]
    if f.empty:
        return [*told, *_without_rest(f)]
    tail = " cancels out (causal score 0)." if f.vanished else " makes its causal score."
    return [*told, _text(": "), *_subject(f), _text(tail)]


def _cross_encoder(f: Facts) -> str:
    if f.crossed:
        return ": ranked by the cross-encoder’s score alone, the keywords play no part."
    if f.any_crossed:
        return ": the cross-encoder gave it no score; such documents go last."
    return ": the cross-encoder gave no candidate a score, so the order by similarity stands."


def _only_similarity(f: Facts) -> str:
    if not f.passed_last:
        return ": all weight is on similarity, so the keywords change nothing here."
    return (
        ": all weight is on similarity, so only documents without a keyword of their own change places: "
        f"{_some(f.passed_last)} went last."
    )
