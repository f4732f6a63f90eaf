"""Random traces of up to 100 candidates, and the three documents of docs/method.md."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from oracle import World, WorldDocument
from strategies import trace_of, unit

from causalviz.records import RankSettings, Trace

DIM = 8


def random_trace(rng: Generator, count: int, *, coarse: bool = False) -> Trace:
    """Draw documents of up to 15 keywords; some are copies, some share a similarity, some hold query keywords only.

    ``coarse`` vectors and weights come from few values, so that cosines, scores and lines tie and cancel.
    """

    def direction() -> tuple[float, ...]:
        return unit(rng.integers(-1, 2, DIM) if coarse else rng.normal(size=DIM))

    terms = {f"t{i}": direction() for i in range(30 if coarse else 400)}
    names = list(terms)
    asked = names[: int(rng.integers(0, 7))]
    documents: list[WorldDocument] = []
    for i in range(count):
        pool = asked if asked and rng.random() < 0.15 else names
        size = min(int(rng.integers(0, 16)), len(pool))
        chosen = rng.choice(pool, size, replace=False).tolist()
        weights = {
            term: float(rng.integers(1, 3)) if coarse else float(np.float32(rng.gamma(2.0) + 0.01))
            for term in chosen
        }
        document = WorldDocument(
            id=f"d{i:03}",
            vector=direction(),
            weights=weights,
            suspect=rng.random() < 0.3,
            cross=cross_score(rng, coarse=coarse),
        )
        if documents and rng.random() < 0.15:
            document = replace(documents[int(rng.integers(i))], id=document.id)
        elif documents and rng.random() < 0.15:
            document = replace(document, vector=documents[0].vector)
        documents.append(document)
    world = World(query=direction(), query_terms=tuple(asked), terms=terms, documents=tuple(documents))
    return trace_of(world)


def cross_score(rng: Generator, *, coarse: bool) -> float | None:
    """Draw a cross-encoder's score, now and then none; coarse ones tie."""
    if rng.random() < 0.1:
        return None
    return float(rng.integers(-2, 3)) if coarse else float(np.float32(rng.normal(scale=4)))


def worked_example() -> Trace:
    """Build the example of docs/method.md: s_sim 0.9, 0.7, 0.5; every other number can be worked out by hand."""
    trace = trace_of(
        World(
            query=(1.0, 0.0),
            query_terms=("u",),
            terms={"u": (0.8, 0.6), "v": (0.0, 1.0), "w": (1.0, 0.0), "x": (0.0, 1.0), "z": (0.6, 0.8)},
            documents=(
                WorldDocument(id="d1", vector=(0.9, float(np.sqrt(0.19))), weights={"u": 3.0, "v": 1.0}),
                WorldDocument(id="d2", vector=(0.7, float(np.sqrt(0.51))), weights={"w": 1.0, "x": 1.0}),
                WorldDocument(id="d3", vector=(0.5, float(np.sqrt(0.75))), weights={"z": 2.0}),
            ),
        ),
        RankSettings(tau=0.9),
    )
    # From float32 entries the cosine of z and u is one unit above float32 0.96; the text's 0.96 is meant.
    *others, third = trace.candidates
    return replace(trace, candidates=(*others, replace(third, cosines=np.array([0.96], np.float32))))
