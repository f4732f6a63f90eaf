"""With and without each keyword: what a document's score and rank would be if one keyword changed sides."""

import math
from dataclasses import dataclass

import numpy as np

from causalviz.explain.states import TauStates, check_index, ranks_of_rows, scores_with, stretched
from causalviz.partition import absorbed


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A document's standing; scores are None where B is empty and the rule is to rank it last."""

    causal: float | None
    """s_c, or s_sim where B is empty and the fallback gives it."""
    hybrid: float | None
    """Normalised anew over all candidates."""
    rank: int
    """By the chosen method."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """One keyword on either side, all others as they are."""

    keyword: int
    """Its index in the candidate's terms."""
    in_a: bool
    """Where it is now."""
    a: Outcome
    """With the keyword in A: set aside."""
    b: Outcome
    """With the keyword in B: counted."""

    @property
    def now(self) -> Outcome:
        """The document as it stands."""
        return self.a if self.in_a else self.b

    @property
    def otherwise(self) -> Outcome:
        """The document with this one keyword on the other side."""
        return self.b if self.in_a else self.a


def leave_one_out(states: TauStates, index: int) -> tuple[Moved, ...]:
    """Move each keyword of a document to the other side, one at a time, and rank again.

    Args:
        states: Its settings are the point at which to look.
        index: The document.

    Raises:
        ParameterError: there is no such candidate.
    """
    check_index(states.trace, index)
    settings, table = states.settings, states.table
    size = len(states.trace.candidates[index].terms)
    in_a = absorbed(table.cosines[index], table.exact[index], settings.tau, settings.mode)
    sides = np.repeat(in_a[None, :], size + 1, axis=0)
    sides[np.arange(size), np.arange(size)] ^= True
    causal = scores_with(table, np.full(size + 1, index), sides)
    if settings.empty_b == "fallback":
        causal = np.where(np.isnan(causal), table.similarity[index], causal)
    columns = np.repeat(states.causal[states.at(settings.tau)][None, :], size + 1, axis=0)
    columns[:, index] = causal
    normalised = stretched(columns)
    ranks = ranks_of_rows(states.mixed(columns, normalised, settings.alpha))[:, index]
    hybrid = (
        settings.alpha * states.normalised_similarity[index] + (1.0 - settings.alpha) * normalised[:, index]
    )
    outcomes = [
        Outcome(causal=_number(c), hybrid=_number(h), rank=r)
        for c, h, r in zip(causal.tolist(), hybrid.tolist(), ranks.tolist(), strict=True)
    ]
    now = outcomes[-1]
    return tuple(
        Moved(keyword=j, in_a=True, a=now, b=outcomes[j])
        if in_a[j]
        else Moved(keyword=j, in_a=False, a=outcomes[j], b=now)
        for j in range(size)
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
