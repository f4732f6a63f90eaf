"""From scores to ranks: the hybrid of two columns, the guard, empty B, ties (METHOD.md, section 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causalviz.arrays import BoolArray, IndexVector
from causalviz.errors import ParameterError
from causalviz.partition import absorbed
from causalviz.records import Method, RankSettings
from causalviz.score import Float64Array, ScoreTable, causal_scores

_JUST_BELOW = 1e-9
"""Less than two different float32 similarities are apart."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Ranking:
    """Every column a person sees for one (trace, settings); N candidates in baseline order.

    Ranks start at 1. A document with empty B has no score of its own (NaN) unless the fallback gives it one. Where no
    cross-encoder was asked, its column is NaN throughout and its ranks mean nothing.
    """

    in_a: BoolArray
    """(N, K)"""
    empty_b: BoolArray
    causal: Float64Array
    normalised_similarity: Float64Array
    normalised_causal: Float64Array
    hybrid: Float64Array
    guarded: Float64Array
    cross: Float64Array
    """The cross-encoder's own score, neither stretched nor mixed; NaN where there is none."""
    contributions: Float64Array
    """(N, K); each row sums to that candidate's s_c."""
    similarity_rank: IndexVector
    causal_rank: IndexVector
    hybrid_rank: IndexVector
    guarded_rank: IndexVector
    cross_rank: IndexVector
    final: Float64Array
    """The score of the chosen method."""
    rank: IndexVector
    """The rank of the chosen method."""
    order: IndexVector
    """Candidate indices in final order."""


def rerank(table: ScoreTable, settings: RankSettings) -> Ranking:
    """Rank the candidates under one setting of tau, alpha, method and mode.

    Candidates must come in baseline order (similarity descending, then id): that order settles every tie. Whether a
    cross-encoder scored them at all is not known here; see check_method.

    Raises:
        ParameterError: tau is outside [-1, 1] or alpha outside [0, 1].
    """
    check_alpha(settings.alpha)
    in_a = absorbed(table.cosines, table.exact, settings.tau, settings.mode)
    causal, contributions = causal_scores(table, in_a)
    empty = np.isnan(causal)
    unscored = empty
    if settings.empty_b == "fallback":
        causal = np.where(empty, table.similarity, causal)
        unscored = np.zeros_like(empty)
    scored = ~unscored
    n_sim = min_max(table.similarity)
    n_causal = np.full(len(causal), np.nan)
    n_causal[scored] = min_max(causal[scored])
    hybrid = settings.alpha * n_sim + (1.0 - settings.alpha) * n_causal
    guarded = guarded_scores(table.similarity, table.suspect, ranks_of(ordered(causal)))
    columns = {
        "similarity": table.similarity,
        "causal": causal,
        "hybrid": hybrid,
        "guarded": guarded,
        "cross-encoder": table.cross,
    }
    ranks = {name: ranks_of(ordered(column)) for name, column in columns.items()}
    final = columns[settings.method]
    return Ranking(
        in_a=in_a & (table.weights > 0),
        empty_b=empty,
        causal=causal,
        normalised_similarity=n_sim,
        normalised_causal=n_causal,
        hybrid=hybrid,
        guarded=guarded,
        cross=table.cross,
        contributions=contributions,
        similarity_rank=ranks["similarity"],
        causal_rank=ranks["causal"],
        hybrid_rank=ranks["hybrid"],
        guarded_rank=ranks["guarded"],
        cross_rank=ranks["cross-encoder"],
        final=final,
        rank=ranks[settings.method],
        order=ordered(final),
    )


def guarded_scores(
    similarity: Float64Array, suspect: BoolArray, causal_rank: NDArray[np.int64]
) -> Float64Array:
    """Score by similarity, except that a suspected document takes its causal rank where that is the lower one.

    Args:
        similarity: (N,) in baseline order, so that entry i has similarity rank i + 1.
        suspect: (N,) or broadcast to the next one.
        causal_rank: (..., N)

    Returns:
        (..., N) s_sim; for such a document just below the s_sim of the candidate whose place it takes.
    """
    demoted = suspect & (causal_rank > np.arange(1, len(similarity) + 1))
    return np.where(demoted, similarity[causal_rank - 1] - _JUST_BELOW, similarity)


def min_max(column: Float64Array) -> Float64Array:
    """Stretch a column to [0, 1]; a constant (or empty) column becomes 0."""
    if column.size == 0:
        return column
    low, high = column.min(), column.max()
    if high == low:
        return np.zeros_like(column)
    stretched: Float64Array = (column - low) / (high - low)
    return stretched


def ordered(column: Float64Array) -> IndexVector:
    """Indices by descending score; NaN (no score) last; equal scores keep their baseline order."""
    return np.argsort(np.where(np.isnan(column), np.inf, -column), kind="stable")


def ranks_of(order: IndexVector) -> IndexVector:
    """Invert an order into ranks that start at 1."""
    ranks = np.empty_like(order)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def check_alpha(alpha: float) -> None:
    """Refuse a hybrid weight that is no share.

    Raises:
        ParameterError: alpha is outside [0, 1] or not a number.
    """
    if not 0.0 <= alpha <= 1.0:
        raise ParameterError(
            f"alpha is {alpha:g}, but the hybrid weight is a share between 0 (only the causal score) and 1 "
            "(only similarity); choose a value in that range."
        )


def check_method(method: Method, reranker: str | None) -> None:
    """Refuse to rank by the scores of a cross-encoder that was not asked.

    Args:
        method: What is to rank.
        reranker: Name of the cross-encoder; None where there is none.

    Raises:
        ParameterError: as said.
    """
    if method == "cross-encoder" and reranker is None:
        raise ParameterError(
            "the method is cross-encoder, but no cross-encoder scored the candidates; name one with --reranker or "
            "CAUSALVIZ_RERANKER and ask again, or choose another method."
        )
