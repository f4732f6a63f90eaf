"""Indexing in a process of its own, so that questions go on being answered meanwhile.

In the process that answers, indexing would hold the encoder for seconds and compete for the processors as an equal.
Here it is a child of low priority with an encoder of its own (which costs that much more memory while it runs). It is
a plain subprocess: multiprocessing would run the caller's main script once more.

A run is stopped by ending the process, whatever it is at: a knowledge base keeps what was finished (knowledge_base/).
"""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Generic, Protocol, Self, TypeVar, cast

from causalviz.backends.segmentation import default_tokenizer
from causalviz.bootstrap import ENCODERS, make_encoder
from causalviz.errors import BackendError, CausalvizError, StoppedError
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base import open_knowledge_base
from causalviz.protocols import Encoder, Progress
from causalviz.settings import Settings

WAITING = "waiting for another indexing to end"
NICENESS = 5
"""Others come first, but it gets on beside them: a third of what each of them gets (docs/adr/0010)."""
_LOOK = 0.1
"""Seconds between two looks at whether to stop, and between two reports of progress."""
_LONGEST_PAUSE = 1.0
"""Seconds; who asks for longer shares the processors again."""
_START = "from causalviz.jobs import child; child()"

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Job(Protocol[Result_co]):
    """What is to be done; it can be pickled, as partial(update, path, source) can."""

    def __call__(self, encoder: Encoder, tokenizer: Tokenizer, progress: Progress, /) -> Result_co:
        """Do it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest:
    """What a job that was stopped at its work leaves to do."""

    job: Job[object]
    gone: threading.Event
    """Set when nobody wants that either."""


class Runner(Protocol):
    """Where jobs are done."""

    def run(
        self, job: Job[Result], progress: Progress, stop: threading.Event, rest: Rest | None = None
    ) -> Result | None:
        """Do a job.

        Args:
            job: What is to be done.
            progress: Told a few times a second, in the calling thread. It may raise: that ends the job too.
            stop: Set by whoever wants it to end now; what was finished is kept.
            rest: What is to be done if it was stopped at its work, before anybody else's turn.

        Returns:
            What the job returned; None if it was stopped.

        Raises:
            CausalvizError: the job raised it.
            BackendError: the process ended on its own.
        """
        ...


@dataclass(frozen=True, slots=True)
class InThisProcess:
    """Does jobs here, with an encoder that is at hand; a stop waits for the next report of progress."""

    encoder: Encoder

    def run(
        self, job: Job[Result], progress: Progress, stop: threading.Event, rest: Rest | None = None
    ) -> Result | None:
        """Do a job; see Runner."""

        def show(done: int, total: int, what: str) -> None:
            if stop.is_set():
                raise StoppedError("stopped; what was finished is kept.")
            progress(done, total, what)

        try:
            return job(self.encoder, default_tokenizer(), show)
        except StoppedError:
            if rest is not None and not rest.gone.is_set():
                self.run(rest.job, progress, rest.gone)
            return None


@dataclass(frozen=True, slots=True)
class ProcessOfItsOwn:
    """Does each job in a process of its own; of all in this process one is done at a time, in the order they came."""

    load: Callable[[], Encoder]
    """Loads the encoder there; it can be pickled."""

    def run(
        self, job: Job[Result], progress: Progress, stop: threading.Event, rest: Rest | None = None
    ) -> Result | None:
        """Do a job; see Runner."""
        with _LINE.turn(partial(progress, 0, 1, WAITING), stop) as is_ours:
            if not is_ours:
                return None
            with _Child(self.load, job) as child:
                result = child.follow(progress, stop)
            if result is None and stop.is_set() and rest is not None and not rest.gone.is_set():
                with _Child(self.load, rest.job) as child_of_the_rest:
                    child_of_the_rest.follow(progress, rest.gone)
            return result


def runner(encoder: str, settings: Settings | None = None) -> Runner:
    """Choose where a web app's jobs are done.

    Args:
        encoder: The name make_encoder knows it by.
        settings: As for make_encoder. They go to the process through a pipe: a key in them is written nowhere.
    """
    return ProcessOfItsOwn(ENCODERS.get(encoder) or partial(make_encoder, encoder, settings))


def finish(path: Path, encoder: Encoder, _tokenizer: Tokenizer, progress: Progress) -> None:
    """Make a knowledge base ready whose indexing was stopped, so that opening it takes no time: a job.

    Raises:
        KnowledgeBaseError: it cannot be opened.
    """
    open_knowledge_base(path, encoder, progress)


class Line:
    """Those who wait, first come, first served."""

    def __init__(self) -> None:
        self._waiting: deque[object] = deque()
        self._moved = threading.Condition()

    @contextlib.contextmanager
    def turn(self, tell: Callable[[], None], stop: threading.Event) -> Iterator[bool]:
        """Wait until it is one's turn, which lasts as long as the context: True; False if stopped before."""
        ticket = object()
        with self._moved:
            self._waiting.append(ticket)
        try:
            yield self._come_first(ticket, tell, stop)
        finally:
            with self._moved:
                self._waiting.remove(ticket)
                self._moved.notify_all()

    def _come_first(self, ticket: object, tell: Callable[[], None], stop: threading.Event) -> bool:
        told = False
        while not stop.is_set():
            with self._moved:
                if self._moved.wait_for(lambda: self._waiting[0] is ticket, timeout=_LOOK):
                    return True
            if not told:
                tell()
                told = True
        return False


_LINE = Line()


class _Pauses:
    """Stops the processes that index while something must be quick, and lets them go on; never for long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._inside = 0
        self._since: float | None = None
        self._until = 0.0
        self._alarm: threading.Timer | None = None

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Let indexing pause for as long as the context lasts."""
        with self._lock:
            self._inside += 1
            if self._since is None and time.monotonic() >= self._until:
                self._stop()
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._go_on()

    def add(self, group: int) -> None:
        """Take in a process group that has begun to index."""
        with self._lock:
            self._groups.add(group)

    def remove(self, group: int) -> None:
        """Forget a process group before it is waited for: its number may be given to another then."""
        with self._lock:
            self._groups.discard(group)
            if not self._groups:
                self._until = 0.0

    def _stop(self) -> None:
        self._since = time.monotonic()
        self._send("SIGSTOP")
        if self._groups:  # a question may wait for a server for minutes
            self._alarm = threading.Timer(_LONGEST_PAUSE, self._end, (self._since,))
            self._alarm.daemon = True
            self._alarm.start()

    def _end(self, since: float) -> None:
        with self._lock:
            if self._since == since:
                self._go_on()

    def _go_on(self) -> None:
        if self._since is None:
            return
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        now = time.monotonic()
        # It works at least as long as it paused, so that many questions do not keep it from its end.
        self._until = now + (now - self._since) if self._groups else 0.0
        self._since = None
        self._send("SIGCONT")

    def _send(self, name: str) -> None:
        for group in self._groups:
            _send(group, getattr(signal, name))


paused = _Pauses()


class _Child(Generic[Result]):
    """The process that does one job."""

    def __init__(self, load: Callable[[], Encoder], job: Job[Result]) -> None:
        # It finds the packages this process finds, however its path came about.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        self._process = subprocess.Popen(  # noqa: S603 - our own code under our own interpreter
            [sys.executable, "-P", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Of the same session, or Linux would share the processors out among sessions, whatever their priorities; of
            # a group of its own, to be ended together with the processes it starts, and not by Ctrl-C in the terminal.
            process_group=0 if os.name == "posix" else None,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        if os.name == "posix":
            paused.add(self._process.pid)
        self._said: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._listening = threading.Thread(target=self._listen, args=((load, job),), daemon=True)

    def __enter__(self) -> Self:
        self._listening.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._listening.join()
        with contextlib.suppress(OSError):  # what it was still to be told cannot be told
            self._requests.close()
        self._answers.close()

    def follow(self, progress: Progress, stop: threading.Event) -> Result | None:
        """Wait for the end, the job's own or a stop."""
        while not stop.is_set():
            try:
                kind, what = self._said.get(timeout=_LOOK)
            except queue.Empty:
                continue
            match kind:
                case "progress":
                    progress(*what)
                case "done":
                    return cast("Result", what)
                case "raised":
                    raise what
                case _:
                    raise BackendError(self._why_ended())
        return None

    def _listen(self, request: object) -> None:
        """Put what the process says into the queue, its end last."""
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            pickle.dump(request, self._requests)
            self._requests.flush()
            while True:
                self._said.put(pickle.load(self._answers))  # noqa: S301 - our own process
        self._said.put(("ended", None))

    def _kill(self) -> None:
        paused.remove(self._process.pid)
        if os.name == "posix":
            _send(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()

    def _why_ended(self) -> str:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        memory = ", as when memory runs out" if code == -getattr(signal, "SIGKILL", 0) else ""
        return (
            f"the process that indexes ended by itself ({how}{memory}); what was finished is kept: start it again, "
            "with fewer files at a time, and look into the app's log if that does not help."
        )


def _send(group: int, what: int) -> None:
    """Send a signal to a job's process group, and to those of the processes that read its files."""
    groups = [group]
    for children in Path(f"/proc/{group}/task").glob("*/children"):  # of each thread, as only Linux tells
        with contextlib.suppress(OSError):
            groups += map(int, children.read_text().split())
    for one in groups:
        with contextlib.suppress(ProcessLookupError):  # all of it have ended, or it is no group
            os.killpg(one, what)


def child() -> None:
    """Be the process: take a job from stdin, tell of it on stdout."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    if os.name == "posix":
        os.nice(NICENESS)
    load, job = pickle.load(requests)  # noqa: S301 - from the process that started this one
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    told = 0.0

    def say(kind: str, what: object) -> None:
        pickle.dump((kind, what), answers)
        answers.flush()

    def show(*progress: object) -> None:
        nonlocal told
        if time.monotonic() - told > _LOOK:
            told = time.monotonic()
            say("progress", progress)

    show(0, 1, "loading the encoder")
    try:
        say("done", job(load(), default_tokenizer(), show))
    except CausalvizError as error:
        say("raised", error)


def _end_with_the_caller() -> None:
    """End, with all that was started from here, when the process that asked does: that closes its end of the pipe."""
    while os.read(0, 1):
        pass
    if os.name == "posix":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
