"""The seams of the pipeline: what an adapter in backends/ must do."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from causalviz.arrays import FloatMatrix, FloatVector, IndexVector


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

    def default_tau(self, *, centred: bool) -> float | None:
        """Return the absorption threshold known to suit this encoder's cosines; None where none is known.

        Ask Pipeline.default_tau for the one to use: it proposes one where none is known.
        """
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


class Reranker(Protocol):
    """Reads a question together with each text (a cross-encoder). One instance may be used from several threads."""

    @property
    def name(self) -> str:
        """Model id and revision; kept with what it scored."""
        ...

    def score(self, query: str, texts: Sequence[str], progress: "Progress | None" = None) -> FloatVector:
        """Score texts for a question.

        Args:
            query: The question; one too long for the model is cut to leave half of its tokens to the text.
            texts: n texts of any length; a long one is read in passages and takes the score of its best.
            progress: Told of the characters read.

        Returns:
            Float32 (n,), in the order of the texts: the model's raw scores, higher is better, on no fixed scale. An
            empty text has none (NaN).

        Raises:
            BackendError: memory ran out, or the model gave something that is no number.
        """
        ...


Ending = Literal["complete", "cut"]
"""Whether a chat model came to its own end, or to the limit of tokens."""


class ChatModel(Protocol):
    """Replies to prompts. One instance may be used from several threads."""

    @property
    def name(self) -> str:
        """Model id and where it runs; part of what a translation is kept under."""
        ...

    @property
    def context(self) -> int | None:
        """Most tokens of prompt and reply together; None where the model does not tell."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count by the model's own tokenizer, or estimate where that is out of reach."""
        ...

    def reply(self, prompt: str, limit: int, piece: Callable[[str], None]) -> Ending:
        """Send a prompt and pass the reply on piece by piece, in order.

        Args:
            prompt: The whole of what the model is told.
            limit: Most tokens of the reply.
            piece: Called with each new piece, which may be empty. It may raise to stop; that ends the reply.

        Raises:
            BackendError: the model cannot be reached, refuses, or breaks off.
        """
        ...


MakeIndex = Callable[[FloatMatrix], VectorIndex]
"""Builds an index over the rows of a matrix."""

Segment = Callable[[str], Sequence[str]]
"""Cuts a run of Han characters into words that concatenate to the run."""

Progress = Callable[[int, int, str], None]
"""Called with (characters done, characters in all, what is being done). It may raise to cancel."""
