"""What the pages show, as plain data: no Gradio, no decisions about looks."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from causalviz.bootstrap import SAMPLE
from causalviz.dag import graph_to_json
from causalviz.evaluation.themes import read_themes
from causalviz.knowledge_base import IndexResult
from causalviz.pipeline import Pipeline
from causalviz.records import JsonObject, Trace
from causalviz.settings import ROOT
from causalviz.trace import to_json

ASSETS = ROOT / "assets"
_MINUTES_FROM = 90
"""Seconds from which an estimate is given in minutes."""
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


def page_style() -> str:
    """Looks of the page around the view."""
    return _joined([ASSETS / "page.css"])


def _joined(paths: Sequence[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def prepared_questions() -> list[str]:
    """The sample's eight questions."""
    return [theme.query for theme in read_themes(SAMPLE / "themes.jsonl")]


def trace_message(trace: Trace) -> str:
    """The message that makes the page draw a trace."""
    return _message({"trace": to_json(trace)})


def error_message(sentence: str) -> str:
    """The message that makes the page show an error; what it showed before comes back with the next answer."""
    return _message({"error": sentence})


def texts_message(pipeline: Pipeline, trace: Trace) -> str:
    """The message that brings the candidates' texts, with the places of their keywords.

    Each text is {"text", "characters", "spans": [[start, end, keyword index], ...]}: ``text`` is at most TEXT_LIMIT
    long, ``characters`` is the length of the whole.
    """
    texts = pipeline.base.texts([candidate.id for candidate in trace.candidates])
    return _message(
        {
            "texts": {
                candidate.id: _marked(pipeline, texts[candidate.id], candidate.terms)
                for candidate in trace.candidates
            }
        }
    )


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


def report_sentence(result: IndexResult) -> str:
    """One line that sums an upload up."""
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


def _message(value: JsonObject) -> str:
    # The page reads the message with JSON.parse; a lone "<" would let Gradio take it for markup.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
