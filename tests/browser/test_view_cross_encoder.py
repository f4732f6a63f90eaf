"""A cross-encoder's column in the live view: there with its scores, and without them nothing is made up."""

from dataclasses import replace
from pathlib import Path

import pytest
from browser.view_page import FRAMES, ViewPage, three, trace
from playwright.sync_api import Page, expect

from causalviz.exports import csv_table
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable

PLAIN = trace(three())
METHOD = ".cv-select >> nth=0"


def crossed(*scores: float | None) -> Trace:
    """Score the three documents."""
    candidates = tuple(
        replace(candidate, cross_encoder=score)
        for candidate, score in zip(PLAIN.candidates, scores, strict=True)
    )
    return replace(PLAIN, candidates=candidates, reranker="a reranker")


SCORED = crossed(-1.5, 4.25, None)


@pytest.fixture
def view(tab: Page, tmp_path: Path) -> ViewPage:
    return ViewPage(tab, tmp_path)


def offered(view: ViewPage) -> list[str]:
    found: list[str] = view.page.locator(f"{METHOD} >> option").evaluate_all(
        "(options) => options.map((option) => option.value)"
    )
    return found


def test_without_scores_the_method_is_not_offered_and_the_detail_says_not_computed(view: ViewPage) -> None:
    view.show(PLAIN)
    assert offered(view) == ["hybrid", "causal", "guarded", "similarity"]
    expect(view.page.locator(".cv-doc-head")).to_contain_text("cross-encoder: not computed")
    assert "cross-encoder" not in view.card(0).inner_text()
    view.set(method="cross-encoder")
    assert view.state()["method"] == "hybrid"
    assert view.order() == [2, 1, 0]


def test_with_scores_every_card_shows_the_rank_and_the_method_orders_by_it(view: ViewPage) -> None:
    view.show(SCORED)
    assert offered(view) == ["hybrid", "causal", "guarded", "similarity", "cross-encoder"]
    assert view.order() == [2, 1, 0]
    for candidate, rank in enumerate((2, 1, 3)):
        figure = view.card(candidate).locator(".cv-figure", has_text="cross-encoder")
        assert figure.locator(".cv-figure-value").text_content() == f"#{rank}"
    view.page.select_option(METHOD, "cross-encoder")
    view.page.evaluate(FRAMES)
    assert view.order() == [1, 0, 2]
    expect(view.page.locator(".cv-head-method")).to_have_text("cross-encoder")
    view.card(1).click()
    view.frames()
    head = view.page.locator(".cv-doc-head")
    expect(head).to_contain_text("cross-encoder: rank 1, score 4.2500 (a reranker)")
    assert view.why() == "Moved up 1: ranked by the cross-encoder’s score alone, the keywords play no part."
    expect(view.page.locator(".cv-cell-final")).to_have_text("4.2500")
    view.card(2).click()
    view.frames()
    expect(head).to_contain_text("cross-encoder: rank 3, score none (a reranker)")
    assert view.why() == "Stays at rank 3: the cross-encoder gave it no score; such documents go last."
    expect(view.page.locator(".cv-cell-final")).to_have_text("none, last")


def test_no_figure_is_cut_off_in_a_card(view: ViewPage) -> None:
    view.show(SCORED)
    inside = view.page.locator(".cv-column >> nth=1").evaluate(
        """(column) => [...column.querySelectorAll(".cv-card")].every((card) => {
          const box = card.getBoundingClientRect();
          return [...card.querySelectorAll(".cv-figure")].every((figure) => {
            const own = figure.getBoundingClientRect();
            return own.top >= box.top && own.bottom <= box.bottom && own.right <= box.right;
          });
        })"""
    )
    assert inside is True


def test_a_trace_without_scores_after_one_with_them_goes_back_to_its_own_method(view: ViewPage) -> None:
    view.show(replace(SCORED, settings=replace(SCORED.settings, method="cross-encoder")))
    assert view.state()["method"] == "cross-encoder"
    view.show(PLAIN)
    assert view.state()["method"] == "hybrid"
    assert offered(view) == ["hybrid", "causal", "guarded", "similarity"]


def test_scores_that_come_in_later_keep_texts_choice_and_the_method_of_a_link(view: ViewPage) -> None:
    view.set(method="cross-encoder", chosen="meetup")
    view.show(PLAIN)
    assert view.state()["method"] == "hybrid"
    view.texts({c.id: {"text": f"text of {c.id}", "characters": 14, "spans": []} for c in PLAIN.candidates})
    view.frames()
    view.show(SCORED)
    assert view.state()["method"] == "cross-encoder"
    assert view.chosen() == [1]
    expect(view.page.locator(".cv-right")).to_contain_text("text of meetup")


def test_what_a_person_chose_meanwhile_wins_over_the_link(view: ViewPage) -> None:
    view.set(method="cross-encoder")
    view.show(PLAIN)
    view.page.select_option(METHOD, "causal")
    view.page.evaluate(FRAMES)
    view.show(SCORED)
    assert view.state()["method"] == "causal"


@pytest.mark.parametrize("given", [PLAIN, SCORED], ids=["without", "with"])
def test_the_table_is_that_of_python(view: ViewPage, given: Trace) -> None:
    view.show(given)
    text = view.page.evaluate(
        """() => {
          const { model, exports } = CausalVizView;
          return exports.csv(model.frame(trace, CausalVizRerank.prepare(trace), view.state()));
        }"""
    )
    chosen: RankSettings = given.settings
    assert text == "\ufeff" + csv_table(given, rerank(ScoreTable.of(given.candidates), chosen))


def test_a_snapshot_and_a_link_hold_the_method(view: ViewPage) -> None:
    view.show(SCORED)
    view.set(method="cross-encoder")
    view.page.evaluate("() => view.saveSnapshot()")
    expect(view.page.locator(".cv-snap-now .cv-snap-note").first).to_contain_text("cross-encoder")
    link = view.page.evaluate("() => view.shareLink().link")
    found = view.page.evaluate("(link) => CausalVizView.sharedState(new URL(link).hash)", link)
    assert found["state"]["method"] == "cross-encoder"
