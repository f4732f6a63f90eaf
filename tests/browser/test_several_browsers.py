"""Several people use one app at the same time: two ask while others' files are indexed, and nobody sees another's."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from browser.serving import serving
from browser.test_app import unfold
from fakes import WordEncoder, silent
from playwright.sync_api import Browser, Page, expect

from causalviz.bootstrap import sample_pipeline
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import RankSettings
from causalviz.settings import Settings

QUESTIONS = int(os.environ.get("CAUSALVIZ_QUESTIONS", "20"))
"""Of each of the two who ask; their drawing takes most of the time."""
SECONDS = 60_000
WORD = "zeppelin"
"""In the names and texts of the uploads alone."""
# Asks one question after the other as a person does, and notes what the page holds when it is answered.
ASK_ALL = """(questions) => {
  const root = document.querySelector(".causalviz-root");
  const field = document.querySelector("#question textarea");
  const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
  const later = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  window.asked = (async () => {
    const answers = [];
    for (const question of questions) {
      set.call(field, question);
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await later(0);
      document.querySelector("button#ask").click();
      for (const begun = Date.now(); root.trace?.query !== question; await later(5)) {
        if (Date.now() - begun > 90000) throw new Error(`no answer to: ${question}`);
      }
      const { knowledge_base, candidates } = root.trace;
      answers.push({
        at: Date.now(),
        question,
        base: knowledge_base,
        found: candidates.map(({ id, similarity }) => [id, similarity]),
      });
    }
    return answers;
  })();
}"""


@dataclass(frozen=True)
class App:
    """A running app."""

    address: str
    home: Path
    temporary: Path
    """Where it puts what people upload."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home, temporary = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("temporary")
    with serving(home, TMPDIR=str(temporary)) as address:
        yield App(address, home, temporary)


@pytest.fixture
def sample(app: App) -> Pipeline:
    """Give the knowledge base the app asks, opened by the library."""
    settings = Settings(home=app.home, encoder="words", host="127.0.0.1", port=7860)
    return sample_pipeline(WordEncoder(), settings, silent)


@pytest.fixture
def pages(browser: Browser, app: App) -> Iterator[list[Page]]:
    """Open four browsers that know nothing of each other."""
    contexts = [browser.new_context() for _ in range(4)]
    opened = []
    for context in contexts:
        page = context.new_page()
        page.goto(app.address)
        opened.append(page)
    for page in opened:
        expect(page.locator("#explore-view .causalviz")).to_be_visible(timeout=SECONDS)
    yield opened
    for context in contexts:
        context.close()


def begin_upload(page: Page, folder: Path, files: int, words: int) -> None:
    folder.mkdir()
    for number in range(files):
        text = " ".join(f"{WORD}{number}x{i}" for i in range(words))
        (folder / f"{WORD}-{number}.txt").write_text(text, encoding="utf-8")
    unfold(page, "#add-files")
    page.set_input_files("#files input[type=file]", sorted(folder.iterdir()))
    page.locator("button#add").click()


def begin_asking(page: Page, sample: Pipeline, start: int) -> list[str]:
    """Ask for a word of one document each."""
    words = [word for word in sample.base.vocabulary if word.isascii() and word.isalpha()]
    questions = [f"what is {word} about?" for word in words[start : start + 2 * QUESTIONS : 2]]
    assert len(set(questions)) == QUESTIONS
    page.evaluate(ASK_ALL, questions)
    return questions


def assert_right(sample: Pipeline, questions: list[str], answers: list[dict[str, Any]]) -> None:
    assert [answer["question"] for answer in answers] == questions
    settings = RankSettings(tau=sample.default_tau(centred=False).tau)
    for answer in answers:
        trace = sample.ask(answer["question"], SearchSettings(), settings)
        assert answer["base"] == "sample_kb"
        assert [id_ for id_, _ in answer["found"]] == [candidate.id for candidate in trace.candidates]
        expected = [candidate.similarity for candidate in trace.candidates]
        assert [similarity for _, similarity in answer["found"]] == pytest.approx(expected, abs=1e-6)


def indexing_processes() -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("causalviz.jobs" in argument for argument in process.cmdline()):
                found.append(process)
        except psutil.Error:  # it has ended
            continue
    return found


def left_of_uploads(app: App) -> list[str]:
    """Name them by os.walk, which passes over a folder that is being deleted; Path.rglob fails there."""
    files = [name for _, _, names in os.walk(app.temporary) for name in names]
    return [name for name in files if WORD in name or name.endswith(".kb")]


def test_two_ask_and_are_answered_right_while_others_index(
    pages: list[Page], sample: Pipeline, tmp_path: Path
) -> None:
    one, two, uploading, waiting = pages
    begin_upload(uploading, tmp_path / "long", files=40, words=400)
    expect(uploading.locator("#files")).to_contain_text(re.compile(f"{WORD}-\\d+.txt: "), timeout=SECONDS)
    begin_upload(waiting, tmp_path / "late", files=1, words=5)
    questions = [begin_asking(page, sample, start) for start, page in enumerate((one, two))]
    # Who waits for the other's files is told so, and can stop waiting at once.
    expect(waiting.locator("#files")).to_contain_text("waiting for another indexing to end", timeout=SECONDS)
    waiting.locator("button#stop-adding").click()
    expect(waiting.locator("#upload-said")).to_contain_text("Stopped", timeout=SECONDS)
    assert "ready for questions" not in uploading.locator("#upload-said").inner_text()

    expect(uploading.locator("#upload-said")).to_contain_text("40 of 40 files are ready", timeout=SECONDS)
    indexed_at = time.time() * 1000
    for page, asked in zip((one, two), questions, strict=True):
        answers = page.evaluate("() => window.asked")
        assert answers[0]["at"] < indexed_at
        assert_right(sample, asked, answers)
        assert WORD not in page.content()
        page.locator("#knowledge-base input").click()
        expect(page.get_by_role("option", name="sample_kb")).to_be_visible()
        assert page.get_by_role("option", name="your uploads").count() == 0
    uploading.evaluate(ASK_ALL, [f"{WORD}7x3"])
    (answer,) = uploading.evaluate("() => window.asked")
    assert answer["base"] == "your uploads"
    assert answer["found"]
    assert {id_ for id_, _ in answer["found"]} <= {f"{WORD}-{number}.txt" for number in range(40)}


def test_a_page_closed_in_the_middle_ends_its_process_and_leaves_no_file(
    browser: Browser, app: App, tmp_path: Path
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(app.address)
    expect(page.locator("#explore-view .causalviz")).to_be_visible(timeout=SECONDS)
    begin_upload(page, tmp_path / "endless", files=60, words=3_000)
    expect(page.locator("#files")).to_contain_text(re.compile(f"{WORD}-\\d+.txt: "), timeout=SECONDS)
    processes = indexing_processes()
    assert len(processes) == 1
    context.close()
    assert psutil.wait_procs(processes, timeout=SECONDS / 1000)[1] == []
    end = time.monotonic() + SECONDS / 1000
    while left_of_uploads(app) and time.monotonic() < end:
        time.sleep(0.1)
    assert left_of_uploads(app) == []
