"""What one drag step costs in the page: script time from the slider's event to the end of the redraw."""

import os
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from benchmarks.queries import QUERY, random_pipeline
from causalviz.bootstrap import make_encoder
from causalviz.pipeline import SearchSettings
from causalviz.records import RankSettings
from causalviz.trace import to_json
from causalviz.ui import present

CHROMIUM = Path(os.environ.get("CAUSALVIZ_CHROMIUM", "/usr/bin/chromium"))
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
STEPS = 400
SWEEP = f"""async () => {{
  const slider = document.querySelector(".cv-results input[type=range]");
  const low = Number(slider.min), span = Number(slider.max) - low, times = [];
  for (let i = 0; i < {STEPS}; i++) {{
    slider.value = String(low + (span * ((i * 7) % {STEPS})) / {STEPS});
    slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    times.push(window.view.lastStepMs);
  }}
  return times;
}}"""


def _requests_of(page: Page) -> list[str]:
    """Return a list that fills with whatever the page asks for from now on."""
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    return seen


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    pipeline = random_pipeline(make_encoder("e5-small"))
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM if CHROMIUM.exists() else None, args=FLAGS
        )
        for count, bar in ((20, 4), (100, 10)):
            # Random vectors have cosines around 0: the sliders' span must reach them for anything to move.
            trace = pipeline.ask(QUERY, SearchSettings(top_k=count, theta=-1.0), RankSettings(tau=0.1))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_content(f"<style>{present.view_style()}</style><div id='root'></div>")
            page.add_script_tag(content=present.view_script())
            page.evaluate(
                """([graph, trace]) => {
                    window.view = CausalVizView.mount(document.getElementById("root"), { graph });
                    window.view.show(trace);
                }""",
                [present.graph(), to_json(trace)],
            )
            requests = _requests_of(page)
            times = np.array(page.evaluate(SWEEP))
            page.close()
            half, most = np.percentile(times, [50, 95])
            rows.append(
                [
                    f"drag step, {count} candidates, script p95",
                    f"{most:.2f} ms (median {half:.2f} ms, {len(requests)} requests)",
                    f"<= {bar} ms",
                ]
            )
        browser.close()
    return rows
