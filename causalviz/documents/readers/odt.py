"""OpenDocument text (.odt): the words of the body in reading order, tables, text boxes and notes.

Read with lxml as Word files are (docx.py): odfpy expands neither repeated blanks nor knows what is hidden, and holds
the whole tree in memory. Headers and footers lie in another part and are left out.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from causalviz.documents.archives import Archive, Budget
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_text
from causalviz.documents.readers.xml_parts import attribute, events, texts_around
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from causalviz.documents.readers.xml_parts import Event

_PROGRAM = "LibreOffice"
# Deleted text, comments, settings, alternative texts, what stands for a note or over a word.
_SKIPPED = {
    "tracked-changes", "annotation", "forms", "sequence-decls", "note-citation", "ruby-text", "title", "desc",
    "scripts", "font-face-decls", "event-listeners", "index-title-template",
    "table-of-content-source", "page-number",
}  # fmt: skip
_PARAGRAPHS = {"p", "h"}
_MOST_BLANKS = 1_000  # in a row


def read_odt(data: bytes, limits: Limits) -> ReadText:
    """Read the body, then its notes.

    Paragraphs and table rows end with a newline; cells of a row are separated by tabs. What is hidden is left out with
    a warning. The title is the first paragraph in the style "Title", else the first heading.
    """
    budget = Budget(bytes_left=limits.unpacked_bytes, members_left=limits.archive_members)
    with Archive(data, limits, budget, what="the .odt") as archive:
        if "content.xml" not in archive:
            raise UnreadableFileError(
                "a zip archive without a text document in it was found where an .odt was expected; save the file as "
                f".odt in {_PROGRAM}."
            )
        if _is_encrypted(archive):
            raise UnreadableFileError(
                "the .odt is password-protected, but must open without one; remove the password and save it again."
            )
        body = _Text()
        for part in ("styles.xml", "content.xml"):
            if part in archive:
                body.read(events(archive, part, what=".odt", program=_PROGRAM), is_body=part == "content.xml")
    return ReadText(
        parts=(Part("\n".join([*body.lines, *body.notes])),),
        title=body.title or body.heading,
        warnings=hidden_text(body.hidden),
    )


def _is_encrypted(archive: Archive) -> bool:
    part = "META-INF/manifest.xml"
    if part not in archive:
        return False
    return any(
        name == "encryption-data" for _, _, name in events(archive, part, what=".odt", program=_PROGRAM)
    )


@dataclass(slots=True)
class _Text:
    """Collects lines while walking through the XML; stacks, because tables, frames and notes nest."""

    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    title: str | None = None
    heading: str | None = None
    _hidden_styles: set[str] = field(default_factory=set)
    _parents: dict[str, str] = field(default_factory=dict)
    _style: str = ""  # that is being declared
    _paragraphs: list[list[str]] = field(default_factory=list)
    _cells: list[list[str]] = field(default_factory=list)
    _rows: list[list[str]] = field(default_factory=list)
    _notes: int = 0  # open notes
    _concealed: int = 0  # open elements that are hidden
    _indexes: int = 0  # open contents pages

    def read(self, events: "Iterable[Event]", *, is_body: bool) -> None:
        skipped = 0
        for event, element, name in events:
            if name in _SKIPPED:
                if event == "start" and not skipped:
                    self._write(texts_around(event, element))
                skipped += 1 if event == "start" else -1
            elif skipped:
                continue
            elif not is_body or name in {"style", "text-properties"}:
                self._declare(event, element, name)
            else:
                self._write(texts_around(event, element))
                (self._start if event == "start" else self._end)(element, name)

    def _declare(self, event: str, element: "_Element", name: str) -> None:
        if event == "start" and name == "style":
            self._style = attribute(element, "name")
            self._parents[self._style] = attribute(element, "parent-style-name")
        elif event == "start" and name == "text-properties" and attribute(element, "display") == "none":
            self._hidden_styles.add(self._style)

    def _start(self, element: "_Element", name: str) -> None:
        self._concealed += self._hides(element, name)
        if name in _PARAGRAPHS:
            self._paragraphs.append([])
        elif name == "note":
            self._notes += 1
        elif name == "table-of-content":
            self._indexes += 1
        elif name == "table-row":
            self._rows.append([])
        elif name in {"table-cell", "covered-table-cell"}:
            self._cells.append([])

    def _end(self, element: "_Element", name: str) -> None:
        if name in {"tab", "line-break"}:
            self._write("\t" if name == "tab" else "\n")
        elif name == "s":
            count = attribute(element, "c")
            self._write(" " * (min(int(count), _MOST_BLANKS) if count.isascii() and count.isdigit() else 1))
        elif name in _PARAGRAPHS and self._paragraphs:
            self._end_paragraph("".join(self._paragraphs.pop()), element, name)
        elif name == "note":
            self._notes -= 1
        elif name == "table-of-content":
            self._indexes -= 1
        elif name in {"table-cell", "covered-table-cell"} and self._cells:
            cell = " ".join(self._cells.pop())
            if self._rows:
                self._rows[-1].append(cell)
        elif name == "table-row" and self._rows:
            self._add("\t".join(self._rows.pop()))
        self._concealed -= self._hides(element, name)
        if name in {"p", "h", "table-row"} and not self._paragraphs:
            element.clear(keep_tail=True)

    def _end_paragraph(self, text: str, element: "_Element", name: str) -> None:
        if self._indexes:
            text = text.rpartition("\t")[0] or text  # the page number of a contents entry
        style = attribute(element, "style-name")
        if not self._concealed and not self._notes:
            if "Title" in {style, self._parents.get(style)} and not self.title:
                self.title = text.strip()
            elif name == "h" and not self.heading:
                self.heading = text.strip()
        self._add(text)

    def _hides(self, element: "_Element", name: str) -> bool:
        """Whether an element is hidden by its style, or is hidden text or a hidden section, row or paragraph."""
        if name in {"hidden-text", "hidden-paragraph"}:
            return name == "hidden-text"
        if name == "section":
            return attribute(element, "display") == "none"
        if name == "table-row":
            return attribute(element, "visibility") in {"collapse", "filter"}
        if name not in {"p", "h", "span"}:
            return False
        style = attribute(element, "style-name")
        seen: set[str] = set()
        while style and style not in seen and style not in self._hidden_styles:
            seen.add(style)
            style = self._parents.get(style, "")
        return style in self._hidden_styles

    def _write(self, text: str) -> None:
        if not self._paragraphs or not text:
            return
        text = text if text in {"\n", "\t"} else _one_blank(text)
        if self._concealed:
            self.hidden.append(text)
        else:
            self._paragraphs[-1].append(text)

    def _add(self, text: str) -> None:
        if self._cells:
            if text.strip():
                self._cells[-1].append(text.replace("\n", " "))
        elif self._notes:
            self.notes.append(text)
        else:
            self.lines.append(text)


def _one_blank(text: str) -> str:
    """White space in the file is one blank; more are written as elements."""
    head = " " if text[0].isspace() else ""
    tail = " " if text[-1].isspace() else ""
    return head + " ".join(text.split()) + tail if text.strip() else " "
