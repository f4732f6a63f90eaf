"""What a document may cost before it is refused: files come from people nobody has met."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Upper limits, equality allowed."""

    file_bytes: int = 100_000_000
    """Of one file, or of one member of an archive."""
    upload_bytes: int = 500_000_000
    """Of all files of one upload together; what a .zip holds counts as unpacked."""
    unpacked_bytes: int = 300_000_000
    """Of all parts that are read of one zipped document (DOCX, XLSX, PPTX, ODT, EPUB)."""
    archive_ratio: float = 200.0
    """Unpacked to packed size of a member of a zip; of no account below 10 MB (office files reach 100, bombs 1,000)."""
    archive_members: int = 10_000
    """Of a zip with all zips inside it."""
    archive_depth: int = 3
    """Zips within zips: 1 is a .zip of files; a zipped document inside does not count."""
    pages: int = 5_000
    """Pages of a PDF, slides, sheets."""
    characters: int = 60_000_000
    """Of the text read: 50 MB of plain text pass."""
    seconds: float = 120.0
    """For one file; an honest page takes milliseconds."""
    ocr_pages: int = 100
    """Pages of a file whose text is recognised (OCR), where an engine is installed."""
    ocr_seconds: float = 90.0
    """For text recognition in one file; less than ``seconds``, so that what was read until then is kept."""
    memory_bytes: int = 3_000_000_000
    """Of address space of the process that reads the file, where the system can bound it."""


DEFAULT_LIMITS = Limits()


def limits_of(changed: Mapping[str, float]) -> Limits:
    """Give the default limits with some changed.

    Args:
        changed: Names of fields of ``Limits`` and their values, in the units of the fields.
    """
    fractions = {"archive_ratio", "seconds", "ocr_seconds"}
    values: dict[str, Any] = {
        name: value if name in fractions else max(1, round(value)) for name, value in changed.items()
    }
    return replace(DEFAULT_LIMITS, **values)
