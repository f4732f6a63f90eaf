"""Sheets of cells -> text, whatever program they come from."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_parts
from causalviz.documents.readers.numbers import shown
from causalviz.errors import UnreadableFileError


@dataclass(slots=True)
class Room:
    """Characters that may still be read: one text may be in a million cells."""

    limit: int
    suffix: str
    taken: int = 0

    def take(self, characters: int) -> None:
        """Count characters.

        Raises:
            UnreadableFileError: There are too many.
        """
        self.taken += characters
        if self.taken > self.limit:
            raise UnreadableFileError(
                f"the {self.suffix} holds more than {self.limit:,} characters, which is the limit; split it."
            )


@dataclass(kw_only=True, slots=True)
class Sheet:
    """A sheet while it is read; columns and rows count from 1."""

    name: str
    is_hidden: bool
    room: Room = field(repr=False)
    lines: list[str] = field(default_factory=list)
    hidden_rows: list[int] = field(default_factory=list)
    hidden_columns: set[int] = field(default_factory=set)
    """Those with something in them."""

    def add(
        self, row: dict[int, str], number: int, hidden_columns: Iterable[int], *, is_hidden: bool
    ) -> None:
        """Add a row of cells by column; what is hidden is noted and left out, an empty row is left out."""
        filled = {column: text for column, text in row.items() if text.strip()}
        if is_hidden:
            self.hidden_rows += [number] if filled else []
            return
        unseen = filled.keys() & set(hidden_columns) if hidden_columns else set()
        self.hidden_columns |= unseen
        filled = {column: text for column, text in filled.items() if column not in unseen}
        if filled:
            cells = (row.get(column, "") for column in row if column not in unseen)
            self.lines.append("\t".join(cell_text(cell) for cell in cells).rstrip("\t"))
            self.room.take(len(self.lines[-1]))


def cell_text(cell: str) -> str:
    """Keep a cell on one line and in one column."""
    return " ".join(cell.split()) if any(char in cell for char in "\t\n\r\v\f\x85\u2028\u2029") else cell


def number_text(stored: str, code: str, *, date1904: bool) -> str:
    """Write a stored number as its format shows it; as it stands when it is none."""
    try:
        value = float(stored)
    except ValueError:
        return stored
    return shown(value, code, date1904=date1904) if math.isfinite(value) else stored


def to_text(sheets: Sequence[Sheet], limits: Limits, suffix: str) -> ReadText:
    """Make a part of each sheet that holds something, and warnings of what is hidden.

    Raises:
        UnreadableFileError: All sheets that hold something are hidden, or there are too many.
    """
    if len(sheets) > limits.pages:
        raise UnreadableFileError(
            f"the {suffix} has {len(sheets):,} sheets, but at most {limits.pages:,} are read; split it."
        )
    warnings = [*hidden_parts("sheet", [sheet.name for sheet in sheets if sheet.is_hidden])]
    for sheet in sheets:
        where = f"sheet {sheet.name}: "
        rows = [str(row) for row in sheet.hidden_rows]
        columns = [_letters(column) for column in sorted(sheet.hidden_columns)]
        warnings += [where + text for text in (*hidden_parts("row", rows), *hidden_parts("column", columns))]
    shown_sheets = [sheet for sheet in sheets if not sheet.is_hidden]
    return ReadText(
        parts=tuple(
            Part("\n".join(sheet.lines), f"sheet {sheet.name}") for sheet in shown_sheets if sheet.lines
        ),
        pages=len(sheets),
        warnings=tuple(warnings),
    )


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
