"""A chat model that says what it is told to."""

from collections.abc import Callable, Sequence

from causalviz.answer.prompt import utf8_tokens
from causalviz.errors import BackendError
from causalviz.protocols import Ending


class Scripted:
    """Replies with the same pieces to every prompt, and then ends as told."""

    context: int | None = None

    def __init__(
        self,
        *pieces: str,
        name: str = "scripted",
        ending: Ending = "complete",
        fault: str = "",
    ) -> None:
        self.name = name
        self.pieces: Sequence[str] = pieces
        self.ending = ending
        self.fault = fault
        self.prompts: list[str] = []
        """Everything it was asked, in order."""

    def count_tokens(self, text: str) -> int:
        """Estimate by length."""
        return utf8_tokens(text)

    def reply(self, prompt: str, limit: int, piece: Callable[[str], None]) -> Ending:  # noqa: ARG002 - ChatModel
        """Say it."""
        self.prompts.append(prompt)
        for one in self.pieces:
            piece(one)
        if self.fault:
            raise BackendError(self.fault)
        return self.ending
