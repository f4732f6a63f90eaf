"""Indexing in a process of its own: the same result, progress, errors, stops, and an end with whoever asked for it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NoReturn

import psutil
import pytest
from fakes import WordEncoder, silent

from causalviz.documents.reading import FileToRead, ReadingPool
from causalviz.errors import BackendError, KnowledgeBaseError, MissingBackendError, StoppedError
from causalviz.jobs import (
    NICENESS,
    WAITING,
    InThisProcess,
    Line,
    ProcessOfItsOwn,
    Rest,
    finish,
    paused,
    runner,
)
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base import FileEntry, open_knowledge_base, update
from causalviz.knowledge_base.store import Store
from causalviz.protocols import Encoder, Progress
from causalviz.ui.library import Upload

CHILD = ProcessOfItsOwn(WordEncoder)
SECONDS = 60
"""Until something that should have happened counts as never happening."""


def sources(folder: Path, count: int = 3, words: int = 20) -> list[FileEntry]:
    entries = []
    for number in range(count):
        file = folder / f"{number}.txt"
        file.write_text(" ".join(f"word{number}x{i}" for i in range(words)), encoding="utf-8")
        entries.append(FileEntry(file.name, file))
    return entries


def about_itself(_encoder: Encoder, _tokenizer: Tokenizer, progress: Progress) -> tuple[int, int, int]:
    """Tell more than can be passed on, print, and describe the process."""
    for step in range(20_000):
        progress(step, 20_000, "steps")
    os.write(1, b"a library speaks")
    return os.getpid(), os.getsid(0), os.nice(0)


def sleep_beside_a_helper(note: Path, *_: object) -> None:
    """Start a process, note both, and never end."""
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    note.with_suffix(".new").write_text(f"{os.getpid()} {helper.pid}", encoding="utf-8")
    note.with_suffix(".new").rename(note)
    time.sleep(600)


def sleep_while_a_file_is_read(note: Path, *_: object) -> None:
    """Note this process and the one that reads a file of it, and never end."""
    with ReadingPool() as pool:
        for _file in pool.read([FileToRead(id="a.txt", content=b"late interaction")]):
            (reader,) = psutil.Process().children()
            note.with_suffix(".new").write_text(f"{os.getpid()} {reader.pid}", encoding="utf-8")
            note.with_suffix(".new").rename(note)
            time.sleep(600)


def end_by(code: int, *_: object) -> NoReturn:
    os.kill(os.getpid(), code)
    raise AssertionError


def fail(*_: object) -> NoReturn:
    raise ZeroDivisionError


def no_weights() -> NoReturn:
    raise MissingBackendError("encoder 'x' needs the package y; install it, or choose another encoder.")


def noted(note: Path) -> list[psutil.Process]:
    """Wait for the note of a job that never ends."""
    end = time.monotonic() + SECONDS
    while not note.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    return [psutil.Process(int(number)) for number in note.read_text(encoding="utf-8").split()]


def assert_ended(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=SECONDS)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


def test_a_job_gives_what_it_gives_in_this_process(tmp_path: Path, stop: threading.Event) -> None:
    entries = sources(tmp_path)
    here = InThisProcess(WordEncoder()).run(partial(update, tmp_path / "here.kb", entries), silent, stop)
    there = CHILD.run(partial(update, tmp_path / "there.kb", entries), silent, stop)
    assert here is not None
    assert there is not None
    assert [(file.file, file.status, file.chunks) for file in there.files] == [
        (file.file, file.status, file.chunks) for file in here.files
    ]
    opened = [open_knowledge_base(tmp_path / name, WordEncoder(), silent) for name in ("here.kb", "there.kb")]
    assert opened[0].fingerprint == opened[1].fingerprint
    assert (opened[0].documents.vectors == opened[1].documents.vectors).all()


def test_a_job_has_low_priority_in_the_same_session_and_tells_how_far_it_is_now_and_then(
    stop: threading.Event,
) -> None:
    told: list[tuple[int, int, str]] = []
    threads = set()

    def note(*progress: object) -> None:
        told.append(progress)  # type: ignore[arg-type]
        threads.add(threading.get_ident())

    found = CHILD.run(about_itself, note, stop)
    assert found is not None
    process, session, niceness = found
    assert process != os.getpid()
    # Linux shares processors out among sessions first: in another one, a low priority would be none.
    assert session == os.getsid(0)
    assert niceness == min(os.nice(0) + NICENESS, 19)
    assert told[0] == (0, 1, "loading the encoder")
    assert len(told) < 1000
    assert threads == {threading.get_ident()}


def test_a_named_error_comes_back_as_itself(tmp_path: Path, stop: threading.Event) -> None:
    path = tmp_path / "other.kb"
    Store.create(path, "another").__exit__()
    with pytest.raises(KnowledgeBaseError, match="holds vectors of encoder 'another'"):
        CHILD.run(partial(update, path, sources(tmp_path)), silent, stop)
    with pytest.raises(MissingBackendError, match="needs the package y"):
        ProcessOfItsOwn(no_weights).run(about_itself, silent, stop)


@pytest.mark.parametrize(
    ("job", "how"),
    [
        (
            partial(end_by, signal.SIGKILL),
            r"by itself \(signal 9, as when memory runs out\); what was finished is kept",
        ),
        (fail, r"\(exit code 1\)"),
    ],
)
def test_a_process_that_breaks_is_one_sentence(
    job: partial[NoReturn], how: str, stop: threading.Event
) -> None:
    with pytest.raises(BackendError, match=how):
        CHILD.run(job, silent, stop)


def test_a_stop_ends_the_process_and_what_it_started_and_lets_the_next_begin(
    tmp_path: Path, stop: threading.Event
) -> None:
    note = tmp_path / "note"
    waiting = threading.Event()

    def tell(_done: int, _total: int, what: str) -> None:
        if what == WAITING:
            waiting.set()

    with ThreadPoolExecutor() as pool:
        first = pool.submit(CHILD.run, partial(sleep_beside_a_helper, note), silent, stop)
        processes = noted(note)
        given_up = threading.Event()
        second = pool.submit(CHILD.run, partial(end_by, signal.SIGKILL), tell, given_up)
        third = pool.submit(CHILD.run, about_itself, silent, threading.Event())
        assert waiting.wait(SECONDS)
        given_up.set()
        assert second.result(SECONDS) is None  # it never began, or it would be an error
        assert not third.done()
        stop.set()
        assert first.result(SECONDS) is None
        assert third.result(SECONDS) is not None
    assert_ended(processes)


def test_those_who_wait_take_turns_in_the_order_they_came() -> None:
    line, order = Line(), []
    waiting = [threading.Event() for _ in range(3)]

    def come(number: int) -> None:
        with line.turn(waiting[number].set, threading.Event()) as is_ours:
            assert is_ours
            order.append(number)

    with ThreadPoolExecutor() as pool:
        with line.turn(silent, threading.Event()):
            coming = []
            for number in range(3):
                coming.append(pool.submit(come, number))
                assert waiting[number].wait(SECONDS)
            assert order == []
        for one in coming:
            one.result(SECONDS)
    assert order == [0, 1, 2]


def test_progress_that_raises_ends_the_process(tmp_path: Path, stop: threading.Event) -> None:
    note = tmp_path / "note"

    def enough(*_: object) -> None:
        raise StoppedError("enough.")

    with pytest.raises(StoppedError, match="enough"):
        CHILD.run(partial(sleep_beside_a_helper, note), enough, stop)


def test_what_a_stopped_run_had_finished_is_kept_and_opens_without_encoding(
    tmp_path: Path, stop: threading.Event
) -> None:
    path, entries = tmp_path / "some.kb", sources(tmp_path, count=60, words=1_500)

    def stop_soon(_done: int, _total: int, what: str) -> None:
        if what.endswith(".txt") and what not in {"0.txt", "1.txt"}:
            stop.set()

    rest = Rest(job=partial(finish, path), gone=threading.Event())
    assert CHILD.run(partial(update, path, entries), stop_soon, stop, rest) is None
    encoder = WordEncoder()
    opened = open_knowledge_base(path, encoder, silent)
    assert encoder.texts == []
    with Store.open(path) as store:
        assert set(store.hashes()) == set(opened.documents.ids)
    assert len(opened.documents.ids) < 60


def test_a_session_that_ends_ends_its_process_and_takes_its_files(tmp_path: Path) -> None:
    note, upload = tmp_path / "note", Upload()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(
            upload.change, lambda _: partial(sleep_beside_a_helper, note), WordEncoder(), CHILD, silent
        )
        processes = noted(note)
        path = upload.path
        assert path is not None
        upload.discard()
        assert running.result(SECONDS) is None
    assert not path.parent.exists()
    assert_ended(processes)
    with pytest.raises(KnowledgeBaseError, match="the page was closed"):
        upload.change(lambda _: about_itself, WordEncoder(), CHILD, silent)


def wait_for(processes: list[psutil.Process], *, stopped: bool) -> None:
    end = time.monotonic() + SECONDS
    while [process.status() == psutil.STATUS_STOPPED for process in processes] != [stopped] * len(processes):
        assert time.monotonic() < end
        time.sleep(0.005)


NAMED = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the system does not tell which they are"
)


@pytest.fixture(params=[sleep_beside_a_helper, pytest.param(sleep_while_a_file_is_read, marks=NAMED)])
def working(
    tmp_path: Path, stop: threading.Event, request: pytest.FixtureRequest
) -> Iterator[list[psutil.Process]]:
    """Have a job done which never ends; gives its processes."""
    note = tmp_path / "note"
    with ThreadPoolExecutor() as pool:
        pool.submit(CHILD.run, partial(request.param, note), silent, stop)
        yield noted(note)
        stop.set()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere there is no such signal")
def test_a_job_pauses_while_anybody_asks_and_can_be_ended_then(
    working: list[psutil.Process], stop: threading.Event
) -> None:
    with paused():
        with paused():
            wait_for(working, stopped=True)
        wait_for(working, stopped=True)
    wait_for(working, stopped=False)
    time.sleep(1)  # it must have worked for as long as it paused
    with paused():
        wait_for(working, stopped=True)
        stop.set()
        assert_ended(working)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere there is no such signal")
def test_a_job_pauses_never_for_long(working: list[psutil.Process], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causalviz.jobs._LONGEST_PAUSE", 0.5)
    with paused():
        wait_for(working, stopped=True)
        wait_for(working, stopped=False)  # the question is not answered yet
        with paused():  # another one
            wait_for(working, stopped=False)
    with paused():  # at once again: now it works for as long as it paused
        time.sleep(0.1)
        wait_for(working, stopped=False)


PAUSING = """
def pause():
    processes = noted(note)
    with paused():
        wait_for(processes, stopped=True)
        note.with_suffix(".paused").touch()
        time.sleep(600)
threading.Thread(target=pause, daemon=True).start()
"""


@pytest.fixture(params=["", PAUSING], ids=["at work", "paused"])
def asking_process(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that has a job done which never ends."""
    code = f"""
import threading, time
from functools import partial
from pathlib import Path
from causalviz import jobs
from test_jobs import CHILD, noted, paused, sleep_beside_a_helper, wait_for
jobs._LONGEST_PAUSE = 600
note = Path({str(tmp_path / "note")!r})
{request.param}
CHILD.run(partial(sleep_beside_a_helper, note), print, threading.Event())
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", code], env=environment, stdout=subprocess.DEVNULL
    ) as process:
        yield process
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere there is no such signal")
def test_no_process_outlives_the_one_that_asked(
    asking_process: "subprocess.Popen[bytes]", tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    processes = noted(tmp_path / "note")
    if request.node.callspec.id == "paused":
        end = time.monotonic() + SECONDS
        while not (tmp_path / "note.paused").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
    asking_process.send_signal(signal.SIGKILL)
    asking_process.wait(SECONDS)
    assert_ended(processes)


def test_an_encoder_is_loaded_by_its_name(stop: threading.Event) -> None:
    assert runner("e5-small").run(name_of, silent, stop) == "e5-small"


def name_of(encoder: Encoder, *_: object) -> str:
    return encoder.name
