"""Knowledge base files from strangers."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from fakes import WordEncoder, silent

from causalviz.bootstrap import index_into
from causalviz.errors import KnowledgeBaseError
from causalviz.knowledge_base import (
    RecordEntry,
    history,
    open_knowledge_base,
    reports,
    source_folder,
    stored_document,
)
from causalviz.knowledge_base.vetting import pour
from causalviz.records import Document, Place

TEXTS = {"a.txt": "late interaction of token vectors", "法.txt": "数据出境安全评估办法"}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kb") / "honest.kb"
    source = [
        RecordEntry(Document(id=id_, title=id_, text=text, reader="text")) for id_, text in TEXTS.items()
    ]
    index_into(path, source, WordEncoder(), silent)
    return path


@pytest.fixture
def copy(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(honest, tmp_path / "copy with 50% & more?.kb"))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def test_an_honest_file_passes_and_can_be_asked_as_before(honest: Path, copy: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.kb"
    pour(copy, target)
    assert copy.read_bytes() == honest.read_bytes()
    before, after = (open_knowledge_base(path, WordEncoder(), silent) for path in (honest, target))
    assert after.documents.ids == before.documents.ids
    assert after.fingerprint == before.fingerprint
    assert (after.documents.vectors == before.documents.vectors).all()
    assert (after.documents.keyword_terms == before.documents.keyword_terms).all()
    assert reports(target) == reports(honest)
    assert history(target) == history(honest)


def test_a_long_text_comes_over_with_its_pages(tmp_path: Path) -> None:
    places = (Place(start=0, label="page 1"), Place(start=700_000, label="page 2"))
    long = Document(
        id="l", title="l", text="late interaction. " * 80_000, reader="pdf", places=places, pages=2
    )
    index_into(tmp_path / "made.kb", [RecordEntry(long)], WordEncoder(), silent)
    pour(tmp_path / "made.kb", tmp_path / "target.kb")
    assert stored_document(tmp_path / "target.kb", "l") == long


def test_what_is_derived_is_made_anew_and_not_believed(copy: Path, tmp_path: Path) -> None:
    change(copy, "UPDATE snapshot SET value = x'ffffffff' WHERE name LIKE '%ind%'")
    pour(copy, tmp_path / "target.kb")
    assert open_knowledge_base(tmp_path / "target.kb", WordEncoder(), silent).documents.ids == tuple(
        sorted(TEXTS)
    )


def test_a_folder_of_another_machine_is_left_behind(copy: Path, tmp_path: Path) -> None:
    change(copy, "INSERT INTO meta VALUES ('source', '/etc')")
    pour(copy, tmp_path / "target.kb")
    assert source_folder(tmp_path / "target.kb") is None


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["CREATE VIEW loot AS SELECT 1"], "holds 'loot'"),
        (["CREATE TRIGGER bite AFTER DELETE ON snapshot BEGIN DELETE FROM documents; END"], "holds 'bite'"),
        (
            ["DROP TABLE terms", "CREATE VIEW terms AS SELECT 'x' AS term, x'00000000' AS vector"],
            "holds 'terms'",
        ),
        (
            ["DROP TABLE terms", "CREATE VIRTUAL TABLE terms USING fts5(term, vector)"],
            "which no knowledge base",
        ),
        (["ALTER TABLE documents ADD COLUMN bomb AS (zeroblob(2000000000))"], "a column is computed"),
        (["DROP TABLE terms", "CREATE TABLE terms (other)"], "no such column"),
        (["CREATE TABLE more (x)"], "holds 'more'"),
        (["CREATE INDEX sneaky ON documents (upper(id))"], "holds 'sneaky'"),
        (["UPDATE meta SET value = 1 WHERE key = 'version'"], "has version 1,"),
        (
            ["UPDATE meta SET value = 'other' WHERE key = 'format'"],
            "does not say that it is a knowledge base",
        ),
        (["UPDATE meta SET value = 5 WHERE key = 'encoder'"], "which encoder"),
        (["INSERT INTO meta VALUES ('gate', 5)"], "its calibration"),
        (["UPDATE documents SET vector = x'00'"], "a vector is cut off"),
        (["UPDATE documents SET vector = x'0000803f' WHERE id = 'a.txt'"], "differ in length"),
        (["UPDATE chunks SET vector = x'0000c07f'"], "no number"),
        (["UPDATE documents SET counts = '[' WHERE id = 'a.txt'"], "what it says of a file"),
        (
            ["UPDATE documents SET counts = '" + "[" * 100_000 + "' WHERE id = 'a.txt'"],
            "what it says of a file",
        ),
        (["UPDATE chunks SET counts = '{\"x\": -1}'"], "word counts"),
        (["UPDATE chunks SET counts = '{\"x\": 1e99}'"], "word counts"),
        (["UPDATE documents SET text = 'another'"], "not the one it was made from"),
        (["UPDATE documents SET text = x'00'"], "a text is none"),
        (["UPDATE documents SET size = -1"], "a size"),
        (["UPDATE documents SET seconds = 9e999"], "a time"),
        (["UPDATE documents SET warnings = '[1]'"], "a warning"),
        (['UPDATE documents SET places = \'[[5, "page 1"], [2, "page 2"]]\''], "a page lies outside"),
        (["UPDATE documents SET places = '[{}]'"], "a page has no beginning"),
        (['UPDATE chunks SET "end" = 100000'], "outside its text"),
        (["UPDATE chunks SET start = 'a'"], "a number is none"),
        (["DELETE FROM chunks WHERE document = 'a.txt'"], "no chunks"),
        (["INSERT INTO refused (id, sha256, reason) VALUES ('x', 5, x'00')"], "a text is none"),
        (["UPDATE runs SET time = 'yesterday'"], "a date"),
        (["UPDATE changed SET kind = 'stolen'"], "its history"),
        (["INSERT INTO texts VALUES ('nobody', 1, 'x')"], "no document"),
    ],
)
def test_a_file_that_is_not_as_ours_is_refused(
    copy: Path, tmp_path: Path, statements: list[str], reason: str
) -> None:
    change(copy, *statements)
    before = copy.read_bytes()
    with pytest.raises(KnowledgeBaseError, match=reason):
        pour(copy, tmp_path / "target.kb")
    assert copy.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"PK\x03\x04 an archive",
        lambda content: content[:100],
        lambda content: content[: len(content) // 2],
        lambda content: content[:4096] + b"\xff" * (len(content) - 4096),
    ],
    ids=["empty", "another format", "only a header", "cut off", "overwritten"],
)
def test_what_is_no_whole_file_is_refused_with_a_sentence(
    copy: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    copy.write_bytes(damage(copy.read_bytes()))
    with pytest.raises(KnowledgeBaseError, match=r"no knowledge base|damaged") as error:
        pour(copy, tmp_path / "target.kb")
    assert str(tmp_path) not in str(error.value)


def test_any_byte_may_be_wrong(honest: Path, copy: Path, tmp_path: Path) -> None:
    content, chance = honest.read_bytes(), random.Random(6)  # noqa: S311 - the same each time
    for number in range(150):
        wrong = bytearray(content)
        for _ in range(chance.choice([1, 4, 64])):
            wrong[chance.randrange(len(wrong))] = chance.randrange(256)
        copy.write_bytes(wrong)
        target = tmp_path / f"{number}.kb"
        with suppress(KnowledgeBaseError):
            pour(copy, target)
            open_knowledge_base(target, WordEncoder(), silent)
