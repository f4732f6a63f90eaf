"""assets/stream.js: nobody waits for ever, whatever comes first, what the server says last or what is asked next."""

from collections.abc import Iterator

import pytest
from browser.serving import serving
from playwright.sync_api import Browser, Page, Route, expect

# As on a slow line: the message that a stream closes comes after the next question was taken in.
LATE = """
const own = window.fetch;
window.closings = 0;
window.fetch = async (...given) => {
  const answer = await own(...given);
  if (!(given[0].url ?? String(given[0])).includes("/queue/data")) return answer;
  const late = new TransformStream({
    async transform(chunk, out) {
      if (new TextDecoder().decode(chunk).includes("close_stream")) {
        window.closings += 1;
        await new Promise((done) => setTimeout(done, 1000));
      }
      out.enqueue(chunk);
    },
  });
  return new Response(answer.body.pipeThrough(late), answer);
};
"""
ASKED = "(question) => document.querySelector('.causalviz-root').trace?.query === question"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("home")) as address:
        yield address


def visit(page: Page, app: str) -> None:
    page.add_init_script(LATE)
    page.goto(app)
    expect(page.locator("#explore-view .causalviz")).to_be_visible()


def ask(page: Page, question: str) -> None:
    page.fill("#question textarea", question)
    page.click("button#ask")


def test_what_is_asked_while_the_stream_closes_is_answered(page: Page, app: str) -> None:
    visit(page, app)
    for question in ("late interaction", "what is colbert", "token vectors"):
        ask(page, question)
        page.wait_for_function(ASKED, arg=question)
    assert page.evaluate("window.closings") > 0


def refuse(route: Route) -> None:
    """Refuse one question, and none of what the page asks of itself."""
    if "what is colbert" in (route.request.post_data or ""):
        route.fulfill(status=503, json={})
    else:
        route.continue_()


def test_a_question_refused_meanwhile_leaves_the_next_one_unharmed(browser: Browser, app: str) -> None:
    with browser.new_page() as page:  # a refusal is an error in the console
        visit(page, app)
        ask(page, "late interaction")
        page.wait_for_function(ASKED, arg="late interaction")
        page.route("**/queue/join**", refuse)
        ask(page, "what is colbert")
        expect(page.locator(".toast-body")).to_contain_text("busy")
        ask(page, "token vectors")
        page.wait_for_function(ASKED, arg="token vectors")
