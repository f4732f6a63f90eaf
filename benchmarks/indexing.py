"""What indexing costs: the share spent in the encoder, growth with the collection, a second run, opening."""

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from causalviz.bootstrap import index_into, make_encoder, open_pipeline
from causalviz.knowledge_base import IndexResult, folder_source
from causalviz.settings import ROOT

SMALL, LARGE = 400, 4_000
SENTENCES = 2


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    sentences = sample_sentences()
    with tempfile.TemporaryDirectory() as place:
        small, _, _ = _index(Path(place) / "small", SMALL, sentences)
        large, again, opening = _index(Path(place) / "large", LARGE, sentences)
    ours = {size: (r.seconds - r.encoder_seconds) / size for size, r in ((SMALL, small), (LARGE, large))}
    whole = {size: r.seconds / size for size, r in ((SMALL, small), (LARGE, large))}
    growth = f"{whole[LARGE] / whole[SMALL]:.2f} ({whole[LARGE] * 1e3:.1f} ms)"
    own_growth = f"outside the encoder {ours[LARGE] / ours[SMALL]:.2f} ({ours[LARGE] * 1e3:.2f} ms)"
    return [
        [
            f"indexing {LARGE:,} files: share in the encoder",
            f"{large.encoder_seconds / large.seconds:.1%}",
            ">= 85 %",
        ],
        [f"cost per document, {LARGE:,} / {SMALL:,}", f"{growth}; {own_growth}", "<= 1.1"],
        ["second run over unchanged files / first", f"{again / large.seconds:.2%} ({again:.2f} s)", "<= 2 %"],
        [f"opening {LARGE:,} documents", f"{opening:.3f} s", "< 1 s"],
    ]


def _index(folder: Path, size: int, sentences: Sequence[str]) -> tuple[IndexResult, float, float]:
    draw = random.Random(size)  # noqa: S311 - a reproducible draw
    folder.mkdir()
    for number in range(size):
        text = "\n".join([f"Document {number}", *draw.sample(sentences, SENTENCES)])
        (folder / f"{number:05d}.txt").write_text(text, encoding="utf-8")
    encoder, path = make_encoder("e5-small"), folder.with_suffix(".kb")
    first = index_into(path, folder_source(folder), encoder, lambda *_: None)
    start = time.perf_counter()
    index_into(path, folder_source(folder), encoder, lambda *_: None)
    again = time.perf_counter() - start
    start = time.perf_counter()
    open_pipeline(path, encoder, lambda *_: None)
    return first, again, time.perf_counter() - start


def sample_sentences() -> list[str]:
    """Return the sentences of the sample's documents."""
    texts = [
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "sample_kb" / "documents").rglob("*.md"))
    ]
    marked = "\n".join(texts).replace("。", "。\n").replace(". ", ".\n")
    return [sentence for sentence in marked.split("\n") if len(sentence) > 20]  # noqa: PLR2004 - no headings
