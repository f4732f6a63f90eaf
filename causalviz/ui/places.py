"""Folders that belong to an app as long as it lives, and how the next one knows what a killed one left."""

import atexit
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from causalviz.errors import CausalvizError

_PREFIX = "causalviz-app-"
_LOCK = "lock"
_ATTEMPTS = 10


@contextmanager
def workplace(folder: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in another one, locked as long as this process lives, and delete it at the end."""
    place, lock = _made(folder, prefix)
    with closing(lock):
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def left(folder: Path, prefix: str) -> Iterator[Path]:
    """Give the workplaces whose process is gone; each is deleted when the next is asked for."""
    for place in sorted(folder.glob(f"{prefix}*")):
        with _unless_at_work(place) as is_left:
            if is_left:
                yield place
                shutil.rmtree(place, ignore_errors=True)


@cache
def temporary() -> Path:
    """Give the folder for the files of this app's sessions: open to no other user, deleted when the app ends."""
    place, lock = _made(Path(tempfile.gettempdir()), _PREFIX)

    def delete() -> None:
        shutil.rmtree(place, ignore_errors=True)
        lock.close()

    atexit.register(delete)
    return place


def delete_left() -> None:
    """Delete the files of sessions whose app was killed."""
    for _ in left(Path(tempfile.gettempdir()), _PREFIX):
        pass


def _made(folder: Path, prefix: str) -> tuple[Path, sqlite3.Connection]:
    """Make a folder, locked until the connection is closed or the process is gone."""
    for _ in range(_ATTEMPTS):
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        lock = sqlite3.connect(place / _LOCK, check_same_thread=False)
        # Before it is locked another start may take it for one that was left, and delete it.
        with suppress(sqlite3.Error):
            lock.execute("BEGIN EXCLUSIVE")
            if (place / _LOCK).exists():
                return place, lock
        lock.close()
        shutil.rmtree(place, ignore_errors=True)
    raise CausalvizError(
        "files cannot be locked where knowledge bases or temporary files are kept, as on some network drives; let "
        "CAUSALVIZ_HOME and TMPDIR name folders on a local disk."
    )


@contextmanager
def _unless_at_work(place: Path) -> Iterator[bool]:
    """Tell whether the process that made a workplace is gone, and take its lock."""
    if not _is_ours(place) or not (place / _LOCK).is_file():
        yield False  # another user's, or it is being made at this moment
        return
    with ExitStack() as held:
        try:
            lock = held.enter_context(closing(sqlite3.connect(place / _LOCK, timeout=0)))
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:  # it is locked, or another start has just deleted it
            is_left = False
        else:
            is_left = True
        yield is_left


def _is_ours(place: Path) -> bool:
    """Tell whether this user made it: in a folder for all, others may lay traps under its name."""
    try:
        return os.name != "posix" or place.lstat().st_uid == os.getuid()
    except OSError:  # it has been deleted
        return False
