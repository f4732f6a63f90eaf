"""Text recognition (OCR) of pictures, by an engine that is installed on this machine; nothing is sent anywhere.

Tesseract is a program of its own (26 MB with its Chinese and English data), takes some 2 s and 140 MB a page, and can
be stopped. RapidOCR is a Python package with its models inside (230 MB with what it needs), takes some 3 s and 1 GB,
and reads Chinese with fewer mistakes. Neither is required.
"""

import csv
import os
import shutil
import subprocess
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

from causalviz.documents.awake_timer import AwakeTimer
from causalviz.documents.limits import Limits

if TYPE_CHECKING:
    from PIL.Image import Image

CHINESE_DATA = "tesseract-ocr-chi-sim"
INSTALL = (
    f"install Tesseract with its Chinese data (tesseract-ocr and {CHINESE_DATA}) or `pip install rapidocr "
    "onnxruntime`"
)
"""The cure where there is no engine."""
DPI = 200
"""Dots per inch at which pages are drawn: more costs time and gave no fewer mistakes on our scans."""

_LANGUAGES = ("chi_sim", "eng")
_MIN_CONFIDENCE = 40.0  # per cent, of a line: a stamp or a drawing read as letters has less
_CELL = 1.5  # line heights between two words from which they are cells of a table
_MIN_SECONDS = 0.1  # with less, no picture is begun
_LOOK = 0.05  # seconds between two looks at whether a picture is read, or the time is over


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """A local engine."""

    name: str
    read: Callable[["Image", Event], str]
    """Text of a grey picture; TimeoutError once the event is set (RapidOCR takes the time it needs)."""
    reads_chinese: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Recognised:
    """What an engine made of some pictures."""

    engine: str | None
    """None where none is installed."""
    texts: tuple[str, ...] = ()
    """Of the first pictures, "" where nothing was found; fewer than there are where a limit was met."""
    reads_chinese: bool = True

    @property
    def how(self) -> str:
        """What to say of texts that were found."""
        less = (
            "" if self.reads_chinese else f"; Chinese would need its data ({CHINESE_DATA}), which is not here"
        )
        return f"read by text recognition ({self.engine}), which makes mistakes{less}"

    def why_missed(self, count: int, limits: Limits) -> str:
        """Say why some of so many pictures gave no text, and the cure."""
        if self.engine is None:
            return f"no text recognition (OCR) is installed here: {INSTALL}"
        if len(self.texts) < count:
            return (
                f"text recognition ({self.engine}) stops after {limits.ocr_pages:,} pages or "
                f"{limits.ocr_seconds:,.0f} seconds: split the file"
            )
        more = (
            ""
            if self.reads_chinese
            else f", or for Chinese install its data ({CHINESE_DATA}), which is not here"
        )
        return f"text recognition ({self.engine}) finds none: use a sharper scan{more}"


def recognise_text(pictures: Iterable["Image"], limits: Limits) -> Recognised:
    """Read pictures one by one, until there are no more or text recognition has used up its pages or seconds."""
    engine = find_engine()
    if engine is None:
        return Recognised(engine=None)
    texts: list[str] = []
    over = Event()
    timer = AwakeTimer(limits.ocr_seconds, over.set)
    timer.daemon = True
    timer.start()
    try:
        for picture in pictures if limits.ocr_seconds > _MIN_SECONDS else ():
            if len(texts) >= limits.ocr_pages or over.is_set():
                break
            texts.append(engine.read(picture, over))
    except TimeoutError:
        pass  # what was read until then is kept
    finally:
        timer.cancel()
    return Recognised(engine=engine.name, texts=tuple(texts), reads_chinese=engine.reads_chinese)


def find_engine() -> Engine | None:
    """Tesseract where it has its Chinese data, else RapidOCR, else Tesseract as it is, else None."""
    program = shutil.which("tesseract")
    installed = _installed_languages(program) if program else frozenset()
    rapidocr = find_spec("rapidocr") and find_spec("onnxruntime")
    if program and installed and ("chi_sim" in installed or not rapidocr):
        return Engine(
            name="tesseract",
            read=lambda image, over: _tesseract(program, installed, image, over),
            reads_chinese="chi_sim" in installed,
        )
    return Engine(name="rapidocr", read=lambda image, _over: _rapidocr(image)) if rapidocr else None


@cache
def _installed_languages(program: str) -> frozenset[str]:
    run = subprocess.run(  # noqa: S603 - the program the system finds under that name
        [program, "--list-langs"], capture_output=True, text=True, timeout=60, check=False
    )
    return frozenset(run.stdout.split("\n")[1:]) - {""} if run.returncode == 0 else frozenset()


def _tesseract(program: str, installed: frozenset[str], image: "Image", over: Event) -> str:
    languages = [name for name in _LANGUAGES if name in installed] or sorted(installed - {"osd"})[:1]
    layout = "1" if "osd" in installed else "3"  # 1: pages that lie on their side are turned
    with TemporaryDirectory() as folder:
        picture, found = Path(folder, "page.png"), Path(folder, "found")
        image.save(picture, compress_level=1)
        command: list[str | Path] = [
            program,
            picture,
            found,
            "-l",
            "+".join(languages),
            "--psm",
            layout,
            "tsv",
        ]
        with subprocess.Popen(  # noqa: S603 - the program the system finds under that name
            command,
            # Its own threads cost three times the time they save; files are read side by side.
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as running:
            while running.poll() is None:
                if over.wait(_LOOK):
                    running.kill()
                    raise TimeoutError
        if running.returncode:
            return ""  # it gives up on a picture of a few pixels
        return _text_of_table(found.with_suffix(".tsv").read_text(encoding="utf-8"))


def _text_of_table(table: str) -> str:
    """Put Tesseract's words together to lines and paragraphs; lines it is unsure of are left out.

    Args:
        table: A word a row, with its block, paragraph, line, place in pixels and confidence in per cent.
    """
    rows = csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = [row for row in rows if row["level"] == "5" and row["text"].strip()]
    paragraphs = []
    for _, paragraph in groupby(words, key=lambda row: (row["block_num"], row["par_num"])):
        lines = [list(line) for _, line in groupby(paragraph, key=lambda row: row["line_num"])]
        paragraphs.append("\n".join(_joined(line) for line in lines if _confidence(line) >= _MIN_CONFIDENCE))
    return "\n\n".join(filter(None, paragraphs))


def _confidence(line: list[dict[str, str]]) -> float:
    weights = [len(word["text"].strip()) for word in line]
    return sum(w * float(word["conf"]) for w, word in zip(weights, line, strict=True)) / sum(weights)


def _joined(line: list[dict[str, str]]) -> str:
    text, end = "", 0
    height = max(int(word["height"]) for word in line)
    for word in line:
        shown, left = word["text"].strip(), int(word["left"])
        if not text:
            gap = ""
        elif left - end > _CELL * height:
            gap = "\t"
        else:
            gap = "" if _is_wide(text[-1]) or _is_wide(shown[0]) else " "
        text += gap + shown
        end = left + int(word["width"])
    return text


def _is_wide(char: str) -> bool:
    """Whether it is written without blanks around it, as Chinese is."""
    return unicodedata.east_asian_width(char) in "WF"


@cache
def _rapidocr_engine() -> Any:  # noqa: ANN401 - published without types
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _rapidocr(image: "Image") -> str:
    """Lines from top to bottom, those side by side as cells; a page that lies on its side is turned first."""
    import numpy as np

    engine, pixels = _rapidocr_engine(), np.asarray(image.convert("RGB"))
    found = engine(pixels)
    if found.boxes is None:
        return ""
    sizes = np.ptp(found.boxes, axis=1)  # (lines, 2): width and height
    if np.median(sizes[:, 1] / np.maximum(sizes[:, 0], 1)) > 1:
        turned = [engine(np.ascontiguousarray(np.rot90(pixels, times)), use_cls=False) for times in (1, 3)]
        found = max(turned, key=lambda result: np.mean(result.scores) if result.scores else 0.0)
        if found.boxes is None:
            return ""
    text, bottom = "", 0.0
    for box, line in zip(found.boxes, found.txts, strict=True):
        middle = float(box[:, 1].mean())
        text += ("\t" if middle < bottom else "\n") + line
        bottom = float(box[:, 1].max())
    return text.strip()
