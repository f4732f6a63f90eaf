"""assets/view/path.js: every rank at every tau and alpha, as rerank.js ranks there and as causalviz/explain cuts it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.test_rerank_js import TRACES
from browser.view_page import many
from playwright.sync_api import Page
from strategies import EMPTY_B, METHODS, MODES

from causalviz.explain.flips import neighbour_flips, to_be_first
from causalviz.explain.leave_one_out import leave_one_out
from causalviz.explain.plane import plane
from causalviz.explain.region import first_region
from causalviz.explain.states import tau_states
from causalviz.explain.tau_path import tau_path
from causalviz.records import Candidate, Keyword, RankSettings, Trace
from causalviz.trace import to_json

ASSETS = Path(__file__).parents[2] / "assets"
SCRIPTS = [ASSETS / "rerank.js", ASSETS / "view" / "path.js"]

# A small random generator, so that the page draws the points itself: sending them would take longer than testing them.
HELPERS = """
window.generator = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
window.single = (value, steps) => {
  const view = new Float32Array([value]);
  const bits = new Int32Array(view.buffer);
  if (view[0] === 0) view[0] = steps * 1.5e-45;
  else bits[0] += view[0] > 0 ? steps : -steps;
  return view[0];
};
window.double = (value, steps) => {
  const view = new Float64Array([value]);
  const bits = new BigInt64Array(view.buffer);
  if (value > 0) bits[0] += BigInt(steps);
  return view[0];
};
window.tables = (text) => CausalVizRerank.prepare(JSON.parse(text));
"""

# Draws points and compares; returns how many were compared and the first that differ.
COMPARE = """([text, seed, want, choices]) => {
  const { path: P } = CausalVizView;
  const table = tables(text);
  const random = generator(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const inside = (value, low, high) => Math.min(high, Math.max(low, value));
  const wrong = [];
  let points = 0;
  for (const choice of choices) {
    const states = P.states(table, choice);
    const index = Math.floor(random() * table.n);
    const cells = P.plane(states, index, choice.method);
    const ends = [...states.low, ...states.high];
    const tau = () => {
      const kind = random();
      if (kind < 0.3) return 2 * random() - 1;
      if (kind < 0.5) return inside(Number(pick(ends).toFixed(2)), -1, 1);
      return inside(single(pick(ends), pick([-1, 0, 0, 1])), -1, 1);
    };
    const alpha = (at) => {
      const kind = random();
      if (kind < 0.3) return random();
      if (kind < 0.5) return pick([0, 0.5, 1]);
      const row = P.rowAt(cells, at);
      const cell = cells.start[row] + Math.floor(random() * (cells.start[row + 1] - cells.start[row]));
      return inside(double(pick([cells.alphaLow[cell], cells.alphaHigh[cell]]), pick([-1, 0, 0, 1])), 0, 1);
    };
    for (let n = 0; n < want; n++) {
      const where = tau();
      const settings = { ...choice, tau: where, alpha: alpha(where) };
      const { rank } = CausalVizRerank.rerank(table, settings);
      points++;
      const mapped = P.rankAt(cells, where, settings.alpha);
      const row = P.rowAt(cells, where);
      const cell = cells.start[row] + Array.from(cells.alphaHigh.slice(cells.start[row], cells.start[row + 1]))
        .findIndex((high) => settings.alpha <= high);
      const between = cells.best[cell] <= rank[index] && rank[index] <= cells.worst[cell];
      if (mapped !== rank[index] || !between) wrong.push(["map", settings, index, mapped, rank[index]]);
      if (n % 5 === 0) {
        const ranked = P.path(states, settings);
        const m = P.at(states, where);
        for (let i = 0; i < table.n; i++) {
          if (ranked.ranks[m * table.n + i] !== rank[i]) wrong.push(["path", settings, i]);
        }
      }
    }
  }
  return { points, wrong: wrong.slice(0, 5) };
}"""

# Everything that causalviz/explain says of one document, as plain data.
DESCRIBE = """([text, choice, index]) => {
  const { path: P } = CausalVizView;
  const table = tables(text);
  const states = P.states(table, choice);
  const ranked = P.path(states, choice);
  const cells = P.plane(states, index, choice.method);
  const { order, ...ranking } = CausalVizRerank.rerank(table, choice);
  const region = P.region(cells, 1);
  const flips = order.slice(1).map((lower, at) => P.swap(states, ranked, choice, order[at], lower));
  const list = (values) => Array.from(values);
  return {
    low: list(states.low), high: list(states.high), ranks: list(ranked.ranks),
    rows: [list(cells.low), list(cells.high), list(cells.start)],
    cells: [list(cells.alphaLow), list(cells.alphaHigh), list(cells.best), list(cells.worst)],
    region: region && [region.tauLow, region.tauHigh, region.alphaLow, region.alphaHigh],
    sentence: region && P.sentence(region),
    flips: flips.map(({ upper, lower, tau, alpha }) => [upper, lower, tau, alpha]),
    first: P.toBeFirst(cells, ranked, choice),
    moved: P.otherSides(table, ranking, choice, index).map(({ inA, causal, rank }) =>
      [inA, Number.isNaN(causal) ? null : causal, rank]),
  };
}"""


@pytest.fixture
def maths(page: Page) -> Page:
    for script in SCRIPTS:
        page.add_script_tag(path=script)
    page.add_script_tag(content=HELPERS)
    return page


def text_of(trace: Trace) -> str:
    return json.dumps(to_json(trace), allow_nan=False)


def choice_of(settings: RankSettings) -> dict[str, Any]:
    return {
        "tau": settings.tau,
        "alpha": settings.alpha,
        "method": settings.method,
        "mode": settings.mode,
        "emptyB": settings.empty_b,
    }


@pytest.mark.parametrize("name", [name for name in TRACES if name != "nothing"])
def test_path_and_map_rank_as_the_ranking_does_at_every_point(maths: Page, name: str) -> None:
    trace = TRACES[name](np.random.default_rng(list(name.encode())))
    choices = [
        {"method": method, "mode": mode, "emptyB": empty_b, "alpha": 0.5}
        for method in METHODS
        for mode in MODES
        for empty_b in EMPTY_B
    ] + 6 * [
        {"method": "hybrid", "mode": "semantic", "emptyB": empty_b, "alpha": 0.5} for empty_b in EMPTY_B
    ]  # where most happens: other documents each time
    found = maths.evaluate(COMPARE, [text_of(trace), len(name), 100, choices])
    assert found["points"] >= 2000
    assert found["wrong"] == []


@pytest.mark.parametrize("name", ["2 documents", "20 documents", "20 documents with ties", "half query keywords only",
                                  "20 copies", "cosines on the slider's steps"])  # fmt: skip
def test_intervals_cells_regions_and_flips_are_those_of_python(maths: Page, name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    trace = TRACES[name](rng)
    text = text_of(trace)
    for number in range(12):
        settings = RankSettings(
            tau=float(rng.uniform(-0.2, 0.9)),
            alpha=float(rng.uniform()),
            method=METHODS[number % len(METHODS)] if number > 5 else "hybrid",
            mode="semantic" if number else "exact",
            empty_b=EMPTY_B[number % 2],
        )
        index = int(rng.integers(len(trace.candidates)))
        found = maths.evaluate(DESCRIBE, [text, choice_of(settings), index])
        states = tau_states(trace, settings)
        cells = plane(states, index)
        region = first_region(cells)
        place = to_be_first(states, index, cells)
        assert found["low"] == states.low.tolist()
        assert found["high"] == states.high.tolist()
        assert found["ranks"] == tau_path(states).ranks.ravel().tolist()
        assert found["rows"] == [cells.low.tolist(), cells.high.tolist(), cells.start.tolist()]
        columns = (cells.alpha_low, cells.alpha_high, cells.best, cells.worst)
        assert found["cells"] == [column.tolist() for column in columns]
        if region is None:
            assert found["region"] is None
        else:
            assert found["region"] == [
                region.tau_low, region.tau_high, region.alpha_low, region.alpha_high,
            ]  # fmt: skip
            assert found["sentence"] == region.sentence()
        assert found["flips"] == [
            [flip.upper, flip.lower, flip.tau, flip.alpha] for flip in neighbour_flips(states)
        ]
        both = None if place.both is None else list(place.both)
        assert found["first"] == {"rank": place.rank, "tau": place.tau, "alpha": place.alpha, "both": both}
        moved = leave_one_out(states, index)
        assert [row[0] for row in found["moved"]] == [move.in_a for move in moved]
        assert [row[2] for row in found["moved"]] == [move.otherwise.rank for move in moved]
        if settings.empty_b == "last":
            assert [row[1] for row in found["moved"]] == [move.otherwise.causal for move in moved]


def worked() -> Trace:
    """Make the three documents of docs/method.md."""

    def candidate(
        name: str, similarity: float, rows: list[tuple[str, float, float, bool, float]]
    ) -> Candidate:
        vectors = {"u": (0.8, 0.6), "v": (0, 1), "w": (1, 0), "x": (0, 1), "z": (0.6, 0.8)}
        gram = [[np.dot(vectors[a[0]], vectors[b[0]]) for b in rows] for a in rows]
        return Candidate(
            id=name,
            title=name,
            similarity=similarity,
            terms=tuple(term for term, *_ in rows),
            weights=np.array([row[1] for row in rows], np.float32),
            cosines=np.array([row[2] for row in rows], np.float32),
            matches=np.zeros(len(rows), np.int64),
            exact=np.array([row[3] for row in rows], bool),
            relevance=np.array([row[4] for row in rows], np.float32),
            gram=np.array(gram, np.float32),
            repeats=0,
            tokens=10,
        )

    return replace(
        many(1),
        query_keywords=(Keyword(term="u", weight=1.0),),
        candidates=(
            candidate("d1", 0.9, [("u", 3, 1, True, 0.8), ("v", 1, 0.6, False, 0)]),
            candidate("d2", 0.7, [("w", 1, 0.8, False, 1), ("x", 1, 0.6, False, 0)]),
            candidate("d3", 0.5, [("z", 2, 0.96, False, 0.6)]),
        ),
        settings=RankSettings(tau=0.9),
    )


def test_the_worked_example_of_the_method(maths: Page) -> None:
    """By hand, docs/method.md: the cosines 0.6 (v, x), 0.8 (w) and 0.96 (z) are all that tau can pass."""
    found = maths.evaluate(DESCRIBE, [text_of(worked()), choice_of(RankSettings(tau=0.9)), 1])
    assert found["high"] == pytest.approx([0.6, 0.8, 0.96, 1])
    ranks = np.reshape(found["ranks"], (4, 3)).tolist()
    # Up to 0.6 nothing is left anywhere: similarity decides, as for all whose B is empty.
    assert ranks[0] == [1, 2, 3]
    assert ranks[1] == [1, 2, 3]  # 0.7: both scores are 0, so half the similarity decides
    assert ranks[2] == [2, 1, 3]  # 0.9: 0.5, 0.75, and nothing is left of d3
    assert ranks[3] == [2, 1, 3]  # 0.97: 0.5, 0.75, 0.4243
    # d2 leads d1 where alpha x 0.5 + (1 - alpha) x 1 > alpha x 1, so below 2/3: from 0.8 on.
    assert found["sentence"] == "first for tau from 0.81 at any alpha below 0.66"
    assert found["region"][2:] == pytest.approx([0, 2 / 3])
    upper, lower, tau, alpha = found["flips"][0]
    assert (upper, lower) == (1, 0)
    assert tau == pytest.approx(0.8)
    assert alpha == pytest.approx(2 / 3)


def test_where_a_document_can_be_first_it_says_what_it_takes(maths: Page) -> None:
    found = maths.evaluate(DESCRIBE, [text_of(worked()), choice_of(RankSettings(tau=0.7)), 1])
    assert found["first"]["rank"] == 2
    assert found["first"]["tau"] == float(np.nextafter(np.float32(0.8), np.float32(1)))
    assert found["first"]["alpha"] is None  # at 0.7 it has the lower similarity and no better score
    never = maths.evaluate(DESCRIBE, [text_of(worked()), choice_of(RankSettings(tau=0.9)), 2])
    assert never["region"] is None
    assert never["first"] == {"rank": 3, "tau": None, "alpha": None, "both": None}


def test_candidates_out_of_order_are_refused(maths: Page) -> None:
    turned = replace(worked(), candidates=worked().candidates[::-1])
    said = maths.evaluate(
        "(text) => { try { CausalVizView.path.states(tables(text), { mode: 'semantic', emptyB: 'last' }); }"
        " catch (error) { return error.message; } return null; }",
        text_of(turned),
    )
    assert "baseline order" in said
