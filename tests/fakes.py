"""Stand-ins that are small enough to reason about."""

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np
import regex

from causalviz.arrays import FloatMatrix, FloatVector
from causalviz.keywords import Tokenizer
from causalviz.protocols import Encoder


class WordEncoder:
    """Encodes a text as the normalised sum of one fixed random unit vector per word: shared words mean similarity."""

    name = "words"
    dim = 32

    def __init__(self) -> None:
        self.texts: list[str] = []
        """Everything it was asked to encode, in order."""

    def default_tau(self, *, centred: bool) -> float:
        """Unrelated words are nearly orthogonal here."""
        return 0.6 if centred else 0.5

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords."""
        self.texts.extend(texts)
        return (
            np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.dim), np.float32)
        )

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages, as questions."""
        return self.encode_queries(texts)

    def _vector(self, text: str) -> FloatMatrix:
        words = regex.findall(r"\p{Han}|[^\W_]+", text.lower())
        total = (
            np.sum([word_vector(word, self.dim) for word in words], axis=0) if words else np.zeros(self.dim)
        )
        norm = np.linalg.norm(total)
        unit: FloatMatrix = (total / norm if norm > 0 else total).astype(np.float32)
        return unit


class Remembering:
    """Another encoder, under its own name, that encodes the same text only once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dim = encoder.name, encoder.dim
        self._queries: dict[str, FloatVector] = {}
        self._documents: dict[str, FloatVector] = {}

    def default_tau(self, *, centred: bool) -> float | None:
        """As the other says."""
        return self._encoder.default_tau(centred=centred)

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords."""
        return self._remembered(texts, self._queries, self._encoder.encode_queries)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages."""
        return self._remembered(texts, self._documents, self._encoder.encode_documents)

    def _remembered(
        self,
        texts: Sequence[str],
        known: dict[str, FloatVector],
        encode: Callable[[Sequence[str]], FloatMatrix],
    ) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, encode(new), strict=True))
        return np.array([known[text] for text in texts], np.float32).reshape(len(texts), self.dim)


def word_vector(word: str, dim: int) -> FloatMatrix:
    """Return a unit vector that depends on the word alone."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=dim)
    unit: FloatMatrix = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def plain_tokenizer() -> Tokenizer:
    """Return a tokenizer that cuts Han text into pairs of characters and knows five stop words."""
    return Tokenizer(lambda run: re.findall("..?", run), frozenset({"the", "a", "of", "how", "如何"}))


def silent(*_: object) -> None:
    """Report no progress."""
