"""The SQLite file under a knowledge base: rows in, rows out, no thought.

Two layers live in it. The sources (documents, chunks, term vectors) are written file by file, each in a transaction
of its own, so that a crash loses only the file it interrupts. The snapshot (arrays ready to search) is derived from
all of them and names the generation of sources it was made from: a snapshot of an older generation is never used.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

import numpy as np

from causalviz.arrays import FloatMatrix, FloatVector
from causalviz.documents.reading import cut
from causalviz.errors import KnowledgeBaseError
from causalviz.knowledge_base.schema import (
    CONTENT_VERSION,
    FORMAT,
    PREVIOUS,
    VERSION,
    create_tables,
    prepare_to_read,
    prepare_to_write,
)
from causalviz.records import Chunk, Document, FileReport, Place

_STEP = 1_000_000
"""Bytes that are written at a time."""

Kind = Literal["added", "replaced", "removed", "refused"]
"""What a run did with an id."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredFile:
    """What is kept of a file beside its chunks."""

    document: Document
    """Its text is left empty; ``pieces`` hold it."""
    pieces: Sequence[str]
    """The text, in order; at least one."""
    sha256: str
    size: int
    """Bytes."""
    seconds: float
    """Time it took to read."""
    language: str | None

    @property
    def characters(self) -> int:
        """Length of the text."""
        return sum(map(len, self.pieces))


class Store:
    """One connection to a knowledge base file. Use it as a context manager, from one thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._run: int | None = None

    @classmethod
    def create(cls, path: Path, encoder: str) -> Self:
        """Make an empty knowledge base; the file appears complete or not at all.

        Raises:
            KnowledgeBaseError: the folder cannot be written.
        """
        building = building_path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(":memory:")) as db, db:
                create_tables(db)
                meta = {
                    "format": FORMAT,
                    "version": VERSION,
                    "content": CONTENT_VERSION,
                    "encoder": encoder,
                    "generation": 0,
                }
                db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
                building.write_bytes(db.serialize())
            building.replace(path)
        except OSError as error:
            building.unlink(missing_ok=True)
            raise KnowledgeBaseError(
                f"'{path}' cannot be written ({error.strerror}); choose another place for it, or make room."
            ) from error
        return cls.open(path, writing=True)

    @classmethod
    def open(cls, path: Path, *, writing: bool = False) -> Self:
        """Open an existing file; for writing, one of the version before is brought to this one.

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
                _check_version(path, meta)
                if writing:
                    prepare_to_write(db)
                else:
                    prepare_to_read(db, meta["version"])
        except KnowledgeBaseError:
            db.close()
            raise
        return cls(path, db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @property
    def encoder(self) -> str:
        """Name of the encoder all vectors come from."""
        return str(self._meta("encoder"))

    def check_encoder(self, encoder: str) -> None:
        """Make sure that vectors of an encoder may be compared with those stored.

        Raises:
            KnowledgeBaseError: they come from another one.
        """
        if self.encoder != encoder:
            raise KnowledgeBaseError(
                f"the knowledge base '{self.path}' holds vectors of encoder '{self.encoder}', but '{encoder}' was "
                "asked for; choose the one it was made with, index the documents into another file, or rebuild it."
            )

    @property
    def generation(self) -> int:
        """Counts the changes of the sources."""
        return int(self._meta("generation") or 0)

    @property
    def source(self) -> str | None:
        """Folder it was last indexed from; None where it was made from something else."""
        found = self._meta("source")
        return None if found is None else str(found)

    @property
    def conditions(self) -> str | None:
        """Under which files were refused that are remembered as refused (documents/reading.py)."""
        found = self._meta("conditions")
        return None if found is None else str(found)

    def set_source(self, folder: str) -> None:
        """Remember the folder it is indexed from."""
        self._set_meta("source", folder)

    def set_conditions(self, conditions: str) -> None:
        """Remember under which conditions files were refused."""
        self._set_meta("conditions", conditions)

    def _set_meta(self, key: str, value: str) -> None:
        if self._meta(key) != value:
            with self._db:
                self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _meta(self, key: str) -> str | int | None:
        row: tuple[str | int] | None = self._db.execute(
            "SELECT value FROM meta WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else row[0]

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

    def note(self, kind: Kind, ids: Iterable[str]) -> None:
        """Enter changes into the history, as part of this connection's run; call inside changing()."""
        if self._run is None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._run = self._db.execute("INSERT INTO runs (time) VALUES (?)", (now,)).lastrowid
        self._db.executemany("INSERT INTO changed VALUES (?, ?, ?)", [(self._run, kind, id_) for id_ in ids])

    def history(self) -> list[tuple[int, str, Kind, str]]:
        """All changes as (number and time of the run, kind, id), newest run first."""
        return self._db.execute(
            "SELECT number, time, kind, id FROM changed JOIN runs ON run = number ORDER BY number DESC, kind, id"
        ).fetchall()

    def hashes(self) -> dict[str, str]:
        """Content hash of every document, by id."""
        return dict(self._db.execute("SELECT id, sha256 FROM documents"))

    def refusals(self) -> dict[str, tuple[str, str]]:
        """Content hash and reason of every file that was refused, by id."""
        return {
            id_: (sha256, reason)
            for id_, sha256, reason in self._db.execute("SELECT id, sha256, reason FROM refused")
        }

    def add_document(self, file: StoredFile, vector: FloatVector, counts: Mapping[str, int]) -> None:
        """Insert or replace one document, without its chunks; call inside changing()."""
        document = file.document
        self.remove(document.id)
        row = {
            "id": document.id,
            "sha256": file.sha256,
            "title": document.title,
            "text": file.pieces[0],
            "reader": document.reader,
            "encoding": document.encoding,
            "warnings": json.dumps(document.warnings, ensure_ascii=False),
            "text_hash": hash_text(*file.pieces),
            "vector": vector.tobytes(),
            "counts": json.dumps(counts, ensure_ascii=False),
            "characters": file.characters,
            "size": file.size,
            "seconds": file.seconds,
            "pages": document.pages,
            "language": file.language,
            "places": json.dumps(
                [(place.start, place.label) for place in document.places], ensure_ascii=False
            ),
        }
        self._db.execute(
            f"INSERT INTO documents ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608 - our names
            tuple(row.values()),
        )
        self._db.executemany(
            # As bytes: a string would keep the UTF-8 that is made of it, and with it the whole text once more.
            "INSERT INTO texts VALUES (?, ?, CAST(? AS TEXT))",
            ((document.id, number, piece.encode()) for number, piece in enumerate(file.pieces[1:], start=1)),
        )

    def add_chunks(self, document: str, chunks: Iterable[EncodedChunk]) -> None:
        """Insert the chunks of a document; call inside changing()."""
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((document, n, *_chunk_row(c)) for n, c in enumerate(chunks, start=1)),
        )

    def stage_chunks(self, chunks: Iterable[EncodedChunk]) -> None:
        """Lay chunks of one long document aside, until all are there; nobody else sees them."""
        with self._db:
            self._db.executemany(
                'INSERT INTO staged (start, "end", text_hash, vector, counts) VALUES (?, ?, ?, ?, ?)',
                map(_chunk_row, chunks),
            )

    def staged_vector(self, text_hash: str) -> FloatVector | None:
        """Vector of a chunk laid aside that has the same text."""
        row = self._db.execute(
            "SELECT vector FROM staged WHERE text_hash = ? LIMIT 1", (text_hash,)
        ).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)

    def staged_vectors(self) -> Iterator[FloatVector]:
        """Vectors of the chunks laid aside, in order."""
        for (vector,) in self._db.execute("SELECT vector FROM staged ORDER BY number"):
            yield np.frombuffer(vector, np.float32)

    def add_staged(self, document: str) -> None:
        """Insert the chunks laid aside as those of a document; call inside changing()."""
        self._db.execute("INSERT INTO chunks SELECT ?, * FROM staged ORDER BY number", (document,))

    def clear_staged(self) -> None:
        """Drop what was laid aside."""
        with self._db:
            self._db.execute("DELETE FROM staged")

    def add_refusal(self, id_: str, sha256: str, reason: str, size: int = 0, seconds: float = 0.0) -> None:
        """Remember that a file cannot be read; call inside changing()."""
        self.remove(id_)
        self._db.execute("INSERT INTO refused VALUES (?, ?, ?, ?, ?)", (id_, sha256, reason, size, seconds))

    def fill_sizes(self, sizes: Mapping[str, int]) -> None:
        """Note sizes of files that were stored by a version which did not."""
        for table in ("documents", "refused"):
            missing = self._db.execute(f"SELECT id FROM {table} WHERE size = 0").fetchall()  # noqa: S608 - our names
            if known := [(sizes[id_], id_) for (id_,) in missing if sizes.get(id_)]:
                with self._db:
                    self._db.executemany(f"UPDATE {table} SET size = ? WHERE id = ?", known)  # noqa: S608

    def archives(self) -> dict[str, str]:
        """Content hash of every archive whose members are stored, by id."""
        return dict(self._db.execute("SELECT id, sha256 FROM archives"))

    def add_archive(self, id_: str, sha256: str) -> None:
        """Remember that all members of an archive are stored."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO archives VALUES (?, ?)", (id_, sha256))

    def remove(self, id_: str) -> None:
        """Forget a document, refusal or archive; call inside changing()."""
        self._db.execute("DELETE FROM documents WHERE id = ?", (id_,))
        self._db.execute("DELETE FROM archives WHERE id = ?", (id_,))
        self._db.execute("DELETE FROM refused WHERE id = ?", (id_,))

    def documents(self, ids: Iterable[str]) -> dict[str, Document]:
        """Documents by id; unknown ids are left out."""
        asked = json.dumps(list(ids))
        more: dict[str, list[str]] = {}
        for id_, piece in self._db.execute(
            "SELECT document, text FROM texts WHERE document IN (SELECT value FROM json_each(?)) "
            "ORDER BY document, number",
            (asked,),
        ):
            more.setdefault(id_, []).append(piece)
        rows = self._db.execute(
            "SELECT id, title, text, reader, encoding, warnings, pages, places FROM documents "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (asked,),
        )
        return {
            row[0]: Document(
                id=row[0],
                title=row[1],
                text="".join((row[2], *more.get(row[0], ()))),
                reader=row[3],
                encoding=row[4],
                warnings=tuple(json.loads(row[5])),
                pages=row[6],
                places=tuple(Place(start=start, label=label) for start, label in json.loads(row[7])),
            )
            for row in rows
        }

    def stored_file(self, id_: str) -> StoredFile | None:
        """Everything kept of a document beside its chunks, vector and counts."""
        row = self._db.execute(
            "SELECT sha256, size, seconds, language FROM documents WHERE id = ?", (id_,)
        ).fetchone()
        document = self.documents([id_]).get(id_)
        if row is None or document is None:
            return None
        return StoredFile(
            document=replace(document, text=""),
            pieces=cut(document.text),
            sha256=row[0],
            size=row[1],
            seconds=row[2],
            language=row[3],
        )

    def copy_records(self, other: "Store") -> None:
        """Take over the history and the refusals of another store, its source, and the calibration of one encoder."""
        taken = {
            "SELECT number, time FROM runs": "INSERT INTO runs VALUES (?, ?)",
            "SELECT run, kind, id FROM changed": "INSERT INTO changed VALUES (?, ?, ?)",
            "SELECT id, sha256 FROM archives": "INSERT INTO archives VALUES (?, ?)",
            "SELECT id, sha256, reason, size, seconds FROM refused": "INSERT INTO refused VALUES (?, ?, ?, ?, ?)",
        }
        with self._db:
            for select, insert in taken.items():
                self._db.executemany(insert, other._db.execute(select))  # noqa: SLF001 - of its own class
            for key in ("source", "gate") if other.encoder == self.encoder else ("source",):
                if (value := other._meta(key)) is not None:  # noqa: SLF001 - of its own class
                    self._db.execute("INSERT INTO meta VALUES (?, ?)", (key, value))

    def reports(self) -> dict[str, FileReport]:
        """Describe every file, indexed or refused, without its text, in id order."""
        rows = self._db.execute(
            "SELECT id, reader, encoding, characters, warnings, "
            "(SELECT COUNT(*) FROM chunks WHERE document = id), size, pages, language, seconds, text_hash "
            "FROM documents ORDER BY id"
        )
        first_with: dict[str, str] = {}
        found = {}
        for row in rows:
            earlier = first_with.setdefault(row[10], row[0])
            found[row[0]] = FileReport(
                file=row[0],
                status="indexed",
                reader=row[1],
                encoding=row[2],
                characters=row[3],
                warnings=tuple(json.loads(row[4])),
                chunks=row[5],
                size=row[6],
                pages=row[7],
                language=row[8],
                seconds=row[9],
                duplicate_of=earlier if earlier != row[0] else None,
            )
        for id_, reason, size, seconds in self._db.execute("SELECT id, reason, size, seconds FROM refused"):
            found[id_] = FileReport(file=id_, status="refused", reason=reason, size=size, seconds=seconds)
        return dict(sorted(found.items()))

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

    def write_snapshot(self, generation: int, parts: Iterable[tuple[str, bytes | memoryview]]) -> None:
        """Replace the snapshot in one transaction; no part is copied on the way."""
        with self._db:
            self._db.execute("DELETE FROM snapshot")
            for name, value in parts:
                whole = memoryview(value)
                row = self._db.execute(
                    "INSERT INTO snapshot VALUES (?, zeroblob(?))", (name, whole.nbytes)
                ).lastrowid
                if row is None or not whole.nbytes:
                    continue
                flat = whole.cast("B")
                with self._db.blobopen("snapshot", "value", row) as blob:
                    for start in range(0, len(flat), _STEP):
                        blob.write(flat[start : start + _STEP])
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
        """Read the snapshot; None when it is missing or older than the sources."""
        if self._meta("snapshot") != self.generation:
            return None
        return dict(self._db.execute("SELECT name, value FROM snapshot"))

    def read_snapshot_parts(self, *names: str) -> dict[str, bytes]:
        """Read parts of the snapshot, however old it is; those that are missing are left out."""
        asked = (json.dumps(names),)
        return dict(
            self._db.execute(
                "SELECT name, value FROM snapshot WHERE name IN (SELECT value FROM json_each(?))", asked
            )
        )


def _check_version(path: Path, meta: Mapping[str, object]) -> None:
    if meta.get("format") != FORMAT or meta.get("version") not in {PREVIOUS, VERSION}:
        raise KnowledgeBaseError(
            f"'{path}' has version {meta.get('version')}, but this release reads version {VERSION}; "
            "delete it and index the documents again."
        )


def hash_text(*pieces: str) -> str:
    """Tell texts apart, however they are cut into pieces."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def building_path(path: Path) -> Path:
    """Where a file is built that then replaces the one at ``path``; of this process alone."""
    return path.with_name(f"{path.name}.{os.getpid()}.new")


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


def _chunk_row(c: EncodedChunk) -> tuple[int, int, str, bytes, str]:
    return (
        c.chunk.start,
        c.chunk.end,
        c.text_hash,
        c.vector.tobytes(),
        json.dumps(c.counts, ensure_ascii=False),
    )


def _unit(id_: str, title: str, text_hash: str, vector: bytes, counts: str) -> StoredUnit:
    return StoredUnit(
        id=id_,
        title=title,
        text_hash=text_hash,
        vector=np.frombuffer(vector, np.float32),
        counts=json.loads(counts),
    )
