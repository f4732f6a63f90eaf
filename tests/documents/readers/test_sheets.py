"""The same sheets as .xlsx (written by openpyxl) and as .xls (written by xlwt)."""

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest
import xlwt
from documents.builders import zipped

from causalviz.documents import Limits, clean, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.xls import read_xls
from causalviz.documents.readers.xlsx import read_xlsx
from causalviz.errors import UnreadableFileError

CELLS: list[list[tuple[Any, str]]] = [
    [("型号", ""), ("price", ""), ("share", ""), ("from", ""), ("at", ""), ("in stock", "")],
    [("PPR-9087", ""), (1234.5, "#,##0.00"), (0.125, "0.0%"), (dt.date(2024, 3, 5), "yyyy-mm-dd"),
     (dt.datetime(2024, 3, 5, 18, 30), "yyyy-mm-dd hh:mm"), (True, "")],  # noqa: DTZ001 - no zone in a cell
    [("line\nbreak", ""), (0.1 + 0.2, ""), (7, "0000"), (12, ""), ("", ""), (False, "")],
]  # fmt: skip
SHOWN = [
    "型号\tprice\tshare\tfrom\tat\tin stock",
    "PPR-9087\t1,234.50\t12.5%\t2024-03-05\t2024-03-05 18:30\tTRUE",
    "line break\t0.3\t0007\t12\tFALSE",
]


def saved(book: Any) -> bytes:  # noqa: ANN401 - published without types
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def xlsx() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "价格 Prices"
    for row, cells in enumerate(CELLS, 1):
        for column, (value, code) in enumerate(cells, 1):
            if value != "":
                sheet.cell(row, column, value).number_format = code or "General"
    sheet.cell(5, 1, "secret row")
    sheet.row_dimensions[5].hidden = True
    sheet.cell(1, 8, "secret column")
    sheet.column_dimensions["H"].hidden = True
    book.create_sheet("Empty")
    hidden = book.create_sheet("Hidden")
    hidden["A1"], hidden.sheet_state = "secret sheet", "veryHidden"
    last = book.create_sheet("Last")
    last["B7"] = "end"
    return saved(book)


def xls() -> bytes:
    book = xlwt.Workbook(encoding="utf-8")
    sheet = book.add_sheet("价格 Prices")
    for row, cells in enumerate(CELLS):
        for column, (value, code) in enumerate(cells):
            if value != "":
                sheet.write(row, column, value, xlwt.easyxf(num_format_str=code or "General"))
    sheet.write(4, 0, "secret row")
    sheet.row(4).hidden = True
    sheet.write(0, 7, "secret column")
    sheet.col(7).hidden = True
    book.add_sheet("Empty")
    hidden = book.add_sheet("Hidden")
    hidden.write(0, 0, "secret sheet")
    hidden.visibility = 2
    book.add_sheet("Last").write(6, 1, "end")
    return saved(book)


@pytest.mark.parametrize(("read", "data"), [(read_xlsx, xlsx), (read_xls, xls)], ids=["xlsx", "xls"])
def test_cells_are_as_they_are_shown_and_what_is_hidden_is_left_out_and_named(
    read: Callable[[bytes, Limits], ReadText], data: Callable[[], bytes]
) -> None:
    found = read(data(), Limits())
    assert [(part.label, clean(part.text).split("\n")) for part in found.parts] == [
        ("sheet 价格 Prices", SHOWN), ("sheet Last", ["end"]),
    ]  # fmt: skip
    assert found.pages == 4
    assert found.warnings == (
        "1 hidden sheet was left out: Hidden",
        "sheet 价格 Prices: 1 hidden row was left out: 5",
        "sheet 价格 Prices: 1 hidden column was left out: H",
    )


def test_places_lead_back_to_the_sheets() -> None:
    document = read_document("a.xlsx", xlsx())
    assert [(document.text[place.start :][:3], place.label) for place in document.places] == [
        ("型号\t", "sheet 价格 Prices"), ("end", "sheet Last"),
    ]  # fmt: skip


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="r"'


def workbook(rows: str, *, strings: str = "", before: str = "", sheets: int = 1) -> bytes:
    """An .xlsx of hand-written XML: its rows and its shared strings."""
    listed = "".join(f'<sheet name="S{n}" r:id="r{n}"/>' for n in range(sheets))
    relations = "".join(
        f'<Relationship Id="r{n}" Type="x/worksheet" Target="sheets/{n}.xml"/>' for n in range(sheets)
    )
    relations += '<Relationship Id="s" Type="x/sharedStrings" Target="strings.xml"/>'
    return zipped({
        "xl/workbook.xml": f"<workbook {MAIN}><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships>{relations}</Relationships>",
        "xl/strings.xml": f"<sst {MAIN}>{strings}</sst>",
        **{f"xl/sheets/{n}.xml": f"{before}<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
           for n in range(sheets)},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("<row><c><f>1+1</f><v>2</v></c></row>", "2"),  # what Excel computed, not the formula
        ("<row><c><f>NOW()</f></c><c><v>3</v></c></row>", "3"),  # never computed
        ('<row><c t="str"><f>A1</f><v>text of a formula</v></c></row>', "text of a formula"),
        ('<row><c t="e"><v>#DIV/0!</v></c></row>', "#DIV/0!"),
        ('<row><c t="inlineStr"><is><r><t>two </t></r><r><t>runs</t></r></is></c></row>', "two runs"),
        ('<row><c t="s"><v>0</v></c></row>', "東京"),  # without how it is pronounced
        ('<row><c t="s"><v>99</v></c><c><v>x</v></c></row>', "x"),  # no such string
        ('<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>', "1\t2"),
        ('<row><c t="d"><v>2024-03-05</v></c></row>', "2024-03-05"),
        ('<row><c s="77"><v>1e400</v></c></row>', "1e400"),
    ],
)
def test_what_excel_shows_is_the_text(row: str, text: str) -> None:
    data = workbook(row, strings="<si><t>東京</t><rPh><t>トウキョウ</t></rPh></si>")
    assert read_xlsx(data, Limits()).text.strip("\t") == text


def test_one_text_in_a_million_cells_is_stopped_at_the_limit() -> None:
    cells = '<c t="s"><v>0</v></c>' * 100
    data = workbook(f"<row>{cells}</row>" * 100, strings=f"<si><t>{'x' * 30_000}</t></si>")
    with pytest.raises(UnreadableFileError, match="more than 10,000,000 characters"):
        read_xlsx(data, Limits(characters=10_000_000))


def test_the_number_of_sheets_is_limited_and_equality_is_allowed() -> None:
    data = workbook("<row><c><v>1</v></c></row>", sheets=3)
    assert read_xlsx(data, Limits(pages=3)).pages == 3
    with pytest.raises(UnreadableFileError, match="3 sheets, but at most 2"):
        read_xlsx(data, Limits(pages=2))
    with pytest.raises(UnreadableFileError, match="4 sheets, but at most 3"):
        read_xls(xls(), Limits(pages=3))


def test_a_file_that_declares_entities_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="document type"):
        read_xlsx(workbook("<row><c><v>&e;</v></c></row>", before='<!DOCTYPE x [<!ENTITY e "x">]>'), Limits())


def test_a_bomb_in_a_sheet_is_stopped_while_it_is_unpacked() -> None:
    data = workbook("<row/>" + " " * 15_000_000)
    assert len(data) < 30_000
    with pytest.raises(UnreadableFileError, match="200 times its size"):
        read_xlsx(data, Limits())


def test_a_workbook_without_cells_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="no text"):
        read_document("a.xlsx", workbook(""))
    with pytest.raises(UnreadableFileError, match=r"damaged or cut-off .xls"):
        read_document("a.xls", xls()[:3000])
