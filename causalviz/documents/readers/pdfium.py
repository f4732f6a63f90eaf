"""What PDFium says about a PDF. It is C++ that no two threads may use at once, hence the lock.

It runs in the process it is called in. A page of forms nested a billionfold keeps it busy for ever, and a hostile file
may crash it, so files from strangers are read in a process that may end (reading.py).
"""

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from causalviz.documents.limits import Limits
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_ONE_AT_A_TIME = threading.Lock()
_HYPHEN_AT_LINE_END = "\ufffe"  # what PDFium writes for it, without the line end
_SAMPLE = 1_000  # characters of a page that are looked at one by one
_MANY_CHARACTERS = 2_000  # no stamp or watermark is as long: pictures need not be looked for
_POINTS_PER_INCH = 72
_MAX_PIXELS = 5_000  # of a drawn page's longer side: A2 at 200 dots per inch


@dataclass(frozen=True, kw_only=True, slots=True)
class RawPage:
    """A page as PDFium gives it."""

    text: str = ""
    picture_share: float = 0.0
    """Of the page's area, covered by images; 0 where the text is long."""
    control_share: float = 0.0
    """Of the first characters, those that are control characters."""
    damaged: bool = False
    """It could not be read."""


def read_pages(data: bytes, limits: Limits) -> tuple[str, list[RawPage]]:
    """Read the title a PDF names and the text layer of each page.

    Raises:
        UnreadableFileError: Password-protected, damaged, too many pages or characters.
    """
    with _ONE_AT_A_TIME, closing(_open(data)) as document:
        if len(document) > limits.pages:
            raise UnreadableFileError(
                f"the PDF has {len(document):,} pages, but at most {limits.pages:,} are read; split it into parts."
            )
        pages: list[RawPage] = []
        characters = 0
        for number in range(len(document)):
            pages.append(_read_page(document, number))
            characters += len(pages[-1].text)
            if characters > limits.characters:
                raise UnreadableFileError(
                    f"the PDF holds more than {limits.characters:,} characters, the limit; split it into parts."
                )
        return _title(document), pages


def draw_page(data: bytes, number: int, dots_per_inch: int) -> "Image":
    """Draw a page (counted from 0) as a grey picture of at most 5,000 pixels a side."""
    with _ONE_AT_A_TIME, closing(_open(data)) as document, closing(document[number]) as page:
        scale = min(dots_per_inch / _POINTS_PER_INCH, _MAX_PIXELS / max(*page.get_size(), 1.0))
        with closing(page.render(scale=scale, grayscale=True)) as bitmap:
            return cast("Image", bitmap.to_pil().copy())


def pages_with_own_fonts(data: bytes, numbers: Sequence[int]) -> set[int]:
    """Tell which pages (counted from 0) draw all letters by fonts in the file, so as their author saw them."""
    if not numbers:
        return set()
    with _ONE_AT_A_TIME, closing(_open(data)) as document:
        return {number for number in numbers if _embeds_its_fonts(document, number)}


def _embeds_its_fonts(document: "PdfDocument", number: int) -> bool:
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDF_PAGEOBJ_TEXT, FPDFFont_GetIsEmbedded, FPDFTextObj_GetFont

    try:
        with closing(document[number]) as page:
            texts = page.get_objects(filter=[FPDF_PAGEOBJ_TEXT], max_depth=4)
            return all(FPDFFont_GetIsEmbedded(FPDFTextObj_GetFont(text.raw)) == 1 for text in texts)
    except (PdfiumError, RecursionError):
        return False


def _open(data: bytes) -> "PdfDocument":
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD

    try:
        return PdfDocument(data)
    except PdfiumError as error:
        if error.err_code == FPDF_ERR_PASSWORD:
            raise UnreadableFileError(
                "the PDF is password-protected, but must open without one; remove the password and save it again."
            ) from error
        raise UnreadableFileError(
            "a damaged or cut-off PDF was found, which cannot be opened; copy or download the file again, or print it "
            "to a new PDF."
        ) from error


def _title(document: "PdfDocument") -> str:
    try:
        return str(document.get_metadata_value("Title")).strip()
    except UnicodeDecodeError:
        return ""


def _read_page(document: "PdfDocument", number: int) -> RawPage:
    from pypdfium2 import PdfiumError

    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
            text = text_page.get_text_range().replace(_HYPHEN_AT_LINE_END, "-\n")
            return RawPage(
                text=text,
                picture_share=_picture_share(page) if len(text) < _MANY_CHARACTERS else 0.0,
                control_share=_control_share(text_page),
            )
    except (
        PdfiumError,
        RecursionError,
    ):  # the latter from pypdfium2, on a page of a thousand characters without text
        return RawPage(damaged=True)


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
