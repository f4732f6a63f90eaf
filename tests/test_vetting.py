"""Knowledge base files from strangers."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from fakes import WordEncoder, silent

from causalviz.bootstrap import index_into
from causalviz.errors import KnowledgeBaseError
from causalviz.knowledge_base import RecordEntry, open_knowledge_base
from causalviz.knowledge_base.vetting import vet
from causalviz.records import Document

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


def test_an_honest_file_passes_and_can_be_asked_as_before(honest: Path, copy: Path) -> None:
    assert vet(copy) == "words"
    before, after = (open_knowledge_base(path, WordEncoder(), silent) for path in (honest, copy))
    assert after.documents.ids == before.documents.ids
    assert after.fingerprint == before.fingerprint
    assert (after.documents.vectors == before.documents.vectors).all()


def test_what_is_derived_is_made_anew_and_not_believed(copy: Path) -> None:
    change(copy, "UPDATE snapshot SET value = x'ffffffff' WHERE name LIKE '%ind%'")
    vet(copy)
    assert open_knowledge_base(copy, WordEncoder(), silent).documents.ids == tuple(sorted(TEXTS))


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["CREATE VIEW loot AS SELECT 1"], "holds 'loot'"),
        (["CREATE TRIGGER bite AFTER DELETE ON snapshot BEGIN DELETE FROM documents; END"], "holds 'bite'"),
        (
            ["DROP TABLE terms", "CREATE VIEW terms AS SELECT 'x' AS term, x'00000000' AS vector"],
            "other tables",
        ),
        (["ALTER TABLE documents ADD COLUMN bomb AS (zeroblob(2000000000))"], "other tables"),
        (["CREATE TABLE more (x)"], "holds 'more'"),
        (["CREATE INDEX sneaky ON documents (upper(id))"], "holds 'sneaky'"),
        (["UPDATE meta SET value = 1 WHERE key = 'version'"], "has version 1,"),
        (
            ["UPDATE meta SET value = 'other' WHERE key = 'format'"],
            "does not say that it is a knowledge base",
        ),
        (["UPDATE meta SET value = 5 WHERE key = 'encoder'"], "which encoder"),
        (["UPDATE documents SET vector = x'00'"], "a vector is cut off"),
        (["UPDATE documents SET vector = x'0000803f' WHERE id = 'a.txt'"], "differ in length"),
        (["UPDATE chunks SET vector = x'0000c07f'"], "no number"),
        (["UPDATE documents SET counts = '[' WHERE id = 'a.txt'"], "word counts"),
        (["UPDATE chunks SET counts = '{\"x\": -1}'"], "word counts"),
        (["UPDATE documents SET text = 'another'"], "not the one it was made from"),
        (["UPDATE documents SET text = x'00'"], "no name or no text"),
        (['UPDATE chunks SET "end" = 100000'], "outside its text"),
        (["DELETE FROM chunks WHERE document = 'a.txt'"], "no chunks"),
    ],
)
def test_a_file_that_is_not_as_ours_is_refused(copy: Path, statements: list[str], reason: str) -> None:
    change(copy, *statements)
    with pytest.raises(KnowledgeBaseError, match=reason):
        vet(copy)


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
    copy: Path, damage: Callable[[bytes], bytes]
) -> None:
    copy.write_bytes(damage(copy.read_bytes()))
    with pytest.raises(KnowledgeBaseError, match=r"no knowledge base|damaged|other tables") as error:
        vet(copy)
    assert str(copy) not in str(error.value)


def test_a_refused_file_has_not_run_anything(copy: Path, tmp_path: Path) -> None:
    change(copy, "CREATE TRIGGER bite AFTER DELETE ON snapshot BEGIN DELETE FROM documents; END")
    before = copy.read_bytes()
    with pytest.raises(KnowledgeBaseError):
        vet(copy)
    assert copy.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [copy.name]
