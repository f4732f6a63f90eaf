"""The Answer page in the real app, with a real server of a chat protocol that behaves well and badly."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from backends.chat_http import KEY, PIECE, Server, reply_to
from backends.chat_http import serving as chat_server
from browser.serving import serving
from browser.test_app import AFTER, ask, unfold
from playwright.sync_api import Browser, Page, expect

from causalviz.answer.prompt import TEMPLATE

QUESTION = "How does ColBERT late interaction work?"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> ${1+1} {{value}} {sources}"
ANSWER_ALONE = """(answer) => {
    const copy = answer.cloneNode(true);
    copy.querySelectorAll(".cal-sr, .ans-doubt, .ans-link").forEach((added) => added.remove());
    return copy.textContent;
}"""
DONE = ".ans-column[data-state=done]"


@pytest.fixture(scope="module")
def chat() -> Iterator[Server]:
    """Start a chat server once for this file."""
    with chat_server() as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index the sample once for all apps of this file."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def app(home: Path, chat: Server) -> Iterator[str]:
    """Start the app with that server; ``chat.behaviour`` chooses how it behaves."""
    with serving(
        home, CAUSALVIZ_CHAT_URL=chat.url, CAUSALVIZ_CHAT_MODEL="any", OPENAI_API_KEY=KEY
    ) as address:
        yield address


@pytest.fixture
def opened(page: Page, app: str, chat: Server) -> Page:
    """Open the page; the server behaves well unless a test says otherwise."""
    chat.behaviour, chat.pause, chat.silence = "good", 0.0, 1.5
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, app)
    return page


def visit(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()


def answer(page: Page, question: str = QUESTION) -> None:
    page.get_by_role("tab", name="Answer").click()
    page.fill("#answer-question textarea", question)
    page.click("button#answer-ask")


def finished(page: Page) -> None:
    expect(page.locator(DONE)).to_have_count(2)


def test_both_rankings_answer_with_sources_and_every_sentence_is_marked(opened: Page, chat: Server) -> None:
    answer(opened)
    finished(opened)
    columns = opened.locator(".ans-column")
    for column in columns.all():
        prompt = column.locator(".ans-prompt").input_value()
        told = column.locator(".ans-answer").evaluate(ANSWER_ALONE)
        assert told == reply_to(prompt)
        expect(column.locator(".ans-sentence[data-kind=cited]")).to_have_count(3)
        expect(column.locator(".ans-sentence[data-kind=unsupported]")).to_have_count(1)
        expect(column.locator(".ans-counted")).to_have_text("3 of 4 sentences found in the sources")
        assert prompt in [request["messages"][0]["content"] for request in chat.requests]
    columns.first.locator(".ans-cite", has_text="2").click()
    second = columns.first.locator(".ans-source").nth(1)
    expect(second.locator("details")).to_have_attribute("open", "")
    expect(second).to_be_focused()
    # what is asked here is asked on Explore
    opened.get_by_role("tab", name="Explore").click()
    expect(opened.locator("#question textarea")).to_have_value(QUESTION)
    expect(opened.locator(AFTER).first).to_be_visible()


def test_the_question_of_explore_is_answered_as_it_stands_there(opened: Page) -> None:
    ask(opened, QUESTION)
    opened.get_by_role("tab", name="Answer").click()
    expect(opened.locator("#answer-question textarea")).to_have_value(QUESTION)
    opened.get_by_label("causal score (s_c)").locator("visible=true").check()
    opened.click("button#answer-ask")
    finished(opened)
    titles = (
        opened.locator(".ans-column")
        .nth(1)
        .locator(".ans-source summary span:not(.ans-badge)")
        .all_inner_texts()
    )
    opened.get_by_role("tab", name="Explore").click()
    opened.get_by_label("Rank by").select_option("causal")
    first = opened.locator(f"{AFTER}:has(.cv-rank:text-is('1'))").first
    expect(first).to_contain_text(titles[0])


def test_stopping_keeps_what_is_written_and_the_next_answer_comes(opened: Page, chat: Server) -> None:
    chat.pause = 0.3
    answer(opened)
    expect(opened.locator(".ans-column[data-state=writing]")).to_have_count(2)
    opened.click("button#answer-stop")
    expect(opened.locator(".ans-column[data-state=stopped]")).to_have_count(2)
    assert len(opened.locator(".ans-answer").first.inner_text()) >= PIECE - 2
    chat.pause = 0.0
    opened.click("button#answer-ask")
    finished(opened)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("401", "refused the key (401)"),
        ("400", "refused the request (400: fault 400 for key *** second line)"),
        ("lost", "broke off in the middle"),
        ("broken", "is no chat stream"),
    ],
)
def test_a_fault_is_told_in_its_column_and_the_page_stays_usable(
    opened: Page, chat: Server, home: Path, behaviour: str, words: str
) -> None:
    chat.behaviour = behaviour
    answer(opened)
    expect(opened.locator(".ans-column[data-state=failed]")).to_have_count(2)
    expect(opened.locator(".ans-state").first).to_contain_text(words)
    if behaviour == "lost":  # what came until then is kept
        assert opened.locator(".ans-answer").first.inner_text().strip()
    assert opened.locator(".ans-source").count() == 6
    chat.behaviour = "good"
    opened.click("button#answer-ask")
    finished(opened)
    assert KEY not in opened.content() + (home / "app.log").read_text()


def test_closing_the_page_leaves_a_silent_server(browser: Browser, app: str, chat: Server) -> None:
    chat.behaviour, chat.silence = "silent", 120.0
    context = browser.new_context()
    page = context.new_page()
    visit(page, app)
    chat.requests.clear()
    answer(page)
    expect(page.locator(".ans-column")).to_have_count(2)
    for _ in range(100):
        if chat.requests:
            break
        page.wait_for_timeout(50)
    assert chat.requests
    chat.left.clear()
    context.close()
    assert chat.left.wait(60)


def test_wrong_input_is_told_in_one_sentence(opened: Page) -> None:
    alert = opened.locator("#answer-view [role=alert]")
    opened.get_by_role("tab", name="Answer").click()
    unfold(opened, "#answer-prompt")
    template = opened.locator("#answer-template textarea")
    expect(template).to_have_value(TEMPLATE)
    answer(opened, "   ")
    expect(alert).to_contain_text("the question is empty")
    template.fill("no place for anything")
    answer(opened)
    expect(alert).to_contain_text("the template lacks {question} and {sources}")
    opened.click("button#answer-reset")
    expect(template).to_have_value(TEMPLATE)
    opened.click("button#answer-ask")
    finished(opened)
    expect(alert).to_be_hidden()


def test_hostile_uploads_stay_text_and_foreign_ones_are_translated(
    opened: Page, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "bad.md").write_text(f"# Title {HOSTILE}\n\nlate token {HOSTILE} [7]\n", encoding="utf-8")
    (tmp_path / "zh.txt").write_text("后期交互逐词比较向量，取最大值。", encoding="utf-8")
    unfold(opened, "#add-files")
    opened.set_input_files("#files input[type=file]", [str(file) for file in sorted(tmp_path.iterdir())])
    opened.locator("button#add").click()
    expect(opened.locator("#upload-said")).to_contain_text("ready for questions")
    answer(opened, f"late token {HOSTILE}")
    finished(opened)
    expect(opened.locator(".ans-about")).to_contain_text("your uploads")
    first = opened.locator(".ans-column").first
    assert HOSTILE in first.locator(".ans-prompt").input_value()
    expect(first.locator(".ans-source")).to_have_count(2)
    translated = first.locator(".ans-source", has_text="translated").first
    translated.locator("summary").click()
    expect(translated.locator(".ans-pair")).to_contain_text("original后期交互逐词比较向量")
    expect(translated.locator(".ans-pair")).to_contain_text("译文（translation）")
    assert opened.locator("#answer-view img, #answer-view script").count() == 0
    assert opened.title() == "CausalViz"
    # an upload is private, and so is its translation
    kept = [file.read_text(encoding="utf-8") for file in home.rglob("translations/*.txt")]
    assert not any("后期交互逐词" in text for text in kept)


def test_without_a_model_the_prompts_are_shown_and_copied(page: Page, home: Path) -> None:
    with serving(home, CAUSALVIZ_CHAT_URL="", CAUSALVIZ_CHAT_MODEL="") as address:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        visit(page, address)
        answer(page)
        finished(page)
        expect(page.locator(".ans-note").first).to_contain_text("No chat model is set up here")
        expect(page.locator(".ans-answer").first).to_be_hidden()
        expect(page.locator("#answer-stop")).to_have_count(0)
        prompt = page.locator(".ans-prompt").first
        expect(prompt).to_be_visible()
        assert QUESTION in prompt.input_value()
        page.get_by_role("button", name="Copy the prompt").first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == prompt.input_value()
        page.close()  # before the app ends under it


def test_half_a_setting_is_told(page: Page, home: Path) -> None:
    with serving(home, CAUSALVIZ_CHAT_URL="http://127.0.0.1:9/v1", CAUSALVIZ_CHAT_MODEL="") as address:
        visit(page, address)
        answer(page)
        alert = page.locator("#answer-view [role=alert]")
        expect(alert).to_contain_text("CAUSALVIZ_CHAT_MODEL names no model")
        page.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (1920, "light")])
def test_the_page_fits(page: Page, app: str, chat: Server, width: int, theme: str) -> None:
    chat.behaviour = "good"
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, f"{app}/?__theme={theme}")
    answer(page)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    boxes = [column.bounding_box() for column in page.locator(".ans-column").all()]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]  # side by side
    assert boxes[0]["y"] < 450
