import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from causalviz.settings import ROOT
from causalviz.ui.places import delete_left

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
