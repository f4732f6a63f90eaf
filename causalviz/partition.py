"""Which keywords of a document the query absorbs: A and B of equation (3)."""

import numpy as np
from numpy.typing import NDArray

from causalviz.arrays import BoolArray, FloatMatrix, FloatVector, IndexVector
from causalviz.errors import ParameterError
from causalviz.records import Mode


def absorbed(cosines: FloatMatrix, exact: BoolArray, tau: float, mode: Mode) -> BoolArray:
    """Mark the keywords that belong to A; the others are B.

    A(d) = {t : a(t) >= tau}, a(t) = +inf for an exact match     (paper, equation 3)

    Args:
        cosines: max over the query's keywords of cos(E(t), E(u)), any shape; -inf where there is none.
        exact: Same shape; True where t is itself a query keyword.
        tau: Threshold in [-1, 1]. It is compared in the dtype of ``cosines``, so that a cosine stored as
            float32 0.9 meets tau = 0.9; equality goes to A.
        mode: "exact" absorbs only exact matches and ignores tau.

    Returns:
        Same shape as ``cosines``.

    Raises:
        ParameterError: tau is outside [-1, 1] or not a number.
    """
    check_tau(tau)
    if mode == "exact":
        return exact.copy()
    return exact | (cosines >= cosines.dtype.type(tau))


def check_tau(tau: float) -> None:
    """Refuse a tau that is no cosine.

    Raises:
        ParameterError: tau is outside [-1, 1] or not a number.
    """
    if not -1.0 <= tau <= 1.0:
        raise ParameterError(
            f"tau is {tau:g}, but a cosine lies between -1 and 1; choose a value in that range, "
            "or leave it out for the encoder's default."
        )


def nearest_query_keyword(
    term_vectors: NDArray[np.float32 | np.float64], query_vectors: FloatMatrix
) -> tuple[FloatVector, IndexVector]:
    """Return a(t) before the exact rule: each term's best cosine to a query keyword, and which one.

    Args:
        term_vectors: (n, dim), rows of norm 1 (or 0).
        query_vectors: (m, dim), likewise; m = 0 gives -inf and -1.

    Returns:
        Float32 (n,) cosines and (n,) indices into the query's keywords; the first wins a tie.
    """
    if len(query_vectors) == 0:
        n = len(term_vectors)
        return np.full(n, -np.inf, np.float32), np.full(n, -1, np.int64)
    similarity = (term_vectors.astype(np.float64) @ query_vectors.astype(np.float64).T).astype(np.float32)
    matches = similarity.argmax(axis=1)
    return similarity[np.arange(len(matches)), matches], matches
