"""Old Excel (.xls): the cells of each sheet as they are shown, through xlrd (BSD-3-Clause).

xlrd rather than calamine: it tells what is hidden and how a number is shown. It is no longer developed, as the format
is not either; formulas and macros are not run by it.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from causalviz.documents.archives import reason
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.numbers import shown
from causalviz.documents.readers.sheets import Room, Sheet, to_text
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Cell


def read_xls(data: bytes, limits: Limits) -> ReadText:
    """Read sheets as those of an .xlsx are read (xlsx.py)."""
    import xlrd

    room = Room(limits.characters, ".xls")
    with Path(os.devnull).open("w") as nowhere:  # for what xlrd tells of its doubts
        try:
            book = xlrd.open_workbook(
                file_contents=data, formatting_info=True, logfile=nowhere, on_demand=True
            )
            sheets = [_read_sheet(book, index, room) for index in range(book.nsheets)]
        except UnreadableFileError:
            raise
        except xlrd.XLRDError as error:
            if "encrypted" in str(error):
                raise UnreadableFileError(
                    "the .xls is password-protected, but must open without one; remove the password and save it again."
                ) from error
            raise UnreadableFileError(_damaged(error)) from error
        except Exception as error:
            raise UnreadableFileError(_damaged(error)) from error
    return to_text(sheets, limits, ".xls")


def _damaged(error: Exception) -> str:
    return (
        f"a damaged or cut-off .xls was found ({reason(error)}); copy or download the file again, or save it as .xlsx "
        "in Excel."
    )


def _read_sheet(book: "Book", index: int, room: Room) -> Sheet:
    read = book.sheet_by_index(index)
    sheet = Sheet(name=read.name, is_hidden=read.visibility != 0, room=room)
    hidden = {column + 1 for column, info in read.colinfo_map.items() if info.hidden}
    for number in range(0 if sheet.is_hidden else read.nrows):
        row = {column + 1: _shown(book, cell) for column, cell in enumerate(read.row(number))}
        info = read.rowinfo_map.get(number)
        sheet.add(row, number + 1, hidden, is_hidden=bool(info and info.hidden))
    book.unload_sheet(index)
    return sheet


def _shown(book: "Book", cell: "Cell") -> str:
    from xlrd import XL_CELL_BOOLEAN, XL_CELL_DATE, XL_CELL_ERROR, XL_CELL_NUMBER, error_text_from_code

    if cell.ctype in {XL_CELL_NUMBER, XL_CELL_DATE}:
        code = (
            book.format_map[book.xf_list[cell.xf_index].format_key].format_str
            if cell.xf_index is not None
            else ""
        )
        return shown(cell.value, code, date1904=bool(book.datemode))
    if cell.ctype == XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == XL_CELL_ERROR:
        return str(error_text_from_code.get(cell.value, ""))
    return str(cell.value)
