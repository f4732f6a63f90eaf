"""What is stored, what is encoded again, and what a crash leaves behind."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from fakes import WordEncoder, plain_tokenizer, silent
from hypothesis import given
from hypothesis import strategies as st

from causalviz.arrays import FloatMatrix
from causalviz.documents.chunking import windows
from causalviz.errors import KnowledgeBaseError
from causalviz.keywords import Token
from causalviz.knowledge_base import (
    FILE_VERSION,
    KnowledgeBase,
    RecordEntry,
    Source,
    folder_source,
    open_knowledge_base,
    update,
)
from causalviz.knowledge_base.encoding import count_words, mean_of_chunks
from causalviz.knowledge_base.indexing import IndexResult
from causalviz.knowledge_base.store import Store
from causalviz.records import Document


class CrashError(Exception):
    """The process dies."""


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def records(texts: Mapping[str, str]) -> list[RecordEntry]:
    return [
        RecordEntry(Document(id=id_, title=id_, text=text, reader="record")) for id_, text in texts.items()
    ]


def index(path: Path, source: Path | Source, encoder: WordEncoder | None = None) -> IndexResult:
    entries = folder_source(source) if isinstance(source, Path) else source
    return update(path, entries, encoder or WordEncoder(), plain_tokenizer(), silent)


def load(path: Path) -> KnowledgeBase:
    return open_knowledge_base(path, WordEncoder(), silent)


def statuses(result: IndexResult) -> dict[str, str]:
    return {report.file: report.status for report in result.files}


def assert_same(one: KnowledgeBase, other: KnowledgeBase) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.vocabulary == other.vocabulary
    assert np.array_equal(one.idf, other.idf)
    assert np.array_equal(one.term_vectors, other.term_vectors)
    for a, b in ((one.documents, other.documents), (one.chunks, other.chunks)):
        assert (a.ids, a.titles) == (b.ids, b.titles)
        assert np.array_equal(a.vectors, b.vectors)
        assert np.array_equal(a.keyword_terms, b.keyword_terms)
        assert np.array_equal(a.keyword_weights, b.keyword_weights)
        assert np.array_equal(a.counts.toarray(), b.counts.toarray())


def test_a_second_run_encodes_nothing_and_changes_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", one="late interaction", two="token vectors")
    path = tmp_path / "a.kb"
    assert statuses(index(path, folder)) == {"one.txt": "indexed", "two.txt": "indexed"}
    before, encoder = load(path), WordEncoder()
    result = index(path, folder, encoder)
    assert statuses(result) == {"one.txt": "unchanged", "two.txt": "unchanged"}
    assert [(r.characters, r.chunks, r.reader) for r in result.files] == [(16, 1, "text"), (13, 1, "text")]
    assert encoder.texts == []
    assert_same(before, load(path))


def test_a_change_encodes_the_changed_file_and_new_keywords_only(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", one="late interaction", two="token vectors")
    path = tmp_path / "a.kb"
    index(path, folder)
    write(folder, two="token maxima")
    (folder / "one.txt").touch()
    encoder = WordEncoder()
    assert statuses(index(path, folder, encoder)) == {"one.txt": "unchanged", "two.txt": "indexed"}
    assert encoder.texts == ["token maxima", "maxima"]


def test_the_result_does_not_depend_on_how_it_was_reached(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", one="late interaction", two="token vectors", gone="to be removed")
    grown = tmp_path / "grown.kb"
    index(grown, folder)
    (folder / "gone.txt").unlink()
    write(folder, three="late tokens", two="other words")
    assert index(grown, folder).removed == ("gone.txt",)
    index(tmp_path / "fresh.kb", folder)
    assert_same(load(grown), load(tmp_path / "fresh.kb"))


def test_an_unreadable_file_among_good_ones_is_refused_alone_and_remembered(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", good="late interaction", empty="  \n ")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    path = tmp_path / "a.kb"
    for _ in range(2):
        result = index(path, folder)
        assert [r.status for r in result.files if r.file != "good.txt"] == ["refused", "refused"]
        assert all(r.reason for r in result.files if r.status == "refused")
        assert load(path).documents.ids == ("good.txt",)
    write(folder, empty="now it has text")
    assert statuses(index(path, folder))["empty.txt"] == "indexed"
    (folder / "good.txt").write_text(" ", encoding="utf-8")
    index(path, folder)
    assert load(path).documents.ids == ("empty.txt",)


@pytest.mark.parametrize("dies_at", range(12))
def test_a_crash_loses_nothing_finished_and_opens_right(tmp_path: Path, dies_at: int) -> None:
    source = records({f"file{i}": f"word{i} late interaction {'long ' * 2000}" for i in range(5)})
    path, calls = tmp_path / "a.kb", 0

    class Dying(WordEncoder):
        def _vector(self, text: str) -> np.ndarray:
            nonlocal calls
            calls += 1
            if calls > dies_at:
                raise CrashError
            return super()._vector(text)

    with pytest.raises(CrashError):
        index(path, source, Dying())
    with sqlite3.connect(path) as db:
        finished = sorted(id_ for (id_,) in db.execute("SELECT id FROM documents"))
    opened = load(path)
    assert list(opened.documents.ids) == finished
    if finished:
        index(tmp_path / "part.kb", [entry for entry in source if entry.id in finished])
        assert_same(opened, load(tmp_path / "part.kb"))
    encoder = WordEncoder()
    result = index(path, source, encoder)
    assert sorted(r.file for r in result.files if r.status == "unchanged") == finished
    index(tmp_path / "whole.kb", source)
    assert_same(load(path), load(tmp_path / "whole.kb"))


def test_a_knowledge_base_of_another_encoder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    index(path, write(tmp_path / "docs", one="late interaction"))

    class Other(WordEncoder):
        name = "other"

    with pytest.raises(KnowledgeBaseError, match=r"encoder 'words'.*'other'"):
        open_knowledge_base(path, Other(), silent)
    with pytest.raises(KnowledgeBaseError, match=r"encoder 'words'.*'other'"):
        index(path, tmp_path / "docs", Other())


def test_a_knowledge_base_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    index(path, write(tmp_path / "docs", one="late interaction"))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = 999 WHERE key = 'version'")
    with pytest.raises(
        KnowledgeBaseError, match=f"version 999, but this release reads version {FILE_VERSION}"
    ):
        load(path)


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all, really not", b"SQLite format 3\0" + b"\xff" * 200]
)
def test_a_file_that_is_no_knowledge_base_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.kb"
    path.write_bytes(content)
    with pytest.raises(KnowledgeBaseError, match="not a knowledge base"):
        load(path)
    with pytest.raises(KnowledgeBaseError, match="not a knowledge base"):
        index(path, write(tmp_path / "docs", one="late interaction"))


def test_a_missing_knowledge_base_or_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="index FOLDER --kb"):
        load(tmp_path / "nowhere.kb")
    with pytest.raises(KnowledgeBaseError):
        folder_source(tmp_path / "nowhere")


def test_a_damaged_snapshot_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    index(path, write(tmp_path / "docs", one="late interaction"))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE snapshot SET value = x'00' WHERE name = 'documents.vectors'")
    with pytest.raises(KnowledgeBaseError, match="damaged"):
        load(path)


def test_a_knowledge_base_in_use_is_said_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.kb"
    folder = write(tmp_path / "docs", one="late interaction")
    index(path, folder)
    write(folder, two="token vectors")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda database: connect(database, timeout=0.01))
    other = connect(path)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(KnowledgeBaseError, match="in use"):
        index(path, folder)
    other.rollback()
    other.close()
    assert statuses(index(path, folder))["two.txt"] == "indexed"


def test_copies_of_one_text_have_one_vector(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", a="late interaction", b="late interaction", c="other")
    encoder = WordEncoder()
    index(tmp_path / "a.kb", folder, encoder)
    assert encoder.texts.count("late interaction") == 1
    vectors = load(tmp_path / "a.kb").documents.vectors
    assert np.array_equal(vectors[0], vectors[1])


def test_a_document_vector_is_the_normalised_mean_of_its_chunks() -> None:
    # (1, 0) and (0, 1): mean (0.5, 0.5), norm 0.7071
    assert mean_of_chunks(np.array([[1, 0], [0, 1]], np.float32)) == pytest.approx([0.5**0.5] * 2)
    assert mean_of_chunks(np.array([[1, 0], [-1, 0]], np.float32)).tolist() == [0, 0]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), max_size=30),
    st.integers(1, 20),
    st.integers(0, 19),
)
def test_a_chunk_counts_the_words_wholly_inside_it(
    shape: list[tuple[int, int]], size: int, overlap: int
) -> None:
    tokens, position = [], 0
    for length, gap in shape:
        tokens.append(Token(f"w{length}", position, position + length))
        position += length + gap
    parts = tuple(windows(position, size, overlap % size))
    total: Counter[str] = Counter()
    for part, counted in zip(parts, count_words(iter(tokens), parts, total), strict=True):
        inside = [t.term for t in tokens if t.start >= part.start and t.end <= part.end]
        assert sorted(counted.elements()) == sorted(inside)
    assert total == Counter(token.term for token in tokens)


def test_a_file_that_cannot_be_opened_changes_nothing_run_after_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "docs", good="late interaction", shut="token vectors")
    path = tmp_path / "a.kb"
    index(path, folder)
    before = load(path)
    opens = Path.open

    def denied(self: Path, mode: str = "r") -> IO[Any]:
        if self.name in {"shut.txt", "never.txt"}:
            raise PermissionError(13, "Permission denied")
        return opens(self, mode)

    write(folder, never="never read")
    monkeypatch.setattr(Path, "open", denied)
    generations: list[int] = []
    for _ in range(3):
        result = index(path, folder)
        reasons = {r.file: r.reason or "" for r in result.files if r.status == "refused"}
        assert "earlier is kept" in reasons["shut.txt"]
        assert "cannot be opened (Permission denied)" in reasons["never.txt"]
        with Store.open(path) as store:
            generations.append(store.generation)
    # noting the new file changed something once
    assert generations[0] == generations[1] == generations[2]
    assert_same(before, load(path))


def test_a_run_that_writes_meanwhile_does_not_mix_into_a_snapshot(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", one="late interaction", two="token vectors")
    path = tmp_path / "a.kb"
    index(path, folder)
    with sqlite3.connect(path) as db:  # as after a crash: the sources are ahead of the snapshot
        db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    class Meddling(WordEncoder):
        def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
            with sqlite3.connect(path) as other:
                other.execute("DELETE FROM documents WHERE id = 'two.txt'")
                other.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
            return super().encode_queries(texts)

    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM terms WHERE term = 'token'")  # so that the encoder is asked
    opened = open_knowledge_base(path, Meddling(), silent)
    assert opened.documents.ids == ("one.txt", "two.txt")
    assert load(path).documents.ids == ("one.txt",)


def test_a_folder_is_no_place_for_a_knowledge_base(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="is a folder, but a knowledge base is one file"):
        index(tmp_path, write(tmp_path / "docs", one="late interaction"))


def test_texts_of_a_knowledge_base_that_has_changed_are_not_shown_for_the_old_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", one="late interaction")
    path = tmp_path / "a.kb"
    index(path, folder)
    before = load(path)
    assert before.texts(["one.txt"], "document") == {"one.txt": "late interaction"}
    write(folder, one="other words")
    index(path, folder)
    with pytest.raises(KnowledgeBaseError, match="indexed again since"):
        before.texts(["one.txt"], "document")
