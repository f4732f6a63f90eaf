import pytest
from documents.builders import DELETED, HIDDEN, IN_CELL, ROW_END, old_word, ole

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.doc import read_doc
from causalviz.errors import UnreadableFileError


def read(data: bytes) -> ReadText:
    return read_doc(data, Limits())


def words(data: bytes) -> str:
    return read_document("a.doc", data).text


def test_pieces_in_bytes_and_in_utf16_are_joined() -> None:
    assert (
        words(old_word("Plain words first, 然后是中文和 “quotes”\r"))
        == "Plain words first, 然后是中文和 “quotes”"
    )
    assert (
        words(old_word("数据出境安全评估办法\r第一条 为了规范\r")) == "数据出境安全评估办法\n第一条 为了规范"
    )


def test_notes_follow_the_body_and_headers_are_left_out() -> None:
    data = old_word("body of the text\x02\r", notes="\x02 a note\r", header="secret header\r")
    assert words(data) == "body of the text\n\na note"


def test_hidden_text_is_left_out_and_named_and_deleted_text_is_left_out() -> None:
    data = old_word("seen secret gone also seen\r", characters={"secret ": HIDDEN, "gone ": DELETED})
    assert read(data).text.strip() == "seen also seen"
    assert read(data).warnings == ("hidden text was left out: 'secret'",)


def test_paragraphs_of_a_cell_stay_in_it() -> None:
    row = "PPR-9087\ralso\x07价格\x07"
    data = old_word(f"before\r{row}after\r", paragraphs={row: IN_CELL})
    assert read(data).text == "before\nPPR-9087 also\t价格\tafter\n\n"


def test_a_row_ends_where_its_paragraph_says() -> None:
    # The mark of a row's end is a cell's mark; only its paragraph tells, as cells may be empty.
    row = "a\x07\x07b\x07"
    data = old_word(f"{row}\x07 next\r", paragraphs={row: IN_CELL, "\x07 next": ROW_END})
    assert read(data).text.startswith("a\t\tb\t\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('See \x13 HYPERLINK "http://example.org" \x14the site\x15.\r', "See the site."),
        ("Contents\t\x13 PAGEREF _Toc1 \\h \x143\x15\r", "Contents"),
        (
            "\x13 TOC \\o \x14One\t\x13 PAGEREF a \x145\x15\rTwo\t\x13 PAGEREF b \x147\x15\r\x15end\r",
            "One\nTwo\nend",
        ),
        ("non\x1ebreak, line\x0bbreak, page\x0cbreak\r", "non-break, line\nbreak, page\nbreak"),
        ("picture \x01\x08 here\r", "picture here"),
    ],
)
def test_what_word_shows_is_the_text(text: str, shown: str) -> None:
    assert words(old_word(text)) == shown


def test_a_document_that_needs_a_password_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="password-protected"):
        read(old_word("words\r", flags=0x100))


def test_a_document_of_word_95_is_refused_by_its_name() -> None:
    with pytest.raises(UnreadableFileError, match="Word 6 or 95"):
        read(ole({"WordDocument": b"\xdc\xa5\x65\x00"}))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (ole({"Workbook": b""}), "without a Word text"),
        (ole({"WordDocument": b"\xec\xa5\xc1\x00"}), "without a Word text"),
        (ole({"WordDocument": b"\xec\xa5\xc1\x00", "0Table": b""}), "without a table of its text"),
        (ole({"WordDocument": b"hello", "0Table": b""}), "no Word text"),
        (old_word("words\r")[:700], "damaged or cut-off"),
    ],
)
def test_what_is_no_word_file_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        read(data)


def test_more_characters_than_are_read_are_refused() -> None:
    with pytest.raises(UnreadableFileError, match="more than 5 characters"):
        read_doc(old_word("123456"), Limits(characters=5))
