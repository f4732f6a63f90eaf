"""A headless Chromium, and pages that may not report an error."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect, sync_playwright

from benchmarks.chromium import launch

_PATIENCE = 90_000
"""Milliseconds: a busy machine takes longer than the usual 5 s to show what is right."""
expect.set_options(timeout=_PATIENCE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a Chromium for all tests of this process."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def _visitor(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.set_default_timeout(_PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(_visitor: BrowserContext) -> Iterator[Page]:
    """Open an empty page; the test fails when it reports an error.

    Pages of a file's tests have visited before, so that they load faster; they share no session.
    """
    page = _visitor.new_page()
    try:
        with _without_errors(page):
            yield page
    finally:
        page.close()
        _visitor.clear_cookies()
        _visitor.clear_permissions()
        _visitor.set_offline(offline=False)


@pytest.fixture(scope="session")
def _tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def tab(_tab: Page) -> Iterator[Page]:
    """Give the same page to every test, at half the processor time: for documents that keep nothing in the browser."""
    try:
        with _without_errors(_tab):
            yield _tab
    finally:
        _tab.emulate_media(color_scheme="null", reduced_motion="null")
        _tab.goto("about:blank")


@contextmanager
def _without_errors(page: Page) -> Iterator[None]:
    """Fail when the page reports an error meanwhile: closing it afterwards cuts streams short, which is nobody's."""
    errors: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    def on_error(error: Error) -> None:
        errors.append(str(error))

    page.on("console", on_console)
    page.on("pageerror", on_error)
    yield
    page.remove_listener("console", on_console)
    page.remove_listener("pageerror", on_error)
    assert errors == []
