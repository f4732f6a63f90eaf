"""The seams of the pipeline: what an adapter in backends/ must do."""

from collections.abc import Callable, Sequence
from typing import Protocol

from causalviz.records import FloatMatrix, FloatVector, IndexVector


class Encoder(Protocol):
    """Texts to unit vectors. One instance may be used from several threads."""

    @property
    def name(self) -> str:
        """Model id and revision; part of every knowledge base's identity."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def default_tau(self, *, centred: bool) -> float:
        """Return the absorption threshold that suits this encoder's cosines (METHOD.md, section 4)."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords: float32 (len(texts), dim), rows of norm 1; an empty text gives a zero row."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages: as encode_queries, with the model's passage instruction where it has one."""
        ...


class VectorIndex(Protocol):
    """Nearest rows by inner product."""

    def search(self, query: FloatVector, count: int) -> tuple[IndexVector, FloatVector]:
        """Return the rows with the highest inner products, best first, and those products."""
        ...


MakeIndex = Callable[[FloatMatrix], VectorIndex]
"""Builds an index over the rows of a matrix."""

Segment = Callable[[str], Sequence[str]]
"""Cuts a run of Han characters into words that concatenate to the run."""

Progress = Callable[[int, int, str], None]
"""Called with (characters done, characters in all, what is being done). It may raise to cancel."""
