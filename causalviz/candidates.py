"""S1: the documents nearest to the question (equations 1 and 2), and which of them are nearly the same."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.sparse import csr_matrix

from causalviz.arrays import FloatMatrix, FloatVector, IndexVector
from causalviz.errors import ParameterError
from causalviz.protocols import VectorIndex

_MARGIN = 1e-5
"""More than an index's float32 rounding can move an inner product of unit vectors."""

NEARLY_THE_SAME = 0.95
"""Cosine of word counts from which two texts are called nearly the same."""
_OWN, _SHARED = 256, 256
"""Words that are compared one by one before a pair is looked at closely, and groups the others are put into."""
_BLOCK = 512
"""Texts compared with all others at a time."""
_PAIRS = 20_000
"""Pairs looked at closely at a time."""
UNKNOWN = -2
"""Of a text that was not compared yet."""


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
    rows, similarity = _ranked(index, vectors, query, top_k, theta, lambda _rows: top_k)
    return rows[:top_k], similarity[:top_k]


def nearest_texts(  # noqa: PLR0913, PLR0917 - as nearest, and what tells copies
    index: VectorIndex,
    vectors: FloatMatrix,
    texts: Sequence[str],
    query: FloatVector,
    top_k: int,
    theta: float,
) -> tuple[IndexVector, FloatVector, IndexVector]:
    """Find the top-k rows as ``nearest`` does, but let copies of a text come in only where other texts leave room.

    The first of equal texts by similarity, then row, stands for the others.

    Args:
        index: As for nearest.
        vectors: As for nearest.
        texts: (N,), equal for equal texts.
        query: As for nearest.
        top_k: As for nearest.
        theta: As for nearest.

    Returns:
        Rows and similarities as nearest returns them, and the rows that only nearest would return, in that order.

    Raises:
        ParameterError: as for nearest.
    """
    check_limits(top_k, theta)

    def first_rows(rows: IndexVector) -> IndexVector:
        return np.sort(np.unique([texts[row] for row in rows], return_index=True)[1])

    def enough(rows: IndexVector) -> int:
        first = first_rows(rows)
        return int(first[top_k - 1]) + 1 if len(first) >= top_k else len(rows) + 1

    rows, similarity = _ranked(index, vectors, query, top_k, theta, enough)
    is_copy = np.ones(len(rows), bool)
    is_copy[first_rows(rows)] = False
    chosen = np.sort(np.argsort(is_copy, kind="stable")[:top_k])
    left_out = np.setdiff1d(np.arange(min(top_k, len(rows))), chosen)
    return rows[chosen], similarity[chosen], rows[left_out]


def _ranked(  # noqa: PLR0913, PLR0917 - as nearest, and how many rows are needed
    index: VectorIndex,
    vectors: FloatMatrix,
    query: FloatVector,
    top_k: int,
    theta: float,
    enough: Callable[[IndexVector], int],
) -> tuple[IndexVector, FloatVector]:
    """Rank rows with cosine >= theta, at least those needed and all that may tie with the last of them.

    Args:
        index: Holds ``vectors``.
        vectors: (N, dim).
        query: (dim,).
        top_k: As for nearest.
        theta: As for nearest.
        enough: Says how many of the rows proposed, from the first on, are needed; more than there are: more rows.
    """
    fetch = top_k + 32
    while True:
        fetch = min(len(vectors), fetch)
        rows, scores = index.search(query, fetch)
        needed = enough(rows)
        complete = needed <= len(rows) and scores[-1] < scores[needed - 1] - _MARGIN
        if complete or fetch == len(vectors) or scores[-1] < theta - _MARGIN:
            break
        fetch *= 4
    similarity = cosines(vectors[rows], query)
    best = np.lexsort((rows, -similarity))
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


def near_duplicates(counts: csr_matrix, known: IndexVector | None = None) -> IndexVector:
    """Find for each text the first one before it that has nearly the same words.

    Args:
        counts: (n, V), occurrences of words.
        known: (n,), what was found earlier among the texts that are not UNKNOWN: these are compared with the others.

    Returns:
        (n,) rows, -1 where there is none: the cosine of the word counts must reach NEARLY_THE_SAME.
    """
    n = counts.shape[0]
    everything = np.arange(n)
    if known is None:
        known = np.full(n, UNKNOWN, np.int64)
    found = np.where(known >= 0, known, n)
    rows = np.repeat(everything, np.diff(counts.indptr))
    data = counts.data.astype(np.float64)
    norms = np.sqrt(np.bincount(rows, data**2, n))
    units = csr_matrix((data / norms[rows], counts.indices, counts.indptr), shape=counts.shape)
    sketches = _sketches(units, rows)
    new = everything[known == UNKNOWN]
    for later, earlier in ((new, everything), (everything[known != UNKNOWN], new)):
        for first, second in _promising(sketches, later, earlier):
            cosines_ = np.asarray(units[first].multiply(units[second]).sum(axis=1)).ravel()
            close = cosines_ >= NEARLY_THE_SAME
            np.minimum.at(found, first[close], second[close])
    return np.where(found < n, found, -1)


def _promising(
    sketches: FloatMatrix, later: IndexVector, earlier: IndexVector
) -> Iterator[tuple[IndexVector, IndexVector]]:
    """Give the pairs whose cosine may reach the threshold, of one text and one before it, a bounded number at a time.

    No cosine exceeds the product of the sketches (Cauchy-Schwarz), so that few pairs are left to compare.
    """
    others = sketches[earlier]
    for start in range(0, len(later), _BLOCK):
        block = later[start : start + _BLOCK]
        before = np.searchsorted(earlier, block[-1])  # both ascend
        bounds = sketches[block] @ others[:before].T
        ones, twos = np.nonzero(bounds >= NEARLY_THE_SAME - 10 * _MARGIN)
        first, second = block[ones], earlier[twos]
        first, second = first[second < first], second[second < first]
        for part in range(0, len(first), _PAIRS):
            yield first[part : part + _PAIRS], second[part : part + _PAIRS]


def _sketches(units: csr_matrix, rows: IndexVector) -> FloatMatrix:
    """Shrink rows of norm 1 to (n, _OWN + _SHARED): weighty words as they are, of groups of others the norm."""
    words, places = np.unique(units.indices, return_inverse=True)
    weight = np.bincount(places, units.data**2, len(words))
    rank = np.empty(len(words), np.int64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(len(words))
    column = np.where(rank < _OWN, rank, _OWN + rank % _SHARED)[places]
    width = _OWN + _SHARED
    squares = np.bincount(rows * width + column, units.data**2, units.shape[0] * width)
    sketches: FloatMatrix = np.sqrt(squares).astype(np.float32).reshape(-1, width)
    return sketches
