import pytest

from causalviz.documents import Limits, clean, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.html import read_html
from causalviz.errors import UnreadableFileError


def read(html: str, encoding: str = "utf-8") -> ReadText:
    return read_html(html.encode(encoding), Limits())


def shown(html: str) -> str:
    return clean(read(html).text)


@pytest.mark.parametrize(
    ("declaration", "encoding", "name"),
    [
        ("<meta charset=gbk>", "gbk", "gb18030"),
        ('<meta charset="GB2312">', "gb18030", "gb18030"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=gb18030">', "gb18030", "gb18030"),
        ('<?xml version="1.0" encoding="gbk"?>', "gbk", "gb18030"),
        ('<!-- <meta charset="latin1"> --><meta charset=utf-8>', "utf-8", "utf-8"),
        ("<meta charset=utf-16>", "utf-8", "utf-8"),  # what can be read as ASCII is not UTF-16
        ("<meta charset=nonsense>", "utf-8", "utf-8"),
        ("<meta charset=unicode_escape>", "utf-8", "utf-8"),  # a Python codec, but no web encoding
        ("", "utf-8-sig", "utf-8"),
        ("", "utf-16", "utf-16-le"),
        ("", "gb18030", "gb18030"),
    ],
)
def test_the_declared_encoding_is_honoured(declaration: str, encoding: str, name: str) -> None:
    page = read(
        f"<html><head>{declaration}<title>评估办法</title></head><body><p>数据出境</p></body></html>",
        encoding,
    )
    assert page.title == "评估办法"
    assert clean(page.text) == "数据出境"
    assert page.encoding == name
    assert page.warnings == ()


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("big5", "big5", "資料出境安全評估"),
        ("shift_jis", "cp932", "表示ソフト①"),
        ("euc-kr", "cp949", "개인정보"),
        ("iso-8859-1", "cp1252", "“naïve” €5"),  # WHATWG: latin-1 means cp1252
        ("windows-1251", "cp1251", "оценка"),
        ("gbk", "gbk", "一"),  # 0xD2BB is valid UTF-8 as well; the page knows better
    ],
)
def test_labels_mean_what_browsers_mean(label: str, encoding: str, text: str) -> None:
    assert clean(read(f"<meta charset={label}><p>{text}", encoding).text) == clean(text)


def test_a_wrong_declaration_is_seen_through_and_told() -> None:
    page = read("<meta charset=gbk><p>数据出境安全评估办法", "utf-8")
    assert clean(page.text) == "数据出境安全评估办法"
    assert page.encoding == "utf-8"
    assert "declares gbk" in page.warnings[0]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two<div>three</div>four", "one\n\ntwo\n\nthree\nfour"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>a<li>b</ul>", "a\n\nb"),
        ("<b>bo</b>ld <i>it</i>", "bold it"),
        ("a \n  b\t c", "a b c"),
        ("<pre>a\n  b</pre>", "a\nb"),
        ("&lt;b&gt; &amp; &copy; &#x4e2d;&nbsp;&#25968;", "<b> & © 中 数"),
        ("<table><tr><th>h1<th>h2<tr><td>1<td><p>2</p></table>", "h1\th2\n1\t2"),
        (
            "<script>var a='<p>x</p>';</script><style>p{}</style>seen<!-- no --><noscript>no</noscript>",
            "seen",
        ),
        (
            "<template><p>no</p></template><p hidden>no</p><p style='Display : NONE'>no</p><svg><b>no</b></svg>yes",
            "yes",
        ),
        ("<nav>menu</nav><button>press</button><select><option>no</select><textarea>no</textarea>yes", "yes"),
        ("<body><p>one</p></body></html><p>after the end</p>", "one\n\nafter the end"),
        ("one stray NUL in a\0b page", "one stray NUL in ab page"),
        ("<p>unclosed <b>bold", "unclosed bold"),
        ("plain, no tags", "plain, no tags"),
        ("<div>" * 500 + "deep", "deep"),
    ],
)
def test_what_a_reader_of_the_page_sees(html: str, text: str) -> None:
    assert shown(html) == text


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>The\n  title &amp; more</title><h1>Heading</h1>", "The title & more"),
        ("<title> </title><h1>Head<i>ing</i></h1>", "Heading"),
        ("<svg><title>icon</title></svg><h1>Heading</h1>", "Heading"),
        ("<p>neither", None),
    ],
)
def test_the_title_is_the_page_s_or_its_first_heading(html: str, title: str | None) -> None:
    assert read(html).title == title


def test_nothing_of_a_hostile_page_is_left_but_text() -> None:
    page = (
        "<p onclick=alert(1)>a<img src=x onerror=alert(2)>b<a href='javascript:alert(3)'>c</a>"
        "<iframe srcdoc='<script>alert(4)</script>'></iframe><scr<script>ipt>alert(5)</script>d"
    )
    assert "alert" not in shown(page).replace("ipt>alert(5)", "")
    assert "<" not in shown(page).replace("<script", "")
    assert (
        shown("<p>&lt;img src=x onerror=alert(1)&gt; ${1+1} {{value}}")
        == "<img src=x onerror=alert(1)> ${1+1} {{value}}"
    )


def test_a_page_nested_beyond_reason_is_refused_rather_than_cut_short() -> None:
    with pytest.raises(UnreadableFileError, match="nested"):
        read("<p>seen</p>" + "<div>" * 100_000 + "lost")


@pytest.mark.parametrize(
    "html", ["<!-- only a comment -->", "<script>x</script>", "<html></html>", "<img src=x>"]
)
def test_a_page_without_words_is_refused(html: str) -> None:
    with pytest.raises(UnreadableFileError):
        read_document("a.html", html.encode())


def test_hidden_text_is_left_out_and_named() -> None:
    page = read(
        "<p>seen<p hidden>secret <b>words</b><script>x()</script></p><p style='display:none'>more</p>"
    )
    assert clean(page.text) == "seen"
    assert page.warnings == ("hidden text was left out: 2 passages, the first is 'secret words'",)
