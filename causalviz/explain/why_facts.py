"""What is true of one document in one ranking: the facts that its sentence (why.py) puts into words."""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from causalviz.explain.states import check_index, scores_with
from causalviz.explain.suspicion import reason
from causalviz.rank import Ranking
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable

WORTH_NAMING = 0.02
"""A keyword pulling the other way is named from this part of all contributions (in size) on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What is true of one document in one ranking."""

    settings: RankSettings
    candidates: int
    before: int
    """Rank by similarity."""
    now: int
    """Rank."""
    causal_rank: int
    suspect: bool
    """Suspected of stuffing."""
    reason: str
    """What for; empty where nothing tells, or it is not."""
    crossed: bool
    """The cross-encoder scored it."""
    any_crossed: bool
    """It scored a candidate at least."""
    keywords: int
    empty: bool
    """No keyword in B."""
    all_empty: bool
    vanished: bool
    """Its keywords in B cancel out."""
    passed: int
    """Documents it passed that have a score of their own."""
    passed_last: int
    """Documents it passed because they went last without B."""
    overtaken: int
    """Documents that passed it."""
    filled_in: bool
    """Similarity stands in for the causal score of a document that changed places with it."""
    ties: int
    """Documents of the same final score."""
    shared: tuple[str, ...]
    """Keywords in A that are the question's own, the heaviest first."""
    close: tuple[tuple[str, str], ...]
    """The other keywords in A, likewise, each with the question's keyword it is close to."""
    left: tuple[str, ...]
    """Keywords in B that speak for it, the strongest first; all of B if none does."""
    pulling: bool
    """Whether any keyword in B speaks for it."""
    against: tuple[str, ...]
    """Keywords in B that speak against it and weigh enough to be named."""

    @property
    def last(self) -> bool:
        """Whether documents without B go last."""
        return self.settings.empty_b == "last"


def facts(trace: Trace, ranking: Ranking, settings: RankSettings, index: int) -> Facts:
    """Collect the facts about one document; arguments as for ``why.why_sentence``.

    Raises:
        ParameterError: there is no such candidate.
    """
    check_index(trace, index)
    last = settings.empty_b == "last"
    was_above = ranking.similarity_rank < ranking.similarity_rank[index]
    is_above = ranking.rank < ranking.rank[index]
    others = np.arange(len(ranking.rank)) != index
    passed = was_above & ~is_above & others
    overtook = is_above & ~was_above & others
    went_last = passed & ranking.empty_b if last else np.zeros_like(passed)
    terms = trace.candidates[index].terms
    shares = ranking.contributions[index, : len(terms)].tolist()
    weights = trace.candidates[index].weights.tolist()
    in_a = ranking.in_a[index, : len(terms)].tolist()
    own = [j for j in range(len(terms)) if not in_a[j]]
    pulling = sorted((j for j in own if shares[j] > 0), key=lambda j: -shares[j])
    least = WORTH_NAMING * reduce(add, map(abs, shares), 0.0)
    against = sorted((j for j in own if shares[j] < 0 and -shares[j] >= least), key=lambda j: shares[j])
    left = pulling or sorted(own, key=lambda j: shares[j])
    set_aside = sorted((j for j in range(len(terms)) if in_a[j]), key=lambda j: -weights[j])
    exact = trace.candidates[index].exact.tolist()
    matches = trace.candidates[index].matches.tolist()
    return Facts(
        settings=settings,
        candidates=len(ranking.rank),
        before=int(ranking.similarity_rank[index]),
        now=int(ranking.rank[index]),
        causal_rank=int(ranking.causal_rank[index]),
        suspect=trace.candidates[index].suspect,
        reason=reason(trace.candidates[index], trace) if trace.candidates[index].suspect else "",
        crossed=not np.isnan(ranking.cross[index]),
        any_crossed=not np.isnan(ranking.cross).all(),
        keywords=len(terms),
        empty=bool(ranking.empty_b[index]),
        all_empty=bool(ranking.empty_b.all()),
        vanished=not ranking.empty_b[index] and _cancels_out(trace, ranking, index),
        passed=int((passed & ~went_last).sum()),
        passed_last=int(went_last.sum()),
        overtaken=int(overtook.sum()),
        filled_in=not last and bool(((passed | overtook) & ranking.empty_b).any()),
        ties=int(((ranking.final == ranking.final[index]) & others).sum()),
        shared=tuple(terms[j] for j in set_aside if exact[j]),
        close=tuple((terms[j], trace.query_keywords[matches[j]].term) for j in set_aside if not exact[j]),
        left=tuple(terms[j] for j in left),
        pulling=bool(pulling),
        against=tuple(terms[j] for j in against),
    )


def _cancels_out(trace: Trace, ranking: Ranking, index: int) -> bool:
    """Whether score.py takes the centroid of B for the zero vector."""
    table = ScoreTable.of((trace.candidates[index],))
    # With a relevance of 1 for every keyword the score is total weight / length: 0 only where the length counts as 0.
    ones = replace(table, relevance=np.ones_like(table.relevance))
    in_a = ranking.in_a[index : index + 1, : table.weights.shape[1]]
    return bool(scores_with(ones, np.zeros(1, np.int64), in_a)[0] == 0)
