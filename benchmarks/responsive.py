"""How long a question takes while another session's files are indexed, as a multiple of what it takes otherwise.

The files are texts, or scans that go through text recognition. And how long a file takes while the processors are busy
with something else.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.indexing import sample_sentences
from causalviz.bootstrap import make_encoder, sample_pipeline
from causalviz.documents.readers.ocr import find_engine
from causalviz.jobs import paused, runner
from causalviz.knowledge_base import folder_source, update
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import RankSettings
from causalviz.settings import Settings

ENCODER = "e5-small"
QUERIES = (
    "How does ColBERT late interaction work?",
    "数据出境的安全如何评估",
    "What makes a review of a drug trustworthy?",
)
ROUNDS, IDLE, BUSY = 6, 5.0, 8.0
"""Both take turns, so that a slow moment of the machine meets them alike; seconds."""
STARTED = 4.0
"""Seconds after which scans are read: the process has started, and has asked for the first ones."""
PAUSE = 0.05
"""Seconds between an answer and the next question."""
FILES, SENTENCES = 400, 30
SCANS, LINES = 40, 60


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    pipeline = sample_pipeline(make_encoder(ENCODER), Settings.of(), lambda *_: None)
    _ask(pipeline, IDLE)
    with tempfile.TemporaryDirectory() as place:
        texts, scans = Path(place) / "texts", Path(place) / "scans"
        _write_texts(texts)
        rows = _beside(pipeline, texts, "indexing", 0.0)
        if find_engine():
            _draw_scans(scans)
            rows += _beside(pipeline, scans, "scans are read", STARTED)
    return [*rows, _beside_others()]


def _beside(pipeline: Pipeline, folder: Path, what: str, started: float) -> list[list[str]]:
    idle: list[float] = []
    busy: list[float] = []
    done = 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor() as pool:
        for number in range(ROUNDS):
            idle += _ask(pipeline, IDLE)
            stop, reached = threading.Event(), [0]
            job = partial(update, Path(place) / f"{number}.kb", folder_source(folder))

            def note(so_far: int, _total: int, _what: str, reached: list[int] = reached) -> None:
                reached[0] = so_far

            running = pool.submit(runner(ENCODER).run, job, note, stop)
            time.sleep(started)
            busy += _ask(pipeline, BUSY)
            stop.set()
            running.result()
            done += reached[0]
    percentiles = [(np.percentile(idle, p), np.percentile(busy, p)) for p in (50, 95)]
    (idle_50, busy_50), (idle_95, busy_95) = percentiles
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return [
        [
            f"warm query while {what} / otherwise, p95",
            f"{busy_95 / idle_95:.2f} ({busy_95 * 1e3:.1f} / {idle_95 * 1e3:.1f} ms; {len(busy)} queries{load})",
            "<= 1.5",
        ],
        ["the same, p50", f"{busy_50 / idle_50:.2f} ({busy_50 * 1e3:.1f} / {idle_50 * 1e3:.1f} ms)", ""],
        [
            "indexed meanwhile",
            f"{done / (ROUNDS * (started + BUSY)) / 1e3:.1f} kB/s, from the start of the process",
            "",
        ],
    ]


def _beside_others() -> list[str]:
    """Index one sentence on an idle machine, and where each processor has something else to do."""
    alone = _one_sentence()
    with ExitStack() as others:
        for _ in range(os.cpu_count() or 1):
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            others.callback(other.wait)
            others.callback(other.kill)
        beside = _one_sentence()
    what = "a file of one sentence with every processor busy elsewhere / otherwise"
    return [what, f"{beside / alone:.1f} ({beside:.1f} / {alone:.1f} s)", ""]


def _one_sentence() -> float:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "one.txt").write_text(sample_sentences()[0], encoding="utf-8")
        job = partial(update, Path(place) / "one.kb", folder_source(Path(place)))
        start = time.perf_counter()
        runner(ENCODER).run(job, lambda *_: None, threading.Event())
        return time.perf_counter() - start


def _ask(pipeline: Pipeline, seconds: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        with paused():  # as the Explore page does
            pipeline.ask(QUERIES[len(times) % len(QUERIES)], SearchSettings(), RankSettings(tau=0.9))
        times.append(time.perf_counter() - start)
        time.sleep(PAUSE)
    return times


def _write_texts(folder: Path) -> None:
    draw, sentences = random.Random(0), sample_sentences()  # noqa: S311 - a reproducible draw
    folder.mkdir()
    for number in range(FILES):
        text = "\n".join(draw.choices(sentences, k=SENTENCES))
        (folder / f"{number:04d}.txt").write_text(text, encoding="utf-8")


def _draw_scans(folder: Path) -> None:
    draw = random.Random(0)  # noqa: S311 - a reproducible draw
    sentences = [sentence for sentence in sample_sentences() if sentence.isascii()]
    font = ImageFont.load_default(size=26)
    folder.mkdir()
    for number in range(SCANS):
        page = Image.new("L", (1654, 2339), 255)  # A4 at 200 dots per inch
        for line in range(LINES):
            ImageDraw.Draw(page).text((60, 60 + 36 * line), draw.choice(sentences)[:110], fill=0, font=font)
        page.save(folder / f"{number:02d}.png")
