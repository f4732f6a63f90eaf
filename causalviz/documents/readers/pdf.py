"""PDF, through PDFium (pypdfium2: BSD-3-Clause and Apache-2.0).

Chosen over pypdf after reading the same files with both: PDFium knows the predefined Chinese CMaps (GBKp-EUC-H), where
pypdf gave Hangul or Latin letters, and is ten times faster.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property

from causalviz.documents.limits import Limits
from causalviz.documents.quality import why_unreadable
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.ocr import DPI, INSTALL, recognise_text
from causalviz.documents.readers.pages import drop_running_lines
from causalviz.documents.readers.pdfium import RawPage, draw_page, pages_with_own_fonts, read_pages
from causalviz.errors import UnreadableFileError

_FEW_LETTERS = 30  # on a page that is a picture: a stamp or watermark, not its text
_PICTURE = 0.5  # share of the page covered by images from which the page counts as a picture
_MANY_CONTROLS = 0.05  # share of the characters; bullets and old ligatures are fewer
_LISTED = 10  # page numbers in a warning
_DAMAGED = "the page is damaged"


@dataclass(frozen=True)
class _Page:
    text: str
    is_picture: bool
    unreadable: str | None
    """Why its characters are no text; None when they are, or when there are none."""
    is_recognised: bool = False
    """Its text comes from text recognition (OCR)."""

    @cached_property
    def letters(self) -> int:
        """Letters and digits in distinct lines: a watermark says one thing many times."""
        lines = {" ".join(line.split()) for line in self.text.splitlines()}
        return sum(char.isalnum() for line in lines for char in line)

    @property
    def is_readable(self) -> bool:
        least = _FEW_LETTERS if self.is_picture and not self.is_recognised else 0
        return self.unreadable is None and self.letters > least

    @property
    def is_scan(self) -> bool:
        return self.is_picture and not self.is_readable

    @property
    def has_wrong_characters(self) -> bool:
        return self.unreadable not in {None, _DAMAGED}


def read_pdf(data: bytes, limits: Limits) -> ReadText:
    """Read the text layer page by page, without running headers, footers and page numbers.

    Pages that are pictures with at most a few letters on them (scans), and pages whose own fonts draw the right letters
    and name wrong ones, go through text recognition where an engine is installed (ocr.py). Pages that give no text so
    are left out with a warning; when no other page is there, the file is refused.
    """
    title, raw_pages = read_pages(data, limits)
    pages = [_page(raw) for raw in raw_pages]
    bodies = _without_running_lines(pages)
    garbled = [number for number, page in enumerate(bodies) if page.has_wrong_characters]
    drawable = pages_with_own_fonts(data, garbled)
    drawn = [number for number, page in enumerate(bodies) if page.is_scan or number in drawable]
    recognised = recognise_text((draw_page(data, number, DPI) for number in drawn), limits)
    for number, text in zip(drawn, recognised.texts, strict=False):
        if text:
            pages[number] = _Page(text, is_picture=True, unreadable=None, is_recognised=True)
    first_page = pages[0].text if pages else ""
    pages = _without_running_lines(pages)
    readable = tuple(Part(page.text, f"page {n}") for n, page in enumerate(pages, 1) if page.is_readable)
    why_missed = recognised.why_missed(len(drawn), limits)
    would_help = recognised.engine is None and any(pages[number].has_wrong_characters for number in drawn)
    cure = f"use the file it was made from{f', or {INSTALL}' if would_help else ''}"
    if not readable:
        raise UnreadableFileError(_why_nothing(pages, why_missed, cure))
    # Many a PDF is called "Microsoft Word - final2.doc": a title counts when the first page shows it.
    shown = bool(_squeezed(title)) and _squeezed(title) in _squeezed(first_page)
    return ReadText(
        parts=readable,
        pages=len(pages),
        title=title if shown else None,
        recognised_by=recognised.engine if any(page.is_recognised for page in pages) else None,
        warnings=_warnings(
            pages,
            (
                ("is_recognised", recognised.how),
                ("is_scan", f"no readable text (scanned?), left out; {why_missed}"),
                ("unreadable", f"unreadable text, left out; {cure}"),
            ),
        ),
    )


def _without_running_lines(pages: list[_Page]) -> list[_Page]:
    """Drop them, but not from a page of nothing else: a form or a ticket; over a picture they are a watermark."""
    bodies = drop_running_lines([page.text for page in pages])
    return [
        replace(page, text=body) if body or (page.is_picture and not page.is_recognised) else page
        for page, body in zip(pages, bodies, strict=True)
    ]


def _page(raw: RawPage) -> _Page:
    unreadable = _DAMAGED if raw.damaged else why_unreadable(raw.text)
    if unreadable is None and raw.control_share > _MANY_CONTROLS:
        unreadable = f"{raw.control_share:.0%} of it are control characters"
    return _Page(raw.text, raw.picture_share >= _PICTURE, unreadable)


def _why_nothing(pages: list[_Page], why_missed: str, cure: str) -> str:
    reasons = [page.unreadable for page in pages if page.unreadable]
    if reasons:
        return (
            f"unreadable text was found ({reasons[0]}), as when a PDF's fonts do not say which characters they draw; "
            f"{cure}."
        )
    if not any(page.is_picture for page in pages):
        return "no readable text (scanned?) was found, only blank pages; use the file the PDF was made from."
    marks = sorted({" ".join(page.text.split()) for page in pages if page.letters}, key=len)
    found = f", only {marks[0][:40]!r} over page images" if marks else ""
    return f"no readable text (scanned?) was found{found}; {why_missed}."


def _warnings(pages: list[_Page], kinds: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    numbered = [(what, [n for n, page in enumerate(pages, 1) if getattr(page, kind)]) for kind, what in kinds]
    return tuple(f"{_listed(numbers)}: {what}" for what, numbers in numbered if numbers)


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:_LISTED])) + (", ..." if len(numbers) > _LISTED else "")
    return f"{len(numbers)} page{'s' if len(numbers) > 1 else ''} ({shown})"


def _squeezed(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()
