"""The exact tau path: every document's rank on every interval of tau, at the current alpha and method."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from causalviz.arrays import BoolArray, FloatVector, IndexVector
from causalviz.explain.states import IndexMatrix, TauStates, check_index, ranks_of_rows
from causalviz.partition import check_tau
from causalviz.score import Float64Array


@dataclass(frozen=True, kw_only=True, slots=True)
class TauSpan:
    """Thresholds between two float32 numbers, both included, at which a document has one rank."""

    low: float
    high: float
    rank: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TauPath:
    """Ranks on M intervals of tau that tile [-1, 1]; intervals as in states.py, both ends included."""

    low: FloatVector
    """(M,)"""
    high: FloatVector
    """(M,)"""
    ranks: IndexMatrix
    """(M, N) ranks from 1; N candidates in baseline order."""
    final: Float64Array
    """(M, N) the score of the chosen method on the interval (on its lowest tau, once merged by rank)."""

    @property
    def breakpoints(self) -> FloatVector:
        """The thresholds right after which something changes, (M - 1,): the ends of all intervals but the last."""
        return self.high[:-1]

    def at(self, tau: float) -> int:
        """Return the number of the interval that holds float32(tau).

        Raises:
            ParameterError: tau is outside [-1, 1] or not a number.
        """
        check_tau(tau)
        return int(np.searchsorted(self.high, np.float32(tau)))

    def by_rank(self) -> "TauPath":
        """Merge neighbouring intervals on which all ranks are the same, though scores may differ."""
        starts = _starts((self.ranks[1:] != self.ranks[:-1]).any(axis=1))
        ends = np.append(starts[1:], len(self.low)) - 1
        return TauPath(
            low=self.low[starts], high=self.high[ends], ranks=self.ranks[starts], final=self.final[starts]
        )

    def of(self, index: int) -> tuple[TauSpan, ...]:
        """Return one document's ranks over tau, neighbouring intervals of equal rank merged."""
        ranks = self.ranks[:, index]
        starts = _starts(ranks[1:] != ranks[:-1])
        ends = np.append(starts[1:], len(ranks)) - 1
        return tuple(
            TauSpan(low=low, high=high, rank=rank)
            for low, high, rank in zip(
                self.low[starts].tolist(), self.high[ends].tolist(), ranks[starts].tolist(), strict=True
            )
        )


def tau_path(states: TauStates) -> TauPath:
    """Rank every document on every interval of tau, at the alpha and method of ``states.settings``.

    On each interval the ranks are those of ``rank.rerank`` at any tau inside it, ties included.
    """
    final = states.final(states.settings.alpha)
    return TauPath(low=states.low, high=states.high, ranks=ranks_of_rows(final), final=final)


def nearest_tau(states: TauStates, path: TauPath, index: int, *, at_least: int) -> float | None:
    """Return the tau nearest to the current one at which a document's rank is ``at_least`` or better.

    Returns:
        The current tau if the rank is that good already; of two equally near, the lower; None if there is none.
    """
    check_index(states.trace, index)
    return nearest_where(states, path.ranks[:, index] <= at_least)


def nearest_where(states: TauStates, wanted: BoolArray) -> float | None:
    """Return the tau nearest to the current one among the wanted intervals, (M,); of two equally near, the lower."""
    tau = states.settings.tau
    if wanted[states.at(tau)]:
        return tau
    ends = np.concatenate([states.low[wanted], states.high[wanted]]).tolist()
    return min(ends, key=partial(_distance, tau), default=None)


def _distance(tau: float, other: float) -> tuple[float, float]:
    return abs(other - tau), other


def _starts(changed: BoolArray) -> IndexVector:
    """Where runs begin, given whether each entry but the first differs from the one before."""
    return np.flatnonzero(np.concatenate([[True], changed]))
