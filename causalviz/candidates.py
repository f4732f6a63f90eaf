"""S1: the documents nearest to the question (equations 1 and 2)."""

import numpy as np

from causalviz.errors import ParameterError
from causalviz.protocols import VectorIndex
from causalviz.records import FloatMatrix, FloatVector, IndexVector

_MARGIN = 1e-5
"""More than an index's float32 rounding can move an inner product of unit vectors."""


def nearest(
    index: VectorIndex, vectors: FloatMatrix, query: FloatVector, top_k: int, theta: float
) -> tuple[IndexVector, FloatVector]:
    """Find the top-k rows by cosine among those with cosine >= theta.

    The index only proposes: cosines are recomputed in double precision, so that equal documents have equal
    similarities whatever their place, and every document tied at the border competes by its row number.

    Args:
        index: Holds ``vectors``.
        vectors: (N, dim), rows of norm 1 in id order.
        query: (dim,), norm 1.
        top_k: At least 1.
        theta: Threshold on the cosine, compared as float32; equality stays.

    Returns:
        Rows, and their similarities as float32, by similarity descending, then row.

    Raises:
        ParameterError: top_k is below 1 or theta outside [-1, 1].
    """
    check_limits(top_k, theta)
    fetch = min(len(vectors), top_k + 32)
    rows, scores = index.search(query, fetch)
    while fetch < len(vectors) and scores[-1] >= scores[top_k - 1] - _MARGIN:
        fetch = min(len(vectors), fetch * 4)
        rows, scores = index.search(query, fetch)
    similarity = cosines(vectors[rows], query)
    best = np.lexsort((rows, -similarity))[:top_k]
    best = best[similarity[best] >= np.float32(theta)]
    return rows[best], similarity[best]


def cosines(vectors: FloatMatrix, query: FloatVector) -> FloatVector:
    """Cosines of unit rows with a unit query, summed in double precision and kept as float32."""
    return (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)


def check_limits(top_k: int, theta: float) -> None:
    """Refuse an empty candidate set or a threshold that is no cosine.

    Raises:
        ParameterError: top_k is below 1 or theta outside [-1, 1].
    """
    if top_k < 1:
        raise ParameterError(
            f"top-k is {top_k}, but at least one candidate is needed; choose 1 or more (20 is usual)."
        )
    if not -1.0 <= theta <= 1.0:
        raise ParameterError(
            f"theta is {theta:g}, but a cosine lies between -1 and 1; choose a value in that range."
        )
