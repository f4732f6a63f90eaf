"""BM25 through bm25s: a plain reference over a whole collection."""

from collections.abc import Sequence

import numpy as np

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
        best = sorted(found.tolist(), key=lambda i: (-float(scores[i]), self._ids[i]))
        return [self._ids[i] for i in best[:count]]
