"""Word (.docx): the words of the body in reading order, tables, text boxes and notes.

The parts are read with zipfile and lxml, not python-docx: it skips content controls and text boxes, repeats merged
cells, and holds the whole tree in memory, while this streams through it. Headers and footers are left out, as those
of a PDF are: they repeat on every page and say nothing the body does not.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_text
from causalviz.documents.readers.ooxml import Package, is_on, of_kind, open_package, value
from causalviz.documents.readers.xml_parts import attribute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from causalviz.documents.readers.xml_parts import Event

# Deleted or moved text, field codes, the second version of a drawing, properties: not text that is shown.
_SKIPPED = {
    "del", "moveFrom", "instrText", "delText", "Fallback", "rPr", "pPrChange", "sectPr", "tblPr", "trPr", "tcPr",
}  # fmt: skip
_BREAKS = {"br": "\n", "cr": "\n", "tab": "\t", "noBreakHyphen": "-", "ptab": "\t"}


def read_docx(data: bytes, limits: Limits) -> ReadText:
    """Read the body, then foot- and endnotes.

    Paragraphs and table rows end with a newline; cells of a row are separated by tabs. The title is the first
    paragraph in the style "Title", else the first heading. No entity or external reference is resolved.
    """
    package = open_package(data, limits, ".docx", "Word")
    with package.archive:
        main = package.main("word/document.xml")
        related = package.relations(main)
        body = _Text(_styles(package, of_kind(related, "styles")))
        for part in (main, of_kind(related, "footnotes"), of_kind(related, "endnotes")):
            body.read(package.events(part))
    return ReadText(
        parts=(Part("\n".join(body.lines)),),
        title=body.title or body.heading,
        warnings=hidden_text(body.hidden),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Styles:
    names: dict[str, str]
    """Lower case, by id."""
    hidden: frozenset[str]
    """Ids of those whose text is not shown."""


@dataclass(slots=True)
class _Text:
    """Collects lines while walking through the XML; stacks, because tables and text boxes nest."""

    styles: _Styles
    lines: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    title: str | None = None
    heading: str | None = None
    _paragraphs: list[list[str]] = field(default_factory=list)
    _paragraph_styles: list[str] = field(default_factory=list)
    _cells: list[list[str]] = field(default_factory=list)  # per open cell: its paragraphs
    _rows: list[list[str]] = field(default_factory=list)  # per open row: its cells
    _row_hidden: list[bool] = field(default_factory=list)  # per open row
    _run_hidden: list[bool | None] = field(
        default_factory=list
    )  # per open run; None: as the paragraph's style

    def read(self, events: "Iterable[Event]") -> None:
        skipped = 0
        for event, element, name in events:
            if name in _SKIPPED or (name in {"footnote", "endnote"} and _is_separator(element)):
                skipped += 1 if event == "start" else -1
                if name in {"rPr", "trPr"} and event == "end" and not skipped:
                    self._end_properties(element, name)
            elif not skipped and event == "start":
                self._start(element, name)
            elif not skipped:
                self._end(element, name)

    def _start(self, element: "_Element", name: str) -> None:
        if name == "p":
            self._paragraphs.append([])
            self._paragraph_styles.append("")
        elif name == "r":
            self._run_hidden.append(None)
        elif name == "tr":
            self._rows.append([])
            self._row_hidden.append(False)
        elif name == "tc":
            self._cells.append([])
        elif name == "pStyle" and self._paragraph_styles:
            self._paragraph_styles[-1] = value(element)

    def _end(self, element: "_Element", name: str) -> None:
        if name == "t" and self._paragraphs:
            self._write(element.text or "")
        elif name in _BREAKS and self._paragraphs:
            # A <tab> in the paragraph's properties is a tab stop; those have an attribute.
            self._write(_BREAKS[name] if name != "tab" or not element.attrib else "")
        elif name == "p":
            style = self._paragraph_styles.pop()
            self._end_paragraph("".join(self._paragraphs.pop()), self.styles.names.get(style, ""))
            element.clear()
        elif name == "tc":
            cell = " ".join(self._cells.pop())
            (self._rows[-1] if self._rows else self.lines).append(cell)
        elif name == "tr":
            row = "\t".join(self._rows.pop())
            if self._row_hidden.pop():
                self.hidden.append(row)
            else:
                self._add(row)
            element.clear()
        elif name == "r" and self._run_hidden:
            self._run_hidden.pop()

    def _end_properties(self, element: "_Element", name: str) -> None:
        switches = {str(child.tag).rpartition("}")[2]: value(child) for child in element}
        if name == "trPr" and self._row_hidden:
            self._row_hidden[-1] = is_on(switches.get("hidden", "off"))
        # The properties of a paragraph are about its end mark.
        elif (
            name == "rPr" and self._run_hidden and str(getattr(element.getparent(), "tag", "")).endswith("}r")
        ):
            if "vanish" in switches:
                self._run_hidden[-1] = is_on(switches["vanish"])
            elif switches.get("rStyle") in self.styles.hidden:
                self._run_hidden[-1] = True

    def _write(self, text: str) -> None:
        hidden = self._run_hidden[-1] if self._run_hidden else None
        if hidden is None:
            hidden = self._paragraph_styles[-1] in self.styles.hidden
        (self.hidden if hidden else self._paragraphs[-1]).append(text)

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


def _styles(package: Package, part: str | None) -> "_Styles":
    """Map style ids, which are translated or numbers ("1", "a3"), to names, which are not ("heading 1")."""
    names: dict[str, str] = {}
    based: dict[str, str] = {}
    vanish: dict[str, bool] = {}
    style_id = ""
    for event, element, tag in package.events(part):
        if event == "start" and tag == "style":
            style_id = attribute(element, "styleId")
        elif event == "start" and style_id:
            if tag == "name":
                names.setdefault(style_id, value(element).lower())
            elif tag == "basedOn":
                based[style_id] = value(element)
            elif tag == "vanish":
                vanish[style_id] = is_on(value(element))
    return _Styles(names=names, hidden=frozenset(id_ for id_ in names if _is_hidden(id_, based, vanish)))


def _is_hidden(style_id: str, based: dict[str, str], vanish: dict[str, bool]) -> bool:
    seen: set[str] = set()
    while style_id not in vanish and style_id in based and style_id not in seen:
        seen.add(style_id)
        style_id = based[style_id]
    return vanish.get(style_id, False)


def _is_separator(element: "_Element") -> bool:
    return attribute(element, "type") in {"separator", "continuationSeparator", "continuationNotice"}
