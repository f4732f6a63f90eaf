"""What a file is by its first bytes, whatever its name says."""

import re
from dataclasses import dataclass

_IMAGE_CURE = "save it as .png, .jpg or .tif, which text recognition (OCR) reads"
_SAVE = "save it as .docx, .pdf, .html or .txt"
_UNLOCK = "remove the password (in Office: File > Info > Protect) and save it again"


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of file."""

    what: str
    cure: str = ""
    """How to make something of it that is read; "" where another name is enough."""
    suffix: str = ""
    """Of files of this kind; "" for kinds that are not read."""

    @property
    def advice(self) -> str:
        """What to do when something else was expected."""
        return self.cure or f"rename it to end in {self.suffix}"


TEXT = Signature("plain text", suffix=".txt")
TABLE = Signature("a table as text", suffix=".csv")
_ZIP = Signature("a zip archive", "unpack it first", ".zip")
_STARTS = (
    (b"%PDF-", Signature("a PDF", suffix=".pdf")),
    (b"{\\rtf", Signature("a Rich Text file", suffix=".rtf")),
    (b"\x89PNG\r\n\x1a\n", Signature("a PNG image (binary)", _IMAGE_CURE, ".png")),
    (b"\xff\xd8\xff", Signature("a JPEG image (binary)", _IMAGE_CURE, ".jpg")),
    (b"GIF87a", Signature("a GIF image (binary)", _IMAGE_CURE)),
    (b"GIF89a", Signature("a GIF image (binary)", _IMAGE_CURE)),
    (b"II*\0", Signature("a TIFF image (binary)", _IMAGE_CURE, ".tif")),
    (b"MM\0*", Signature("a TIFF image (binary)", _IMAGE_CURE, ".tif")),
    (b"\x1f\x8b", Signature("a gzip archive (binary)", "unpack it first")),
    (b"7z\xbc\xaf\x27\x1c", Signature("a 7-Zip archive (binary)", "unpack it first")),
    (b"Rar!\x1a\x07", Signature("a RAR archive (binary)", "unpack it first")),
    (b"\x7fELF", Signature("a program (binary)", "leave it out")),
    (b"SQLite format 3\0", Signature("a database (binary)", "leave it out")),
)
# Names of streams inside an OLE container, and of parts inside a zip archive (names are not compressed).
_OLE_STREAMS = (
    ("EncryptedPackage", Signature("a password-protected Office file", _UNLOCK)),
    ("EncryptedSummary", Signature("a password-protected PowerPoint file (.ppt)", _UNLOCK)),
    ("WordDocument", Signature("an old Word file (.doc)", suffix=".doc")),
    ("PowerPoint Document", Signature("an old PowerPoint file (.ppt)", "save it as .pptx or .pdf")),
    ("Workbook", Signature("an old Excel file (.xls)", suffix=".xls")),
    ("Book\0", Signature("an old Excel file (.xls)", suffix=".xls")),
    ("__substg1.0_", Signature("an Outlook message (.msg)", "save it as .html or .txt")),
)
_ZIP_PARTS = (
    (b"application/epub+zip", Signature("an EPUB book", suffix=".epub")),
    (b"application/vnd.oasis.opendocument.text", Signature("an OpenDocument text", suffix=".odt")),
    (b"application/vnd.oasis.opendocument", Signature("an OpenDocument file", _SAVE)),
    (b"word/document", Signature("a Word document", suffix=".docx")),
    (b"ppt/presentation", Signature("a PowerPoint file", suffix=".pptx")),
    (b"xl/workbook", Signature("an Excel file", suffix=".xlsx")),
)
_HTML = Signature("an HTML page", suffix=".html")
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|meta|body|table|style|div)\b",
    re.IGNORECASE | re.DOTALL,
)
_MHTML = Signature("a web archive (MHTML)", _SAVE)


def recognise(data: bytes, expected: str = "") -> Signature | None:
    """Name what the bytes are; None for what has no signature.

    Text has none: Markdown, tables and plain text are told apart by their names alone.

    Args:
        data: The file.
        expected: The suffix of its name: a Word file may hold an Excel file, whose parts have names, too.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        found = [signature for stream, signature in _OLE_STREAMS if stream.encode("utf-16-le") in data]
        other = Signature("an old Office file", _SAVE, ".ole")
    elif data.startswith(b"PK\x03\x04"):
        found = [signature for part, signature in _ZIP_PARTS if part in data]
        other = _ZIP
    else:
        return next((signature for start, signature in _STARTS if data.startswith(start)), None)
    if found and not found[0].suffix:
        return found[0]
    return next(
        (signature for signature in found if signature.suffix == expected), found[0] if found else other
    )


def recognise_text(data: bytes) -> Signature | None:
    """Tell HTML from other text, by its first tag; in a file called .html that is no news."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")
    if _HTML_START.match(head.replace(b"\0", b"")):
        return _HTML
    return _MHTML if re.search(rb"^MIME-Version: 1\.0", head, re.MULTILINE) else None
