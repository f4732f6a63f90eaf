"""Put a report together from its template, the live view with its data, and the tables.

Everything that comes from documents or questions is hostile. It enters the file in two ways only: as JSON in which no
character can end a script, for the live view (which draws it with textContent), and through html.escape, for the
tables that are read on paper or where JavaScript is off.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template

from causalviz.dag import graph_to_json
from causalviz.errors import ParameterError, TraceError
from causalviz.rank import Ranking, check_method, rerank
from causalviz.records import JsonObject, Trace
from causalviz.report.tables import Question, chooser, escaped, how_made, section, shortened
from causalviz.score import ScoreTable
from causalviz.trace import to_json

Texts = Mapping[str, JsonObject]
"""By candidate id: {"text", "characters", "spans": [[start, end, keyword index], ...]}."""

_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """By which software, when, and from which parts of it a report is made."""

    version: str
    date: str
    template: str
    """assets/report.html."""
    style: str
    """Style sheets of the view and of the report."""
    script: str
    """JavaScript of the view."""


def report_html(
    traces: Sequence[Trace], texts: Sequence[Texts] | None, made: Made, chosen: str | None = None
) -> str:
    """Write the report of one question, or of several with a chooser.

    Args:
        traces: At least one; each opens in the settings it was asked with.
        texts: For each trace the texts of its candidates; those of other documents are left out. None leaves all
            document text out, titles as well, since the title of a plain text is its first line; ids and keywords stay.
        made: How it is made.
        chosen: Id of the document to explain first. By default, and where a trace has no such candidate, it is the
            best-placed document that moved up.

    Returns:
        The file's content; it holds no lone surrogate, so that it can be written in UTF-8.

    Raises:
        ParameterError: there is no trace, texts and traces differ in number, no trace holds the chosen document, or one
            is to be ranked by a cross-encoder that was not asked.
        TraceError: a trace holds a number that is none.
    """
    _check(traces, texts, chosen)
    shown = traces if texts is not None else [_untitled(trace) for trace in traces]
    questions = [_question(trace, chosen) for trace in shown]
    page = Template(made.template).substitute(
        title=escaped(shortened(traces[0].query if len(traces) == 1 else f"{len(traces)} questions")),
        style=made.style,
        chooser=chooser(questions),
        questions="".join(section(question, number) for number, question in enumerate(questions, start=1)),
        made=how_made(questions, f"CausalViz {made.version}, {made.date}", with_texts=texts is not None),
        data=_data(questions, texts),
        script=made.script,
    )
    return _SURROGATES.sub("\ufffd", page)


def _check(traces: Sequence[Trace], texts: Sequence[Texts] | None, chosen: str | None) -> None:
    if not traces:
        raise ParameterError("a report needs at least one trace; write one with `rank --trace FILE`.")
    if texts is not None and len(texts) != len(traces):
        raise ParameterError(
            f"there are texts for {len(texts)} questions, but {len(traces)} traces; give one set of texts a trace."
        )
    for trace in traces:
        check_method(trace.settings.method, trace.reranker)
    if chosen is not None and not any(chosen == c.id for trace in traces for c in trace.candidates):
        raise ParameterError(
            f"no trace holds the document '{chosen}'; choose the id of one of the candidates."
        )


def _untitled(trace: Trace) -> Trace:
    """Leave out titles; the view and the tables then show ids."""
    return replace(trace, candidates=tuple(replace(candidate, title="") for candidate in trace.candidates))


def _question(trace: Trace, wanted: str | None) -> Question:
    ranking = rerank(ScoreTable.of(trace.candidates), trace.settings)
    places = {candidate.id: i for i, candidate in enumerate(trace.candidates)}
    chosen = places[wanted] if wanted in places else _first_choice(ranking)
    return Question(trace=trace, ranking=ranking, chosen=chosen)


def _first_choice(ranking: Ranking) -> int | None:
    """Choose as the view does before anyone chooses: the best-placed document that moved up, else the first."""
    order: list[int] = ranking.order.tolist()
    risen = (i for i in order if ranking.rank[i] < ranking.similarity_rank[i])
    return next(risen, order[0] if order else None)


def _data(questions: Sequence[Question], texts: Sequence[Texts] | None) -> str:
    """Write what the live view needs, as JSON that is safe inside a script element."""
    given = texts if texts is not None else [{}] * len(questions)
    data = {
        "graph": graph_to_json(),
        "questions": [
            {
                "trace": to_json(q.trace),
                "texts": {c.id: some[c.id] for c in q.trace.candidates if c.id in some},
                "chosen": None if q.chosen is None else q.trace.candidates[q.chosen].id,
            }
            for q, some in zip(questions, given, strict=True)
        ],
    }
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise TraceError(
            "the trace holds NaN or an infinity where a number belongs; ask the question again to write a new one."
        ) from error
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text.translate(_IN_SCRIPT))
