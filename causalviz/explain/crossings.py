"""Where the hybrid scores of two documents cross as alpha moves, at one tau.

The hybrid h(d) = alpha n(s_sim) + (1 - alpha) n(s_c) is a line in alpha. Of two candidates i < j in baseline order
n(s_sim) of i is at least that of j. So if n(s_c) of i is at least that of j as well, i is before j at every alpha: sums
and products of non-negative doubles round monotonically, and a tie goes to i. Otherwise, with

    x = n(s_c)(j) - n(s_c)(i) > 0,    y = n(s_sim)(i) - n(s_sim)(j) >= 0,

j is before i below alpha* = x / (x + y) and i before j from there on.

That is real arithmetic, and a rank is decided by doubles. Each computed h lies within 3.1 u of its line (u = 2^-53;
three roundings of numbers in [0, 1]), so the doubles are sure to agree with lines that differ by more than 6.2 u;
computing x, y and the ends below shifts that difference by less than 10 u. Where it is below ROUNDING = 32 u rounding
may decide, and ties and both orders may alternate from one double alpha to the next. These alphas,

    |alpha - alpha*| <= ROUNDING / (x + y),

form the *crossing* of the pair; outside it the order is proved. A crossing is some 1e-14 wide, and wider only for
documents that are nearly alike in both scores.
"""

from dataclasses import dataclass

import numpy as np

from causalviz.arrays import BoolArray, IndexVector
from causalviz.explain.states import TauStates
from causalviz.score import Float64Array

ROUNDING = 2.0**-48
"""Lines of the hybrid closer than this may be ordered by rounding: 32 units of 2^-53."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Crossings:
    """Crossings of one document with the others, sorted and merged where they touch; row by row of tau.

    Every vector has one entry per merged crossing, sorted by row, then alpha; ``low`` and ``high`` are the first and
    the last double alpha inside it, and at least one double lies between two neighbours in a row.
    """

    row: IndexVector
    low: Float64Array
    high: Float64Array
    risen: IndexVector
    """How many documents it passes there as alpha grows."""
    fallen: IndexVector
    """How many documents pass it."""


def pairs(states: TauStates, index: int) -> tuple[Float64Array, Float64Array]:
    """Return where one document's line crosses each other's on each interval of tau.

    Returns:
        First and last alpha of each crossing, both (M, N), inside [0, 1]; +inf where there is none.
    """
    causal, similarity = states.normalised_causal, states.normalised_similarity
    sign = np.where(np.arange(len(similarity)) > index, 1.0, -1.0)
    x = sign * (causal - causal[:, index : index + 1])
    total = x + sign * (similarity[index] - similarity)
    crosses = x > 0
    low, high = np.full_like(x, np.inf), np.full_like(x, np.inf)
    np.divide(np.maximum(x - ROUNDING, 0.0), total, out=low, where=crosses)
    np.divide(np.minimum(x + ROUNDING, total), total, out=high, where=crosses)
    return low, high


def merged(low: Float64Array, high: Float64Array, falls: BoolArray) -> Crossings:
    """Sort the crossings of each row and merge those that touch.

    Args:
        low: (R, C) first alphas; +inf where there is no crossing.
        high: (R, C) last alphas, likewise.
        falls: (C,) whether the document of the column passes as alpha grows (else it is passed).
    """
    most = int(np.isfinite(low).sum(axis=1).max(initial=0))
    order = np.argsort(low, axis=1)[:, :most]
    low = np.take_along_axis(low, order, axis=1)
    reached = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    real = np.isfinite(low)
    apart = real.copy()
    apart[:, 1:] &= low[:, 1:] > np.nextafter(reached[:, :-1], 2.0)
    row, _ = np.nonzero(real)
    first = np.flatnonzero(apart[real])
    last = np.append(first[1:], len(row))[: len(first)] - 1
    fallen = np.concatenate([[0], np.cumsum(falls[order][real])])
    count = last + 1 - first
    down = fallen[last + 1] - fallen[first]
    return Crossings(
        row=row[first], low=low[real][first], high=reached[real][last], risen=count - down, fallen=down
    )


def tiles(crossings: Crossings, start_rank: IndexVector) -> tuple[IndexVector, Float64Array]:
    """Lay the crossings of each row and the settled cells between them side by side.

    Returns:
        Where each row begins, (R + 1,); and (4, C): first and last alpha, best and worst rank.
    """
    rows, count = len(start_rank), len(crossings.row)
    per_row = np.bincount(crossings.row, minlength=rows)
    until = np.cumsum(per_row)
    # Settled before each crossing, the crossing, ..., settled at the end: 2 per crossing and 1 per row.
    at_crossing = 2 * np.arange(count) + crossings.row + 1
    at_end = 2 * until + np.arange(rows)
    net = np.concatenate([[0], np.cumsum(crossings.fallen - crossings.risen)])
    before = start_rank[crossings.row] + net[:-1] - net[(until - per_row)[crossings.row]]
    cells = np.empty((4, 2 * count + rows))
    cells[0, at_crossing], cells[1, at_crossing] = crossings.low, crossings.high
    cells[2, at_crossing], cells[3, at_crossing] = before - crossings.risen, before + crossings.fallen
    cells[1, at_crossing - 1], cells[1, at_end] = np.nextafter(crossings.low, -1.0), 1.0
    cells[0, 1:][at_crossing] = np.nextafter(crossings.high, 2.0)
    cells[0, at_end[:-1] + 1] = 0.0
    cells[0, 0] = 0.0
    cells[2:, at_crossing - 1] = before
    cells[2:, at_end] = start_rank + net[until] - net[until - per_row]
    real = cells[0] <= cells[1]
    start = np.concatenate([[0], np.cumsum(real)])[np.append(at_end - 2 * per_row, len(real))]
    return start, cells[:, real]
