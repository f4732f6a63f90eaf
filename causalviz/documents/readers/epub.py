"""EPUB books (.epub): the chapters in reading order, through the HTML reader.

EbookLib, the usual library, is under the AGPL; what is needed of a book beside its pages is the order they are read in,
and that is one part of XML.
"""

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from causalviz.documents.archives import Archive, Budget
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_text
from causalviz.documents.readers.html import decode_as_declared, page_text
from causalviz.documents.readers.xml_parts import attribute, events
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from causalviz.documents.readers.xml_parts import Event

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = {"application/xhtml+xml", "text/html", "application/x-dtbook+xml", ""}
_LABEL = 80  # characters of a chapter's title
# <title/> is an empty title to XML; to HTML it is the beginning of one that never ends.
_EMPTY_TAG = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([a-zA-Z][\w:-]{0,40})(\s[^<>]*)?/>"
)


def read_epub(data: bytes, limits: Limits) -> ReadText:
    """Read the pages of the spine; contents pages are left out, pictures and fonts not opened.

    A part is a page of the spine, labelled with its title in the book's contents, else in itself, else its number.
    """
    budget = Budget(bytes_left=limits.unpacked_bytes, members_left=limits.archive_members)
    with Archive(data, limits, budget, what="the .epub") as archive:
        book = _read_book(archive, _find_book(archive))
        _check_open(archive, book)
        if len(book.spine) > limits.archive_members:
            raise UnreadableFileError(
                "the .epub lists more chapters than files may be in an archive; save it anew."
            )
        parts: list[Part] = []
        hidden: list[str] = []
        characters = 0
        for number, name in enumerate(dict.fromkeys(book.spine), 1):
            markup = decode_as_declared(archive.read(name)).text
            try:
                page = page_text(_EMPTY_TAG.sub(r"<\1\2></\1>", re.sub(r"\A\s*<\?xml[^>]*\?>", "", markup)))
            except UnreadableFileError:
                continue  # a page without anything in it
            hidden += page.hidden
            characters += len(page.text)
            if characters > limits.characters:
                raise UnreadableFileError(
                    f"the .epub holds more than {limits.characters:,} characters, which is the limit; split it."
                )
            if page.text.strip():
                title = " ".join((book.titles.get(name) or page.title or "").split())
                parts.append(Part(page.text, title[:_LABEL] or f"chapter {number}"))
    return ReadText(parts=tuple(parts), title=book.title or None, warnings=hidden_text(hidden))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Book:
    title: str
    spine: list[str]
    """Names of the pages inside the archive, in reading order."""
    titles: dict[str, str]
    """Titles of pages by name, as the book's contents give them."""


def _events(archive: Archive, part: str) -> "Iterator[Event]":
    return events(archive, part, what=".epub", program="an e-book program", allow_doctype=True)


def _find_book(archive: Archive) -> str:
    named = ""
    if _CONTAINER in archive:
        for event, element, name in _events(archive, _CONTAINER):
            if event == "start" and name == "rootfile" and not named:
                named = attribute(element, "full-path")
    if named not in archive:
        raise UnreadableFileError(
            "a zip archive without a book in it was found where an .epub was expected; save or download the book again."
        )
    return named


def _read_book(archive: Archive, part: str) -> _Book:
    items: dict[str, tuple[str, str, str]] = {}  # id -> name, media type, properties
    order: list[str] = []
    contents: set[str] = set()
    title, ncx = "", ""
    for event, element, name in _events(archive, part):
        if event == "end" and name == "title" and not title:
            title = " ".join((element.text or "").split())
        elif event != "start":
            continue
        elif name == "item":
            target = _inside(part, element.get("href", ""))
            items[element.get("id", "")] = (
                target,
                element.get("media-type", ""),
                element.get("properties", ""),
            )
        elif name == "spine":
            ncx = element.get("toc", "")
        elif name == "itemref":
            order.append(element.get("idref", ""))
        elif name == "reference" and element.get("type", "") == "toc":
            contents.add(_inside(part, element.get("href", "")))
    navigation = [target for target, _, properties in items.values() if "nav" in properties.split()]
    contents.update(navigation)
    spine = [
        target for target, media_type, _ in (items[id_] for id_ in order if id_ in items)
        if media_type in _PAGES and target in archive
    ]  # fmt: skip
    listings = [*navigation, items[ncx][0]] if ncx in items else navigation
    titles: dict[str, str] = {}
    for listing in listings:
        if listing in archive:
            titles |= {
                target: text for target, text in _titles(archive, listing).items() if target not in titles
            }
    others = [target for target in spine if target not in contents]
    return _Book(title=title, spine=others or spine, titles=titles)


def _titles(archive: Archive, listing: str) -> dict[str, str]:
    """Read the contents of a book, of EPUB 2 (navPoint, text, content) or 3 (links)."""
    found: dict[str, str] = {}
    text = ""
    try:
        for event, element, name in _events(archive, listing):
            if event == "end" and name == "text":
                text = element.text or ""
            elif event == "end" and name == "content":
                found.setdefault(_inside(listing, element.get("src", "")), text)
            elif event == "end" and name == "a" and element.get("href"):
                found.setdefault(_inside(listing, element.get("href", "")), "".join(element.itertext()))
    except UnreadableFileError:
        return found  # labels are worth no refusal
    return found


def _inside(part: str, reference: str) -> str:
    """Name what a reference from a part leads to, inside the archive."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), path)).lstrip("/")


def _check_open(archive: Archive, book: _Book) -> None:
    """Refuse a book whose pages are encrypted; fonts may be."""
    if _ENCRYPTION not in archive:
        return
    pages = set(book.spine)
    for event, element, name in _events(archive, _ENCRYPTION):
        if (
            event == "start"
            and name == "CipherReference"
            and unquote(element.get("URI", "")).lstrip("/") in pages
        ):
            raise UnreadableFileError(
                "the .epub is copy-protected (its chapters are encrypted), but must open in any program; use a copy "
                "without protection."
            )
