"""The paper's Table 3: how good each method's ranking of a test collection is."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from causalviz.errors import ParameterError
from causalviz.evaluation.measures import (
    Difference,
    Qrels,
    Rankings,
    Scores,
    check_seed,
    means,
    measure,
    paired_difference,
)
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable

METHODS = ("similarity", "exact", "semantic", "fallback", "hybrid", "bm25")
"""Columns that need no reranker. bm25 ranks the whole collection; the others reorder the most similar documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What was measured, by method."""

    scores: Mapping[str, Scores]
    """Every query's measures."""
    means: Mapping[str, Mapping[str, float]]
    difference: Mapping[str, Difference]
    """Of nDCG@10 to similarity; without similarity itself, and empty for a single query, which has no interval."""


def settings_of(method: str, settings: RankSettings) -> RankSettings:
    """Return a method's ranking rule; all methods share tau and alpha.

    Raises:
        ParameterError: the method does not reorder candidates.
    """
    rules = {
        "similarity": replace(settings, method="similarity"),
        "exact": replace(settings, method="causal", mode="exact", empty_b="last"),
        "semantic": replace(settings, method="causal", mode="semantic", empty_b="last"),
        "fallback": replace(settings, method="causal", mode="semantic", empty_b="fallback"),
        "hybrid": replace(settings, method="hybrid", mode="semantic", empty_b="last"),
    }
    if method not in rules:
        raise ParameterError(f"there is no re-ranking method '{method}'; choose one of: {', '.join(rules)}.")
    return rules[method]


def reranked(trace: Trace, method: str, settings: RankSettings, top_k: int) -> list[str]:
    """Reorder the first ``top_k`` candidates of a trace; those beyond keep their places.

    Args:
        trace: Candidates in baseline order.
        method: Any of METHODS that reorders candidates.
        settings: tau and alpha.
        top_k: How many compete; scores are normalised among them alone.

    Returns:
        Document ids, best first.
    """
    first, rest = trace.candidates[:top_k], trace.candidates[top_k:]
    order = rerank(ScoreTable.of(first), settings_of(method, settings)).order
    return [first[int(i)].id for i in order] + [candidate.id for candidate in rest]


def draw_queries(queries: Mapping[str, str], sample: int | None, seed: int) -> dict[str, str]:
    """Draw queries without replacement; all of them when there are no more than ``sample``, or it is None.

    Args:
        queries: Text by id.
        sample: How many.
        seed: Same seed, same queries, whatever their order in the file.

    Raises:
        ParameterError: ``sample`` is below 1 or the seed negative.
    """
    check_seed(seed)
    if sample is None:
        return dict(queries)
    if sample < 1:
        raise ParameterError(
            f"the sample is {sample} queries, but at least one is needed; choose 1 or more, or leave --sample out."
        )
    if sample >= len(queries):
        return dict(queries)
    drawn = random.Random(seed).sample(sorted(queries), sample)  # noqa: S311 - a reproducible draw, no secret
    return {id_: queries[id_] for id_ in sorted(drawn)}


def evaluate(
    rankings: Mapping[str, Rankings], qrels: Qrels, seed: int, methods: Sequence[str] = METHODS
) -> Evaluation:
    """Measure every method and compare it with similarity.

    Args:
        rankings: By method, similarity among them.
        qrels: Of the queries to measure, at least one; a query a method misses scores 0.
        seed: Of the bootstrap.
        methods: Those to report.
    """
    scores = {name: measure(ranking, qrels) for name, ranking in rankings.items()}
    ndcg = {name: [values["ndcg@10"] for values in found.values()] for name, found in scores.items()}
    compared = [name for name in methods if name != "similarity"] if len(qrels) > 1 else []
    return Evaluation(
        scores={name: scores[name] for name in methods},
        means={name: means(scores[name]) for name in methods},
        difference={name: paired_difference(ndcg[name], ndcg["similarity"], seed) for name in compared},
    )


def verdict(evaluation: Evaluation) -> str:
    """Say for which methods the interval lies above or below zero."""
    if not evaluation.difference:
        if any(len(scores) > 1 for scores in evaluation.scores.values()):
            return "No method was compared with similarity."
        return "One query says nothing about others: no interval, no verdict; measure more."
    groups = {
        "better than similarity (interval above zero)": [
            name for name, found in evaluation.difference.items() if found.low > 0
        ],
        "worse (interval below zero)": [
            name for name, found in evaluation.difference.items() if found.high < 0
        ],
        "no difference shown (interval holds zero)": [
            name for name, found in evaluation.difference.items() if found.low <= 0 <= found.high
        ],
    }
    said = "; ".join(f"{what}: {', '.join(names) or 'none'}" for what, names in groups.items())
    return f"On these queries, {said}."
