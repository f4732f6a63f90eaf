"""BM25 through bm25s: a plain reference over a whole collection."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix

_EPSILON = 1e-9


class Bm25Index:
    """Documents as content words, ranked for a question's content words (Lucene's BM25, k1 = 1.5, b = 0.75)."""

    def __init__(self, ids: Sequence[str], tokens: Sequence[Sequence[str]]) -> None:
        """Index the documents.

        Args:
            ids: Their ids.
            tokens: The content words of each, in the order of ``ids``.
        """
        import bm25s

        self._ids = tuple(ids)
        self._places = np.argsort(np.argsort(np.array(self._ids, object)))
        self._index = None
        if any(tokens):
            self._index = bm25s.BM25()
            self._index.index([list(words) for words in tokens], show_progress=False)

    def rank(self, tokens: Sequence[str], count: int) -> list[str]:
        """Return the ids of at most ``count`` documents that share a word with the question, best first; ties by id."""
        words = list(tokens)
        if self._index is None or not words:
            return []
        scores = self._index.get_scores(words)
        found = np.flatnonzero(scores > _EPSILON)
        best = found[np.lexsort((self._places[found], -scores[found]))[:count]]
        return [self._ids[i] for i in best.tolist()]


def counted_words(counts: csr_matrix, vocabulary: Sequence[str]) -> list[list[str]]:
    """Return every document's content words from their counts; BM25 asks for no reading order.

    Args:
        counts: (N, V), occurrences of each word.
        vocabulary: The V words.
    """
    words = np.array(vocabulary, object)[np.repeat(counts.indices, counts.data)].tolist()
    ends = np.append(0, np.cumsum(counts.data))[counts.indptr].tolist()
    return [words[start:end] for start, end in pairwise(ends)]
