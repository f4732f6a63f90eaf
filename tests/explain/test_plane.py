from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from explain.random_traces import random_trace, worked_example
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from strategies import alphas, loose_traces, rank_settings, taus, traces

from causalviz.errors import ParameterError
from causalviz.explain.plane import Cell, Plane, plane
from causalviz.explain.states import tau_states
from causalviz.rank import rerank
from causalviz.records import EmptyB, Method, RankSettings, Trace
from causalviz.score import ScoreTable

F = np.float32
TWO_THIRDS = 2 / 3
"""Where d1 overtakes d2: lines 1 .. 0 and 0.5 .. 1."""
D1_D3 = (0.6 * np.sqrt(2)) / (1 + 0.6 * np.sqrt(2))
"""Where d1 overtakes d3 at tau above 0.96: lines 1 .. 0 and 0 .. 0.8485."""


def plane_of(trace: Trace, index: int, settings: RankSettings | None = None) -> Plane:
    return plane(tau_states(trace, settings or trace.settings), index)


def settled(cells: list[Cell]) -> list[tuple[float, float, float, float, int]]:
    return [(c.tau_low, c.tau_high, c.alpha_low, c.alpha_high, c.best) for c in cells if c.best == c.worst]


def test_the_worked_example_by_hand() -> None:
    # The first document leads up to tau 0.8 whatever alpha is (there no B tells the documents apart).
    cells = settled(plane_of(worked_example(), 0).cells())
    assert [cell[4] for cell in cells] == [1, 2, 1, 3, 2, 1]
    ends = [-1, 0.8, 0.8, 0.96, 0.96, 1]
    for cell, (low, high) in zip(cells, [ends[:2], *[ends[2:4]] * 2, *[ends[4:]] * 3], strict=True):
        assert cell[:2] == pytest.approx((low, high), abs=1e-6)
    bounds = [(0, 1), (0, TWO_THIRDS), (TWO_THIRDS, 1), (0, D1_D3), (D1_D3, TWO_THIRDS), (TWO_THIRDS, 1)]
    for cell, bound in zip(cells, bounds, strict=True):
        assert cell[2:4] == pytest.approx(bound, abs=1e-7)


def test_a_crossing_is_narrow_and_names_the_ranks_it_lies_between() -> None:
    cells = [c for c in plane_of(worked_example(), 0).cells() if c.best != c.worst]
    assert [(c.best, c.worst) for c in cells] == [(1, 2), (2, 3), (1, 2)]
    assert all(0 <= c.alpha_high - c.alpha_low < 1e-13 for c in cells)


def test_a_document_without_b_has_one_rank_at_every_alpha() -> None:
    found = plane_of(worked_example(), 2)
    assert {found.rank_at(tau, alpha) for tau in (-1, 0.5, 0.7, 0.9) for alpha in (0, 0.5, 1)} == {3}
    assert found.rank_at(0.97, 0.2) == 2


@pytest.mark.parametrize("method", ["similarity", "causal", "cross-encoder"])
def test_a_method_that_ignores_alpha_has_cells_of_full_height(method: Method) -> None:
    trace = worked_example()
    chosen = replace(trace.settings, method=method)
    found = plane_of(trace, 0, chosen)
    assert found.alpha_low.tolist() == [0] * len(found.low)
    assert found.alpha_high.tolist() == [1] * len(found.low)
    assert found.best.tolist() == ([1, 2, 3] if method == "causal" else [1])


def test_first_is_one_stretch_per_row() -> None:
    low, high = plane_of(worked_example(), 1).first()
    assert np.isnan(low).tolist() == [True, False]
    assert (low[1], high[1]) == (0, pytest.approx(TWO_THIRDS))


def test_copies_never_cross() -> None:
    trace = worked_example()
    twin = replace(trace.candidates[1], id="d2~")
    both = replace(trace, candidates=(*trace.candidates[:2], twin, trace.candidates[2]))
    first, second = plane_of(both, 1), plane_of(both, 2)
    for tau, alpha in product((-1, 0.7, 0.9, 0.97), (0, 0.3, TWO_THIRDS, 1)):
        assert second.rank_at(tau, alpha) == first.rank_at(tau, alpha) + 1


def test_a_point_or_candidate_out_of_range_is_refused() -> None:
    trace = worked_example()
    with pytest.raises(ParameterError, match="candidate 3 was asked for, but the trace holds 3"):
        plane_of(trace, 3)
    found = plane_of(trace, 0)
    for tau, alpha in ((2, 0.5), (0.5, 2), (float("nan"), 0.5)):
        with pytest.raises(ParameterError):
            found.rank_at(tau, alpha)


def check_tiling(found: Plane) -> None:
    """Every float32 tau and every double alpha lies in exactly one cell."""
    assert found.low[0] == -1
    assert found.high[-1] == 1
    assert found.low[1:].tolist() == np.nextafter(found.high[:-1], F(2)).tolist()
    assert (found.alpha_low <= found.alpha_high).all()
    starts = found.start[:-1]
    assert not found.alpha_low[starts].any()
    assert (found.alpha_high[found.start[1:] - 1] == 1).all()
    inner = np.delete(np.arange(len(found.alpha_low)), starts)
    assert found.alpha_low[inner].tolist() == np.nextafter(found.alpha_high[inner - 1], 2.0).tolist()
    assert (found.best <= found.worst).all()
    n = len(found.states.trace.candidates)
    assert found.best.min() >= 1
    assert found.worst.max() <= n


@given(traces(min_documents=1) | loose_traces().filter(lambda t: t.candidates), rank_settings(), st.data())
def test_cells_tile_the_plane(trace: Trace, chosen: RankSettings, data: st.DataObject) -> None:
    check_tiling(plane_of(trace, data.draw(st.integers(0, len(trace.candidates) - 1)), chosen))


def beside(values: list[float]) -> set[float]:
    """The values and the doubles next to them that are shares."""
    near = np.array(values)
    all_ = np.concatenate([near, np.nextafter(near, 2.0), np.nextafter(near, -1.0)])
    return set(all_[(all_ >= 0) & (all_ <= 1)].tolist())


@given(
    traces(min_documents=1) | loose_traces().filter(lambda t: t.candidates),
    rank_settings(),
    taus(),
    alphas(),
    st.data(),
)
def test_the_map_is_rerank_at_every_point(
    trace: Trace, chosen: RankSettings, tau: float, alpha: float, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(trace.candidates) - 1))
    found = plane_of(trace, index, chosen)
    table = ScoreTable.of(trace.candidates)
    row = int(np.searchsorted(found.high, F(tau)))
    ends = slice(found.start[row], found.start[row + 1])
    points = beside([alpha, *found.alpha_low[ends].tolist(), *found.alpha_high[ends].tolist()])
    for point in sorted(points):
        rank = rerank(table, replace(chosen, tau=tau, alpha=point)).rank[index]
        number = found.number_at(tau, point)
        assert found.best[number] <= rank <= found.worst[number]
        assert found.rank_at(tau, point) == rank


def some_tau(rng: Generator, breakpoints: list[float]) -> float:
    tau = float(rng.choice(breakpoints)) if rng.random() < 0.7 else float(rng.uniform(-1, 1))
    step = rng.integers(-1, 2)
    return float(np.clip(np.nextafter(F(tau), F(2 * step)), -1, 1)) if step else tau


def some_alpha(rng: Generator, found: Plane, tau: float) -> float:
    number = int(rng.integers(*found.start[(row := int(np.searchsorted(found.high, F(tau)))) : row + 2]))
    ends = [found.alpha_low[number], found.alpha_high[number], rng.uniform(), 0.0, 1.0]
    alpha = rng.choice(ends, p=[0.35, 0.35, 0.2, 0.05, 0.05])
    step = rng.integers(-1, 2)
    return float(np.clip(np.nextafter(alpha, 2.0 * step), 0, 1)) if step else float(alpha)


BRUTE = [(3, False), (3, True), (20, False), (20, True), (100, False), (100, True)]


@pytest.mark.parametrize(("count", "coarse"), BRUTE)
def test_three_thousand_points_agree_with_brute_force(count: int, *, coarse: bool) -> None:
    """500 points for each of six: random ones, breakpoints, ends of crossings, and the numbers right beside them."""
    rng = np.random.default_rng([count, coarse])
    kinds: list[tuple[Method, EmptyB]] = [
        ("hybrid", "last"),
        ("hybrid", "fallback"),
        ("causal", "last"),
        ("similarity", "last"),
        ("cross-encoder", "last"),
    ]
    for method, empty_b in kinds:
        trace = random_trace(rng, count, coarse=coarse)
        chosen = RankSettings(tau=0.0, method=method, empty_b=empty_b)
        states = tau_states(trace, chosen)
        breakpoints = states.high.tolist()
        for index in rng.integers(0, count, 5).tolist():
            found = plane(states, index)
            check_tiling(found)
            for _ in range(20):
                tau = some_tau(rng, breakpoints)
                alpha = some_alpha(rng, found, tau)
                rank = rerank(states.table, replace(chosen, tau=tau, alpha=alpha)).rank[index]
                number = found.number_at(tau, alpha)
                assert found.best[number] <= rank <= found.worst[number]
                assert found.rank_at(tau, alpha) == rank


def test_lines_that_rounding_alone_tells_apart_are_one_crossing() -> None:
    # s_c differs by one unit in the last place: which document leads may change from one double alpha to the next.
    trace = worked_example()
    one = replace(
        trace.candidates[1],
        terms=("w",),
        weights=np.ones(1, F),
        cosines=np.full(1, 0.8, F),
        exact=np.zeros(1, bool),
        matches=np.zeros(1, np.int64),
        relevance=np.full(1, 0.5, F),
        gram=np.ones((1, 1), F),
    )
    longer = replace(one, id="d2~", gram=np.full((1, 1), np.nextafter(F(1), F(0))))
    nearly = replace(trace, candidates=(trace.candidates[0], one, longer, trace.candidates[2]))
    chosen = replace(trace.settings, tau=1.0)
    found = plane_of(nearly, 1, chosen)
    rng = np.random.default_rng(3)
    table = ScoreTable.of(nearly.candidates)
    for alpha in [0.0, 1.0, *rng.uniform(size=200).tolist()]:
        rank = rerank(table, replace(chosen, alpha=alpha)).rank[1]
        assert found.rank_at(1.0, alpha) == rank
