"""Changes of knowledge bases in copies, and what is left of them when the app is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes import WordEncoder, plain_tokenizer, silent

from causalviz.jobs import InThisProcess
from causalviz.knowledge_base import FileEntry, open_knowledge_base, update
from causalviz.knowledge_base.store import Store
from causalviz.ui.changing import backup, changing_place, take_up

FILES = 12
# Adds files as the app does, and is killed when some of them, not all, are stored.
KILLED = f"""
import os, signal, sys, threading
from functools import partial
from pathlib import Path
from fakes import WordEncoder
from causalviz.documents import DEFAULT_LIMITS
from causalviz.jobs import InThisProcess
from causalviz.knowledge_base import FileEntry, reports
from causalviz.ui.changing import change_file
from causalviz.ui.library import add_files
path, files = Path(sys.argv[1]), Path(sys.argv[2])
entries = [FileEntry(file.name, file) for file in sorted(files.iterdir())]
copies = []
def job_on(copy):
    copies.append(copy)
    return partial(add_files, copy, entries, DEFAULT_LIMITS)
def progress(*_):
    if 1 < len(reports(copies[0])) <= {FILES}:
        os.kill(os.getpid(), signal.SIGKILL)
change_file(path, job_on, InThisProcess(WordEncoder()), progress, threading.Event())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Index one document."""
    (tmp_path / "old.txt").write_text("what was there", encoding="utf-8")
    path = tmp_path / "bases" / "contracts.kb"
    path.parent.mkdir()
    index(path, [tmp_path / "old.txt"])
    return path


def index(path: Path, files: list[Path]) -> None:
    entries = [FileEntry(file.name, file) for file in files]
    update(path, entries, WordEncoder(), plain_tokenizer(), silent, keep_others=True)


def texts(path: Path) -> dict[str, str]:
    with Store.open(path) as store:
        return {id_: document.text for id_, document in store.documents(store.hashes()).items()}


def killed(path: Path, tmp_path: Path) -> dict[str, str]:
    """Let a change of it be killed; return what was to be added."""
    new = tmp_path / "new"
    new.mkdir()
    added = {f"{number:02}.txt": f"number {number} of the new ones " * 400 for number in range(FILES)}
    for name, text in added.items():
        (new / name).write_text(text, encoding="utf-8")
    run = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", KILLED, str(path), str(new)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    return added


def taken_up(folder: Path) -> list[str]:
    @contextmanager
    def changing(_name: str) -> Iterator[None]:
        yield

    return list(take_up(folder, InThisProcess(WordEncoder()), changing))


def test_what_a_killed_app_had_finished_is_kept_and_no_half_file(path: Path, tmp_path: Path) -> None:
    added = killed(path, tmp_path)
    assert texts(path) == {"old.txt": "what was there"}  # as long as nobody took it up
    assert taken_up(path.parent) == [
        "'contracts' was being changed when the app ended; what was finished is kept."
    ]
    found = texts(path)
    assert found.pop("old.txt") == "what was there"
    assert 1 <= len(found) < FILES
    assert found == {name: added[name].strip() for name in found}
    base = open_knowledge_base(path, WordEncoder(), silent)
    assert base.documents.ids == (*sorted(found), "old.txt")
    assert list(path.parent.iterdir()) == [path]
    assert taken_up(path.parent) == []


def left(path: Path, tmp_path: Path) -> None:
    """Leave behind a copy with one more document, made of a state of the file that is not there any more."""
    place = path.parent / ".changing-left"
    place.mkdir()
    (place / "lock").touch()
    (place / "original.json").write_text(json.dumps([path.name, [1, 2, 3]]), encoding="utf-8")
    backup(path, place / path.name)
    (tmp_path / "new.txt").write_text("what was added", encoding="utf-8")
    index(place / path.name, [tmp_path / "new.txt"])


def test_who_changed_it_since_loses_nothing(path: Path, tmp_path: Path) -> None:
    left(path, tmp_path)
    (tmp_path / "later.txt").write_text("by somebody else", encoding="utf-8")
    index(path, [tmp_path / "later.txt"])
    (said,) = taken_up(path.parent)
    assert said.endswith("what was finished is kept as 'contracts (2)', since 'contracts' was changed later.")
    assert texts(path).keys() == {"old.txt", "later.txt"}
    assert texts(path.with_name("contracts (2).kb")).keys() == {"old.txt", "new.txt"}


def test_one_that_was_deleted_since_comes_back(path: Path, tmp_path: Path) -> None:
    left(path, tmp_path)
    path.unlink()
    assert len(taken_up(path.parent)) == 1
    assert texts(path).keys() == {"old.txt", "new.txt"}


def test_what_is_being_changed_is_left_alone(path: Path) -> None:
    with changing_place(path.parent) as place:
        backup(path, place / path.name)
        assert taken_up(path.parent) == []
        assert (place / path.name).exists()
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "note", [None, "", "{", "[]", "null", '["contracts.kb", [1, 2, 3]]', '["absent.kb", null]']
)
def test_a_copy_that_was_not_whole_goes(path: Path, note: str | None) -> None:
    before = path.read_bytes()
    place = path.parent / ".changing-left"
    place.mkdir()
    (place / "lock").touch()
    (place / "contracts.kb").write_bytes(before[: len(before) // 2])
    if note is not None:
        (place / "original.json").write_text(note, encoding="utf-8")
    assert taken_up(path.parent) == []
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == before
