"""The SQLite file under a knowledge base: rows in, rows out, no thought.

Two layers live in it. The sources (documents, chunks, term vectors) are written file by file, each in a transaction
of its own, so that a crash loses only the file it interrupts. The snapshot (arrays ready to search) is derived from
all of them and names the generation of sources it was made from: a snapshot of an older generation is never used.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from causalviz.errors import KnowledgeBaseError
from causalviz.records import Chunk, Document, FileReport, FloatMatrix, FloatVector

FORMAT = "causalviz-knowledge-base"
VERSION = 2
"""Raised whenever the file's layout, cleaning, chunking or keyword extraction changes what is stored."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, reader TEXT NOT NULL,
    encoding TEXT, warnings TEXT NOT NULL, text_hash TEXT NOT NULL, vector BLOB NOT NULL, counts TEXT NOT NULL
);
CREATE TABLE chunks (
    document TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, number INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, text_hash TEXT NOT NULL, vector BLOB NOT NULL, counts TEXT NOT NULL,
    PRIMARY KEY (document, number)
);
CREATE TABLE refused (id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE terms (term TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE snapshot (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredUnit:
    """A document or chunk as the snapshot needs it."""

    id: str
    title: str
    text_hash: str
    vector: FloatVector
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedChunk:
    """A chunk with its vector and word counts."""

    chunk: Chunk
    text_hash: str
    vector: FloatVector
    counts: Mapping[str, int]


class Store:
    """One connection to a knowledge base file. Use it as a context manager, from one thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection

    @classmethod
    def create(cls, path: Path, encoder: str) -> Self:
        """Make an empty knowledge base; the file appears complete or not at all.

        Raises:
            KnowledgeBaseError: the folder cannot be written.
        """
        building = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            building.unlink(missing_ok=True)
            with named_errors(path), closing(_connect(building)) as db, db:
                db.executescript(_SCHEMA)
                meta = {"format": FORMAT, "version": VERSION, "encoder": encoder, "generation": 0}
                db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            building.replace(path)
        except OSError as error:
            raise KnowledgeBaseError(
                f"'{path}' cannot be written ({error}); choose another place for it."
            ) from error
        return cls(path, _connect(path))

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing file.

        Raises:
            KnowledgeBaseError: there is none, it is something else, or of another version.
        """
        if path.is_dir():
            raise KnowledgeBaseError(
                f"'{path}' is a folder, but a knowledge base is one file; name a file, for example '{path / 'my.kb'}'."
            )
        if not path.is_file():
            raise KnowledgeBaseError(
                f"there is no knowledge base at '{path}'; make one with "
                f"`python -m causalviz index FOLDER --kb '{path}'`."
            )
        db = _connect(path)
        try:
            with named_errors(path):
                meta = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('format', 'version')"))
        except KnowledgeBaseError:
            db.close()
            raise
        if meta.get("format") != FORMAT or meta.get("version") != VERSION:
            db.close()
            raise KnowledgeBaseError(
                f"'{path}' has version {meta.get('version')}, but this release reads version {VERSION}; "
                "delete it and index the documents again."
            )
        return cls(path, db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @property
    def encoder(self) -> str:
        """Name of the encoder all vectors come from."""
        return str(self._meta("encoder"))

    @property
    def generation(self) -> int:
        """Counts the changes of the sources."""
        return int(self._meta("generation"))

    def _meta(self, key: str) -> str | int:
        row: tuple[str | int] = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside belongs together: a run that writes meanwhile is not seen."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.rollback()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One transaction on the sources; it moves the generation on."""
        with self._db:
            self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
            yield

    def hashes(self) -> dict[str, str]:
        """Content hash of every document, by id."""
        return dict(self._db.execute("SELECT id, sha256 FROM documents"))

    def refusals(self) -> dict[str, tuple[str, str]]:
        """Content hash and reason of every file that was refused, by id."""
        return {id_: (sha256, reason) for id_, sha256, reason in self._db.execute("SELECT * FROM refused")}

    def add_document(
        self, document: Document, sha256: str, vector: FloatVector, counts: Mapping[str, int]
    ) -> None:
        """Insert or replace one document, without its chunks; call inside changing()."""
        self.remove(document.id)
        self._db.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document.id,
                sha256,
                document.title,
                document.text,
                document.reader,
                document.encoding,
                json.dumps(document.warnings, ensure_ascii=False),
                hash_text(document.text),
                vector.tobytes(),
                json.dumps(counts, ensure_ascii=False),
            ),
        )

    def add_chunks(self, document: str, chunks: Iterable[EncodedChunk]) -> None:
        """Insert the chunks of a document; call inside changing()."""
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    document,
                    n,
                    c.chunk.start,
                    c.chunk.end,
                    c.text_hash,
                    c.vector.tobytes(),
                    json.dumps(c.counts, ensure_ascii=False),
                )
                for n, c in enumerate(chunks, start=1)
            ],
        )

    def add_refusal(self, id_: str, sha256: str, reason: str) -> None:
        """Remember that a file cannot be read; call inside changing()."""
        self.remove(id_)
        self._db.execute("INSERT INTO refused VALUES (?, ?, ?)", (id_, sha256, reason))

    def remove(self, id_: str) -> None:
        """Forget a document or refusal; call inside changing()."""
        self._db.execute("DELETE FROM documents WHERE id = ?", (id_,))
        self._db.execute("DELETE FROM refused WHERE id = ?", (id_,))

    def documents(self, ids: Iterable[str]) -> dict[str, Document]:
        """Documents by id; unknown ids are left out."""
        rows = self._db.execute(
            "SELECT id, title, text, reader, encoding, warnings FROM documents "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {
            row[0]: Document(
                id=row[0],
                title=row[1],
                text=row[2],
                reader=row[3],
                encoding=row[4],
                warnings=tuple(json.loads(row[5])),
            )
            for row in rows
        }

    def reports(self) -> dict[str, FileReport]:
        """Describe every document, without its text; each is called unchanged."""
        rows = self._db.execute(
            "SELECT id, reader, encoding, length(text), warnings, "
            "(SELECT COUNT(*) FROM chunks WHERE document = id) FROM documents"
        )
        return {
            row[0]: FileReport(
                file=row[0],
                status="unchanged",
                reader=row[1],
                encoding=row[2],
                characters=row[3],
                warnings=tuple(json.loads(row[4])),
                chunks=row[5],
            )
            for row in rows
        }

    def chunk_ranges(self, document: str) -> dict[int, Chunk]:
        """Chunks of a document by number, from 1."""
        rows = self._db.execute(
            'SELECT number, start, "end" FROM chunks WHERE document = ? ORDER BY number', (document,)
        )
        return {number: Chunk(start=start, end=end) for number, start, end in rows}

    def document_units(self) -> Iterator[StoredUnit]:
        """All documents in id order."""
        for row in self._db.execute("SELECT id, title, text_hash, vector, counts FROM documents ORDER BY id"):
            yield _unit(*row)

    def chunk_units(self) -> Iterator[StoredUnit]:
        """All chunks in document and reading order; a chunk's id is its document's with #number."""
        rows = self._db.execute(
            'SELECT document || "#" || number, title, chunks.text_hash, chunks.vector, chunks.counts '
            "FROM chunks JOIN documents ON documents.id = document ORDER BY document, number"
        )
        for row in rows:
            yield _unit(*row)

    def known_terms(self) -> set[str]:
        """Terms whose vector is stored."""
        return {term for (term,) in self._db.execute("SELECT term FROM terms")}

    def add_terms(self, terms: Iterable[str], vectors: FloatMatrix) -> None:
        """Store term vectors, in a transaction of their own."""
        with self._db:
            rows = [(term, vector.tobytes()) for term, vector in zip(terms, vectors, strict=True)]
            self._db.executemany("INSERT OR REPLACE INTO terms VALUES (?, ?)", rows)

    def term_vectors(self, terms: list[str], dim: int) -> FloatMatrix:
        """Vectors of stored terms, (len(terms), dim), in the order asked."""
        rows = dict(
            self._db.execute(
                "SELECT term, vector FROM terms WHERE term IN (SELECT value FROM json_each(?))",
                (json.dumps(terms),),
            )
        )
        joined = b"".join(rows[term] for term in terms)
        return np.frombuffer(joined, np.float32).reshape(len(terms), dim)

    def write_snapshot(self, generation: int, parts: Mapping[str, bytes]) -> None:
        """Replace the snapshot in one transaction."""
        with self._db:
            self._db.execute("DELETE FROM snapshot")
            self._db.executemany("INSERT INTO snapshot VALUES (?, ?)", parts.items())
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('snapshot', ?)", (generation,))

    def write_gate(self, text: str) -> None:
        """Replace the calibration (gate_record.py); the sources stay as they are."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('gate', ?)", (text,))

    def read_gate(self) -> str | None:
        """Read what write_gate stored, None where nothing is."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'gate'").fetchone()
        return None if row is None else str(row[0])

    def fingerprint(self) -> str | None:
        """Fingerprint of the snapshot, None where there is none or it is older than the sources."""
        row = self._db.execute(
            "SELECT snapshot.value FROM snapshot, meta AS taken, meta AS now WHERE snapshot.name = 'fingerprint' "
            "AND taken.key = 'snapshot' AND now.key = 'generation' AND taken.value = now.value"
        ).fetchone()
        return None if row is None else bytes(row[0]).decode()

    def read_snapshot(self) -> dict[str, bytes] | None:
        """Read the snapshot, or None when it is missing or older than the sources."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'snapshot'").fetchone()
        if row is None or row[0] != self.generation:
            return None
        return dict(self._db.execute("SELECT name, value FROM snapshot"))


def hash_text(text: str) -> str:
    """Tell texts apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite reports into a sentence.

    Raises:
        KnowledgeBaseError: the file is in use, cannot be written, or is no (or a damaged) knowledge base.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            what = "is in use by another run; wait for it to end, then try again."
        elif code in {
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_IOERR,
        }:
            what = f"cannot be written ({error}); choose another place for it, or make room."
        else:
            what = f"is not a knowledge base of CausalViz, or a damaged one ({error}); "
            what += "index the documents into another file."
        raise KnowledgeBaseError(f"'{path}' {what}") from error


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _unit(id_: str, title: str, text_hash: str, vector: bytes, counts: str) -> StoredUnit:
    return StoredUnit(
        id=id_,
        title=title,
        text_hash=text_hash,
        vector=np.frombuffer(vector, np.float32),
        counts=json.loads(counts),
    )
