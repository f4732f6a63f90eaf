"""Whatever the bytes, a reader gives text or UnreadableFileError, and nothing else."""

import random

import pytest
from documents.builders import HIDDEN, IN_CELL, Page, old_word, ole, pdf, word_of_parts, zipped
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import SUPPORTED_SUFFIXES, Limits, read_document
from causalviz.documents.readers.base import Read, ReadText
from causalviz.documents.readers.csv import read_csv
from causalviz.documents.readers.doc import read_doc
from causalviz.documents.readers.docx import read_docx
from causalviz.documents.readers.epub import read_epub
from causalviz.documents.readers.html import read_html
from causalviz.documents.readers.markdown import read_markdown
from causalviz.documents.readers.odt import read_odt
from causalviz.documents.readers.pdf import read_pdf
from causalviz.documents.readers.pptx import read_pptx
from causalviz.documents.readers.rtf import read_rtf
from causalviz.documents.readers.text import read_text
from causalviz.documents.readers.xls import read_xls
from causalviz.documents.readers.xlsx import read_xlsx
from causalviz.documents.readers.xml import read_xml
from causalviz.errors import UnreadableFileError

SOUND: dict[Read, bytes] = {
    read_text: "数据出境安全评估\r\nplain text".encode("gb18030"),
    read_markdown: b"# Title\n\n- [a](b) **c** `d`\n\n| x | y |\n|---|---|\n| 1 | 2 |\n",
    read_html: b"<html><head><meta charset=utf-8><title>T</title></head><body><p>a<table><tr><td>1<td>2</table>",
    read_docx: word_of_parts(
        "<w:p><w:r><w:t>text</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    ),
    read_pdf: pdf(
        [Page(["Some text", "on two lines"]), Page(["and a scan"], image_strips=1)], title="Some text"
    ),
    read_csv: b'a;b\n"1;2";3\n"x\ny";4\n',
    read_xml: b"<!DOCTYPE r [<!ENTITY e 'x'>]><rss><channel><item><title>&e;</title></item></channel></rss>",
    read_doc: old_word(
        "a\x07b\x07\x13 PAGE \x141\x15 数据", characters={"数": HIDDEN}, paragraphs={"a\x07b": IN_CELL}
    ),
    read_rtf: rb"{\rtf1{\fonttbl{\f0\fcharset134 S;}}\f0\'ca\'fd\u25968?{\v x}\trowd a\cell\row{\*\x}\bin2 }}}",
    read_odt: zipped(
        {"content.xml": "<x><p>a<s c='3'/><span>b</span><table-row><table-cell/></table-row></p></x>"}
    ),
    read_pptx: zipped({"ppt/presentation.xml": "<p><sldIdLst><sldId r:id='x' xmlns:r='r'/></sldIdLst></p>"}),
    read_xlsx: zipped({"xl/workbook.xml": "<workbook><sheets><sheet name='S'/></sheets></workbook>"}),
    read_xls: ole({"Workbook": bytes.fromhex("0908100000060500bb0dcc070000000006000000") + b"\x0a\0\0\0"}),
    read_epub: zipped(
        {"META-INF/container.xml": "<c><rootfile full-path='b.opf'/></c>", "b.opf": "<package/>"}
    ),
}


def gives_text_or_is_refused(read: Read, data: bytes) -> None:
    try:
        found = read(data, Limits())
    except UnreadableFileError:
        return
    assert isinstance(found, ReadText)
    found.text.encode("utf-8")  # no half of a surrogate pair


@pytest.mark.parametrize("read", SOUND)
@given(data=st.binary(max_size=300))
def test_any_bytes(read: Read, data: bytes) -> None:
    gives_text_or_is_refused(read, data)


@pytest.mark.parametrize("read", SOUND)
@given(seed=st.integers(0, 2**32), cut=st.floats(0, 1))
def test_damaged_and_cut_off_files(read: Read, seed: int, cut: float) -> None:
    chance = random.Random(seed)  # noqa: S311 - a reproducible one is wanted
    data = bytearray(SOUND[read])
    for _ in range(chance.randint(0, 8)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    gives_text_or_is_refused(read, bytes(data[: int(len(data) * (1 - cut / 4))]))


PARTS = [
    (read_docx, "word/document.xml", "p r t tbl tr tc pPr rPr vanish br tab footnote"),
    (read_odt, "content.xml", "p h span s tab note table-row table-cell section hidden-text title"),
    (read_pptx, "ppt/presentation.xml", "sldIdLst sldId p t tr tc sp cNvPr ph fld br"),
    (read_xlsx, "xl/workbook.xml", "sheets sheet workbookPr row c v t f col"),
    (read_epub, "META-INF/container.xml", "rootfile item itemref spine navPoint text content a title"),
]


@pytest.mark.parametrize(("read", "part", "_names"), PARTS)
@given(data=st.binary(max_size=300))
def test_any_bytes_in_the_main_part(read: Read, part: str, _names: str, data: bytes) -> None:
    gives_text_or_is_refused(read, zipped({part: data}))


@pytest.mark.parametrize(("read", "part", "names"), PARTS)
@given(data=st.data())
def test_any_elements_in_the_main_part(read: Read, part: str, names: str, data: st.DataObject) -> None:
    pieces = (
        [f"<{name}>" for name in names.split()] + [f"</{name}>" for name in names.split()] + ["words", "<x/>"]
    )
    xml = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=30)))
    gives_text_or_is_refused(read, zipped({part: f"<root>{xml}</root>"}))
    balanced = (
        "".join(f"<{n}>" for n in names.split()) + "words" + "".join(f"</{n}>" for n in names.split()[::-1])
    )
    gives_text_or_is_refused(read, zipped({part: f"<root>{balanced}{xml}"}))


@given(st.text(st.sampled_from(list("\\{}'*ubinfvcel0123456789 -par\n")), max_size=80))
def test_any_rich_text(body: str) -> None:
    gives_text_or_is_refused(read_rtf, b"{\\rtf1" + body.encode())


@pytest.mark.parametrize(("read", "part", "_names"), PARTS)
@pytest.mark.parametrize("entity", ["&e9;", ""])
def test_entities_neither_multiply_nor_read_files(read: Read, part: str, _names: str, entity: str) -> None:
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "boom"}">' for i in range(10))
    outside = '<!ENTITY f SYSTEM "file:///etc/passwd">'
    xml = f"<!DOCTYPE x [{levels}{outside}]><x a='{entity}'><p>{entity}&f;</p></x>"
    with pytest.raises(UnreadableFileError) as caught:
        read(zipped({part: xml}), Limits())
    assert "root:" not in str(caught.value)


@pytest.mark.parametrize(("read", "part", "_names"), PARTS)
def test_a_bomb_in_any_zipped_format_is_stopped_while_it_is_unpacked(
    read: Read, part: str, _names: str
) -> None:
    data = zipped({part: "<x>" + " " * 12_000_000})
    assert len(data) < 30_000
    with pytest.raises(UnreadableFileError, match="200 times its size"):
        read(data, Limits())


@given(st.text(st.sampled_from(list("<>/&;!-[]= \n\"'abptdtrscriptle#x0")), max_size=80))
def test_any_tags(markup: str) -> None:
    gives_text_or_is_refused(read_html, markup.encode())


@given(st.binary(max_size=300))
def test_pdfium_with_any_bytes(data: bytes) -> None:
    gives_text_or_is_refused(read_pdf, b"%PDF-1.4\n" + data)


@pytest.mark.parametrize("suffix", SUPPORTED_SUFFIXES)
@given(data=st.binary(max_size=200))
def test_a_whole_document_of_any_bytes(suffix: str, data: bytes) -> None:
    try:
        document = read_document(f"a{suffix}", data)
    except UnreadableFileError:
        return
    assert document.text.strip()
    assert document.title.strip()
