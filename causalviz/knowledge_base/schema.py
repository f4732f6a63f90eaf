"""The tables of a knowledge base file, and how a file of the version before gets them."""

import sqlite3

FORMAT = "causalviz-knowledge-base"
VERSION = 3
"""Raised whenever the tables change; a file of the version before is read as it is, and changed when it is written."""
PREVIOUS = 2
CONTENT_VERSION = 2
"""Raised whenever cleaning, chunking or keyword extraction changes what is stored: caches are then made anew."""

_TABLES_2 = """
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
# Of a long text documents.text is the first piece, and texts holds the others: no row is too large to handle.
_TABLES_3 = """
CREATE TABLE texts (
    document TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, number INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (document, number)
);
CREATE TABLE archives (id TEXT PRIMARY KEY, sha256 TEXT NOT NULL);
CREATE TABLE runs (number INTEGER PRIMARY KEY, time TEXT NOT NULL);
CREATE TABLE changed (run INTEGER NOT NULL REFERENCES runs, kind TEXT NOT NULL, id TEXT NOT NULL);
"""
_COLUMNS_3 = (
    ("documents", "characters", "INTEGER NOT NULL DEFAULT 0"),
    ("documents", "size", "INTEGER NOT NULL DEFAULT 0"),
    ("documents", "seconds", "REAL NOT NULL DEFAULT 0"),
    ("documents", "pages", "INTEGER"),
    ("documents", "language", "TEXT"),
    ("documents", "places", "TEXT NOT NULL DEFAULT '[]'"),
    ("refused", "size", "INTEGER NOT NULL DEFAULT 0"),
    ("refused", "seconds", "REAL NOT NULL DEFAULT 0"),
)
# Temporary views hide the tables of the same name: what reads a file need not know of the version before.
_AS_IT_IS = """
CREATE TEMP VIEW documents AS SELECT *, length(text) AS characters, 0 AS size, 0.0 AS seconds, NULL AS pages,
    NULL AS language, '[]' AS places FROM main.documents;
CREATE TEMP VIEW refused AS SELECT *, 0 AS size, 0.0 AS seconds FROM main.refused;
CREATE TEMP TABLE texts (document, number, text);
CREATE TEMP TABLE archives (id, sha256);
CREATE TEMP TABLE runs (number, time);
CREATE TEMP TABLE changed (run, kind, id);
"""
# Chunks of the document that is being encoded. A temporary table is its connection's own, and gone with it.
_STAGED = """
CREATE TEMP TABLE staged (
    number INTEGER PRIMARY KEY, start INTEGER, "end" INTEGER, text_hash TEXT, vector BLOB, counts TEXT
);
CREATE INDEX temp.staged_hash ON staged (text_hash);
"""


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables in an empty database: those of the version before, then what this one adds.

    So a new file and one that was migrated cannot differ.
    """
    _run(db, _TABLES_2)
    _add_to_previous(db)


def prepare_to_read(db: sqlite3.Connection, version: int) -> None:
    """Let a file be read through this connection as if it were of this version, without changing it."""
    if version == PREVIOUS:
        _run(db, _AS_IT_IS)


def prepare_to_write(db: sqlite3.Connection) -> None:
    """Give a file of the version before the tables and columns of this one, in one transaction; nothing is lost."""
    db.execute("BEGIN IMMEDIATE")
    with db:
        # Another run may have done it while this one waited for its turn.
        if db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0] == PREVIOUS:
            _add_to_previous(db)
            db.execute("UPDATE documents SET characters = length(text)")
            db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (VERSION,))
    _run(db, _STAGED)


def _add_to_previous(db: sqlite3.Connection) -> None:
    for table, column, kind in _COLUMNS_3:
        db.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    _run(db, _TABLES_3)


def _run(db: sqlite3.Connection, statements: str) -> None:
    # Not executescript, which would end the transaction that is open.
    for statement in filter(str.strip, statements.split(";")):
        db.execute(statement)
