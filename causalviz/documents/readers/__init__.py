"""Readers, one module per format: bytes -> Document.

To add a format, write ``readers/<format>.py`` with a function of type ``Read`` and add its line to ``_FORMATS``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from causalviz.documents.cleaning import clean
from causalviz.documents.encodings import decode
from causalviz.documents.limits import DEFAULT_LIMITS, Limits
from causalviz.documents.quality import why_unreadable
from causalviz.documents.readers.base import Part, Read, ReadText
from causalviz.documents.readers.csv import read_csv
from causalviz.documents.readers.doc import read_doc
from causalviz.documents.readers.docx import read_docx
from causalviz.documents.readers.epub import read_epub
from causalviz.documents.readers.html import read_html
from causalviz.documents.readers.image import read_image
from causalviz.documents.readers.markdown import read_markdown
from causalviz.documents.readers.odt import read_odt
from causalviz.documents.readers.pdf import read_pdf
from causalviz.documents.readers.pptx import read_pptx
from causalviz.documents.readers.rtf import read_rtf
from causalviz.documents.readers.signatures import TABLE, TEXT, Signature, recognise, recognise_text
from causalviz.documents.readers.text import read_text
from causalviz.documents.readers.xls import read_xls
from causalviz.documents.readers.xlsx import read_xlsx
from causalviz.documents.readers.xml import read_xml
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
    accepts: tuple[str, ...] = ()
    """Kinds of file (by their suffix) that ``recognise`` may find; text has no signature."""
    mistaken: tuple[str, ...] = ()
    """Kinds that go by this suffix in practice, since Word and Excel open them all the same: read as what they are."""


_HTML = _Format("html", read_html)
_PICTURE = _Format("image", read_image, (".png", ".jpg", ".tif"))
_FORMATS: Mapping[str, _Format] = {
    ".txt": _Format("text", read_text),
    ".md": _Format("markdown", read_markdown),
    ".html": _HTML,
    ".htm": _HTML,
    ".csv": _Format("csv", read_csv),
    ".tsv": _Format("csv", read_csv),
    **dict.fromkeys((".xml", ".rss", ".atom"), _Format("xml", read_xml)),
    ".pdf": _Format("pdf", read_pdf, (".pdf",)),
    ".docx": _Format("docx", read_docx, (".docx", ".zip"), (".doc", ".rtf", ".html", ".txt")),
    ".doc": _Format("doc", read_doc, (".doc", ".ole"), (".docx", ".rtf", ".html", ".txt")),
    ".rtf": _Format("rtf", read_rtf, (".rtf",), (".docx", ".doc")),
    ".odt": _Format("odt", read_odt, (".odt", ".zip")),
    ".pptx": _Format("pptx", read_pptx, (".pptx", ".zip")),
    ".xlsx": _Format("xlsx", read_xlsx, (".xlsx", ".zip"), (".xls", ".html", ".csv")),
    ".xls": _Format("xls", read_xls, (".xls", ".ole"), (".xlsx", ".html", ".csv")),
    ".epub": _Format("epub", read_epub, (".epub", ".zip")),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".tif", ".tiff"), _PICTURE),
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
    suffix = PurePosixPath(document_id).suffix.lower()
    _check_size(data, limits)
    format_, warnings = _format_of(suffix, data)
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
    del data  # the bytes of a long text can go before it is cleaned, unless the caller keeps them
    return _to_document(document_id, format_, replace(read, warnings=(*warnings, *read.warnings)), limits)


def _format_of(suffix: str, data: bytes) -> tuple[_Format, tuple[str, ...]]:
    """Pick the format by suffix and signature, with a warning where the two differ."""
    found = recognise(data, suffix)
    format_ = _FORMATS.get(suffix)
    if format_ is None:
        named = f"files ending in {suffix[:20]!r} are" if suffix else "files without a suffix are"
        if found:
            raise UnreadableFileError(f"{named} not read, and this one is {found.what}; {found.advice}.")
        raise UnreadableFileError(f"{named} not read; save it as one of {', '.join(SUPPORTED_SUFFIXES)}.")
    if found is None and format_.mistaken:
        found = recognise_text(data) or _plain_text(data, format_)
    if found is None or found.suffix in format_.accepts:
        return format_, ()
    if found.suffix not in format_.mistaken:
        raise UnreadableFileError(f"{found.what} was found in a file named {suffix}; {found.advice}.")
    return _FORMATS[found.suffix], (f"{found.what} was found in a file named {suffix}, and read as such",)


def _plain_text(data: bytes, format_: _Format) -> Signature | None:
    """Tell plain text, or a table as text, under the name of an Office file; None for anything doubtful."""
    try:
        decoded = decode(data)
    except UnreadableFileError:
        return None
    doubtful = decoded.warnings or re.search(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]", decoded.text[:10_000])
    if doubtful or why_unreadable(decoded.text):
        return None
    return TABLE if TABLE.suffix in format_.mistaken else TEXT


def _check_size(data: bytes, limits: Limits) -> None:
    if not data:
        raise UnreadableFileError("the file is empty (0 bytes); put text into it, or leave it out.")
    if len(data) > limits.file_bytes:
        raise UnreadableFileError(
            f"the file has {len(data) / 1e6:,.1f} MB, but at most {limits.file_bytes / 1e6:,g} MB are read; split it."
        )


def _to_document(document_id: str, format_: _Format, read: ReadText, limits: Limits) -> Document:
    characters = sum(len(part.text) for part in read.parts)
    if characters > limits.characters:
        raise UnreadableFileError(
            f"the file holds {characters:,} characters, but at most {limits.characters:,} are read; split it."
        )
    if all(not part.text or part.text.isspace() for part in read.parts):
        raise UnreadableFileError("no text was found in the file; put text into it, or leave it out.")
    _check_readable(read.text)
    text, places = _cleaned(read.parts)
    # Once more: spaces and marks that were cleaned away may have hidden what is left.
    _check_readable(text)
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


def _check_readable(text: str) -> None:
    if reason := why_unreadable(text):
        raise UnreadableFileError(
            f"unreadable text was found ({reason}) where words were expected; save the file anew from the program that "
            "made it, as UTF-8 where it asks."
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
