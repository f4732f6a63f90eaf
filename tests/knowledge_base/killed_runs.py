"""Index a folder again and again, each time killed at a random moment. test_crash.py runs it and judges the result.

One process imports everything once; each run is a fork of it, so that twenty take seconds.
"""

import json
import os
import random
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from fakes import WordEncoder, plain_tokenizer, silent

from causalviz.documents.chunking import windows
from causalviz.documents.language import language_of
from causalviz.knowledge_base import folder_source, open_knowledge_base, update
from causalviz.knowledge_base.store import Store

RUNS = 20
GONE = 30.0
"""Seconds within which the processes of a killed run must have ended."""


def write(folder: Path, run: int) -> dict[str, str]:
    """Change every file; return what is to be read of each."""
    texts = {f"short{n}.txt": f"run {run} file {n} late interaction" for n in range(10)}
    texts |= {f"long{n}.txt": f"run{run} word{n} token vectors\n" * 1500 for n in range(2)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    inside = {f"in{n}.txt": f"run {run} archived {n}" for n in range(5)}
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        for name, text in inside.items():
            archive.writestr(name, text)
    return texts | {f"z.zip/{name}": text for name, text in inside.items()}


def index(folder: Path, path: Path) -> None:
    """Index until the end."""
    update(path, folder_source(folder), WordEncoder(), plain_tokenizer(), silent)


def fork(run: Callable[[], object], seconds: float | None) -> int:
    """Run something in a child and kill it after some seconds; return how it ended."""
    child = os.fork()
    if child == 0:
        run()
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def faults(path: Path, versions: dict[str, set[str]]) -> list[str]:
    """Say what is wrong with a knowledge base of texts that were written in one run or another."""
    if not path.exists():
        return []
    found = []
    with Store.open(path) as store:
        documents = store.documents(store.hashes())
        for id_, document in documents.items():
            if document.text not in versions[id_]:
                found.append(f"{id_} holds a text that was never there")
            if list(store.chunk_ranges(id_).values()) != list(windows(len(document.text))):
                found.append(f"{id_} has not all its chunks")
    base = open_knowledge_base(path, WordEncoder(), silent)
    if base.documents.ids != tuple(sorted(documents)):
        found.append("it opens with other documents than it holds")
    return found


def workers(mark: str) -> list[str]:
    """Commands of living processes that were started with a mark in their environment, but this one."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def main() -> None:
    """Print what happened as JSON."""
    place, mark, chance = Path(sys.argv[1]), os.environ["KILLED_RUNS"], random.Random(1)  # noqa: S311 - reproducible
    folder, path = place / "docs", place / "kb" / "a.kb"
    folder.mkdir()
    path.parent.mkdir()
    versions: dict[str, set[str]] = {}
    wrong, killed, stored = [], 0, []
    language_of("Everything is loaded once, here, and not in every run again.")
    write(folder, -1)
    start = time.monotonic()
    fork(lambda: index(folder, path), None)
    whole = time.monotonic() - start
    path.unlink()
    for run in range(RUNS):
        for id_, text in write(folder, run).items():
            versions.setdefault(id_, set()).add(text.strip())
        killed += os.WIFSIGNALED(fork(lambda: index(folder, path), chance.uniform(0, whole)))
        wrong += [f"run {run}: {fault}" for fault in faults(path, versions)]
        if path.exists():
            with Store.open(path) as store:
                newest = store.documents(store.hashes()).values()
                stored.append(sum(f"run {run} " in d.text or f"run{run} " in d.text for d in newest))
    end = time.monotonic() + GONE
    while workers(mark) and time.monotonic() < end:
        time.sleep(0.1)
    fork(lambda: index(folder, path), None)
    wrong += faults(path, versions)
    print(  # noqa: T201 - what the test reads
        json.dumps(
            {
                "faults": wrong,
                "killed": killed,
                "stored": stored,
                "left alive": workers(mark),
                "files": sorted(file.name for file in path.parent.iterdir()),
            }
        )
    )


if __name__ == "__main__":
    main()
