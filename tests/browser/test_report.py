"""A report opened from a folder, offline: live on screen, tables on paper and without JavaScript, silent on the net."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser.view_page import FRAMES, document, many, three, trace
from playwright.sync_api import Browser, Page, expect

from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.report import Texts
from causalviz.score import ScoreTable
from causalviz.ui.present import report_file

HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"> ${document.title='owned'} {{document.title='owned'}} "
    "<!--<script> \u2028 &lt;b&gt; <style>body{display:none}</style>"
)
AFTER = ".cv-column[aria-label='Documents re-ranked'] li"


class Report:
    """A report in a page that is cut off from any network."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.file = page, folder / "report.html"
        self.requests: list[str] = []
        page.context.set_offline(offline=True)
        page.set_viewport_size({"width": 1280, "height": 900})
        page.on("request", lambda request: self.requests.append(request.url))

    def open(
        self,
        traces: Sequence[Trace],
        texts: Sequence[Texts] | None = None,
        chosen: str | None = None,
        fragment: str = "",
    ) -> None:
        """Write a report and open it."""
        self.file.write_text(report_file(traces, texts, chosen), encoding="utf-8")
        self.page.goto(self.file.as_uri() + fragment)

    def order(self) -> list[int]:
        """Return candidates by the rank on their cards, in the question on screen."""
        found: list[int] = self.page.evaluate(
            f"""() => [...document.querySelectorAll(".rp-question:not(.rp-away) {AFTER}")]
                .map((item) => [Number(item.querySelector(".cv-rank").textContent), Number(item.dataset.candidate)])
                .sort((a, b) => a[0] - b[0]).map((pair) => pair[1])"""
        )
        return found

    def slide(self, which: int, value: float) -> float:
        """Drag a slider of the question on screen; return where it stands then."""
        set_to: float = self.page.evaluate(
            """([which, value]) => {
                const panel = document.querySelector(".rp-question:not(.rp-away)");
                const slider = panel.querySelectorAll(".cv-results input[type=range]")[which];
                slider.value = value;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                return Number(slider.value);
            }""",
            [which, value],
        )
        self.page.evaluate(FRAMES)
        return set_to


@pytest.fixture
def report(page: Page, tmp_path: Path) -> Iterator[Report]:
    """Nothing but the file itself may be asked for."""
    opened = Report(page, tmp_path)
    yield opened
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert {url.partition("#")[0] for url in opened.requests if url.startswith("file:")} == {
        opened.file.as_uri()
    }


def test_the_sliders_are_live_and_rank_as_python_does(report: Report) -> None:
    given = replace(many(20), settings=RankSettings(tau=0.9, alpha=0.3, method="hybrid"))
    report.open([given])
    table = ScoreTable.of(given.candidates)
    assert report.order() == rerank(table, given.settings).order.tolist()
    seen = set()
    for tau, alpha in [(0.7, 0.5), (0.8, 0.0), (0.85, 0.2), (0.9, 1.0), (0.95, 0.65), (1.0, 0.5)]:
        at = replace(given.settings, tau=report.slide(0, tau), alpha=report.slide(1, alpha))
        assert (at.tau, at.alpha) == pytest.approx((tau, alpha), abs=0.001)
        order = rerank(table, at).order.tolist()
        assert report.order() == order
        seen.add(tuple(order))
    assert len(seen) > 3


def test_it_opens_in_the_settings_and_on_the_document_it_was_made_for(report: Report) -> None:
    settings = RankSettings(tau=0.6, alpha=0.75, method="causal", mode="exact", empty_b="fallback")
    report.open([trace(three(), settings=settings)], chosen="tag")
    expect(report.page.locator(".cv-right")).to_contain_text("tag")
    assert report.order() == rerank(ScoreTable.of(tuple(three())), settings).order.tolist()


def test_several_questions_are_a_click_apart(report: Report) -> None:
    report.open([trace(three()), replace(many(5), query="and the second?")], fragment="#q2")
    expect(report.page.locator("#q2 .cv-question")).to_have_text("and the second?")
    assert len(report.order()) == 5
    expect(report.page.locator(".rp-chooser")).to_be_in_viewport()
    report.page.get_by_role("link", name="how does late interaction work").click()
    expect(report.page.locator("#q1 .causalviz")).to_be_visible()
    expect(report.page.locator("#q2")).to_be_hidden()
    assert len(report.order()) == 3
    report.slide(0, 0.5)
    report.page.get_by_role("link", name="and the second?").click()
    expect(report.page.locator("#q1")).to_be_hidden()


def hostile() -> Trace:
    return trace(
        [
            document(f"{HOSTILE}{i}", 0.9 - i / 10, [(f"{HOSTILE}{i}", 1, 0.25, 0.1 * i)], title=HOSTILE)
            for i in range(3)
        ],
        query=HOSTILE,
        knowledge_base=HOSTILE,
        encoder=HOSTILE,
        warnings=(HOSTILE,),
    )


def test_hostile_content_is_text_and_nothing_else(report: Report) -> None:
    given = hostile()
    text = {"text": HOSTILE, "characters": len(HOSTILE), "spans": [[0, 8, 0]]}
    report.open([given, given], [{c.id: text for c in given.candidates}] * 2)
    page = report.page
    expect(page.locator("#q1 .cv-text")).to_contain_text(
        "${document.title='owned'} {{document.title='owned'}}"
    )
    report.slide(0, 0.2)
    page.locator(".rp-chooser a").nth(1).click()
    page.emulate_media(media="print")
    assert page.title() == "CausalViz: 2 questions"
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3
    assert page.locator("style").count() == 1


def test_document_text_is_shown_with_its_keywords_marked(report: Report) -> None:
    text = {"text": "late tag of the late", "characters": 20, "spans": [[0, 4, 0], [5, 8, 1], [16, 20, 0]]}
    report.open([trace(three())], [{"tag": text}], chosen="tag")
    expect(report.page.locator(".cv-text mark")).to_have_text(["late", "tag", "late"])


def test_without_texts_the_page_says_so(report: Report) -> None:
    report.open([trace(three())])
    expect(report.page.locator(".cv-text-note")).to_have_text(
        "The text of this document is not part of this page."
    )


def rows(page: Page) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(
        """() => [...document.querySelectorAll("#q1 .rp-ranking tbody tr")]
            .filter((row) => row.checkVisibility())
            .map((row) => [...row.cells].slice(0, 4).map((cell) => cell.innerText.split("\\n")[0]))"""
    )
    return found


# alpha 0.25: finals 0.25, 0.5, 0.75, so the order turns round
TURNED = [["1", "3", "▲ 2", "maxsim"], ["2", "2", "=", "meetup"], ["3", "1", "▼ 2", "tag"]]


def test_paper_shows_the_table_and_the_chosen_document(report: Report) -> None:
    report.open([trace(three()), many(3)])
    page = report.page
    assert rows(page) == []  # the live view stands in for it
    page.locator(f"#q1 {AFTER}").filter(has_text="meetup").locator("button").click()
    report.slide(1, 0.75)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert rows(page) == TURNED
    expect(page.locator("#q1 .rp-explained:visible")).to_have_count(1)
    expect(page.locator("#q1 .rp-explained:visible")).to_contain_text("2. meetup")
    expect(page.locator("#q1 .rp-keywords:visible").first).to_be_visible()
    expect(page.locator("#q1 .rp-now")).to_contain_text(
        "the page stood at tau 0.75, alpha 0.75, hybrid, semantic"
    )
    expect(page.locator("#q1 .rp-now")).to_contain_text("1. tag; 2. meetup; 3. maxsim")
    expect(page.locator("#q2 .rp-ranking")).to_be_visible()  # every question is printed
    for hidden in (".rp-view", ".rp-chooser"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.locator(".rp-made")).to_contain_text("not an estimated causal effect")
    assert page.pdf()[:5] == b"%PDF-"


def test_without_javascript_both_rankings_and_all_explanations_are_there(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_file([trace(three())], None), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    table = page.locator(".rp-ranking tbody tr")
    expect(table).to_have_count(3)
    for row, cells in zip(table.all(), TURNED, strict=True):
        expect(row).to_be_visible()
        for cell, words in zip(row.locator("td").all(), cells, strict=False):
            expect(cell).to_contain_text(words)
    expect(page.locator(".rp-explained > summary")).to_have_text(["1. maxsim", "2. meetup", "3. tag"])
    context.close()


def test_a_question_without_candidates_says_so(report: Report) -> None:
    report.open([trace([])])
    expect(report.page.locator(".cv-status")).to_contain_text("No document passes the threshold")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [640, 1280, 1920])
def test_nothing_is_cut_off(report: Report, width: int, scheme: Any) -> None:  # noqa: ANN401 - playwright's own literal
    report.page.emulate_media(color_scheme=scheme)
    report.page.set_viewport_size({"width": width, "height": 900})
    report.open([many(20), three_long()])
    overflow = report.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0


def three_long() -> Trace:
    return trace(three(), query="how does late interaction work " * 20)


def test_a_report_of_twenty_long_texts_stays_small() -> None:
    given = many(20)
    text = {"text": "数据" * 4000, "characters": 8000, "spans": [[i, i + 2, 0] for i in range(0, 8000, 4)]}
    content = report_file([given], [{c.id: text for c in given.candidates}])
    assert len(content.encode()) < 3_000_000
