from dataclasses import replace

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from strategies import rank_settings, traces

from causalviz.explain.leave_one_out import Outcome, leave_one_out
from causalviz.explain.states import tau_states
from causalviz.rank import rerank
from causalviz.records import Candidate, RankSettings, Trace


def test_the_worked_examples_second_document_without_each_keyword() -> None:
    trace = worked_example()
    w, x = leave_one_out(tau_states(trace, trace.settings), 1)
    assert (w.in_a, x.in_a) == (False, False)
    # Without w: B = {x}, s_c = 0 as that of d1; hybrid 0.25 to 0.5.
    assert w.a == Outcome(causal=0, hybrid=0.25, rank=2)
    # Without x: B = {w}, s_c = 1.
    assert x.a == Outcome(causal=1, hybrid=0.75, rank=1)
    assert w.now == w.b == x.b
    assert w.now.causal == pytest.approx(np.sqrt(0.5))
    assert (w.now.hybrid, w.now.rank) == (0.75, 1)
    assert w.otherwise == w.a


def test_a_document_without_b_gets_a_score_back_with_its_keyword() -> None:
    trace = worked_example()
    (z,) = leave_one_out(tau_states(trace, trace.settings), 2)
    assert z.in_a
    assert z.now == z.a == Outcome(causal=None, hybrid=None, rank=3)
    assert z.otherwise.causal == pytest.approx(0.6)
    assert z.otherwise.hybrid == pytest.approx(0.3 * np.sqrt(2))
    kept = tau_states(trace, replace(trace.settings, empty_b="fallback"))
    assert leave_one_out(kept, 2)[0].now.causal == pytest.approx(0.5)


def test_a_document_without_keywords_has_nothing_to_leave_out() -> None:
    trace = worked_example()
    bare = replace(
        trace.candidates[2],
        terms=(),
        weights=np.zeros(0, np.float32),
        cosines=np.zeros(0, np.float32),
        matches=np.zeros(0, np.int64),
        exact=np.zeros(0, bool),
        relevance=np.zeros(0, np.float32),
        gram=np.zeros((0, 0), np.float32),
    )
    empty = replace(trace, candidates=(*trace.candidates[:2], bare))
    assert leave_one_out(tau_states(empty, trace.settings), 2) == ()


def without(candidate: Candidate, j: int) -> Candidate:
    """Forget one keyword, in A or B."""
    keep = np.arange(len(candidate.terms)) != j
    return replace(
        candidate,
        terms=tuple(t for i, t in enumerate(candidate.terms) if i != j),
        weights=candidate.weights[keep],
        cosines=candidate.cosines[keep],
        matches=candidate.matches[keep],
        exact=candidate.exact[keep],
        relevance=candidate.relevance[keep],
        gram=candidate.gram[np.ix_(keep, keep)],
    )


@given(traces(min_documents=1), rank_settings())
def test_a_keyword_in_a_is_as_good_as_absent(trace: Trace, chosen: RankSettings) -> None:
    states = tau_states(trace, chosen)
    now = rerank(states.table, chosen)
    for index, candidate in enumerate(trace.candidates):
        for moved in leave_one_out(states, index):
            assert moved.in_a == now.in_a[index, moved.keyword]
            assert moved.now.rank == now.rank[index]
            absent = list(trace.candidates)
            absent[index] = without(candidate, moved.keyword)
            ranking = rerank(tau_states(replace(trace, candidates=tuple(absent)), chosen).table, chosen)
            assert moved.a.rank == ranking.rank[index]
            expected = [moved.a.causal, moved.a.hybrid]
            for value, column in zip(expected, (ranking.causal, ranking.hybrid), strict=True):
                assert value == column[index] or (value is None and np.isnan(column[index]))
