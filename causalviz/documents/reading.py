"""Read files in worker processes: what a file does to its reader ends with that file.

Parsers are fed with files from strangers. In a process of its own a crash is the end of one file, an endless loop is
stopped by the clock, and memory has a bound. Workers are started as plain subprocesses: multiprocessing (and what
builds on it) would run the caller's main script once more in each, and is not to be had inside its own daemons.
"""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from causalviz.documents.awake_timer import AwakeTimer
from causalviz.documents.limits import DEFAULT_LIMITS, Limits
from causalviz.documents.readers import SUPPORTED_SUFFIXES
from causalviz.documents.readers.ocr import find_engine
from causalviz.documents.reading_worker import PIECE, READY, give, take
from causalviz.errors import BackendError
from causalviz.records import Document, Place

WORKERS = 2
_FILES_PER_WORKER = 200
"""Libraries leak; a worker that has read as many is replaced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileToRead:
    """What a worker is asked to read."""

    id: str
    content: Path | bytes
    """A file on disk, or the bytes of a member of an archive."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFile:
    """What became of a file."""

    id: str
    sha256: str
    """Of the bytes that were read; "" where there were none."""
    size: int
    """Bytes."""
    seconds: float
    document: Document | None
    """None when the file was refused. Its text is left empty: ``pieces`` hold it."""
    pieces: tuple[str, ...] = ()
    """The text in order, each piece but the last of a million characters."""
    reason: str | None = None
    """Why it was refused, None otherwise."""
    is_final: bool = True
    """Whether it would end the same way once more; a reader that was ended from outside says nothing of the file."""


class ReadingPool:
    """Up to WORKERS processes, each started by the first file that needs it. Use it as a context manager."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(WORKERS, "reading")
        self._own = threading.local()
        self._workers: list[_Worker] = []
        self._changing = threading.Lock()
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changing:
            self._ended = True
            for worker in self._workers:
                worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def read(self, files: Iterable[FileToRead | ReadFile]) -> Iterator[ReadFile]:
        """Read files, at most WORKERS ahead of the one that is given out, in the order they come.

        Args:
            files: Taken one by one, so that they need not all be in memory; what is read already is passed on.

        Raises:
            BackendError: no process can be started.
        """
        ahead: deque[Future[ReadFile] | ReadFile] = deque()
        for file in files:
            ahead.append(file if isinstance(file, ReadFile) else self._threads.submit(self._read, file))
            # Taken out before it is given out, so that nothing here holds on to it.
            while ahead and (len(ahead) > WORKERS or isinstance(ahead[0], ReadFile)):
                yield _result(ahead.popleft())
        while ahead:
            yield _result(ahead.popleft())

    def _read(self, file: FileToRead) -> ReadFile:
        start = time.perf_counter()
        worker = self._worker()
        try:
            return worker.read(file)
        except _EndedError as ended:
            return ReadFile(
                id=file.id,
                sha256="",
                size=0,
                seconds=time.perf_counter() - start,
                document=None,
                reason=str(ended),
                is_final=ended.is_late,
            )

    def _worker(self) -> "_Worker":
        """Worker of this thread."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        with self._changing:
            if self._ended:
                raise CancelledError
            if worker is not None and worker.is_worn:
                worker.kill()
                worker.close()
                self._workers.remove(worker)
                worker = None
            if worker is None:
                worker = self._own.worker = _Worker(self._limits)
                self._workers.append(worker)
        return worker


class _EndedError(Exception):
    """A worker ended while it read a file."""

    def __init__(self, reason: str, *, is_late: bool) -> None:
        super().__init__(reason)
        self.is_late = is_late


class _Worker:
    """One process. It reads a file at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files = 0
        # The worker finds the packages this process finds, however its path came about.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        self._process = subprocess.Popen(  # noqa: S603 - our own module under our own interpreter
            [sys.executable, "-P", "-m", "causalviz.documents.reading_worker", str(limits.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            process_group=0,  # what a reader starts (text recognition) is ended with it
        )
        try:
            self._ask_for_sign_of_life()
        except (OSError, EOFError) as error:
            code = self._process.wait()
            self.close()
            raise BackendError(
                f"the process in which files are read did not start (exit code {code}); install the packages of "
                "requirements.txt anew, and see that there is memory left."
            ) from error

    @property
    def is_worn(self) -> bool:
        """Whether it has ended, or read enough."""
        return self._process.poll() is not None or self._files >= _FILES_PER_WORKER

    def kill(self) -> None:
        """End it and what it started at once."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Close the pipes to it; call when no thread uses them any more."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what it was still to be told cannot be told
                if pipe is not None:
                    pipe.close()

    def read(self, file: FileToRead) -> ReadFile:
        """Let it read one file.

        Raises:
            _EndedError: it took too long, or crashed.
        """
        self._files += 1
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.kill()

        timer = AwakeTimer(self._limits.seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(file)
        except (OSError, EOFError, ValueError, KeyError) as error:  # it has ended, or talks nonsense
            self.kill()
            raise self._ended(self._process.returncode, late=late.is_set()) from error
        finally:
            timer.cancel()

    def _exchange(self, file: FileToRead) -> ReadFile:
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise EOFError
        give(requests, pickle.dumps((file.id, file.content, self._limits)))
        answer = json.loads(take(answers))
        if answer["worn"]:
            self._files = _FILES_PER_WORKER
        return ReadFile(
            id=file.id,
            sha256=answer["sha256"],
            size=answer["size"],
            seconds=answer["seconds"],
            document=answer["document"] and _document(file.id, answer["document"]),
            pieces=tuple(take(answers).decode("utf-8", "surrogatepass") for _ in range(answer["pieces"])),
            reason=answer["reason"],
        )

    def _ask_for_sign_of_life(self) -> None:
        if self._process.stdout is None or take(self._process.stdout) != READY:
            raise EOFError

    def _ended(self, code: int, *, late: bool) -> _EndedError:
        if late:
            return _EndedError(
                f"reading the file took more than {self._limits.seconds:g} seconds, the limit; split it, or save it "
                "anew in a simpler format.",
                is_late=True,
            )
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return _EndedError(
            f"the file's reader crashed ({how}), as on damaged files; save it anew in the program that made it, or as "
            "plain text.",
            is_late=False,
        )


def conditions(limits: Limits) -> str:
    """Name what decides, beside its bytes, whether a file is refused: one that was may be read under others."""
    engine = find_engine()
    return f"{limits} {' '.join(SUPPORTED_SUFFIXES)} {engine.name if engine else 'no OCR'}"


def cut(text: str) -> tuple[str, ...]:
    """Cut a text into pieces as ReadFile has them."""
    return tuple(text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _result(reading: Future[ReadFile] | ReadFile) -> ReadFile:
    return reading if isinstance(reading, ReadFile) else reading.result()


def _document(id_: str, described: dict[str, Any]) -> Document:
    return Document(
        id=id_,
        title=described["title"],
        text="",
        reader=described["reader"],
        encoding=described["encoding"],
        warnings=tuple(described["warnings"]),
        pages=described["pages"],
        places=tuple(Place(start=start, label=label) for start, label in described["places"]),
    )
