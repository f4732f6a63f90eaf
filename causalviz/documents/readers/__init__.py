"""Readers, one module per format: bytes -> Document.

To add a format, write ``readers/<format>.py`` with a function of type ``Read`` and add its line to ``_FORMATS``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from causalviz.documents.cleaning import clean
from causalviz.documents.limits import DEFAULT_LIMITS, Limits
from causalviz.documents.quality import why_unreadable
from causalviz.documents.readers.base import Part, Read, ReadText
from causalviz.documents.readers.docx import read_docx
from causalviz.documents.readers.html import read_html
from causalviz.documents.readers.image import read_image
from causalviz.documents.readers.markdown import read_markdown
from causalviz.documents.readers.pdf import read_pdf
from causalviz.documents.readers.signatures import PICTURES, recognise
from causalviz.documents.readers.text import read_text
from causalviz.errors import UnreadableFileError
from causalviz.records import Document, Place

_BETWEEN_PARTS = "\n\n"
_TITLE_LENGTH = 120  # characters; a longer first line is a paragraph
_TITLE_LINES = 5  # among which a title is looked for
# A heading with a number names a chapter: many a law has its name as a plain line above "## 第一章 总则".
_NUMBERED = re.compile(
    r"第[一二三四五六七八九十百零〇\d]{1,6}[编篇章节条]|[一二三四五六七八九十]{1,3}、|\d{1,3}(?:\.\d{1,3})*[.、)]? "
    r"|(?:chapter|section|part) [\divxlc]+\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Format:
    name: str
    read: Read
    signatures: tuple[str, ...] = ()
    """What ``recognise`` may call such a file; text has no signature."""


_FORMATS: Mapping[str, _Format] = {
    ".txt": _Format("text", read_text),
    ".md": _Format("markdown", read_markdown),
    ".html": _Format("html", read_html),
    ".htm": _Format("html", read_html),
    ".pdf": _Format("pdf", read_pdf, ("a PDF",)),
    ".docx": _Format("docx", read_docx, ("a Word document", "a zip archive")),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".tif", ".tiff"), _Format("image", read_image, PICTURES)),
}
SUPPORTED_SUFFIXES: tuple[str, ...] = tuple(sorted(_FORMATS))
"""Lower case, with the dot; ``read_document`` ignores case."""


def read_document(document_id: str, data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Read one file: pick the reader by the suffix, decode, clean, find a title, and make sure that it is text.

    The title is the one the format names (unless it is a numbered heading), else the first short line, else the file's
    name without its suffix.

    Args:
        document_id: Path relative to its folder, with forward slashes; its suffix picks the reader.
        data: The file's bytes, whatever they are.
        limits: What is refused for its size.

    Raises:
        UnreadableFileError: Always this one: unknown suffix, empty, too large, other content than the suffix says,
            password-protected, damaged, scanned, no text or unreadable text. One sentence: found, expected, cure.
    """
    format_ = _format_of(document_id)
    _check_bytes(data, PurePosixPath(document_id).suffix, format_, limits)
    try:
        read = format_.read(data, limits)
    except UnreadableFileError:
        raise
    except (
        Exception
    ) as error:  # the last net under parsers fed with hostile bytes: one file must not end a whole run
        raise UnreadableFileError(
            f"the {format_.name} reader failed on a damaged file ({type(error).__name__}); save the file anew in the "
            "program that made it."
        ) from error
    return _to_document(document_id, format_, read, limits)


def _format_of(document_id: str) -> _Format:
    suffix = PurePosixPath(document_id).suffix.lower()
    if suffix not in _FORMATS:
        found = f"files ending in {suffix[:20]!r} are" if suffix else "files without a suffix are"
        raise UnreadableFileError(f"{found} not read; save it as one of {', '.join(SUPPORTED_SUFFIXES)}.")
    return _FORMATS[suffix]


def _check_bytes(data: bytes, suffix: str, format_: _Format, limits: Limits) -> None:
    if not data:
        raise UnreadableFileError("the file is empty (0 bytes); put text into it, or leave it out.")
    if len(data) > limits.file_bytes:
        raise UnreadableFileError(
            f"the file has {len(data) / 1e6:,.1f} MB, but at most {limits.file_bytes / 1e6:,.0f} MB are read; split it."
        )
    recognised = recognise(data)
    if recognised and recognised[0] not in format_.signatures:
        what, cure = recognised
        raise UnreadableFileError(f"{what} was found in a file named {suffix}; {cure}.")


def _to_document(document_id: str, format_: _Format, read: ReadText, limits: Limits) -> Document:
    characters = sum(len(part.text) for part in read.parts)
    if characters > limits.characters:
        raise UnreadableFileError(
            f"the file holds {characters:,} characters, but at most {limits.characters:,} are read; split it."
        )
    if not read.text.strip():
        raise UnreadableFileError("no text was found in the file; put text into it, or leave it out.")
    if reason := why_unreadable(read.text):
        raise UnreadableFileError(
            f"unreadable text was found ({reason}) where words were expected; save the file anew from the program that "
            "made it, as UTF-8 where it asks."
        )
    text, places = _cleaned(read.parts)
    if not any(map(str.isalnum, text)):
        raise UnreadableFileError(
            "nothing but addresses, rules or marks was found where words were expected; put text into the file, or "
            "leave it out."
        )
    return Document(
        id=document_id,
        title=_title(read.title, text) or PurePosixPath(document_id).stem,
        text=text,
        reader=f"{format_.name}, {read.recognised_by}" if read.recognised_by else format_.name,
        encoding=read.encoding,
        warnings=read.warnings,
        pages=read.pages,
        places=places,
    )


def _cleaned(parts: Sequence[Part]) -> tuple[str, tuple[Place, ...]]:
    """Clean part by part, so that it stays known where each begins; an empty line goes between two."""
    texts, places, start = [], [], 0
    for part in parts:
        if text := clean(part.text):
            texts.append(text)
            if part.label:
                places.append(Place(start=start, label=part.label))
            start += len(text) + len(_BETWEEN_PARTS)
    return _BETWEEN_PARTS.join(texts), tuple(places)


def _title(named: str | None, text: str) -> str | None:
    lines = [" ".join(clean(named[:1000]).split())] if named else []
    if lines and _NUMBERED.match(lines[0]):
        lines = []
    lines += [line.replace("\t", " ") for line in text[:10_000].split("\n") if line][:_TITLE_LINES]
    return next((line for line in lines if len(line) <= _TITLE_LENGTH and any(map(str.isalpha, line))), None)
