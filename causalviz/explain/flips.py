"""What it would take: the nearest tau and alpha at which two documents swap or one becomes first."""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from causalviz.explain.plane import Plane, plane, rank_at
from causalviz.explain.states import TauStates, check_index, orders_of, ranks_of_rows
from causalviz.explain.tau_path import nearest_where


@dataclass(frozen=True, kw_only=True, slots=True)
class NeighbourFlip:
    """Two neighbours of the current ranking, and where the lower would overtake the upper."""

    upper: int
    """Index of the document that is ahead now."""
    lower: int
    tau: float | None
    """The threshold nearest to the current one (a float32) at which it does, alpha as it is; None: at none."""
    alpha: float | None
    """The nearest double alpha at which it does, tau as it is; None: at none, or the method takes no account of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstPlace:
    """What it would take for a document to be first."""

    rank: int
    """Now; 1 makes every answer below the current setting."""
    tau: float | None
    """The nearest threshold at which it is first, alpha as it is."""
    alpha: float | None
    """The nearest alpha at which it is first, tau as it is."""
    both: tuple[float, float] | None
    """The nearest (tau, alpha) at which it is first."""


def neighbour_flips(states: TauStates) -> tuple[NeighbourFlip, ...]:
    """Return the flip point of each neighbouring pair of the current ranking, best pair first.

    A tau given is the float32 threshold at an end of an interval (of two equally near, the lower one). At an alpha
    given, ``rank.rerank`` has the pair swapped, and at the next double towards the current alpha it has not; no swap
    lies nearer, unless inside the same crossing, some 1e-14 wide (crossings.py).
    """
    settings = states.settings
    now = states.at(settings.tau)
    ranks = ranks_of_rows(states.final(settings.alpha))
    order = orders_of(states.final_at(now, settings.alpha)[None, :])[0].tolist()
    return tuple(
        NeighbourFlip(
            upper=upper,
            lower=lower,
            tau=nearest_where(states, ranks[:, lower] < ranks[:, upper]),
            alpha=_swap(states, now, upper, lower),
        )
        for upper, lower in pairwise(order)
    )


def to_be_first(states: TauStates, index: int, of: Plane | None = None) -> FirstPlace:
    """Say what it would take for a document to be first.

    How near a (tau, alpha) is, is measured in shares of the range: of alpha's 0 to 1, and of tau's from the lowest
    cosine at which any keyword moves to 1. Places that exist only inside a crossing (crossings.py), some 1e-14 wide,
    are not looked for.

    Args:
        states: The current point and all states.
        index: The document.
        of: Its map, if it is at hand.

    Raises:
        ParameterError: there is no such candidate.
    """
    check_index(states.trace, index)
    settings = states.settings
    rank = rank_at(states, index, states.at(settings.tau), settings.alpha)
    if rank == 1:
        return FirstPlace(rank=1, tau=settings.tau, alpha=settings.alpha, both=(settings.tau, settings.alpha))
    ranks = ranks_of_rows(states.final(settings.alpha))
    cells = of or plane(states, index)
    return FirstPlace(
        rank=rank,
        tau=nearest_where(states, ranks[:, index] == 1),
        alpha=_first_alpha(states, cells),
        both=_first_point(states, cells),
    )


def _swap(states: TauStates, interval: int, upper: int, lower: int) -> float | None:
    """Return the nearest alpha at which ``lower`` is ahead of ``upper``, on one interval of tau."""
    if states.settings.method != "hybrid":
        return None
    similarity, causal = states.normalised_similarity, states.normalised_causal[interval]
    earlier, later = min(upper, lower), max(upper, lower)
    if not causal[later] > causal[earlier]:  # also where one of them has no score
        return None
    s_upper, s_lower = float(similarity[upper]), float(similarity[lower])
    c_upper, c_lower = float(causal[upper]), float(causal[lower])

    def swapped(alpha: float) -> bool:
        above = alpha * s_upper + (1.0 - alpha) * c_upper
        below = alpha * s_lower + (1.0 - alpha) * c_lower
        return below >= above if lower < upper else below > above

    # Whoever is earlier in baseline order leads at alpha 1, the other at 0; both sums are exact there.
    return nearest_flip(states.settings.alpha, 1.0 if lower < upper else 0.0, swapped)


def _first_alpha(states: TauStates, of: Plane) -> float | None:
    """Return the alpha nearest to the current one at which a document is first, on the current interval of tau."""
    alpha, interval = states.settings.alpha, states.at(states.settings.tau)
    lows, highs = of.first()
    row = int(np.searchsorted(of.high, np.float32(states.settings.tau)))
    low, high = float(lows[row]), float(highs[row])
    if states.settings.method != "hybrid" or math.isnan(low):
        return None
    inside = min(max(alpha, low), high)
    return nearest_flip(alpha, inside, lambda value: rank_at(states, of.index, interval, value) == 1)


def _first_point(states: TauStates, of: Plane) -> tuple[float, float] | None:
    """Return the point nearest to the current one in the cells in which the document is first."""
    tau, alpha = states.settings.tau, states.settings.alpha
    low, high = of.first()
    found = np.flatnonzero(~np.isnan(low))
    if not found.size:
        return None
    at = float(np.float32(tau))
    taus = np.clip(np.full(len(found), at), of.low[found], of.high[found])
    alphas = np.clip(np.full(len(found), alpha), low[found], high[found])
    span = 1.0 - states.start_of_change or 1.0
    nearest = int(np.argmin(((taus - at) / span) ** 2 + (alphas - alpha) ** 2))
    # In the current row the current tau itself stays, not its float32 value.
    return (tau if taus[nearest] == at else float(taus[nearest])), float(alphas[nearest])


def nearest_flip(outside: float, inside: float, holds: Callable[[float], bool]) -> float:
    """Return a double next to which a condition on alpha begins to hold, between two points.

    Args:
        outside: In [0, 1]; the condition does not hold there.
        inside: In [0, 1]; it does.
        holds: The condition.

    Returns:
        A double at which it holds and whose neighbour towards ``outside`` is one at which it does not; the only such
        double where the condition changes once.
    """
    # Doubles from 0 on are ordered as their bits are.
    no, yes = _bits(outside), _bits(inside)
    while abs(yes - no) > 1:
        middle = (no + yes) // 2
        if holds(_double(middle)):
            yes = middle
        else:
            no = middle
    return _double(yes)


def _bits(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]  # + 0.0: no negative zero
    return bits


def _double(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value
