from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from explain.random_traces import random_trace, worked_example
from hypothesis import given
from strategies import rank_settings, traces

from causalviz.errors import ParameterError
from causalviz.explain.flips import FirstPlace, NeighbourFlip, nearest_flip, neighbour_flips, to_be_first
from causalviz.explain.plane import plane
from causalviz.explain.states import tau_states
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace

F = np.float32
EIGHT = float(F(0.8))


def test_the_flip_points_of_the_worked_example() -> None:
    # d2 d1 d3 at tau 0.9, alpha 0.5. d1 passes d2 at alpha 2/3 or where w joins A; d3 passes d1 at no tau.
    trace = worked_example()
    first, second = neighbour_flips(tau_states(trace, trace.settings))
    assert (first.upper, first.lower, first.tau) == (1, 0, EIGHT)
    assert first.alpha == pytest.approx(2 / 3, abs=1e-15)
    assert second == NeighbourFlip(upper=0, lower=2, tau=None, alpha=None)


def test_with_all_three_scored_the_third_passes_the_first_at_a_smaller_alpha() -> None:
    trace = worked_example()
    _, second = neighbour_flips(tau_states(trace, replace(trace.settings, tau=0.97)))
    causal = 0.6 * np.sqrt(2)
    assert second.alpha == pytest.approx(causal / (1 + causal), abs=1e-7)
    low_alpha = neighbour_flips(tau_states(trace, replace(trace.settings, tau=0.9, alpha=0.1)))
    assert low_alpha[1].tau == np.nextafter(F(0.96), F(1))


def test_what_it_takes_to_be_first() -> None:
    trace = worked_example()
    states = tau_states(trace, trace.settings)
    assert to_be_first(states, 1) == FirstPlace(rank=1, tau=0.9, alpha=0.5, both=(0.9, 0.5))
    assert to_be_first(states, 2) == FirstPlace(rank=3, tau=None, alpha=None, both=None)
    found = to_be_first(states, 0)
    assert (found.rank, found.tau) == (2, EIGHT)
    assert found.alpha == pytest.approx(2 / 3, abs=1e-15)
    # 1/6 in alpha is nearer than 0.1 of the 0.4 that tau ranges over.
    assert found.both is not None
    assert found.both[0] == 0.9
    assert found.both[1] == pytest.approx(2 / 3)
    with pytest.raises(ParameterError):
        to_be_first(states, -1)


def test_a_nearer_tau_wins_over_a_farther_alpha() -> None:
    trace = worked_example()
    found = to_be_first(tau_states(trace, replace(trace.settings, tau=0.81, alpha=0.3)), 0)
    assert found.both == (EIGHT, 0.3)


def test_methods_without_alpha_flip_in_tau_alone() -> None:
    trace = worked_example()
    by_score = tau_states(trace, replace(trace.settings, method="causal"))
    assert neighbour_flips(by_score)[0] == NeighbourFlip(upper=1, lower=0, tau=EIGHT, alpha=None)
    assert to_be_first(by_score, 0).alpha is None
    assert to_be_first(by_score, 0).both == (EIGHT, 0.5)
    by_similarity = tau_states(trace, replace(trace.settings, method="similarity"))
    assert {(f.tau, f.alpha) for f in neighbour_flips(by_similarity)} == {(None, None)}
    scored = tuple(replace(c, cross_encoder=float(i)) for i, c in enumerate(trace.candidates))
    by_model = tau_states(replace(trace, candidates=scored), replace(trace.settings, method="cross-encoder"))
    assert [(f.upper, f.lower) for f in neighbour_flips(by_model)] == [(2, 1), (1, 0)]
    assert {(f.tau, f.alpha) for f in neighbour_flips(by_model)} == {(None, None)}
    assert to_be_first(by_model, 0) == FirstPlace(rank=3, tau=None, alpha=None, both=None)


def test_the_exact_double_is_found() -> None:
    assert nearest_flip(0.0, 1.0, lambda alpha: alpha >= 0.3) == 0.3
    assert nearest_flip(1.0, 0.0, lambda alpha: alpha < 0.3) == np.nextafter(0.3, 0)
    assert nearest_flip(-0.0, 1.0, lambda alpha: alpha > 0) == 5e-324


def swapped(states_trace: Trace, settings: RankSettings, flip: NeighbourFlip) -> bool:
    rank = rerank(tau_states(states_trace, settings).table, settings).rank
    return bool(rank[flip.lower] < rank[flip.upper])


def check_flips(trace: Trace, chosen: RankSettings) -> None:
    states = tau_states(trace, chosen)
    order = rerank(states.table, chosen).order.tolist()
    flips = neighbour_flips(states)
    assert [(f.upper, f.lower) for f in flips] == list(pairwise(order))
    ends = sorted({*states.low.tolist(), *states.high.tolist()})
    for flip in flips[:6]:
        swaps = [tau for tau in ends if swapped(trace, replace(chosen, tau=tau), flip)]
        if flip.tau is None:
            assert swaps == []
        else:
            assert min(abs(tau - chosen.tau) for tau in swaps) == abs(flip.tau - chosen.tau)
            assert flip.tau in swaps
        grid = [a for a in np.linspace(0, 1, 21).tolist() if swapped(trace, replace(chosen, alpha=a), flip)]
        if flip.alpha is None:
            assert grid == []
        else:
            assert swapped(trace, replace(chosen, alpha=flip.alpha), flip)
            before = float(np.nextafter(flip.alpha, chosen.alpha))
            assert not swapped(trace, replace(chosen, alpha=before), flip)
            near = abs(flip.alpha - chosen.alpha) - 1e-9
            assert all(abs(alpha - chosen.alpha) >= near for alpha in grid)


@given(traces(min_documents=2, max_documents=5), rank_settings())
def test_no_swap_is_nearer_than_the_flip_point(trace: Trace, chosen: RankSettings) -> None:
    check_flips(trace, chosen)


@pytest.mark.parametrize("coarse", [False, True])
def test_flip_points_of_larger_traces(*, coarse: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(3):
        check_flips(random_trace(rng, 12, coarse=coarse), RankSettings(tau=0.3, alpha=float(rng.uniform())))


@given(traces(min_documents=1), rank_settings())
def test_a_document_is_first_where_it_is_said_to_be(trace: Trace, chosen: RankSettings) -> None:
    states = tau_states(trace, chosen)
    for index in range(len(trace.candidates)):
        found = to_be_first(states, index, plane(states, index))
        rank = rerank(states.table, chosen).rank[index]
        assert found.rank == rank
        points = [(found.tau, chosen.alpha), (chosen.tau, found.alpha), found.both or (None, None)]
        for tau, alpha in points:
            if tau is not None and alpha is not None:
                settings = replace(chosen, tau=tau, alpha=alpha)
                assert rerank(states.table, settings).rank[index] == 1
        if found.tau is not None or found.alpha is not None:
            assert found.both is not None
