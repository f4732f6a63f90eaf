"""PowerPoint (.pptx): the words of each slide, then its speaker notes.

Read with lxml as Word files are (docx.py): python-pptx gives no text of diagrams and charts, and holds every picture
in memory. Slide numbers and automatic dates are left out, and footers and dates that recur on another slide.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_parts, hidden_text
from causalviz.documents.readers.ooxml import Package, Relation, is_on, of_kind, open_package
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from causalviz.documents.readers.xml_parts import Event

_SHAPES = {"sp", "graphicFrame", "grpSp", "pic", "cxnSp", "contentPart"}
_EDGES = {"dt", "ftr"}  # kinds of placeholders: a footer that is on one slide only is text
_LEFT_OUT = {"sldNum", "hdr", "sldImg"}
_TITLES = {"title", "ctrTitle"}
_SKIPPED = {"Fallback", "rPr", "endParaRPr", "tblPr", "tcPr", "numCache", "numLit", "extLst"}
_EMBEDDED = {"chart", "diagramData"}  # kinds of relations to parts whose words a slide shows


def read_pptx(data: bytes, limits: Limits) -> ReadText:
    """Read slides in their order, shapes in that of the file; hidden slides and shapes are left out with a warning.

    Paragraphs and table rows end with a newline; cells of a row are separated by tabs. Of charts: titles, names of
    series and categories. The title is the first slide's.
    """
    package = open_package(data, limits, ".pptx", "PowerPoint")
    with package.archive:
        main = package.main("ppt/presentation.xml")
        slides = _slides(package, main)
        if len(slides) > limits.pages:
            raise UnreadableFileError(
                f"the .pptx has {len(slides):,} slides, but at most {limits.pages:,} are read; split it into parts."
            )
        read = [_read_slide(package, slide) for slide in slides]
    shown = [(number, slide) for number, slide in enumerate(read, 1) if slide.is_shown]
    recurring = Counter(line for _, slide in shown for line in set(slide.edges))
    for _, slide in shown:
        slide.lines += [line for line in slide.edges if recurring[line] == 1]
    hidden = [str(number) for number, slide in enumerate(read, 1) if not slide.is_shown]
    return ReadText(
        parts=tuple(Part(slide.text, f"slide {number}") for number, slide in shown if slide.text.strip()),
        pages=len(slides),
        title=next((slide.title for _, slide in shown if slide.title.strip()), None),
        warnings=(
            *hidden_parts("slide", hidden),
            *hidden_text([line for _, slide in shown for line in slide.hidden]),
        ),
    )


@dataclass(slots=True)
class _Slide:
    lines: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    """Date and footer."""
    title: str = ""
    is_shown: bool = True

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def _slides(package: Package, main: str) -> list[str]:
    related = package.relations(main)
    slides = []
    for event, element, name in package.events(main):
        if event == "start" and name == "sldId":
            relation = related.get(_relation_id(element))
            if relation is not None and relation.kind == "slide":
                slides.append(relation.part)
    return slides


def _relation_id(element: "_Element") -> str:
    """The attribute r:id; an sldId has an id without namespace, too."""
    return next((str(value) for key, value in element.attrib.items() if str(key).endswith("}id")), "")


def _read_slide(package: Package, part: str) -> _Slide:
    slide, related = _Slide(), package.relations(part)
    _Shapes(slide).read(package.events(part))
    _read_embedded(package, related, slide)
    if notes := of_kind(related, "notesSlide"):
        page = _Slide()
        _Shapes(page).read(package.events(notes))
        slide.lines += page.lines
    return slide


def _read_embedded(package: Package, related: dict[str, Relation], slide: _Slide) -> None:
    for relation in related.values():
        if relation.kind in _EMBEDDED:
            _Shapes(slide).read(package.events(relation.part))


@dataclass(slots=True)
class _Shapes:
    """Collects the lines of a part while walking through its XML; stacks, because groups nest."""

    slide: _Slide
    _kinds: list[str] = field(default_factory=list)  # per open shape: that of its placeholder
    _concealed: list[bool] = field(default_factory=list)  # per open shape
    _paragraph: list[str] = field(default_factory=list)
    _rows: list[list[str]] = field(default_factory=list)
    _cells: list[list[str]] = field(default_factory=list)
    _field: int = 0  # open fields whose text is a number or date of the slide

    def read(self, events: "Iterable[Event]") -> None:
        skipped = 0
        for event, element, name in events:
            if name in _SKIPPED:
                skipped += 1 if event == "start" else -1
            elif not skipped and event == "start":
                self._start(element, name)
            elif not skipped:
                self._end(element, name)

    def _start(self, element: "_Element", name: str) -> None:
        if name == "sld":
            self.slide.is_shown = is_on(element.get("show", "1"))
        elif name in _SHAPES:
            self._kinds.append("")
            self._concealed.append(False)
        elif name == "cNvPr" and self._concealed:
            self._concealed[-1] = is_on(element.get("hidden", "0"))
        elif name == "ph" and self._kinds:
            self._kinds[-1] = element.get("type", "")
        elif name == "p":
            self._paragraph = []
        elif name == "fld":
            self._field += 1
        elif name == "tr":
            self._rows.append([])
        elif name == "tc":
            self._cells.append([])

    def _end(self, element: "_Element", name: str) -> None:  # noqa: C901 - a case for each element
        if name == "t":
            self._paragraph.append((element.text or "") if not self._field else "")
        elif name == "v":  # a category or the name of a series in a chart
            self._add(element.text or "")
        elif name in {"br", "tab"}:
            self._paragraph.append("\n" if name == "br" else "")
        elif name == "fld":
            self._field -= 1
        elif name == "p":
            self._add("".join(self._paragraph))
            self._paragraph = []
        elif name == "tc" and self._cells:
            cell = " ".join(self._cells.pop())
            if self._rows and not is_on(element.get("hMerge", "0")):  # else part of the cell before
                self._rows[-1].append(cell)
        elif name == "tr" and self._rows:
            self._add("\t".join(self._rows.pop()))
        elif name in _SHAPES and self._kinds:
            self._kinds.pop()
            self._concealed.pop()
        if name in {"sp", "tr"}:
            element.clear()

    def _add(self, line: str) -> None:
        kind = self._kinds[-1] if self._kinds else ""
        if kind in _LEFT_OUT or not line.strip():
            return
        if self._cells:
            self._cells[-1].append(line.replace("\n", " "))
        elif any(self._concealed):
            self.slide.hidden.append(line)
        elif kind in _EDGES:
            self.slide.edges.append(line)
        else:
            self.slide.lines.append(line)
            if kind in _TITLES and not self.slide.title:
                self.slide.title = line
