"""Every state that moving tau can bring about: the causal scores of all candidates, interval by interval.

A keyword t is in A when a(t) >= float32(tau), so s_c changes only where float32(tau) passes some a(t). Between two
neighbouring values a < b nothing changes: for every float32 threshold in (a, b], that is from the float32 after a up
to b itself, the state is one and the same. An interval is therefore written as two float32 numbers, both included,
and the intervals tile [-1, 1] without a gap: each begins at the float32 after the end of the one before it. A double
tau belongs to the interval that holds its float32 value, the one that partition.py compares.

Each candidate is scored once per state of its own keywords (16 at most for 15 keywords), all in one call of
``score.causal_scores``, so that every number is the one that ``rank.rerank`` would give, to the last bit.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from causalviz.arrays import BoolArray, FloatMatrix, FloatVector, IndexVector
from causalviz.errors import ParameterError
from causalviz.partition import check_tau
from causalviz.rank import check_alpha, guarded_scores
from causalviz.records import Mode, RankSettings, Trace
from causalviz.score import Float64Array, ScoreTable, causal_scores

IndexMatrix = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TauStates:
    """The M intervals of tau on which no score changes, in ascending order; N candidates in baseline order.

    Neighbouring intervals differ in at least one candidate's causal score.
    """

    trace: Trace
    table: ScoreTable
    settings: RankSettings
    """Method, mode and rule for empty B hold for all states; tau and alpha are the current point."""
    low: FloatVector
    """(M,) first float32 threshold of each interval."""
    high: FloatVector
    """(M,) last one; low[m + 1] is the float32 after high[m]."""
    causal: Float64Array
    """(M, N) s_c; NaN where B is empty, unless the fallback gives s_sim."""
    normalised_causal: Float64Array
    """(M, N) n(s_c)."""
    normalised_similarity: Float64Array
    """(N,) n(s_sim)."""

    @property
    def start_of_change(self) -> float:
        """The lowest threshold past which anything changes; 1 where tau changes nothing."""
        return float(self.high[0])

    def at(self, tau: float) -> int:
        """Return the number of the interval that holds float32(tau).

        Raises:
            ParameterError: tau is outside [-1, 1] or not a number.
        """
        check_tau(tau)
        return int(np.searchsorted(self.high, np.float32(tau)))

    def final(self, alpha: float) -> Float64Array:
        """Return the score of the chosen method on every interval, (M, N).

        Raises:
            ParameterError: alpha is outside [0, 1] or not a number.
        """
        check_alpha(alpha)
        return self.mixed(self.causal, self.normalised_causal, alpha)

    def final_at(self, interval: int, alpha: float) -> Float64Array:
        """Return the score of the chosen method on one interval, (N,); alpha as in ``final``."""
        check_alpha(alpha)
        return self.mixed(self.causal[interval], self.normalised_causal[interval], alpha)

    def mixed(
        self, causal: Float64Array, normalised_causal: Float64Array, alpha: float | Float64Array
    ) -> Float64Array:
        """Return the column that ``rank.rerank`` ranks by.

        Args:
            causal: s_c, (..., N), any rows of it.
            normalised_causal: n(s_c), the same rows.
            alpha: One for all, or (..., 1), one for each row.
        """
        if self.settings.method == "similarity":
            return np.broadcast_to(self.table.similarity, causal.shape)
        if self.settings.method == "cross-encoder":
            return np.broadcast_to(self.table.cross, causal.shape)
        if self.settings.method == "causal":
            return causal
        if self.settings.method == "guarded":
            return guarded_scores(self.table.similarity, self.table.suspect, ranks_of_rows(causal))
        hybrid: Float64Array = alpha * self.normalised_similarity + (1.0 - alpha) * normalised_causal
        return hybrid

    @classmethod
    def of(cls, trace: Trace, settings: RankSettings) -> Self:
        """Score the candidates in every state; see ``tau_states``."""
        check_tau(settings.tau)
        check_alpha(settings.alpha)
        table = ScoreTable.of(trace.candidates)
        if not (table.similarity[1:] <= table.similarity[:-1]).all():
            raise ParameterError(
                "the candidates of this trace are not in baseline order (similarity descending, then id), which "
                "settles ties; sort them first."
            )
        cosines, always = _movable(table, settings.mode)
        breakpoints, state = _intervals(cosines)
        scores = _own_states(table, cosines, always)
        causal = scores[np.arange(len(table.similarity)), state]
        if settings.empty_b == "fallback":
            causal = np.where(np.isnan(causal), table.similarity, causal)
        changed = np.ones(len(causal), bool)
        bits = causal.view(np.int64)  # so that NaN equals NaN and not even the sign of a zero is lost
        changed[1:] = (bits[1:] != bits[:-1]).any(axis=1)
        causal = causal[changed]
        ends = breakpoints[changed[1:]]
        return cls(
            trace=trace,
            table=table,
            settings=settings,
            low=np.concatenate([np.array([-1], np.float32), np.nextafter(ends, np.float32(2))]),
            high=np.concatenate([ends, np.array([1], np.float32)]),
            causal=causal,
            normalised_causal=stretched(causal),
            normalised_similarity=stretched(table.similarity[None, :])[0],
        )


def tau_states(trace: Trace, settings: RankSettings) -> TauStates:
    """Score the candidates in every state that moving tau can bring about.

    Args:
        trace: Candidates in baseline order.
        settings: tau plays no part in the states.

    Raises:
        ParameterError: a setting is out of range, or the candidates are not in baseline order.
    """
    return TauStates.of(trace, settings)


def _movable(table: ScoreTable, mode: Mode) -> tuple[FloatMatrix, BoolArray]:
    """Tell keywords that tau moves from those it does not.

    Returns:
        Cosines, (N, K), +inf for keywords that no tau in [-1, 1] moves; and (N, K) which of these are always in A.
    """
    real = table.weights > 0
    if mode == "exact":
        return np.full_like(table.cosines, np.inf), table.exact & real
    always = (table.exact | (table.cosines >= 1)) & real
    moves = real & ~always & (table.cosines >= -1)
    return np.where(moves, table.cosines, np.float32(np.inf)), always


def _intervals(cosines: FloatMatrix) -> tuple[FloatVector, IndexMatrix]:
    """Cut [-1, 1] at every cosine.

    Returns:
        The distinct cosines, ascending: interval m ends at the m-th, the last interval at 1.
        Per interval and candidate, (intervals, N), how many of the candidate's keywords tau has let go into B.
    """
    owner, _ = moving = np.nonzero(np.isfinite(cosines))
    breakpoints, number = np.unique(cosines[moving], return_inverse=True)
    n, m = len(cosines), len(breakpoints) + 1
    let_go = np.bincount((number + 1) * n + owner, minlength=m * n).reshape(m, n)
    return breakpoints, let_go.cumsum(axis=0)


def _own_states(table: ScoreTable, cosines: FloatMatrix, always: BoolArray) -> Float64Array:
    """Score each candidate with its s least similar movable keywords in B, for every s from 0 to all of them.

    Returns:
        (N, K + 1); entries past a candidate's number of movable keywords mean nothing.
    """
    n, k = cosines.shape
    movable = np.isfinite(cosines)
    place = np.argsort(np.argsort(cosines, axis=1, kind="stable"), axis=1)
    owner, state = np.nonzero(np.arange(k + 1) <= movable.sum(axis=1, keepdims=True))
    in_a = always[owner] | (movable[owner] & (place[owner] >= state[:, None]))
    scores = np.full((n, k + 1), np.nan)
    scores[owner, state] = scores_with(table, owner, in_a)
    return scores


def scores_with(table: ScoreTable, owner: IndexVector, in_a: BoolArray) -> Float64Array:
    """Score some candidates, each possibly several times, with their keywords divided as given.

    Args:
        table: N candidates of K keywords.
        owner: (R,) which candidate.
        in_a: (R, K) True for its keywords in A.

    Returns:
        (R,) s_c; NaN where B is empty.
    """
    batch = ScoreTable(
        similarity=table.similarity[owner],
        suspect=table.suspect[owner],
        cross=table.cross[owner],
        weights=table.weights[owner],
        cosines=table.cosines[owner],
        exact=table.exact[owner],
        relevance=table.relevance[owner],
        gram=table.gram[owner],
    )
    scores, _ = causal_scores(batch, in_a)
    return scores


def stretched(columns: Float64Array) -> Float64Array:
    """``rank.min_max`` of each row, (M, N), over the entries that are numbers."""
    low = np.fmin.reduce(columns, axis=1, keepdims=True, initial=np.inf)
    high = np.fmax.reduce(columns, axis=1, keepdims=True, initial=-np.inf)
    spread = np.where(high == low, 1.0, high - low)
    rows: Float64Array = (columns - low) / spread
    return rows


def orders_of(final: Float64Array) -> IndexMatrix:
    """``rank.ordered`` of each row, (..., N)."""
    return np.argsort(np.where(np.isnan(final), np.inf, -final), axis=-1, kind="stable")


def ranks_of_rows(final: Float64Array) -> IndexMatrix:
    """``rank.ranks_of`` the order of each row, (..., N): ranks from 1."""
    order = orders_of(final)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(1, final.shape[-1] + 1), order.shape), axis=-1)
    return ranks


def position(trace: Trace, document: str) -> int:
    """Return the index of a candidate by its id.

    Raises:
        ParameterError: the trace holds no such candidate.
    """
    for i, candidate in enumerate(trace.candidates):
        if candidate.id == document:
            return i
    known = ", ".join(f"'{candidate.id}'" for candidate in trace.candidates[:3])
    raise ParameterError(
        f"the trace holds no document '{document}' among its {len(trace.candidates)} candidates"
        + (f" ({known} ...); choose one of them." if known else ".")
    )


def check_index(trace: Trace, index: int) -> None:
    """Refuse an index that is no candidate's.

    Raises:
        ParameterError: it is not in 0 .. N - 1.
    """
    if not 0 <= index < len(trace.candidates):
        raise ParameterError(
            f"candidate {index} was asked for, but the trace holds {len(trace.candidates)}; "
            "choose an index from 0 on, in baseline order."
        )
