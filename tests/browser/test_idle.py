"""assets/idle.js: a page that nobody touches draws nothing, for a frame drawn over and over empties batteries."""

from collections.abc import Iterator

import pytest
from browser.serving import serving
from browser.test_app import ask
from playwright.sync_api import Page, expect

COUNTED = """
const request = window.requestAnimationFrame;
window.frames = 0;
window.requestAnimationFrame = (callback) => request((now) => { window.frames += 1; callback(now); });
"""
QUIET = """async () => {
  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  for (let looks = 0; looks < 200; looks += 1) {
    const before = window.frames;
    await wait(300);
    if (window.frames === before) return true;
  }
  return false;
}"""
"""Whether there comes a time without a frame, of the twenty that would be drawn in it."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("home")) as address:
        yield address


def test_a_page_that_nobody_touches_asks_for_no_frames(page: Page, app: str) -> None:
    page.add_init_script(COUNTED)
    page.goto(app)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()
    assert page.evaluate(QUIET)
    ask(page, "late interaction")
    assert page.evaluate(QUIET)
    for name in page.locator("#pages [role=tab]").all_inner_texts():
        page.get_by_role("tab", name=name).click()
    assert page.evaluate(QUIET)
