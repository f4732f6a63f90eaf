"""Judgments and questions, as TREC and BEIR write them."""

import json
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from causalviz.errors import CollectionError, ParameterError

_BEIR, _TREC = 3, 4
"""Fields of a line."""
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_HEADINGS = {"score", "grade", "label", "rel", "relevance"}
"""What the third column of a BEIR file may be called."""


def read_qrels(
    path: Path, queries: Container[str] | None = None, documents: Container[str] | None = None
) -> dict[str, dict[str, int]]:
    """Read graded judgments; above 0 is relevant.

    A line of three fields split at tabs is BEIR's ``query-id corpus-id score``, of which the first may name the
    columns; any other has TREC's four fields split at white space, ``query 0 document grade``, in whose document id
    "%20" and the like are decoded, as exports.trec_run writes them.

    Args:
        path: The file, in UTF-8.
        queries: The ids there are; None takes any.
        documents: Likewise.

    Returns:
        Grade by query id and document id.

    Raises:
        CollectionError: the file cannot be read, a line is no judgment, its grade is no whole number, it names an
            unknown id, a document is judged twice for a query, or no judgment is above 0.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, query, document, grade in _judgments(path):
        where = f"line {number} of '{path.name}'"
        for id_, known, what in ((query, queries, "query"), (document, documents, "document")):
            if known is not None and id_ not in known:
                raise CollectionError(
                    f"{where} names the unknown {what} '{id_}'; remove the line or add the {what}."
                )
        if document in qrels.setdefault(query, {}):
            raise CollectionError(
                f"{where} judges document '{document}' for query '{query}' again; keep one of the lines."
            )
        if not _GRADE.fullmatch(grade):
            raise CollectionError(
                f"{where} has the grade '{grade[:20]}', but a grade is a whole number of at most nine digits; write 0 "
                "for a document that is not relevant, 1 or more for one that is."
            )
        qrels[query][document] = int(grade)
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        raise CollectionError(
            f"'{path.name}' holds {'no judgment above 0' if qrels else 'no judgment'}, so no query has a relevant "
            "document and every measure would be 0; add judgments."
        )
    return qrels


def _judgments(path: Path) -> Iterator[tuple[int, str, str, str]]:
    first = True
    for number, line in text_lines(path):
        fields = line.split("\t")
        if len(fields) == _BEIR and all(fields):
            query, document, grade = fields
            if not (first and grade.strip().lower() in _HEADINGS):
                yield number, query, document, grade.strip()
        else:
            fields = line.split()
            if len(fields) != _TREC:
                raise CollectionError(
                    f"line {number} of '{path.name}' is no judgment; expected query-id, corpus-id and an integer "
                    "separated by tabs, or TREC's `query 0 document grade` separated by white space."
                )
            query, _, document, grade = fields
            yield number, query, unquote(document), grade
        first = False


def trec_qrels(qrels: Mapping[str, Mapping[str, int]]) -> str:
    """Write judgments as TREC does, ``query 0 document grade``; read_qrels gives them back.

    Raises:
        ParameterError: a query id or a document id is empty, or a query id holds white space.
    """
    lines = []
    for query, grades in qrels.items():
        if not re.fullmatch(r"\S+", query):
            raise ParameterError(
                f"the query id '{query}' is empty or holds white space, at which TREC's judgments are split; give it "
                "one word."
            )
        for document, grade in grades.items():
            if not document:
                raise ParameterError(
                    f"query '{query}' has a judgment of a document without an id, but a line names one; give it an id."
                )
            encoded = re.sub(r"[\s%]", lambda found: quote(found[0]), document)
            lines.append(f"{query} 0 {encoded} {grade}\n")
    return "".join(lines)


def read_queries(path: Path) -> dict[str, str]:
    """Read questions: BEIR's queries.jsonl, or a line ``id<TAB>text`` each.

    Returns:
        Text by query id, in file order.

    Raises:
        CollectionError: the file cannot be read, a line is no question, an id occurs twice, a question has no text, or
            there is none.
    """
    _, opening = next(text_lines(path), (0, ""))
    questions = (
        ((number, id_, entry["text"]) for number, id_, entry in read_entries(path))
        if opening.lstrip().startswith("{")
        else _questions(path)
    )
    queries: dict[str, str] = {}
    for number, id_, text in questions:
        if not text.strip():
            raise CollectionError(
                f"query '{id_}' (line {number} of '{path.name}') has no text; give it some, or remove it."
            )
        queries[id_] = text
    if not queries:
        raise CollectionError(f"'{path.name}' holds no query; write one a line.")
    return queries


def _questions(path: Path) -> Iterator[tuple[int, str, str]]:
    seen: set[str] = set()
    for number, line in text_lines(path):
        id_, tab, text = line.partition("\t")
        if not tab or not id_.strip():
            raise CollectionError(
                f"line {number} of '{path.name}' is no query; expected its id, a tab and its text, or a JSON object "
                'with "_id" and "text".'
            )
        _take_once(seen, id_.strip(), number, path)
        yield number, id_.strip(), text.strip()


def read_entries(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Read a JSON Lines file of BEIR: line number, id (text or an integer) and object; a text of null is none.

    Raises:
        CollectionError: the file cannot be read, a line is no object with ``_id`` and ``text``, or an id occurs twice.
    """
    seen: set[str] = set()
    for number, line in text_lines(path):
        where = f"line {number} of '{path.name}'"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:  # also numbers and nesting beyond what Python reads
            raise CollectionError(f"{where} is no JSON object ({error}); write one a line.") from error
        if not isinstance(entry, dict):
            raise CollectionError(
                f"{where} holds a JSON {type(entry).__name__}, but an object was expected; write one a line."
            )
        missing = next((key for key in ("_id", "text") if key not in entry), None)
        if missing:
            raise CollectionError(f"{where} has no '{missing}'; every entry needs _id and text.")
        if isinstance(entry["_id"], bool) or not isinstance(entry["_id"], str | int):
            raise CollectionError(
                f"{where} has the id {json.dumps(entry['_id'])}, but an id is text; put it in quotes."
            )
        if not isinstance(entry["text"], str | None):
            raise CollectionError(
                f"{where} has a 'text' that is a JSON {type(entry['text']).__name__}; put the text in quotes."
            )
        _take_once(seen, str(entry["_id"]), number, path)
        yield number, str(entry["_id"]), entry | {"text": entry["text"] or ""}


def _take_once(seen: set[str], id_: str, number: int, path: Path) -> None:
    if id_ in seen:
        raise CollectionError(
            f"line {number} of '{path.name}' uses the id '{id_}' again; every id must be its own."
        )
    seen.add(id_)


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of a file that are not blank, with their numbers.

    Raises:
        CollectionError: the file is missing or not in UTF-8.
    """
    try:
        # Not splitlines(): JSON text may hold U+2028 and its like, which end no line of a file.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise CollectionError(
            f"'{path.name}' cannot be read ({error.strerror}); check where it is and who may read it."
        ) from error
    except UnicodeDecodeError as error:
        raise CollectionError(
            f"'{path.name}' is no text in UTF-8 ({error.reason} at byte {error.start}); save it in UTF-8."
        ) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, line
