"""The exact (tau, alpha) map of one document: the plane cut into cells in which its rank is constant."""

from dataclasses import dataclass

import numpy as np

from causalviz.arrays import FloatVector, IndexVector
from causalviz.explain.crossings import merged, pairs, tiles
from causalviz.explain.states import TauStates, check_index, ranks_of_rows
from causalviz.partition import check_tau
from causalviz.rank import check_alpha
from causalviz.score import Float64Array


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A rectangle of the plane; all four ends are included, tau in float32 and alpha in doubles.

    ``best`` equals ``worst`` in a settled cell: it is the rank at every point inside. In a crossing, where rounding
    decides from one double alpha to the next, they are the ranks between which it lies.
    """

    tau_low: float
    tau_high: float
    alpha_low: float
    alpha_high: float
    best: int
    worst: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Plane:
    """All cells of one document; together they tile [-1, 1] x [0, 1], every float32 tau and every double alpha.

    Rows are intervals of tau, in ascending order; the cells of row r are numbers start[r] to start[r + 1] - 1, alpha
    ascending, each beginning at the double after the end of the one before it.
    """

    states: TauStates
    index: int
    low: FloatVector
    """(R,) first tau of each row."""
    high: FloatVector
    """(R,) last tau of each row."""
    start: IndexVector
    """(R + 1,)"""
    alpha_low: Float64Array
    """(C,)"""
    alpha_high: Float64Array
    """(C,)"""
    best: IndexVector
    """(C,)"""
    worst: IndexVector
    """(C,)"""

    def number_at(self, tau: float, alpha: float) -> int:
        """Return the number of the cell that holds a point.

        Raises:
            ParameterError: tau or alpha is out of range.
        """
        check_tau(tau)
        check_alpha(alpha)
        row = int(np.searchsorted(self.high, np.float32(tau)))
        begin, end = int(self.start[row]), int(self.start[row + 1])
        return begin + int(np.searchsorted(self.alpha_high[begin:end], alpha))

    def rank_at(self, tau: float, alpha: float) -> int:
        """Return the document's rank at any point: that of ``rank.rerank``, ties and rounding included.

        Raises:
            ParameterError: tau or alpha is out of range.
        """
        number = self.number_at(tau, alpha)
        if self.best[number] == self.worst[number]:
            return int(self.best[number])
        return rank_at(self.states, self.index, self.states.at(tau), alpha)

    def rows(self) -> IndexVector:
        """Return each cell's row, (C,)."""
        return np.repeat(np.arange(len(self.low)), np.diff(self.start))

    def cells(self) -> list[Cell]:
        """Return all cells one by one, row by row."""
        row = self.rows()
        columns = (self.low[row], self.high[row], self.alpha_low, self.alpha_high, self.best, self.worst)
        return [
            Cell(tau_low=a, tau_high=b, alpha_low=c, alpha_high=d, best=e, worst=f)
            for a, b, c, d, e, f in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def first(self) -> tuple[Float64Array, Float64Array]:
        """Return between which alphas the document is first in each row: low and high, (R,); NaN where nowhere.

        It is one settled stretch per row: the alphas at which a line is above all others form an interval.
        """
        low, high = np.full(len(self.low), np.nan), np.full(len(self.low), np.nan)
        number = np.flatnonzero(self.worst == 1)
        row = np.searchsorted(self.start, number, side="right") - 1
        low[row], high[row] = self.alpha_low[number], self.alpha_high[number]
        return low, high


def rank_at(states: TauStates, index: int, interval: int, alpha: float) -> int:
    """Return a document's rank on an interval of tau at any double alpha, by rerank's own arithmetic."""
    return int(ranks_of_rows(states.final_at(interval, alpha)[None, :])[0, index])


def plane(states: TauStates, index: int) -> Plane:
    """Cut the (tau, alpha) plane into the cells in which one document's rank is constant.

    Args:
        states: Its settings' method, mode and rule for empty B hold for the whole plane. Where the method takes no
            account of alpha, each cell spans all of it.
        index: The document's place in baseline order.

    Raises:
        ParameterError: there is no such candidate.
    """
    check_index(states.trace, index)
    n = len(states.table.similarity)
    if states.settings.method == "hybrid":
        low, high = pairs(states, index)
        start_rank = _rank_at_alpha_zero(states, index, np.isfinite(low))
    else:
        low = high = np.full((len(states.low), n), np.inf)
        start_rank = ranks_of_rows(states.final(0.0))[:, index]
    changed = (
        (start_rank[1:] != start_rank[:-1])
        | (low[1:] != low[:-1]).any(axis=1)
        | (high[1:] != high[:-1]).any(axis=1)
    )
    rows = np.flatnonzero(np.concatenate([[True], changed]))
    crossings = merged(low[rows], high[rows], np.arange(n) < index)
    start, cells = tiles(crossings, start_rank[rows])
    return Plane(
        states=states,
        index=index,
        low=states.low[rows],
        high=states.high[np.append(rows[1:], len(states.low)) - 1],
        start=start,
        alpha_low=cells[0],
        alpha_high=cells[1],
        best=cells[2].astype(np.int64),
        worst=cells[3].astype(np.int64),
    )


def _rank_at_alpha_zero(
    states: TauStates, index: int, crosses: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]"
) -> IndexVector:
    """Rank before the first crossing, (M,): whoever crosses from behind in baseline order is ahead there."""
    scored = ~np.isnan(states.normalised_causal)
    later = np.arange(scored.shape[1]) > index
    ahead = crosses & later
    ahead |= ~crosses & scored & (np.arange(scored.shape[1]) < index)
    count = ahead.sum(axis=1)
    without = ~scored[:, index]
    count[without] = scored[without].sum(axis=1) + (~scored[without, :index]).sum(axis=1)
    rank: IndexVector = count + 1
    return rank
