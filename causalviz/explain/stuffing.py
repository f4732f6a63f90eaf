"""Is this document stuffed with the question's keywords? The evidence, each against its own reference."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from causalviz.arrays import BoolArray
from causalviz.explain.states import check_index
from causalviz.explain.suspicion import density, percent, verdict
from causalviz.guard import FEWEST, explained_use
from causalviz.partition import absorbed
from causalviz.records import Candidate, RankSettings, Trace
from causalviz.score import Float64Array

FENCE = 1.5
"""Tukey's fence: this many interquartile ranges above the upper quartile."""

UNUSUAL = 0.25
"""Where too few documents use the question's words to say what is usual, this density raises the flag."""

Kind = Literal["guard", "density", "absorbed", "duplicate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """One measure of stuffing and what it is compared with."""

    kind: Kind
    """guard: use of the question's words, against what the topic explains (guard.py), or too dense: the verdict.
    density: the question's keywords per content word of the text. absorbed: share of keyword weight in A. duplicate:
    whether (1 or 0) an earlier candidate has the very same text, or nearly the same words."""
    value: float | None
    """None where nothing tells what use is usual."""
    quantile: float | None
    """Share of the reference that lies below the value; None where there is no reference."""
    limit: float | None
    """The value from which on (for guard and density: above which) the flag is raised, from the reference; None where
    it tells nothing."""
    flagged: bool
    sentence: str


def stuffing_evidence(
    trace: Trace, settings: RankSettings, index: int
) -> tuple[Evidence, Evidence, Evidence, Evidence]:
    """Return the guard's verdict on one document, and the evidence on density, absorption and duplicates.

    A density raises a flag only where the guard has nothing better to judge by, or shares the suspicion.

    Args:
        trace: The question.
        settings: tau and mode decide A.
        index: The document's place in baseline order.

    Raises:
        ParameterError: there is no such candidate.
    """
    check_index(trace, index)
    candidate = trace.candidates[index]
    return (
        _guard(candidate, trace),
        _repetition(candidate, trace),
        _absorption(trace, settings, index),
        _duplicate(candidate),
    )


def share_in_a(candidate: Candidate, in_a: BoolArray) -> float:
    """Return the share of a document's keyword weight that lies in A; 0 for a document without keywords."""
    weights = candidate.weights.astype(np.float64)
    return float(weights[in_a].sum() / weights.sum()) if weights.size else 0.0


def _guard(candidate: Candidate, trace: Trace) -> Evidence:
    use, topic = candidate.use, candidate.topic
    sentence = verdict(candidate, trace)
    return Evidence(
        kind="guard",
        value=use,
        quantile=None,
        limit=None if topic is None else float(explained_use(np.array(topic))),
        flagged=candidate.suspect,
        sentence=f"{sentence[0].upper()}{sentence[1:]}.",
    )


def _repetition(candidate: Candidate, trace: Trace) -> Evidence:
    value, limit = density(candidate), trace.density_limit
    beyond = value >= UNUSUAL if limit is None else value > limit
    if not candidate.repeats:
        sentence = "Does not repeat the question’s words."
    else:
        times = "once" if candidate.repeats == 1 else f"{candidate.repeats} times"
        sentence = f"Uses the question’s words {times}, {percent(value)} of its content words"
        if limit is None:
            sentence += "; too few documents use them at all to say what is usual."
        else:
            sentence += f"; documents of this kind rarely exceed {percent(limit)}."
    return Evidence(
        kind="density",
        value=value,
        quantile=_quantile(trace.densities.astype(np.float64), value),
        limit=limit,
        flagged=beyond and (candidate.suspect or candidate.use is None),
        sentence=sentence,
    )


def _absorption(trace: Trace, settings: RankSettings, index: int) -> Evidence:
    shares = np.array(
        [
            share_in_a(one, absorbed(one.cosines, one.exact, settings.tau, settings.mode))
            for one in trace.candidates
        ]
    )
    value = float(shares[index])
    limit = None
    if len(shares) >= FEWEST:
        lower, upper = np.quantile(shares, [0.25, 0.75]).tolist()
        limit = min(1.0, upper + FENCE * (upper - lower))
    flagged = value > 0 and value >= (1.0 if limit is None else limit) and value > float(np.median(shares))
    sentence = f"{percent(value)} of its keyword weight is shared with the question"
    if value == 1.0:
        sentence += ": nothing but query keywords"
    elif limit is not None and flagged:
        sentence += f", more than the other candidates' usual {percent(float(np.median(shares)))}"
    return Evidence(
        kind="absorbed",
        value=value,
        quantile=_quantile(shares, value),
        limit=limit,
        flagged=flagged,
        sentence=sentence + ".",
    )


def _duplicate(candidate: Candidate) -> Evidence:
    if candidate.duplicate_of is not None:
        sentence = f"Same text as {candidate.duplicate_of}."
    elif candidate.near_duplicate_of is not None:
        sentence = f"Nearly the same words as {candidate.near_duplicate_of}."
    else:
        sentence = "No earlier candidate has the same or nearly the same text."
    double = candidate.duplicate_of or candidate.near_duplicate_of
    return Evidence(
        kind="duplicate",
        value=0.0 if double is None else 1.0,
        quantile=None,
        limit=1.0,
        flagged=double is not None,
        sentence=sentence,
    )


def _quantile(reference: Float64Array, value: float) -> float | None:
    return float((reference < value).mean()) if reference.size else None
