"""Shared knowledge bases: made, named, filled, deleted and brought back, given away and taken in."""

import json
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from fakes import WordEncoder, silent
from hypothesis import given
from hypothesis import strategies as st

from causalviz import bootstrap
from causalviz.backends.segmentation import default_tokenizer
from causalviz.errors import KnowledgeBaseError
from causalviz.jobs import InThisProcess
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base import folder_source, update
from causalviz.knowledge_base.store import Store
from causalviz.settings import Settings
from causalviz.ui import library as library_module
from causalviz.ui.library import SAMPLE_NAME, UPLOADS, Library, Upload
from causalviz.ui.managing import KEPT_DAYS, Incoming, Manager, neutral_name


class OtherEncoder(WordEncoder):
    """The same vectors under another name."""

    name = "others"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setitem(bootstrap.ENCODERS, "words", WordEncoder)
    # Jobs are done here: what a process of its own does differently is tested where it is made.
    monkeypatch.setattr(library_module, "runner", lambda *_: InThisProcess(WordEncoder()))
    settings = Settings(
        home=tmp_path / "home", encoder="words", host="127.0.0.1", port=7860, limits={"upload_bytes": 1000}
    )
    return Library(settings, "words", [given_file(tmp_path)])


@pytest.fixture
def manager(library: Library) -> Manager:
    return Manager(library)


def given_file(folder: Path) -> Path:
    path = folder / "given.kb"
    Store.create(path, "words").__exit__()
    return path


def brought(folder: Path, **texts: str) -> list[Incoming]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for i, (name, text) in enumerate(texts.items()):
        path = folder / f"{i}"
        path.write_text(text, encoding="utf-8")
        files.append(Incoming(name=f"法律/{name}.txt", size=path.stat().st_size, path=path))
    return files


def fill(manager: Manager, name: str, folder: Path, own: Upload | None = None, **texts: str) -> None:
    assert manager.add(name, own, brought(folder, **texts), threading.Event(), silent) is not None


def ids(library: Library, name: str) -> tuple[str, ...]:
    return library.pipeline(name, silent).base.documents.ids


def test_a_new_knowledge_base_is_empty_and_takes_files_which_are_then_gone(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    assert manager.create(" 合同 2026 ") == "合同 2026"
    assert ids(library, "合同 2026") == ()
    files = brought(tmp_path / "in", one="late interaction", two="token vectors")
    result = manager.add("合同 2026", None, files, threading.Event(), silent)
    assert result is not None
    assert ids(library, "合同 2026") == ("法律/one.txt", "法律/two.txt")
    assert not list((tmp_path / "in").iterdir())
    card = next(card for card in manager.cards(None) if card.name == "合同 2026")
    assert (card.kind, card.documents, card.refused, card.problem) == ("saved", 2, 0, "")


def test_a_file_of_the_same_name_takes_the_place_of_the_other(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction", two="token vectors")
    fill(manager, "kb", tmp_path / "b", one="data leaves the country")
    assert ids(library, "kb") == ("法律/one.txt", "法律/two.txt")
    document, chunks = manager.read("kb", None, "法律/one.txt")
    assert document.text == "data leaves the country"
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 23)]
    assert manager.history("kb", None)[0].replaced == ("法律/one.txt",)


def test_files_of_one_name_in_one_go_are_told_apart(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    twice = brought(tmp_path / "a", one="late interaction") + brought(tmp_path / "b", one="token vectors")
    manager.add("kb", None, twice, threading.Event(), silent)
    assert ids(library, "kb") == ("法律/one (2).txt", "法律/one.txt")


def test_too_much_at_once_is_refused_and_a_file_too_large_says_so_in_its_line(
    manager: Manager, tmp_path: Path
) -> None:
    manager.create("kb")
    heavy = brought(tmp_path / "a", one="x" * 1001)
    with pytest.raises(KnowledgeBaseError, match=r"more than the 0\.001 MB that are taken at once"):
        manager.add("kb", None, heavy, threading.Event(), silent)
    assert not list((tmp_path / "a").iterdir())
    large = Incoming(name="big.pdf", size=300_000_000, path=None)
    manager.add("kb", None, [large], threading.Event(), silent)
    (report,) = manager.reports("kb", None)
    assert (report.file, report.status) == ("big.pdf", "refused")
    assert "300.0 MB, more than the 100 MB" in (report.reason or "")


def test_removing_forgets_and_a_rebuild_takes_what_another_encoder_made(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction", two="token vectors")
    manager.forget("kb", None, ["法律/one.txt"], threading.Event(), silent)
    assert ids(library, "kb") == ("法律/two.txt",)
    with closing(sqlite3.connect(library.path("kb"))) as db, db:
        db.execute("UPDATE meta SET value = 'bge-m3' WHERE key = 'encoder'")
    card = next(card for card in manager.cards(None) if card.name == "kb")
    assert (card.problem, card.foreign) == ("made with bge-m3; rebuild to use it here", True)
    with pytest.raises(KnowledgeBaseError, match="bge-m3"):
        library.pipeline("kb", silent)
    assert manager.rebuild("kb", None, threading.Event(), silent)
    assert ids(library, "kb") == ("法律/two.txt",)


def test_a_stopped_run_keeps_what_was_finished_and_can_be_asked(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    stop = threading.Event()
    stop.set()
    assert manager.add("kb", None, brought(tmp_path / "a", one="late interaction"), stop, silent) is None
    assert ids(library, "kb") == ()


def test_while_one_person_changes_it_another_is_told_and_can_ask(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction")
    seen: list[object] = []

    def meanwhile(*_: object) -> None:
        if not seen:
            seen.append(ids(library, "kb"))
            for change in (
                lambda: manager.delete("kb"),
                lambda: manager.rename("kb", "other"),
                lambda: manager.forget("kb", None, ["x"], threading.Event(), silent),
            ):
                with pytest.raises(KnowledgeBaseError, match="somebody else is changing 'kb'"):
                    change()

    manager.add("kb", None, brought(tmp_path / "b", two="token vectors"), threading.Event(), meanwhile)
    assert seen == [("法律/one.txt",)]
    assert ids(library, "kb") == ("法律/one.txt", "法律/two.txt")
    assert [file.name for file in library.folder.iterdir()] == ["kb.kb"]


def test_a_run_that_fails_changes_nothing(manager: Manager, library: Library, tmp_path: Path) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction")
    before = library.path("kb").read_bytes()

    def fail(*_: object) -> None:
        raise KnowledgeBaseError("no.")

    with pytest.raises(KnowledgeBaseError, match="no"):
        manager.add("kb", None, brought(tmp_path / "b", two="token vectors"), threading.Event(), fail)
    assert library.path("kb").read_bytes() == before
    assert [file.name for file in library.folder.iterdir()] == ["kb.kb"]


def test_a_renamed_knowledge_base_is_found_under_its_new_name_alone(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction")
    assert ids(library, "kb")
    assert manager.rename("kb", "KB") == "KB"
    assert manager.rename("KB", "法律") == "法律"
    assert ids(library, "法律") == ("法律/one.txt",)
    with pytest.raises(KnowledgeBaseError, match="no knowledge base 'kb' here any more"):
        library.pipeline("kb", silent)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "given", "GIVEN", SAMPLE_NAME, UPLOADS, "a.", "x" * 65])
def test_an_unusable_or_taken_name_is_refused_everywhere(manager: Manager, name: str) -> None:
    manager.create("kb")
    for give in (
        manager.create,
        lambda name: manager.rename("kb", name),
        lambda name: manager.copy("kb", name),
    ):
        with pytest.raises(KnowledgeBaseError, match=r"cannot be a name|already a knowledge base"):
            give(name)


@pytest.mark.parametrize("name", [SAMPLE_NAME, "given"])
def test_what_comes_with_the_app_is_not_changed_but_copied(
    manager: Manager, library: Library, name: str
) -> None:
    for change in (
        lambda: manager.delete(name),
        lambda: manager.rename(name, "mine"),
        lambda: manager.rebuild(name, None, threading.Event(), silent),
    ):
        with pytest.raises(KnowledgeBaseError, match="cannot be changed here; make a copy"):
            change()
    if name == "given":
        assert manager.copy(name, "mine") == "mine"
        assert library.names() == [SAMPLE_NAME, "given", "mine"]


def test_what_is_deleted_comes_back_also_after_a_restart(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction")
    id_ = manager.delete("kb")
    assert "kb" not in library.names()
    manager.create("kb")
    again = Manager(library)
    assert [(one.id, one.name) for one in again.deleted()] == [(id_, "kb")]
    assert again.restore(id_) == "kb (2)"
    assert ids(library, "kb (2)") == ("法律/one.txt",)
    assert ids(library, "kb") == ()
    assert again.deleted() == []
    with pytest.raises(KnowledgeBaseError, match="cannot be brought back any more"):
        again.restore(id_)


def test_what_was_deleted_long_ago_is_gone(manager: Manager, library: Library) -> None:
    manager.create("kb")
    id_ = manager.delete("kb")
    trash = library.folder.parent / "deleted"
    long_ago = int(time.time()) - (KEPT_DAYS + 1) * 86_400
    (trash / id_).rename(trash / f"{long_ago}-x")
    assert manager.deleted() == []
    assert not list(trash.iterdir())


def test_an_exported_file_comes_back_as_it_was_under_a_name_that_is_free(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    manager.create("kb")
    fill(manager, "kb", tmp_path / "a", one="late interaction", two="token vectors")
    file = tmp_path / "export"
    manager.export("kb", None, file)
    assert manager.take_in(file, "kb", silent) == "kb (2)"
    assert not file.exists()
    assert ids(library, "kb (2)") == ids(library, "kb")
    assert (
        library.pipeline("kb (2)", silent).base.fingerprint == library.pipeline("kb", silent).base.fingerprint
    )


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("../../etc/passwd", "etcpasswd"),
        ("<b>名前</b>", "b名前b"),
        ("...", "imported"),
        ("given", "given (2)"),
    ],
)
def test_an_imported_file_gets_a_name_that_can_be_one(
    manager: Manager, tmp_path: Path, called: str, name: str
) -> None:
    manager.create("kb")
    manager.export("kb", None, tmp_path / "export")
    assert manager.take_in(tmp_path / "export", called, silent) == name


def test_what_is_no_knowledge_base_is_refused_and_deleted(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    (tmp_path / "bad").write_bytes(b"%PDF-1.7")
    with pytest.raises(KnowledgeBaseError, match="no knowledge base of CausalViz"):
        manager.take_in(tmp_path / "bad", "bad", silent)
    assert not (tmp_path / "bad").exists()
    assert not list(library.folder.iterdir())


def test_an_import_cannot_name_a_folder_of_this_machine(manager: Manager, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key.txt").write_text("late interaction", encoding="utf-8")
    made = tmp_path / "made.kb"
    update(made, folder_source(tmp_path / "secrets"), *tools(), silent)
    name = manager.take_in(made, "made", silent)
    assert manager.folder(name, None) is None
    with pytest.raises(KnowledgeBaseError, match="not made from a folder"):
        manager.update(name, None, threading.Event(), silent)


def tools() -> tuple[WordEncoder, Tokenizer]:
    return WordEncoder(), default_tokenizer()


def test_what_changed_in_its_folder_is_told_and_taken_over(
    manager: Manager, library: Library, tmp_path: Path
) -> None:
    laws = tmp_path / "laws"
    laws.mkdir()
    for name in ("a", "b"):
        (laws / f"{name}.txt").write_text(f"late interaction {name}", encoding="utf-8")
    library.folder.mkdir(parents=True)
    update(library.path("laws"), folder_source(laws), *tools(), silent)
    (laws / "a.txt").write_text("token vectors", encoding="utf-8")
    (laws / "b.txt").unlink()
    (laws / "c.txt").write_text("data leaves", encoding="utf-8")
    pending = manager.pending("laws", None)
    assert (pending.added, pending.replaced, pending.removed) == (("c.txt",), ("a.txt",), ("b.txt",))
    manager.update("laws", None, threading.Event(), silent)
    assert ids(library, "laws") == ("a.txt", "c.txt")
    assert (manager.folder("laws", None) or Path()).name == "laws"


def test_uploads_are_filled_exported_and_emptied_like_the_others(manager: Manager, tmp_path: Path) -> None:
    own = Upload()
    assert manager.reports(UPLOADS, own) == ()
    with pytest.raises(KnowledgeBaseError, match="nothing has been uploaded yet"):
        manager.export(UPLOADS, own, tmp_path / "export")
    fill(manager, UPLOADS, tmp_path / "a", own, one="late interaction")
    assert own.pipeline is not None
    (card, *_) = manager.cards(own)
    assert (card.name, card.kind, card.documents) == (UPLOADS, "own", 1)
    manager.export(UPLOADS, own, tmp_path / "export")
    manager.forget(UPLOADS, own, ["法律/one.txt"], threading.Event(), silent)
    assert manager.reports(UPLOADS, own) == ()
    assert manager.take_in(tmp_path / "export", UPLOADS, silent) == f"{UPLOADS} (2)"
    own.discard()


def test_a_damaged_file_is_listed_with_its_reason_and_without_its_place(
    manager: Manager, library: Library
) -> None:
    library.folder.mkdir(parents=True)
    (library.folder / "broken.kb").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    card = next(card for card in manager.cards(None) if card.name == "broken")
    assert "'broken' is not a knowledge base" in card.problem
    assert str(library.folder) not in json.dumps(card.problem)


@pytest.mark.parametrize(
    ("name", "neutral"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("C:\\secret\\..\\a.txt", "C:/secret/a.txt"),
        ("/a//b/./c.txt", "a/b/c.txt"),
        ("法律/数据 出境.txt", "法律/数据 出境.txt"),
        ("a\u202etxt.exe", "a\ufffdtxt.exe"),
        ("\0\n", "\ufffd\ufffd"),
        ("..", "unnamed"),
        ("x" * 500 + ".pdf", "x" * 396 + ".pdf"),
    ],
)
def test_a_name_becomes_a_path_inside(name: str, neutral: str) -> None:
    assert neutral_name(name) == neutral


@given(st.text(st.characters(), max_size=30))
def test_no_name_leads_out_or_hides_anything(name: str) -> None:
    neutral = neutral_name(name)
    parts = neutral.split("/")
    assert all(part not in {"", ".", ".."} for part in parts)
    assert "\\" not in neutral
    assert neutral.isprintable()
    assert neutral_name(neutral) == neutral
