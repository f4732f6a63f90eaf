"""What can be asked about a knowledge base, and what can be done to it without its source."""

import re
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from documents.builders import Page, pdf
from fakes import WordEncoder, plain_tokenizer, silent

from causalviz.documents.limits import limits_of
from causalviz.errors import KnowledgeBaseError, StoppedError
from causalviz.knowledge_base import (
    FILE_VERSION,
    Change,
    FileEntry,
    IndexResult,
    RecordEntry,
    Source,
    folder_source,
    forget,
    history,
    open_knowledge_base,
    pending_changes,
    rebuild,
    reports,
    source_folder,
    stored_document,
    update,
)
from causalviz.records import Document, Place

VERSION_2 = Path(__file__).with_name("version2.sql")
LONG = "token vectors of late interaction\n" * 1000


class Other(WordEncoder):
    """Another encoder, with shorter vectors."""

    name = "other"
    dim = 16


def write(folder: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pack(archive: Path, members: Mapping[str, str]) -> None:
    archive.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)


def records(texts: Mapping[str, str]) -> list[RecordEntry]:
    return [RecordEntry(Document(id=i, title=i, text=text, reader="record")) for i, text in texts.items()]


def index(path: Path, source: Source, *, keep_others: bool = False) -> IndexResult:
    return update(path, source, WordEncoder(), plain_tokenizer(), silent, keep_others=keep_others)


def ids(path: Path) -> tuple[str, ...]:
    return open_knowledge_base(path, WordEncoder(), silent).documents.ids


def what(change: Change) -> dict[str, tuple[str, ...]]:
    found = {kind: getattr(change, kind) for kind in ("added", "replaced", "removed", "refused")}
    return {kind: names for kind, names in found.items() if names}


def test_adding_keeps_what_is_there_and_replaces_what_comes_again(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    index(path, records({"one": "late interaction", "two": "token vectors"}))
    result = index(path, records({"two": "other words", "three": "late tokens"}), keep_others=True)
    assert result.removed == ()
    assert ids(path) == ("one", "three", "two")
    assert stored_document(path, "two").text == "other words"
    assert [what(change) for change in history(path)] == [
        {"added": ("three",), "replaced": ("two",)},
        {"added": ("one", "two")},
    ]


def test_what_is_forgotten_is_gone_and_as_if_it_had_never_been_there(tmp_path: Path) -> None:
    path, fresh = tmp_path / "a.kb", tmp_path / "fresh.kb"
    index(path, records({"one": "late interaction", "two": "token vectors", "empty": " "}))
    assert forget(path, ["two", "empty", "never there"], WordEncoder(), silent) == ("empty", "two")
    assert [report.file for report in reports(path)] == ["one"]
    index(fresh, records({"one": "late interaction"}))
    bases = [open_knowledge_base(file, WordEncoder(), silent) for file in (path, fresh)]
    assert bases[0].fingerprint == bases[1].fingerprint
    assert bases[0].vocabulary == bases[1].vocabulary == ("interaction", "late")
    assert what(history(path)[0]) == {"removed": ("empty", "two")}
    with pytest.raises(KnowledgeBaseError, match="holds no document 'two'"):
        stored_document(path, "two")


def test_rebuilding_gives_what_indexing_with_the_other_encoder_gives(tmp_path: Path) -> None:
    path, fresh = tmp_path / "a.kb", tmp_path / "fresh.kb"
    texts = {"one": "late interaction", "long": LONG, "empty": " "}
    index(path, records(texts))
    before = history(path)
    rebuild(path, Other(), plain_tokenizer(), silent)
    update(fresh, records(texts), Other(), plain_tokenizer(), silent)
    built, made = (open_knowledge_base(file, Other(), silent) for file in (path, fresh))
    assert built.fingerprint == made.fingerprint
    for a, b in ((built.documents, made.documents), (built.chunks, made.chunks)):
        assert a.ids == b.ids
        assert np.array_equal(a.vectors, b.vectors)
        assert np.array_equal(a.counts.toarray(), b.counts.toarray())
    assert [report.status for report in reports(path)] == ["refused", "indexed", "indexed"]
    assert history(path) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.kb", "fresh.kb"]


def test_rebuilding_that_is_stopped_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    index(path, records({"one": "late interaction", "two": "token vectors"}))
    whole = path.read_bytes()

    def stop(_done: int, _total: int, what: str) -> None:
        if what == "two":
            raise StoppedError

    with pytest.raises(StoppedError):
        rebuild(path, Other(), plain_tokenizer(), stop)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_tells_of_every_file_what_was_found(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "docs",
        {"a.txt": "late interaction of token vectors, as ever", "b.txt": "late interaction of token vectors, as ever"}
        | {"c.txt": "late interaction of token vectors as ever as", "d.txt": "数据出境安全评估办法，数据出境" * 3},
    )  # fmt: skip
    (folder / "e.pdf").write_bytes(pdf([Page([b"One page of words about nothing in particular"])]))
    (folder / "f.bin").write_bytes(b"\0\1\2")
    path = tmp_path / "a.kb"
    result = index(path, folder_source(folder))
    found = {report.file: report for report in reports(path)}
    assert {report.file: report for report in result.files} == found
    assert found["a.txt"].duplicate_of is None
    assert found["b.txt"].duplicate_of == "a.txt"
    # a and c differ by one stop word and its comma: the same content words, another text
    assert (found["c.txt"].duplicate_of, found["c.txt"].near_duplicate_of) == (None, "a.txt")
    assert (found["d.txt"].language, found["e.pdf"].language) == ("Chinese", "English")
    assert (found["e.pdf"].pages, found["e.pdf"].reader) == (1, "pdf")
    assert stored_document(path, "e.pdf").places == (Place(start=0, label="page 1"),)
    assert found["f.bin"].status == "refused"
    for report in found.values():
        assert report.size == (folder / report.file).stat().st_size
        assert report.seconds > 0


def test_what_a_folder_would_change_is_known_by_hashes(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", {"a.txt": "late", "b.txt": "token", "c.txt": "vectors", "x.bin": "?"})
    pack(folder / "same.zip", {"in.txt": "inside words"})
    pack(folder / "gone.zip", {"in.txt": "inside words", "deep/er.txt": "more words"})
    path = tmp_path / "a.kb"
    index(path, folder_source(folder))
    assert source_folder(path) == folder
    assert what(pending_changes(path, folder_source(folder))) == {}
    (folder / "a.txt").unlink()
    (folder / "gone.zip").unlink()
    write(folder, {"b.txt": "tokens", "new.txt": "new"})
    pending = what(pending_changes(path, folder_source(folder)))
    assert pending == {"added": ("new.txt",), "replaced": ("b.txt",), "removed": ("a.txt", "gone.zip")}
    result = index(path, folder_source(folder))
    assert result.removed == ("a.txt", "gone.zip/deep/er.txt", "gone.zip/in.txt")
    assert what(pending_changes(path, folder_source(folder))) == {}


def test_the_files_of_an_archive_are_documents_as_long_as_it_holds_them(tmp_path: Path) -> None:
    path, archive = tmp_path / "a.kb", tmp_path / "up" / "laws.zip"
    entry = FileEntry("laws.zip", archive)
    pack(archive, {"2021/第一.txt": "数据出境", "b.txt": "token vectors", "empty.txt": ""})
    first = index(path, [*records({"r": "a record"}), entry])
    assert [(report.file, report.status) for report in first.files] == [
        ("r", "indexed"),
        ("laws.zip/2021/第一.txt", "indexed"),
        ("laws.zip/b.txt", "indexed"),
        ("laws.zip/empty.txt", "refused"),
    ]
    again = index(path, [entry], keep_others=True)
    assert [report.status for report in again.files] == ["unchanged", "unchanged", "refused"]
    pack(archive, {"b.txt": "other words"})
    changed = index(path, [entry], keep_others=True)
    assert changed.removed == ("laws.zip/2021/第一.txt", "laws.zip/empty.txt")
    assert ids(path) == ("laws.zip/b.txt", "r")
    assert forget(path, ["laws.zip"], WordEncoder(), silent) == ("laws.zip/b.txt",)
    assert [report.status for report in index(path, [entry], keep_others=True).files] == ["indexed"]


def test_a_damaged_archive_is_one_line_of_the_report(tmp_path: Path) -> None:
    path, archive = tmp_path / "a.kb", tmp_path / "up" / "laws.zip"
    pack(archive, {"b.txt": "token vectors"})
    index(path, [FileEntry("laws.zip", archive)])
    archive.write_bytes(archive.read_bytes()[:60])
    for _ in range(2):
        (report,) = index(path, [FileEntry("laws.zip", archive)]).files
        assert (report.file, report.status, report.size) == ("laws.zip", "refused", 60)
        assert report.reason is not None
        assert "damaged" in report.reason
        assert [r.file for r in reports(path)] == ["laws.zip"]
    pack(archive, {"b.txt": "token vectors"})
    index(path, [FileEntry("laws.zip", archive)])
    assert [r.file for r in reports(path)] == ["laws.zip/b.txt"]


def test_what_was_refused_is_read_again_under_other_limits(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.kb", write(tmp_path / "docs", {"long.txt": LONG})
    pack(folder / "z.zip", {"long.txt": LONG})
    strict = limits_of({"characters": 1000})
    for _ in range(2):
        result = update(path, folder_source(folder), WordEncoder(), plain_tokenizer(), silent, limits=strict)
        assert {report.status for report in result.files} == {"refused"}
    assert {report.status for report in index(path, folder_source(folder)).files} == {"indexed"}


def test_a_text_of_many_pieces_is_stored_whole_and_counted_as_one(tmp_path: Path) -> None:
    words = [f"{'long' * 20}{n % 97}" for n in range(25_000)]  # over two million characters
    text = " ".join(words)
    path = tmp_path / "a.kb"
    index(path, records({"long": text}))
    assert stored_document(path, "long").text == text
    base = open_knowledge_base(path, WordEncoder(), silent)
    assert dict(zip(base.vocabulary, base.documents.counts.toarray()[0], strict=True)) == Counter(words)
    last = base.chunks.ids[-1]
    start = (len(base.chunks.ids) - 1) * (4096 - 512)
    assert base.texts([last], "chunk") == {last: text[start:]}
    across = base.chunks.rows["long#280"]  # characters 999,936 to 1,004,032: the first two pieces
    assert base.texts(["long#280"], "chunk")["long#280"] == text[279 * 3584 : 279 * 3584 + 4096]
    assert base.chunks.counts[across].sum() == sum(
        match.start() >= 279 * 3584 and match.end() <= 279 * 3584 + 4096
        for match in re.finditer(r"\w+", text)
    )


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    path = tmp_path / "old.kb"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(VERSION_2.read_text(encoding="utf-8"))
    return path


def test_a_file_of_version_2_is_read_as_it_is(version_2: Path) -> None:
    before = version_2.read_bytes()
    base = open_knowledge_base(version_2, WordEncoder(), silent)
    assert base.documents.ids == ("one.txt", "法.txt")
    assert base.texts(["法.txt"], "document") == {"法.txt": "数据出境安全评估办法"}
    assert [(r.file, r.status, r.characters) for r in reports(version_2)] == [
        ("empty.txt", "refused", 0),
        ("one.txt", "indexed", 33),
        ("法.txt", "indexed", 10),
    ]
    assert history(version_2) == ()
    assert stored_document(version_2, "one.txt").text == "late interaction of token vectors"
    assert version_2.read_bytes() == before


def test_a_file_of_version_2_is_brought_to_this_version_when_written_and_nothing_is_encoded_again(
    version_2: Path, tmp_path: Path
) -> None:
    before = open_knowledge_base(version_2, WordEncoder(), silent)
    folder = write(tmp_path / "docs", {"one.txt": "late interaction of token vectors", "empty.txt": " "})
    write(folder, {"法.txt": "数据出境安全评估办法"})
    encoder = WordEncoder()
    result = update(version_2, folder_source(folder), encoder, plain_tokenizer(), silent)
    assert [(r.file, r.status) for r in result.files] == [
        ("empty.txt", "refused"),
        ("one.txt", "unchanged"),
        ("法.txt", "unchanged"),
    ]
    assert encoder.texts == []
    assert [r.size for r in reports(version_2)] == [1, 33, 30]
    after = open_knowledge_base(version_2, WordEncoder(), silent)
    assert after.fingerprint == before.fingerprint
    assert np.array_equal(after.chunks.vectors, before.chunks.vectors)
    index(tmp_path / "new.kb", folder_source(folder))
    tables = []
    for path in (version_2, tmp_path / "new.kb"):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone() == (FILE_VERSION,)
            tables.append(sorted(db.execute("SELECT name, sql FROM sqlite_master WHERE sql NOTNULL")))
    assert tables[0] == tables[1]


def test_the_proposed_tau_is_kept_with_the_knowledge_base(tmp_path: Path) -> None:
    path, few = tmp_path / "a.kb", tmp_path / "few.kb"
    index(path, records({f"d{n}": " ".join(f"w{n * 15 + k}" for k in range(15)) for n in range(8)}))
    index(few, records({"d": "late interaction"}))
    with closing(sqlite3.connect(path)) as db:  # so that it cannot be computed from what else is there
        db.execute("UPDATE snapshot SET value = zeroblob(length(value)) WHERE name = 'term_vectors'")
        db.commit()
    base = open_knowledge_base(path, WordEncoder(), silent)
    for centred in (False, True):
        proposal = base.tau_proposals[centred]
        assert proposal is not None
        assert proposal.pairs == len(base.random_pairs[centred]) == 2000
        # 99.5 % of 2,000 pairs: ten are at tau or above
        assert np.float32(proposal.tau) == base.random_pairs[centred][1990]
    assert open_knowledge_base(few, WordEncoder(), silent).tau_proposals == {False: None, True: None}
