"""What every reader takes and gives."""

from collections.abc import Callable
from dataclasses import dataclass

from causalviz.documents.limits import Limits


@dataclass(frozen=True, slots=True)
class Part:
    """A page, slide, sheet or chapter, before cleaning."""

    text: str
    label: str = ""
    """For people: "page 3", "sheet Prices"; empty where a format has no such parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadText:
    """A file's text as it stands there, before cleaning."""

    parts: tuple[Part, ...]
    """In reading order, without those that hold nothing readable."""
    pages: int | None = None
    """Pages, slides or sheets of the file, with those that are left out; None where the format has none."""
    title: str | None = None
    """As the format names it; None where it names none."""
    encoding: str | None = None
    """Python codec name; None where the format fixes it."""
    recognised_by: str | None = None
    """The engine, where text was read off pictures (OCR)."""
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All parts, an empty line between them."""
        return "\n\n".join(part.text for part in self.parts)


Read = Callable[[bytes, Limits], ReadText]
"""Raises UnreadableFileError, and nothing else, whatever the bytes."""
