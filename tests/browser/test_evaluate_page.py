"""The Evaluate page in the real app; a tiny encoder takes the place of the bundled one."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.serving import serving
from browser.test_app import AFTER
from browser.test_calibrate import HOSTILE, calibrate, counted, grade_question, propose, visit
from playwright.sync_api import Page, expect

ROWS = ".cal-questions tbody tr"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app once for this file."""
    with serving(tmp_path_factory.mktemp("home")) as address:
        yield address


@pytest.fixture
def opened(page: Page, app: str) -> Page:
    """Open the app."""
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, app)
    return page


def evaluate(page: Page) -> None:
    page.get_by_role("tab", name="Evaluate").click()
    expect(page.locator(ROWS).first).to_be_visible(timeout=120_000)


def source(page: Page, words: str) -> None:
    page.locator("#evaluate-source").get_by_label(words).check()


def changes(page: Page) -> list[float]:
    cells = page.locator(f"{ROWS} td:nth-child(4)").all_inner_texts()
    return [float(cell.split("\n")[0].replace("−", "-")) for cell in cells]


def test_the_sample_is_measured_and_sorted_by_the_largest_change(opened: Page) -> None:
    evaluate(opened)
    expect(opened.locator(ROWS)).to_have_count(8)
    expect(opened.locator(".cal-summary")).to_contain_text("8 questions")
    found = changes(opened)
    assert [abs(one) for one in found] == sorted(map(abs, found), reverse=True)
    opened.get_by_role("button", name="worst losses").click()
    assert changes(opened) == sorted(found)
    opened.get_by_role("button", name="best gains").click()
    assert changes(opened) == sorted(found, reverse=True)
    expect(opened.locator("#evaluate-map")).to_contain_text("absorption threshold tau (cosine)")
    expect(opened.locator("#evaluate-said")).to_contain_text("Best mean nDCG@10 of the hybrid")
    opened.get_by_label("causal score (s_c)").check()
    expect(opened.locator(".cal-summary")).to_contain_text("causal score (s_c) is better on")
    assert opened.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_a_click_opens_the_question_as_it_was_measured(opened: Page) -> None:
    evaluate(opened)
    opened.get_by_label("causal score (s_c)").check()
    expect(opened.locator(".cal-summary")).to_contain_text("causal score (s_c) is better on")
    question = opened.locator(".cal-open").nth(2).inner_text()
    opened.locator(".cal-open").nth(2).click()
    expect(opened.locator(".cv-results")).to_be_visible()
    expect(opened.locator("#question textarea")).to_have_value(question)
    expect(opened.locator("#ruling")).to_contain_text("As measured on Evaluate")
    assert opened.evaluate("document.querySelector('.causalviz-root').view.state().method") == "causal"
    assert opened.locator(AFTER).count() in {7, 8}  # the theme's own documents
    expect(opened.locator(".cv-text")).not_to_be_empty()


def test_labels_of_this_session_are_measured(opened: Page) -> None:
    evaluate(opened)
    source(opened, "what I labelled in Calibrate")
    expect(opened.locator("#evaluate-view")).to_contain_text("no question counts yet")
    propose(opened)
    grade_question(opened)
    grade_question(opened)
    counted(opened, "2 of 8 questions count")
    opened.get_by_role("tab", name="Evaluate").click()
    expect(opened.locator(ROWS)).to_have_count(2)


def test_uploads_are_measured_saved_and_harmless(opened: Page, tmp_path: Path) -> None:
    target = "t6-colbert/token-level-maxsim.md"
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"_id": "a", "text": f"late interaction {HOSTILE}"}, ensure_ascii=False), encoding="utf-8"
    )
    (tmp_path / "judged.txt").write_text(f"a 0 {target} 2\na 0 elsewhere 1\n", encoding="utf-8")
    evaluate(opened)
    source(opened, "my questions and judgments")
    files = opened.locator("#evaluate-bar input[type=file][accept*=qrels]")
    files.set_input_files(str(tmp_path / "q.jsonl"))
    expect(opened.locator(".toast-body")).to_contain_text("a file of questions alone")
    files.set_input_files([str(tmp_path / "q.jsonl"), str(tmp_path / "judged.txt")])
    expect(opened.locator(ROWS)).to_have_count(1)
    expect(opened.locator(ROWS)).to_contain_text(HOSTILE)
    expect(opened.locator("#evaluate-view")).to_contain_text("1 of 2 judgments name documents")
    assert opened.locator("#evaluate-view img").count() == 0
    assert opened.title() == "CausalViz"
    for kind, name in (("csv", "evaluation.csv"), ("json", "evaluation.json"), ("qrels", "qrels.txt")):
        with opened.expect_download() as download:
            opened.click(f"button#evaluate-{kind}")
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
    with (tmp_path / "evaluation.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["query"] == f"late interaction {HOSTILE}"
    saved = json.loads((tmp_path / "evaluation.json").read_text(encoding="utf-8"))
    assert saved["queries"][0]["qrels"] == {target: 2}
    assert (tmp_path / "qrels.txt").read_text(encoding="utf-8") == f"a 0 {target} 2\n"


def test_own_themes_open_on_explore_with_their_texts(opened: Page, tmp_path: Path) -> None:
    documents = [
        {"id": "a", "role": "target", "title": "one", "text": "token vectors compare maxima of late tokens"},
        {"id": "b", "role": "stuffed", "title": HOSTILE, "text": "late interaction late interaction"},
    ]
    theme = {"id": "T", "lang": "en", "query": "late interaction", "documents": documents}
    (tmp_path / "own.jsonl").write_text(json.dumps(theme), encoding="utf-8")
    evaluate(opened)
    source(opened, "my THEMES.jsonl")
    opened.locator(
        "#evaluate-themes input, #evaluate-bar input[type=file][accept='.jsonl']"
    ).first.set_input_files(str(tmp_path / "own.jsonl"))
    expect(opened.locator(ROWS)).to_have_count(1)
    expect(opened.locator(".cal-summary")).to_contain_text("One question says nothing about others")
    opened.locator(".cal-open").click()
    expect(opened.locator(AFTER)).to_have_count(2)
    expect(opened.locator(".cv-text")).to_contain_text("late")
    calibrate(opened)  # the other pages are as they were
    expect(opened.locator("#calibrate-base input")).to_have_value("sample_kb")
