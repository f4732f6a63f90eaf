"""Files are read in processes of their own, which may end without taking anything with them."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents.builders import endless_pdf, word
from docx.document import Document as WordDocument

from causalviz.documents import read_document
from causalviz.documents.limits import limits_of
from causalviz.documents.reading import FileToRead, ReadFile, ReadingPool, cut
from causalviz.errors import BackendError

needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="children are found through /proc")


def fill(document: WordDocument) -> None:
    document.add_heading("Late interaction")
    document.add_paragraph("Each token keeps its own vector.")


FILES = {
    "one.txt": "late interaction".encode("utf-16"),
    "two.docx": word(fill),
    "three.bin": b"\0\1\2",
    "four.md": "# 数据出境\n\n安全评估办法".encode("gb18030"),
    "five.txt": b"",
}


def workers() -> list[int]:
    """Process ids of the workers of this process that are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            status, command = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
        except (OSError, UnicodeDecodeError):
            continue
        state, parent = status.rpartition(")")[2].split()[:2]
        if b"reading_worker" in command and int(parent) == os.getpid() and state != "Z":
            found.append(int(entry.name))
    return found


def test_workers_give_in_order_what_readers_give_here(tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    with ReadingPool() as pool:
        from_disk = list(pool.read(FileToRead(id=name, content=tmp_path / name) for name in FILES))
        from_memory = list(pool.read(FileToRead(id=name, content=data) for name, data in FILES.items()))
    for read in (from_disk, from_memory):
        assert [file.id for file in read] == list(FILES)
        assert [file.size for file in read] == [len(data) for data in FILES.values()]
    for file in from_disk:
        if file.document is None:
            assert file.id in {"three.bin", "five.txt"}
            assert file.reason
        else:
            expected = read_document(file.id, FILES[file.id])
            assert "".join(file.pieces) == expected.text
            for name in ("id", "title", "reader", "encoding", "warnings", "pages", "places"):
                assert getattr(file.document, name) == getattr(expected, name)


def test_a_long_text_comes_in_pieces(tmp_path: Path) -> None:
    text = "数据 出境 安全🙂 " * 250_000
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    with ReadingPool() as pool:
        (read,) = pool.read([FileToRead(id="long.txt", content=tmp_path / "long.txt")])
    assert "".join(read.pieces) == text.strip()
    assert [len(piece) for piece in read.pieces[:-1]] == [1_000_000, 1_000_000]
    assert read.pieces == cut(text.strip())


@needs_proc
def test_nothing_to_read_starts_no_process_and_what_is_read_already_is_passed_on() -> None:
    done = ReadFile(id="r", sha256="", size=1, seconds=0, document=None, reason="it is a test")
    with ReadingPool() as pool:
        assert list(pool.read([])) == []
        assert list(pool.read([done, done])) == [done, done]
        assert workers() == []


def test_files_are_taken_two_ahead_and_no_further() -> None:
    taken = []

    def files() -> Iterator[FileToRead]:
        for number in range(9):
            taken.append(number)
            yield FileToRead(id=f"{number}.txt", content=b"late interaction")

    with ReadingPool() as pool:
        for given, file in enumerate(pool.read(files()), start=1):
            assert file.document is not None
            assert len(taken) <= given + 2


def test_a_file_that_takes_too_long_is_ended_and_the_others_are_read() -> None:
    limits = limits_of({"seconds": 1.5})
    files = {"a.txt": b"late interaction", "endless.pdf": endless_pdf(), "z.txt": b"token vectors"}
    with ReadingPool(limits) as pool:
        first, endless, last = pool.read(FileToRead(id=name, content=data) for name, data in files.items())
    assert (first.pieces, last.pieces) == (("late interaction",), ("token vectors",))
    assert endless.reason is not None
    assert "took more than 1.5 seconds, the limit" in endless.reason
    assert endless.is_final


def kill_when_busy() -> None:
    """Kill the first worker that has computed for half a second: it has started, and reads."""
    while True:
        for process in workers():
            spent = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[11]
            if int(spent) > os.sysconf("SC_CLK_TCK") / 2:
                os.kill(process, signal.SIGKILL)
                return
        time.sleep(0.05)


@needs_proc
def test_a_reader_that_is_killed_ends_its_file_alone() -> None:
    with ReadingPool() as pool:
        killer = threading.Thread(target=kill_when_busy)
        killer.start()
        (victim,) = pool.read([FileToRead(id="endless.pdf", content=endless_pdf())])
        killer.join()
        (next_one,) = pool.read([FileToRead(id="a.txt", content=b"late tokens")])
        assert len(workers()) == 1
    assert victim.reason is not None
    assert "the file's reader crashed (signal 9)" in victim.reason
    assert not victim.is_final
    assert next_one.pieces == ("late tokens",)
    assert workers() == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not bound memory")
def test_a_file_that_needs_too_much_memory_is_refused_and_the_next_is_read() -> None:
    limits = limits_of({"memory_bytes": 250_000_000})
    large = ("🙂 smile " * 3_000_000).encode()  # 24 million characters of four bytes each
    with ReadingPool(limits) as pool:
        first, last = pool.read(
            [FileToRead(id="large.txt", content=large), FileToRead(id="a.txt", content=b"late tokens")]
        )
    assert first.reason is not None
    assert "more than 250 MB of memory, the limit" in first.reason
    assert last.pieces == ("late tokens",)


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    with ReadingPool() as pool:
        (read,) = pool.read([FileToRead(id="gone.txt", content=tmp_path / "gone.txt")])
    assert read.reason is not None
    assert "cannot be opened (No such file or directory)" in read.reason


def test_a_process_that_does_not_start_is_not_the_fault_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with ReadingPool() as pool, pytest.raises(BackendError, match=r"did not start \(exit code 1\)"):
        list(pool.read([FileToRead(id="a.txt", content=b"late tokens")]))
