"""A knowledge base file that comes from a stranger: looked through before anything in it is believed.

A SQLite file is a program as well as data: triggers, views and computed columns run when it is read, and lengths that
do not fit bring down what relies on them. So such a file is only ever read, its tables must be plain ones of our names,
and what is in them is checked row by row on its way into a file of our own making. What is derived (the snapshot) is
left behind and made anew, and so is the folder it was made from: it names a place of another machine.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import numpy as np

from causalviz.errors import KnowledgeBaseError
from causalviz.knowledge_base.schema import FORMAT, PREVIOUS, VERSION, create_tables, prepare_to_read
from causalviz.knowledge_base.store import Kind, Store, hash_text, named_errors

_MAGIC = b"SQLite format 3\0"
_LONGEST_ID = 4096
_LONGEST_VALUE = 500_000_000
"""Bytes of one value; SQLite itself would allow twice that."""
_BYTES_OF_A_NUMBER = 4
_LARGEST_COUNT = 2**31


def pour(file: Path, target: Path) -> str:
    """Pour what can be believed of a knowledge base into a new one; its first opening takes the snapshot.

    Args:
        file: From a stranger; it is read and nothing else.
        target: Does not exist yet.

    Returns:
        The name of the encoder its vectors come from.

    Raises:
        KnowledgeBaseError: it is no knowledge base, of another version, holds more than one, or is damaged.
    """
    with file.open("rb") as opened:
        if opened.read(len(_MAGIC)) != _MAGIC:
            raise KnowledgeBaseError(
                "the file is no knowledge base of CausalViz; choose one that was exported here, its name ends in .kb."
            )
    try:
        # Nobody else has the file open, and a journal beside it would not be its own.
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)) as db:
            _guard(db)
            _check_tables(db)
            meta = _meta(db)
            prepare_to_read(db, meta["version"])
            Store.create(target, meta["encoder"]).__exit__()
            with named_errors(target), closing(sqlite3.connect(target)) as own, own:
                if meta["gate"]:
                    own.execute("INSERT INTO meta VALUES ('gate', ?)", (meta["gate"],))
                _Pouring(db, own).all()
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise KnowledgeBaseError(
            f"the file is a damaged knowledge base ({error}); export it once more and import that."
        ) from error
    return str(meta["encoder"])


def _guard(db: sqlite3.Connection) -> None:
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")


def _check_tables(db: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(":memory:")) as own:
        create_tables(own)
        ours = {name for (name,) in own.execute("SELECT name FROM sqlite_master")}
    for kind, name, sql, root in db.execute("SELECT type, name, sql, rootpage FROM sqlite_master"):
        # A virtual table has no page of its own; an index that comes with a table has no statement of its own.
        if name not in ours or not root or kind != ("index" if sql is None else "table"):
            raise KnowledgeBaseError(
                f"the file holds '{str(name)[:80]}', which no knowledge base of CausalViz has; export it once more and "
                "import that."
            )
        if any(hidden for *_, hidden in db.execute(f"PRAGMA table_xinfo('{name}')")):
            raise _damaged("a column is computed")
    (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise _damaged("its pages do not fit together")


def _meta(db: sqlite3.Connection) -> dict[str, Any]:
    meta = dict(db.execute("SELECT key, value FROM meta"))
    if meta.get("format") != FORMAT:
        raise _damaged("it does not say that it is a knowledge base")
    if meta.get("version") not in {PREVIOUS, VERSION}:
        raise KnowledgeBaseError(
            f"the file has version {str(meta.get('version'))[:20]}, but this release reads version {VERSION}; export "
            "it from a CausalViz of this release."
        )
    encoder, gate = meta.get("encoder"), meta.get("gate")
    if not isinstance(encoder, str) or not encoder.isprintable():
        raise _damaged("it does not say which encoder it was made with")
    if gate is not None and not isinstance(gate, str):
        raise _damaged("its calibration is no text")
    return {"version": meta["version"], "encoder": encoder, "gate": gate}


class _Pouring:
    """Rows from one file into another."""

    def __init__(self, db: sqlite3.Connection, own: sqlite3.Connection) -> None:
        self._db, self._own = db, own
        self._lengths: dict[str, int] = {}
        self._sizes: set[int] = set()

    def all(self) -> None:
        """Pour every table; the largest ones row by row."""
        self._move("documents", self._documents)
        self._move("texts", self._texts)
        self._move("chunks", self._chunks)
        self._move(
            "refused", lambda row: [_id(row[0]), *map(_text, row[1:3]), _size(row[3]), _seconds(row[4])]
        )
        self._move("archives", lambda row: [_id(row[0]), _text(row[1])])
        self._move("runs", lambda row: [_whole(row[0]), _moment(row[1])])
        self._move("changed", lambda row: [_whole(row[0]), _kind(row[1]), _id(row[2])])
        self._move("terms", lambda row: [_text(row[0]), self._vector(row[1])])
        if len(self._sizes) > 1:
            raise _damaged("its vectors differ in length")
        with_chunks = {document for (document,) in self._own.execute("SELECT DISTINCT document FROM chunks")}
        if with_chunks != self._lengths.keys():
            raise _damaged("a document has no chunks")

    def _move(self, table: str, checked: Callable[[Sequence[Any]], list[Any]]) -> None:
        # In brackets: what stands in quotes and is no column, SQLite takes for a text.
        names = [f"[{row[1]}]" for row in self._own.execute(f"PRAGMA table_info({table})")]
        columns = ", ".join(names)
        rows = self._db.execute(f"SELECT {columns} FROM {table}")  # noqa: S608 - our own names
        marks = ", ".join("?" * len(names))
        self._own.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", map(checked, rows))  # noqa: S608

    def _documents(self, row: Sequence[Any]) -> list[Any]:
        id_, sha256, title, text, reader, encoding, warnings, text_hash, vector, counts = row[:10]
        _, size, seconds, pages, language, places = row[10:]
        pieces = [_text(text), *self._pieces(_id(id_))]
        if text_hash != hash_text(*pieces):
            raise _damaged("a text is not the one it was made from")
        self._lengths[id_] = sum(map(len, pieces))
        if not all(isinstance(warning, str) for warning in _list(warnings)):
            raise _damaged("a warning is no text")
        starts = [0]
        for place in _list(places):
            if not isinstance(place, list) or [type(part) for part in place] != [int, str]:
                raise _damaged("a page has no beginning or no name")
            starts.append(place[0])
        if starts != sorted(starts) or starts[-1] > self._lengths[id_]:
            raise _damaged("a page lies outside its text")
        return [
            *(id_, _text(sha256), _text(title), text, _text(reader), encoding and _text(encoding), warnings),
            *(
                text_hash,
                self._vector(vector),
                _counts(counts),
                self._lengths[id_],
                _size(size),
                _seconds(seconds),
            ),
            *(pages and _size(pages), language and _text(language), places),
        ]

    def _pieces(self, id_: str) -> Iterator[str]:
        rows = self._db.execute("SELECT text FROM texts WHERE document = ? ORDER BY number", (id_,))
        return (_text(text) for (text,) in rows)

    def _texts(self, row: Sequence[Any]) -> list[Any]:
        return [self._document(row[0]), _whole(row[1]), _text(row[2])]

    def _chunks(self, row: Sequence[Any]) -> list[Any]:
        document, number, start, end, text_hash, vector, counts = row
        if not 0 <= _whole(start) < _whole(end) <= self._lengths[self._document(document)]:
            raise _damaged("a chunk lies outside its text")
        return [document, _whole(number), start, end, _text(text_hash), self._vector(vector), _counts(counts)]

    def _document(self, id_: object) -> str:
        if not isinstance(id_, str) or id_ not in self._lengths:
            raise _damaged("a part belongs to no document")
        return id_

    def _vector(self, vector: object) -> bytes:
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_OF_A_NUMBER:
            raise _damaged("a vector is cut off")
        if not np.isfinite(np.frombuffer(vector, np.float32)).all():
            raise _damaged("a vector holds what is no number")
        self._sizes.add(len(vector))
        return vector


def _id(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID:
        raise _damaged("a file has no name")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _damaged("a text is none")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise _damaged("a number is none")
    return value


def _size(value: object) -> int:
    if _whole(value) < 0:
        raise _damaged("a size is below nothing")
    return _whole(value)


def _seconds(value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise _damaged("a time is none")
    return float(value)


def _moment(value: object) -> str:
    try:
        return datetime.fromisoformat(_text(value)).isoformat()
    except ValueError as error:
        raise _damaged("a date is none") from error


def _kind(value: object) -> str:
    if value not in get_args(Kind):
        raise _damaged("its history cannot be read")
    return str(value)


def _json(value: object) -> object:
    try:
        return json.loads(_text(value))
    except (ValueError, RecursionError) as error:
        raise _damaged("what it says of a file cannot be read") from error


def _list(value: object) -> list[Any]:
    found = _json(value)
    if not isinstance(found, list):
        raise _damaged("what it says of a file cannot be read")
    return found


def _counts(value: object) -> str:
    found = _json(value)
    if not isinstance(found, dict) or not all(
        type(n) is int and 0 < n < _LARGEST_COUNT for n in found.values()
    ):
        raise _damaged("its word counts cannot be read")
    return _text(value)


def _damaged(why: str) -> KnowledgeBaseError:
    return KnowledgeBaseError(
        f"the file is a damaged knowledge base: {why}; export it once more and import that."
    )
