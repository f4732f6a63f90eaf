from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from explain.random_traces import random_trace, worked_example

from causalviz.arrays import IndexVector
from causalviz.errors import ParameterError
from causalviz.explain.metric_plane import Case, best_region, metric_plane, rank_case
from causalviz.rank import rerank
from causalviz.records import Method, RankSettings
from causalviz.score import ScoreTable

SETTINGS = RankSettings(tau=0.0)
F = np.float32


def test_the_rank_of_the_worked_examples_second_document() -> None:
    # d2 is second up to tau 0.8; above, first below alpha 2/3 and second above it.
    found = metric_plane([rank_case(worked_example(), 1)], SETTINGS)
    assert found.high.tolist() == [F(0.8), 1]
    assert found.value.tolist() == [2, 1, 2]
    assert found.alpha_high.tolist() == pytest.approx([1, 2 / 3, 1])
    assert found.at(0.8, 0.5) == 2
    assert found.at(0.9, 0.5) == 1
    assert found.at(0.9, found.alpha_high[1]) == 1
    assert found.at(0.9, np.nextafter(found.alpha_high[1], 1)) is None
    best = best_region(found, highest=False)
    assert best.value == 1
    assert best.region.sentence("best") == "best for tau from 0.81 at any alpha below 0.66"
    assert best_region(found, highest=True).region.sentence("worst") == "worst for tau up to 0.8 at any alpha"


def test_the_mean_of_two_opposite_ranks_is_the_same_wherever_it_is_known() -> None:
    trace = worked_example()
    found = metric_plane([rank_case(trace, 0), rank_case(trace, 1)], SETTINGS)
    # d1 and d2 share ranks 1 and 2, but above tau 0.96 d3 passes d1 at small alpha.
    assert set(found.value.tolist()) == {1.5, 2.0}
    assert found.at(0.97, 0.1) == 2
    assert found.at(0.97, 0.5) == 1.5


def test_no_case_and_no_such_document_are_refused() -> None:
    with pytest.raises(ParameterError, match="no labelled question"):
        metric_plane([], SETTINGS)
    with pytest.raises(ParameterError, match="candidate 7"):
        metric_plane([rank_case(worked_example(), 7)], SETTINGS)


def at_most(limit: int, watched: tuple[int, ...]) -> Callable[[IndexVector], float]:
    """Precision at ``limit``."""
    return lambda order: float(np.isin(order[:limit], watched).mean())


def reciprocal(watched: tuple[int, ...]) -> Callable[[IndexVector], float]:
    return lambda order: 1 / (1 + float(np.flatnonzero(np.isin(order, watched))[0]))


@pytest.mark.parametrize("method", ["hybrid", "causal", "similarity", "cross-encoder"])
@pytest.mark.parametrize("coarse", [False, True])
def test_the_mean_is_that_of_reranking_every_trace(method: Method, *, coarse: bool) -> None:
    rng = np.random.default_rng([7, coarse])
    traces = [random_trace(rng, count, coarse=coarse) for count in (6, 9, 12)]
    chosen = replace(SETTINGS, method=method)
    cases = [
        Case(trace=traces[0], watched=(1, 3, 4), metric=at_most(3, (1, 3, 4))),
        Case(trace=traces[1], watched=(2, 8), metric=reciprocal((2, 8))),
        rank_case(traces[2], 5),
    ]
    found = metric_plane(cases, chosen)
    tables = [ScoreTable.of(trace.candidates) for trace in traces]
    known = 0
    for number in rng.integers(len(found.value), size=150).tolist():
        row = int(np.searchsorted(found.start, number, side="right")) - 1
        tau = float(rng.choice([found.low[row], found.high[row]]))
        ends = found.alpha_low[number], found.alpha_high[number]
        for alpha in (*ends, float(rng.uniform(*ends)), float(rng.uniform())):
            value = found.at(tau, alpha)
            orders = [rerank(table, replace(chosen, tau=tau, alpha=alpha)).order for table in tables]
            mean = fmean(case.metric(order) for case, order in zip(cases, orders, strict=True))
            assert value is None or value == pytest.approx(mean, abs=1e-12)
            known += value is not None
    assert known > 550


def test_the_best_region_holds_the_best_mean_only() -> None:
    rng = np.random.default_rng(2)
    traces = [random_trace(rng, 8) for _ in range(3)]
    found = metric_plane([rank_case(trace, 4) for trace in traces], SETTINGS)
    best = best_region(found, highest=False)
    assert best.value == found.value.min()
    for tau in (best.region.tau_low, best.region.tau_high):
        for alpha in (best.region.alpha_low, best.region.alpha_high):
            assert found.at(tau, alpha) == pytest.approx(best.value)


def test_a_swap_that_changes_no_value_cuts_no_cell() -> None:
    # Whether d1 or d2 leads, one of them is among the first two, and so is the other.
    trace = worked_example()
    both = Case(trace=trace, watched=(0, 1), metric=at_most(2, (0, 1)))
    found = metric_plane([both], replace(SETTINGS, tau=0.9))
    assert found.at(0.9, 2 / 3) == 1
    assert found.value.tolist() == [1, 0.5, 1]
