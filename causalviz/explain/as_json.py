"""The explanations as plain JSON values: one form for `explain --json`, the page and the report.

Thresholds are the exact doubles of their float32 values, alphas are exact doubles; both ends of every range belong to
it.
"""

import math
from dataclasses import asdict

from causalviz.explain.contributions import waterfall
from causalviz.explain.flips import neighbour_flips, to_be_first
from causalviz.explain.leave_one_out import leave_one_out
from causalviz.explain.plane import plane
from causalviz.explain.region import first_region
from causalviz.explain.states import TauStates, check_index
from causalviz.explain.stuffing import stuffing_evidence
from causalviz.explain.tau_path import tau_path
from causalviz.explain.why import why_sentence
from causalviz.rank import Ranking, rerank
from causalviz.records import JsonObject


def ranking_explained(states: TauStates) -> JsonObject:
    """Explain a whole ranking: each document's standing, where neighbours swap, and all ranks over tau.

    Keys: query, query_keywords, encoder, centred, reranker, tau, alpha, method, mode, empty_b; documents (in final
    order), flips (upper, lower, tau, alpha) and tau_path (low, high, ranks by document id; intervals of
    equal ranks merged).
    """
    trace = states.trace
    ids = [candidate.id for candidate in trace.candidates]
    ranking = rerank(states.table, states.settings)
    path = tau_path(states).by_rank()
    return {
        **_question(states),
        "documents": [_standing(states, ranking, i) for i in ranking.order.tolist()],
        "flips": [
            {"upper": ids[flip.upper], "lower": ids[flip.lower], "tau": flip.tau, "alpha": flip.alpha}
            for flip in neighbour_flips(states)
        ],
        "tau_path": [
            {"low": low, "high": high, "ranks": dict(zip(ids, ranks, strict=True))}
            for low, high, ranks in zip(
                path.low.tolist(), path.high.tolist(), path.ranks.tolist(), strict=True
            )
        ],
    }


def document_explained(states: TauStates, index: int) -> JsonObject:
    """Explain one document's rank down to its keywords.

    Keys: as ``ranking_explained`` for the question; document; A and B (keywords; in B with the steps that add up to
    s_c); leave_one_out; first (what it would take) and first_region; tau_path; stuffing.

    Args:
        states: The current point and all states.
        index: The document's place in baseline order.

    Raises:
        ParameterError: there is no such candidate.
    """
    check_index(states.trace, index)
    ranking = rerank(states.table, states.settings)
    cells = plane(states, index)
    region = first_region(cells)
    terms = states.trace.candidates[index].terms
    return {
        **_question(states),
        "document": _standing(states, ranking, index),
        "A": [
            _keyword(states, index, j)
            for j, in_a in enumerate(ranking.in_a[index, : len(terms)].tolist())
            if in_a
        ],
        "B": [
            {
                **_keyword(states, index, step.keyword),
                "relevance": step.relevance,
                "share": step.share,
                "start": step.start,
                "end": step.end,
            }
            for step in waterfall(states.trace, ranking, index)
        ],
        "leave_one_out": [
            {
                "term": terms[moved.keyword],
                "in_a": moved.in_a,
                "a": asdict(moved.a),
                "b": asdict(moved.b),
            }
            for moved in leave_one_out(states, index)
        ],
        "first": asdict(to_be_first(states, index, cells)),
        "first_region": None if region is None else {**asdict(region), "sentence": region.sentence()},
        "tau_path": [asdict(span) for span in tau_path(states).of(index)],
        "stuffing": [asdict(found) for found in stuffing_evidence(states.trace, states.settings, index)],
    }


def _question(states: TauStates) -> JsonObject:
    trace = states.trace
    return {
        "query": trace.query,
        "query_keywords": [keyword.term for keyword in trace.query_keywords],
        "encoder": trace.encoder,
        "centred": trace.centred,
        "reranker": trace.reranker,
        **asdict(states.settings),
    }


def _standing(states: TauStates, ranking: Ranking, index: int) -> JsonObject:
    candidate = states.trace.candidates[index]
    return {
        "id": candidate.id,
        "title": candidate.title,
        "rank": int(ranking.rank[index]),
        "similarity_rank": int(ranking.similarity_rank[index]),
        "causal_rank": int(ranking.causal_rank[index]),
        "guarded_rank": int(ranking.guarded_rank[index]),
        "cross_encoder_rank": None if states.trace.reranker is None else int(ranking.cross_rank[index]),
        "similarity": candidate.similarity,
        "causal": _number(float(ranking.causal[index])),
        "hybrid": _number(float(ranking.hybrid[index])),
        "cross_encoder": candidate.cross_encoder,
        "final": _number(float(ranking.final[index])),
        "empty_b": bool(ranking.empty_b[index]),
        "suspect": candidate.suspect,
        "why": why_sentence(states.trace, ranking, states.settings, index),
    }


def _keyword(states: TauStates, index: int, j: int) -> JsonObject:
    candidate = states.trace.candidates[index]
    match = int(candidate.matches[j])
    return {
        "term": candidate.terms[j],
        "weight": float(candidate.weights[j]),
        "match": states.trace.query_keywords[match].term if match >= 0 else None,
        "cosine": _number(float(candidate.cosines[j])),
        "exact": bool(candidate.exact[j]),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
