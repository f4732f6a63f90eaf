"""XML (.xml, .rss, .atom): entries of feeds, the text of anything else.

lxml rather than feedparser: feeds need but four names of elements, and any other XML is to be read as well.
"""

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from causalviz.documents.archives import reason
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.html import decode_as_declared, page_text
from causalviz.documents.readers.xml_parts import texts_around
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from lxml.etree import _Element

_FEEDS = {"rss", "feed", "RDF"}
_ENTRIES = {"item", "entry"}
# Of an entry, the longest is its text: many feeds hold a summary and the whole.
_TEXTS = {"description", "summary", "content", "encoded", "subtitle"}
_PREDEFINED = {"lt", "gt", "amp", "quot", "apos"}


def read_xml(data: bytes, _limits: Limits) -> ReadText:
    """Decode as declared, and read a feed or plain XML; entities a file declares are left out with a warning.

    Of a feed (RSS, Atom): title and description, then the title and text of each entry, HTML in it turned to words. Of
    other XML: all text between tags, a new line where tags meet. Nothing is fetched, no document type is loaded.
    """
    decoded = decode_as_declared(data)
    left_out: set[str] = set()

    def character(reference: re.Match[str]) -> str:
        char = html.unescape(reference[0])
        if reference[1] in _PREDEFINED or char in set("<>&\"'"):
            return reference[0]
        left_out.update({reference[1]} if char == reference[0] else ())
        return " " if char == reference[0] else char

    markup = re.sub(r"&([A-Za-z_][\w.-]{0,40});", character, decoded.text.replace("\0", ""))
    root, damage = _parse(re.sub(r"\A\s*<\?xml[^>]{0,500}\?>", "", markup))
    warnings = list(decoded.warnings)
    if left_out:
        warnings.append(
            f"entities that the file declares itself were left out: {', '.join(sorted(left_out)[:5])}"
        )
    if damage:
        warnings.append(f"damaged XML ({damage}): what stands behind may be missing")
    parts = list(_feed(root)) if _name(root) in _FEEDS else [Part(_text(root))]
    return ReadText(
        parts=tuple(part for part in parts if part.text.strip()),
        title=_feed_title(root) if _name(root) in _FEEDS else None,
        encoding=decoded.encoding,
        warnings=tuple(warnings),
    )


def _parse(markup: str) -> "tuple[_Element, str]":
    """Give the root, and what is damaged ("" when nothing is)."""
    from lxml import etree

    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(markup.encode(errors="replace"), parser)
    except etree.LxmlError as error:
        raise UnreadableFileError(_why_damaged(reason(error))) from error
    damage = parser.error_log.filter_from_fatals()
    if root is None:
        raise UnreadableFileError(_why_damaged(damage[0].message if damage else "no element"))
    return root, damage[0].message[:120] if damage else ""


def _why_damaged(found: str) -> str:
    return f"damaged XML was found ({found}); export or download the file again."


def _feed_title(root: "_Element") -> str | None:
    for element in root.iter():
        if _name(element) in _ENTRIES:
            break
        if _name(element) == "title":
            return _words(element)
    return None


def _feed(root: "_Element") -> Iterator[Part]:
    about = [root, *(child for child in root if _name(child) == "channel")]
    heads = [element for channel in about for element in channel if _name(element) in {"title", *_TEXTS}]
    yield Part("\n".join(_words(element) for element in heads))
    entries = [element for element in root.iter() if _name(element) in _ENTRIES]
    for number, entry in enumerate(entries, 1):
        titles = [_words(element) for element in entry if _name(element) == "title"]
        texts = [_words(element) for element in entry if _name(element) in _TEXTS]
        yield Part("\n".join([*titles[:1], max(texts, key=len, default="")]), f"entry {number}")


def _words(element: "_Element") -> str:
    """Give the words of an element of a feed, which may hold HTML, escaped or as tags, or plain text."""
    text = _text(element).strip()
    is_plain = element.get("type", "html") in {"text", "xhtml"} or not re.search("[<&]", text)
    if is_plain:
        return text
    try:
        return page_text(text).text.strip()
    except UnreadableFileError:
        return ""  # nothing but a comment or a picture


def _text(root: "_Element") -> str:
    from lxml.etree import iterwalk

    pieces = []
    for event, element in iterwalk(root, events=("start", "end")):
        if event == "start" and element is root:
            continue
        before = texts_around(event, element)
        pieces.append(before)
        # Where tags meet, another thing begins; within a sentence ("H<sub>2</sub>O") they do not.
        if not before.strip():
            pieces.append("\n")
    return "".join(pieces)


def _name(element: "_Element") -> str:
    return str(element.tag).rpartition("}")[2]
