"""The causal-attention score from the few numbers a trace keeps.

With m_t = lambda_t for t in B and 0 for t in A, p_t = <E(q), E(t)> and G the Gram matrix of the term vectors,

    s_c = cos(E(q), v_B) = (m . p) / sqrt(m' G m)        (paper, equations 4 and 5)

because dividing the centroid by the sum of its weights does not change its direction.

The sums below run keyword by keyword, in the same order as assets/rerank.js. That makes the two agree to
the last bit, ties included; a matrix product would not promise it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from causalviz.arrays import BoolArray, FloatMatrix
from causalviz.errors import ShapeError
from causalviz.records import Candidate

Float64Array = NDArray[np.float64]

VANISHED = 1e-7
"""A centroid shorter than sqrt(VANISHED) times its total weight is the zero vector: float32 knows no better."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoreTable:
    """The candidates of one trace as arrays, N candidates padded to K keywords of weight 0."""

    similarity: Float64Array
    """(N,)"""
    suspect: BoolArray
    """(N,)"""
    cross: Float64Array
    """(N,) the cross-encoder's score; NaN where there is none."""
    weights: Float64Array
    """(N, K); 0 marks padding."""
    cosines: FloatMatrix
    """(N, K)"""
    exact: BoolArray
    """(N, K)"""
    relevance: Float64Array
    """(N, K)"""
    gram: Float64Array
    """(N, K, K)"""

    @classmethod
    def of(cls, candidates: tuple[Candidate, ...]) -> Self:
        """Pad the candidates' numbers to one width.

        Raises:
            ShapeError: a candidate's vectors disagree in length.
        """
        n, k = len(candidates), max((len(c.terms) for c in candidates), default=0)
        weights, relevance = np.zeros((n, k)), np.zeros((n, k))
        cosines, exact = np.full((n, k), -np.inf, np.float32), np.zeros((n, k), bool)
        gram = np.zeros((n, k, k))
        for i, c in enumerate(candidates):
            size = len(c.terms)
            if not (
                c.weights.shape == c.cosines.shape == c.exact.shape == c.relevance.shape == (size,)
                and c.gram.shape == (size, size)
            ):
                raise ShapeError(
                    f"candidate '{c.id}' has {size} terms, but its vectors are {c.weights.shape}, {c.cosines.shape}, "
                    f"{c.exact.shape}, {c.relevance.shape} and {c.gram.shape} long; all must follow the terms."
                )
            weights[i, :size], relevance[i, :size] = c.weights, c.relevance
            cosines[i, :size], exact[i, :size] = c.cosines, c.exact
            gram[i, :size, :size] = c.gram
        return cls(
            similarity=np.array([c.similarity for c in candidates], dtype=np.float64),
            suspect=np.array([c.suspect for c in candidates], dtype=bool),
            cross=np.array(
                [np.nan if c.cross_encoder is None else c.cross_encoder for c in candidates], dtype=np.float64
            ),
            weights=weights,
            cosines=cosines,
            exact=exact,
            relevance=relevance,
            gram=gram,
        )


def causal_scores(table: ScoreTable, in_a: BoolArray) -> tuple[Float64Array, Float64Array]:
    """Score every candidate by what its keywords in B say about the query.

    Args:
        table: N candidates of K keywords.
        in_a: (N, K), True for keywords in A.

    Returns:
        s_c, (N,), in [-1, 1] up to rounding: NaN where B is empty, 0 where the centroid of B is the zero vector.
        Contributions, (N, K), lambda_t p(t) / sqrt(m' G m) for t in B and 0 elsewhere; each row sums to s_c.
    """
    m = np.where(in_a, 0.0, table.weights)
    k = m.shape[1]
    dot, total, length2 = np.zeros(len(m)), np.zeros(len(m)), np.zeros(len(m))
    row_sums = np.zeros_like(m)
    for j in range(k):
        row_sums += table.gram[:, :, j] * m[:, j : j + 1]
    for j in range(k):
        dot += m[:, j] * table.relevance[:, j]
        total += m[:, j]
        length2 += m[:, j] * row_sums[:, j]
    empty = total == 0.0
    vanished = length2 <= VANISHED * (total * total)
    length = np.sqrt(np.where(vanished, 1.0, length2))
    scores = np.where(vanished, 0.0, dot / length)
    scores[empty] = np.nan
    contributions = np.where(vanished[:, None], 0.0, m * table.relevance / length[:, None])
    return scores, contributions
