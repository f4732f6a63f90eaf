"""Excel (.xlsx): the cells of each sheet as they are shown, from the values Excel stored; formulas are not run.

Read with lxml as Word files are (docx.py): neither openpyxl nor calamine tells at once what is hidden and how a number
is shown, and openpyxl holds a sheet in memory, some fifty times the size of its text.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from causalviz.documents.limits import Limits
from causalviz.documents.readers import numbers
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.ooxml import Package, is_on, of_kind, open_package
from causalviz.documents.readers.sheets import Room, Sheet, number_text, to_text
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from lxml.etree import _Element

_SKIPPED = {"rPh", "f", "extLst"}  # how words are pronounced, formulas
_SWITCH = {"1": "TRUE", "0": "FALSE"}
_COLUMNS = 16_384


def read_xlsx(data: bytes, limits: Limits) -> ReadText:
    """Read sheets in their order: a line for a row, a tab between cells, empty rows left out.

    Numbers, percentages and dates are written as their format shows them. Hidden sheets, rows and columns are left
    out with a warning.
    """
    package = open_package(data, limits, ".xlsx", "Excel")
    with package.archive:
        main = package.main("xl/workbook.xml")
        return to_text(_Workbook(package, main, limits).sheets(), limits, ".xlsx")


@dataclass(frozen=True)
class _Workbook:
    package: Package
    main: str
    limits: Limits

    def sheets(self) -> list[Sheet]:
        related = self.package.relations(self.main)
        listed: list[tuple[str, bool, str | None]] = []
        date1904 = False
        for event, element, name in self.package.events(self.main):
            if event == "start" and name == "workbookPr":
                date1904 = is_on(element.get("date1904", "0"))
            elif event == "start" and name == "sheet":
                id_ = next(
                    (str(text) for key, text in element.attrib.items() if str(key).endswith("}id")), ""
                )
                relation = related.get(id_)
                part = relation.part if relation and relation.kind == "worksheet" else None
                listed.append((element.get("name", ""), element.get("state", "visible") != "visible", part))
        if len(listed) > self.limits.pages:
            raise UnreadableFileError(
                f"the .xlsx has {len(listed):,} sheets, but at most {self.limits.pages:,} are read; split it."
            )
        sheets, room = [], Room(self.limits.characters, ".xlsx")
        for name, is_hidden, part in listed:
            sheet = Sheet(name=name, is_hidden=is_hidden, room=room)
            sheets.append(sheet)
            if part is not None and not is_hidden:  # a sheet that is a chart has no cells
                _Cells(self, sheet, date1904=date1904).read(part)
        return sheets

    @cached_property
    def strings(self) -> list[str]:
        """What cells refer to by number."""
        strings: list[str] = []
        pieces: list[str] = []
        skipped = 0
        for event, element, name in self.package.events(self._related("sharedStrings")):
            if name in _SKIPPED:
                skipped += 1 if event == "start" else -1
            elif event == "end" and not skipped:
                if name == "t":
                    pieces.append(element.text or "")
                elif name == "si":
                    strings.append("".join(pieces))
                    pieces = []
                    _forget(element)
        return strings

    @cached_property
    def formats(self) -> list[str]:
        """Number format of each style of cells."""
        codes, styles = dict(numbers.BUILT_IN), []
        in_cells = False
        for event, element, name in self.package.events(self._related("styles")):
            if name == "cellXfs":
                in_cells = event == "start"
            elif event == "start" and name == "numFmt":
                codes[_number(element.get("numFmtId"))] = element.get("formatCode", "")
            elif event == "start" and name == "xf" and in_cells:
                styles.append(_number(element.get("numFmtId")))
        return [codes.get(style, "") for style in styles]

    def _related(self, kind: str) -> str | None:
        return of_kind(self.package.relations(self.main), kind)


@dataclass
class _Cells:
    workbook: _Workbook
    sheet: Sheet
    date1904: bool
    _hidden_columns: set[int] = field(default_factory=set)
    _row: dict[int, str] = field(default_factory=dict)

    def read(self, part: str) -> None:  # noqa: C901 - a case for each element
        pieces: list[str] = []  # of the cell
        skipped = column = number = 0
        for event, element, name in self.workbook.package.events(part):
            if name in _SKIPPED:
                skipped += 1 if event == "start" else -1
            elif skipped:
                continue
            elif event == "start":
                if name == "row":
                    number = _number(element.get("r")) or number + 1
                    self._row, column = {}, 0
                elif name == "c":
                    column = _column(element.get("r", "")) or column + 1
                    pieces = []
                elif name == "col" and is_on(element.get("hidden", "0")):
                    first, last = _number(element.get("min")), _number(element.get("max"))
                    self._hidden_columns.update(range(first, min(last, _COLUMNS) + 1))
            elif name in {"v", "t"}:
                pieces.append(element.text or "")
            elif name == "c":
                self._row[column] = self._shown(element, "".join(pieces))
            elif name == "row":
                self.sheet.add(
                    self._row, number, self._hidden_columns, is_hidden=is_on(element.get("hidden", "0"))
                )
                _forget(element)

    def _shown(self, cell: "_Element", stored: str) -> str:
        kind = cell.get("t", "n")
        if kind == "s":
            index = _number(stored)
            return self.workbook.strings[index] if index < len(self.workbook.strings) else ""
        if kind == "b":
            return _SWITCH.get(stored, stored)
        if kind != "n" or not stored:
            return stored  # text of a formula, an error as Excel shows it, a date as ISO 8601
        style, formats = _number(cell.get("s")), self.workbook.formats
        return number_text(stored, formats[style] if style < len(formats) else "", date1904=self.date1904)


def _forget(element: "_Element") -> None:
    """Drop an element that was read, with those before it, so that memory stays flat."""
    element.clear()
    around = element.getparent()
    while around is not None and element.getprevious() is not None:
        del around[0]


def _column(reference: str) -> int:
    """Count columns from 1: "C7" -> 3; 0 for what is no reference."""
    letters = re.match(r"[A-Z]{1,3}", reference)
    column = 0
    for letter in letters[0] if letters else "":
        column = 26 * column + ord(letter) - ord("A") + 1
    return column


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0  # noqa: PLR2004 - 32 bits
