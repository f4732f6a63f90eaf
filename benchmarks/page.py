"""What one drag step costs in the page: script time from the event to the end of the redraw."""

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.chromium import launch
from benchmarks.queries import QUERY, random_pipeline
from causalviz.bootstrap import make_encoder
from causalviz.pipeline import SearchSettings
from causalviz.records import RankSettings
from causalviz.trace import to_json
from causalviz.ui import present

STEPS = 400
NEXT_FRAME = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));"
SLIDER = f"""async () => {{
  const slider = document.querySelector(".cv-results input[type=range]");
  const low = Number(slider.min), span = Number(slider.max) - low, times = [];
  for (let i = 0; i < {STEPS}; i++) {{
    slider.value = String(low + (span * ((i * 7) % {STEPS})) / {STEPS});
    slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    {NEXT_FRAME}
    times.push(window.view.lastStepMs);
  }}
  return times;
}}"""
SURFACE = f"""async (name) => {{
  const surface = document.querySelector(name), box = surface.getBoundingClientRect(), times = [];
  surface.setPointerCapture = () => {{}};
  const send = (type, part) => surface.dispatchEvent(new PointerEvent(type, {{
    clientX: box.left + box.width * part, clientY: box.top + box.height * part,
    button: 0, buttons: 1, pointerId: 1, bubbles: true,
  }}));
  send("pointerdown", 0);
  for (let i = 0; i < {STEPS}; i++) {{
    send("pointermove", ((i * 7) % {STEPS}) / {STEPS});
    {NEXT_FRAME}
    times.push(window.view.lastStepMs);
  }}
  send("pointerup", 0);
  return times;
}}"""
SURFACES = (("path", ".cv-wi-steps .cv-wi-surface"), ("map", ".cv-wi-plane"))


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    pipeline = random_pipeline(make_encoder("e5-small"))
    rows = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for count, bar in ((20, 4), (100, 10)):
            # Random vectors have cosines around 0: the sliders' span must reach them for anything to move.
            trace = pipeline.ask(QUERY, SearchSettings(top_k=count, theta=-1.0), RankSettings(tau=0.1))
            for method in ("hybrid", "guarded"):
                page, requests = _view(browser, to_json(trace), method)
                rows.append(
                    _row(f"drag step, {count} candidates, {method}", page.evaluate(SLIDER), bar, requests)
                )
                page.close()
        trace = pipeline.ask(QUERY, SearchSettings(top_k=20, theta=-1.0), RankSettings(tau=0.1))
        for method in ("hybrid", "guarded"):
            page, requests = _view(browser, to_json(trace), method)
            for name, selector in SURFACES:
                page.locator(selector).scroll_into_view_if_needed()
                page.wait_for_selector(".cv-wi-body:not(.cv-wi-waiting)")
                times = page.evaluate(SURFACE, selector)
                rows.append(_row(f"drag step on the {name}, 20 candidates, {method}", times, 8, requests))
            page.close()
        browser.close()
    return rows


def _view(browser: Browser, trace: object, method: str) -> tuple[Page, list[str]]:
    """Show a trace in a page of its own; gives a list too that fills with whatever the page asks for."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_content(f"<style>{present.view_style()}</style><div id='root'></div>")
    page.add_script_tag(content=present.view_script())
    page.evaluate(
        """([graph, trace, method]) => {
            window.view = CausalVizView.mount(document.getElementById("root"), { graph });
            window.view.show(trace);
            window.view.setState({ method });
        }""",
        [present.graph(), trace, method],
    )
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    return page, requests


def _row(what: str, times: list[float], bar: int, requests: list[str]) -> list[str]:
    half, most = np.percentile(times, [50, 95])
    return [
        f"{what}, script p95",
        f"{most:.2f} ms (median {half:.2f} ms, {len(requests)} requests)",
        f"<= {bar} ms",
    ]
