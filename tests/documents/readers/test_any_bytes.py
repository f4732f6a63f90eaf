"""Whatever the bytes, a reader gives text or UnreadableFileError, and nothing else."""

import random

import pytest
from documents.builders import Page, pdf, word_of_parts, zipped
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import SUPPORTED_SUFFIXES, Limits, read_document
from causalviz.documents.readers.base import Read, ReadText
from causalviz.documents.readers.docx import read_docx
from causalviz.documents.readers.html import read_html
from causalviz.documents.readers.markdown import read_markdown
from causalviz.documents.readers.pdf import read_pdf
from causalviz.documents.readers.text import read_text
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


@given(st.binary(max_size=300))
def test_any_xml_in_a_word_file(data: bytes) -> None:
    gives_text_or_is_refused(read_docx, zipped({"word/document.xml": data}))


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
