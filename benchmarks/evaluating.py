"""What an evaluation costs against encoding alone: the questions and those of their words the documents lack.

python -m benchmarks.evaluating ../shared/data/cranfield
"""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.queries import random_pipeline
from causalviz.arrays import FloatMatrix
from causalviz.bootstrap import collection_pipeline, make_encoder
from causalviz.cli.evaluate import THETA, asker, kept_answers
from causalviz.cli.terminal import print_table, progress_bar
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.evaluate import METHODS, evaluate
from causalviz.evaluation.results import answer_all
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder
from causalviz.records import RankSettings
from causalviz.settings import Settings

QUERIES = 300
WORDS = 9
"""Of a question."""
RUNS = 3


class TimedEncoder:
    """An encoder that adds up the seconds spent in it."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dim = encoder.name, encoder.dim
        self.seconds = 0.0

    def default_tau(self, *, centred: bool) -> float | None:
        """As the encoder's."""
        return self._encoder.default_tau(centred=centred)

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode and take the time."""
        start = time.perf_counter()
        vectors = self._encoder.encode_queries(texts)
        self.seconds += time.perf_counter() - start
        return vectors

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """As the encoder's."""
        return self._encoder.encode_documents(texts)


def main() -> list[list[str]]:
    """Measure on random vectors and return rows (what, measured, bar)."""
    pipeline = random_pipeline(make_encoder("e5-small"))
    return measured(pipeline, random_collection(pipeline))


def measured(pipeline: Pipeline, collection: Collection) -> list[list[str]]:
    """Evaluate with an empty cache, and again with what the first left; the least of RUNS ratios counts."""
    ratios, again = [], []
    for _ in range(RUNS):
        encoder = TimedEncoder(pipeline.encoder)
        with tempfile.TemporaryDirectory() as home:
            settings = replace(Settings.of({}), home=Path(home))
            first = _seconds(replace(pipeline, encoder=encoder), collection, settings)
            again.append(_seconds(pipeline, collection, settings) / first)
        ratios.append((first / encoder.seconds, first))
    ratio, seconds = min(ratios)
    return [
        [
            f"evaluate {len(collection.queries)} queries / encode them",
            f"{ratio:.2f} ({seconds:.2f} s)",
            "<= 1.2",
        ],
        ["evaluate again / first", f"{100 * min(again):.0f} %", ""],
    ]


def _seconds(pipeline: Pipeline, collection: Collection, settings: Settings) -> float:
    start = time.perf_counter()
    chosen = RankSettings(tau=pipeline.default_tau(centred=False).tau)
    search = SearchSettings(theta=THETA)
    kept = kept_answers(pipeline, search, chosen, settings)
    answers = answer_all(collection.queries, kept, asker(pipeline, search, chosen), lambda *_: None)
    rankings = {name: {id_: one.rankings[name] for id_, one in answers.items()} for name in METHODS}
    evaluate(rankings, collection.qrels, seed=0)
    return time.perf_counter() - start


def random_collection(pipeline: Pipeline) -> Collection:
    """Questions of words the documents hold, each with one relevant document."""
    draw = random.Random(0)  # noqa: S311 - a reproducible draw
    base = pipeline.base
    ids = [str(number) for number in range(QUERIES)]
    return Collection(
        name="random",
        documents=(),
        queries={id_: " ".join(draw.choices(base.vocabulary, k=WORDS)) for id_ in ids},
        qrels={id_: {draw.choice(base.documents.ids): 1} for id_ in ids},
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("collection", type=Path)
    folder = options.parse_args().collection
    chosen = read_collection(folder)
    with progress_bar() as progress:
        ready = collection_pipeline(chosen, folder, make_encoder("e5-small"), Settings.of(), progress)
    print_table(
        f"Evaluating {chosen.name} (least of {RUNS} runs)",
        {"what": "left", "measured": "left", "bar": "left"},
        measured(ready, chosen),
        [],
    )
