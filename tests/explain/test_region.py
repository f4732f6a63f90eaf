from itertools import product

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from hypothesis import strategies as st
from strategies import rank_settings, traces

from causalviz.explain.plane import plane
from causalviz.explain.region import Region, Stretch, first_region, largest
from causalviz.explain.states import tau_states
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace

F = np.float32


def region(tau: tuple[float, float], alpha: tuple[float, float]) -> Region:
    return Region(tau_low=tau[0], tau_high=tau[1], alpha_low=alpha[0], alpha_high=alpha[1])


@pytest.mark.parametrize(
    ("tau", "alpha", "sentence"),
    [
        ((0.87, 0.91), (0.0, 0.4), "first for tau 0.87-0.91 at any alpha below 0.4"),
        ((0.868, 0.912), (0.0, 0.40999), "first for tau 0.87-0.91 at any alpha below 0.4"),
        ((-1.0, 0.8), (0.0, 1.0), "first for tau up to 0.8 at any alpha"),
        ((0.9, 1.0), (0.6, 1.0), "first for tau from 0.9 at any alpha above 0.6"),
        ((-1.0, 1.0), (0.2, 0.4), "first at any tau and alpha 0.2-0.4"),
        ((-1.0, 1.0), (0.0, 1.0), "first at any tau and any alpha"),
        ((-1.0, 1.0), (0.0, 0.5), "first at any tau and any alpha below 0.5"),
        ((-0.25, 0.5), (0.5, 0.5), "first for tau -0.25 to 0.5 at alpha 0.5"),
        ((0.9011, 0.9014), (0.0, 1.0), "first for tau 0.9011-0.9014 at any alpha"),
        ((0.5, 0.5), (0.0, 1.0), "first for tau 0.5 at any alpha"),
    ],
)
def test_the_sentence(tau: tuple[float, float], alpha: tuple[float, float], sentence: str) -> None:
    assert region(tau, alpha).sentence() == sentence


def test_the_largest_regions_of_the_worked_example() -> None:
    trace = worked_example()
    states = tau_states(trace, trace.settings)
    found = [first_region(plane(states, index)) for index in range(3)]
    # d1: 0.2 x 1 up to tau 0.8 (counted from 0.6) is more than 0.4 x 1/3 at alpha above 2/3.
    assert found[0] == region((-1, float(F(0.8))), (0, 1))
    assert found[0] is not None
    assert found[0].sentence() == "first for tau up to 0.8 at any alpha"
    assert found[1] is not None
    assert found[1].sentence("it leads") == "it leads for tau from 0.81 at any alpha below 0.66"
    assert found[1].alpha_high == pytest.approx(2 / 3)
    assert found[2] is None


rows = st.lists(
    st.lists(st.integers(0, 12), unique=True, max_size=6)
    .map(sorted)
    .map(lambda ends: list(zip(ends[::2], ends[1::2], strict=False))),
    min_size=1,
    max_size=6,
)


@given(rows)
def test_the_largest_rectangle_is_that_of_trying_all(drawn: list[list[tuple[int, int]]]) -> None:
    low = (np.arange(len(drawn)) / 8).astype(F)
    high = np.nextafter(low + F(0.125), F(-1))
    stretches = [Stretch(row, a / 16, b / 16) for row, parts in enumerate(drawn) for a, b in parts]
    found = largest(low, high, stretches, -1.0)
    best = 0.0
    for first, last in product(range(len(drawn)), repeat=2):
        for a, b in product(range(13), repeat=2):
            inside = first <= last and a <= b
            if inside and all(any(x <= a and b <= y for x, y in drawn[r]) for r in range(first, last + 1)):
                best = max(best, float(high[last] - low[first]) * (b - a) / 16)
    if found is None:
        assert not stretches
        return
    assert (found.tau_high - found.tau_low) * (found.alpha_high - found.alpha_low) == pytest.approx(best)
    first, last = np.flatnonzero(low == found.tau_low)[0], np.flatnonzero(high == found.tau_high)[0]
    for row in range(first, last + 1):
        assert any(s.row == row and s.low <= found.alpha_low <= found.alpha_high <= s.high for s in stretches)


@given(traces(min_documents=1), rank_settings(), st.data())
def test_a_document_is_first_throughout_its_region(
    trace: Trace, chosen: RankSettings, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(trace.candidates) - 1))
    states = tau_states(trace, chosen)
    found = first_region(plane(states, index))
    if found is None:
        return
    for tau in (found.tau_low, found.tau_high, data.draw(st.floats(found.tau_low, found.tau_high))):
        for alpha in (
            found.alpha_low,
            found.alpha_high,
            data.draw(st.floats(found.alpha_low, found.alpha_high)),
        ):
            settings = RankSettings(
                tau=tau, alpha=alpha, method=chosen.method, mode=chosen.mode, empty_b=chosen.empty_b
            )
            assert rerank(states.table, settings).rank[index] == 1
