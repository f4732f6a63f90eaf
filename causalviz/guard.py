"""Which candidates owe their similarity to stuffing? The measure is this knowledge base's own documents.

A text about the question's subject may well use its words often; one about something else may not. So every candidate
is compared with the documents that use any of the question's words without being candidates, in two things:

- *use*: how much it uses them, sum over the question's keywords u of w(u) ln(1 + tf(u)), w being the keyword's share of
  the question's weight and tf(u) how often u occurs;
- *topic*: take these words away, and see how close what is left is to what is left of the other candidates (cosine of
  TF-IDF vectors; the others count by their similarity).

A topic explains some use: up to RATIO times the cube of the topic, and always as much as is usual. A candidate is
suspected where it uses the words more than that, or where its density of them is beyond DENSE times what any document
is expected to reach by nature. The numbers were fitted on development data; docs/evaluation.md says on which, and what
each signal is worth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from causalviz.arrays import BoolArray, IndexVector
from causalviz.score import Float64Array

RATIO = 4.0
DENSE = 2.0
FEWEST = 4
"""Fewer documents that use the question's words tell nothing about what is usual."""
REFERENCE = 300
"""Documents the usual topic is taken from, at most."""
EXPECTED_BEYOND = 0.5
"""A density is unusual when fewer documents than this are expected to reach it by nature."""
QUARTILE = 0.25
"""The scale of natural densities is read at this quantile: stuffed documents lie above it."""
_PULL = 0.2
"""What the least similar candidate counts when the topic of the others is taken; the most similar counts 1 more."""
_LEAST = 1e-6
"""Keeps lengths of nothing from dividing by zero."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Usage:
    """How the N documents of a knowledge base use a question's words."""

    words: IndexVector
    """Those any document holds, by their places in the vocabulary."""
    use: Float64Array
    """(N,) see ``keyword_use``."""
    repeats: IndexVector
    """(N,) occurrences of the words in the document; in a long one, in its densest passage."""
    tokens: IndexVector
    """(N,) content words of the same."""

    @cached_property
    def densities(self) -> Float64Array:
        """(N,) Share of the content words that are the question's; 0 for a text without any."""
        share: Float64Array = self.repeats / np.maximum(self.tokens, 1)
        return share

    @cached_property
    def limit(self) -> float | None:
        """See ``density_limit``."""
        return density_limit(self.densities)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Suspicion:
    """What was found about n candidates; NaN where too few documents tell what is usual."""

    use: Float64Array
    """(n,) in multiples of what is usual."""
    topic: Float64Array
    """(n,) likewise."""
    suspect: BoolArray
    """(n,) Whether the document is suspected of stuffing."""


def keyword_use(occurrences: Sequence[IndexVector], shares: Sequence[float], documents: int) -> Float64Array:
    """Measure how much every document uses the question's keywords.

    Args:
        occurrences: By keyword, (N,) how often it occurs in each document.
        shares: By keyword, its share of the question's weight.
        documents: N.
    """
    use = np.zeros(documents)
    for counts, share in zip(occurrences, shares, strict=True):
        use += share * np.log1p(counts)
    return use


def density_limit(densities: Float64Array) -> float | None:
    """Return the density that documents reach only when keywords were put there.

    The densities of documents that use any of the question's words fall off roughly exponentially. The scale of that
    fall is read at the lower quartile, which stuffed documents do not move unless most are stuffed; the limit is
    where n exp(-limit / scale) = EXPECTED_BEYOND, n being the number of those documents.

    Returns:
        None where fewer than FEWEST documents use any of the words.
    """
    used = densities[densities > 0]
    if len(used) < FEWEST:
        return None
    scale = float(np.quantile(used, QUARTILE)) / -math.log(1 - QUARTILE)
    return scale * math.log(len(used) / EXPECTED_BEYOND)


def explained_use(topic: Float64Array) -> Float64Array:
    """Return how much use of the question's words a topic explains, both in multiples of what is usual; any shape."""
    # Products, not a power: the page computes the same.
    explained: Float64Array = np.maximum(RATIO * (topic * topic * topic), 1.0)
    return explained


def suspicion(usage: Usage, words: csr_matrix, rows: IndexVector, pull: Float64Array) -> Suspicion:
    """Compare the candidates' use of the question's words with their topic and with what is usual.

    Args:
        usage: Of all documents of the knowledge base.
        words: (N, V) TF-IDF weights.
        rows: (n,) the candidates.
        pull: (n,) their similarities, stretched to 0 .. 1.
    """
    suspect = usage.densities[rows] > (math.inf if usage.limit is None else DENSE * usage.limit)
    outside = np.setdiff1d(np.flatnonzero(usage.use), rows)
    if len(outside) < FEWEST:
        nothing = np.full(len(rows), np.nan)
        return Suspicion(use=nothing, topic=nothing, suspect=suspect)
    spread = np.linspace(0, len(outside) - 1, min(len(outside), REFERENCE)).round().astype(np.int64)
    keep = np.ones(words.shape[1])
    keep[usage.words] = 0.0
    own, usual = _topics(_rest(words[rows], keep), _rest(words[outside[spread]], keep), pull + _PULL)
    use, topic = usage.use[rows] / usage.use[outside].mean(), own / max(usual, _LEAST)
    suspect |= use > explained_use(topic)
    return Suspicion(use=use, topic=topic, suspect=suspect)


def _topics(candidates: csr_matrix, others: csr_matrix, pull: Float64Array) -> tuple[Float64Array, float]:
    """Return each candidate's closeness to the other candidates, (n,), and the mean closeness of others to them all."""
    total = candidates.T @ pull
    own = candidates @ total
    lengths2 = np.asarray(
        candidates.multiply(candidates).sum(axis=1)
    ).ravel()  # 1, or 0 where nothing is left
    total2 = float(total @ total)
    # The others' sum is the total without the candidate's own part; so are the products with it.
    rest2 = total2 - 2 * pull * own + pull**2 * lengths2
    closeness = (own - pull * lengths2) / np.sqrt(np.maximum(rest2, _LEAST))
    return closeness, float((others @ total).mean()) / max(math.sqrt(total2), _LEAST)


def _rest(words: csr_matrix, keep: Float64Array) -> csr_matrix:
    """Rows without some columns, scaled to length 1; zero where nothing is left."""
    left = words.astype(np.float64)
    left.data *= keep[left.indices]
    row = np.repeat(np.arange(left.shape[0]), np.diff(left.indptr))
    lengths = np.sqrt(np.bincount(row, left.data**2, left.shape[0]))
    left.data /= np.where(lengths > 0, lengths, 1.0)[row]
    return left
