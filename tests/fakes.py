"""Stand-ins that are small enough to reason about."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import regex

from causalviz.keywords import Tokenizer
from causalviz.records import FloatMatrix


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
