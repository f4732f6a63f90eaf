import pytest

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.text import read_text

HOSTILE = '<img src=x onerror=alert(1)>\n${1+1}\n{{value}}\n<script>alert("数据")</script>'


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_gb18030_file_with_four_byte_characters(line_end: str) -> None:
    # 㐀 and 𠀀 take four bytes in GB18030: 0x8139EE39 and 0x95328236
    text = f"关于㐀和𠀀的说明{line_end}第二行数据"
    data = text.encode("gb18030")
    assert b"\x81\x39\xee\x39" in data
    document = read_document("note.TXT", data)
    assert document.text == "关于㐀和𠀀的说明\n第二行数据"
    assert document.encoding == "gb18030"
    assert document.warnings == ()


def test_nothing_in_plain_text_is_markup() -> None:
    read = read_text(("# not a heading\n" + HOSTILE).encode(), Limits())
    assert read.text == "# not a heading\n" + HOSTILE
    assert read.title is None


def test_hostile_text_reaches_the_document_unchanged() -> None:
    assert read_document("a.txt", HOSTILE.encode()).text == HOSTILE
