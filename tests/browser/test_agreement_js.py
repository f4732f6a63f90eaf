"""Rank-biased overlap and AP correlation: values by hand, and the definitions written out in Python."""

from fractions import Fraction
from typing import Any

import pytest
from browser.view_page import ViewPage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@pytest.fixture(scope="module")
def measures(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Page:  # noqa: ANN401 - playwright's browser
    page: Page = browser.new_page()
    ViewPage(page, tmp_path_factory.mktemp("agreement"))
    return page


def both(
    page: Page, first: list[str], second: list[str], p: float = 0.9
) -> tuple[float | None, float | None]:
    found: list[float | None] = page.evaluate(
        """([first, second, p]) => [CausalVizView.agreement.rankBiasedOverlap(first, second, p),
            CausalVizView.agreement.apCorrelation(first, second)]""",
        [first, second, p],
    )
    return found[0], found[1]


def overlap_by_definition(first: list[str], second: list[str], p: Fraction) -> Fraction | None:
    """Agreement at depth d, weighted (1 - p) p^(d - 1); beyond the shorter list it stays as it is there."""
    depth = min(len(first), len(second))
    if depth == 0:
        return None
    agreements = [Fraction(len(set(first[:d]) & set(second[:d])), d) for d in range(1, depth + 1)]
    within = sum(((1 - p) * p ** (d - 1) * a for d, a in enumerate(agreements, start=1)), Fraction(0))
    return within + agreements[-1] * p**depth


def correlation_by_definition(first: list[str], second: list[str]) -> Fraction | None:
    common = [id_ for id_ in first if id_ in second]
    if len(common) < 2:
        return None
    shares = [
        Fraction(sum(second.index(above) < second.index(id_) for above in common[:i]), i)
        for i, id_ in enumerate(common)
        if i
    ]
    return 2 * sum(shares, Fraction(0)) / len(shares) - 1


def test_values_by_hand(measures: Page) -> None:
    # the same order; its reverse: overlap 0/1, 2/2 -> (1 - p) * 0 + (1 - p) p * 1 + p^2 * 1 = p
    assert list(both(measures, ["a", "b"], ["a", "b"])) == pytest.approx([1, 1])
    assert list(both(measures, ["a", "b"], ["b", "a"], 0.5)) == pytest.approx([0.5, -1])
    # c b a against a b c: nothing is in its order
    assert both(measures, ["c", "b", "a"], ["a", "b", "c"])[1] == -1
    # a c b against a b c: c stands below a (right), b below a (right) and c (wrong): shares 1/1, 1/2 -> 2 * 0.75 - 1
    assert both(measures, ["a", "c", "b"], ["a", "b", "c"])[1] == pytest.approx(0.5)
    # nothing in common, too little, nothing at all
    assert both(measures, ["a"], ["b"]) == (0, None)
    assert both(measures, [], ["a"]) == (None, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=IDS, second=IDS, p=st.sampled_from([0.5, 0.75, 0.9]))
def test_they_follow_their_definitions(measures: Page, first: list[str], second: list[str], p: float) -> None:
    overlap, correlation = both(measures, first, second, p)
    expected = overlap_by_definition(first, second, Fraction(p))
    assert overlap == (None if expected is None else pytest.approx(float(expected)))
    expected = correlation_by_definition(first, second)
    assert correlation == (None if expected is None else pytest.approx(float(expected)))
