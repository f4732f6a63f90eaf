"""The report as a file: what is in it, what is not, and that nothing in it is taken for markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from strategies import loose_traces
from test_pipeline import make_pipeline

from causalviz.errors import ParameterError, TraceError
from causalviz.pipeline import SearchSettings
from causalviz.records import RankSettings, Trace
from causalviz.report import Made, report_html
from causalviz.trace import from_json, to_json
from causalviz.ui import present

MADE = Made(
    version="9.9",
    date="2026-01-02",
    template="<title>$title</title>$style $chooser <main>$questions</main><footer>$made</footer>"
    '<script type="application/json" id="report-data">$data</script><script>$script</script>',
    style="",
    script="",
)
EXAMPLE = worked_example()
HOSTILE = "</script><img src=x onerror=alert(1)> ${1+1} $data {{value}} \u2028\u2029 \ud800 &amp; \"'"
SENTINEL = "The heron stands in the reeds before dawn."


class Reader(HTMLParser):
    """Reads a report as a browser does: its elements, the text outside scripts, its data, its tables."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.in_cell = False
        self.raw = ""
        self.tables: list[list[list[str]]] = []
        self.feed(content)
        self.close()
        self.data: Any = json.loads(self.raw)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag == "td":
            self.tables[-1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """Leave a cell."""
        self.in_cell = self.in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        """Keep what is in a script, in a cell, or anywhere else."""
        if self.cdata_elem == "script":
            self.raw += data
            return
        self.text += data
        if self.in_cell:
            self.tables[-1][-1][-1] += data


def read(*traces: Trace, **options: Any) -> Reader:  # noqa: ANN401 - as report_html takes them
    return Reader(report_html(traces, options.pop("texts", None), MADE, **options))


def hostile() -> Trace:
    data = to_json(EXAMPLE)
    data |= {"query": HOSTILE, "knowledge_base": HOSTILE, "encoder": HOSTILE, "warnings": [HOSTILE]}
    data["query_keywords"][0]["term"] = HOSTILE
    for candidate in data["candidates"]:
        candidate |= {"title": HOSTILE, "id": candidate["id"] + HOSTILE}
        for keyword in candidate["keywords"]:
            keyword |= {"term": keyword["term"] + HOSTILE, "match": HOSTILE}
    return from_json(data)


def test_the_table_shows_both_rankings_in_final_order() -> None:
    # worked in docs/method.md: similarity 0.9, 0.7, 0.5; s_c 0, 1 / sqrt 2, none; hybrid 0.5, 0.75, none
    rows = read(EXAMPLE).tables[0][1:]
    assert rows == [
        ["1", "2", "▲ 1", "d2", "0.7000", "0.7071", "0.7500", "none", "w, x", "2", "no"],
        ["2", "1", "▼ 1", "d1", "0.9000", "0.0000", "0.5000", "u", "v", "1", "no"],
        ["3", "3", "=", "d3", "0.5000", "none", "none", "z", "nothing but query keywords", "3", "no"],
    ]


def test_a_suspect_is_marked_and_the_reason_is_told_once() -> None:
    first, *others = EXAMPLE.candidates
    trace = replace(EXAMPLE, candidates=(replace(first, suspect=True, use=4.0, topic=0.5), *others))
    found = read(trace)
    assert [row[-2:] for row in found.tables[0][1:]] == [["1", "no"], ["2", "⚠ yes"], ["3", "no"]]
    assert (
        found.text.count("This document is suspected of stuffing: it uses the question’s words 4.0 times")
        == 1
    )
    guarded = read(replace(trace, settings=replace(trace.settings, method="guarded")))
    assert "This document is suspected" not in guarded.text
    assert guarded.text.count("it uses the question’s words 4.0 times") == 1
    assert (
        "Ranked by similarity, except that a document suspected of stuffing takes its causal rank"
        in guarded.text
    )


def test_a_title_is_shown_with_its_id() -> None:
    first = replace(EXAMPLE.candidates[0], title="Tag archive")
    trace = replace(EXAMPLE, candidates=(first, *EXAMPLE.candidates[1:]))
    assert [row[3] for row in read(trace, texts=[{}]).tables[0][1:]] == ["d2", "Tag archived1", "d3"]


def test_every_document_is_explained_and_the_riser_first() -> None:
    content = report_html([EXAMPLE], None, MADE)
    assert re.findall(r'rp-explained rp-chosen" data-candidate="(\d)" open', content) == ["1"]
    assert content.count('class="rp-explained') == 3
    found = Reader(content)
    assert "Moved up 1: it shares no keyword with the question" in found.text
    # d2: w and x weigh 1 each, v_B = (1, 1) / 2; w's share is 1 / sqrt 2, x's 0
    assert found.tables[1][1:] == [["w", "1.0000", "1.0000", "0.7071"], ["x", "1.0000", "0.0000", "0.0000"]]
    assert found.tables[2][1:] == [["u", "3.0000", "exact match", "1.0000"]]


def test_the_chosen_document_is_explained_first() -> None:
    found = read(EXAMPLE, chosen="d3")
    assert found.data["questions"][0]["chosen"] == "d3"
    assert re.findall(r'rp-chosen" data-candidate="(\d)"', report_html([EXAMPLE], None, MADE, "d3")) == ["2"]


def test_without_texts_there_is_no_title_either() -> None:
    # the title of a plain text is its first line
    candidates = tuple(replace(candidate, title=SENTINEL) for candidate in EXAMPLE.candidates)
    trace = replace(EXAMPLE, candidates=candidates)
    assert SENTINEL not in report_html([trace], None, MADE)
    assert (
        report_html([trace], [{}], MADE).count(SENTINEL) == 9
    )  # data, table and explanation of three documents


def test_the_data_is_the_trace_itself() -> None:
    data = read(EXAMPLE).data
    expected = to_json(EXAMPLE)
    for candidate in expected["candidates"]:
        candidate["title"] = ""
    assert data["questions"][0]["trace"] == expected
    assert data["questions"][0]["texts"] == {}
    assert read(EXAMPLE, texts=[{}]).data["questions"][0]["trace"] == to_json(EXAMPLE)
    assert data["graph"] == present.graph()


def test_it_says_how_it_was_made_and_what_it_is_not() -> None:
    text = read(EXAMPLE).text
    for words in (
        "CausalViz 9.9, 2026-01-02; traces of version 1",
        "not an estimated causal effect",
        "0.642 to 0.157",
        "No document text is part of this file",
        "fingerprint 0",
        "fake",
        "tau 0.9",
        "alpha 0.5",
        "hybrid, semantic",
    ):
        assert words in text


def test_no_content_becomes_markup() -> None:
    plain, found = read(EXAMPLE, texts=[{}]), read(hostile(), texts=[{}])
    assert set(found.tags) - set(plain.tags) == {"ul", "li"}  # the list of warnings
    assert found.attributes == plain.attributes
    assert "onerror=alert(1)> ${1+1} $data {{value}}" in found.text
    content = report_html([hostile()], [{}], MADE)
    assert "<img" not in content
    assert content.count("</script") == 2
    content.encode()  # no lone surrogate is left
    # the data comes back as it was, the surrogate included
    assert found.data["questions"][0]["trace"]["query"] == HOSTILE


def test_texts_are_data_of_the_candidates_only() -> None:
    entry = {"text": HOSTILE + SENTINEL, "characters": 99, "spans": [[0, 1, 0]]}
    content = report_html([EXAMPLE], [{"d1": entry, "secret": {"text": "SECRET"}}], MADE)
    assert "SECRET" not in content
    assert Reader(content).data["questions"][0]["texts"] == {"d1": entry}
    assert "texts are part of this file" in content
    assert "<img" not in content


@given(loose_traces())
def test_any_trace_makes_a_report(trace: Trace) -> None:
    found = read(trace, texts=[{}])
    assert found.data["questions"][0]["trace"] == json.loads(json.dumps(to_json(trace)))
    assert (
        len(found.tables[0]) == (len(trace.candidates) or 1) + 1
    )  # the settings' table, if there is no other


def test_several_questions_get_a_chooser() -> None:
    other = replace(EXAMPLE, query="what else?")
    content = report_html([EXAMPLE, other], None, MADE)
    assert re.findall(r'<a href="#(q\d)"><bdi>(.*?)</bdi>', content) == [("q1", "how?"), ("q2", "what else?")]
    assert re.findall(r'class="rp-question" id="(q\d)"', content) == ["q1", "q2"]
    assert "<title>2 questions</title>" in content
    assert "rp-chooser" not in report_html([EXAMPLE], None, MADE)


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: report_html([], None, MADE), "at least one trace"),
        (lambda: report_html([EXAMPLE], [{}, {}], MADE), "texts for 2 questions, but 1 traces"),
        (lambda: report_html([EXAMPLE], None, MADE, "d9"), "no trace holds the document 'd9'"),
    ],
)
def test_what_cannot_be_reported_is_named(call: Any, found: str) -> None:  # noqa: ANN401 - a call that raises
    with pytest.raises(ParameterError, match=found):
        call()


def test_a_trace_with_nan_is_refused() -> None:
    broken = replace(EXAMPLE, random_pairs=np.array([np.nan], np.float32))
    with pytest.raises(TraceError, match="NaN"):
        report_html([broken], None, MADE)


def test_our_own_files_cannot_end_the_report_early() -> None:
    assert "</script" not in present.view_script().lower()
    assert "<!--" not in present.view_script()
    assert "</style" not in present.view_style().lower()


def test_a_report_on_screen_keeps_its_settings_and_obeys_about_texts(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, {"a": SENTINEL, "b": "late interaction"})
    trace = pipeline.ask("late interaction", SearchSettings(theta=-1.0), RankSettings(tau=0.9))
    shown = json.dumps(
        {"tau": 0.25, "alpha": 1, "method": "causal", "mode": "exact", "emptyB": "fallback", "chosen": "a"}
    )
    message = json.loads(present.report_message(pipeline, trace, shown, with_texts=True))
    assert SENTINEL in message["report"]
    (data,) = re.findall(r'id="report-data">(.*?)</script>', message["report"])
    question = json.loads(data)["questions"][0]
    assert question["chosen"] == "a"
    assert question["trace"]["settings"] == {
        "tau": 0.25,
        "alpha": 1,
        "method": "causal",
        "mode": "exact",
        "empty_b": "fallback",
    }
    again = json.loads(present.report_message(pipeline, trace, shown, with_texts=False))
    assert SENTINEL not in again["report"]
    assert again["number"] != message["number"]
