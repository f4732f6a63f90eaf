"""Rankings for spreadsheets and for trec_eval."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from hypothesis import strategies as st
from strategies import loose_traces, rank_settings, traces

from causalviz.errors import ParameterError
from causalviz.exports import COLUMNS, csv_table, csv_text, plain_cell, safe_cell, trec_run
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable

EXAMPLE = worked_example()


def table(trace: Trace) -> list[dict[str, str]]:
    ranking = rerank(ScoreTable.of(trace.candidates), trace.settings)
    rows = list(csv.reader(io.StringIO(csv_table(trace, ranking), newline="")))
    assert tuple(rows[0]) == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows[1:]]


def run(trace: Trace, query_id: str = "1") -> list[list[str]]:
    ranking = rerank(ScoreTable.of(trace.candidates), trace.settings)
    return [line.split() for line in trec_run(trace, ranking, query_id).splitlines()]


def test_a_table_holds_both_rankings_and_the_keywords() -> None:
    # tau 0.9: d1 keeps v (orthogonal to the question), d2 w and x, d3 nothing
    rows = table(EXAMPLE)
    assert [(r["rank"], r["similarity_rank"], r["id"]) for r in rows] == [
        ("1", "2", "d2"),
        ("2", "1", "d1"),
        ("3", "3", "d3"),
    ]
    # (1, 1) / sqrt 2 against (1, 0)
    assert float(rows[0]["causal"]) == pytest.approx(0.5**0.5)
    assert (rows[1]["A"], rows[1]["B"], float(rows[1]["causal"])) == ("u", "v", 0.0)
    assert [(r["guarded_rank"], r["suspect"]) for r in rows] == [("2", "no"), ("1", "no"), ("3", "no")]
    first, *others = EXAMPLE.candidates
    guarded = table(replace(EXAMPLE, candidates=(replace(first, suspect=True), *others)))
    assert [(r["guarded_rank"], r["suspect"]) for r in guarded] == [("1", "no"), ("2", "yes"), ("3", "no")]
    assert (rows[2]["A"], rows[2]["B"], rows[2]["causal"], rows[2]["empty_b"]) == ("z", "", "", "yes")


def test_a_table_holds_the_cross_encoders_scores_where_it_was_asked() -> None:
    assert {(r["cross_encoder"], r["cross_rank"]) for r in table(EXAMPLE)} == {("", "")}
    scored = tuple(
        replace(candidate, cross_encoder=score)
        for candidate, score in zip(EXAMPLE.candidates, (-1.5, 0.1, None), strict=True)
    )
    rows = table(replace(EXAMPLE, candidates=scored, reranker="a cross-encoder"))
    assert {r["id"]: (r["cross_encoder"], r["cross_rank"]) for r in rows} == {
        "d1": ("-1.5", "2"),
        "d2": ("0.1", "1"),
        "d3": ("", "3"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@x",
        "\t=1",
        "\r=1",
        "  =1",
        "＝1",
        "\u3000=1",
        "\ufeff=1",
        "'=1",
        "=cmd|' /C calc'!A0",
    ],
)
def test_nothing_is_calculated_by_a_spreadsheet(text: str) -> None:
    first = replace(EXAMPLE.candidates[0], id=text, title=text, terms=(text, "v"))
    for row in table(replace(EXAMPLE, candidates=(first, *EXAMPLE.candidates[1:]))):
        if row["similarity_rank"] == "1":
            assert {row["id"], row["title"], row["A"]} == {f"'{text}"}


@given(
    st.lists(
        st.text(st.sampled_from("=+-@＝\t\r\n' \u00a0\u3000\ufeff,;\"a1"))
        | st.text()
        | st.integers()
        | st.floats()
    )
)
def test_a_cell_is_a_number_or_a_text_that_no_spreadsheet_calculates_and_that_comes_back(
    row: list[str | float],
) -> None:
    columns = [f"column {number}" for number in range(len(row))]
    head, cells = [*csv.reader(io.StringIO(csv_text(columns, [row]), newline="")), []][:2]
    assert head == columns
    for value, cell in zip(row, cells, strict=True):
        if isinstance(value, str):
            # a spreadsheet trims spaces and trusts what begins otherwise than a formula
            assert not cell.strip().lstrip("\ufeff").startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
            assert not cell.startswith(("\t", "\r", "\n"))
            assert plain_cell(cell) == value
        else:
            assert cell == (repr(value) if math.isfinite(value) else "")


@pytest.mark.parametrize("text", ["a=b", "标题", "", "5 - 3", "'tis", "''"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text


def test_titles_with_quotes_commas_and_line_ends_come_back() -> None:
    first = replace(EXAMPLE.candidates[0], title='"a",\r\nb')
    rows = table(replace(EXAMPLE, candidates=(first, *EXAMPLE.candidates[1:])))
    assert rows[1]["title"] == '"a",\r\nb'


def test_a_run_names_the_method_and_lowers_what_ties_or_has_no_score() -> None:
    # hybrid at alpha 0.5: similarity stretches to 1, 0.5, 0; s_c of d1 and d2 to 0, 1; so 0.5, 0.75, and none for d3
    assert run(EXAMPLE, "T1") == [
        ["T1", "Q0", "d2", "1", "0.750000", "causalviz-hybrid"],
        ["T1", "Q0", "d1", "2", "0.500000", "causalviz-hybrid"],
        ["T1", "Q0", "d3", "3", "0.499999", "causalviz-hybrid"],
    ]
    tied = tuple(replace(candidate, similarity=0.5) for candidate in EXAMPLE.candidates)
    settings = RankSettings(tau=0.9, method="similarity")
    assert [line[4] for line in run(replace(EXAMPLE, candidates=tied, settings=settings))] == [
        "0.500000",
        "0.499999",
        "0.499998",
    ]


@given(traces(), rank_settings())
def test_scores_of_a_run_fall_strictly_even_as_float32(trace: Trace, settings: RankSettings) -> None:
    lines = run(replace(trace, settings=settings))
    scores = np.array([line[4] for line in lines], np.float32)
    assert (np.diff(scores) < 0).all()
    assert [line[3] for line in lines] == [str(rank) for rank in range(1, len(lines) + 1)]


@given(loose_traces())
def test_any_trace_can_be_exported(trace: Trace) -> None:
    assert len(table(trace)) == len(trace.candidates)


def test_white_space_in_ids_does_not_break_a_run() -> None:
    first = replace(EXAMPLE.candidates[0], id="my file 100%.txt")
    lines = run(replace(EXAMPLE, candidates=(first, *EXAMPLE.candidates[1:])))
    assert lines[1][2] == "my%20file%20100%25.txt"
    assert {len(line) for line in lines} == {6}


@pytest.mark.parametrize("query_id", ["", "a b", "\n"])
def test_a_query_id_is_one_word(query_id: str) -> None:
    with pytest.raises(ParameterError, match="white space"):
        run(EXAMPLE, query_id)
