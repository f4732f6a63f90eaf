"""The whole app as a person meets it: a real server, the bundled encoder, a real browser."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser.serving import serving_as_people_do
from docx import Document as Word
from playwright.sync_api import Browser, Page, Request, expect

from causalviz.rank import rerank
from causalviz.score import ScoreTable
from causalviz.trace import from_json

QUESTION = "How does ColBERT late interaction work?"
AFTER = ".cv-column[aria-label='Documents re-ranked'] li"


@pytest.fixture(scope="session")
def app(indexed_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app as `make run` does, with a home of its own, for the second time: the sample is indexed."""
    home = shutil.copytree(indexed_home, tmp_path_factory.mktemp("app") / "home")
    with serving_as_people_do(home) as address:
        yield address


@pytest.fixture
def explore(page: Page, app: str) -> Page:
    """Open the page; nothing may be asked of another host."""
    foreign: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((app, "data:", "blob:")):
            foreign.append(request.url)

    page.on("request", note)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(app)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    assert foreign == []
    return page


def ask(page: Page, question: str) -> None:
    page.fill("#question textarea", question)
    page.click("#ask button, button#ask")
    expect(page.locator(".cv-results")).to_contain_text(question)


def unfold(page: Page, accordion: str) -> None:
    """Open an accordion, and wait until it can be filled in.

    Gradio gives what an accordion holds its first values once more some 40 ms after showing it: sooner than a hand
    can type, later than a test does.
    """
    page.locator(f"{accordion} button").first.click()
    expect(page.locator(f"{accordion} input, {accordion} textarea").first).to_be_attached()
    page.evaluate("() => new Promise((done) => setTimeout(() => requestIdleCallback(done), 300))")


def order_on_screen(page: Page) -> list[int]:
    """Candidates in the order their cards stand in the re-ranked column."""
    found: list[int] = page.evaluate(
        f"""() => [...document.querySelectorAll("{AFTER}")]
            .map((item) => [Number(item.querySelector(".cv-rank").textContent), Number(item.dataset.candidate)])
            .sort((a, b) => a[0] - b[0]).map((pair) => pair[1])"""
    )
    return found


def set_slider(page: Page, which: int, value: float) -> None:
    page.evaluate(
        """([which, value]) => new Promise((done) => {
            const slider = document.querySelectorAll(".cv-results input[type=range]")[which];
            slider.value = value;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            requestAnimationFrame(() => requestAnimationFrame(done));
        })""",
        [which, value],
    )


def test_dragging_re_ranks_in_the_page_as_python_does(explore: Page) -> None:
    ask(explore, QUESTION)
    # the target answers in its own words: third by similarity, first when re-ranked
    expect(explore.locator(f"{AFTER}:has(.cv-rank:text-is('1'))").first).to_contain_text(
        "Token-level matching"
    )
    trace = from_json(explore.evaluate("document.querySelector('.causalviz-root').trace"))
    table = ScoreTable.of(trace.candidates)
    expect(explore.locator(".cv-right mark").first).to_be_visible()  # the last part of the answer is here
    requests: list[str] = []
    explore.on("request", lambda request: requests.append(request.url))
    for tau, alpha in [(0.84, 0.5), (0.86, 0.2), (0.88, 0.0), (0.9, 1.0), (0.93, 0.75), (1.0, 0.5)]:
        set_slider(explore, 0, tau)
        set_slider(explore, 1, alpha)
        state = explore.evaluate("document.querySelector('.causalviz-root').view.state()")
        # moving alpha asks for the hybrid
        settings = replace(trace.settings, tau=state["tau"], alpha=state["alpha"], method="hybrid")
        assert (state["tau"], state["alpha"]) == pytest.approx((tau, alpha), abs=0.001)
        assert order_on_screen(explore) == rerank(table, settings).order.tolist()
    # A stream that opens belongs to what was asked before: whatever is asked is posted first.
    assert [url for url in requests if "/queue/data?" not in url] == []


def test_a_chosen_document_explains_itself(explore: Page) -> None:
    ask(explore, QUESTION)
    card = explore.locator(AFTER).filter(has_text="Tag archive")
    card.locator("button").click()
    detail = explore.locator(".cv-right")
    expect(detail).to_contain_text("Tag archive")
    expect(detail).to_contain_text(re.compile("shared with the question", re.IGNORECASE))
    expect(detail).to_contain_text("exact match")
    expect(detail).to_contain_text("not an estimated causal effect")
    # the words of the question are marked in the text
    expect(detail.locator("mark").first).to_be_visible()
    set_slider(explore, 0, 0.87)
    expect(detail).to_contain_text("Tag archive")


def test_a_prepared_chinese_question_is_one_click(explore: Page) -> None:
    explore.locator("#examples").get_by_text("数据出境的安全如何评估").click()
    expect(explore.locator(AFTER).filter(has_text="数据出境安全评估申报操作说明")).to_have_count(1)
    expect(explore.locator("#question textarea")).to_have_value("数据出境的安全如何评估")


def test_an_empty_question_is_one_clear_sentence_and_loses_nothing(explore: Page) -> None:
    ask(explore, QUESTION)
    explore.fill("#question textarea", "  ")
    explore.click("button#ask")
    expect(explore.locator(".causalviz")).to_contain_text("the question is empty")
    expect(explore.locator(AFTER)).to_have_count(20)


def test_a_missing_document_is_explained_and_shown_among_the_candidates(explore: Page) -> None:
    ask(explore, QUESTION)
    unfold(explore, "#missing")
    explore.locator("#missing-document input").click()
    # The list comes in after the ranking, and empties the field.
    expect(explore.get_by_role("option", name="canteen-notice.md")).to_be_visible()
    explore.locator("#missing-document input").fill("t1-data-export/canteen-notice.md")
    explore.keyboard.press("Enter")
    # The id as it was typed, or after the title, as the list shows it.
    expect(explore.locator("#missing-document input")).to_have_value(
        re.compile(r"(.* · )?t1-data-export/canteen-notice\.md$")
    )
    explore.locator("button#missing-why").click()
    answer = explore.locator("#missing-answer textarea")
    expect(answer).to_have_value(re.compile(r"by similarity .* missing because only 20 candidates are kept"))
    expect(explore.locator(AFTER)).to_have_count(21)
    expect(explore.locator(".cv-right")).to_contain_text("t1-data-export/canteen-notice.md")


def test_a_share_link_asks_again_in_the_same_state(explore: Page, browser: Browser) -> None:
    unfold(explore, "#options")
    explore.get_by_label("Centre keyword vectors").check()
    ask(explore, QUESTION)
    set_slider(explore, 1, 0.2)
    link = explore.evaluate("document.querySelector('.causalviz-root').view.shareLink().link")
    state = explore.evaluate("document.querySelector('.causalviz-root').view.state()")
    context = browser.new_context()
    other = context.new_page()
    other.goto(link)
    expect(other.locator(".cv-results")).to_contain_text(QUESTION)
    assert other.evaluate("document.querySelector('.causalviz-root').view.state()") == state
    assert other.evaluate("document.querySelector('.causalviz-root').trace.centred")
    assert order_on_screen(other) == order_on_screen(explore)
    context.close()


@pytest.mark.parametrize("fragment", ["", "#cv=", "#cv=AAAA", "#cv=%3Cscript%3E", "#anything"])
def test_a_damaged_link_opens_the_plain_page(page: Page, app: str, fragment: str) -> None:
    page.goto(f"{app}/{fragment}")
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    page.wait_for_timeout(500)
    broken = page.get_by_text("This link is damaged or was cut off")
    expect(broken).to_have_count(1 if fragment.startswith("#cv=") else 0)
    expect(page.locator("#question textarea")).to_have_value("")
    expect(page.locator(AFTER)).to_have_count(0)


def test_what_is_kept_can_be_chosen_by_everybody(
    explore: Page, browser: Browser, app: str, tmp_path: Path
) -> None:
    expect(explore.locator("#keep")).to_be_hidden()
    upload(explore, write_uploads(tmp_path))
    for name, answer in [
        ("<img src=x onerror=alert(1)>", "'<img src=x onerror=alert(1)>' cannot be a name"),
        ("Your Uploads", "already a knowledge base 'Your Uploads'"),
        ("SAMPLE_KB", "already a knowledge base 'SAMPLE_KB'"),
        ("名前 1", "Kept as 名前 1"),
    ]:
        explore.locator("#keep-name textarea, #keep-name input").fill(name)
        explore.locator("button#keep").click()
        expect(explore.locator("#upload-said")).to_contain_text(answer)
    assert explore.locator("img[src='x']").count() == 0
    context = browser.new_context()
    other = context.new_page()
    other.goto(app)
    expect(other.locator("#explore-view .causalviz")).to_be_visible()
    other.locator("#knowledge-base input").click()
    other.get_by_role("option", name="名前 1").click()
    ask(other, "late interaction")
    expect(other.locator(AFTER)).to_have_count(3)
    link = other.evaluate("document.querySelector('.causalviz-root').view.shareLink().link")
    third = context.new_page()
    third.goto(link)
    expect(third.locator(AFTER)).to_have_count(3)
    context.close()


def test_stop_stops_and_keeps_what_was_finished(explore: Page, tmp_path: Path) -> None:
    for number in range(40):
        words = " ".join(f"word{number}x{i} and its meaning" for i in range(220))
        (tmp_path / f"file{number:02d}.txt").write_text(words, encoding="utf-8")
    unfold(explore, "#add-files")
    explore.set_input_files("#files input[type=file]", [str(file) for file in sorted(tmp_path.iterdir())])
    explore.locator("button#add").click()
    explore.wait_for_timeout(3000)
    explore.locator("button#stop-adding").click()
    expect(explore.locator("#stop-adding")).to_be_hidden()
    said = explore.locator("#upload-said")
    expect(said).to_contain_text("Stopped.")
    finished = int(re.findall(r"Stopped. (\d+) files", said.inner_text())[0])
    assert finished < 40
    ask(explore, QUESTION)
    expect(explore.locator(AFTER)).to_have_count(min(finished, 20) or 20)


HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"> ${1+1} {{value}} <script>document.title='owned'</script>"
)


def upload(page: Page, files: list[Path]) -> None:
    unfold(page, "#add-files")
    page.set_input_files("#files input[type=file]", [str(file) for file in files])
    page.locator("button#add").click()
    expect(page.locator("#upload-said")).to_contain_text("ready for questions")


def write_uploads(folder: Path) -> list[Path]:
    (folder / "gbk.txt").write_bytes("标准合同\r\n数据出境前应当备案，𠮷先生负责。".encode("gb18030"))
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / "<b>hostile.txt").write_text(f"{HOSTILE} late interaction of tokens", encoding="utf-8")
    word = Word()
    word.add_table(1, 2).rows[0].cells[0].text = "late interaction"
    word.save(str(folder / "table.docx"))
    return sorted(folder.iterdir())


def test_files_that_wait_are_no_links_and_no_word_is_missing(explore: Page, tmp_path: Path) -> None:
    unfold(explore, "#add-files")
    explore.set_input_files("#files input[type=file]", [str(file) for file in write_uploads(tmp_path)])
    expect(explore.locator(".file-preview .file")).to_have_count(4)
    # a file is served to nobody, not even to whom it comes from
    expect(explore.locator(".file-preview a:visible")).to_have_count(0)
    titles = [button.get_attribute("title") for button in explore.locator("#files .icon-button").all()]
    assert titles == ["Add more files", "Clear"]


def test_uploaded_files_are_reported_asked_and_harmless(explore: Page, tmp_path: Path) -> None:
    upload(explore, write_uploads(tmp_path))
    expect(explore.locator("#upload-said")).to_contain_text("3 of 4 files are ready")
    report = explore.locator("#report")
    expect(report).to_contain_text("gb18030")
    expect(report).to_contain_text("not indexed")
    ask(explore, "late interaction")
    expect(explore.locator(AFTER)).to_have_count(3)
    explore.locator(AFTER).filter(has_text="hostile").locator("button").click()
    expect(explore.locator(".cv-right")).to_contain_text("${1+1} {{value}}")
    assert explore.title() == "CausalViz"
    assert explore.locator(".causalviz img, .causalviz script").count() == 0


def test_uploads_of_one_session_are_invisible_to_another(
    explore: Page, browser: Browser, app: str, tmp_path: Path
) -> None:
    upload(explore, write_uploads(tmp_path))
    context = browser.new_context()
    other = context.new_page()
    other.goto(app)
    other.locator("#knowledge-base input").click()
    expect(other.get_by_role("option", name="sample_kb")).to_be_visible()
    assert other.get_by_role("option", name="your uploads").count() == 0
    ask(other, "late interaction")
    expect(other.locator(AFTER)).to_have_count(20)
    context.close()


def test_only_unreadable_files_are_a_failure_not_a_success(explore: Page, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n ", encoding="utf-8")
    upload(explore, [tmp_path / "blank.txt"])
    expect(explore.locator("#upload-said")).to_contain_text("0 of 1 files are ready")
    expect(explore.locator("#report")).to_contain_text("not indexed")
    ask(explore, QUESTION)  # the sample is still there
    expect(explore.locator(AFTER)).to_have_count(20)


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (1920, "light")])
def test_nothing_is_cut_off(page: Page, app: str, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(f"{app}/?__theme={theme}")
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    ask(page, QUESTION)
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0
    # the first card of the ranking is in sight without scrolling
    box = page.locator(f"{AFTER}:has(.cv-rank:text-is('1'))").bounding_box()
    assert box is not None
    assert box["y"] < 900
