"""What a file is by its first bytes, whatever its name says."""

_IMAGE_CURE = "save it as .png, .jpg or .tif, which text recognition (OCR) reads"
_RENAME = "rename it to end in {}"
_SAVE = "save it as .docx, .pdf, .html or .txt"
_UNLOCK = "remove the password (in Office: File > Info > Protect) and save it again"

_STARTS = (
    (b"%PDF-", "a PDF", _RENAME.format(".pdf")),
    (b"\x89PNG\r\n\x1a\n", "a PNG image (binary)", _IMAGE_CURE),
    (b"\xff\xd8\xff", "a JPEG image (binary)", _IMAGE_CURE),
    (b"GIF87a", "a GIF image (binary)", _IMAGE_CURE),
    (b"GIF89a", "a GIF image (binary)", _IMAGE_CURE),
    (b"II*\0", "a TIFF image (binary)", _IMAGE_CURE),
    (b"MM\0*", "a TIFF image (binary)", _IMAGE_CURE),
    (b"{\\rtf", "a Rich Text file", _SAVE),
    (b"\x1f\x8b", "a gzip archive (binary)", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive (binary)", "unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive (binary)", "unpack it first"),
    (b"\x7fELF", "a program (binary)", "leave it out"),
    (b"SQLite format 3\0", "a database (binary)", "leave it out"),
)
PICTURES = ("a PNG image (binary)", "a JPEG image (binary)", "a TIFF image (binary)")
"""Those that go through text recognition, whatever the name says of the kind."""
# Names of streams inside an OLE container, and of parts inside a zip archive (names are not compressed).
_OLE_STREAMS = (
    ("EncryptedPackage", "a password-protected Office file", _UNLOCK),
    ("WordDocument", "an old Word file (.doc)", _SAVE),
    ("PowerPoint Document", "an old PowerPoint file (.ppt)", _SAVE),
    ("Workbook", "an old Excel file (.xls)", _SAVE),
)
_ZIP_PARTS = (
    (b"word/document", "a Word document", _RENAME.format(".docx")),
    (b"ppt/presentation", "a PowerPoint file", _SAVE),
    (b"xl/workbook", "an Excel file", _SAVE),
    (b"application/epub+zip", "an EPUB book", _SAVE),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file", _SAVE),
)


def recognise(data: bytes) -> tuple[str, str] | None:
    """Name what the bytes are and how to mend it where something else was expected; None for what has no signature.

    Text has none: HTML, Markdown and plain text are told apart by their names alone.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        for stream, what, cure in _OLE_STREAMS:
            if stream.encode("utf-16-le") in data:
                return what, cure
        return "an old Office file", _SAVE
    if data.startswith(b"PK\x03\x04"):
        return next(
            ((what, cure) for part, what, cure in _ZIP_PARTS if part in data),
            ("a zip archive", "unpack it first"),
        )
    return next(((what, cure) for start, what, cure in _STARTS if data.startswith(start)), None)
