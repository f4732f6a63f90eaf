"""What the pages show, as plain data: no Gradio, no decisions about looks."""

import html
import json
import re
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from causalviz.bootstrap import SAMPLE
from causalviz.dag import graph_to_json
from causalviz.errors import ParameterError
from causalviz.evaluation.themes import read_themes
from causalviz.knowledge_base import IndexResult
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import JsonObject, RankSettings, Trace
from causalviz.report import Made, Texts, report_html
from causalviz.settings import ROOT
from causalviz.trace import to_json
from causalviz.trace_schema import SettingsEntry

ASSETS = ROOT / "assets"
_MINUTES_FROM = 90
"""Seconds from which an estimate is given in minutes."""
MOST_CANDIDATES = 100
"""The largest top k that the page offers."""
TEXT_LIMIT = 8000
"""Characters of each document's text sent to the page; the page says when there is more."""

REPORT_COLUMNS = ["file", "status", "characters", "chunks", "encoding", "remarks"]


def graph() -> JsonObject:
    """The causal graph with every verdict about it."""
    return graph_to_json()


def view_script() -> str:
    """The live view's JavaScript in the order it loads: arithmetic, DOM helpers, parts, the view itself."""
    parts = sorted((ASSETS / "view").glob("*.js"), key=lambda path: (path.name != "dom.js", path.name))
    return _joined([ASSETS / "rerank.js", *parts, ASSETS / "explore.js"])


def view_style() -> str:
    """The live view's style sheet."""
    return _joined([ASSETS / "explore.css", *sorted((ASSETS / "view").glob("*.css"))])


def first_script() -> str:
    """What mends Gradio's page and must be there before it, as JavaScript."""
    return _joined([ASSETS / "stream.js", ASSETS / "idle.js"])


def page_script() -> str:
    """The live view and the pages beside it, as JavaScript."""
    names = ("calibrate.js", "evaluate.js", "answer.js", "documents.js")
    return "\n".join([view_script(), _joined([ASSETS / name for name in names])])


def page_style() -> str:
    """Looks of the pages around the view."""
    return _joined([ASSETS / name for name in ("page.css", "calibrate.css", "answer.css", "documents.css")])


def _joined(paths: Sequence[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def prepared_questions() -> list[str]:
    """The sample's eight questions."""
    return [theme.query for theme in read_themes(SAMPLE / "themes.jsonl")]


def trace_message(trace: Trace, chosen: str | None = None, ruling: str | None = None) -> str:
    """The message that makes the page draw a trace.

    Args:
        trace: What to draw.
        chosen: Id of the document to choose, if any.
        ruling: What decided the trace's method, a calibration for example: where this is another than before, the view
            goes to the trace's method; where it is the same, the view keeps what a person chose. None changes nothing.
    """
    return message({"trace": to_json(trace), "chosen": chosen, "ruling": ruling})


def error_message(sentence: str) -> str:
    """The message that makes the page show an error; what it showed before comes back with the next answer."""
    return message({"error": without_places(sentence)})


def without_places(sentence: str) -> str:
    """Name files of this machine in an error as people know them: a knowledge base by its name, others by theirs."""

    def name(found: re.Match[str]) -> str:
        last = re.split(r"[/\\\\]", found[1].rstrip("/\\"))[-1]
        return f"'{last.removesuffix('.kb')}'"

    return re.sub(r"'((?:[A-Za-z]:)?[/\\\\][^\n]*?)'(?=[\s,;:.)`]|$)", name, sentence)


def texts_message(pipeline: Pipeline, trace: Trace) -> str:
    """The message that brings the candidates' texts, with the places of their keywords."""
    return message({"texts": marked_texts(pipeline, trace)})


def marked_texts(pipeline: Pipeline, trace: Trace) -> Texts:
    """Return the candidates' texts by id, with the places of their keywords.

    Each text is {"text", "characters", "spans": [[start, end, keyword index], ...]}: ``text`` is at most TEXT_LIMIT
    long, ``characters`` is the length of the whole.
    """
    texts = pipeline.base.texts([candidate.id for candidate in trace.candidates], trace.unit)
    return {
        candidate.id: _marked(pipeline, texts[candidate.id], candidate.terms)
        for candidate in trace.candidates
    }


def report_file(traces: Sequence[Trace], texts: Sequence[Texts] | None, chosen: str | None = None) -> str:
    """Write a report with this release's view; see ``report.report_html``."""
    with (ROOT / "pyproject.toml").open("rb") as project:
        version = tomllib.load(project)["project"]["version"]
    made = Made(
        version=version,
        date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        template=_joined([ASSETS / "report.html"]),
        style="\n".join([view_style(), _joined([ASSETS / "report.css"])]),
        script=view_script(),
    )
    return report_html(traces, texts, made, chosen)


def report_message(pipeline: Pipeline, trace: Trace, shown: str, *, with_texts: bool) -> str:
    """The message that makes the page save a report of a trace as it stands on screen.

    Args:
        pipeline: Holds the texts.
        trace: What was asked.
        shown: State of the view as JSON: {tau, alpha, method, mode, emptyB, chosen}.
        with_texts: Whether the file may hold document text.
    """
    settings, wanted = view_state(shown)
    texts = [marked_texts(pipeline, trace)] if with_texts else None
    # What is chosen may still belong to the question before, if this one has no candidate.
    chosen = next((c.id for c in trace.candidates if c.id == wanted), None)
    report = report_file([replace(trace, settings=settings)], texts, chosen)
    return message({"report": report})


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedQuestion:
    """What a share link asks again."""

    query: str
    knowledge_base: str | None
    search: SearchSettings


def shared_question(link: str) -> SharedQuestion | None:
    """Read what the page found in its address: None where there was no link, defaults for what makes no sense in it."""
    try:
        found = json.loads(link)
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("query"), str):
        return None
    usual = SearchSettings()
    top_k, theta, unit = found.get("topK"), found.get("theta"), found.get("unit")
    name = found.get("knowledgeBase")
    return SharedQuestion(
        query=found["query"],
        knowledge_base=name if isinstance(name, str) else None,
        search=SearchSettings(
            top_k=top_k if isinstance(top_k, int) and 1 <= top_k <= MOST_CANDIDATES else usual.top_k,
            theta=float(theta) if isinstance(theta, int | float) and -1 <= theta <= 1 else usual.theta,
            unit="chunk" if unit == "chunk" else usual.unit,
            centred=found.get("centred") is True,
        ),
    )


def view_state(shown: str) -> tuple[RankSettings, str | None]:
    """Read the state of the view as the page sends it: the settings, and the id of the chosen document.

    Raises:
        ParameterError: it is no such state; nothing a page sends is taken on trust.
    """
    try:
        state = json.loads(shown)
        names = {"tau": "tau", "alpha": "alpha", "method": "method", "mode": "mode", "empty_b": "emptyB"}
        entry = SettingsEntry.model_validate({ours: state[theirs] for ours, theirs in names.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise ParameterError(
            "the page sent a state that cannot be read; reload the page and ask again."
        ) from error
    chosen = state.get("chosen")
    return RankSettings(**entry.model_dump()), chosen if isinstance(chosen, str) else None


def _marked(pipeline: Pipeline, text: str, terms: Sequence[str]) -> JsonObject:
    shown = text[:TEXT_LIMIT]
    positions = {term: i for i, term in enumerate(terms)}
    spans = [
        [token.start, token.end, positions[token.term]]
        for token in pipeline.tokens(shown)
        if token.term in positions
    ]
    return {"text": shown, "characters": len(text), "spans": spans}


def report_rows(result: IndexResult) -> list[list[str]]:
    """The per-file report as table rows, refused files first."""
    words = {"indexed": "ready", "unchanged": "ready", "refused": "not indexed"}
    reports = sorted(result.files, key=lambda report: report.status != "refused")
    return [
        [
            report.file,
            words[report.status],
            f"{report.characters:,}" if report.characters else "",
            str(report.chunks) if report.chunks else "",
            report.encoding or "",
            report.reason or "; ".join(report.warnings),
        ]
        for report in reports
    ]


def idle_message(words: str) -> str:
    """The message that clears the page and says what can be done next."""
    return message({"idle": words})


def plain_markdown(text: str) -> str:
    """Text that Markdown and HTML leave as it is; an address is no link."""
    return re.sub(r"([\\`*_{}\[\]()#+.!|~<>&:@-])", r"\\\1", html.escape(text, quote=False)).replace(
        "\\&", "&"
    )


def report_sentence(result: IndexResult | None, ready: int) -> str:
    """One line that sums an upload up.

    Args:
        result: None when it was stopped.
        ready: How many documents can be asked.
    """
    if result is None:
        return f"Stopped. {ready} files are ready for questions; the others were not read."
    refused = sum(report.status == "refused" for report in result.files)
    ready = len(result.files) - refused
    problem = f"; {refused} could not be read, the reasons are in the table" if refused else ""
    return f"{ready} of {len(result.files)} files are ready for questions{problem}."


def time_left(start: float, done: int, total: int) -> str:
    """Estimate the rest of a run from its pace, e.g. "about 40 s left".

    Args:
        start: time.monotonic() when it began.
        done: Work done, in the unit of ``total``.
        total: All work.
    """
    if done <= 0 or total <= 0:
        return "estimating the time left"
    seconds = (time.monotonic() - start) * (total - done) / done
    return f"about {seconds / 60:.0f} min left" if seconds >= _MINUTES_FROM else f"about {seconds:.0f} s left"


def message(value: JsonObject) -> str:
    """Write a message to a view; a view reacts to every message, also to the same one twice."""
    # The page does not react to the same message twice, so each has a number of its own. It reads them with JSON.parse;
    # a lone "<" would let Gradio take one for markup.
    numbered = {**value, "number": time.time_ns()}
    return json.dumps(numbered, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
