"""The guard's verdict on a document in words; assets/view/model.js says the same in the page."""

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np

from causalviz.guard import DENSE, explained_use
from causalviz.records import Candidate, Trace

_NOTHING = 0.05
"""Less topic than this reads as 0.0."""
_SMALLEST = 0.1
"""Per cent; a share below it is not told exactly."""
_SMALL = 9.95
"""Per cent; a share below it keeps a decimal."""
_EXACT = Context(prec=50)
"""Holds every float32 with a decimal."""


def verdict(candidate: Candidate, trace: Trace) -> str:
    """Say whether a document is suspected of stuffing and what tells; without a full stop."""
    if candidate.suspect:
        why = reason(candidate, trace)
        return f"suspected of stuffing: {why}" if why else "suspected of stuffing"
    if candidate.use is None or candidate.topic is None:
        return "not suspected of stuffing: what use of the question’s words is usual here is not known"
    return (
        f"not suspected of stuffing: {_use(candidate.use)}, and the rest of it has {_topic(candidate.topic)}"
    )


def reason(candidate: Candidate, trace: Trace) -> str:
    """Say what a suspected document is suspected for; empty where the trace does not tell."""
    use, topic, limit = candidate.use, candidate.topic, trace.density_limit
    if use is not None and topic is not None and use > explained_use(np.array(topic)):
        return f"{_use(use)}, while the rest of it has {_topic(topic)}"
    if limit is not None and density(candidate) > DENSE * limit:
        return (
            f"the question’s words make up {percent(density(candidate))} of its content words, more than twice the "
            f"{percent(limit)} that documents here rarely exceed"
        )
    return ""


def density(candidate: Candidate) -> float:
    """Occurrences of the question's keywords per content word of the text; 0 for a text without any."""
    return candidate.repeats / candidate.tokens if candidate.tokens else 0.0


def percent(share: float) -> str:
    """Write a share as "31 %"; small ones keep a decimal, and none but zero reads as zero."""
    value = 100 * share
    if 0 < value < _SMALLEST:
        return f"under {_SMALLEST} %"
    return f"{_rounded(value, 1 if 0 < value < _SMALL else 0)} %"


def _use(use: float) -> str:
    return f"it uses the question’s words {_rounded(use, 1)} times as much as documents here usually do"


def _topic(topic: float) -> str:
    much = "next to nothing" if topic < _NOTHING else f"{_rounded(topic, 1)} times as much"
    return f"{much} to do with the other results"


def _rounded(value: float, decimals: int) -> str:
    """Round halves up, as browsers do."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT))
