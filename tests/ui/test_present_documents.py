"""What the Documents page shows."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import chunk
from causalviz.errors import ParameterError
from causalviz.records import Document, FileReport, Place
from causalviz.ui import present_documents
from causalviz.ui.present_documents import PIECE, Reading

REPORTS = (
    FileReport(
        file="=cmd|' /C calc'!A0.txt",
        status="indexed",
        reader="text",
        encoding="gb18030",
        characters=12,
        chunks=1,
        warnings=("@first", "second"),
        size=40,
        language="Chinese",
        seconds=0.25,
    ),
    FileReport(file="b.pdf", status="refused", reason="-scanned, no text", size=9),
    FileReport(file="c.txt", status="unchanged", reader="text", duplicate_of="+a.txt", pages=3),
    FileReport(file="d.txt", status="unchanged", reader="text", near_duplicate_of="c.txt"),
)


def reading(text: str, places: tuple[Place, ...] = ()) -> Reading:
    document = Document(id="a.txt", title="A", text=text, reader="text", places=places)
    return Reading(document=document, chunks=chunk(text))


def test_a_knowledge_base_is_summed_up_in_one_line() -> None:
    assert (
        present_documents.counted(REPORTS) == "3 read, 1 refused, 1 duplicate, 1 nearly the same as another"
    )
    assert present_documents.counted(()) == "0 read"
    assert present_documents.counted(REPORTS[:1] * 1200) == "1,200 read"


def test_a_spreadsheet_calculates_nothing_of_what_a_file_brings() -> None:
    rows = list(csv.DictReader(io.StringIO(present_documents.reports_csv(REPORTS))))
    assert [row["file"] for row in rows] == ["'=cmd|' /C calc'!A0.txt", "b.pdf", "c.txt", "d.txt"]
    assert rows[0]["warnings"] == "'@first; second"
    assert rows[1]["reason"] == "'-scanned, no text"
    assert rows[2]["duplicate_of"] == "'+a.txt"
    assert (rows[0]["seconds"], rows[0]["size"], rows[0]["pages"], rows[2]["pages"]) == (
        "0.25",
        "40",
        "",
        "3",
    )
    assert [row["status"] for row in rows] == ["read", "refused", "read", "read"]


def test_the_json_holds_every_column_of_the_csv_as_it_is() -> None:
    found = json.loads(present_documents.reports_json("名前", REPORTS))
    assert found["knowledge_base"] == "名前"
    assert found["files"][0]["file"] == "=cmd|' /C calc'!A0.txt"
    assert found["files"][0]["warnings"] == ["@first", "second"]
    assert all(tuple(entry) == present_documents.COLUMNS for entry in found["files"])


def test_pages_chunks_and_hits_are_marked_where_they_begin() -> None:
    text = "first page about tokens. " + "x" * 4100 + "second\n page"
    places = (Place(start=0, label="page 1"), Place(start=4125, label="page 3"))
    found = reading(text, places).looking_for("SECOND page")
    # chunks begin every 4096 - 512 characters
    assert present_documents.piece_json(found, 0)["parts"] == [
        {"text": text[:3584], "places": [0], "chunk": 1},
        {"text": text[3584:4125], "chunk": 2},
        {"text": "second\n page", "places": [1], "hit": 0},
    ]
    assert present_documents.opened_json(found)["places"] == [
        {"label": "page 1", "piece": 0},
        {"label": "page 3", "piece": 0},
    ]


def test_a_hit_that_a_mark_cuts_is_marked_on_both_sides() -> None:
    found = reading("one two", (Place(start=0, label="page 1"), Place(start=4, label="page 2")))
    assert present_documents.piece_json(found.looking_for("one two"), 0)["parts"] == [
        {"text": "one ", "places": [0], "chunk": 1, "hit": 0},
        {"text": "two", "places": [1], "hit": 0},
    ]


def test_pages_without_text_can_be_jumped_to_also_at_the_end() -> None:
    places = (Place(start=0, label="page 1"), Place(start=3, label="page 2"), Place(start=3, label="page 3"))
    assert present_documents.piece_json(reading("abc", places), 0)["parts"] == [
        {"text": "abc", "places": [0], "chunk": 1},
        {"text": "", "places": [1, 2]},
    ]


def test_hits_lie_in_the_pieces_they_begin_in_and_there_are_not_too_many() -> None:
    text = "a" * (PIECE - 2) + "data" + "a" * PIECE + "DATA"
    found = reading(text).looking_for(" Ｄata ")
    assert present_documents.hits_json(found) == {"words": " Ｄata ", "pieces": [0, 2], "more": False}
    assert present_documents.piece_json(found, 0)["parts"][-1] == {"text": "da", "hit": 0}
    assert present_documents.piece_json(found, 1)["parts"][0] == {"text": "ta", "hit": 0}
    many = reading("x " * (present_documents.MOST_HITS + 5)).looking_for("x")
    assert (len(many.hits), many.more) == (present_documents.MOST_HITS, True)
    assert reading("a.b").looking_for(" ").hits == ()
    assert reading("a.b").looking_for(".").hits == ((1, 2),)


@pytest.mark.parametrize("number", [-1, 1])
def test_a_piece_that_is_not_there_is_a_named_error(number: int) -> None:
    with pytest.raises(ParameterError, match="1 pieces, and no piece"):
        present_documents.piece_json(reading("abc"), number)


@given(
    st.text("ab \n法𠮷", max_size=60).map(lambda text: text * 2000),
    st.lists(st.integers(0, 120_000), max_size=4).map(sorted),
    st.text("ab 法", max_size=2),
)
def test_the_pieces_together_are_the_text(text: str, starts: list[int], words: str) -> None:
    places = tuple(Place(start=min(start, len(text)), label=f"page {start}") for start in starts)
    found = reading(text, places).looking_for(words)
    pieces = [present_documents.piece_json(found, number) for number in range(found.pieces)]
    assert "".join(part["text"] for piece in pieces for part in piece["parts"]) == text
    seen = [place for piece in pieces for part in piece["parts"] for place in part.get("places", ())]
    assert seen == list(range(len(places)))
    marked = {part["hit"] for piece in pieces for part in piece["parts"] if "hit" in part}
    assert marked == set(range(len(found.hits)))
