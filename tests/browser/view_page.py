"""A static page around the live view, as a report will be: no server, and no request once it is open."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from oracle import World, WorldDocument
from playwright.sync_api import Locator, Page
from strategies import trace_of, unit

from causalviz.dag import graph_to_json
from causalviz.records import Candidate, JsonObject, Keyword, RankSettings, Trace
from causalviz.trace import to_json
from causalviz.ui.present import view_script, view_style

# Two frames: the first draws what was asked for, the second comes after it.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Timed by the page, whose own timers come first however busy the machine is.
_QUIET = f"""async () => {{
  const frames = {FRAMES};
  await frames();
  await new Promise((done) => setTimeout(done, 700));
  await frames();
}}"""

KeywordRow = tuple[str, float, float | None, float]
"""Term, weight, cosine to the first query keyword (None: it is that keyword), relevance."""


def document(  # noqa: PLR0913 - a document is described in one line
    name: str,
    similarity: float,
    keywords: Sequence[KeywordRow],
    *,
    title: str | None = None,
    repeats: int = 0,
    tokens: int = 100,
    duplicate_of: str | None = None,
    near_duplicate_of: str | None = None,
    suspect: bool = False,
    use: float | None = None,
    topic: float | None = None,
) -> Candidate:
    """Make a candidate whose keywords are orthogonal: with one keyword in B, s_c is that keyword's relevance."""
    n = len(keywords)
    return Candidate(
        id=name,
        title=name if title is None else title,
        similarity=similarity,
        terms=tuple(term for term, *_ in keywords),
        weights=np.array([weight for _, weight, *_ in keywords], np.float32),
        cosines=np.array([1 if cosine is None else cosine for *_, cosine, _ in keywords], np.float32),
        matches=np.zeros(n, np.int64),
        exact=np.array([cosine is None for *_, cosine, _ in keywords], bool),
        relevance=np.array([relevance for *_, relevance in keywords], np.float32),
        gram=np.eye(n, dtype=np.float32),
        repeats=repeats,
        tokens=tokens,
        duplicate_of=duplicate_of,
        near_duplicate_of=near_duplicate_of,
        suspect=suspect,
        use=use,
        topic=topic,
    )


def trace(candidates: Sequence[Candidate], **changes: Any) -> Trace:  # noqa: ANN401 - any field of a trace
    """Make a trace around candidates given in baseline order."""
    plain = Trace(
        query="how does late interaction work",
        query_keywords=(Keyword(term="late", weight=2.0),),
        candidates=tuple(candidates),
        encoder="e5-small",
        centred=False,
        unit="document",
        top_k=20,
        theta=0.0,
        settings=RankSettings(tau=0.75, alpha=0.25),
        knowledge_base="test",
        fingerprint="0",
        documents=471,
        random_pairs=np.linspace(0, 1, 101, dtype=np.float32),
        seconds={"encode": 0.25, "search": 0.05},
    )
    return replace(plain, **changes)


def three() -> list[Candidate]:
    """Make three documents whose order turns round.

    s_c: 0.25, 0.5, 0.75 (one keyword of B each). Stretched: similarity 1, 0.5, 0 and s_c 0, 0.5, 1. With alpha 0.25
    the finals are 0.25, 0.5, 0.75; with alpha 0.5 three times 0.5. At tau 0.6 "talk" is absorbed: B of the second is
    empty.
    """
    return [
        document("tag", 0.75, [("late", 3, None, 0.9), ("tag", 1, 0.5, 0.25)], repeats=31, tokens=100),
        document("meetup", 0.5, [("late", 2, None, 0.9), ("talk", 2, 0.625, 0.5)], repeats=5, tokens=100),
        document("maxsim", 0.25, [("token", 1, 0.25, 0.75)]),
    ]


def many(n: int, seed: int = 1, terms: int = 15) -> Trace:
    """Make a trace of real vectors around the query; every fifth document is suspected."""
    random = np.random.default_rng(seed)
    dim = 12
    near = unit(random.normal(size=dim))

    def around(spread: float) -> tuple[float, ...]:
        return unit(np.array(near) + spread * random.normal(size=dim))

    names = [f"term{i}" for i in range(3 * terms)]
    return trace_of(
        World(
            query=near,
            query_terms=tuple(names[:4]),
            terms={name: around(0.3) for name in names},
            documents=tuple(
                WorldDocument(
                    id=f"d{i:03}",
                    vector=around(0.3),
                    weights={
                        str(name): float(random.uniform(0.1, 3))
                        for name in random.choice(names, terms, replace=False)
                    },
                    suspect=i % 5 == 0,
                )
                for i in range(n)
            ),
        )
    )


class ViewPage:
    """The view in a page, and what a person can read from it."""

    def __init__(self, page: Page, folder: Path, options: JsonObject | None = None) -> None:
        """Write the page to a folder and open it from there."""
        self.page = page
        self.requests: list[str] = []
        styles, scripts = view_style(), f"<script>{view_script()}</script>"
        given = json.dumps({"graph": graph_to_json(), **(options or {})})
        file = folder / "view.html"
        file.write_text(
            f"<!doctype html><meta charset=utf-8><title>view</title><link rel=icon href='data:,'>"
            "<style>:root { color-scheme: light dark } body { margin: 16px }</style>"
            f"<style id=view>{styles}</style>"
            f"<body><div id=root></div>{scripts}<script>const changes = []; const view = CausalVizView.mount("
            f"document.getElementById('root'), {{ ...{given}, onChange: (state) => changes.push(state) }});</script>",
            encoding="utf-8",
        )
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(file.as_uri())
        page.on("request", lambda request: self.requests.append(request.url))

    def frames(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate(FRAMES)

    def rest(self) -> None:
        """Wait until the view has caught up with what it leaves for a quiet moment."""
        self.page.evaluate(_QUIET)

    def show(self, given: Trace) -> JsonObject:
        """Show a trace; return it as JSON."""
        data = to_json(given)
        self.page.evaluate("(trace) => { window.trace = trace; view.show(trace); }", data)
        self.frames()
        return data

    def texts(self, texts: JsonObject) -> None:
        """Hand over the documents' texts."""
        self.page.evaluate("(texts) => view.showTexts(texts)", texts)

    def set(self, **state: Any) -> None:  # noqa: ANN401 - any part of the state
        """Set the state from outside, as a share link does."""
        self.page.evaluate("(state) => view.setState(state)", state)
        self.frames()

    def state(self) -> JsonObject:
        """Return the state as the view tells it."""
        state: JsonObject = self.page.evaluate("() => view.state()")
        return state

    def order(self, column: str = "after") -> list[int]:
        """Return candidate indices in the order of the ranks that the cards show."""
        order: list[int] = self.page.evaluate(
            """(column) => Array.from(document.querySelectorAll(".cv-column")[column === "after" ? 1 : 0].children)
              .map((item) => [Number(item.querySelector(".cv-rank").textContent), Number(item.dataset.candidate)])
              .sort((a, b) => a[0] - b[0]).map(([, candidate]) => candidate)""",
            column,
        )
        return order

    def card(self, candidate: int, column: str = "after") -> Locator:
        """Find a candidate's card."""
        place = 1 if column == "after" else 0
        return self.page.locator(f".cv-column >> nth={place}").locator(
            f"[data-candidate='{candidate}'] button"
        )

    def chosen(self, column: str = "after") -> list[int]:
        """Return the candidates whose card is pressed."""
        place = 1 if column == "after" else 0
        cards = self.page.locator(f".cv-column >> nth={place}").locator("[data-candidate]")
        pressed = cards.filter(has=self.page.locator("[aria-pressed=true]"))
        return [int(item.get_attribute("data-candidate") or -1) for item in pressed.all()]

    def why(self) -> str:
        """Return the sentence on the chosen document."""
        return self.page.locator(".cv-why").inner_text()

    def keywords(self, letter: str) -> list[str]:
        """Return the chosen document's keywords in A or B, as listed."""
        return self.page.locator(f".cv-set-{letter.lower()} .cv-kw-term").all_text_contents()
