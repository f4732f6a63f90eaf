"""The process in which PDFium reads one PDF: bytes on stdin, JSON on stdout. pdf.py runs it as a script.

PDFium is C++ fed with files from strangers, and may not be used by two threads at once. In a process of its own a
crash is the end of one file, a page of forms nested a billionfold is stopped by the clock, and memory has a bound.
"""

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_MEMORY = 2_000_000_000  # bytes of address space, where the system can bound it
_HYPHEN_AT_LINE_END = "\ufffe"  # what PDFium writes for it, without the line end
_SAMPLE = 1_000  # characters of a page that are looked at one by one
_MANY_CHARACTERS = 2_000  # no stamp or watermark is as long: pictures need not be looked for


def read(data: bytes, max_pages: int, max_characters: int) -> dict[str, Any]:
    """Read the text layer.

    Returns:
        {"refused": "password" | "damaged"}, {"refused": "pages" | "characters", "count": int}, or
        {"title": str, "pages": [[text, share of the page covered by images, share of characters that are control
        characters, whether the page could not be read], ...]}.
    """
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        return {"refused": "password" if error.err_code == FPDF_ERR_PASSWORD else "damaged"}
    with closing(document):
        if len(document) > max_pages:
            return {"refused": "pages", "count": len(document)}
        pages: list[tuple[str, float, float, bool]] = []
        characters = 0
        for number in range(len(document)):
            try:
                with closing(document[number]) as page:
                    pages.append((*_read_page(page), False))
            except PdfiumError:
                pages.append(("", 0.0, 0.0, True))
            characters += len(pages[-1][0])
            if characters > max_characters:
                return {"refused": "characters", "count": characters}
        return {"title": _title(document), "pages": pages}


def _title(document: "PdfDocument") -> str:
    try:
        return str(document.get_metadata_value("Title"))
    except UnicodeDecodeError:
        return ""


def _read_page(page: "PdfPage") -> tuple[str, float, float]:
    with closing(page.get_textpage()) as text_page:
        text = text_page.get_text_range().replace(_HYPHEN_AT_LINE_END, "-\n")
        controls = _control_share(text_page)
    return text, _picture_share(page) if len(text) < _MANY_CHARACTERS else 0.0, controls


def _control_share(text_page: "PdfTextPage") -> float:
    """Share of control characters among the first ones of a page.

    A font without Unicode map may give letters shifted by 29 places ("7KLV" for "This"), which look like any other
    text, and the blank between the words as U+0003, which PDFium leaves out of the text.
    """
    from pypdfium2.raw import FPDFText_GetUnicode

    count = min(text_page.count_chars(), _SAMPLE)
    codes = [FPDFText_GetUnicode(text_page, index) for index in range(count)]
    controls = sum(1 for code in codes if code < ord(" ") and chr(code) not in "\t\n\r")
    return float(controls / max(1, count))


def _picture_share(page: "PdfPage") -> float:
    """Share of the page covered by images, counted together, because scanners cut a page into strips."""
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    width, height = page.get_size()
    covered = 0.0
    for image in page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=4):
        try:
            left, bottom, right, top = image.get_bounds()
        except PdfiumError:
            continue
        covered += abs((right - left) * (top - bottom))
    return float(covered / max(1.0, width * height))


def _bound_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # Windows has no such bound, and a system may forbid to set it: then there is none


if __name__ == "__main__":
    _bound_memory()
    answer = read(sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.write(json.dumps(answer))  # ASCII only, whatever the text
