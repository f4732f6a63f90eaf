"""What a document may cost before it is refused: files come from people nobody has met."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Upper limits, equality allowed."""

    file_bytes: int = 50_000_000
    unpacked_bytes: int = 200_000_000
    """Of all parts of a zipped document (DOCX) together: a bomb unpacks to a thousand times its size."""
    pages: int = 2_000
    """Of a PDF."""
    pdf_seconds: float = 60.0
    """For a whole PDF; an honest page takes milliseconds."""
    characters: int = 20_000_000
    """Of the text read."""


DEFAULT_LIMITS = Limits()
