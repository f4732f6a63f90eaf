"""HTML (.html, .htm): the words a reader of the page sees, as inert text.

lxml: it is there already (DOCX needs it), its tokenizer (libxml2 2.14) follows HTML5, it walks a document without
recursion and it stops at a depth of 2048, where selectolax takes quadratic time on nested tags.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalviz.documents.encodings import Decoded, decode, decode_as, is_surely_utf8
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_text
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Nothing in these is text of the page: code, other media, menus and controls.
_DROPPED = {
    "head", "script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas", "audio", "video",
    "map", "nav", "button", "select", "datalist", "textarea", "input", "dialog",
}  # fmt: skip
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "legend",
    "li", "main", "menu", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "ul",
}  # fmt: skip
# A form feed, which ends a line as well, ends a row: a newline beside a tab is one within a cell.
_ENDS = {"td": "\t", "th": "\t", "tr": "\f", "br": "\n", "hr": "\n", **dict.fromkeys(_BLOCKS, "\n")}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

# Labels as the WHATWG Encoding Standard reads them: gb2312 and gbk mean GB18030, latin-1 means cp1252.
_CODECS = {
    "utf-8": "utf-8", "utf8": "utf-8", "utf-16": "utf-16-le", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    "gbk": "gb18030", "gb2312": "gb18030", "gb_2312-80": "gb18030", "gb18030": "gb18030", "x-gbk": "gb18030",
    "chinese": "gb18030", "big5": "big5hkscs", "big5-hkscs": "big5hkscs", "x-x-big5": "big5hkscs",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "ms_kanji": "cp932", "euc-jp": "euc_jp", "x-euc-jp": "euc_jp", "iso-2022-jp": "iso2022_jp",
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "korean": "cp949", "windows-949": "cp949",
    "ascii": "cp1252", "us-ascii": "cp1252", "latin1": "cp1252", "iso-8859-1": "cp1252", "iso8859-1": "cp1252",
    "iso-8859-9": "cp1254", "iso-8859-11": "cp874", "tis-620": "cp874", "koi8-r": "koi8_r", "koi8-u": "koi8_u",
    **{f"windows-{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"iso-8859-{part}": f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}  # fmt: skip


def read_html(data: bytes, _limits: Limits) -> ReadText:
    """Decode as declared, parse, and keep what is shown: a line for a block, a tab after a table cell.

    Scripts, styles, comments, templates, menus (<nav>), controls and what is hidden (the ``hidden`` attribute, inline
    display: none; with a warning) are left out; images too, with their alternative texts.
    """
    decoded = decode_as_declared(data)
    page = page_text(decoded.text)
    return ReadText(
        parts=(Part(page.text),),
        title=page.title,
        encoding=decoded.encoding,
        warnings=(*decoded.warnings, *hidden_text(page.hidden)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PageText:
    """What a page shows."""

    text: str
    title: str | None
    hidden: tuple[str, ...]
    """Passages with words that are in the page and not shown."""


def page_text(markup: str) -> PageText:
    """Parse a page, or a piece of one, and keep what is shown (``read_html``).

    Raises:
        UnreadableFileError: Nothing is there to parse, or tags are nested beyond reason.
    """
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    # libxml2 drops what follows </html>, which browsers show.
    markup = re.sub(r"(?i)</(?:html|body)\s*>|\0", "", markup)
    # The tree is built from UTF-8, so that no declaration is obeyed a second time.
    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        page = document_fromstring(markup.encode(errors="replace"), parser=parser)
    except etree.LxmlError as error:
        raise UnreadableFileError(
            "an empty or damaged HTML page was found where text between tags was expected; "
            "save the page again from the browser."
        ) from error
    if parser.error_log.filter_types([etree.ErrorTypes.ERR_RESOURCE_LIMIT]):
        raise UnreadableFileError(
            "tags nested more than 2048 deep were found, as no page needs them and where reading ends; "
            "save the text of the page as .txt."
        )
    hidden: list[str] = []
    # A paragraph that begins or ends a table cell does not end the row.
    text = re.sub(r"[ \n]*\t[ \n]*", "\t", "".join(_shown(page, hidden)))
    return PageText(text=text, title=_title(page), hidden=tuple(hidden))


def decode_as_declared(data: bytes) -> Decoded:
    """Decode HTML or XML by the encoding it declares, unless that is plainly wrong.

    Raises:
        UnreadableFileError: As of ``decode``, where nothing is declared.
    """
    declared = _declared(data)
    codec = _CODECS.get(declared or "")
    if (
        codec is None
        or codec.startswith("utf-16")
        or data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    ):
        # A byte-order mark is stronger than a declaration, and one that could be read as ASCII is not UTF-16.
        return decode(data)
    decoded = decode_as(data, codec)
    if not decoded.warnings and not (codec != "utf-8" and is_surely_utf8(data)):
        return decoded
    try:
        detected = decode(data)
    except UnreadableFileError:
        return decoded
    note = f"the page declares {declared}, but is {detected.encoding}"
    notes = (note,) if detected.encoding != decoded.encoding else ()
    return Decoded(text=detected.text, encoding=detected.encoding, warnings=(*notes, *detected.warnings))


def _declared(data: bytes) -> str | None:
    """Find the label in <meta charset>, <meta http-equiv content> or the XML declaration, outside comments."""
    head = re.sub(rb"<!--.*?(?:-->|\Z)", b"", data[:4096], flags=re.DOTALL)
    found = re.search(
        rb"""(?i)<meta\s[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", head
    ) or re.search(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", head)
    return found[1].decode("ascii", "ignore").lower() if found else None


def _title(page: "HtmlElement") -> str | None:
    for path in ("head/title", "//title[not(ancestor::*[local-name()='svg'])]", "//h1"):
        for element in page.xpath(path)[:1]:
            title = " ".join("".join(element.itertext()).split())
            if title:
                return title
    return None


def _shown(page: "HtmlElement", hidden: list[str]) -> Iterator[str]:
    """Give the text of the page in order, each run of white space as one blank, except in <pre>; collect the hidden."""
    from lxml.etree import iterwalk

    walk = iterwalk(page, events=("start", "end"))
    preformatted = 0
    for event, element in walk:
        tag = element.tag if isinstance(element.tag, str) else ""
        dropped = tag in _DROPPED or _is_hidden(element)
        if event == "start":
            if dropped:
                if tag not in _DROPPED:
                    hidden.append(_words(element))
                walk.skip_subtree()
                continue
            preformatted += tag == "pre"
            yield "\n" if tag in _BLOCKS else ""
            yield _spaced(element.text, preformatted)
        else:
            if not dropped:
                preformatted -= tag == "pre"
                yield _ENDS.get(tag, "")
            yield _spaced(element.tail, preformatted)


def _words(element: "HtmlElement") -> str:
    """Give the text inside a hidden element, without scripts and the like."""
    text: list[str] = element.xpath("descendant-or-self::*[not(self::script or self::style)]/text()")
    return " ".join(text)


def _is_hidden(element: "HtmlElement") -> bool:
    return "hidden" in element.attrib or bool(_HIDDEN_STYLE.search(element.get("style", "")))


def _spaced(text: str | None, preformatted: int) -> str:
    if not text:
        return ""
    return text if preformatted else re.sub(r"[ \t\r\n\f]+", " ", text)
