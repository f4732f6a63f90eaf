"""Test collections in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv."""

import json
from collections.abc import Iterator, Mapping
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
        CollectionError: a file is missing or malformed, an id or a judgment occurs twice, a judgment names an unknown
            document or query, a judged query is empty, or there is no document or no query with a relevant document.
    """
    if not folder.is_dir():
        raise CollectionError(
            f"'{folder}' is no folder; a collection is a folder that holds corpus.jsonl, queries.jsonl and "
            "qrels/test.tsv."
        )
    documents = {id_: _document(id_, entry) for id_, entry in _entries(folder / "corpus.jsonl")}
    queries = {id_: str(entry["text"]) for id_, entry in _entries(folder / "queries.jsonl")}
    if not any(document.text for document in documents.values()):
        raise CollectionError(
            f"'{folder / 'corpus.jsonl'}' holds no document with text, but there must be something to rank; write one "
            'object {"_id", "title", "text"} a line.'
        )
    path = folder / "qrels" / "test.tsv"
    qrels: dict[str, dict[str, int]] = {}
    for number, query, document, grade in _judgments(path):
        for id_, known, file in (
            (query, queries, "queries.jsonl"),
            (document, documents, "corpus.jsonl"),
        ):
            if id_ not in known:
                raise CollectionError(
                    f"line {number} of '{path}' names '{id_}', which {file} does not hold; remove the line or add the "
                    "entry."
                )
        if document in qrels.setdefault(query, {}):
            raise CollectionError(
                f"line {number} of '{path}' judges document '{document}' for query '{query}' again; keep one of the "
                "lines."
            )
        qrels[query][document] = grade
    judged = {id_: text for id_, text in queries.items() if id_ in qrels}
    empty = next((id_ for id_, text in judged.items() if not text.strip()), None)
    if empty is not None:
        raise CollectionError(
            f"query '{empty}' of '{folder / 'queries.jsonl'}' is judged but has no text; give it some, or remove "
            "it and its judgments."
        )
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        raise CollectionError(
            f"'{path}' holds no judgment above 0, so no query has a relevant document and every measure would be 0; "
            "add judgments."
        )
    return Collection(
        name=folder.resolve().name, documents=tuple(documents.values()), queries=judged, qrels=qrels
    )


def _document(id_: str, entry: Mapping[str, Any]) -> Document:
    title = str(entry.get("title") or "")
    return Document(id=id_, title=title or id_, text=f"{title}\n\n{entry['text']}".strip(), reader="record")


def _entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every entry with its id; the id is text or an integer, the text is text (null is none)."""
    seen: set[str] = set()
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise CollectionError(
                f"line {number} of '{path}' is no JSON object ({error}); write one a line."
            ) from error
        if not isinstance(entry, dict):
            raise CollectionError(
                f"line {number} of '{path}' holds a JSON {type(entry).__name__}, but an object was expected; write one "
                "a line."
            )
        missing = next((key for key in ("_id", "text") if key not in entry), None)
        if missing:
            raise CollectionError(
                f"line {number} of '{path}' has no '{missing}'; every entry needs _id and text."
            )
        if isinstance(entry["_id"], bool) or not isinstance(entry["_id"], str | int):
            raise CollectionError(
                f"line {number} of '{path}' has the id {json.dumps(entry['_id'])}, but an id is text; put it in quotes."
            )
        if not isinstance(entry["text"], str | None):
            raise CollectionError(
                f"line {number} of '{path}' has a 'text' that is a JSON {type(entry['text']).__name__}; put the text "
                "in quotes."
            )
        id_ = str(entry["_id"])
        if id_ in seen:
            raise CollectionError(
                f"line {number} of '{path}' uses the id '{id_}' again; every id must be its own."
            )
        seen.add(id_)
        yield id_, entry | {"text": entry["text"] or ""}


def _judgments(path: Path) -> Iterator[tuple[int, str, str, int]]:
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            query, document, grade = line.split("\t")
            yield number, query, document, int(grade)
        except ValueError as error:
            if number == 1:  # it names the columns
                continue
            raise CollectionError(
                f"line {number} of '{path}' is no judgment ({error}); expected query-id, corpus-id and an integer, "
                "tab-separated."
            ) from error


def _lines(path: Path) -> list[str]:
    try:
        # Not splitlines(): JSON text may hold U+2028 and its like, which end no line of a file.
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError(
            f"'{path}' cannot be read ({error}); a collection holds corpus.jsonl, queries.jsonl and qrels/test.tsv "
            "in UTF-8."
        ) from error
