"""A question's statistics and strata: values worked out by hand, and laws."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import rank_settings, traces

from causalviz.errors import CollectionError
from causalviz.evaluation.statistics import (
    STATISTICS,
    absorption_shares,
    keyword_overlap,
    median_split,
    query_statistics,
    read_strata,
    top1_gap,
)
from causalviz.rank import rerank
from causalviz.records import Candidate, Keyword, RankSettings, Trace
from causalviz.score import ScoreTable


def candidate(
    id_: str, similarity: float, weights: list[float], cosines: list[float], *, exact: int = 0
) -> Candidate:
    """The first ``exact`` keywords are the question's own."""
    n = len(weights)
    return Candidate(
        id=id_,
        title=id_,
        similarity=float(np.float32(similarity)),
        terms=tuple(f"t{i}" for i in range(n)),
        weights=np.array(weights, np.float32),
        cosines=np.array(cosines, np.float32),
        matches=np.zeros(n, np.int64),
        exact=np.arange(n) < exact,
        relevance=np.zeros(n, np.float32),
        gram=np.eye(n, dtype=np.float32),
        repeats=0,
        tokens=n,
    )


def trace_of(*candidates: Candidate, keywords: int = 4) -> Trace:
    return Trace(
        query="how?",
        query_keywords=tuple(Keyword(term=f"u{i}", weight=1.0) for i in range(keywords)),
        candidates=candidates,
        encoder="fake",
        centred=False,
        unit="document",
        top_k=20,
        theta=-1.0,
        settings=RankSettings(tau=0.9),
        knowledge_base="test",
        fingerprint="0",
        documents=len(candidates),
        random_pairs=np.zeros(0, np.float32),
        seconds={},
    )


THREE = trace_of(
    candidate("a", 0.75, [4, 2, 2], [1.0, 0.95, 0.5], exact=1),
    candidate("b", 0.5, [1, 3], [1.0, 1.0], exact=2),
    candidate("c", 0.25, [1, 1], [0.2, 0.9]),
)


def test_statistics_are_those_worked_out_by_hand() -> None:
    settings = RankSettings(tau=0.9)
    found = query_statistics(THREE, settings)
    # of the question's four keywords a has one, b two, c none
    assert found["keyword_overlap"] == pytest.approx((1 / 4 + 2 / 4 + 0) / 3)
    # a: 4 of 8 exactly and 2 of 8 by meaning; b: all; c: the second of two, for equality goes to A
    assert absorption_shares(THREE, settings) == pytest.approx([6 / 8, 1, 1 / 2])
    assert found["a_absorption"] == pytest.approx((6 / 8 + 1 + 1 / 2) / 3)
    assert found["empty_b"] == pytest.approx(1 / 3)
    # the runner-up lies 0.25 behind, the last 0.5
    assert found["top1_gap"] == pytest.approx(1 / 2)
    exact = query_statistics(THREE, replace(settings, mode="exact"))
    assert exact["a_absorption"] == pytest.approx((4 / 8 + 1 + 0) / 3)


def test_only_the_ten_most_similar_candidates_count() -> None:
    ten = [candidate(f"d{i}", 1 - i / 16, [1], [0.0]) for i in range(10)]
    beyond = candidate("z", 0.0, [1], [1.0], exact=1)
    settings = RankSettings(tau=0.9)
    assert query_statistics(trace_of(*ten, beyond), settings) == query_statistics(trace_of(*ten), settings)
    assert top1_gap(trace_of(*ten, beyond)) == pytest.approx(1 / 9)


def test_questions_and_documents_that_hold_nothing_have_statistics_too() -> None:
    settings = RankSettings(tau=0.9)
    nothing = dict.fromkeys(STATISTICS, 0.0)
    assert query_statistics(trace_of(), settings) == nothing
    assert keyword_overlap(trace_of(candidate("a", 0.5, [1], [-np.inf]), keywords=0)) == 0
    # without keywords there is no B, so nothing is left over
    bare = trace_of(candidate("a", 0.5, [], []))
    assert query_statistics(bare, settings) == nothing | {"a_absorption": 1.0, "empty_b": 1.0}


@given(traces(), rank_settings())
def test_every_statistic_is_a_share_and_empty_b_is_the_rankings(trace: Trace, settings: RankSettings) -> None:
    found = query_statistics(trace, settings)
    assert tuple(found) == STATISTICS
    assert all(0 <= value <= 1 for value in found.values())
    first = trace.candidates[:10]
    empty = rerank(ScoreTable.of(first), settings).empty_b
    assert found["empty_b"] == pytest.approx(empty.mean() if first else 0)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.floats(0, 1), min_size=1))
def test_a_median_split_covers_every_query_once_and_its_low_half_is_no_smaller(
    values: dict[str, float],
) -> None:
    strata = median_split(values)
    low, high = strata["low"], strata.get("high", [])
    assert sorted([*low, *high]) == sorted(values)
    assert len(low) >= len(high)
    assert all(values[below] < values[above] for below in low for above in high)


def test_a_statistic_that_is_the_same_everywhere_makes_one_stratum() -> None:
    assert median_split({"a": 0.5, "b": 0.5}) == {"low": ["a", "b"]}
    assert median_split({"a": 0.1, "b": 0.2, "c": 0.3}) == {"low": ["a", "b"], "high": ["c"]}


def test_strata_of_a_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rounds.tsv"
    path.write_text("q1\tround 1\r\n\r\nq2\t round 2 \n", encoding="utf-8-sig")
    assert read_strata(path, {"q1", "q2", "q3"}) == {"q1": "round 1", "q2": "round 2"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "'rounds.tsv' holds no stratum"),
        ("q1 round1\n", "line 1 .*names no stratum"),
        ("q1\t\n", "line 1 .*names no stratum"),
        ("q9\tround1\n", "line 1 .*'q9', which has no judgments"),
        ("q1\ta\nq1\tb\n", "line 2 .*'q1' into a stratum again"),
    ],
)
def test_a_broken_strata_file_names_the_place(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "rounds.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CollectionError, match=found):
        read_strata(path, {"q1"})
