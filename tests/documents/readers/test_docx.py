import io
import zipfile

import pytest
from documents.builders import W, word, word_of_parts, zipped
from docx.document import Document as WordDocument

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.docx import read_docx
from causalviz.errors import UnreadableFileError


def read(data: bytes) -> ReadText:
    return read_docx(data, Limits())


def body(xml: str) -> str:
    return read_document("a.docx", word_of_parts(xml)).text


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_document_of_nothing_but_a_table_gives_its_cells() -> None:
    def fill(document: WordDocument) -> None:
        table = document.add_table(2, 2)
        for number, text in enumerate(["型号", "价格", "PPR-9087", "3.50"]):
            table.cell(number // 2, number % 2).text = text

    document = read_document("table.docx", word(fill))
    assert document.text == "型号\t价格\nPPR-9087\t3.50"
    assert document.title == "型号 价格"


def test_paragraphs_headings_and_tables_come_in_reading_order() -> None:
    def fill(document: WordDocument) -> None:
        document.add_paragraph("before")
        document.add_heading("第一章 总则", 1)
        table = document.add_table(1, 2)
        table.cell(0, 0).text = "a\nb"
        table.cell(0, 1).text = "c"
        document.add_paragraph("after\tthe tab\nand the break")

    read_ = read(word(fill))
    assert read_.text.split("\n") == ["before", "第一章 总则", "a b\tc", "after\tthe tab", "and the break"]
    assert read_.title == "第一章 总则"


def test_a_title_goes_before_a_heading() -> None:
    def fill(document: WordDocument) -> None:
        document.add_heading("Heading", 1)
        document.add_heading("The title", 0)

    assert read(word(fill)).title == "The title"


def test_headers_and_footers_are_left_out() -> None:
    def fill(document: WordDocument) -> None:
        document.sections[0].header.paragraphs[0].text = "company secret"
        document.sections[0].footer.paragraphs[0].text = "page 1"
        document.add_paragraph("body")

    assert read(word(fill)).text == "body"


def test_merged_cells_are_given_once() -> None:
    def fill(document: WordDocument) -> None:
        table = document.add_table(2, 3)
        table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
        table.cell(0, 2).merge(table.cell(1, 2)).text = "tall"
        table.cell(1, 0).text = "x"

    assert read(word(fill)).text.split("\n") == ["wide\ttall", "x\t\t"]


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        # a table in a table: its rows become part of the cell
        (
            "<w:tbl><w:tr><w:tc>" + paragraph("a") + "<w:tbl><w:tr><w:tc>" + paragraph("b") + "</w:tc><w:tc>"
            + paragraph("c") + "</w:tc></w:tr></w:tbl></w:tc><w:tc>" + paragraph("d") + "</w:tc></w:tr></w:tbl>",
            "a b\tc\td",
        ),
        # a content control, which python-docx skips
        (f"<w:sdt><w:sdtContent>{paragraph('controlled')}</w:sdtContent></w:sdt>", "controlled"),
        # a text box, written twice for old and new programs
        (
            "<w:p><w:r><w:t>around</w:t><mc:AlternateContent><mc:Choice><w:txbxContent>" + paragraph("box")
            + "</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>" + paragraph("box")
            + "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>",
            "box\naround",
        ),
        # tracked changes: what is inserted is there, what is deleted or moved away is not
        (
            "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>",
            "new",
        ),
        (
            "<w:p><w:r><w:t>new</w:t></w:r><w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom></w:p>",
            "new",
        ),
        # the code of a field is no text, its result is
        ("<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7 pages</w:t></w:r></w:p>", "7 pages"),
        # tab stops are no tabs
        (
            '<w:p><w:pPr><w:tabs><w:tab w:pos="1"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>',
            "a\tb",
        ),
        (
            "<w:p><w:r><w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t><w:br/><w:t>line</w:t></w:r></w:p>",
            "non-stop\nline",
        ),
        (paragraph("&lt;img src=x onerror=a()&gt; ${1+1} {{value}}"), "<img src=x onerror=a()> ${1+1} {{value}}"),
    ],
)  # fmt: skip
def test_what_word_shows_is_the_text(xml: str, text: str) -> None:
    assert body(xml) == text


def test_the_page_numbers_of_a_contents_page_go() -> None:
    # style ids are translated or numbers, style names are not
    styles = f'<w:styles xmlns:w="{W}"><w:style w:styleId="11"><w:name w:val="toc 1"/></w:style></w:styles>'
    entry = (
        '<w:p><w:pPr><w:pStyle w:val="11"/></w:pPr><w:r><w:t>一、总则</w:t><w:tab/><w:t>3</w:t></w:r></w:p>'
    )
    assert read(word_of_parts(entry, styles=styles)).text == "一、总则"


def test_notes_come_after_the_body() -> None:
    def notes(kind: str, text: str) -> str:
        return (
            f'<w:{kind}s xmlns:w="{W}"><w:{kind} w:type="separator">{paragraph("---8---")}</w:{kind}>'
            f"<w:{kind}>{paragraph(text)}</w:{kind}></w:{kind}s>"
        )

    data = word_of_parts(
        paragraph("body"), footnotes=notes("footnote", "at the foot"), endnotes=notes("endnote", "at the end")
    )
    assert read(data).text.split("\n") == ["body", "at the foot", "at the end"]


def test_a_document_of_the_strict_standard_is_read() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    xml = f'<w:document xmlns:w="{strict}"><w:body>{paragraph("strict")}</w:body></w:document>'
    assert read(zipped({"word/document.xml": xml})).text == "strict"


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY e "expanded">',
        '<!ENTITY e SYSTEM "file:///etc/hostname">',
        '<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY e "&b;&b;&b;&b;&b;&b;&b;&b;">',
    ],
)
def test_a_file_that_declares_entities_is_refused(entities: str) -> None:
    with pytest.raises(UnreadableFileError, match="document type"):
        read(word_of_parts(paragraph("a&e;b"), before=f"<!DOCTYPE x [{entities}]>"))


def test_a_zip_bomb_is_refused_while_it_is_unpacked() -> None:
    data = word_of_parts("<w:p/>" * 1000 + " " * 20_000_000)
    assert len(data) < 40_000
    with pytest.raises(UnreadableFileError, match="unpacks to more than 1 MB"):
        read_docx(data, Limits(unpacked_bytes=1_000_000))
    with pytest.raises(UnreadableFileError, match="unpacks to more than 200 times its size"):
        read_docx(data, Limits())


def test_pictures_are_not_unpacked_and_do_not_count() -> None:
    parts = {"word/media/image.bmp": b"\0" * 2_000_000}
    with zipfile.ZipFile(io.BytesIO(word_of_parts(paragraph("text")))) as archive:
        parts |= {name: archive.read(name) for name in archive.namelist()}
    assert read_docx(zipped(parts), Limits(unpacked_bytes=1_000_000)).text == "text"


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


VANISH_ON, VANISH_OFF = '<w:vanish w:val="1"/>', '<w:vanish w:val="0"/>'


@pytest.mark.parametrize(
    "xml",
    [
        "<w:p>" + run("seen") + run("secret", "<w:b/><w:vanish/>") + "</w:p>",
        "<w:p>" + run("secret", VANISH_ON) + run("seen", VANISH_OFF) + "</w:p>",
        "<w:p>" + run("seen") + run("secret", '<w:rStyle w:val="h"/>') + "</w:p>",
        '<w:p><w:pPr><w:pStyle w:val="h2"/></w:pPr>' + run("secret") + "</w:p><w:p>" + run("seen") + "</w:p>",
        "<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>" + run("seen") + run("secret", "<w:vanish/>") + "</w:p>",
        "<w:tbl><w:tr><w:tc><w:p>" + run("seen") + "</w:p></w:tc></w:tr><w:tr><w:trPr><w:hidden/></w:trPr><w:tc><w:p>"
        + run("secret") + "</w:p></w:tc></w:tr></w:tbl>",
    ],
)  # fmt: skip
def test_hidden_text_is_left_out_and_named(xml: str) -> None:
    styles = (
        f'<w:styles xmlns:w="{W}"><w:style w:styleId="h"><w:name w:val="Hidden"/><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="h2"><w:name w:val="More"/><w:basedOn w:val="h"/></w:style></w:styles>'
    )
    found = read(word_of_parts(xml, styles=styles))
    assert found.text.split() == ["seen"]
    assert found.warnings == ("hidden text was left out: 'secret'",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (word_of_parts(paragraph("x"))[:-30], "damaged or cut-off"),
        (word_of_parts(paragraph("x"))[:200], "damaged or cut-off"),
        (b"\x01no\x00zip\x02\xff", "damaged or cut-off"),
        (zipped({"hello.txt": "x"}), "without Word's parts"),
        (zipped({"word/document.xml": "<w:document"}), "'word/document.xml' inside the .docx is damaged"),
        (zipped({"xl/workbook.xml": "x"}), "an Excel file was found in a file named .docx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "password-protected"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook".encode("utf-16-le"), r"an old Excel file \(.xls\)"),
        (word_of_parts(""), "no text"),
        (word(lambda document: document.add_paragraph(" ")), "no text"),
    ],
)  # fmt: skip
def test_what_is_no_word_file_with_text_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        read_document("a.docx", data)


def test_an_encrypted_part_is_password_protection() -> None:
    data = bytearray(zipped({"word/document.xml": "<x/>"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1  # the flag in the local and in the central header
    with pytest.raises(UnreadableFileError, match="password"):
        read(bytes(data))


def test_deep_nesting_ends_in_text_or_a_refusal() -> None:
    deep = "<w:tbl><w:tr><w:tc>" * 20_000 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 20_000
    with pytest.raises(UnreadableFileError):
        read_document("a.docx", word_of_parts(deep))
