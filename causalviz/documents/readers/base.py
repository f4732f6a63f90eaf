"""What every reader takes and gives."""

from collections.abc import Callable
from dataclasses import dataclass

from causalviz.documents.limits import Limits


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadText:
    """A file's text as it stands there, before cleaning."""

    text: str
    title: str | None = None
    """As the format names it; None where it names none."""
    encoding: str | None = None
    """Python codec name; None where the format fixes it."""
    warnings: tuple[str, ...] = ()


Read = Callable[[bytes, Limits], ReadText]
"""Raises UnreadableFileError, and nothing else, whatever the bytes."""
