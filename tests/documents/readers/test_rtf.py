import pytest

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.rtf import read_rtf
from causalviz.errors import UnreadableFileError

FONTS = (
    r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset134 SimSun;}{\f2\fcharset128 MS Mincho;}"
    r"{\f3\fcharset204 Arial Cyr;}}"
)


def read(body: str) -> ReadText:
    return read_rtf(rf"{{\rtf1\ansi\ansicpg1252{FONTS}{body}}}".encode("latin-1"), Limits())


def words(body: str) -> str:
    return read_document("a.rtf", rf"{{\rtf1\ansi\ansicpg1252{FONTS}{body}}}".encode("latin-1")).text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"one\par two\line three\tab four", "one\ntwo\nthree\tfour"),
        ("a line\nof the file", "a lineof the file"),
        (r"\{braces\} and a \\ backslash", r"{braces} and a \ backslash"),
        (r"\ldblquote smart\rdblquote  \lquote quotes\rquote  \emdash  \bullet", "“smart” ‘quotes’ — •"),
        (r"caf\'e9 \'80 5", "café € 5"),
        (r"\u25968?\u25454?", "数据"),
        (r"\u25968\'ca\'fd", "数\xfd"),  # one character stands for it, the other is text
        (r"\uc2\u25968\'ca\'fd\u25454\'be\'dd ", "数据"),
        (r"\uc0\u25968 \u25454 x", "数据x"),
        (r"x\u-10179?\u-8704?", "x😀"),  # a surrogate pair, as signed numbers
        (r"\f1\'ca\'fd\'be\'dd\f0  and \f2\'93\'fa\'96\'7b\f3  \'cf\'f0", "数据 and 日本 Пр"),
        ("\\f2 \\'95\\\\ \\f0 end", "表 end"),  # cp932: the second byte of the character is a backslash
        (r"{\f1\'ca\'fd}\'e9", "数é"),
        (r"a\~b\_c\-d", "a b-cd"),
        (r"{\field{\*\fldinst HYPERLINK http://example.org}{\fldrslt the link}}", "the link"),
        (r"{\header head}{\footer foot}{\*\unknown secret}{\pict\pngblip 89504e47}text", "text"),
        (r"{\object\objemb{\*\objdata 0102}{\result shown}}", "shown"),
        (r"{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt a box\par}}{\shprslt a box}}after", "a box\nafter"),
        (r"{\listtext\'b7\tab}item", "item"),
        (r"seen {\deleted gone}{\*\annotation note}here", "seen here"),
        (r"text{\footnote at the foot}\par more", "text\nmore\nat the foot"),
        (
            r"\trowd\cellx1\cellx2\intbl a\par b\cell c\cell\row\trowd\intbl\cell d\cell\row\pard after",
            "a b\tc\n\td\nafter",
        ),
        (r"before \bin5 }{\x} after", "before after"),
    ],
)  # fmt: skip
def test_what_word_shows_is_the_text(body: str, text: str) -> None:
    assert words(body) == text.strip().replace("\n\t", "\n")


def test_hidden_text_is_left_out_and_named() -> None:
    found = read(r"seen {\v secret words} and \v more\v0  end")
    assert found.text == "seen  and  end"
    assert found.warnings == ("hidden text was left out: 2 passages, the first is 'secret words'",)


def test_a_chinese_code_page_serves_fonts_that_name_none() -> None:
    found = read_rtf(
        rb"{\rtf1\ansi\ansicpg936{\fonttbl{\f0\fcharset0 Arial;}}\f0 \'ca\'fd\'be\'dd}", Limits()
    )
    assert (found.text, found.encoding) == ("数据", "gb18030")


def test_the_title_counts_when_the_text_shows_it() -> None:
    assert read(r"{\info{\title Report}}Report\par on things").title == "Report"
    assert read(r"{\info{\title Normal.dot}}Report").title is None


def test_groups_nested_beyond_reason_are_refused() -> None:
    with pytest.raises(UnreadableFileError, match="nested more than 10,000 deep"):
        read("{" * 20_000)
