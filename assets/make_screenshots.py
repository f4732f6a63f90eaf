"""Take the README's screenshots of a running app: `python -m assets.make_screenshots http://127.0.0.1:7860`."""

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.chromium import launch

HERE = Path(__file__).resolve().parent / "screenshots"
ENGLISH, CHINESE = "How does ColBERT late interaction work?", "数据出境的安全如何评估"


def ask(page: Page, address: str, theme: str, question: str) -> None:
    """Open the page in a theme and wait for the whole answer."""
    page.goto(f"{address}/?__theme={theme}")
    page.wait_for_selector("#explore-view .causalviz")
    page.fill("#question textarea", question)
    page.click("button#ask")
    page.wait_for_selector(".cv-right mark", state="attached")
    page.wait_for_timeout(800)


def main(address: str) -> None:
    """Write explore-light.png, explore-dark.png, graph.png and whatif.png."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 1100})
        ask(page, address, "light", ENGLISH)
        page.screenshot(path=HERE / "explore-light.png")
        page.get_by_role("button", name="Graph", exact=True).click()
        page.wait_for_timeout(400)
        page.locator(".cv-right").screenshot(path=HERE / "graph.png")
        page.locator(".cv-whatif").first.scroll_into_view_if_needed()
        page.wait_for_timeout(1500)
        page.locator(".cv-whatif").first.screenshot(path=HERE / "whatif.png")
        page.set_viewport_size({"width": 1920, "height": 1100})
        ask(page, address, "dark", CHINESE)
        page.screenshot(path=HERE / "explore-dark.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
