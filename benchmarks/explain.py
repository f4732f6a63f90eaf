"""How long do the exact tau path and the (tau, alpha) map take, against one query encoding?

python -m benchmarks.explain [--candidates 100] [--keywords 15] [--no-encoder]
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from causalviz.bootstrap import make_encoder
from causalviz.cli.terminal import print_table
from causalviz.explain.flips import neighbour_flips, to_be_first
from causalviz.explain.leave_one_out import leave_one_out
from causalviz.explain.metric_plane import metric_plane, rank_case
from causalviz.explain.plane import plane
from causalviz.explain.region import first_region
from causalviz.explain.states import tau_states
from causalviz.explain.tau_path import tau_path
from causalviz.records import Candidate, Keyword, RankSettings, Trace

RUNS = 15
DIM = 384
QUERY = "How does ColBERT late interaction work?"


def random_trace(candidates: int, keywords: int) -> Trace:
    """Draw the worst case: every keyword of every candidate has a cosine of its own, so no two thresholds coincide."""
    draw = np.random.default_rng(1)
    query = draw.normal(size=DIM)
    query /= np.linalg.norm(query)
    drawn = []
    for number in range(candidates):
        vectors = draw.normal(size=(keywords, DIM)) + query
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        drawn.append(
            Candidate(
                id=f"d{number}",
                title=f"d{number}",
                similarity=float(np.float32(draw.uniform(0.7, 0.95))),
                terms=tuple(f"t{number}.{j}" for j in range(keywords)),
                weights=draw.gamma(2.0, size=keywords).astype(np.float32),
                cosines=draw.uniform(0.75, 1, keywords).astype(np.float32),
                matches=np.zeros(keywords, np.int64),
                exact=draw.uniform(size=keywords) < 0.05,  # noqa: PLR2004 - one in twenty
                relevance=(vectors @ query).astype(np.float32),
                gram=(vectors @ vectors.T).astype(np.float32),
                repeats=0,
                tokens=100,
            )
        )
    drawn.sort(key=lambda one: (-one.similarity, one.id))
    return Trace(
        query=QUERY,
        query_keywords=(Keyword(term="u", weight=1.0),),
        candidates=tuple(drawn),
        encoder="random",
        centred=False,
        unit="document",
        top_k=candidates,
        theta=0.0,
        settings=RankSettings(tau=0.9),
        knowledge_base="random",
        fingerprint="",
        documents=candidates,
        random_pairs=np.zeros(0, np.float32),
        seconds={},
    )


def timed(call: Callable[[], object]) -> list[str]:
    """Return the least and the median of RUNS times, in ms."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return [f"{min(times):.2f}", f"{median(times):.2f}"]


def main() -> None:
    """Time each explanation of the same trace."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--candidates", type=int, default=100)
    options.add_argument("--keywords", type=int, default=15)
    options.add_argument("--encoder", action=argparse.BooleanOptionalAction, default=True)
    chosen = options.parse_args()
    trace = random_trace(chosen.candidates, chosen.keywords)
    states = tau_states(trace, trace.settings)
    middle = chosen.candidates // 2
    cells = plane(states, middle)

    def path_and_map() -> None:
        fresh = tau_states(trace, trace.settings)
        tau_path(fresh)
        plane(fresh, middle)

    small = [random_trace(20, chosen.keywords)] * 8
    calls: dict[str, Callable[[], object]] = {
        "path and map, from the trace": path_and_map,
        "states": lambda: tau_states(trace, trace.settings),
        "path": lambda: tau_path(states),
        "map": lambda: plane(states, middle),
        "map of the first": lambda: plane(states, 0),
        "first region of the first": lambda: first_region(plane(states, 0)),
        "neighbours' flip points": lambda: neighbour_flips(states),
        "to be first": lambda: to_be_first(states, middle, cells),
        "leave one out": lambda: leave_one_out(states, middle),
        "mean rank over 8 traces of 20": lambda: metric_plane(
            [rank_case(one, 3) for one in small], trace.settings
        ),
    }
    if chosen.encoder:
        encoder = make_encoder("e5-small")
        encoder.encode_queries([QUERY])
        calls = {"one query encoding": lambda: encoder.encode_queries([QUERY]), **calls}
    rows = [[name, *timed(call)] for name, call in calls.items()]
    print_table(
        f"{chosen.candidates} candidates x {chosen.keywords} keywords",
        {"what": "left", "least ms": "right", "median ms": "right"},
        rows,
        [f"{len(states.low)} intervals of tau; {len(cells.best)} cells in the map of candidate {middle}."],
    )


if __name__ == "__main__":
    main()
