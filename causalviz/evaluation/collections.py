"""Test collections in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causalviz.errors import CollectionError
from causalviz.records import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """Documents, queries and graded judgments."""

    name: str
    documents: tuple[Document, ...]
    """In file order; title and text are joined into ``text``."""
    queries: Mapping[str, str]
    """Text by query id, only queries that have judgments."""
    qrels: Mapping[str, Mapping[str, int]]
    """Grade by query id and document id."""


def read_collection(folder: Path) -> Collection:
    """Read a collection.

    Raises:
        CollectionError: a file is missing or malformed, an id occurs twice, a judgment names an unknown document,
            or no query is judged.
    """
    documents = {entry["_id"]: _document(entry) for entry in _lines(folder / "corpus.jsonl", ("_id", "text"))}
    queries = {
        entry["_id"]: str(entry["text"]) for entry in _lines(folder / "queries.jsonl", ("_id", "text"))
    }
    qrels: dict[str, dict[str, int]] = {}
    for number, query, document, grade in _judgments(folder / "qrels" / "test.tsv"):
        if document not in documents:
            raise CollectionError(
                f"line {number} of the judgments in '{folder}' names document '{document}', which the corpus does not "
                "hold; remove the line or add the document."
            )
        qrels.setdefault(query, {})[document] = grade
    judged = {id_: text for id_, text in queries.items() if id_ in qrels}
    if not judged or not documents:
        raise CollectionError(
            f"the collection '{folder}' has no document or no judged query; there is nothing to measure."
        )
    return Collection(name=folder.name, documents=tuple(documents.values()), queries=judged, qrels=qrels)


def _document(entry: Mapping[str, Any]) -> Document:
    title, text = str(entry.get("title") or ""), str(entry["text"])
    return Document(
        id=str(entry["_id"]),
        title=title or str(entry["_id"]),
        text=f"{title}\n\n{text}".strip(),
        reader="record",
    )


def _lines(path: Path, required: tuple[str, ...]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            missing = [key for key in required if key not in entry]
        except (json.JSONDecodeError, TypeError) as error:
            raise CollectionError(
                f"line {number} of '{path}' is no JSON object ({error}); write one a line."
            ) from error
        if missing:
            raise CollectionError(
                f"line {number} of '{path}' has no '{missing[0]}'; every entry needs {', '.join(required)}."
            )
        if entry["_id"] in seen:
            raise CollectionError(
                f"line {number} of '{path}' uses the id '{entry['_id']}' again; every id must be its own."
            )
        seen.add(entry["_id"])
        entries.append(entry)
    return entries


def _judgments(path: Path) -> list[tuple[int, str, str, int]]:
    judgments = []
    for number, line in enumerate(_read(path).splitlines(), start=1):
        fields = line.split("\t")
        if number == 1 or not line.strip():  # the first line names the columns
            continue
        try:
            query, document, grade = fields
            judgments.append((number, query, document, int(grade)))
        except ValueError as error:
            raise CollectionError(
                f"line {number} of '{path}' is no judgment ({error}); expected query-id, corpus-id and an integer, "
                "tab-separated."
            ) from error
    return judgments


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError(
            f"'{path}' cannot be read ({error}); a collection holds corpus.jsonl, queries.jsonl and qrels/test.tsv "
            "in UTF-8."
        ) from error
