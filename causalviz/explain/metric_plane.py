"""A measure of the ranking, averaged over several labelled traces, as an exact map over (tau, alpha)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from causalviz.arrays import FloatVector, IndexVector
from causalviz.errors import ParameterError
from causalviz.explain.crossings import Crossings, merged, pairs, tiles
from causalviz.explain.region import Region, Stretch, largest
from causalviz.explain.states import TauStates, check_index, orders_of, tau_states
from causalviz.records import RankSettings, Trace
from causalviz.score import Float64Array

Metric = Callable[[IndexVector], float]
"""Measures an order: candidate indices, best first."""

SAME = 1e-9
"""Means closer than this count as equal: the sum of a few measures is not exact."""

_BATCH = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A labelled trace."""

    trace: Trace
    watched: tuple[int, ...]
    """Indices of the documents whose ranks decide the metric: it may look at no other's."""
    metric: Metric


def rank_case(trace: Trace, index: int) -> Case:
    """Measure a trace by the rank, from 1, of one document."""

    def rank(order: IndexVector) -> float:
        return float(np.flatnonzero(order == index)[0] + 1)

    return Case(trace=trace, watched=(index,), metric=rank)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MetricPlane:
    """Cells of equal mean on the union of all traces' breakpoints; R rows of tau, C cells.

    Rows tile [-1, 1] as the intervals of states.py do. Cells leave out the crossings (crossings.py), some 1e-14 wide,
    in which rounding decides an order that matters.
    """

    start_of_change: float
    """The lowest threshold past which any trace's scores change."""
    low: FloatVector
    """(R,) first tau of each row."""
    high: FloatVector
    """(R,)"""
    start: IndexVector
    """(R + 1,) cells of row r are start[r] to start[r + 1] - 1, alpha ascending."""
    alpha_low: Float64Array
    """(C,) first alpha, included."""
    alpha_high: Float64Array
    """(C,) last alpha, included."""
    value: Float64Array
    """(C,) mean of the metric."""

    def at(self, tau: float, alpha: float) -> float | None:
        """Return the mean at a point; None inside a crossing."""
        row = int(np.searchsorted(self.high, np.float32(tau)))
        begin, end = self.start[row : row + 2].tolist()
        number = begin + int(np.searchsorted(self.alpha_high[begin:end], alpha))
        return float(self.value[number]) if number < end and self.alpha_low[number] <= alpha else None


@dataclass(frozen=True, kw_only=True, slots=True)
class BestRegion:
    """The largest rectangle on which the mean is the best there is."""

    region: Region
    value: float


def metric_plane(cases: Sequence[Case], settings: RankSettings) -> MetricPlane:
    """Map the mean of the cases' metrics over the whole (tau, alpha) plane.

    Args:
        cases: At least one.
        settings: Method, mode and rule for empty B of all; tau and alpha play no part.

    Raises:
        ParameterError: there is no case, or a watched document is no candidate.
    """
    if not cases:
        raise ParameterError(
            "there is no labelled question to average over; label the answer of at least one."
        )
    measured = [_Measured.of(case, settings) for case in cases]
    high = np.unique(np.concatenate([one.high for one in measured]))
    low = np.concatenate([np.array([-1], np.float32), np.nextafter(high[:-1], np.float32(2))])
    row_of = np.stack([np.searchsorted(one.high, high) for one in measured])
    rows = [
        _mean([one.row(row) for one, row in zip(measured, places, strict=True)])
        for places in row_of.T.tolist()
    ]
    kept = [0] + [r for r in range(1, len(rows)) if not _same(rows[r], rows[r - 1])]
    return MetricPlane(
        start_of_change=float(high[0]),
        low=low[kept],
        high=high[[r - 1 for r in kept[1:]] + [len(rows) - 1]],
        start=np.concatenate([[0], np.cumsum([rows[r].shape[1] for r in kept])]),
        alpha_low=np.concatenate([rows[r][0] for r in kept]),
        alpha_high=np.concatenate([rows[r][1] for r in kept]),
        value=np.concatenate([rows[r][2] for r in kept]),
    )


def best_region(plane: MetricPlane, *, highest: bool) -> BestRegion:
    """Return the largest rectangle on which the mean is best.

    Args:
        plane: Of at least one cell.
        highest: Whether more is better (nDCG) or less (a rank).
    """
    best = float(plane.value.max() if highest else plane.value.min())
    number = np.flatnonzero(np.abs(plane.value - best) <= SAME)
    row = np.searchsorted(plane.start, number, side="right") - 1
    columns = (row, plane.alpha_low[number], plane.alpha_high[number])
    stretches = [Stretch(*s) for s in zip(*(column.tolist() for column in columns), strict=True)]
    region = largest(plane.low, plane.high, stretches, plane.start_of_change)
    if region is None:  # there is a cell of the best value, so there is a rectangle
        raise ParameterError("the map holds no cell; give it at least one labelled question.")
    return BestRegion(region=region, value=best)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Measured:
    """One case's settled cells, neighbours of equal value joined where that is exact."""

    high: FloatVector
    start: IndexVector
    cells: Float64Array
    """(3, C) first alpha, last alpha, value."""

    def row(self, row: int) -> Float64Array:
        return self.cells[:, self.start[row] : self.start[row + 1]]

    @classmethod
    def of(cls, case: Case, settings: RankSettings) -> "_Measured":
        states = tau_states(case.trace, settings)
        crossings = _watched_crossings(states, case.watched)
        begin, (low, high, best, worst) = tiles(crossings, np.zeros(len(states.low), np.int64))
        settled = np.flatnonzero(best == worst)
        row = np.searchsorted(begin, settled, side="right") - 1
        low, high = low[settled], high[settled]
        value = _values(states, case, row, (low + high) / 2)
        several = (worst - best)[settled - 1] > 1
        fresh = np.ones(len(row), bool)
        fresh[1:] = (row[1:] != row[:-1]) | (value[1:] != value[:-1]) | several[1:]
        first = np.flatnonzero(fresh)
        last = np.append(first[1:], len(row)) - 1
        return cls(
            high=states.high,
            start=np.searchsorted(row[first], np.arange(len(states.low) + 1)),
            cells=np.stack([low[first], high[last], value[first]]),
        )


def _watched_crossings(states: TauStates, watched: tuple[int, ...]) -> Crossings:
    """Crossings that change a watched document's rank, each pair once."""
    n = len(states.table.similarity)
    lows, highs = [np.full((len(states.low), 0), np.inf)], [np.full((len(states.low), 0), np.inf)]
    for number, index in enumerate(watched):
        check_index(states.trace, index)
        if states.settings.method == "hybrid":
            others = ~np.isin(np.arange(n), watched[:number])
            low, high = pairs(states, index)
            lows.append(low[:, others])
            highs.append(high[:, others])
    low, high = np.concatenate(lows, axis=1), np.concatenate(highs, axis=1)
    return merged(low, high, np.zeros(low.shape[1], bool))


def _values(states: TauStates, case: Case, row: IndexVector, alpha: Float64Array) -> Float64Array:
    """Measure the order at one point of each cell, (C,); equal ranks of the watched are measured once."""
    known: dict[bytes, float] = {}
    values = np.empty(len(row))
    for begin in range(0, len(row), _BATCH):
        part = slice(begin, begin + _BATCH)
        final = states.mixed(states.causal[row[part]], states.normalised_causal[row[part]], alpha[part, None])
        orders = orders_of(final)
        places = np.argsort(orders, axis=1)[:, list(case.watched)]
        for at, (order, place) in enumerate(zip(orders, places, strict=True), start=begin):
            key = place.tobytes()
            if key not in known:
                known[key] = float(case.metric(order))
            values[at] = known[key]
    return values


def _mean(rows: list[Float64Array]) -> Float64Array:
    """Cut alpha wherever any row is cut and average; (3, C) each: first alpha, last alpha, value."""
    low = np.unique(np.concatenate([row[0] for row in rows]))
    high, total, settled = np.full(len(low), np.inf), np.zeros(len(low)), np.ones(len(low), bool)
    for row in rows:
        place = np.searchsorted(row[0], low, side="right") - 1
        settled &= place >= 0
        high = np.minimum(high, row[1][place])
        total += row[2][place]
    settled &= low <= high
    return np.stack([low, high, total / len(rows)])[:, settled]


def _same(first: Float64Array, second: Float64Array) -> bool:
    return first.shape == second.shape and bool((first == second).all())
