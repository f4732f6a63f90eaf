"""The Tune page and the report button in the real app; a tiny encoder takes the place of the bundled one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.serving import serving
from browser.test_app import AFTER, ask, set_slider, unfold
from playwright.sync_api import Page, Request, expect

from causalviz.settings import ROOT

QUESTION = "How does ColBERT late interaction work?"
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app with a home of its own."""
    with serving(tmp_path_factory.mktemp("home")) as address:
        yield address


@pytest.fixture
def opened(page: Page, app: str) -> Iterator[Page]:
    """Open the page; nothing may be asked of another host."""
    foreign: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((app, "data:", "blob:", "file:")):
            foreign.append(request.url)

    page.on("request", note)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(app)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    yield page
    assert foreign == []


def tune(page: Page) -> None:
    page.get_by_role("tab", name="Tune").click()
    expect(page.locator("#tune-map .main-svg").first).to_be_visible(timeout=120_000)


def test_the_map_is_drawn_when_the_page_is_opened_and_follows_the_measure(opened: Page) -> None:
    assert opened.locator("#tune-map .main-svg").count() == 0
    tune(opened)
    said = opened.locator("#tune-said")
    expect(said).to_contain_text("Best mean target rank")
    expect(said).to_contain_text("these 8 questions")
    expect(opened.locator("#tune-map")).to_contain_text("absorption threshold tau (cosine)")
    expect(opened.locator("#tune-map")).to_contain_text("default: tau 0.5, alpha 0.5")
    opened.get_by_label("mean stuffed rank").check()
    expect(said).to_contain_text("Best mean stuffed rank")
    assert opened.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_a_person_tunes_on_questions_of_their_own(opened: Page, tmp_path: Path) -> None:
    themes = tmp_path / "own.jsonl"
    first_two = (ROOT / "sample_kb" / "themes.jsonl").read_text(encoding="utf-8").splitlines()[:2]
    themes.write_text("\n".join(first_two), encoding="utf-8")
    tune(opened)
    opened.set_input_files("input[type=file][accept*=jsonl]", str(themes))
    expect(opened.locator("#tune-said")).to_contain_text("these 2 questions")
    opened.get_by_role("button", name="Back to the sample").click()
    expect(opened.locator("#tune-said")).to_contain_text("these 8 questions")


def test_a_hostile_themes_file_is_one_harmless_sentence(opened: Page, tmp_path: Path) -> None:
    document = {"id": "a", "role": HOSTILE, "title": "a", "text": "a"}
    themes = tmp_path / "own.jsonl"
    themes.write_text(
        json.dumps({"id": "T", "lang": "en", "query": "a", "documents": [document]}), encoding="utf-8"
    )
    tune(opened)
    opened.set_input_files("input[type=file][accept*=jsonl]", str(themes))
    toast = opened.locator(".toast-body")
    expect(toast).to_contain_text("is no theme")
    expect(toast).to_contain_text("<img src=x onerror=")
    assert toast.locator("img").count() == 0
    assert opened.title() == "CausalViz"
    expect(opened.locator("#tune-said")).to_contain_text("these 8 questions")  # nothing is lost


def test_the_other_page_keeps_what_was_asked(opened: Page) -> None:
    ask(opened, QUESTION)
    cards = opened.locator(AFTER).count()
    tune(opened)
    opened.get_by_role("tab", name="Explore").click()
    expect(opened.locator(AFTER).first).to_be_visible()
    assert opened.locator(AFTER).count() == cards > 1


def saved(page: Page, folder: Path) -> str:
    with page.expect_download() as download:
        page.click("button#save-report")
    assert download.value.suggested_filename == "causalviz-report.html"
    path = folder / "report.html"
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_report_is_saved_as_the_page_stands_with_text_or_without(opened: Page, tmp_path: Path) -> None:
    ask(opened, QUESTION)
    set_slider(opened, 1, 0.13)
    expect(opened.locator(".cv-text mark").first).to_be_visible()
    sentence = " ".join(opened.locator(".cv-text").inner_text().split("\n")[-1].split()[:8])
    assert len(sentence) > 20
    unfold(opened, "#report-bar")
    with_text = saved(opened, tmp_path)
    assert json.dumps(sentence, ensure_ascii=False)[1:-1] in with_text
    opened.get_by_label("Leave document text out").check()
    without = saved(opened, tmp_path)
    assert json.dumps(sentence, ensure_ascii=False)[1:-1] not in without
    assert saved(opened, tmp_path)  # the same once more: it is saved again
    chosen = opened.evaluate("document.querySelector('.causalviz-root').view.state().chosen")
    opened.goto((tmp_path / "report.html").as_uri())
    expect(opened.locator(".cv-chosen-id, .cv-right").first).to_contain_text(chosen)
    assert opened.evaluate("document.querySelectorAll('.cv-results input[type=range]')[1].value") == "0.13"


def test_without_a_question_there_is_no_report(opened: Page) -> None:
    unfold(opened, "#report-bar")
    opened.click("button#save-report")
    expect(opened.locator(".cv-status")).to_contain_text("ask a question first")
