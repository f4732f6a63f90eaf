"""The part of a report that needs no JavaScript: both rankings, every document explained, how the report was made."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from causalviz.explain.suspicion import verdict
from causalviz.explain.why import why_sentence
from causalviz.rank import Ranking
from causalviz.records import Trace
from causalviz.trace import VERSION

REMARK = "The causal graph motivates the rule; the causal score is not an estimated causal effect (Remark 1)."
WHERE_IT_HURTS = (
    "The method guards against documents that repeat the question; it is no general improvement. Where answers are "
    "written in the question’s own words, setting these words aside removes the signal: on SciFact the paper reports "
    "nDCG@10 falling from 0.642 to 0.157 for the causal score, and to 0.550 for the hybrid."
)
WITH_TEXTS = "The candidates’ texts are part of this file, long ones up to a limit that the page tells."
WITHOUT_TEXTS = (
    "No document text is part of this file, and no title, which may be a document’s first line; ids and keywords of "
    "the candidates are."
)

_NAMED = 6
"""Keywords of each set named in the ranking table."""
_SHORT = 80
"""Characters of a question in the window's title and in the chooser."""
_METHODS = {
    "similarity": "similarity alone",
    "causal": "the causal score",
    "hybrid": "the hybrid of similarity and causal score",
    "guarded": "similarity, except that a document suspected of stuffing takes its causal rank where that is lower",
    "cross-encoder": "the cross-encoder alone",
}
_EMPTY_B = {"last": "go last", "fallback": "keep their similarity as causal score"}

Cells = Sequence[str]
"""HTML, ready to be laid out."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Question:
    """A trace as it was ranked when it was asked."""

    trace: Trace
    ranking: Ranking
    chosen: int | None
    """The candidate explained first."""


def escaped(value: object) -> str:
    """Return text that means nothing as markup, in an element or a quoted attribute."""
    return html.escape(str(value))


def shortened(text: str) -> str:
    """Cut a question to a title's length."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def chooser(questions: Sequence[Question]) -> str:
    """Link to each of several questions; nothing for one."""
    if len(questions) == 1:
        return ""
    links = (
        f'<li><a href="#q{number}">{_foreign(shortened(q.trace.query))}</a></li>'
        for number, q in enumerate(questions, start=1)
    )
    return f'<nav class="rp-chooser" aria-label="Questions"><ol>{"".join(links)}</ol></nav>'


def section(q: Question, number: int) -> str:
    """Lay out one question: a place for the live view, and its tables."""
    warnings = "".join(f"<li>{_foreign(warning)}</li>" for warning in q.trace.warnings)
    explained = "".join(_explained(q, i) for i in q.ranking.order.tolist())
    return (
        f'<section class="rp-question" id="q{number}"><h2>{_foreign(q.trace.query)}</h2>'
        f'<div class="rp-view"></div><div class="rp-static"><p class="rp-settings">{_settings(q.trace)}</p>'
        + (f'<ul class="rp-warnings">{warnings}</ul>' if warnings else "")
        + (_rankings(q) if q.trace.candidates else "<p>No document passed the threshold.</p>")
        + (f"<h3>Why documents stand where they stand</h3>{explained}" if explained else "")
        + '<p class="rp-now"></p></div></section>'
    )


def how_made(questions: Sequence[Question], software: str, *, with_texts: bool) -> str:
    """Tell how the report was made and what the method is not.

    Args:
        questions: All of the report.
        software: Name, version, date.
        with_texts: Whether document text is in the file.
    """
    rows = [
        [
            _foreign(shortened(t.query)),
            f"{_foreign(t.knowledge_base)}<br><small>fingerprint {_foreign(t.fingerprint)}</small>",
            escaped(t.encoder) + (", centred" if t.centred else ""),
            escaped("not computed" if t.reranker is None else t.reranker),
            str(t.settings.tau),
            str(t.settings.alpha),
            escaped(f"{t.settings.method}, {t.settings.mode}"),
            escaped(f"at most {t.top_k} of {t.documents} {t.unit}s, similarity at least {t.theta:g}"),
        ]
        for t in (q.trace for q in questions)
    ]
    columns = (
        "question",
        "knowledge base",
        "encoder",
        "cross-encoder",
        "tau",
        "alpha",
        "method, mode",
        "candidates",
    )
    facts = {
        "Made by": escaped(f"{software}; traces of version {VERSION}"),
        "Document text": WITH_TEXTS if with_texts else WITHOUT_TEXTS,
        "What it is not": REMARK,
        "Where it hurts": WHERE_IT_HURTS,
    }
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items())
    return (
        _table("rp-runs", "Settings the questions were asked with", columns, rows, {4, 5})
        + f"<dl>{listed}</dl>"
    )


def _foreign(value: object) -> str:
    """Text of unknown language and direction, kept apart from what surrounds it."""
    return f"<bdi>{escaped(value)}</bdi>"


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "none"


def _title(trace: Trace, i: int) -> str:
    candidate = trace.candidates[i]
    return candidate.title.strip() or candidate.id


def _settings(trace: Trace) -> str:
    s = trace.settings
    absorption = (
        f"absorption threshold tau {s.tau}"
        if s.mode == "semantic"
        else "exact absorption (tau plays no part)"
    )
    keywords = ", ".join(_foreign(keyword.term) for keyword in trace.query_keywords) or "none"
    return (
        f"Ranked by {_METHODS[s.method]}; {absorption}; hybrid weight alpha {s.alpha}; documents of query keywords "
        f"only {_EMPTY_B[s.empty_b]}. Keywords of the question: {keywords}."
    )


def _table(kind: str, caption: str, columns: Sequence[str], rows: Iterable[Cells], numbers: set[int]) -> str:
    """Lay out a table; the columns of ``numbers`` are aligned to the right."""
    mark = [' class="rp-number"' if column in numbers else "" for column in range(len(columns))]
    head = "".join(f'<th scope="col"{m}>{escaped(name)}</th>' for name, m in zip(columns, mark, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{m}>{cell}</td>' for cell, m in zip(cells, mark, strict=True))}</tr>"
        for cells in rows
    )
    return (
        f'<div class="rp-scroll"><table class="{kind}"><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _rankings(q: Question) -> str:
    columns = (
        "rank", "by similarity", "moved", "document", "similarity", "causal score", "final score",
        "shared with the question (A)", "the rest (B)", "guarded rank", "suspected of stuffing",
        *(["cross-encoder rank", "its score"] if q.trace.reranker is not None else []),
    )  # fmt: skip
    rows = [_standing(q, i) for i in q.ranking.order.tolist()]
    caption = f"Both rankings of {len(rows)} candidates, of {q.trace.documents} {q.trace.unit}s searched"
    return _table("rp-ranking", caption, columns, rows, {0, 1, 4, 5, 6, 9, 11, 12})


def _standing(q: Question, i: int) -> Cells:
    candidate, ranking, title = q.trace.candidates[i], q.ranking, _title(q.trace, i)
    moved = int(ranking.similarity_rank[i] - ranking.rank[i])
    shared = [term for j, term in enumerate(candidate.terms) if ranking.in_a[i, j]]
    rest = [term for j, term in enumerate(candidate.terms) if not ranking.in_a[i, j]]
    return [
        str(ranking.rank[i]),
        str(ranking.similarity_rank[i]),
        f"▲ {moved}" if moved > 0 else f"▼ {-moved}" if moved < 0 else "=",
        f"<strong>{_foreign(title)}</strong>"
        + (f"<br><small>{_foreign(candidate.id)}</small>" if candidate.id != title else ""),
        _number(candidate.similarity),
        _number(float(ranking.causal[i])),
        _number(float(ranking.final[i])),
        _named(shared) or "none",
        _named(rest) or ("nothing but query keywords" if shared else "no keywords at all"),
        str(ranking.guarded_rank[i]),
        "⚠ yes" if candidate.suspect else "no",
        *(
            [str(ranking.cross_rank[i]), _number(float(ranking.cross[i]))]
            if q.trace.reranker is not None
            else []
        ),
    ]


def _named(terms: Sequence[str]) -> str:
    return ", ".join(_foreign(term) for term in terms[:_NAMED]) + (", …" if len(terms) > _NAMED else "")


def _explained(q: Question, i: int) -> str:
    trace, ranking = q.trace, q.ranking
    marks = (" rp-chosen", " open") if i == q.chosen else ("", "")
    why = why_sentence(trace, ranking, trace.settings, i)
    candidate = trace.candidates[i]
    # Under the guard the sentence says it already.
    told = candidate.suspect and trace.settings.method != "guarded"
    warning = f"<p>⚠ This document is {escaped(verdict(candidate, trace))}.</p>" if told else ""
    return (
        f'<details class="rp-explained{marks[0]}" data-candidate="{i}"{marks[1]}>'
        f"<summary>{ranking.rank[i]}. {_foreign(_title(trace, i))}</summary><p>{escaped(why)}</p>{warning}"
        f"{_shared(q, i)}{_rest(q, i)}</details>"
    )


def _shared(q: Question, i: int) -> str:
    candidate, asked = q.trace.candidates[i], q.trace.query_keywords
    rows = [
        [
            _foreign(term),
            _number(float(candidate.weights[j])),
            "exact match" if candidate.exact[j] else _foreign(asked[candidate.matches[j]].term),
            _number(float(candidate.cosines[j])),
        ]
        for j, term in enumerate(candidate.terms)
        if q.ranking.in_a[i, j]
    ]
    columns = ("keyword", "weight", "nearest keyword of the question", "cosine")
    return (
        _table("rp-keywords", "Shared with the question (A): set aside", columns, rows, {1, 3})
        if rows
        else ""
    )


def _rest(q: Question, i: int) -> str:
    candidate, ranking = q.trace.candidates[i], q.ranking
    rows = [
        [
            _foreign(term),
            _number(float(candidate.weights[j])),
            _number(float(candidate.relevance[j])),
            _number(float(ranking.contributions[i, j])),
        ]
        for j, term in enumerate(candidate.terms)
        if not ranking.in_a[i, j]
    ]
    columns = ("keyword", "weight", "cosine to the question", "share of the causal score")
    caption = f"The rest (B): its shares add up to the causal score, {_number(float(ranking.causal[i]))}"
    return _table("rp-keywords", caption, columns, rows, {1, 2, 3}) if rows else ""
