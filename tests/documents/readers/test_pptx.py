import io
import zipfile
from collections.abc import Callable
from typing import Any

import pptx
import pytest
from documents.builders import zipped
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.pptx import read_pptx
from causalviz.errors import UnreadableFileError

TITLE_ONLY, BLANK = 5, 6
PLACE = (Inches(1), Inches(2), Inches(4), Inches(2))


def deck(fill: Callable[[Any], object]) -> bytes:
    """A presentation that python-pptx writes."""
    presentation = pptx.Presentation()
    fill(presentation)
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def slide(presentation: Any, title: str, *texts: str) -> Any:  # noqa: ANN401 - published without types
    added = presentation.slides.add_slide(presentation.slide_layouts[TITLE_ONLY])
    added.shapes.title.text = title
    for text in texts:
        added.shapes.add_textbox(*PLACE).text_frame.text = text
    return added


def read(data: bytes) -> ReadText:
    return read_pptx(data, Limits())


def test_slides_come_in_order_with_notes_after_each() -> None:
    def fill(presentation: Any) -> None:  # noqa: ANN401 - as above
        slide(presentation, "第一张", "one\ntwo").notes_slide.notes_text_frame.text = "what to say"
        slide(presentation, "Second", "three")

    found = read(deck(fill))
    assert [(part.label, part.text) for part in found.parts] == [
        ("slide 1", "第一张\none\ntwo\nwhat to say"), ("slide 2", "Second\nthree"),
    ]  # fmt: skip
    assert (found.title, found.pages, found.warnings) == ("第一张", 2, ())
    assert [place.label for place in read_document("a.pptx", deck(fill)).places] == ["slide 1", "slide 2"]


def test_hidden_slides_and_shapes_are_left_out_and_named() -> None:
    def fill(presentation: Any) -> None:  # noqa: ANN401 - as above
        slide(presentation, "Seen", "secret").shapes[1]._element.nvSpPr.cNvPr.set("hidden", "1")  # noqa: SLF001
        slide(presentation, "Hidden", "secret")._element.set("show", "0")  # noqa: SLF001 - no other way

    found = read(deck(fill))
    assert (found.text, found.pages) == ("Seen", 2)
    assert found.warnings == ("1 hidden slide was left out: 2", "hidden text was left out: 'secret'")


def test_tables_groups_and_charts_give_their_words() -> None:
    def fill(presentation: Any) -> None:  # noqa: ANN401 - as above
        shapes = presentation.slides.add_slide(presentation.slide_layouts[BLANK]).shapes
        table = shapes.add_table(2, 3, *PLACE).table
        table.cell(0, 0).merge(table.cell(0, 1))
        for row, column, text in ((0, 0, "wide"), (0, 2, "x"), (1, 0, "a\nb"), (1, 1, "c"), (1, 2, "d")):
            table.cell(row, column).text = text
        outer = shapes.add_group_shape()
        outer.shapes.add_group_shape().shapes.add_textbox(*PLACE).text_frame.text = "in two groups"
        data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
        data.categories = ["East", "West"]
        data.add_series("Sales", (19.2, 21.4))
        chart = shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *PLACE, data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "By region"

    assert read(deck(fill)).text.split("\n") == [
        "wide\tx", "a b\tc\td", "in two groups", "By region", "Sales", "East", "West",
    ]  # fmt: skip


P = 'xmlns:p="p" xmlns:a="a" xmlns:r="r"'
RELATIONS = '<Relationships xmlns="x">{}</Relationships>'


def slide_of(xml: str, count: int = 1) -> bytes:
    """A presentation whose slides are all the same hand-written shapes."""
    ids = "".join(f'<p:sldId id="{n}" r:id="r{n}"/>' for n in range(count))
    listed = "".join(
        f'<Relationship Id="r{n}" Type="x/slide" Target="slides/{n}.xml"/>' for n in range(count)
    )
    return zipped({
        "ppt/presentation.xml": f"<p:presentation {P}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": RELATIONS.format(listed),
        **{f"ppt/slides/{n}.xml": f"<p:sld {P}>{xml}</p:sld>" for n in range(count)},
    })  # fmt: skip


def shape(kind: str, text: str) -> str:
    return f'<p:sp><p:nvPr><p:ph type="{kind}"/></p:nvPr><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sp>'


def test_slide_numbers_and_dates_of_fields_are_left_out_and_footers_that_recur() -> None:
    number = '<a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p>'
    xml = (
        shape("sldNum", "3")
        + shape("ftr", "Company secret")
        + shape("body", "words")
        + f"<p:sp>{number}</p:sp>"
    )
    assert read(slide_of(xml, count=2)).text.split() == ["words", "words"]
    assert read(slide_of(xml)).text == "words\nCompany secret"


def test_a_slide_of_nothing_but_a_diagram_gives_its_words() -> None:
    with_diagram = {
        "ppt/slides/_rels/0.xml.rels": RELATIONS.format(
            '<Relationship Id="d" Type="x/diagramData" Target="../diagrams/data1.xml"/>'
            '<Relationship Id="e" Type="x/chart" TargetMode="External" Target="http://example.org/x"/>'
        ),
        "ppt/diagrams/data1.xml": f"<d:dataModel xmlns:d='d' {P}><d:pt><a:p><a:t>step</a:t></a:p></d:pt></d:dataModel>",
    }
    with zipfile.ZipFile(io.BytesIO(slide_of("<p:cSld/>"))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert read(zipped({**parts, **with_diagram})).text == "step"


def test_the_number_of_slides_is_limited_and_equality_is_allowed() -> None:
    data = slide_of(shape("body", "x"), count=3)
    assert read_pptx(data, Limits(pages=3)).pages == 3
    with pytest.raises(UnreadableFileError, match="3 slides, but at most 2"):
        read_pptx(data, Limits(pages=2))


def test_a_file_that_declares_entities_is_refused() -> None:
    data = zipped({"ppt/presentation.xml": '<!DOCTYPE x [<!ENTITY e "x">]><p>&e;</p>'})
    with pytest.raises(UnreadableFileError, match="document type"):
        read(data)


def test_a_presentation_without_words_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="no text"):
        read_document("a.pptx", slide_of("<p:cSld/>"))
