import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from causalviz.errors import CausalvizError
from causalviz.settings import ROOT
from causalviz.ui.places import delete_left, workplace

APP = """
import sys
from causalviz.ui.places import temporary
(temporary() / "upload.txt").write_text("of a session")
print(temporary(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be where temporary files go, in this process and those it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def app() -> tuple["subprocess.Popen[str]", Path]:
    """Start a process that has files of a session."""
    started = subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", APP], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout
    return started, Path(started.stdout.readline().strip())


def test_files_of_a_killed_app_go_with_the_next_and_those_of_a_living_one_stay(folder: Path) -> None:
    (killed, its_place), (living, own_place) = app(), app()
    assert its_place.parent == own_place.parent == folder
    assert own_place.stat().st_mode & 0o077 == 0
    delete_left()
    assert (its_place / "upload.txt").exists()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    delete_left()
    assert not its_place.exists()
    assert (own_place / "upload.txt").read_text() == "of a session"
    living.communicate("")  # it ends by itself
    assert list(folder.iterdir()) == []


def test_what_is_no_place_of_ours_is_left_alone(folder: Path) -> None:
    (folder / "causalviz-app-being-made").mkdir()
    (folder / "causalviz-app-file").write_text("a file")
    target = folder / "elsewhere"
    target.mkdir()
    (target / "lock").touch()
    (target / "kept.txt").write_text("kept")
    (folder / "causalviz-app-link").symlink_to(target)
    delete_left()
    assert (folder / "causalviz-app-being-made").exists()
    assert (folder / "causalviz-app-file").exists()
    assert (target / "kept.txt").exists()


def test_a_folder_that_another_start_deletes_before_it_is_locked_is_made_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, deleted = sqlite3.connect, list[Path]()

    def connect_late(path: Path, **options: Any) -> sqlite3.Connection:  # noqa: ANN401 - those of connect
        made: sqlite3.Connection = connect(path, **options)
        if not deleted:
            deleted.append(path.parent)
            delete_left()
        return made

    monkeypatch.setattr(sqlite3, "connect", connect_late)
    with workplace(folder, "causalviz-app-") as place:
        assert not deleted[0].exists()
        delete_left()
        assert place.is_dir()
    assert list(folder.iterdir()) == []


def test_where_nothing_can_be_locked_it_is_said_and_nothing_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(_path: Path, **_: object) -> sqlite3.Connection:
        closed = sqlite3.Connection(":memory:")
        closed.close()  # everything asked of it fails, as on a drive without locks
        return closed

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(CausalvizError, match="cannot be locked"), workplace(folder, "causalviz-app-"):
        pass
    assert list(folder.iterdir()) == []
