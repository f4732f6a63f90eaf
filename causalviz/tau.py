"""Which absorption threshold suits an encoder: read off the cosines of random keyword pairs."""

import math
from dataclasses import dataclass

import numpy as np

from causalviz.arrays import FloatMatrix, FloatVector
from causalviz.records import DefaultTau

SHARE = 0.995
"""Of random keyword pairs, this share is to lie below tau (METHOD.md, section 4)."""
LEAST_TERMS = 50
"""Fewer keywords have too few pairs to say where 99.5 % of them lie."""
RANDOM_PAIRS = 2000
_SEED = 20260801


@dataclass(frozen=True, kw_only=True, slots=True)
class TauProposal:
    """A threshold read off a knowledge base, and what it was read from."""

    tau: float
    below: float
    """Share of the pairs whose cosine is less than tau; under SHARE only where several pairs tie at tau."""
    pairs: int

    @property
    def reason(self) -> str:
        """What the value rests on, for people."""
        return f"{100 * self.below:.1f} % of {self.pairs:,} random keyword pairs lie below"


def centre(vectors: FloatMatrix, mean: FloatVector) -> FloatMatrix:
    """Subtract the mean keyword vector and renormalise: (n, dim); a row equal to the mean becomes zero."""
    moved = vectors.astype(np.float64) - mean
    norms = np.linalg.norm(moved, axis=1, keepdims=True)
    centred: FloatMatrix = np.divide(moved, norms, out=np.zeros_like(moved), where=norms > 0).astype(
        np.float32
    )
    return centred


def draw_pairs(vectors: FloatMatrix, mean: FloatVector) -> dict[bool, FloatVector]:
    """Give ascending cosines of random pairs of distinct keywords, raw (False) and centred (True).

    Args:
        vectors: (T, dim), one row of norm 1 for each keyword.
        mean: (dim,), their mean.
    """
    n = len(vectors)
    if n <= 1:
        return dict.fromkeys((False, True), np.zeros(0, np.float32))
    draw = np.random.default_rng(_SEED)
    first = draw.integers(0, n, RANDOM_PAIRS)
    second = (first + draw.integers(1, n, RANDOM_PAIRS)) % n
    raw = vectors[first], vectors[second]
    centred = centre(raw[0], mean), centre(raw[1], mean)
    return {
        kind: np.sort(np.einsum("ij,ij->i", *pair).astype(np.float32))
        for kind, pair in ((False, raw), (True, centred))
    }


def propose_tau(random_pairs: FloatVector, terms: int) -> TauProposal | None:
    """Propose tau as an upper quantile of the cosines of random keyword pairs.

    tau is one of the cosines, the least that SHARE of them lie below: so a strictly increasing change of the cosines
    changes tau alike, and what tau absorbs stays the same.

    Args:
        random_pairs: (n,), cosines, ascending; n > 0 where there are terms enough.
        terms: Keywords the pairs were drawn from.

    Returns:
        None where there are under LEAST_TERMS terms.
    """
    if terms < LEAST_TERMS:
        return None
    n = len(random_pairs)
    # Rounding takes the cosine of a vector with itself a little past 1.
    tau = np.clip(random_pairs[min(math.ceil(SHARE * n), n - 1)], -1, 1)
    return TauProposal(tau=float(tau), below=float((random_pairs < tau).mean()), pairs=n)


def default_tau(known: float | None, proposal: TauProposal | None) -> DefaultTau:
    """Choose between the value measured for an encoder and the proposal of a knowledge base.

    Args:
        known: Encoder.default_tau.
        proposal: propose_tau.

    Returns:
        The encoder's value where there is one; else the proposal; else 1, at which only the question's own keywords
        are absorbed: of a cosine scale nobody knows, it alone absorbs nothing wrongly.
    """
    proposed = None if proposal is None else proposal.tau
    if known is not None:
        reason = f"tau {known:g} is known to suit this encoder."
        return DefaultTau(tau=known, origin="encoder", reason=reason, proposed=proposed)
    if proposal is not None:
        reason = f"tau {proposal.tau:.3f} is proposed for this knowledge base: {proposal.reason}."
        return DefaultTau(tau=proposal.tau, origin="knowledge base", reason=reason, proposed=proposed)
    reason = (
        f"No tau is known for this encoder, and the knowledge base has under {LEAST_TERMS} keywords to propose one "
        "from: only the question's own keywords are absorbed (tau 1)."
    )
    return DefaultTau(tau=1.0, origin="exact", reason=reason)
