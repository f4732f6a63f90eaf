"""How long one turn of a slider takes: re-ranking a query's candidates from the numbers of its trace.

python -m benchmarks.rerank
"""

from functools import partial
from timeit import repeat

import numpy as np

from causalviz.cli.terminal import print_table
from causalviz.rank import rerank
from causalviz.records import Candidate, RankSettings
from causalviz.score import ScoreTable

KEYWORDS = 15
DIM = 384
CALLS = 200
ROUNDS = 7


def candidates(count: int) -> tuple[Candidate, ...]:
    """Make candidates of 15 keywords, at random; the time does not depend on what the numbers are."""
    rng = np.random.default_rng(0)

    def one(number: int) -> Candidate:
        vectors = rng.normal(size=(KEYWORDS, DIM))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Candidate(
            id=f"d{number:03}",
            title="",
            similarity=1 - number / count,
            terms=tuple(f"t{i}" for i in range(KEYWORDS)),
            weights=rng.uniform(0.1, 1, KEYWORDS).astype(np.float32),
            cosines=rng.uniform(0, 1, KEYWORDS).astype(np.float32),
            matches=np.zeros(KEYWORDS, np.int64),
            exact=np.zeros(KEYWORDS, bool),
            relevance=vectors[:, 0].astype(np.float32),
            gram=(vectors @ vectors.T).astype(np.float32),
            repeats=0,
            tokens=KEYWORDS,
        )

    return tuple(map(one, range(count)))


def milliseconds(calls: list[float]) -> str:
    """Say the median of several rounds."""
    return f"{np.median(calls) / CALLS * 1000:.3f} ms"


def main() -> None:
    """Print a table of medians."""
    rows = []
    for count in (20, 100):
        found = candidates(count)
        table, settings = ScoreTable.of(found), RankSettings(tau=0.6)
        rows.append(
            [
                str(count),
                milliseconds(repeat(partial(ScoreTable.of, found), number=CALLS, repeat=ROUNDS)),
                milliseconds(repeat(partial(rerank, table, settings), number=CALLS, repeat=ROUNDS)),
            ]
        )
    columns = {
        "candidates": "right",
        "flatten, once a query": "right",
        "rank, each step of a slider": "right",
    }
    print_table(f"{KEYWORDS} keywords a candidate", columns, rows, [])


if __name__ == "__main__":
    main()
