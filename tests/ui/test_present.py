"""What the page is told, without a page."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from test_pipeline import TEXTS, make_pipeline

from causalviz.errors import ParameterError
from causalviz.knowledge_base.indexing import IndexResult
from causalviz.pipeline import SearchSettings
from causalviz.records import FileReport, RankSettings
from causalviz.trace import from_json
from causalviz.ui import present

HOSTILE = "<img src=x onerror=alert(1)> ${1+1} {{value}} </script><script>alert(2)</script> late"


def test_a_trace_message_holds_the_trace(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(), RankSettings(tau=0.9))
    message = json.loads(present.trace_message(trace))
    assert [c.id for c in from_json(message["trace"]).candidates] == [c.id for c in trace.candidates]


def test_texts_come_with_the_places_of_their_keywords(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(theta=-1.0), RankSettings(tau=0.9))
    texts = json.loads(present.texts_message(pipeline, trace))["texts"]
    for candidate in trace.candidates:
        entry = texts[candidate.id]
        assert entry["text"] == TEXTS[candidate.id]
        assert entry["characters"] == len(entry["text"])
        marked = [entry["text"][start:end] for start, end, _ in entry["spans"]]
        assert marked == [word for word in entry["text"].split() if word in candidate.terms]
        assert all(candidate.terms[k] == entry["text"][s:e] for s, e, k in entry["spans"])


def test_a_long_text_is_cut_and_its_length_is_told(tmp_path: Path) -> None:
    long = "late " * 3000
    pipeline, _ = make_pipeline(tmp_path, {"long.txt": long.strip()})
    trace = pipeline.ask("late", SearchSettings(), RankSettings(tau=0.9))
    entry = json.loads(present.texts_message(pipeline, trace))["texts"]["long.txt"]
    assert (len(entry["text"]), entry["characters"]) == (present.TEXT_LIMIT, 14_999)


def test_no_message_can_be_taken_for_markup(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, {HOSTILE[:20]: HOSTILE})
    trace = pipeline.ask(HOSTILE, SearchSettings(theta=-1.0), RankSettings(tau=0.9))
    for message in (
        present.trace_message(trace),
        present.texts_message(pipeline, trace),
        present.error_message(HOSTILE),
    ):
        assert "<" not in message
    assert json.loads(present.error_message(HOSTILE))["error"] == HOSTILE


def test_the_same_message_twice_is_two_messages() -> None:
    # The page reacts to changes only: without a number, asking the same wrong question twice would leave it waiting.
    assert present.error_message("x") != present.error_message("x")


@pytest.mark.parametrize("state", ["null", "{", "[]", '{"tau": 60}', '{"tau": "x", "alpha": 0.5}'])
def test_a_state_the_page_could_not_have_sent_is_refused(state: str) -> None:
    with pytest.raises(ParameterError, match="reload the page"):
        present.view_state(state)


def test_the_state_of_the_view_is_read() -> None:
    state = {
        "tau": 1,
        "alpha": 0.25,
        "method": "causal",
        "mode": "exact",
        "emptyB": "fallback",
        "chosen": "a",
    }
    expected = RankSettings(tau=1, alpha=0.25, method="causal", mode="exact", empty_b="fallback")
    assert present.view_state(json.dumps(state)) == (expected, "a")


def test_a_file_report_puts_refusals_first_and_never_calls_them_ready() -> None:
    files = (
        FileReport(
            file="a.txt", status="indexed", reader="text", encoding="gb18030", characters=12_345, chunks=4
        ),
        FileReport(file="b.pdf", status="refused", reason="no readable text (scanned?)"),
        FileReport(file="c.md", status="unchanged", characters=5, chunks=1, warnings=("first", "second")),
    )
    result = IndexResult(files=files, removed=(), seconds=1, encoder_seconds=1)
    assert present.report_rows(result) == [
        ["b.pdf", "not indexed", "", "", "", "no readable text (scanned?)"],
        ["a.txt", "ready", "12,345", "4", "gb18030", ""],
        ["c.md", "ready", "5", "1", "", "first; second"],
    ]
    assert present.report_sentence(result, 2).startswith("2 of 3 files are ready")
    assert present.report_sentence(None, 1).startswith("Stopped. 1 files are ready")


@pytest.mark.parametrize(
    ("elapsed", "done", "total", "words"),
    [
        (10, 25, 100, "about 30 s left"),
        (100, 10, 100, "about 15 min left"),
        (5, 0, 100, "estimating"),
        (5, 0, 0, "estimating"),
    ],
)
def test_the_time_left_follows_the_pace(elapsed: float, done: int, total: int, words: str) -> None:
    assert words in present.time_left(time.monotonic() - elapsed, done, total)


def test_the_prepared_questions_are_those_of_the_eight_themes() -> None:
    assert len(present.prepared_questions()) == 8
    assert "数据出境的安全如何评估" in present.prepared_questions()


def test_a_share_link_is_read_and_nonsense_in_it_replaced() -> None:
    link = {
        "query": "q",
        "knowledgeBase": "sample_kb",
        "unit": "chunk",
        "topK": 7,
        "theta": 0.5,
        "centred": True,
    }
    found = present.shared_question(json.dumps(link))
    assert found is not None
    assert (found.query, found.knowledge_base) == ("q", "sample_kb")
    assert found.search == SearchSettings(top_k=7, theta=0.5, unit="chunk", centred=True)
    odd = {"query": "q", "knowledgeBase": 5, "unit": "page", "topK": 10**9, "theta": "x", "centred": "yes"}
    found = present.shared_question(json.dumps(odd))
    assert found is not None
    assert (found.knowledge_base, found.search) == (None, SearchSettings())


@pytest.mark.parametrize("link", ["null", "", "{", "[]", '{"query": 5}'])
def test_no_link_asks_nothing(link: str) -> None:
    assert present.shared_question(link) is None


@given(st.text(st.sampled_from("ab .:/@\\`*_{}[]()#+!|~<>&-12;'\"数"), max_size=40).map(str.strip))
@example("see https://huggingface.co/a_b & <b> a@b.c www.x.y 10:30")
@example("&amp; \\* <img src=x>")
def test_plain_markdown_shows_the_text_itself(text: str) -> None:
    written = present.plain_markdown(text)
    (*_, shown) = MarkdownIt("gfm-like", {"linkify": False}).parseInline(written)
    assert [child.type for child in shown.children or []] in ([], ["text"])
    assert shown.children is None or "".join(child.content for child in shown.children) == text
    assert re.search(r"\w://", written) is None  # which would become a link
