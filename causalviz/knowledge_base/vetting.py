"""A knowledge base file that comes from a stranger: looked through before anything in it is believed.

A SQLite file is a program as well as data: triggers, views and computed columns run when it is read, and lengths that
do not fit bring down what relies on them. So the tables must be exactly those this release makes, every value must be
of the shape it should have, and what is derived from them (the snapshot) is thrown away and made anew.
"""

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import numpy as np

from causalviz.errors import KnowledgeBaseError
from causalviz.knowledge_base.store import FORMAT, VERSION, Store, hash_text

_MAGIC = b"SQLite format 3\0"
_LONGEST_ID = 1024
_LONGEST_VALUE = 500_000_000
"""Bytes of one value; SQLite itself would allow twice that."""
_BYTES_OF_A_NUMBER = 4


def vet(path: Path) -> str:
    """Look a file through, and leave in it only what can be believed; the next opening takes its snapshot anew.

    Args:
        path: A copy of one's own: its snapshot is deleted.

    Returns:
        The name of the encoder its vectors come from.

    Raises:
        KnowledgeBaseError: it is no knowledge base, of another version, holds more than one, or is damaged.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise KnowledgeBaseError(
                "the file is no knowledge base of CausalViz; choose one that was exported here, its name ends in .kb."
            )
    try:
        # Nobody else has the copy open, and a journal beside it would not be its own.
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)) as db:
            _guard(db)
            _check_tables(db)
            encoder = _check_meta(db)
            _check_values(db)
        with closing(sqlite3.connect(path)) as db, db:
            _guard(db)
            db.execute("DELETE FROM snapshot")
            db.execute("DELETE FROM meta WHERE key = 'snapshot'")
    except sqlite3.Error as error:
        raise KnowledgeBaseError(
            f"the file is a damaged knowledge base ({error}); export it once more and import that."
        ) from error
    return encoder


def _guard(db: sqlite3.Connection) -> None:
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")


def _tables(db: sqlite3.Connection) -> list[tuple[str, str, str, str | None]]:
    return sorted(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def _check_tables(db: sqlite3.Connection) -> None:
    with tempfile.TemporaryDirectory() as place:
        fresh = Path(place) / "fresh.kb"
        Store.create(fresh, "none").__exit__()
        with closing(sqlite3.connect(fresh)) as own:
            expected = _tables(own)
    found = _tables(db)
    if found == expected:
        return
    names = {name for _, name, *_ in found}
    if "meta" in names and not any(kind in {"view", "trigger"} for kind, *_ in found):
        version = db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if version and version[0] != VERSION:
            raise _other_version(version[0])
    extra = sorted(names - {name for _, name, *_ in expected})
    what = f"holds '{extra[0][:80]}'" if extra else "has other tables"
    raise KnowledgeBaseError(
        f"the file {what}, which no knowledge base of CausalViz has; export it once more and import that."
    )


def _other_version(found: object) -> KnowledgeBaseError:
    return KnowledgeBaseError(
        f"the file has version {str(found)[:20]}, but this release reads version {VERSION}; export it from a "
        "CausalViz of this release."
    )


def _check_meta(db: sqlite3.Connection) -> str:
    (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise _damaged("its pages do not fit together")
    meta = dict(db.execute("SELECT key, value FROM meta"))
    if meta.get("format") != FORMAT:
        raise _damaged("it does not say that it is a knowledge base")
    if meta.get("version") != VERSION:
        raise _other_version(meta.get("version"))
    encoder, generation = meta.get("encoder"), meta.get("generation")
    if not isinstance(encoder, str) or not encoder.isprintable() or not isinstance(generation, int):
        raise _damaged("it does not say which encoder it was made with")
    return encoder


def _check_values(db: sqlite3.Connection) -> None:
    """Check everything a snapshot is made of."""
    lengths: dict[str, int] = {}
    sizes: set[int] = set()
    for id_, text, text_hash, vector, counts in db.execute(
        "SELECT id, text, text_hash, vector, counts FROM documents"
    ):
        if not isinstance(id_, str) or not 0 < len(id_) <= _LONGEST_ID or not isinstance(text, str):
            raise _damaged("a document has no name or no text")
        if text_hash != hash_text(text):
            raise _damaged("a text is not the one it was made from")
        lengths[id_] = len(text)
        sizes.add(_vector_size(vector))
        _check_counts(counts)
    for document, number, start, end, vector, counts in db.execute(
        'SELECT document, number, start, "end", vector, counts FROM chunks'
    ):
        whole = (isinstance(value, int) for value in (number, start, end))
        if not all(whole) or not 0 <= start < end <= lengths.get(document, -1):
            raise _damaged("a chunk lies outside its text")
        sizes.add(_vector_size(vector))
        _check_counts(counts)
    for term, vector in db.execute("SELECT term, vector FROM terms"):
        if not isinstance(term, str):
            raise _damaged("a keyword is no text")
        sizes.add(_vector_size(vector))
    if len(sizes) > 1:
        raise _damaged("its vectors differ in length")
    with_chunks = {document for (document,) in db.execute("SELECT DISTINCT document FROM chunks")}
    if with_chunks != lengths.keys():
        raise _damaged("a document has no chunks")


def _vector_size(vector: object) -> int:
    if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_OF_A_NUMBER:
        raise _damaged("a vector is cut off")
    if not np.isfinite(np.frombuffer(vector, np.float32)).all():
        raise _damaged("a vector holds what is no number")
    return len(vector)


def _check_counts(counts: object) -> None:
    try:
        found = json.loads(counts) if isinstance(counts, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(type(n) is int and 0 < n < 2**31 for n in found.values()):
        raise _damaged("its word counts cannot be read")


def _damaged(why: str) -> KnowledgeBaseError:
    return KnowledgeBaseError(
        f"the file is a damaged knowledge base: {why}; export it once more and import that."
    )
