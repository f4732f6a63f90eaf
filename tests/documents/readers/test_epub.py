from collections.abc import Mapping

import pytest
from documents.builders import zipped

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.epub import read_epub
from causalviz.errors import UnreadableFileError

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
NAV = '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><a href="b.xhtml#x">Second things</a></nav></body></html>'


def page(body: str, title: str = "<title/>") -> str:
    return (
        f'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head>{title}</head>'
        f"<body>{body}</body></html>"
    )


def book(
    pages: Mapping[str, str], *, order: str = "", extra: str = "", others: Mapping[str, str] | None = None
) -> bytes:
    items = "".join(f'<item id="{n[0]}" href="{n}" media-type="application/xhtml+xml"/>' for n in pages)
    spine = "".join(f'<itemref idref="{id_}"/>' for id_ in order or "".join(name[0] for name in pages))
    package = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The book</dc:title></metadata>'
        f'<manifest>{items}{extra}</manifest><spine toc="ncx">{spine}</spine></package>'
    )
    files = {f"OEBPS/{name}": text for name, text in pages.items()}
    return zipped({
        "mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package,
        **files, **(others or {}),
    })  # fmt: skip


def read(data: bytes) -> ReadText:
    return read_epub(data, Limits())


def test_chapters_come_in_the_order_of_the_spine_with_their_titles() -> None:
    extra = '<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
    data = book(
        {
            "a.xhtml": page("<h1>第一章 总则</h1><p>One.</p>"),
            "b.xhtml": page("<p>Two.</p>", "<title>ignored</title>"),
            "c.xhtml": page("<p>Three.</p>"),
        },
        order="cnba",
        extra=extra,
        others={"OEBPS/nav.xhtml": NAV},
    )
    found = read(data)
    assert [(part.label, part.text.split()[-1]) for part in found.parts] == [
        ("chapter 1", "Three."), ("Second things", "Two."), ("第一章 总则", "One."),
    ]  # fmt: skip
    assert (found.title, found.pages) == ("The book", None)
    document = read_document("a.epub", data)
    assert [document.text[place.start :].split("\n")[0] for place in document.places] == [
        "Three.", "Two.", "第一章 总则",
    ]  # fmt: skip


def test_titles_are_those_of_the_contents_of_an_older_book() -> None:
    ncx = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx><navMap>'
        '<navPoint><navLabel><text>Beginning</text></navLabel><content src="a%20b.xhtml"/></navPoint></navMap></ncx>'
    )
    extra = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    found = read(book({"a b.xhtml": page("<p>x</p>")}, extra=extra, others={"OEBPS/toc.ncx": ncx}))
    assert [part.label for part in found.parts] == ["Beginning"]


def test_tags_that_end_themselves_do_not_swallow_the_page() -> None:
    body = '<script src="x.js"/><p>seen<a id="here"/> too</p><textarea/><iframe src="x"/><p>and this</p>'
    assert read(book({"a.xhtml": page(body)})).text.split() == ["seen", "too", "and", "this"]


def test_hidden_text_is_left_out_and_named() -> None:
    found = read(book({"a.xhtml": page("<p>seen</p><p style='display:none'>secret</p>")}))
    assert found.text.split() == ["seen"]
    assert found.warnings == ("hidden text was left out: 'secret'",)


def encryption(name: str) -> dict[str, str]:
    return {"META-INF/encryption.xml": f'<encryption><CipherReference URI="{name}"/></encryption>'}


def test_a_copy_protected_book_is_refused_and_one_with_encrypted_fonts_is_read() -> None:
    pages = {"a.xhtml": page("<p>words</p>")}
    assert read(book(pages, others=encryption("OEBPS/font.otf"))).text.split() == ["words"]
    with pytest.raises(UnreadableFileError, match="copy-protected"):
        read(book(pages, others=encryption("OEBPS/a.xhtml")))


def test_entities_of_a_page_and_of_its_package_stay_what_they_are() -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "boom"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    found = read(book({"a.xhtml": bomb + "<html><body><p>before &a; &b; after</p></body></html>"}))
    assert "boom" not in found.text.replace("[<!ENTITY", "")
    assert "root:" not in found.text


def test_a_page_listed_twice_is_read_once() -> None:
    assert read(book({"a.xhtml": page("<p>once</p>")}, order="a" * 1000)).text.split() == ["once"]
