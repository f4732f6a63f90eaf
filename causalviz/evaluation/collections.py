"""Test collections in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causalviz.errors import CollectionError
from causalviz.evaluation.qrels import read_entries, read_qrels, read_queries
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
            document or query, a query is empty, or there is no document or no query with a relevant document.
    """
    paths = [folder / name for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")]
    missing = next((path for path in paths if not path.is_file()), None)
    if missing:
        found = (
            f"'{folder}' holds no {missing.relative_to(folder)}"
            if folder.is_dir()
            else f"'{folder}' is no folder"
        )
        raise CollectionError(
            f"{found}; a collection is a folder that holds corpus.jsonl, queries.jsonl and qrels/test.tsv."
        )
    corpus, questions, judgments = paths
    documents = {id_: _document(id_, entry) for _, id_, entry in read_entries(corpus)}
    if not any(document.text for document in documents.values()):
        raise CollectionError(
            f"'{corpus.name}' holds no document with text, but there must be something to rank; write one object "
            '{"_id", "title", "text"} a line.'
        )
    queries = read_queries(questions)
    qrels = read_qrels(judgments, queries, documents)
    return Collection(
        name=folder.resolve().name,
        documents=tuple(documents.values()),
        queries={id_: text for id_, text in queries.items() if id_ in qrels},
        qrels=qrels,
    )


def _document(id_: str, entry: Mapping[str, Any]) -> Document:
    title = str(entry.get("title") or "")
    return Document(id=id_, title=title or id_, text=f"{title}\n\n{entry['text']}".strip(), reader="record")
