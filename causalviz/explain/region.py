"""The largest rectangle of the (tau, alpha) plane in which something holds, and its sentence."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

import numpy as np

from causalviz.arrays import FloatVector
from causalviz.explain.plane import Plane

_KEPT = Decimal("0.8")
"""A rounded range keeps at least this part of the exact one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """A rectangle of the plane; all four ends belong to it, tau in float32 and alpha in doubles."""

    tau_low: float
    tau_high: float
    alpha_low: float
    alpha_high: float

    def sentence(self, what: str = "first") -> str:
        """Say where it holds, e.g. "first for tau 0.87-0.91 at any alpha below 0.4".

        Numbers are rounded into the region, so that the sentence is true as it stands.
        """
        # A tau is read as float32, so that 0.8 is inside a region that ends at the float32 next to 0.8.
        ends = (str(np.float32(self.tau_low)), str(np.float32(self.tau_high)))
        tau = _range(*ends, ("-1.0", "1.0"), ("up to", "from"))
        ends = (repr(self.alpha_low), repr(self.alpha_high))
        alpha = _range(*ends, ("0.0", "1.0"), ("below", "above"))
        alpha = f"alpha{alpha}" if alpha[1:2].isdigit() else f"any alpha{alpha}"
        return f"{what} for tau{tau} at {alpha}" if tau else f"{what} at any tau and {alpha}"


class Stretch(NamedTuple):
    """Alphas ``low`` to ``high`` of row ``row`` in which something holds."""

    row: int
    low: float
    high: float


def first_region(plane: Plane) -> Region | None:
    """Return the largest rectangle in which the document of a plane is first; None where it never is.

    Size is the width in tau times the width in alpha. Width in tau is counted from the lowest cosine at which any
    keyword moves: below it every keyword is absorbed, and an encoder whose cosines all lie above 0.8 would otherwise
    make that dead range the largest of all. (Measured in random pairs absorbed it would be the largest, too.)
    Regions of no size are compared by their whole width in tau, then in alpha.
    """
    low, high = plane.first()
    rows = np.flatnonzero(~np.isnan(low))
    stretches = [
        Stretch(*s) for s in zip(rows.tolist(), low[rows].tolist(), high[rows].tolist(), strict=True)
    ]
    return largest(plane.low, plane.high, stretches, plane.states.start_of_change)


def largest(
    tau_low: FloatVector, tau_high: FloatVector, stretches: list[Stretch], counted_from: float
) -> Region | None:
    """Return the largest rectangle within rows of stretches.

    Args:
        tau_low: (R,) first tau of each row; rows adjoin.
        tau_high: (R,) last tau of each row.
        stretches: By row; several of one row do not overlap.
        counted_from: Thresholds below it have no width.
    """
    rows = _Rows(tau_low.tolist(), tau_high.tolist(), stretches, counted_from)
    best, best_size = None, (-1.0, -1.0, -1.0)
    for start in stretches:
        if rows.begins_earlier(start):
            continue
        end = rows.run_end[start.row]
        parts = [start]
        for row in range(start.row, end + 1):
            parts = [part for whole in parts for part in rows.within(row, whole)]
            parts = [part for part in parts if rows.size(start.row, end, part) > best_size]
            if not parts:
                break
            for part in parts:
                if (size := rows.size(start.row, row, part)) > best_size:
                    best, best_size = (start.row, row, part), size
    if best is None:
        return None
    first, last, part = best
    return Region(tau_low=rows.low[first], tau_high=rows.high[last], alpha_low=part.low, alpha_high=part.high)


class _Rows:
    """Stretches by row, and what is needed to measure rectangles of them."""

    def __init__(
        self, low: list[float], high: list[float], stretches: list[Stretch], counted_from: float
    ) -> None:
        self.low, self.high, self.counted_from = low, high, counted_from
        self.stretches: dict[int, list[Stretch]] = {}
        for stretch in stretches:
            self.stretches.setdefault(stretch.row, []).append(stretch)
        self.run_end: dict[int, int] = {}
        """The last row of the unbroken run of rows with stretches that a row is in."""
        for row in sorted(self.stretches, reverse=True):
            self.run_end[row] = self.run_end.get(row + 1, row)

    def begins_earlier(self, start: Stretch) -> bool:
        """Whether the row before holds all of a stretch, so that no largest rectangle begins with it."""
        return any(
            other.low <= start.low and start.high <= other.high
            for other in self.stretches.get(start.row - 1, ())
        )

    def within(self, row: int, whole: Stretch) -> list[Stretch]:
        """Return the parts of a stretch that hold in a row as well."""
        return [
            Stretch(row, max(whole.low, other.low), min(whole.high, other.high))
            for other in self.stretches[row]
            if other.low <= whole.high and other.high >= whole.low
        ]

    def size(self, first: int, last: int, part: Stretch) -> tuple[float, float, float]:
        """Measure a rectangle: area that counts, whole width in tau, width in alpha."""
        start, end = self.low[first], self.high[last]
        width = part.high - part.low
        return max(0.0, end - max(start, self.counted_from)) * width, end - start, width


def _range(low: str, high: str, whole: tuple[str, str], words: tuple[str, str]) -> str:
    """Name a range in words, its ends rounded inwards; empty for the whole.

    Args:
        low: First number, in the shortest digits that mean it.
        high: Last number, likewise.
        whole: All there is.
        words: For a range that begins where the whole does, and for one that ends where it does.
    """
    if (low, high) == whole:
        return ""
    if low == high:
        return f" {low}"
    shown_low, shown_high = _rounded(Decimal(low), Decimal(high))
    if low == whole[0]:
        return f" {words[0]} {shown_high}"
    if high == whole[1]:
        return f" {words[1]} {shown_low}"
    return f" {shown_low}{' to ' if low.startswith('-') else '-'}{shown_high}"


def _rounded(low: Decimal, high: Decimal) -> tuple[str, str]:
    """Round a range inwards to the fewest decimals, two at least, that keep most of it."""
    for decimals in range(2, 17):
        step = Decimal(1).scaleb(-decimals)
        inner = low.quantize(step, ROUND_CEILING), high.quantize(step, ROUND_FLOOR)
        if inner[1] - inner[0] >= _KEPT * (high - low):
            return _plain(inner[0]), _plain(inner[1])
    return _plain(low), _plain(high)


def _plain(number: Decimal) -> str:
    """Write a number without an exponent or needless zeros."""
    text = f"{number + 0:f}"  # + 0: no negative zero
    return text.rstrip("0").rstrip(".") if "." in text else text
