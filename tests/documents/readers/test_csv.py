import pytest

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.csv import read_csv


def lines(text: str, encoding: str = "utf-8") -> list[str]:
    return read_csv(text.encode(encoding), Limits()).text.removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("name,price\nscrew,1.5\n", ["name\tprice", "screw\t1.5"]),
        ("name;price\nscrew;1,5\nnail;2,5\n", ["name\tprice", "screw\t1,5", "nail\t2,5"]),
        ("name\tprice\nscrew, long\t1\n", ["name\tprice", "screw, long\t1"]),
        ("name|price\nscrew|1\n", ["name\tprice", "screw\t1"]),
        ('a,b\n"one, two","say ""hi"""\n', ["a\tb", 'one, two\tsay "hi"']),
        ('a,b\n"first\nsecond",2\n', ["a\tb", "first second\t2"]),
        ('a,b\r\n"first\r\nsecond",2\r\n', ["a\tb", "first second\t2"]),
        ("sep=;\na,b;c\n", ["a,b\tc"]),
        ('size,stock\n5" disk,3\n', ["size\tstock", '5" disk\t3']),
        ('a,b\n"never closed,1\nlast,2\n', ["a\tb", '"never closed\t1', "last\t2"]),
        ('a,b\n"x" y,1\nlast,2\n', ["a\tb", "x y\t1", "last\t2"]),
        ("title\nOne sentence, with a comma.\nAnother one\n", ["title", "One sentence, with a comma.", "Another one"]),
        ("a,,c\n,,\n1,2,3\n", ["a\t\tc", "", "1\t2\t3"]),
        ("=HYPERLINK(1),@x\n2,3\n", ["=HYPERLINK(1)\t@x", "2\t3"]),  # text; nothing is computed
        ("only one line", ["only one line"]),
    ],
)  # fmt: skip
def test_cells_are_apart_by_tabs_whatever_separates_them(text: str, rows: list[str]) -> None:
    assert lines(text) == rows


@pytest.mark.parametrize(
    ("encoding", "text", "name"),
    [
        ("utf-8-sig", "名称,价格\n螺丝,1\n", "utf-8"),
        ("utf-16", "名称\t价格\n螺丝\t1\n", "utf-16-le"),  # Excel's "Unicode text"
        ("gbk", "名称,价格\n螺丝,一元五角\n", "gb18030"),
        ("big5", "名稱,價格\n螺絲,資料出境安全\n", "big5hkscs"),
        ("cp932", "名前,住所\n佐藤さん,東京です\n", "cp932"),
    ],
)
def test_the_encoding_is_detected_and_named(encoding: str, text: str, name: str) -> None:
    document = read_document("a.csv", text.encode(encoding))
    assert document.encoding == name
    assert document.text == text.strip().replace(",", "\t")


def test_a_cell_larger_than_the_csv_module_allows_is_read() -> None:
    assert lines("a,b\n" + "x" * 200_000 + ",1\n")[1] == "x" * 200_000 + "\t1"
