"""The paper's Table 3: how good each method's ranking of a test collection is."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from causalviz.arrays import IndexVector
from causalviz.errors import ParameterError
from causalviz.evaluation.measures import (
    DEPTH,
    Difference,
    Qrels,
    Rankings,
    Scores,
    check_seed,
    means,
    measure,
    paired_difference,
    randomisation_p,
)
from causalviz.evaluation.statistics import Strata, query_statistics
from causalviz.rank import Ranking, rerank
from causalviz.records import EmptyB, Method, Mode, RankSettings, Trace
from causalviz.score import ScoreTable


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    method: Method
    mode: Mode = "semantic"
    empty_b: EmptyB = "last"


CROSS_ENCODER = "cross-encoder"
"""The column of a trained reranker, where one scored the candidates."""
_RULES = {
    "similarity": _Rule(method="similarity"),
    "exact": _Rule(method="causal", mode="exact"),
    "semantic": _Rule(method="causal"),
    "fallback": _Rule(method="causal", empty_b="fallback"),
    "hybrid": _Rule(method="hybrid"),
    "guarded": _Rule(method="guarded"),
    CROSS_ENCODER: _Rule(method="cross-encoder"),
}
METHODS = (*(name for name in _RULES if name != CROSS_ENCODER), "bm25")
"""Columns that need no trained reranker. bm25 ranks the whole collection; the others reorder the most similar ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What was measured, by method."""

    scores: Mapping[str, Scores]
    """Every query's measures, by similarity too where that is not reported."""
    means: Mapping[str, Mapping[str, float]]
    """Of the methods to report."""
    difference: Mapping[str, Difference]
    """Of nDCG@10 to similarity; without similarity itself, and empty for a single query, which has no interval."""
    p: Mapping[str, float]
    """Of the paired randomisation test of that difference, for the same methods."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What is kept of one question."""

    rankings: Mapping[str, Sequence[str]]
    """By every one of METHODS, and the cross-encoder where it scored: the ids the measures look at, best first."""
    statistics: Mapping[str, float]
    """By name (evaluation/statistics.py)."""


def answer(trace: Trace, settings: RankSettings, top_k: int, bm25: Sequence[str]) -> Answer:
    """Rank one question's candidates by every method.

    Args:
        trace: Candidates in baseline order.
        settings: tau and alpha.
        top_k: How many compete.
        bm25: The collection's documents by BM25.
    """
    rankings = reranked_by_all(trace, settings, top_k) | {"bm25": list(bm25)}
    return Answer(
        rankings={name: ids[:DEPTH] for name, ids in rankings.items()},
        statistics=query_statistics(trace, settings),
    )


def settings_of(method: str, settings: RankSettings) -> RankSettings:
    """Return a method's ranking rule; all methods share tau and alpha.

    Raises:
        ParameterError: the method does not reorder candidates.
    """
    if method not in _RULES:
        raise ParameterError(f"there is no re-ranking method '{method}'; choose one of: {', '.join(_RULES)}.")
    rule = _RULES[method]
    return replace(settings, method=rule.method, mode=rule.mode, empty_b=rule.empty_b)


def reranked(trace: Trace, method: str, settings: RankSettings, top_k: int) -> list[str]:
    """Reorder the first ``top_k`` candidates of a trace; those beyond keep their places.

    Args:
        trace: Candidates in baseline order.
        method: Any of METHODS that reorders candidates, or the cross-encoder where it scored them.
        settings: tau and alpha.
        top_k: How many compete; scores are normalised among them alone.

    Returns:
        Document ids, best first.
    """
    ranking = rerank(ScoreTable.of(trace.candidates[:top_k]), settings_of(method, settings))
    return _ids(trace, ranking.rank)


def reranked_by_all(trace: Trace, settings: RankSettings, top_k: int) -> dict[str, list[str]]:
    """Reorder by every method the trace has the numbers for, at less cost than one by one; see reranked."""
    table = ScoreTable.of(trace.candidates[:top_k])
    semantic, exact = (rerank(table, settings_of(name, settings)) for name in ("semantic", "exact"))
    # Without an empty B there is nothing to fall back from.
    fallback = rerank(table, settings_of("fallback", settings)) if semantic.empty_b.any() else semantic
    rankings = {("semantic", "last"): semantic, ("exact", "last"): exact, ("semantic", "fallback"): fallback}
    return {
        name: _ids(trace, _rank(rankings[rule.mode, rule.empty_b], rule.method))
        for name, rule in _RULES.items()
        if name != CROSS_ENCODER or trace.reranker is not None
    }


def _rank(ranking: Ranking, method: Method) -> IndexVector:
    return {
        "similarity": ranking.similarity_rank,
        "causal": ranking.causal_rank,
        "hybrid": ranking.hybrid_rank,
        "guarded": ranking.guarded_rank,
        "cross-encoder": ranking.cross_rank,
    }[method]


def _ids(trace: Trace, rank: IndexVector) -> list[str]:
    first = [trace.candidates[i] for i in rank.argsort().tolist()]
    return [candidate.id for candidate in (*first, *trace.candidates[len(first) :])]


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
        seed: Of the bootstrap and of the randomisation test.
        methods: Those to report.
    """
    return _compared({name: measure(ranking, qrels) for name, ranking in rankings.items()}, seed, methods)


def stratified(evaluation: Evaluation, strata: Strata, seed: int) -> dict[str, Evaluation]:
    """Compare the same methods within each stratum.

    Args:
        evaluation: Of all queries; its methods are compared.
        strata: Ids of its queries by stratum; each stratum holds one at least.
        seed: As for evaluate.
    """
    return {
        name: _compared(
            {method: {id_: scores[id_] for id_ in ids} for method, scores in evaluation.scores.items()},
            seed,
            list(evaluation.means),
        )
        for name, ids in strata.items()
    }


def _compared(scores: Mapping[str, Scores], seed: int, methods: Sequence[str]) -> Evaluation:
    ndcg = {name: [values["ndcg@10"] for values in found.values()] for name, found in scores.items()}
    baseline = ndcg["similarity"]
    compared = [name for name in methods if name != "similarity"] if len(baseline) > 1 else []
    return Evaluation(
        scores=scores,
        means={name: means(scores[name]) for name in methods},
        difference={name: paired_difference(ndcg[name], baseline, seed) for name in compared},
        p={name: randomisation_p(ndcg[name], baseline, seed) for name in compared},
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
