from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from explain.random_traces import random_trace, worked_example
from hypothesis import given
from strategies import alphas, loose_traces, rank_settings, taus, traces

from causalviz.errors import ParameterError
from causalviz.explain.states import tau_states
from causalviz.explain.tau_path import TauSpan, nearest_tau, tau_path
from causalviz.partition import absorbed
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable

F = np.float32


def after(value: float) -> float:
    return float(np.nextafter(F(value), F(2)))


def test_the_worked_example_by_hand() -> None:
    trace = worked_example()
    path = tau_path(tau_states(trace, trace.settings))
    assert path.breakpoints.tolist() == [F(0.6), F(0.8), F(0.96)]
    assert path.low.tolist() == [-1, after(0.6), after(0.8), after(0.96)]
    assert path.high.tolist() == [F(0.6), F(0.8), F(0.96), 1]
    # d1 d2 d3 while all B are empty, and while both scores are 0; then d2 leads.
    assert path.ranks.tolist() == [[1, 2, 3], [1, 2, 3], [2, 1, 3], [2, 1, 3]]
    orders = {tau: path.ranks[path.at(tau)].tolist() for tau in (0.9, 0.97, 0.7)}
    assert orders == {0.9: [2, 1, 3], 0.97: [2, 1, 3], 0.7: [1, 2, 3]}
    assert path.final[3].tolist() == pytest.approx([0.5, 0.75, 0.3 * np.sqrt(2)])


def test_the_worked_example_merged_by_rank_changes_once() -> None:
    trace = worked_example()
    path = tau_path(tau_states(trace, trace.settings))
    assert path.by_rank().breakpoints.tolist() == [F(0.8)]
    assert path.of(0) == (
        TauSpan(low=-1, high=float(F(0.8)), rank=1),
        TauSpan(low=after(0.8), high=1, rank=2),
    )
    assert path.of(2) == (TauSpan(low=-1, high=1, rank=3),)


def test_the_states_of_the_worked_example_are_those_of_the_text() -> None:
    trace = worked_example()
    states = tau_states(trace, trace.settings)
    assert np.isnan(states.causal).tolist() == [
        [True] * 3,
        [False, False, True],
        [False, False, True],
        [False] * 3,
    ]
    root = 1 / np.sqrt(2)
    assert states.causal[1, :2].tolist() == pytest.approx([0, 0])
    assert states.causal[2, :2].tolist() == pytest.approx([0, root])
    assert states.causal[3].tolist() == pytest.approx([0, root, 0.6])
    assert states.normalised_causal[3].tolist() == pytest.approx([0, 1, 0.6 / root])
    assert states.normalised_similarity.tolist() == pytest.approx([1, 0.5, 0])


@pytest.mark.parametrize(
    ("tau", "interval"), [(-1, 0), (0.6, 0), (0.60001, 1), (0.8, 1), (0.96, 2), (0.97, 3), (1, 3)]
)
def test_a_threshold_belongs_to_the_interval_that_ends_at_it(tau: float, interval: int) -> None:
    trace = worked_example()
    assert tau_path(tau_states(trace, trace.settings)).at(tau) == interval


def test_the_nearest_tau_for_a_rank_is_an_end_of_its_span_or_the_current_one() -> None:
    trace = worked_example()
    states = tau_states(trace, trace.settings)
    path = tau_path(states)
    assert nearest_tau(states, path, 0, at_least=1) == F(0.8)
    assert nearest_tau(states, path, 0, at_least=2) == 0.9
    assert nearest_tau(states, path, 2, at_least=2) is None
    low = tau_states(trace, replace(trace.settings, tau=0.1))
    assert nearest_tau(low, tau_path(low), 1, at_least=1) == after(0.8)


def test_exact_mode_and_no_candidates_have_a_single_interval() -> None:
    trace = worked_example()
    exact = tau_path(tau_states(trace, replace(trace.settings, mode="exact")))
    assert (exact.low.tolist(), exact.high.tolist()) == ([-1], [1])
    nothing = tau_path(tau_states(replace(trace, candidates=()), trace.settings))
    assert nothing.ranks.shape == (1, 0)


def test_candidates_out_of_order_and_settings_out_of_range_are_refused() -> None:
    trace = worked_example()
    with pytest.raises(ParameterError, match="not in baseline order"):
        tau_states(replace(trace, candidates=trace.candidates[::-1]), trace.settings)
    for broken in (RankSettings(tau=2), RankSettings(tau=0, alpha=2)):
        with pytest.raises(ParameterError):
            tau_states(trace, broken)
    with pytest.raises(ParameterError):
        tau_path(tau_states(trace, trace.settings)).at(float("nan"))


def test_cosines_at_the_ends_of_the_range_and_beyond() -> None:
    trace = worked_example()
    one, two = (
        replace(
            trace.candidates[1],
            id=name,
            terms=tuple("abcd"),
            weights=np.ones(4, F),
            cosines=np.array(cosines, F),
            matches=np.zeros(4, np.int64),
            exact=np.zeros(4, bool),
            relevance=np.array([1, 0.5, 0.25, 0], F),
            gram=np.eye(4, dtype=F),
        )
        for name, cosines in (("d1", [-1.0, -0.0, 1.0, 1.0000001]), ("d2", [-1.0000001, 0.0, 0.0, 1.0]))
    )
    ends = replace(trace, candidates=(one, two))
    states = tau_states(ends, trace.settings)
    # A keyword at -1 is in A at tau -1 alone; one at 1 or beyond is in A at every tau, one below -1 never.
    assert states.high.tolist() == [-1, 0, 1]
    assert states.low.tolist() == [-1, float(np.nextafter(F(-1), F(0))), float(np.nextafter(F(0), F(1)))]
    for tau in (-1, -0.5, -0.0, 0.0, 1e-45, 0.5, 1):
        ranking = rerank(states.table, replace(trace.settings, tau=tau))
        assert states.causal[states.at(tau)].tobytes() == ranking.causal.tobytes()


@given(traces() | loose_traces(), rank_settings())
def test_intervals_tile_every_threshold_and_neighbours_differ(trace: Trace, chosen: RankSettings) -> None:
    states = tau_states(trace, chosen)
    assert states.low[0] == -1
    assert states.high[-1] == 1
    assert states.low[1:].tolist() == np.nextafter(states.high[:-1], F(2)).tolist()
    assert (states.low <= states.high).all()
    for first, second in pairwise(states.causal):
        assert first.tobytes() != second.tobytes()
    path = tau_path(states).by_rank()
    for first, second in pairwise(path.ranks):
        assert first.tolist() != second.tolist()


@given(traces() | loose_traces(), rank_settings(), taus())
def test_the_path_is_rerank_at_every_tau_to_the_last_bit(
    trace: Trace, chosen: RankSettings, tau: float
) -> None:
    states = tau_states(trace, chosen)
    path = tau_path(states)
    merged = path.by_rank()
    table = ScoreTable.of(trace.candidates)
    for point in {tau, *path.low.tolist(), *path.high.tolist()}:
        ranking = rerank(table, replace(chosen, tau=point))
        at = path.at(point)
        assert path.ranks[at].tolist() == ranking.rank.tolist()
        assert path.final[at].tobytes() == ranking.final.tobytes()
        assert states.causal[at].tobytes() == ranking.causal.tobytes()
        assert merged.ranks[merged.at(point)].tolist() == ranking.rank.tolist()


@given(traces(min_documents=1), rank_settings(), taus(), alphas())
def test_a_breakpoint_is_some_keywords_own_cosine(
    trace: Trace, chosen: RankSettings, tau: float, alpha: float
) -> None:
    states = tau_states(trace, replace(chosen, alpha=alpha))
    cosines = {value for c in trace.candidates for value in c.cosines.tolist()}
    assert set(tau_path(states).breakpoints.tolist()) <= cosines
    # Within an interval A is the same for every candidate whose score is its own.
    at = states.at(tau)
    ends = [float(states.low[at]), float(states.high[at])]
    first, second = (absorbed(states.table.cosines, states.table.exact, end, chosen.mode) for end in ends)
    if len(states.low) == len({c for c in cosines if -1 <= c < 1}) + 1:
        assert (first == second)[states.table.weights > 0].all()


@pytest.mark.parametrize("coarse", [False, True])
def test_a_hundred_candidates_agree_with_rerank_at_breakpoints_and_beside_them(*, coarse: bool) -> None:
    rng = np.random.default_rng(11)
    trace = random_trace(rng, 100, coarse=coarse)
    table = ScoreTable.of(trace.candidates)
    states = tau_states(trace, trace.settings)
    path = tau_path(states)
    ends = rng.choice(path.breakpoints, min(60, len(path.breakpoints)), replace=False)
    points = np.concatenate(
        [ends, np.nextafter(ends, F(2)), np.nextafter(ends, F(-2)), rng.uniform(-1, 1, 60).astype(F)]
    )
    for tau in np.clip(points, -1, 1).tolist():
        ranking = rerank(table, replace(trace.settings, tau=tau))
        assert path.ranks[path.at(tau)].tolist() == ranking.rank.tolist()
        assert path.final[path.at(tau)].tobytes() == ranking.final.tobytes()
