"""Change a knowledge base while it is asked: in a copy that takes its place, even when the app is killed meanwhile."""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

from causalviz.errors import CausalvizError, KnowledgeBaseError
from causalviz.jobs import Job, Rest, Runner, finish
from causalviz.knowledge_base.store import Store, named_errors
from causalviz.protocols import Progress
from causalviz.ui.places import left, workplace

_PREFIX = ".changing-"
_ORIGINAL = "original.json"

T = TypeVar("T")


def change_file(  # noqa: PLR0913 - where, what, by whom, and three ways to speak with it
    path: Path,
    job_on: Callable[[Path], Job[T]],
    runner: Runner,
    progress: Progress,
    stop: threading.Event,
    *,
    gone: threading.Event | None = None,
) -> T | None:
    """Change a copy of a knowledge base and put it in its place: who asks meanwhile sees the one before.

    Args:
        path: The file.
        job_on: Makes the job for the copy.
        runner: Does it.
        progress: Told how far it is.
        stop: Ends it; what was finished is kept.
        gone: Set, together with ``stop``, when nothing of it is wanted any more.

    Returns:
        What the job gave; None if it was stopped.

    Raises:
        CausalvizError: the job failed; then nothing is changed.
    """
    gone = gone or threading.Event()
    with changing_place(path.parent) as place:
        copy = place / path.name
        backup(path, copy)
        (place / _ORIGINAL).write_text(json.dumps([path.name, _stamp(path)]), encoding="utf-8")
        # One that was stopped is made ready to be asked before it takes the other's place.
        rest = Rest(job=partial(finish, copy), gone=gone)
        result = runner.run(job_on(copy), progress, stop, rest)
        if not gone.is_set():
            copy.replace(path)
    return result


def take_up(
    folder: Path, runner: Runner, changing: Callable[[str], contextlib.AbstractContextManager[None]]
) -> Iterator[str]:
    """Put in its place what killed apps had finished of their changes, as if they had been stopped.

    Args:
        folder: Where knowledge bases lie.
        runner: Makes them ready to be asked.
        changing: Lets nobody else change the knowledge base of that name meanwhile.

    Yields:
        A sentence for each.
    """
    for place in left(folder, _PREFIX):
        yield from _take_up(place, folder, runner, changing)


def _take_up(
    place: Path,
    folder: Path,
    runner: Runner,
    changing: Callable[[str], contextlib.AbstractContextManager[None]],
) -> Iterator[str]:
    try:
        file, stamp = json.loads((place / _ORIGINAL).read_text(encoding="utf-8"))
        # What was half written is undone when it is opened.
        with Store.open(place / file):
            pass
    except (OSError, ValueError, TypeError, KnowledgeBaseError):
        return  # the copy was not whole yet
    name = Path(file).stem
    with changing(name):
        # What another encoder made is found out when it is asked.
        with contextlib.suppress(CausalvizError):
            runner.run(partial(finish, place / file), lambda *_: None, threading.Event())
        path = folder / file
        if _stamp(path) != stamp:
            path = folder / free_name(file, {other.name for other in folder.iterdir()})
        (place / file).replace(path)
    yield (
        f"'{name}' was being changed when the app ended; what was finished is kept"
        + (f" as '{path.stem}', since '{name}' was changed later." if path.stem != name else ".")
    )


def changing_place(folder: Path) -> contextlib.AbstractContextManager[Path]:
    """Make a hidden folder beside knowledge bases for one that is to take its place there."""
    return workplace(folder, _PREFIX)


def backup(path: Path, target: Path) -> None:
    """Copy a knowledge base as it is at this moment, even while it is being changed.

    Raises:
        KnowledgeBaseError: it cannot be read, or there is no room.
    """
    with named_errors(path), closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy)


def _stamp(path: Path) -> list[int] | None:
    """Tell a state of a file from others."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_ino, found.st_size]


def free_name(name: str, taken: Collection[str]) -> str:
    """Number a name that is taken, before its suffix."""
    path, number = PurePosixPath(name), 2
    free = name
    while free in taken:
        free = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
        number += 1
    return free
