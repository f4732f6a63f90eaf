"""Word (.docx): the words of the body in reading order, tables, text boxes and notes.

The parts are read with zipfile and lxml, not python-docx: it skips content controls and text boxes, repeats merged
cells, and holds the whole tree in memory, while this streams through it. Headers and footers are left out, as those
of a PDF are: they repeat on every page and say nothing the body does not.
"""

import lzma
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from lxml.etree import _Element

# Deleted or moved text, field codes, the second version of a drawing, properties: not text that is shown.
_SKIPPED = {
    "del", "moveFrom", "instrText", "delText", "Fallback", "rPr", "pPrChange", "sectPr", "tblPr", "trPr", "tcPr",
}  # fmt: skip
_BREAKS = {"br": "\n", "cr": "\n", "tab": "\t", "noBreakHyphen": "-", "ptab": "\t"}
# What zipfile raises on bytes that are no sound archive; NotImplementedError is a compression it does not know.
_DAMAGED = (
    zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError, struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip


def read_docx(data: bytes, limits: Limits) -> ReadText:
    """Read the body, then foot- and endnotes.

    Paragraphs and table rows end with a newline; cells of a row are separated by tabs. The title is the first
    paragraph in the style "Title", else the first heading. No entity or external reference is resolved.
    """
    with _open(data, limits) as archive:
        main = _main_part(archive)
        related = dict(_relations(archive, main))
        styles = _style_names(archive, related.get("styles"))
        body = _Text(styles)
        for part in (main, related.get("footnotes"), related.get("endnotes")):
            if part is not None:
                body.read(_events(archive, part))
    return ReadText(parts=(Part("\n".join(body.lines)),), title=body.title or body.heading)


@dataclass(slots=True)
class _Text:
    """Collects lines while walking through the XML; stacks, because tables and text boxes nest."""

    styles: dict[str, str]
    lines: list[str] = field(default_factory=list)
    title: str | None = None
    heading: str | None = None
    _paragraphs: list[list[str]] = field(default_factory=list)
    _paragraph_styles: list[str] = field(default_factory=list)
    _cells: list[list[str]] = field(default_factory=list)  # per open cell: its paragraphs
    _rows: list[list[str]] = field(default_factory=list)  # per open row: its cells

    def read(self, events: "Iterator[tuple[str, _Element, str]]") -> None:
        skipped = 0
        for event, element, name in events:
            if name in _SKIPPED or (name in {"footnote", "endnote"} and _is_separator(element)):
                skipped += 1 if event == "start" else -1
            elif not skipped and event == "start":
                self._start(element, name)
            elif not skipped:
                self._end(element, name)

    def _start(self, element: "_Element", name: str) -> None:
        if name == "p":
            self._paragraphs.append([])
            self._paragraph_styles.append("")
        elif name == "tr":
            self._rows.append([])
        elif name == "tc":
            self._cells.append([])
        elif name == "pStyle" and self._paragraph_styles:
            self._paragraph_styles[-1] = self.styles.get(_value(element), "")

    def _end(self, element: "_Element", name: str) -> None:
        if name == "t" and self._paragraphs:
            self._paragraphs[-1].append(element.text or "")
        elif name in _BREAKS and self._paragraphs:
            # A <tab> in the paragraph's properties is a tab stop; those have an attribute.
            self._paragraphs[-1].append(_BREAKS[name] if name != "tab" or not element.attrib else "")
        elif name == "p":
            self._end_paragraph("".join(self._paragraphs.pop()), self._paragraph_styles.pop())
            element.clear()
        elif name == "tc":
            cell = " ".join(self._cells.pop())
            (self._rows[-1] if self._rows else self.lines).append(cell)
        elif name == "tr":
            self._add("\t".join(self._rows.pop()))
            element.clear()

    def _end_paragraph(self, text: str, style: str) -> None:
        if style.startswith("toc "):
            text = re.sub(r"\t[^\t]*$", "", text)  # the page number of a contents entry
        if style == "title" and not self.title:
            self.title = text.strip()
        elif style.startswith("heading ") and not self.heading:
            self.heading = text.strip()
        self._add(text)

    def _add(self, text: str) -> None:
        if not self._cells:
            self.lines.append(text)
        elif text.strip():
            self._cells[-1].append(text.replace("\n", " "))


def _open(data: bytes, limits: Limits) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except _DAMAGED as error:
        raise UnreadableFileError(
            f"a damaged or cut-off .docx was found ({_reason(error)}); copy or download the file again, "
            "or save it anew in Word."
        ) from error
    # zipfile never unpacks a part beyond its declared size, so that the declared sizes can be trusted as a bound.
    unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > limits.unpacked_bytes:
        raise UnreadableFileError(
            f"the .docx unpacks to {unpacked / 1e6:,.0f} MB, but at most {limits.unpacked_bytes / 1e6:,.0f} MB are "
            "read; save it without large pictures, or split it."
        )
    return archive


def _main_part(archive: zipfile.ZipFile) -> str:
    main = dict(_relations(archive, "")).get("officeDocument", "word/document.xml")
    if main not in archive.NameToInfo:
        raise UnreadableFileError(
            "a zip archive without a Word document in it was found where a .docx was expected; "
            "save the file as .docx in Word."
        )
    return main


def _relations(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, str]]:
    """Give (kind, part name) of what a part refers to inside the archive."""
    folder, name = posixpath.split(part)
    listing = posixpath.join(folder, "_rels", f"{name}.rels")
    if listing not in archive.NameToInfo:
        return
    for event, element, tag in _events(archive, listing):
        if event == "end" and tag == "Relationship" and element.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/")
            if target in archive.NameToInfo:
                yield element.get("Type", "").rpartition("/")[2], target


def _style_names(archive: zipfile.ZipFile, part: str | None) -> dict[str, str]:
    """Map style ids, which are translated or numbers ("1", "a3"), to names, which are not ("heading 1")."""
    names: dict[str, str] = {}
    style_id = ""
    for event, element, tag in _events(archive, part) if part else ():
        if event == "start" and tag == "style":
            style_id = _attribute(element, "styleId")
        elif event == "start" and tag == "name" and style_id:
            names.setdefault(style_id, _value(element).lower())
    return names


def _events(archive: zipfile.ZipFile, part: str) -> "Iterator[tuple[str, _Element, str]]":
    """Parse a part event by event: (start or end, element, name without namespace)."""
    from lxml import etree

    try:
        with archive.open(part) as stream:
            walk = etree.iterparse(
                stream, events=("start", "end"), resolve_entities=False, load_dtd=False, no_network=True,
                remove_comments=True, remove_pis=True, huge_tree=False,
            )  # fmt: skip
            for event, element in walk:
                if element.getparent() is None and element.getroottree().docinfo.doctype:
                    raise UnreadableFileError(
                        f"'{part}' inside the .docx declares a document type, as no Word file does (entities that "
                        "multiply or read other files?); save it anew in Word."
                    )
                yield event, element, etree.QName(element).localname
    except (etree.LxmlError, *_DAMAGED) as error:
        raise UnreadableFileError(
            f"'{part}' inside the .docx is damaged ({_reason(error)}); open the file in Word and save it anew."
        ) from error
    except RuntimeError as error:  # how zipfile says that a part is encrypted
        raise UnreadableFileError(
            "the .docx is password-protected, but must open without one; remove the password and save it again."
        ) from error


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0][:120] or type(error).__name__


def _attribute(element: "_Element", name: str) -> str:
    """An attribute of any namespace: strict and transitional documents differ in theirs."""
    return next(
        (str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), ""
    )


def _value(element: "_Element") -> str:
    return _attribute(element, "val")


def _is_separator(element: "_Element") -> bool:
    return _attribute(element, "type") in {"separator", "continuationSeparator", "continuationNotice"}
