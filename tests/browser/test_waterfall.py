"""The waterfall: bars follow each other and end at the causal score."""

from pathlib import Path

import pytest
from browser.view_page import ViewPage, document, trace
from playwright.sync_api import Page, expect

from causalviz.rank import rerank
from causalviz.records import RankSettings
from causalviz.score import ScoreTable

BARS = """() => [...document.querySelectorAll(".cv-fall g g:not(.cv-hidden)")].map((g) => {
  const bar = g.querySelector("rect");
  return [g.querySelector("text").textContent, Number(bar.getAttribute("y")), Number(bar.getAttribute("height"))];
})"""


def test_each_bar_starts_where_the_one_before_it_ended(tab: Page, tmp_path: Path) -> None:
    view = ViewPage(tab, tmp_path)
    # orthogonal keywords of weights 2, 2, 1: |v| = 3; shares 2 * 0.6 / 3 = 0.4, 2 * -0.3 / 3 = -0.2, 1 * 0.9 / 3 = 0.3
    keywords = [
        ("up", 2.0, 0.1, 0.6),
        ("down", 2.0, 0.1, -0.3),
        ("again", 1.0, 0.1, 0.9),
        ("late", 1.0, None, 0.5),
    ]
    given = trace([document("d", 0.5, keywords)])
    view.show(given)
    ranking = rerank(ScoreTable.of(given.candidates), RankSettings(tau=0.75))
    assert ranking.causal[0] == pytest.approx(0.5)
    bars = tab.evaluate(BARS)
    assert [name for name, *_ in bars] == ["up", "down", "again", "sum"]
    # from 0 to 0.5, drawn from y = 118 up to y = 12: 212 units of height for 1 of score
    expected = [(0.4, 0.4), (0.4, 0.2), (0.5, 0.3), (0.5, 0.5)]  # the upper end of each bar, and its height
    for (_, y, height), (upper, size) in zip(bars, expected, strict=True):
        assert y == pytest.approx(118 - 212 * upper, abs=0.1)
        assert height == pytest.approx(212 * size, abs=0.1)
    expect(tab.locator(".cv-fall-bar.cv-negative")).to_have_count(1)


def test_nothing_to_add_draws_nothing(tab: Page, tmp_path: Path) -> None:
    view = ViewPage(tab, tmp_path)
    view.show(trace([document("d", 0.5, [("late", 1.0, None, 0.5)])]))
    expect(tab.locator(".cv-fall-box")).to_be_hidden()
