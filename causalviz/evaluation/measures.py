"""How good a ranking is: nDCG@10, P@5 and MRR@10 through ir_measures, and how sure a difference is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from causalviz.errors import MissingBackendError, ParameterError

MEASURES = {"ndcg@10": "nDCG@10", "p@5": "P@5", "mrr@10": "RR@10"}
"""ir_measures' name by ours; the gain of nDCG is the grade itself, as in trec_eval and BEIR."""
DEPTH = 10
"""Positions the measures look at."""
RESAMPLES = 2000
"""Of the bootstrap, and of the randomisation test."""
_INTERVAL = (0.025, 0.975)
_ROUNDING = 1e-12

Rankings = Mapping[str, Sequence[str]]
"""Document ids, best first, by query id."""
Qrels = Mapping[str, Mapping[str, int]]
"""Grade by query id and document id; above 0 is relevant."""
Scores = Mapping[str, Mapping[str, float]]
"""Value by query id and measure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Mean difference of two methods over the same queries, and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def measure(rankings: Rankings, qrels: Qrels) -> dict[str, dict[str, float]]:
    """Measure rankings query by query.

    Args:
        rankings: The order of each list is all that counts.
        qrels: The queries to measure; a document without a grade is not relevant.

    Returns:
        Every measure for every query of ``qrels``; one that ``rankings`` misses scores 0.

    Raises:
        MissingBackendError: ir_measures is absent.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingBackendError(
            "measuring needs the package ir_measures, which requirements.txt leaves out on Linux machines other than "
            "x86-64; run `pip install ir_measures==0.4.3`, which compiles a part of it there."
        ) from error
    scores = {query: dict.fromkeys(MEASURES, 0.0) for query in qrels}
    # Falling scores that are all different: no library's rule for ties can change the order.
    run = {
        query: {document: float(len(ranking) - i) for i, document in enumerate(ranking)}
        for query, ranking in rankings.items()
        if query in qrels and ranking
    }
    names = {ir_measures.parse_measure(theirs): name for name, theirs in MEASURES.items()}
    judged = {query: dict(grades) for query, grades in qrels.items()}
    for found in ir_measures.iter_calc(list(names), judged, run):
        scores[found.query_id][names[found.measure]] = float(found.value)
    return scores


def means(scores: Scores) -> dict[str, float]:
    """Average every measure over the queries, of which there must be one at least."""
    return {name: fmean(values[name] for values in scores.values()) for name in MEASURES}


def paired_difference(ours: Sequence[float], baseline: Sequence[float], seed: int) -> Difference:
    """Bootstrap the mean difference of two methods: resample the queries with replacement, 2,000 times.

    Args:
        ours: One value a query.
        baseline: The other method's values, same queries, same order.
        seed: Same seed, same interval.

    Raises:
        ParameterError: there are fewer than two queries, not as many values of one method as of the other, or the seed
            is negative.
    """
    differences = _differences(ours, baseline, seed)
    draws = np.random.default_rng(seed).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[draws].mean(axis=1), _INTERVAL)
    return Difference(mean=float(differences.mean()), low=float(low), high=float(high))


def randomisation_p(ours: Sequence[float], baseline: Sequence[float], seed: int) -> float:
    """Return the two-sided p of a paired randomisation test of the mean difference.

    Were the methods alike, each query's two values could as well be the other way round: how often does a swap by coin
    give a mean difference at least as large? All 2^n ways are counted where there are no more than RESAMPLES, else that
    many are drawn and the observed one counts as one more.

    Args:
        ours: One value a query.
        baseline: The other method's values, same queries, same order.
        seed: Same seed, same p.

    Raises:
        ParameterError: as for paired_difference.
    """
    differences = _differences(ours, baseline, seed)
    n = len(differences)
    whole = 2**n <= RESAMPLES
    if whole:
        swapped = np.arange(2**n)[:, None] >> np.arange(n) & 1
    else:
        swapped = np.random.default_rng(seed).integers(0, 2, (RESAMPLES, n))
    sums = differences.sum() - 2.0 * (swapped @ differences)
    # Sums of the same numbers in another order differ by rounding.
    as_large = int((np.abs(sums) >= abs(differences.sum()) - _ROUNDING * n).sum())
    return as_large / 2**n if whole else (as_large + 1) / (RESAMPLES + 1)


def _differences(ours: Sequence[float], baseline: Sequence[float], seed: int) -> NDArray[np.float64]:
    check_seed(seed)
    if len(ours) != len(baseline) or len(ours) <= 1:
        raise ParameterError(
            f"there are {len(ours)} and {len(baseline)} values to compare, but an interval needs the same queries for "
            "both methods and at least two of them; measure more queries."
        )
    return np.array(ours, np.float64) - np.array(baseline, np.float64)


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes.

    Raises:
        ParameterError: it is negative.
    """
    if seed < 0:
        raise ParameterError(f"the seed is {seed}, but a seed is a whole number from 0; choose one.")
