"""The Documents page in the real app: what was read of each file, and looking after knowledge bases."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.serving import serving
from browser.test_app import AFTER, ask, unfold
from playwright.sync_api import Browser, Locator, Page, expect
from ui.test_changing import index, left

HOSTILE = "<img src=x onerror=\"document.title='owned'\"> ${1+1} {{value}} late interaction of tokens"
ROWS = ".doc-table tbody tr[tabindex]"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app once for this file; an app that was killed has left a change behind."""
    home = tmp_path_factory.mktemp("home")
    path = home / "knowledge_bases" / "contracts.kb"
    path.parent.mkdir()
    old = home / "old.txt"
    old.write_text("what was there", encoding="utf-8")
    index(path, [old])
    left(path, home)
    with serving(home, CAUSALVIZ_MAX_FILE_MB="0.2") as address:
        yield address


@pytest.fixture
def opened(page: Page, app: str) -> Page:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, app)
    return page


def visit(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    page.get_by_role("tab", name="Documents").click()
    expect(page.locator(".doc-card").first).to_be_visible()


def said(page: Page, words: str | re.Pattern[str]) -> None:
    expect(page.locator(".doc-said")).to_contain_text(words)


def create(page: Page, name: str) -> None:
    page.get_by_role("button", name="New …").click()
    page.locator(".doc-form input").fill(name)
    page.keyboard.press("Enter")
    said(page, f"“{name}” is there")


def add(page: Page, *files: Path) -> None:
    page.locator("input[aria-label='Choose files to add']").set_input_files([str(file) for file in files])


def row(page: Page, name: str) -> Locator:
    return page.locator(ROWS).filter(has=page.locator(f".doc-name:text-is('{name}')"))


def write_files(folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    (folder / "gbk.txt").write_bytes("标准合同\r\n数据出境前应当备案，𠮷先生负责。".encode("gb18030"))
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / "<b>=1+1.txt").write_text(HOSTILE, encoding="utf-8")
    (folder / "large.txt").write_text("late interaction\n" * 20_000, encoding="utf-8")
    with zipfile.ZipFile(folder / "laws.zip", "w") as archive:
        archive.writestr("2021/出境.txt", "数据出境安全评估办法 " * 900)
        archive.writestr("2021/copy.txt", "标准合同\n数据出境前应当备案,𠮷先生负责。")
    return sorted(folder.iterdir())


def test_what_a_killed_app_had_finished_is_there(opened: Page) -> None:
    opened.locator(".doc-card", has_text="contracts").first.click()
    # Its state is not the one the copy was made of: both are kept.
    opened.locator(".doc-card", has_text="contracts (2)").click()
    expect(row(opened, "new.txt")).to_be_visible()
    expect(row(opened, "old.txt")).to_be_visible()


def test_every_file_is_accounted_for_and_its_text_is_read_as_indexed(opened: Page, tmp_path: Path) -> None:
    create(opened, "法律 1")
    add(opened, *write_files(tmp_path / "in"))
    said(opened, "4 files read; 2 refused")
    expect(opened.locator(".doc-counted")).to_contain_text("6 files: 4 read, 2 refused, 1 duplicate")
    expect(row(opened, "gbk.txt")).to_contain_text("gb18030")
    notes = opened.locator(".doc-note")
    expect(notes.filter(has_text="0.3 MB, more than the 0.2 MB that are read")).to_have_count(1)
    expect(notes.filter(has_text="the file is empty")).to_have_count(1)
    expect(notes.filter(has_text="the same text as")).to_have_count(1)
    # a text is drawn as it is, with marks beside it
    row(opened, "<b>=1+1.txt").click()
    text = opened.locator(".doc-text")
    expect(text.locator(".doc-chunk")).to_have_count(1)
    assert text.evaluate("(text) => text.textContent") == HOSTILE
    opened.keyboard.press("Escape")
    expect(row(opened, "<b>=1+1.txt")).to_be_focused()
    # by keyboard, and searched
    opened.locator(".doc-files input[type=search]").fill("出境")
    opened.locator(ROWS).filter(has_text="出境.txt").focus()
    opened.keyboard.press("Enter")
    expect(text.locator(".doc-chunk")).to_have_count(3)
    opened.locator(".doc-reader input[type=search]").fill("评估办法  数据出境")
    expect(opened.locator(".doc-reader .doc-found")).to_have_text("1 of 899")
    opened.keyboard.press("Enter")
    expect(text.locator(".doc-hit-at")).to_have_attribute("data-hit", "1")
    assert opened.title() == "CausalViz"
    assert opened.locator(".docs img, .docs script").count() == 0


def test_the_report_is_saved_for_programs_and_spreadsheets(opened: Page, tmp_path: Path) -> None:
    create(opened, "report")
    write_files(tmp_path / "in")
    add(opened, tmp_path / "in" / "<b>=1+1.txt", tmp_path / "in" / "empty.txt")
    said(opened, "1 file read; 1 refused")
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Report as CSV").click()
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text(encoding="utf-8-sig"))))
    assert [row["status"] for row in rows] == ["read", "refused"]
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Report as JSON").click()
    assert [file["file"] for file in json.loads(saved.value.path().read_text())["files"]] == [
        "<b>=1+1.txt",
        "empty.txt",
    ]


def test_a_folder_keeps_its_paths_and_a_file_takes_the_place_of_its_namesake(
    opened: Page, tmp_path: Path
) -> None:
    for place in ("laws/2021", "laws/2022", "laws/.git"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.txt").write_text(f"late interaction {place}", encoding="utf-8")
    create(opened, "folder")
    folder = opened.locator("input[aria-label='Choose a folder to add']")
    folder.set_input_files(str(tmp_path / "laws"))
    said(opened, "2 files read.")
    expect(opened.locator(ROWS)).to_have_count(2)
    (tmp_path / "laws/2021/a.txt").write_text("something else", encoding="utf-8")
    folder.set_input_files(str(tmp_path / "laws"))
    said(opened, "1 file read; 1 unchanged.")
    row(opened, "laws/2021/a.txt").click()
    expect(opened.locator(".doc-text")).to_have_text("something else")
    opened.keyboard.press("Escape")
    opened.locator(".doc-changes summary").click()
    expect(opened.locator(".doc-what[data-what=replaced]")).to_have_count(1)
    # remove
    row(opened, "laws/2022/a.txt").locator("input").check()
    opened.get_by_role("button", name="Remove 1 file").click()
    opened.locator(".doc-form").get_by_role("button", name="Remove").click()
    said(opened, "1 file removed.")
    expect(opened.locator(ROWS)).to_have_count(1)


def test_dropped_files_are_added(opened: Page) -> None:
    create(opened, "dropped")
    opened.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["late interaction"], "dropped.txt"));
            const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true });
            document.querySelector(".doc-zone").dispatchEvent(drop);
        }"""
    )
    said(opened, "1 file read.")
    expect(row(opened, "dropped.txt")).to_be_visible()


def test_a_knowledge_base_is_exported_deleted_brought_back_and_imported(opened: Page, tmp_path: Path) -> None:
    create(opened, "mine")
    (tmp_path / "a.txt").write_text("late interaction of tokens", encoding="utf-8")
    add(opened, tmp_path / "a.txt")
    said(opened, "1 file read.")
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Export").click()
    said(opened, "is exported")
    opened.get_by_role("button", name="Delete", exact=True).click()
    said(opened, "is deleted")
    opened.get_by_role("button", name="Undo", exact=True).click()
    said(opened, "“mine” is back.")
    opened.get_by_role("button", name="Rename …").click()
    opened.locator(".doc-form input").fill("<b>")
    opened.keyboard.press("Enter")
    expect(opened.locator(".docs .cal-alert:visible")).to_contain_text("'<b>' cannot be a name")
    whole = opened.locator("input[aria-label='Choose an exported knowledge base']")
    content = saved.value.path().read_bytes()
    whole.set_input_files({"name": "bad.kb", "mimeType": "", "buffer": content[:5000]})
    expect(opened.locator(".docs .cal-alert:visible")).to_contain_text("damaged")
    whole.set_input_files({"name": "mine.kb", "mimeType": "", "buffer": content})
    said(opened, "Imported as “mine (2)”")
    opened.get_by_role("button", name="Ask it").click()
    expect(opened.locator("#knowledge-base input")).to_have_value("mine (2)")
    ask(opened, "late interaction")
    expect(opened.locator(AFTER)).to_have_count(1)


def test_uploads_are_private_and_what_is_shared_is_seen_by_all(
    opened: Page, browser: Browser, app: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("late interaction of tokens", encoding="utf-8")
    create(opened, "theirs")
    opened.locator(".doc-card", has_text="your uploads").click()
    add(opened, tmp_path / "a.txt")
    said(opened, "1 file read.")
    # what can be done with them is offered on the other page too
    opened.get_by_role("tab", name="Explore").click()
    unfold(opened, "#add-files")
    expect(opened.locator("#keep")).to_be_visible()
    opened.get_by_role("tab", name="Documents").click()
    context = browser.new_context()
    other = context.new_page()
    visit(other, app)
    expect(other.locator(".doc-card", has_text="your uploads")).to_contain_text("0 documents")
    other.locator(".doc-card", has_text="theirs").click()
    expect(other.locator(".doc-base")).to_have_text("theirs")
    opened.locator(".doc-card", has_text="theirs").click()
    opened.get_by_role("button", name="Delete", exact=True).click()
    said(opened, "is deleted")
    other.get_by_role("button", name="Rename …").click()
    other.locator(".doc-form input").fill("ours")
    other.keyboard.press("Enter")
    expect(other.locator(".docs .cal-alert:visible")).to_contain_text(
        "no knowledge base 'theirs' here any more"
    )
    # the other page stays usable
    other.locator(".doc-card", has_text="sample_kb").click()
    expect(other.locator(".doc-base")).to_have_text("sample_kb")
    opened.locator(".doc-card", has_text="your uploads").click()
    opened.get_by_role("button", name="Keep for later …").click()
    opened.locator(".doc-form input").fill("kept")
    opened.keyboard.press("Enter")
    said(opened, "Kept as “kept”")
    # what came and went in the meantime is known to Explore when it is looked at
    other.get_by_role("tab", name="Explore").click()
    other.locator("#knowledge-base input").click()
    expect(other.get_by_role("option", name="kept")).to_be_visible()
    expect(other.get_by_role("option", name="theirs")).to_have_count(0)
    context.close()


def test_cancel_ends_a_run_and_keeps_what_was_finished(opened: Page, tmp_path: Path) -> None:
    for number in range(30):
        words = " ".join(f"word{number}x{i} and its meaning" for i in range(3000))
        (tmp_path / f"file{number:02d}.txt").write_text(words, encoding="utf-8")
    create(opened, "cancelled")
    add(opened, *sorted(tmp_path.iterdir()))
    expect(opened.locator(".doc-doing")).to_contain_text(".txt")
    opened.get_by_role("button", name="Cancel", exact=True).click()
    said(opened, "Stopped; what was finished until then is kept.")
    assert opened.locator(ROWS).count() < 30


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (1920, "light")])
def test_nothing_is_cut_off(page: Page, app: str, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    visit(page, f"{app}/?__theme={theme}")
    page.locator(".doc-card", has_text="sample_kb").click()
    expect(page.locator(ROWS).first).to_be_visible()
    for box in ("document.documentElement", "document.querySelector('.doc-scroll')"):
        assert page.evaluate(f"{box}.scrollWidth - {box}.clientWidth") <= 0
