"""What the Documents page shows, as plain data: what was read of each file, its text in pieces, what changed."""

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from causalviz.documents import SUPPORTED_SUFFIXES
from causalviz.errors import ParameterError
from causalviz.exports import csv_text
from causalviz.knowledge_base import Change, IndexResult
from causalviz.records import Chunk, Document, FileReport, JsonObject
from causalviz.ui.managing import Card, Deleted

PIECE = 40_000
"""Characters of a text that are sent and drawn at once."""
MOST_HITS = 5_000
"""Places a search in a text finds; the page says when there are more."""
_LONGEST_SEARCH = 200
MOST_CHANGES = 200
"""Files of one run that the history lists."""
MOST_RUNS = 50

COLUMNS = (
    "file", "status", "reason", "pages", "characters", "chunks", "language", "encoding", "reader", "warnings",
    "duplicate_of", "near_duplicate_of", "seconds", "size",
)  # fmt: skip
"""Of the CSV, and the keys of the JSON."""


def counted(reports: Sequence[FileReport]) -> str:
    """Sum a knowledge base up, e.g. "41 read, 3 refused, 2 duplicates"."""
    refused = sum(report.status == "refused" for report in reports)
    copies = sum(report.duplicate_of is not None for report in reports)
    near = sum(report.near_duplicate_of is not None for report in reports)
    said = [f"{len(reports) - refused:,} read"]
    said += [f"{refused:,} refused"] if refused else []
    said += [f"{copies:,} {'duplicate' if copies == 1 else 'duplicates'}"] if copies else []
    said += [f"{near:,} nearly the same as another"] if near else []
    return ", ".join(said)


def entries(reports: Sequence[FileReport]) -> list[JsonObject]:
    """Describe every file for other programs, under the names of COLUMNS."""
    return [
        {
            "file": report.file,
            "status": "refused" if report.status == "refused" else "read",
            "reason": report.reason,
            "pages": report.pages,
            "characters": report.characters,
            "chunks": report.chunks,
            "language": report.language,
            "encoding": report.encoding,
            "reader": report.reader,
            "warnings": list(report.warnings),
            "duplicate_of": report.duplicate_of,
            "near_duplicate_of": report.near_duplicate_of,
            "seconds": report.seconds,
            "size": report.size,
        }
        for report in reports
    ]


def reports_json(name: str, reports: Sequence[FileReport]) -> str:
    """Write the report as JSON: {"knowledge_base", "files": [...]}."""
    return json.dumps({"knowledge_base": name, "files": entries(reports)}, ensure_ascii=False, indent=2)


def reports_csv(reports: Sequence[FileReport]) -> str:
    """Write the report as CSV (RFC 4180); text that a spreadsheet would calculate gets an apostrophe in front."""
    rows = (entry | {"warnings": "; ".join(entry["warnings"])} for entry in entries(reports))
    return csv_text(COLUMNS, ([row[column] for column in COLUMNS] for row in rows))


def cards_json(cards: Sequence[Card]) -> list[JsonObject]:
    """Describe the list of knowledge bases."""
    return [
        {
            "name": card.name,
            "kind": card.kind,
            "documents": card.documents,
            "refused": card.refused,
            "size": card.size,
            "changed": card.changed,
            "encoder": card.encoder,
            "problem": card.problem,
            "foreign": card.foreign,
        }
        for card in cards
    ]


def deleted_json(deleted: Sequence[Deleted]) -> list[JsonObject]:
    """Describe what can be brought back."""
    return [{"id": one.id, "name": one.name, "deleted": one.deleted, "size": one.size} for one in deleted]


FORMATS = f"Formats: {', '.join(sorted(suffix.removeprefix('.') for suffix in SUPPORTED_SUFFIXES))}, zip."


def base_json(
    card: Card, reports: Sequence[FileReport], changes: Sequence[Change], folder: str | None
) -> JsonObject:
    """Describe a knowledge base with all its files.

    Args:
        card: As it stands in the list.
        reports: In id order.
        changes: Newest run first.
        folder: Name of the folder it was made from, if any.
    """
    (entry,) = cards_json([card])
    return entry | {
        "counted": counted(reports),
        "files": entries(reports),
        "history": history_json(changes),
        "folder": folder,
    }


def saved_json(name: str, reports: Sequence[FileReport], kind: str) -> JsonObject:
    """The report as a file to save."""
    content = reports_csv(reports) if kind == "csv" else reports_json(name, reports)
    return {
        "name": f"{name} files.{kind}",
        "content": content,
        "type": "text/csv" if kind == "csv" else "application/json",
    }


def history_json(changes: Sequence[Change]) -> list[JsonObject]:
    """Say what each run did: {time, words, files: [[kind, file], ...]}, at most MOST_CHANGES files of a run."""
    found = []
    for change in changes[:MOST_RUNS]:
        kinds = _kinds(change)
        files = [[kind, id_] for kind, ids in kinds.items() for id_ in ids]
        words = ", ".join(f"{len(ids):,} {kind}" for kind, ids in kinds.items() if ids)
        more = f" (the first {MOST_CHANGES} are listed)" if len(files) > MOST_CHANGES else ""
        found.append(
            {
                "time": datetime.fromisoformat(change.when).timestamp(),
                "words": f"{words}{more}",
                "files": files[:MOST_CHANGES],
            }
        )
    return found


def pending_json(pending: Change) -> JsonObject:
    """What differs now from the folder a knowledge base was made from: ids by kind."""
    return {kind: list(ids) for kind, ids in _kinds(pending).items()}


def _kinds(change: Change) -> dict[str, tuple[str, ...]]:
    return {
        "added": change.added,
        "replaced": change.replaced,
        "removed": change.removed,
        "refused": change.refused,
    }


STOPPED = "Stopped; what was finished until then is kept."


def added(result: IndexResult | None) -> str:
    """Say what became of files that were added, e.g. "41 files read; 3 refused, the table says why"."""
    if result is None:
        return STOPPED
    refused = sum(report.status == "refused" for report in result.files)
    same = sum(report.status == "unchanged" for report in result.files)
    read = len(result.files) - refused - same
    said = [f"{_files(read)} read"]
    said += [f"{same:,} unchanged"] if same else []
    said += [f"{refused:,} refused, the table says why"] if refused else []
    said += [f"{_files(len(result.removed))} removed"] if result.removed else []
    return f"{'; '.join(said)}."


def removed(number: int) -> str:
    """Say that files were removed."""
    return f"{_files(number)} removed."


def _files(number: int) -> str:
    return f"{number:,} {'file' if number == 1 else 'files'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A text somebody reads: exactly what was indexed."""

    document: Document
    chunks: tuple[Chunk, ...]
    words: str = ""
    """What is looked for in it."""
    hits: tuple[tuple[int, int], ...] = ()
    """Where that is, as half-open ranges that do not overlap, in order."""
    more: bool = False
    """Whether there are more than MOST_HITS."""

    @property
    def pieces(self) -> int:
        """How many pieces the text is sent in; at least one."""
        return max(1, -(-len(self.document.text) // PIECE))

    def looking_for(self, words: str) -> "Reading":
        """Look for words: case, and how much white space is between them, do not matter; nothing finds nothing."""
        wanted = unicodedata.normalize("NFKC", words[:_LONGEST_SEARCH]).split()
        hits: list[tuple[int, int]] = []
        more = False
        if wanted:
            pattern = re.compile(r"\s+".join(map(re.escape, wanted)), re.IGNORECASE)
            for found in pattern.finditer(self.document.text):
                if len(hits) == MOST_HITS:
                    more = True
                    break
                hits.append(found.span())
        return Reading(document=self.document, chunks=self.chunks, words=words, hits=tuple(hits), more=more)


def opened_json(reading: Reading) -> JsonObject:
    """Describe a text without the text: its title, its pages with the pieces they begin in, what to say about it."""
    document = reading.document
    return {
        "id": document.id,
        "title": document.title,
        "characters": len(document.text),
        "pieces": reading.pieces,
        "chunks": len(reading.chunks),
        "reader": document.reader,
        "encoding": document.encoding,
        "pages": document.pages,
        "warnings": list(document.warnings),
        "places": [
            {"label": place.label, "piece": _piece_of(place.start, reading)} for place in document.places
        ],
    }


def hits_json(reading: Reading) -> JsonObject:
    """Say how often, and in which piece each time, what is looked for was found."""
    return {
        "words": reading.words,
        "pieces": [start // PIECE for start, _ in reading.hits],
        "more": reading.more,
    }


def piece_json(reading: Reading, number: int) -> JsonObject:
    """Give one piece of a text, cut where something begins or ends.

    Each part is {"text"} and, where it begins there, {"place": index in the list of places}, {"chunk": number from 1};
    a part of what is looked for has {"hit": its number from 0}.

    Raises:
        ParameterError: there is no such piece.
    """
    if not 0 <= number < reading.pieces:
        raise ParameterError(
            f"the text has {reading.pieces} pieces, and no piece {number}; open the file once more."
        )
    text = reading.document.text
    start, end = number * PIECE, min((number + 1) * PIECE, len(text))
    places: dict[int, list[int]] = {}
    for i, place in enumerate(reading.document.places):
        if _piece_of(place.start, reading) == number:
            places.setdefault(place.start, []).append(i)
    chunks = {chunk.start: i for i, chunk in enumerate(reading.chunks, start=1) if start <= chunk.start < end}
    hits = range(
        bisect_right(reading.hits, start, key=lambda hit: hit[1]),
        bisect_left(reading.hits, end, key=lambda hit: hit[0]),
    )
    borders = {border for i in hits for border in reading.hits[i] if start < border < end}
    # A page without text may begin where the text ends: the last part is then empty.
    lefts = sorted({start, *places, *chunks, *borders})
    parts = []
    for left, right in pairwise([*lefts, end]):
        part: JsonObject = {"text": text[left:right]}
        part |= {"places": places[left]} if left in places else {}
        part |= {"chunk": chunks[left]} if left in chunks else {}
        hit = bisect_right(reading.hits, left, key=lambda found: found[0]) - 1
        part |= {"hit": hit} if hit >= 0 and left < reading.hits[hit][1] else {}
        parts.append(part)
    return {"number": number, "parts": parts}


def _piece_of(start: int, reading: Reading) -> int:
    return min(start // PIECE, reading.pieces - 1)
