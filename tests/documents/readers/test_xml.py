import pytest

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.xml import read_xml
from causalviz.errors import UnreadableFileError

RSS = """<?xml version="1.0" encoding="{0}"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>法律动态</title><link>https://example.org</link><description>每周一期</description>
<item><title>数据出境</title><link>https://example.org/1</link><description>摘要</description>
<content:encoded><![CDATA[<p>正文第一段&nbsp;<b>重点</b></p><p>第二段&hellip;</p><script>x()</script>]]></content:encoded></item>
<item><title>Second</title><description>a &lt;b&gt;bold&lt;/b&gt; &amp;amp; plain word</description></item>
</channel></rss>"""


def read(text: str, encoding: str = "utf-8") -> ReadText:
    return read_xml(text.encode(encoding), Limits())


@pytest.mark.parametrize(("encoding", "name"), [("utf-8", "utf-8"), ("gbk", "gb18030")])
def test_a_feed_gives_its_title_and_the_words_of_its_entries(encoding: str, name: str) -> None:
    document = read_document("a.rss", RSS.format(encoding).encode(encoding))
    assert document.title == "法律动态"
    assert document.text == (
        "法律动态\n每周一期\n\n数据出境\n正文第一段 重点\n\n第二段...\n\nSecond\na bold & plain word"
    )
    assert document.encoding == name
    assert [place.label for place in document.places] == ["entry 1", "entry 2"]


def test_an_atom_feed_may_hold_tags_escaped_tags_and_plain_text() -> None:
    entries = (
        '<entry><title type="text">a &lt; b</title><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">'
        "<p>one</p><p>two</p></div></content></entry>"
        '<entry><title>T</title><summary type="html">&lt;p&gt;three&lt;/p&gt;</summary></entry>'
    )
    found = read(f'<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title>{entries}</feed>')
    assert [part.text.split("\n") for part in found.parts] == [["F"], ["a < b", "one", "two"], ["T", "three"]]


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        ("<a><b>one</b><b>two</b></a>", "one\ntwo"),
        ("<a>H<sub>2</sub>O is <i>water</i>.</a>", "H2O is water."),
        ("<a x='attribute'><!-- comment --><?pi?><b/>text</a>", "text"),
        ("<a><![CDATA[<b>]]></a>", "<b>"),
        ("<a>&lt;img src=x onerror=alert(1)&gt;</a>", "<img src=x onerror=alert(1)>"),
        ("<a>caf&eacute;&nbsp;noir</a>", "café noir"),
        ("<a>cut off <b>here", "cut off here"),
    ],
)
def test_other_xml_gives_the_text_between_its_tags(xml: str, text: str) -> None:
    assert read_document("a.xml", xml.encode()).text == text


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY e "boom">',
        '<!ENTITY e SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "file:///etc/passwd">%p;<!ENTITY e "x">',
        "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "boom"}">' for i in range(12))
        + '<!ENTITY e "&e11;">',
    ],
)
def test_entities_that_a_file_declares_are_left_out_with_a_warning(declared: str) -> None:
    found = read(f'<!DOCTYPE a [{declared}]><a b="&e;">before &e; after</a>')
    assert found.text.split() == ["before", "after"]
    assert "entities that the file declares itself were left out: e" in found.warnings[0]


def test_damaged_xml_is_read_as_far_as_it_goes_with_a_warning() -> None:
    assert "damaged XML (" in read("<a><b>one</b><c>two</b></a>").warnings[0]


@pytest.mark.parametrize("data", [b"no tags at all", b"<?xml version='1.0'?>", b"<"])
def test_what_is_no_xml_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFileError):
        read_document("a.xml", data)


def test_svg_is_text_of_a_drawing_and_nothing_of_it_runs() -> None:
    svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><text>label</text></svg>"
    assert read(svg).text.strip() == "label"
