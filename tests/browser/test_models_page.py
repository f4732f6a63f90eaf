"""The Models page in the real app: tiny models of the real architectures and a local server, chosen while it runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from backends import chat_http, tiny_models
from backends.chat_http import Server
from browser.serving import serving
from browser.test_app import AFTER, ask
from fakes import WordEncoder, silent
from playwright.sync_api import Browser, Locator, Page, expect

from causalviz.bootstrap import index_into
from causalviz.choices import DAMAGED, FILE
from causalviz.knowledge_base import RecordEntry
from causalviz.records import Document

KEY = "sk-typed-by-a-person"
QUESTION = "How does ColBERT late interaction work?"
BY_CHOICE = """
import sys
from fakes import WordEncoder
from causalviz import bootstrap, cli
bootstrap.ENCODERS["words"] = WordEncoder
sys.exit(cli.main(["serve"]))
"""
"""It knows the small encoder, which the file of choices names: nothing else settles it."""
# Everything that comes from the server is kept as text; streams are read beside the page's own reading.
_LISTEN = """
window.heard = [];
const own = window.fetch;
window.fetch = async (...given) => {
  const answer = await own(...given);
  const copy = answer.clone();
  (async () => {
    try {
      const reader = copy.body.getReader(), decoder = new TextDecoder();
      for (let part = await reader.read(); !part.done; part = await reader.read())
        window.heard.push(decoder.decode(part.value, { stream: true }));
    } catch { /* the page ended the stream */ }
  })();
  return answer;
};
"""
IDLE = 120_000
"""Milliseconds: long enough for a busy machine."""


@pytest.fixture(scope="module")
def chat() -> Iterator[Server]:
    with chat_http.serving() as server:
        yield server


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    bare = tiny_models.bert(place / "bge-small-zh-v1.5")
    return {
        "st": tiny_models.sentence(place / "plain", bare, {}),
        "cross": tiny_models.scoring(place / "scoring"),
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index the sample once for all apps of this file, and one more knowledge base with the small encoder."""
    home = tmp_path_factory.mktemp("home")
    document = Document(id="mine.txt", title="mine", text="late interaction", reader="text")
    index_into(home / "knowledge_bases" / "mine.kb", [RecordEntry(document)], WordEncoder(), silent)
    return home


def choose_words(home: Path) -> None:
    (home / FILE).write_text(json.dumps({"version": 1, "encoder": "words"}), encoding="utf-8")


@pytest.fixture(scope="module")
def app(home: Path) -> Iterator[str]:
    choose_words(home)
    with serving(home, BY_CHOICE) as address:
        yield address


def visit(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#explore-view .causalviz")).to_be_visible(timeout=IDLE)


def models(page: Page, role: str) -> Locator:
    # Opening the page fills it in; what is chosen before that would be lost.
    with page.expect_response(lambda response: "/run/" in response.url) as filled:
        page.get_by_role("tab", name="Models").click()
    filled.value.finished()
    card = page.locator(f"#models-{role}")
    expect(card.locator(".prose.models-state")).to_contain_text("In use:", timeout=IDLE)
    return card


def choose(card: Locator, kind: str, **fields: str) -> None:
    card.get_by_label(kind, exact=True).check()
    for name, value in fields.items():
        field = card.locator(f".models-{name} input")
        expect(field).to_be_visible(timeout=IDLE)
        field.fill(value)
        field.press("Enter")


def said(card: Locator, words: str) -> None:
    expect(card.locator(".prose.models-said")).to_contain_text(words, timeout=IDLE)


def choose_base(page: Page, name: str) -> None:
    explore = page.get_by_role("tab", name="Explore")
    if explore.get_attribute("aria-selected") != "true":
        with page.expect_response(lambda response: "/run/" in response.url) as listed:
            explore.click()
        listed.value.finished()
    page.locator("#knowledge-base input").click()
    page.get_by_role("option", name=name, exact=True).click()


def test_an_encoder_is_tested_used_named_on_explore_and_unloaded(
    page: Page, app: str, home: Path, tiny: dict[str, Path]
) -> None:
    visit(page, app)
    ask(page, QUESTION)
    expect(page.locator("#explore-view")).to_contain_text("encoder words", timeout=IDLE)

    card = models(page, "encoder")
    expect(card.locator(".prose.models-state")).to_contain_text("words, in memory")
    choose(card, "a sentence-transformers model", place=str(tiny["st"]))
    expect(card.locator(".prose.models-needs")).to_contain_text(
        "It is on this disk. It takes about", timeout=IDLE
    )
    card.locator(".models-test").click()
    said(card, "works: 32 numbers a text")
    expect(card.locator(".prose.models-state")).to_contain_text("words")
    card.locator(".models-use").click()
    said(card, "In use now. st:plain@")
    said(card, "Made with another encoder")
    said(card, "mine (words)")
    expect(card.locator(".prose.models-state")).to_contain_text("plain, in memory")
    assert json.loads((home / FILE).read_text())["encoder"] == f"st:{tiny['st']}"

    page.get_by_role("tab", name="Explore").click()
    ask(page, "How do token vectors work?")
    expect(page.locator("#explore-view")).to_contain_text("encoder st:plain@", timeout=IDLE)
    # what the encoder before made is refused by name, not mixed in
    choose_base(page, "mine")
    page.click("button#ask")
    expect(page.locator("#explore-view")).to_contain_text("holds vectors of encoder 'words'", timeout=IDLE)

    card = models(page, "encoder")
    card.locator(".models-unload").click()
    said(card, "Its memory is free again")
    expect(card.locator(".prose.models-state")).to_contain_text("plain, loaded when it is first needed")
    choose_base(page, "sample_kb")
    ask(page, QUESTION)
    expect(models(page, "encoder").locator(".prose.models-state")).to_contain_text("plain, in memory")


def test_a_reranker_scores_the_next_question_and_none_once_it_is_off(
    page: Page, app: str, tiny: dict[str, Path]
) -> None:
    visit(page, app)
    card = models(page, "reranker")
    choose(card, "a sentence-transformers CrossEncoder", place=str(tiny["cross"]))
    card.locator(".models-use").click()
    said(card, "In use now. cross:scoring@")
    page.get_by_role("tab", name="Explore").click()
    ask(page, QUESTION)
    expect(page.locator(AFTER).first).to_contain_text("cross-encoder", timeout=IDLE)
    card = models(page, "reranker")
    card.get_by_label("off", exact=True).check()
    card.locator(".models-use").click()
    said(card, "Off now.")
    page.get_by_role("tab", name="Explore").click()
    ask(page, "How do token vectors work?")
    expect(page.locator(AFTER).first).not_to_contain_text("cross-encoder")


def test_a_typed_key_reaches_its_server_and_no_file_log_or_page(
    page: Page, app: str, home: Path, chat: Server
) -> None:
    page.add_init_script(_LISTEN)
    visit(page, app)
    card = models(page, "chat")
    choose(card, "a server", place="401", url=chat.url, key=KEY)
    card.locator(".models-test").click()
    said(card, "refused the key (401)")
    choose(card, "a server", place="good", key=KEY)
    card.locator(".models-use").click()
    said(card, "In use now. good at 127.0.0.1")
    expect(card.locator(".models-key input")).to_have_value("")
    expect(card.locator(".prose.models-state")).to_contain_text("good on a server, with a key")
    assert f"Bearer {KEY}" in chat.keys
    # the Answer page answers with it at once
    page.get_by_role("tab", name="Answer").click()
    expect(page.locator("button#answer-ask")).to_have_text("Answer", timeout=IDLE)
    page.fill("#answer-question textarea", QUESTION)
    page.click("button#answer-ask")
    expect(page.locator(".ans-column[data-state=done]")).to_have_count(2, timeout=IDLE)
    assert chat.keys[-1] == f"Bearer {KEY}"

    heard = "".join(page.evaluate("window.heard"))
    assert "good on a server, with a key" in heard.replace("\\\\", "")  # it is heard what the server says
    files = [path for path in home.rglob("*") if path.is_file()]
    assert home / "app.log" in files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in heard + page.content()
    card = models(page, "chat")
    card.get_by_label("off", exact=True).check()
    card.locator(".models-use").click()
    said(card, "Off now.")


def test_what_cannot_be_used_is_told_and_the_page_goes_on(page: Page, app: str, tmp_path: Path) -> None:
    visit(page, app)
    card = models(page, "encoder")
    hostile = tmp_path / "<img src=x onerror=alert(1)>"
    hostile.mkdir()
    choose(card, "a sentence-transformers model", place=str(hostile))
    card.locator(".models-use").click()
    said(card, "Not usable: sentence-transformers cannot load encoder")
    assert page.locator("#models-encoder img").count() == 0
    choose(card, "a server", place="m", url="http://127.0.0.1:9/v1")
    card.locator(".models-test").click()
    said(card, "cannot be reached; start it")
    choose(card, "a FlagEmbedding model", place="nobody/knows-it")
    expect(card.locator(".prose.models-needs")).to_contain_text(
        "unknown until it is downloaded", timeout=IDLE
    )
    page.get_by_role("tab", name="Explore").click()
    ask(page, QUESTION)
    # what was typed is still there
    assert models(page, "encoder").locator(".models-place input").input_value() == "nobody/knows-it"


def test_somebody_behind_a_proxy_reads_and_changes_nothing(browser: Browser, app: str, home: Path) -> None:
    before = (home / FILE).read_text()
    context = browser.new_context()
    page = context.new_page()
    visit(page, app)
    card = models(page, "encoder")
    card.get_by_label("multilingual-E5-small (bundled)").check()
    # the page was opened here, and is used from elsewhere
    context.set_extra_http_headers({"X-Forwarded-For": "203.0.113.7"})
    card.locator(".models-use").click()
    said(card, "This app is shared, and its models are everybody's")
    visit(page, app)
    card = models(page, "encoder")
    expect(page.locator("#models-banner")).to_contain_text("This app is shared", timeout=IDLE)
    for part in (".models-use", ".models-test", ".models-unload", ".models-kind", ".models-place"):
        expect(card.locator(part)).to_be_hidden()
    assert (home / FILE).read_text() == before
    context.close()


@pytest.fixture
def settled(home: Path) -> Iterator[str]:
    """Start an app whose encoder is set by --encoder, beside a damaged file of choices."""
    (home / FILE).write_text("{", encoding="utf-8")
    with serving(home) as address:
        yield address


def test_what_is_set_outside_and_a_damaged_file_are_said(settled: str, page: Page, home: Path) -> None:
    visit(page, settled)
    card = models(page, "encoder")
    expect(page.locator("#models-banner")).to_contain_text(f"it is kept beside as {DAMAGED}", timeout=IDLE)
    said(card, "Set by --encoder: leave that out at the next start to choose here.")
    expect(card.locator(".models-use")).to_be_disabled()
    assert (home / DAMAGED).read_text() == "{"


@pytest.fixture
def lacking(home: Path, tmp_path: Path) -> Iterator[str]:
    """Start an app whose chosen encoder is there no more."""
    chosen = {"version": 1, "encoder": f"st:{tmp_path / 'gone'}"}
    (home / FILE).write_text(json.dumps(chosen), encoding="utf-8")
    with serving(home, BY_CHOICE, HF_HUB_OFFLINE="1") as address:
        yield address


def test_an_encoder_that_is_gone_keeps_no_app_from_starting(lacking: str, page: Page, home: Path) -> None:
    told = "The app starts all the same: choose an encoder on its Models page."
    assert told in (home / "app.log").read_text()
    visit(page, lacking)
    page.fill("#question textarea", QUESTION)
    page.click("button#ask")
    expect(page.locator("#explore-view")).to_contain_text("cannot load encoder", timeout=IDLE)
    card = models(page, "encoder")
    # and another one mends it
    choose(card, "multilingual-E5-small (bundled)")
    card.locator(".models-test").click()
    said(card, "e5-small works: 384 numbers a text")


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (1920, "light")])
def test_the_page_fits(page: Page, app: str, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, f"{app}/?__theme={theme}")
    card = models(page, "encoder")
    choose(card, "a server")
    expect(card.locator(".models-key")).to_be_visible(timeout=IDLE)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    tops = [page.locator(f"#models-{role}").bounding_box() for role in ("encoder", "reranker", "chat")]
    assert len({box["y"] for box in tops if box}) == 1  # side by side
