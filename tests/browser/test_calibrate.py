"""The Calibrate page in the real app; a tiny encoder takes the place of the bundled one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.serving import serving
from browser.test_app import AFTER, ask, unfold
from playwright.sync_api import Browser, Page, Request, expect

HOSTILE = "<img src=x onerror=\"document.title='owned'\"> ${1+1} {{value}}"
GRADED = ".cal-document.cal-graded"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app once for this file."""
    with serving(tmp_path_factory.mktemp("home")) as address:
        yield address


@pytest.fixture
def opened(page: Page, app: str) -> Iterator[Page]:
    """Open the page; nothing may be asked of another host."""
    foreign: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((app, "data:", "blob:")):
            foreign.append(request.url)

    page.on("request", note)
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, app)
    yield page
    assert foreign == []


def visit(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()


def calibrate(page: Page) -> None:
    page.get_by_role("tab", name="Calibrate").click()
    expect(page.locator("#calibrate-results .cal-headline")).not_to_be_empty()


def propose(page: Page) -> None:
    calibrate(page)
    page.click("button#propose")
    expect(page.locator(".cal-document").first).to_be_visible()


def grade_question(page: Page) -> None:
    """Grade the question shown: 3 for the document it is the title of, if that was found, 0 for the rest."""
    text = page.locator(".cal-question").inner_text()
    own = page.locator(".cal-document").filter(has=page.get_by_role("heading", name=text, exact=True))
    if own.count():
        own.first.get_by_role("button", name="3 answers it").click()
    page.keyboard.press("r")
    expect(page.locator(".cal-question")).not_to_have_text(text)


def counted(page: Page, words: str) -> None:
    expect(page.locator(".cal-counted")).to_contain_text(words)


def test_grading_by_keyboard_counts_question_after_question(opened: Page) -> None:
    propose(opened)
    assert opened.locator(".cal-chip").count() == 8
    first = opened.locator(".cal-question").inner_text()
    documents = opened.locator(".cal-document").count()
    opened.keyboard.press("j")
    opened.keyboard.press("2")  # the second document
    second = opened.locator(".cal-document").nth(1)
    expect(second.get_by_role("button", name="2 relevant")).to_have_attribute("aria-pressed", "true")
    expect(opened.locator(".cal-left")).to_have_text(f"{documents - 1} of {documents} documents to grade")
    opened.keyboard.press("ArrowUp")
    opened.keyboard.press("ArrowUp")
    for _ in range(documents - 1):
        opened.keyboard.press("1")
    expect(opened.locator(".cal-question")).not_to_have_text(first)
    counted(opened, "1 of 8 questions count")
    expect(opened.locator(GRADED)).to_have_count(0)
    expect(opened.locator(".cal-chip").first).to_have_attribute("data-state", "done")


def test_undo_goes_back_to_the_question_it_concerns(opened: Page) -> None:
    propose(opened)
    first = opened.locator(".cal-question").inner_text()
    opened.keyboard.press("2")
    opened.keyboard.press("r")
    expect(opened.locator(".cal-question")).not_to_have_text(first)
    counted(opened, "1 of 8 questions count")
    opened.keyboard.press("u")
    expect(opened.locator(".cal-question")).to_have_text(first)
    expect(opened.locator(GRADED)).to_have_count(1)
    counted(opened, "0 of 8 questions count")
    opened.keyboard.press("u")
    expect(opened.locator(GRADED)).to_have_count(0)
    expect(opened.get_by_role("button", name="Undo")).to_be_disabled()


def test_a_verdict_is_kept_obeyed_and_seen_by_everybody(opened: Page, browser: Browser, app: str) -> None:
    propose(opened)
    expect(opened.locator("button#keep-verdict")).to_be_disabled()
    for number in range(1, 8):
        grade_question(opened)
        counted(opened, f"{number} of 8 questions count")
    # titles as questions: similarity finds the document itself, the causal scores take the title's words away
    expect(opened.locator(".cal-verdict")).to_have_attribute("data-decision", "off")
    expect(opened.locator(".cal-headline")).to_have_text("Keep re-ranking off")
    expect(opened.locator("#calibrate-curve")).to_contain_text("resamples that agree (%)")
    expect(opened.locator(".cal-table tbody tr")).to_have_count(4)
    opened.click("button#keep-verdict")
    expect(opened.locator(".cal-kept")).to_contain_text("Kept for everybody who uses this app")
    context = browser.new_context()
    other = context.new_page()
    visit(other, app)
    ask(other, "How does ColBERT late interaction work?")
    expect(other.locator("#ruling")).to_contain_text("keeps re-ranking off here")
    expect(other.locator("#ruling")).to_contain_text("“Rank by” overrides it")
    state = "document.querySelector('.causalviz-root').view.state().method"
    assert other.evaluate(state) == "similarity"
    other.get_by_label("Rank by").select_option("hybrid")
    ask(other, "Regularisation in SPLADE")
    assert other.evaluate(state) == "hybrid"  # what a person chose stays
    other.get_by_role("tab", name="Calibrate").click()
    expect(other.locator("#calibrate-view .cal-intro")).to_contain_text(
        "Take questions"
    )  # labels are one's own
    expect(other.locator(".cal-kept")).to_contain_text("keeps re-ranking off here")
    context.close()


def test_judgments_are_saved_and_taken_in_again(
    opened: Page, browser: Browser, app: str, tmp_path: Path
) -> None:
    propose(opened)
    grade_question(opened)
    grade_question(opened)
    counted(opened, "2 of 8 questions count")
    files = []
    for button, name in (("save-questions", "queries.jsonl"), ("save-judgments", "qrels.txt")):
        with opened.expect_download() as download:
            opened.click(f"button#{button}")
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
        files.append(str(tmp_path / name))
    context = browser.new_context()
    other = context.new_page()
    visit(other, app)
    calibrate(other)
    other.set_input_files("input[type=file][accept*=qrels]", files)
    counted(other, "2 of 8 questions count")
    context.close()


def test_hostile_documents_and_files_stay_text(opened: Page, tmp_path: Path) -> None:
    (tmp_path / "<b>bad.md").write_text(f"# Title {HOSTILE}\n\nlate token {HOSTILE}", encoding="utf-8")
    (tmp_path / "other.txt").write_text("bread and salt", encoding="utf-8")
    unfold(opened, "#add-files")
    opened.set_input_files("#files input[type=file]", [str(file) for file in sorted(tmp_path.iterdir())])
    opened.locator("button#add").click()
    expect(opened.locator("#upload-said")).to_contain_text("ready for questions")
    calibrate(opened)
    expect(opened.locator("#calibrate-base input")).to_have_value("your uploads")
    expect(opened.locator("button#keep-verdict")).to_contain_text("nobody else sees it")
    questions = tmp_path / "questions.txt"
    questions.write_text(f"late token {HOSTILE}\n", encoding="utf-8")
    opened.set_input_files("input[type=file][accept*=qrels]", str(questions))
    expect(opened.locator(".cal-question")).to_have_text(f"late token {HOSTILE}")
    expect(opened.locator(".cal-document").filter(has_text="{{value}}")).to_have_count(1)
    assert opened.locator("#calibrate-view img, #calibrate-view script").count() == 0
    opened.locator(".cal-document").first.get_by_role("button", name="2 relevant").click()
    opened.keyboard.press("r")
    counted(opened, "1 of 1 questions count")
    broken = tmp_path / "q.jsonl"
    broken.write_text(json.dumps({"_id": HOSTILE}), encoding="utf-8")
    opened.set_input_files("input[type=file][accept*=qrels]", str(broken))
    expect(opened.locator(".toast-body")).to_contain_text("has no 'text'")
    counted(opened, "1 of 1 questions count")  # nothing is lost
    assert opened.title() == "CausalViz"


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1920, "dark")])
def test_the_page_fits_and_typing_elsewhere_grades_nothing(
    page: Page, app: str, width: int, theme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, f"{app}/?__theme={theme}")
    propose(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.locator("#calibrate-base input").click()
    page.keyboard.press("1")
    expect(page.locator(GRADED)).to_have_count(0)
    page.get_by_role("tab", name="Explore").click()
    page.keyboard.press("1")
    page.get_by_role("tab", name="Calibrate").click()
    expect(page.locator(GRADED)).to_have_count(0)
    expect(page.locator(AFTER)).to_have_count(0)
