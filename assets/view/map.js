/* The exact (tau, alpha) map of the chosen document: cells coloured by rank, the current point a mark to drag.
 *
 * map(hooks) -> {element, load(start), resize(width), draw(plane, name), move(state)}; hooks.turn(patch, held). Cells come from
 * view/path.js. Neighbouring cells of one colour are one rectangle; a colour is one SVG path, so that themes are style sheets.
 */
(function (ns) {
  "use strict";
  const { h, s, setText, setAttr, toggle, plain, shorten, isolate } = ns.dom;

  const TOP = 12;
  const LEFT = 60;
  const RIGHT = 14;
  const HEIGHT = 380;
  const AXES = 40;
  /** The last rank of each colour but the last. */
  const CLASSES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20];
  /** Colours in whatif.css, from the first rank to the last. */
  const COLOURS = 12;
  /** Ranks are written where a patch of this sampled grid holds one rank; only the writing is sampled. */
  const GRID = [44, 22];
  const WRITTEN = 10;
  const LEAST_PATCH = [3, 2];
  const FINE = 0.01;

  /** Ranks from..to of each colour for n documents. */
  function classesOf(n) {
    const ends = CLASSES.filter((end) => end < n);
    const last = Math.max(1, ends.length);
    return [...ends, n].map((to, at, all) => ({ from: at ? all[at - 1] + 1 : 1, to, colour: Math.round((at * (COLOURS - 1)) / last) }));
  }

  const classOf = (classes, rank) => classes.findIndex(({ to }) => rank <= to);

  /** The cells of a plane as one SVG path per colour: rectangles that adjoin without a gap. */
  function shapes(of, classes, x, y) {
    const paths = classes.map(() => "");
    const first = ns.path.rowAt(of, x.from);
    for (let row = first; row < of.low.length; row++) {
      const left = x.at(row ? of.high[row - 1] : -1).toFixed(2);
      const right = x.at(of.high[row]).toFixed(2);
      if (left === right) continue;
      let from = 0;
      let kind = classOf(classes, of.worst[of.start[row]]);
      for (let cell = of.start[row] + 1; cell <= of.start[row + 1]; cell++) {
        const next = cell < of.start[row + 1] ? classOf(classes, of.worst[cell]) : -1;
        if (next === kind) continue;
        const to = next < 0 ? 1 : of.alphaLow[cell];
        paths[kind] += `M${left} ${y.at(from).toFixed(2)}H${right}V${y.at(to).toFixed(2)}H${left}Z`;
        [from, kind] = [to, next];
      }
    }
    return paths;
  }

  /** Where to write ranks: the largest patches of one rank on a sampled grid, largest first. */
  function patches(of, x, y) {
    const [columns, rows] = GRID;
    const ranks = [];
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        const tau = x.from + ((c + 0.5) / columns) * (x.to - x.from);
        ranks.push(ns.path.rankAt(of, tau, 1 - (r + 0.5) / rows));
      }
    }
    const found = [];
    for (let turn = 0; turn < WRITTEN; turn++) {
      let best = null;
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          const rank = ranks[r * columns + c];
          let wide = columns;
          for (let down = 0; rank && r + down < rows && wide; down++) {
            let run = 0;
            while (run < wide && c + run < columns && ranks[(r + down) * columns + c + run] === rank) run++;
            wide = run;
            const area = wide * (down + 1);
            if (wide >= LEAST_PATCH[0] && down + 1 >= LEAST_PATCH[1] && (!best || area > best.area)) best = { area, r, c, wide, tall: down + 1, rank };
          }
        }
      }
      if (!best) break;
      for (let r = best.r; r < best.r + best.tall; r++) ranks.fill(0, r * columns + best.c, r * columns + best.c + best.wide);
      const px = x.left + ((best.c + best.wide / 2) / columns) * (x.right - x.left);
      const py = y.right + ((best.r + best.tall / 2) / rows) * (y.left - y.right);
      found.push({ rank: best.rank, px, py });
    }
    return found;
  }

  ns.map = function map(hooks) {
    const cells = s("g.cv-wi-cells");
    const frame = s("rect.cv-wi-frame");
    const numbers = s("g.cv-wi-ranks", { "aria-hidden": "true" });
    const region = s("rect.cv-wi-region");
    const axes = s("g.cv-wi-axes");
    const surface = s("rect.cv-wi-surface.cv-wi-plane");
    const cross = { tau: s("line.cv-wi-cross"), alpha: s("line.cv-wi-cross") };
    const point = s("g.cv-wi-point", { tabindex: 0, role: "slider", "aria-label": "Tau and alpha, the point in the map", "aria-valuemin": -1, "aria-valuemax": 1 },
      s("circle.cv-wi-point-halo", { r: 9 }), s("circle.cv-wi-point-ring", { r: 9 }));
    const svg = s("svg.cv-wi-svg.cv-wi-map", { role: "group", "aria-label": "Rank of the chosen document at every tau and alpha" },
      cells, region, numbers, frame, axes, cross.tau, cross.alpha, surface, point);
    const sentence = h("p.cv-wi-lead.cv-wi-sentence");
    const go = h("button.cv-wi-go", { type: "button" }, "go there");
    const name = h("span.cv-wi-doc", { dir: "auto", lang: "" });
    const legend = h("ul.cv-wi-legend", { "aria-label": "Colours of the map" });
    const readout = h("p.cv-wi-readout", { role: "status" });
    const element = h(
      "div.cv-wi-chart", null,
      h("h4.cv-wi-title", null, "Where would it rank? ", name), sentence,
      h("p.cv-wi-hint", null, "Each colour is a rank, at every pair of settings. Click, or drag the ring, to go there."), svg, legend, readout,
    );

    let width = 0;
    let start = 0;
    let x = null;
    const y = ns.scale.linear(0, 1, TOP + HEIGHT, TOP);
    let plane = null;
    let state = null;
    let target = null;

    function load(from) {
      start = from;
      plane = null;
      layout();
    }

    function resize(next) {
      if (next === width || next < 200) return;
      width = next;
      layout();
      if (plane) paint();
    }

    function layout() {
      if (!width) return;
      const right = width - RIGHT;
      const base = TOP + HEIGHT;
      x = ns.scale.linear(start, 1, LEFT, right);
      setAttr(svg, "viewBox", `0 0 ${width} ${base + AXES}`);
      setAttr(svg, "height", base + AXES);
      for (const rect of [surface, frame]) {
        for (const [attribute, value] of Object.entries({ x: LEFT, y: TOP, width: right - LEFT, height: HEIGHT })) setAttr(rect, attribute, value);
      }
      const middle = (LEFT + right) / 2;
      axes.replaceChildren(
        ...ns.scale.ticks(x).flatMap((tick) => [
          s("line", { x1: x.at(tick), x2: x.at(tick), y1: base, y2: base + 4 }),
          s("text.cv-wi-tick", { x: x.at(tick), y: base + 16, "text-anchor": "middle" }, tick.toFixed(2)),
        ]),
        ...[0, 0.25, 0.5, 0.75, 1].flatMap((tick) => [
          s("line", { x1: LEFT - 4, x2: LEFT, y1: y.at(tick), y2: y.at(tick) }),
          s("text.cv-wi-tick", { x: LEFT - 8, y: y.at(tick), "text-anchor": "end", "dominant-baseline": "central" }, String(tick)),
        ]),
        s("text.cv-wi-axis", { x: middle, y: base + 32, "text-anchor": "middle" }, "absorption threshold τ (cosine of two keywords)"),
        s("text.cv-wi-axis", { transform: `translate(12 ${TOP + HEIGHT / 2}) rotate(-90)`, "text-anchor": "middle" },
          "0 = only the causal score  ·  hybrid weight α  ·  1 = only similarity"),
      );
      for (const [line, ends] of [[cross.tau, ["y1", TOP, "y2", base]], [cross.alpha, ["x1", LEFT, "x2", right]]]) {
        setAttr(line, ends[0], ends[1]);
        setAttr(line, ends[2], ends[3]);
      }
      if (state) move(state);
    }

    function draw(next, title) {
      plane = next;
      setText(name, isolate(shorten(title, 90)));
      paint();
      say();
      if (state) move(state);
    }

    function paint() {
      if (!x) return;
      const classes = classesOf(plane.states.n);
      cells.replaceChildren(...shapes(plane, classes, x, y).map((d, at) => s(`path.cv-wi-cell.cv-wi-r${classes[at].colour}`, { d })));
      numbers.replaceChildren(...patches(plane, x, y).map(({ rank, px, py }) =>
        s(`text.cv-wi-on${classes[classOf(classes, rank)].colour}`, { x: px.toFixed(1), y: py.toFixed(1), "text-anchor": "middle", "dominant-baseline": "central" }, String(rank))));
      legend.replaceChildren(h("li", null, "rank"), ...classes.map(({ from, to, colour }) =>
        h("li", null, h(`span.cv-wi-swatch.cv-wi-r${colour}`, { "aria-hidden": "true" }), from === to ? String(from) : `${from}–${to}`)),
      h("li.cv-wi-legend-note", null, h("span.cv-wi-swatch.cv-wi-swatch-region", { "aria-hidden": "true" }), "the region named above"));
      outline();
    }

    /** The largest region of the best rank there is, in words and as an outline. */
    function say() {
      const best = ns.path.bestRank(plane);
      target = ns.path.region(plane, best);
      const words = target && ns.path.sentence(target, best === 1 ? "First" : `best rank ${best}`);
      setText(sentence, !target ? "Its rank is decided by rounding everywhere." : best === 1 ? `${words}. ` : `Never first, whatever tau and alpha; ${words}. `);
      if (target) sentence.append(go);
      outline();
    }

    function outline() {
      toggle(region, "cv-hidden", !target);
      if (!target || !x) return;
      const left = x.at(target.tauLow);
      const top = y.at(target.alphaHigh);
      setAttr(region, "x", left.toFixed(1));
      setAttr(region, "y", top.toFixed(1));
      setAttr(region, "width", Math.max(2, x.at(target.tauHigh) - left).toFixed(1));
      setAttr(region, "height", Math.max(2, y.at(target.alphaLow) - top).toFixed(1));
    }

    function move(next) {
      state = next;
      if (!x) return;
      const px = x.at(state.tau).toFixed(1);
      const py = y.at(state.alpha).toFixed(1);
      setAttr(point, "transform", `translate(${px} ${py})`);
      setAttr(cross.tau, "transform", `translate(${px} 0)`);
      setAttr(cross.alpha, "transform", `translate(0 ${py})`);
      toggle(svg, "cv-wi-flat", state.method !== "hybrid");
      if (!plane) return;
      const words = tellPoint(state.tau, state.alpha);
      setText(readout, words);
      setAttr(point, "aria-valuenow", plain(state.tau));
      setAttr(point, "aria-valuetext", words);
    }

    function tellPoint(tau, alpha) {
      const where = `τ ${plain(Number(tau.toFixed(4)))}, α ${plain(Number(alpha.toFixed(4)))}`;
      return `Rank ${ns.path.rankAt(plane, tau, alpha)} of ${plane.states.n} at ${where}${state.method === "hybrid" ? "" : " (α counts for the hybrid only)"}`;
    }

    function here(event) {
      const [px, py] = ns.scale.place(svg, event);
      return { tau: Number(x.value(px).toFixed(4)), alpha: Number(Math.min(1, Math.max(0, (TOP + HEIGHT - py) / HEIGHT)).toFixed(3)) };
    }

    ns.scale.drag(surface, (event, held) => {
      const { tau, alpha } = here(event);
      hooks.turn(!held ? {} : state.method === "hybrid" ? { tau, alpha } : { tau }, held);
      if (held) point.focus({ preventScroll: true });
    });
    surface.addEventListener("pointermove", (event) => {
      if (event.buttons || !plane) return;
      const { tau, alpha } = here(event);
      setText(readout, tellPoint(tau, alpha));
    });
    surface.addEventListener("pointerleave", () => plane && setText(readout, tellPoint(state.tau, state.alpha)));
    point.addEventListener("keydown", (event) => {
      const up = { ArrowUp: FINE, ArrowDown: -FINE }[event.key];
      const alpha = up && Number(Math.min(1, Math.max(0, state.alpha + up)).toFixed(6));
      const tau = up ? null : ns.steps.turned(event, state.tau, null);
      if (!up && tau === null) return;
      event.preventDefault();
      hooks.turn(up ? { alpha } : { tau }, false);
    });
    go.addEventListener("click", () => {
      const middle = (low, high) => Number(((low + high) / 2).toFixed(6));
      const within = (value, low, high) => Math.min(high, Math.max(low, value));
      const from = Math.max(target.tauLow, start);
      hooks.turn({
        tau: within(middle(from, target.tauHigh), target.tauLow, target.tauHigh),
        alpha: within(middle(target.alphaLow, target.alphaHigh), target.alphaLow, target.alphaHigh),
      }, false);
    });

    return { element, svg, load, resize, draw, move };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
