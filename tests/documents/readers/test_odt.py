import pytest
from documents.builders import zipped

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.odt import read_odt
from causalviz.errors import UnreadableFileError

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "draw", "manifest")
)


def odt(body: str, *, styles: str = "", before: str = "", **others: str) -> bytes:
    content = (
        f"{before}<office:document-content {SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, **others})


def read(data: bytes) -> ReadText:
    return read_odt(data, Limits())


def words(body: str) -> str:
    return read_document("a.odt", odt(body)).text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<text:h>第一章</text:h><text:p>One</text:p>\n  <text:p>two</text:p>", "第一章\nOne\ntwo"),
        ("<text:p>a<text:s/>b<text:tab/>c<text:line-break/>d  \n e</text:p>", "a b\tc\nd e"),
        ("<text:p>bo<text:span>ld</text:span> word</text:p>", "bold word"),
        ("<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>", "one"),
        (
            ("<table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>a2</text:p></table:table-cell>"
            "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row><table:table-row>"
            "<table:covered-table-cell/><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row>"
            "</table:table>"),
            "a a2\tb\nc",
        ),
        (
            ("<text:p>text<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>at the foot"
            "</text:p></text:note-body></text:note> goes on</text:p><text:p>end</text:p>"),
            "text goes on\nend\nat the foot",
        ),
        (
            ("<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:p>kept<office:annotation>"
            "<text:p>comment</text:p></office:annotation></text:p>"),
            "kept",
        ),
        (
            "<text:p>see <draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>here</text:p>",
            "box\nsee here",
        ),
        (
            ("<text:table-of-content><text:index-body><text:p>总则<text:tab/>3</text:p></text:index-body>"
            "</text:table-of-content><text:p>x</text:p>"),
            "总则\nx",
        ),
    ],
)  # fmt: skip
def test_what_a_writer_shows_is_the_text(body: str, text: str) -> None:
    assert words(body) == text


def test_the_title_is_the_paragraph_in_that_style_else_the_first_heading() -> None:
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    body = '<text:h>Heading</text:h><text:p text:style-name="P1">The title</text:p>'
    assert read(odt(body, styles=styles)).title == "The title"
    assert read(odt(body)).title == "Heading"


@pytest.mark.parametrize(
    "body",
    [
        '<text:p>seen<text:span text:style-name="T1">secret</text:span></text:p>',
        '<text:p>seen</text:p><text:p text:style-name="P2">secret</text:p>',
        '<text:p>seen</text:p><text:section text:display="none"><text:p>secret</text:p></text:section>',
        "<text:p>seen<text:hidden-text>secret</text:hidden-text></text:p>",
        ('<text:p>seen</text:p><table:table><table:table-row table:visibility="collapse"><table:table-cell>'
        "<text:p>secret</text:p></table:table-cell></table:table-row></table:table>"),
    ],
)  # fmt: skip
def test_hidden_text_is_left_out_and_named(body: str) -> None:
    styles = (
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="P2" style:parent-style-name="T1"/>'
    )
    found = read(odt(body, styles=styles))
    assert found.text.split() == ["seen"]
    assert found.warnings == ("hidden text was left out: 'secret'",)


def test_headers_and_footers_are_left_out() -> None:
    styles = f"<office:document-styles {SPACES}><text:p>header</text:p></office:document-styles>"
    assert read(odt("<text:p>body</text:p>", **{"styles.xml": styles})).text == "body"


def test_a_document_that_needs_a_password_is_refused() -> None:
    manifest = f"<manifest:manifest {SPACES}><manifest:encryption-data/></manifest:manifest>"
    with pytest.raises(UnreadableFileError, match="password-protected"):
        read(odt("", **{"META-INF/manifest.xml": manifest}))


def test_a_file_that_declares_entities_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="document type"):
        read(odt("<text:p>&e;</text:p>", before='<!DOCTYPE x [<!ENTITY e "expanded">]>'))
