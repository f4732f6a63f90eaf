"""The waterfall of one document: its keywords' shares of s_c, one step after the other."""

from dataclasses import dataclass

import numpy as np

from causalviz.rank import Ranking
from causalviz.records import Trace


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One keyword of B: it carries the running sum from ``start`` to ``end``."""

    keyword: int
    """Its index in the candidate's terms."""
    term: str
    weight: float
    """lambda."""
    relevance: float
    """p(t), the cosine of the keyword and the question."""
    share: float
    """lambda p(t) / sqrt(m' G m): its part of s_c, negative where it points away from the question."""
    start: float
    end: float


def waterfall(trace: Trace, ranking: Ranking, index: int) -> tuple[Step, ...]:
    """Order the shares of one document's s_c: those that raise it first, the largest first, then those that lower it.

    The first step starts at 0 and the last one ends at s_c, up to rounding in the last bits; between them each starts
    where the one before ended. Empty where B is empty; all shares are 0 where the keywords of B cancel out.

    Args:
        trace: What was ranked.
        ranking: How.
        index: The document's place in baseline order.
    """
    candidate = trace.candidates[index]
    shares = ranking.contributions[index, : len(candidate.terms)]
    own = np.flatnonzero(~ranking.in_a[index, : len(candidate.terms)])
    order = own[np.argsort(-shares[own], kind="stable")]
    falling = shares[order] < 0
    order = np.concatenate([order[~falling], order[falling][::-1]])
    ends = np.cumsum(shares[order])
    return tuple(
        Step(
            keyword=j,
            term=candidate.terms[j],
            weight=float(candidate.weights[j]),
            relevance=float(candidate.relevance[j]),
            share=float(shares[j]),
            start=start,
            end=end,
        )
        for j, start, end in zip(order.tolist(), [0.0, *ends.tolist()], ends.tolist(), strict=False)
    )
