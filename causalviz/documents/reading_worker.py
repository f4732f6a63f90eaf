"""The process in which files are read: requests on stdin, answers on stdout. reading.py starts it.

A request is pickled, for it comes from the process that started this one. An answer is JSON and plain text: whoever
takes over a reader through a hostile file must not get further than this process.
"""

import hashlib
import json
import os
import pickle
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from causalviz.documents.limits import Limits
from causalviz.documents.readers import read_document
from causalviz.errors import UnreadableFileError
from causalviz.records import Document

HEADER = struct.Struct("!Q")
"""Goes before each message: its length in bytes."""
PIECE = 1_000_000
"""Characters of a piece of a long text."""
READY = b"ready"
"""What a worker says once it has started."""
_LOOK = 0.2
"""Seconds between two looks at whether the parent is still there."""


def take(pipe: IO[bytes]) -> bytes:
    """Read one message.

    Raises:
        EOFError: the other side has ended.
    """
    header = pipe.read(HEADER.size)
    if len(header) < HEADER.size:
        raise EOFError
    (length,) = HEADER.unpack(header)
    message = pipe.read(length)
    if len(message) < length:
        raise EOFError
    return message


def give(pipe: IO[bytes], message: bytes) -> None:
    """Send one message."""
    pipe.write(HEADER.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def main() -> None:
    """Answer requests until the parent ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _bound_memory(int(sys.argv[1]))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    give(answers, READY)
    while True:
        try:
            id_, content, limits = pickle.loads(take(requests))  # noqa: S301 - from the process that started this one
        except EOFError:
            return
        answer, text = _answer(id_, content, limits)
        give(answers, json.dumps(answer | {"pieces": -(-len(text) // PIECE)}).encode())
        for start in range(0, len(text), PIECE):
            give(answers, text[start : start + PIECE].encode("utf-8", "surrogatepass"))
        del text


def _answer(id_: str, content: Path | bytes, limits: Limits) -> tuple[dict[str, Any], str]:
    start = time.perf_counter()
    answer: dict[str, Any] = {"sha256": "", "size": 0, "document": None, "reason": None, "worn": False}
    text = ""
    try:
        data = [content if isinstance(content, bytes) else content.read_bytes()]
        answer |= {"sha256": hashlib.sha256(data[0]).hexdigest(), "size": len(data[0])}
        document = read_document(
            id_, data.pop(), limits=limits
        )  # popped: the bytes can go once they are decoded
        text = document.text
        answer["document"] = _described(document)
    except OSError as error:
        answer["reason"] = (
            f"the file cannot be opened ({error.strerror}); check that it still exists and may be read."
        )
    except (UnreadableFileError, MemoryError) as error:
        if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
            answer["worn"] = True
            answer["reason"] = (
                f"reading the file took more than {limits.memory_bytes / 1e6:,g} MB of memory, the limit; split it, "
                "or save it anew in a simpler format."
            )
        else:
            answer["reason"] = str(error)
    return answer | {"seconds": time.perf_counter() - start}, text


def _described(document: Document) -> dict[str, Any]:
    return {
        "title": document.title,
        "reader": document.reader,
        "encoding": document.encoding,
        "warnings": document.warnings,
        "pages": document.pages,
        "places": [(place.start, place.label) for place in document.places],
    }


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)  # with what a reader has started
    os._exit(1)


def _bound_memory(size: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (ImportError, ValueError, OSError):
        pass  # Windows has no such bound, and a system may forbid to set it: then there is none


if __name__ == "__main__":
    main()
