"""Does the causal score win on asrc, the documents of a ranking competition, and if so, over what?

Every query is asked once; all the rest is arithmetic on its trace. Besides similarity every ranking is held against
two that know nothing of the question: the candidates in random order (expected value, in closed form), and the longest
first.

    COLUMNS=240 python -m benchmarks.asrc ../shared/data/asrc
"""

import argparse
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import bm25s
import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from causalviz.bootstrap import collection_pipeline, make_encoder
from causalviz.candidates import NEARLY_THE_SAME
from causalviz.cli.terminal import print_table, progress_bar
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.measures import DEPTH, RESAMPLES, Qrels, Rankings, measure, paired_difference
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder
from causalviz.rank import rerank
from causalviz.records import Candidate, Method, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.settings import Settings

SEED = 0
FLIPS = 10_000
TOP_K = 20
ASKED = 100
"""Candidates a trace keeps: enough for the depths below, copies taken out."""
TAUS = {
    False: (0.84, 0.85, 0.86, 0.87, 0.88, 0.89, 0.90, 0.91, 0.92, 0.94, 0.96, 0.98, 1.0),
    True: (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0),
}
BEST_TAU = 0.88
"""The raw tau that is best here, which was known before: shown beside the default, never instead of it."""
METHODS: dict[str, Method] = {"s_c": "causal", "hybrid": "hybrid"}
MOST_MOVED = 3
"""Queries shown of each kind, best and worst."""

Array = NDArray[np.float64]
Pools = Mapping[str, tuple[Candidate, ...]]
"""What competes, by query, in baseline order."""
Row = list[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """The collection and all that was asked of it."""

    collection: Collection
    stuffed: frozenset[str]
    """Documents a person labelled as keyword-stuffed (any label above 0)."""
    pipeline: Pipeline
    traces: Mapping[bool, Mapping[str, Trace]]
    """By centring and query, ASKED candidates each."""
    written: Pools
    """The documents written (and judged) for each query."""
    taus: Mapping[bool, float]
    """The encoder's defaults."""
    needs: Mapping[str, str]
    """What the person who asked each query wanted, in a sentence: TREC's description."""

    def pools(
        self, top_k: int = TOP_K, *, centred: bool = False, kept: frozenset[str] | None = None
    ) -> dict[str, tuple[Candidate, ...]]:
        """Return the most similar documents of every query, of those ``kept``."""
        return {
            query: tuple(c for c in trace.candidates if kept is None or c.id in kept)[:top_k]
            for query, trace in self.traces[centred].items()
        }

    def rules(self) -> dict[str, RankSettings]:
        """Return the methods on raw vectors, at the default tau unless they say another."""
        settings = RankSettings(tau=self.taus[False])
        return {
            "s_c exact": replace(settings, method="causal", mode="exact"),
            "s_c": replace(settings, method="causal"),
            f"s_c at {BEST_TAU:g}": RankSettings(tau=BEST_TAU, method="causal"),
            "hybrid": replace(settings, method="hybrid"),
            "guarded": replace(settings, method="guarded"),
        }


def study_of(folder: Path, encoder: Encoder) -> Study:
    """Read, index (or find the index of) and ask the collection."""
    collection = read_collection(folder)
    lines = (folder / "qrels" / "keyword_stuffed.tsv").read_text(encoding="utf-8").splitlines()[1:]
    labels = {document: int(label) for _, document, label in (line.split("\t") for line in lines)}
    entries = [
        json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    with progress_bar() as progress:
        pipeline = collection_pipeline(collection, folder, encoder, Settings.of(), progress)
    taus = {centred: pipeline.default_tau(centred=centred).tau for centred in (False, True)}
    raw = RankSettings(tau=taus[False])
    return Study(
        collection=collection,
        stuffed=frozenset(document for document, label in labels.items() if label > 0),
        pipeline=pipeline,
        traces={
            centred: {
                id_: pipeline.ask(text, SearchSettings(top_k=ASKED, theta=-1.0, centred=centred), raw)
                for id_, text in collection.queries.items()
            }
            for centred in taus
        },
        written={
            id_: pipeline.ask_among(text, list(collection.qrels[id_]), SearchSettings(), raw).candidates
            for id_, text in collection.queries.items()
        },
        taus=taus,
        needs={entry["_id"]: entry["description"] for entry in entries},
    )


def by_rule(pools: Pools, settings: RankSettings) -> dict[str, list[str]]:
    """Reorder every pool."""
    return {
        query: [pool[int(i)].id for i in rerank(ScoreTable.of(pool), settings).order]
        for query, pool in pools.items()
    }


def as_found(pools: Pools) -> dict[str, list[str]]:
    """Leave every pool in baseline order."""
    return {query: [candidate.id for candidate in pool] for query, pool in pools.items()}


def longest_first(pools: Pools) -> dict[str, list[str]]:
    """Order every pool by content words alone, whatever was asked."""
    return {query: [c.id for c in sorted(pool, key=lambda c: -c.tokens)] for query, pool in pools.items()}


def ndcg(rankings: Rankings, qrels: Qrels) -> Array:
    """Measure nDCG@10 of every query of ``qrels``, in its order."""
    return np.array([values["ndcg@10"] for values in measure(rankings, qrels).values()])


def chance(pools: Pools, qrels: Qrels) -> Array:
    """Return the expected nDCG@10 of every query when its pool comes in random order.

    Every position then holds the pool's mean grade on average.
    """

    def dcg(grades: Iterable[float]) -> float:
        return sum(grade / math.log2(i + 2) for i, grade in enumerate(list(grades)[:DEPTH]))

    found = []
    for query, grades in qrels.items():
        pool = [grades.get(candidate.id, 0) for candidate in pools[query]]
        best = dcg(sorted(grades.values(), reverse=True))
        found.append(dcg([fmean(pool)] * len(pool)) / best if best else 0.0)
    return np.array(found)


def flipped(count: int) -> Array:
    """Draw (FLIPS, count) signs: without an effect each query's difference could as well have the other one."""
    return np.random.default_rng(SEED).choice((-1.0, 1.0), (FLIPS, count))


def p_value(found: float, drawn: Array) -> float:
    """Two-sided; the observed value counts as one of the draws."""
    return float((1 + np.sum(np.abs(drawn) >= abs(found) - 1e-12)) / (1 + len(drawn)))


def compared(ours: Array, theirs: Array) -> Row:
    """Cells: mean difference, 95 % bootstrap interval, p of a paired permutation test."""
    difference = paired_difference(list(ours), list(theirs), SEED)
    p = p_value(difference.mean, flipped(len(ours)) @ (ours - theirs) / len(ours))
    return [f"{difference.mean:+.3f}", f"{difference.low:+.3f} to {difference.high:+.3f}", told(p)]


def told(p: float) -> str:
    """Write a p that is too small for three digits as such."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"  # noqa: PLR2004 - three digits


def columns(*left: str, against: Sequence[str] = ("similarity", "chance")) -> dict[str, str]:
    """Head the columns: those named, nDCG@10, and three for each comparison."""
    heads = [f"{what} {name}" for name in against for what in ("against", "interval,", "p,")]
    return dict.fromkeys(left, "left") | dict.fromkeys(("nDCG@10", *heads), "right")


def table_of(pools: Pools, qrels: Qrels, rules: Mapping[str, RankSettings], found_by: str) -> list[Row]:
    """Compare the pool as found, every rule, the longest first and chance, on one pool."""
    first, luck = ndcg(as_found(pools), qrels), chance(pools, qrels)
    rows = [[found_by, f"{first.mean():.3f}", "-", "-", "-", *compared(first, luck)]]
    others = {name: by_rule(pools, rule) for name, rule in rules.items()} | {
        "longest first": longest_first(pools)
    }
    for name, rankings in others.items():
        values = ndcg(rankings, qrels)
        rows.append([name, f"{values.mean():.3f}", *compared(values, first), *compared(values, luck)])
    return [*rows, ["chance", f"{luck.mean():.3f}", *compared(luck, first), "-", "-", "-"]]


def yardsticks(study: Study) -> None:
    """Print what the reference figures depend on."""
    qrels = study.collection.qrels
    gains = {query: {d: 2**grade - 1 for d, grade in grades.items()} for query, grades in qrels.items()}
    kept = first_of_equal(study)
    downwards = {
        q: [c.id for c in sorted(sorted(p, key=lambda c: c.id, reverse=True), key=lambda c: -c.similarity)]
        for q, p in study.pools(ASKED).items()
    }
    rankings = {
        "similarity": as_found(study.pools(ASKED)),
        "similarity, ties by id downwards": downwards,
        "similarity, copies skipped": as_found(study.pools(kept=kept)),
        "similarity, the 20 most similar backwards": {q: r[::-1] for q, r in as_found(study.pools()).items()},
        "the 20 most similar, longest first": longest_first(study.pools()),
    }
    vectors = study.pipeline.encoder.encode_documents(list(study.collection.queries.values()))
    table = study.pipeline.base.documents
    rankings["similarity, the query encoded as a passage"] = {
        query: [table.ids[i] for i in np.argsort(-(table.vectors @ vector), kind="stable")[:DEPTH]]
        for query, vector in zip(study.collection.queries, vectors, strict=True)
    }
    for words, split in splitters(study).items():
        for k1, b in ((1.5, 0.75), (0.9, 0.4)):
            rankings[f"bm25, {words}, k1 {k1}, b {b}"] = bm25_order(study, split, k1, b, DEPTH)
    rows = [
        [name, f"{ndcg(r, qrels).mean():.3f}", f"{ndcg(r, gains).mean():.3f}"] for name, r in rankings.items()
    ]
    for name, pools in (("20 most similar", study.pools()), ("those written for it", study.written)):
        rows.append(
            [f"chance: {name}", *(f"{chance(pools, grades).mean():.3f}" for grades in (qrels, gains))]
        )
    own = [sum(c.id in qrels[q] for c in pool) for q, pool in study.pools().items()]
    notes = [
        f"Of the {TOP_K} most similar documents, {fmean(own):.1f} on average were written for the query itself.",
        "",
    ]
    print_table(
        "1. Yardsticks: nDCG@10 whose gain is the grade, or 2^grade - 1",
        {"ranking": "left", "grade": "right", "2^grade - 1": "right"},
        rows,
        notes,
    )


def splitters(study: Study) -> dict[str, Callable[[str], list[str]]]:
    """Two ways to split a text into words: the project's, and any run of letters and digits."""
    return {
        "content words": lambda text: [token.term for token in study.pipeline.tokens(text)],
        "all words": lambda text: re.findall(r"\w+", text.lower()),
    }


def bm25_scores(study: Study, split: Callable[[str], list[str]], k1: float, b: float) -> dict[str, Array]:
    """Score every document for every query."""
    index = bm25s.BM25(k1=k1, b=b)
    index.index([split(document.text) for document in study.collection.documents], show_progress=False)
    return {
        query: np.asarray(index.get_scores(split(text)), np.float64)
        for query, text in study.collection.queries.items()
    }


def bm25_order(
    study: Study, split: Callable[[str], list[str]], k1: float, b: float, count: int
) -> dict[str, list[str]]:
    """Rank the whole collection; ties by id."""
    ids = [document.id for document in study.collection.documents]
    return {
        query: [ids[i] for i in sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))[:count]]
        for query, scores in bm25_scores(study, split, k1, b).items()
    }


def over_tau(study: Study) -> None:
    """Print every tau, and what choosing the best of them is worth on a query it was not chosen on."""
    qrels, pools = study.collection.qrels, study.pools()
    first, luck = ndcg(as_found(pools), qrels), chance(pools, qrels)
    rows, differences = [], {}
    for centred, taus in TAUS.items():
        pools = study.pools(centred=centred)
        for name, method in METHODS.items():
            for tau in taus:
                values = ndcg(by_rule(pools, RankSettings(tau=tau, method=method)), qrels)
                differences[centred, name, tau] = values - first
                cells = ["centred" if centred else "raw", name, f"{tau:g}", f"{values.mean():.3f}"]
                rows.append([*cells, *compared(values, first), *compared(values, luck)])
    print_table("2. Every tau, top 20", columns("vectors", "method", "tau"), rows, [""])
    chosen = []
    for name in METHODS:
        for what, kinds in (("raw", (False,)), ("centred", (True,)), ("raw or centred", (False, True))):
            settings = [(centred, tau) for centred in kinds for tau in TAUS[centred]]
            grid = np.array([differences[centred, name, tau] for centred, tau in settings])
            chosen.append([name, what, *left_out(grid, settings)])
    heads = ("best of grid", "p, corrected", "left out", "interval", "p", "chosen", "halves", "gain in")
    print_table(
        "2b. tau chosen on other queries than it is measured on: difference to similarity",
        {"method": "left", "from": "left"} | dict.fromkeys(heads, "right"),
        chosen,
        [
            "Corrected: the best of the grid against the best of the grid under random signs. The p of the left-out",
            "mean repeats the choice of tau under random signs. Halves: tau chosen on 15 random queries, measured on",
            f"the other 16; the mean and the share of {RESAMPLES:,} draws in which it is a gain.",
            "",
        ],
    )


def left_out(grid: Array, settings: Sequence[tuple[bool, float]]) -> Row:
    """Choose a setting without each query in turn.

    Args:
        grid: (settings, queries), differences to similarity.
        settings: What each row is.
    """
    count = grid.shape[1]
    queries = np.arange(count)

    def choose(signs: Array) -> tuple[NDArray[np.int64], Array]:
        signed = grid * signs
        best = np.argmax(signed.sum(axis=1, keepdims=True) - signed, axis=0)
        return best, signed[best, queries]

    best, values = choose(np.ones(count))
    signs = flipped(count)
    drawn = np.array([choose(sign)[1].mean() for sign in signs])
    difference = paired_difference(list(values), [0.0] * count, SEED)
    top = float(grid.mean(axis=1).max())
    halves = []
    for draw in np.random.default_rng(SEED).permuted(np.tile(queries, (RESAMPLES, 1)), axis=1):
        chosen_on, measured_on = np.split(draw, [count // 2])
        halves.append(float(grid[grid[:, chosen_on].mean(axis=1).argmax(), measured_on].mean()))
    picks = {settings[i]: int(np.sum(best == i)) for i in np.unique(best)}
    return [
        f"{top:+.3f}",
        told(p_value(top, (signs @ grid.T / count).max(axis=1))),
        f"{difference.mean:+.3f}",
        f"{difference.low:+.3f} to {difference.high:+.3f}",
        told(p_value(difference.mean, drawn)),
        ", ".join(f"{'c ' if c else ''}{tau:g} x {n}" for (c, tau), n in picks.items()),
        f"{fmean(halves):+.3f}",
        f"{np.mean(np.array(halves) > 0):.0%}",
    ]


def among_bm25(study: Study) -> None:
    """Print the same methods on bm25's candidates, with similarity and with bm25 as the other score."""
    qrels, rules = study.collection.qrels, study.rules()
    ids = [document.id for document in study.collection.documents]
    split = splitters(study)["content words"]
    for k1, b in ((1.5, 0.75), (0.9, 0.4)):
        order = bm25_order(study, split, k1, b, TOP_K)
        scores = {q: dict(zip(ids, s, strict=True)) for q, s in bm25_scores(study, split, k1, b).items()}
        similar = {
            query: study.pipeline.ask_among(
                text, order[query], SearchSettings(theta=-1.0), RankSettings(tau=study.taus[False])
            ).candidates
            for query, text in study.collection.queries.items()
        }
        lexical = {
            query: tuple(
                replace(by_id[id_], similarity=float(scores[query][id_]))
                for by_id in [{candidate.id: candidate for candidate in pool}]
                for id_ in order[query]
            )
            for query, pool in similar.items()
        }
        rows = table_of(lexical, qrels, rules, "bm25")
        rows = [[row[0].replace("hybrid", "hybrid of bm25 and s_c"), *row[1:]] for row in rows]
        first, luck = ndcg(order, qrels), chance(lexical, qrels)
        for name, ranking in (
            ("similarity", as_found(similar)),
            ("hybrid of similarity and s_c", by_rule(similar, rules["hybrid"])),
        ):
            values = ndcg(ranking, qrels)
            rows.append([name, f"{values.mean():.3f}", *compared(values, first), *compared(values, luck)])
        print_table(
            f"3. The first {TOP_K} of bm25 (content words, k1 {k1}, b {b})",
            columns("method", against=("bm25", "chance")),
            rows,
            [""],
        )


def first_of_equal(study: Study) -> frozenset[str]:
    """Keep the first document of each text; in order of ids, which is that of the rounds."""
    table = study.pipeline.base.documents
    return frozenset(dict(zip(table.text_hashes[::-1], table.ids[::-1], strict=True)).values())


def first_of_similar(study: Study) -> frozenset[str]:
    """Keep each document that no earlier one kept has nearly the words of."""
    table = study.pipeline.base.documents
    wide = table.counts.astype(np.float64)
    products = (wide @ wide.T).toarray()
    norms = np.sqrt(np.diag(products))
    close = products / np.outer(norms, norms) >= NEARLY_THE_SAME
    kept: list[int] = []
    for row in range(len(table.ids)):
        if not close[row, kept].any():
            kept.append(row)
    return frozenset(table.ids[row] for row in kept)


def parts_of(study: Study) -> None:
    """Print the comparison on the collection without its copies, or its stuffed documents; judgments likewise."""
    for what, kept in (
        ("The first of equal texts", first_of_equal(study)),
        (f"The first of texts of word-count cosine >= {NEARLY_THE_SAME:g}", first_of_similar(study)),
        ("What is not labelled as stuffed", frozenset(study.pipeline.base.documents.ids) - study.stuffed),
    ):
        qrels = {
            q: {d: g for d, g in grades.items() if d in kept} for q, grades in study.collection.qrels.items()
        }
        pools = study.pools(kept=kept)
        own = fmean(sum(c.id in qrels[q] for c in pool) for q, pool in pools.items())
        notes = [
            f"{own:.1f} of {min(map(len, pools.values()))} candidates were written for the query, on average.",
            "",
        ]
        title = f"4. {what}: {len(kept):,} documents"
        print_table(title, columns("method"), table_of(pools, qrels, study.rules(), "similarity"), notes)


def by_round(study: Study) -> None:
    """Print each round on its own, where no rewriting meets its original."""
    written, graded = study.written, study.collection.qrels
    rules = {"hybrid": study.rules()["hybrid"], "s_c": study.rules()["s_c"]} | {
        f"s_c at {tau:g}": RankSettings(tau=tau, method="causal") for tau in (0.86, 0.88, 0.92, 1.0)
    }
    shown = ("similarity", "chance", "longest first", "hybrid", "s_c")
    rows, found = [], []
    for number in sorted({round_of(document.id) for document in study.collection.documents} - {0}):
        pools = {q: tuple(c for c in pool if round_of(c.id) == number) for q, pool in written.items()}
        qrels = {
            q: {d: g for d, g in grades.items() if round_of(d) == number} for q, grades in graded.items()
        }
        values = {
            "similarity": ndcg(as_found(pools), qrels),
            "chance": chance(pools, qrels),
            "longest first": ndcg(longest_first(pools), qrels),
        } | {name: ndcg(by_rule(pools, rule), qrels) for name, rule in rules.items()}
        found.append(values)
        documents = {d for grades in qrels.values() for d in grades}
        unequal = sum(len(set(grades.values())) > 1 for grades in qrels.values())
        counts = [number, len(documents), len(documents & study.stuffed), unequal]
        means = [f"{values[name].mean():.3f}" for name in shown]
        gains = compared(values["s_c"], values["similarity"]) + compared(values["s_c"], values["chance"])
        rows.append([*map(str, counts), *means, *gains])
    counted = ("round", "documents", "stuffed", "queries told apart")
    against = [
        f"{what} {name}" for name in ("similarity", "chance") for what in ("against", "interval,", "p,")
    ]
    print_table(
        "5. Each round's documents among themselves (round 0 has one a query)",
        dict.fromkeys((*counted, *shown, *against), "right"),
        rows,
        ["Told apart: the documents differ in grade.", ""],
    )
    overall = {name: np.mean([values[name] for values in found], axis=0) for name in found[0]}
    print_table(
        "5b. The mean of a query's eight rounds, and its difference query by query",
        columns("method"),
        [
            [
                name,
                f"{values.mean():.3f}",
                *compared(values, overall["similarity"]),
                *compared(values, overall["chance"]),
            ]
            for name, values in overall.items()
        ],
        [""],
    )


def round_of(document: str) -> int:
    """Read the round out of an id such as ROUND-03-195-12."""
    return int(document.split("-")[1])


def by_setting(study: Study) -> None:
    """Print gain over similarity by centring, depth and alpha, at the default tau of each kind of vector."""
    qrels, rows = study.collection.qrels, []
    for centred in (False, True):
        for top_k in (10, 20, 50):
            pools = study.pools(top_k, centred=centred)
            first = ndcg(as_found(pools), qrels)
            rule = RankSettings(tau=study.taus[centred])
            rules = {
                "similarity": replace(rule, method="similarity"),
                "s_c": replace(rule, method="causal"),
                **{f"hybrid {alpha:g}": replace(rule, alpha=alpha) for alpha in (0.25, 0.5, 0.75)},
            }
            for name, chosen in rules.items():
                values = ndcg(by_rule(pools, chosen), qrels)
                cells = ["centred" if centred else "raw", str(top_k), name, f"{values.mean():.3f}"]
                rows.append([*cells, *compared(values, first), *compared(values, chance(pools, qrels))])
    print_table(
        "6. Vectors, depth and alpha, at the default tau", columns("vectors", "top", "method"), rows, [""]
    )


def stuffing(study: Study) -> None:
    """Print where the labelled documents go, and what a perfect penalty on them would be worth."""
    qrels, written = study.collection.qrels, study.written
    rules = study.rules()
    irrelevant = {d for grades in qrels.values() for d, grade in grades.items() if grade == 0}
    methods: dict[str, Callable[[Pools], dict[str, list[str]]]] = {
        "similarity": as_found,
        **{name: partial(by_rule, settings=rule) for name, rule in rules.items()},
        "longest first": longest_first,
    }
    rows = []
    similar: Array | None = None
    for name, ranked in methods.items():
        places = [
            {id_: place for place, id_ in enumerate(ranking, start=1)} for ranking in ranked(written).values()
        ]
        with_stuffed = [[p for id_, p in found.items() if id_ in study.stuffed] for found in places]
        by_query = np.array([fmean(found) for found in with_stuffed if found])
        similar = by_query if similar is None else similar
        flat = {id_: place for found in places for id_, place in found.items()}
        groups = (study.stuffed, study.stuffed & irrelevant, flat.keys() - study.stuffed, irrelevant)
        shown = {id_ for ranking in ranked(study.pools()).values() for id_ in ranking[:DEPTH]}
        rows.append(
            [
                name,
                *(f"{fmean(flat[id_] for id_ in group):.1f}" for group in groups),
                str(len(shown & study.stuffed)),
                *(compared(by_query, similar) if name != "similarity" else ["-"] * 3),
            ]
        )
    ranked_of = ("stuffed", "stuffed and irrelevant", "not stuffed", "irrelevant", "stuffed in the first 10")
    labelled = {d: g for grades in qrels.values() for d, g in grades.items() if d in study.stuffed}
    others = [g for grades in qrels.values() for d, g in grades.items() if d not in study.stuffed]
    print_table(
        f"7. Mean rank of the {len(labelled)} stuffed documents among those written for the query (chance: 21)",
        {"method": "left"}
        | dict.fromkeys((*ranked_of, "stuffed, against similarity", "interval", "p"), "right"),
        rows,
        [
            "The differences are means over the queries that have stuffed documents.",
            f"Mean grade: stuffed {fmean(labelled.values()):.2f}, others {fmean(others):.2f}.",
            f"Relevant stuffed documents: {sum(g > 0 for g in labelled.values())}.",
            "",
        ],
    )
    pools = study.pools()
    first = ndcg(as_found(pools), qrels)
    penalised = []
    for what, bad in (
        ("all stuffed last", study.stuffed),
        ("irrelevant stuffed last", frozenset(d for d, g in labelled.items() if g == 0)),
    ):
        ranking = {q: sorted(r, key=bad.__contains__) for q, r in as_found(pools).items()}
        values = ndcg(ranking, qrels)
        penalised.append([what, f"{values.mean():.3f}", *compared(values, first)])
    print_table(
        "7b. Similarity's first 20 with the labelled ones put last, as if they were known",
        columns("penalty", against=("similarity",)),
        penalised,
        [""],
    )


def associations(study: Study) -> None:
    """Print what each score goes with, over the documents written for a query: the grade, or only the length."""
    written, qrels = study.written, study.collection.qrels
    tables = {query: ScoreTable.of(pool) for query, pool in written.items()}

    def scores(rule: RankSettings) -> dict[str, Array]:
        # An empty B ranks last.
        return {q: np.nan_to_num(rerank(table, rule).final, nan=-2.0) for q, table in tables.items()}

    lengths = {q: np.array([c.tokens for c in pool], np.float64) for q, pool in written.items()}
    features = {
        "similarity": {q: table.similarity for q, table in tables.items()},
        "s_c exact": scores(study.rules()["s_c exact"]),
        **{
            f"s_c, tau {tau:g}": scores(RankSettings(tau=tau, method="causal"))
            for tau in (0.86, 0.88, 0.9, 0.92)
        },
        "hybrid": scores(study.rules()["hybrid"]),
        "share of question words": {
            q: np.array([c.repeats / max(c.tokens, 1) for c in pool]) for q, pool in written.items()
        },
        "length": lengths,
    }
    rows = []
    for name, feature in features.items():
        grade, length, rest = [], [], []
        for query, pool in written.items():
            grades = np.array([qrels[query][c.id] for c in pool], np.float64)
            with_grade = kendalltau(feature[query], grades).statistic
            with_length = kendalltau(feature[query], lengths[query]).statistic
            between = kendalltau(lengths[query], grades).statistic
            grade.append(float(with_grade))
            length.append(float(with_length))
            if name != "length":
                spread = np.sqrt((1 - with_length**2) * (1 - between**2))
                rest.append(float((with_grade - with_length * between) / spread))
        zero = np.zeros(len(grade))
        cells = [name, *compared(np.array(grade), zero)[:2]]
        if rest:
            cells += [*compared(np.array(length), zero)[:2], *compared(np.array(rest), zero)]
        rows.append(cells)
    heads = ("with grade", "interval, grade", "with length", "interval, length", "with grade at equal length")
    print_table(
        "7c. Kendall's tau-b over the documents written for a query, mean of the queries",
        {"score": "left"} | dict.fromkeys((*heads, "interval, equal length", "p, equal length"), "right"),
        rows,
        ["Equal length: Kendall's partial rank correlation.", ""],
    )


def movements(study: Study) -> None:
    """Print A and B of what moved most, where s_c wins and loses most."""
    qrels, pools, rule = study.collection.qrels, study.pools(), study.rules()["s_c"]
    gain = ndcg(by_rule(pools, rule), qrels) - ndcg(as_found(pools), qrels)
    worst_first = np.argsort(gain, kind="stable")
    rows = []
    for i in (*worst_first[::-1][:MOST_MOVED], *worst_first[:MOST_MOVED]):
        query = list(qrels)[int(i)]
        pool = pools[query]
        ranking = rerank(ScoreTable.of(pool), rule)
        moved = ranking.similarity_rank - ranking.causal_rank
        for j in (*np.argsort(-moved, kind="stable")[:2], *np.argsort(moved, kind="stable")[:2]):
            found = pool[int(j)]
            heaviest = np.argsort(-ranking.contributions[j], kind="stable")[:5]
            rows.append(
                [
                    f"{study.collection.queries[query]} ({gain[i]:+.2f})",
                    found.id,
                    str(qrels[query].get(found.id, 0)),
                    "stuffed" if found.id in study.stuffed else "",
                    f"{found.tokens}, {found.repeats}",
                    f"{ranking.similarity_rank[j]} -> {ranking.causal_rank[j]}",
                    " ".join(found.terms[k] for k in np.flatnonzero(ranking.in_a[j])),
                    " ".join(found.terms[k] for k in heaviest if ranking.contributions[j][k] > 0),
                ]
            )
    heads = ("query", "document", "grade", "label", "words, the query's", "rank", "A", "B, heaviest first")
    print_table(
        f"7d. The {MOST_MOVED} largest gains and losses of s_c: the two that rose most and the two that fell most",
        dict.fromkeys(heads, "left"),
        rows,
        [""],
    )


def with_the_need(study: Study) -> None:
    """Print what the methods do when asked for what the person wanted."""
    qrels = study.collection.qrels
    for what, questions in (
        ("the description", study.needs),
        ("query and description", {q: f"{t}. {study.needs[q]}" for q, t in study.collection.queries.items()}),
    ):
        search, settings = SearchSettings(top_k=TOP_K, theta=-1.0), RankSettings(tau=study.taus[False])
        pools = {query: study.pipeline.ask(questions[query], search, settings).candidates for query in qrels}
        rows = table_of(pools, qrels, study.rules(), "similarity")
        print_table(f"8. Asked: {what}, top {TOP_K}", columns("method"), rows, [""])


def main() -> None:
    """Measure and print everything."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("collection", type=Path)
    study = study_of(options.parse_args().collection, make_encoder("e5-small"))
    yardsticks(study)
    print_table(
        "2a. All methods at the default tau, top 20",
        columns("method"),
        table_of(study.pools(), study.collection.qrels, study.rules(), "similarity"),
        [""],
    )
    parts = (over_tau, among_bm25, parts_of, by_round, by_setting, stuffing, associations, movements)
    for part in (*parts, with_the_need):
        part(study)


if __name__ == "__main__":
    main()
