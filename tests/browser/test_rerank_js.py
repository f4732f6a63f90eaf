"""assets/rerank.js computes what causalviz/rank.py computes, to the last bit, in a real browser.

Not close: the same. A tie that one of them breaks by rounding would show another order than the report.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explain.random_traces import cross_score
from numpy.random import Generator
from numpy.typing import NDArray
from oracle import World, WorldDocument
from playwright.sync_api import Page
from strategies import EMPTY_B, METHODS, MODES, trace_of, unit

from causalviz.rank import Ranking, rerank
from causalviz.records import Candidate, Method, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.trace import to_json

SCRIPT = Path(__file__).parents[2] / "assets" / "rerank.js"
POINTS = 100
DIM = 12

# Every number of a ranking in one row, in the order of `numbers` below; many rows at once, as raw bytes.
COMPUTE = """([text, settings]) => {
  const table = CausalVizRerank.prepare(JSON.parse(text));
  const rows = settings.map((choice) => {
    const r = CausalVizRerank.rerank(table, choice);
    const row = [r.final, r.rank, r.order];
    if (choice.full) {
      row.push(r.causal, r.normalisedSimilarity, r.normalisedCausal, r.hybrid, r.similarityRank, r.causalRank);
      row.push(r.hybridRank, r.guarded, r.guardedRank, r.cross, r.crossRank);
      row.push(r.emptyB, r.inA, r.ranges.similarity, r.ranges.causal);
      for (let i = 0; i < table.n; i++) row.push(CausalVizRerank.contributions(table, r, i));
    }
    return row.map((part) => Array.from(part)).flat();
  });
  const bytes = new Uint8Array(Float64Array.from(rows.flat()).buffer);
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32768) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 32768));
  }
  return btoa(binary);
}"""


def numbers(trace: Trace, ranking: Ranking, *, full: bool) -> list[NDArray[Any]]:
    parts: list[NDArray[Any]] = [ranking.final, ranking.rank, ranking.order]
    if full:
        known = ranking.causal[~np.isnan(ranking.causal)]
        sim = np.array([c.similarity for c in trace.candidates])
        parts += [
            ranking.causal,
            ranking.normalised_similarity,
            ranking.normalised_causal,
            ranking.hybrid,
            ranking.similarity_rank,
            ranking.causal_rank,
            ranking.hybrid_rank,
            ranking.guarded,
            ranking.guarded_rank,
            ranking.cross,
            ranking.cross_rank,
            ranking.empty_b,
            ranking.in_a.ravel(),
            np.array([sim.min(initial=np.inf), sim.max(initial=-np.inf)]),
            np.array([known.min(initial=np.inf), known.max(initial=-np.inf)]),
        ]
        # + 0.0: a share of nothing is 0 in the page and may be -0 here; both are equal and shown alike.
        parts += [ranking.contributions[i, : len(c.terms)] + 0.0 for i, c in enumerate(trace.candidates)]
    return [part.astype(np.float64) for part in parts]


def same_bits(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Equal to the last bit, the sign of zero included; NaN equals NaN."""
    same: NDArray[np.bool_] = (first.view(np.uint64) == second.view(np.uint64)) | (
        np.isnan(first) & np.isnan(second)
    )
    return same


def random_world(
    rng: Generator, count: int, *, coarse: bool = False, query_terms: int = 6, shared: float = 0.2
) -> World:
    """Draw documents of up to 15 keywords; ``coarse`` vectors and weights repeat, so that scores tie."""

    def direction() -> tuple[float, ...]:
        return unit(rng.integers(-1, 2, DIM) if coarse else rng.normal(size=DIM))

    def weight() -> float:
        return float(np.float32(rng.integers(1, 3) if coarse else rng.gamma(2.0)) + np.float32(2**-10))

    terms = {f"t{i}": direction() for i in range(40)}
    asked = tuple(list(terms)[:query_terms])
    documents: list[WorldDocument] = []
    for i in range(count):
        pool = asked if asked and rng.random() < shared else tuple(terms)
        size = min(int(rng.integers(0, 16)), len(pool))
        chosen = rng.choice(pool, size, replace=False).tolist()
        document = WorldDocument(
            id=f"d{i}",
            vector=direction(),
            weights={t: weight() for t in chosen},
            suspect=rng.random() < 0.3,
            cross=cross_score(rng, coarse=coarse),
        )
        # Now and then the very same document again, or another with the same similarity.
        if documents and rng.random() < 0.15:
            document = replace(documents[-1], id=f"d{i}")
        elif documents and rng.random() < 0.15:
            document = replace(document, vector=documents[0].vector)
        documents.append(document)
    return World(query=direction(), query_terms=asked, terms=terms, documents=tuple(documents))


def wild_trace(rng: Generator, count: int) -> Trace:
    """Draw numbers of every size that float32 has, from any bits: nothing need be a cosine."""

    def reals(*shape: int) -> NDArray[np.float32]:
        values = rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
        return np.where(np.isfinite(values), values, np.float32(0.1))

    def wild(candidate: Candidate) -> Candidate:
        n = len(candidate.terms)
        upper = np.triu(reals(n, n))
        return replace(
            candidate,
            similarity=float(reals(1)[0]),
            cross_encoder=float(reals(1)[0]),
            weights=np.maximum(np.abs(reals(n)), np.float32(1e-45)),
            cosines=rng.uniform(-1, 1, n).astype(np.float32),
            relevance=reals(n),
            gram=upper + np.triu(upper, 1).T,
        )

    trace = trace_of(random_world(rng, count))
    candidates = sorted(map(wild, trace.candidates), key=lambda c: (-c.similarity, c.id))
    return replace(trace, candidates=tuple(candidates))


def on_slider_steps(trace: Trace) -> Trace:
    """Round every cosine to a hundredth, as tau is: equality is what float32 calls equal."""
    return replace(
        trace, candidates=tuple(replace(c, cosines=np.round(c.cosines, 2)) for c in trace.candidates)
    )


def nearly_cancelling() -> Trace:
    """Give ten documents two keywords that cancel more and more: the shortest centroids count as none."""
    world = World(
        query=(1.0, 0.0),
        query_terms=(),
        terms={"up": (0.6, 0.8), "down": (-0.6, -0.8)},
        documents=tuple(
            WorldDocument(id=f"d{i}", vector=(1.0, 0.0), weights={"up": 1.0, "down": 1.0}, suspect=i % 2 == 0)
            for i in range(10)
        ),
    )
    trace = trace_of(world)

    def loosened(candidate: Candidate, steps: int) -> Candidate:
        gram = candidate.gram.copy()
        gram[0, 1] = gram[1, 0] = np.float32(-1 + steps * 2.0**-24)
        relevance = np.array([0.6, np.float32(-0.6) + np.float32(steps * 2.0**-24)], np.float32)
        return replace(candidate, gram=gram, relevance=relevance)

    return replace(trace, candidates=tuple(map(loosened, trace.candidates, range(10))))


TRACES: dict[str, Callable[[Generator], Trace]] = {
    "nothing": lambda rng: trace_of(random_world(rng, 0)),
    "1 document": lambda rng: trace_of(random_world(rng, 1)),
    "2 documents": lambda rng: trace_of(random_world(rng, 2)),
    "3 documents": lambda rng: trace_of(random_world(rng, 3)),
    "20 documents": lambda rng: trace_of(random_world(rng, 20)),
    "100 documents": lambda rng: trace_of(random_world(rng, 100)),
    "20 documents with ties": lambda rng: trace_of(random_world(rng, 20, coarse=True)),
    "60 documents with ties": lambda rng: trace_of(random_world(rng, 60, coarse=True)),
    "20 copies": lambda rng: trace_of(
        replace(
            (world := random_world(rng, 1)),
            documents=tuple(replace(world.documents[0], id=f"d{i}") for i in range(20)),
        )
    ),
    "no query keywords": lambda rng: trace_of(random_world(rng, 20, query_terms=0)),
    "query keywords only": lambda rng: trace_of(random_world(rng, 20, shared=1.0)),
    "half query keywords only": lambda rng: trace_of(random_world(rng, 20, shared=0.5)),
    "numbers of any size": lambda rng: wild_trace(rng, 20),
    "cosines on the slider's steps": lambda rng: on_slider_steps(trace_of(random_world(rng, 20))),
    "terms that nearly cancel": lambda _: nearly_cancelling(),
}


def points(rng: Generator, trace: Trace) -> list[tuple[float, float]]:
    """Draw (tau, alpha): often a tau that is some keyword's own cosine, often an end of alpha's range."""
    cosines = [
        value for c in trace.candidates for value in c.cosines.astype(float).tolist() if -1 <= value <= 1
    ]
    found = [(-1.0, 0.5), (1.0, 0.5), (0.0, 0.0), (0.6, 1.0)]
    while len(found) < POINTS:
        tau = float(rng.uniform(-1, 1))
        if cosines and rng.random() < 0.7:
            # As stored, or as the slider shows it: the double 0.9 is more than the float32 0.9.
            tau = float(rng.choice(cosines))
            tau = round(tau, 2) if rng.random() < 0.5 else tau
        alpha = float(rng.uniform()) if rng.random() < 0.7 else float(rng.integers(0, 3)) / 2
        found.append((tau, alpha))
    return found


@pytest.mark.parametrize("name", TRACES)
def test_the_page_ranks_as_python_does_to_the_last_bit(page: Page, name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    trace = TRACES[name](rng)
    table = ScoreTable.of(trace.candidates)
    choices = [
        RankSettings(tau=tau, alpha=alpha, method=method, mode=mode, empty_b=empty_b)
        for tau, alpha in points(rng, trace)
        for mode, empty_b in product(MODES, EMPTY_B)
        for method in METHODS
    ]
    # The columns that do not depend on the method are compared once for all its choices.
    full: Method = "hybrid"
    text = json.dumps(to_json(trace), allow_nan=False)
    page.add_script_tag(path=SCRIPT)
    for start in range(0, len(choices), 240):
        batch = choices[start : start + 240]
        asked = [
            {
                "tau": c.tau,
                "alpha": c.alpha,
                "method": c.method,
                "mode": c.mode,
                "emptyB": c.empty_b,
                "full": c.method == full,
            }
            for c in batch
        ]
        found = np.frombuffer(base64.b64decode(page.evaluate(COMPUTE, [text, asked])))
        parts = [numbers(trace, rerank(table, c), full=c.method == full) for c in batch]
        expected = np.concatenate([part for row in parts for part in row])
        assert found.shape == expected.shape
        same = same_bits(found, expected)
        if not same.all():
            ends = np.cumsum([sum(map(len, row)) for row in parts])
            where = batch[int(np.searchsorted(ends, same.argmin(), side="right"))]
            pytest.fail(f"{where}: {found[~same][:5]} in the page, {expected[~same][:5]} in Python")


def test_the_share_of_random_pairs_counts_equality_in(page: Page) -> None:
    pairs = np.sort(np.random.default_rng(5).uniform(0, 1, 500).round(2).astype(np.float32))
    taus = [0.0, 0.1, 0.3, 0.505, 0.6, 0.7, 0.9, 1.0, -1.0]
    page.add_script_tag(path=SCRIPT)
    found = page.evaluate(
        "([pairs, taus]) => taus.map((tau) => CausalVizRerank.absorbedShare(pairs, tau))",
        [pairs.tolist(), taus],
    )
    assert found == [float((pairs >= np.float32(tau)).mean()) for tau in taus]
    assert page.evaluate("CausalVizRerank.absorbedShare([], 0.5)") == 0


def test_the_script_leaves_one_name_behind(page: Page) -> None:
    before = set(page.evaluate("Object.getOwnPropertyNames(window)"))
    page.add_script_tag(path=SCRIPT)
    assert set(page.evaluate("Object.getOwnPropertyNames(window)")) - before == set()
    assert page.evaluate("Object.keys(CausalVizRerank).sort()") == [
        "absorbedShare",
        "contributions",
        "guardedScores",
        "prepare",
        "rerank",
    ]
