/* How ranks change with tau: one step line a document over the exact intervals, the threshold a line to drag.
 *
 * steps(hooks) -> {element, load(trace, start), resize(width), draw(path), choose(i), move(state), stale(on)}; hooks: turn(patch,
 * held) and choose(i). Ranks come from view/path.js; the random pairs below the lines are the trace's.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";
  const { h, s, setText, setAttr, toggle, plain, percent, shorten, shortenWide, isolate } = ns.dom;

  const TOP = 34;
  const LEFT = 34;
  const LABELS = 176;
  const LABELLED_FROM = 460;
  /** Beyond this many documents only the chosen one's line is labelled. */
  const LABELLED = 24;
  /** Beyond this many, the lines of the others are fainter. */
  const CROWD = 40;
  const PAIRS = 50;
  const AXES = 68;
  const BINS = 64;
  const FINE = 0.001;
  const COARSE = 0.01;
  const TITLE_TOLD = 160;

  const pathHeight = (n) => Math.min(360, Math.max(200, n * 16));

  ns.steps = function steps(hooks) {
    const lines = s("g.cv-wi-lines");
    const labels = s("g.cv-wi-labels", { tabindex: 0, role: "listbox", "aria-label": "Documents by their rank at this tau" });
    const grid = s("g.cv-wi-grid");
    const pairs = s("g.cv-wi-pairs");
    const axes = s("g.cv-wi-axes");
    const rule = s("line.cv-wi-rule");
    const knob = s("rect.cv-wi-knob", { rx: 5, height: 20 });
    const knobText = s("text.cv-wi-knob-text", { "text-anchor": "middle" });
    const dot = s("circle.cv-wi-dot", { r: 5.5 });
    const cursor = s("g.cv-wi-cursor", {
      tabindex: 0, role: "slider", "aria-label": "Tau, the line in the chart", "aria-valuemin": -1, "aria-valuemax": 1,
    }, rule, knob, knobText, dot);
    const surface = s("rect.cv-wi-surface");
    const svg = s("svg.cv-wi-svg.cv-wi-steps", { role: "group", "aria-label": "Rank of every document at every tau" },
      grid, pairs, lines, labels, axes, surface, cursor);
    const readout = h("p.cv-wi-readout", { dir: "auto", role: "status" });
    const element = h(
      "div.cv-wi-chart", null,
      h("h4.cv-wi-title", null, "How ranks change with tau"),
      h("p.cv-wi-lead", null, "Each line is a document, the best rank on top; the thick one is the chosen document. Lines step where the threshold passes one of their keywords. Drag the threshold, or click."),
      svg, readout,
    );

    let trace = null;
    let path = null;
    let width = 0;
    let start = 0;
    let x = null;
    let height = 0;
    let chosen = -1;
    let hovered = -1;
    let state = null;
    let nodes = [];
    let names = [];
    let absorbedClip = null;

    const y = (rank) => TOP + ((rank - 0.5) / names.length) * height;
    const rankAt = (i, tau) => path.ranks[ns.path.at(path.states, tau) * names.length + i];

    function load(next, from) {
      trace = next;
      start = from;
      path = null;
      // An index of the last trace may lie beyond this one's documents; the next choose() names the new one.
      chosen = -1;
      hovered = -1;
      names = trace.candidates.map(ns.model.titleOf);
      nodes = names.map((name, i) => ({
        line: s("path.cv-wi-line"),
        label: s("text.cv-wi-label", { id: `cv-wi-label-${serial}-${i}`, role: "option", "dominant-baseline": "central" }),
      }));
      lines.replaceChildren(...nodes.map(({ line }) => line));
      labels.replaceChildren(...nodes.map(({ label }) => label));
      toggle(lines, "cv-wi-crowd", names.length > CROWD);
      nodes.forEach(({ label }, i) => label.addEventListener("click", () => hooks.choose(i)));
      layout();
    }

    function resize(next) {
      if (next === width || next < 200) return;
      width = next;
      layout();
      if (path) draw(path);
    }

    /** Everything but the lines: it changes with the trace and the width only. */
    function layout() {
      if (!trace || !width) return;
      height = pathHeight(names.length);
      const right = width - (width >= LABELLED_FROM ? LABELS : 16);
      x = ns.scale.linear(start, 1, LEFT, right);
      const bottom = TOP + height;
      const base = bottom + 8 + PAIRS;
      const full = base + AXES;
      setAttr(svg, "viewBox", `0 0 ${width} ${full}`);
      setAttr(svg, "height", full);
      for (const [name, value] of Object.entries({ x: LEFT, y: TOP - 4, width: right - LEFT, height: base - TOP + 4 })) setAttr(surface, name, value);
      const shown = names.length <= 5 ? names.map((_, i) => i + 1) : [1, ...[5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100].filter((rank) => rank <= names.length)];
      grid.replaceChildren(...shown.flatMap((rank) => [
        s("line", { x1: LEFT, x2: right, y1: y(rank), y2: y(rank) }),
        s("text.cv-wi-tick", { x: LEFT - 8, y: y(rank), "text-anchor": "end", "dominant-baseline": "central" }, String(rank)),
      ]), s("text.cv-wi-axis", { x: 0, y: 12 }, "rank"));
      drawPairs(bottom + 8, base, right);
      const middle = (LEFT + right) / 2;
      axes.replaceChildren(
        s("line", { x1: LEFT, x2: right, y1: base, y2: base }),
        ...ns.scale.ticks(x).flatMap((tick) => [
          s("line", { x1: x.at(tick), x2: x.at(tick), y1: base, y2: base + 4 }),
          s("text.cv-wi-tick", { x: x.at(tick), y: base + 16, "text-anchor": "middle" }, tick.toFixed(2)),
          trace.random_pairs.length
            ? s("text.cv-wi-tick.cv-wi-share", { x: x.at(tick), y: base + 46, "text-anchor": "middle" }, share(tick)) : null,
        ].filter(Boolean)),
        s("text.cv-wi-axis", { x: middle, y: base + 30, "text-anchor": "middle" }, "absorption threshold τ (cosine of two keywords)"),
        s("text.cv-wi-axis", { x: middle, y: base + 60, "text-anchor": "middle" },
          trace.random_pairs.length ? "share of random pairs absorbed at that threshold" : "no random pairs to compare with"),
      );
      setAttr(rule, "y1", TOP - 10);
      setAttr(rule, "y2", base);
      setAttr(knob, "y", TOP - 32);
      setAttr(knobText, "y", TOP - 18);
      if (state) move(state);
    }

    const share = (tau) => percent(CausalVizRerank.absorbedShare(trace.random_pairs, tau)).replace("under ", "< ");

    /** How often unrelated keywords are that close: counts per bin, what lies right of tau in the colour of A. */
    function drawPairs(top, base, right) {
      const bins = new Float64Array(BINS);
      for (const pair of trace.random_pairs) {
        const at = Math.floor(((pair - start) / (1 - start || 1)) * BINS);
        if (at >= 0) bins[Math.min(BINS - 1, at)]++;
      }
      const most = Math.max(1, ...bins);
      let d = `M${LEFT} ${base}`;
      bins.forEach((number, at) => {
        d += `V${(base - ((base - top - 12) * number) / most).toFixed(1)}H${(LEFT + ((right - LEFT) * (at + 1)) / BINS).toFixed(1)}`;
      });
      d += `V${base}Z`;
      absorbedClip = s("rect", { y: top, height: base - top, x: 0, width: right });
      const id = `cv-wi-clip-${serial}`;
      const proposed = trace.default_tau?.proposed ?? null;
      const told = proposed === null ? "" : `; dashed: proposed, ${plain(Number(proposed.toFixed(3)))}`;
      pairs.replaceChildren(
        s("clipPath", { id }, absorbedClip), s("path.cv-wi-pairs-b", { d }), s("path.cv-wi-pairs-a", { d, "clip-path": `url(#${id})` }),
        ...(proposed === null ? [] : [s("line.cv-wi-proposed", { x1: x.at(proposed), x2: x.at(proposed), y1: top + 12, y2: base })]),
        s("text.cv-wi-note", { x: LEFT + 2, y: top + 8 }, `how close random pairs of keywords are (amber: absorbed${told})`),
      );
    }

    /** One step line a document; a vertical stroke lies exactly at the threshold past which the rank changes. */
    function draw(next) {
      path = next;
      if (!x) return;
      const { n, m, high } = path.states;
      const ends = Array.from(high, (tau) => x.at(tau).toFixed(1));
      for (let i = 0; i < n; i++) {
        let rank = path.ranks[i];
        let d = `M${LEFT} ${y(rank).toFixed(1)}`;
        for (let interval = 1; interval < m; interval++) {
          const there = path.ranks[interval * n + i];
          if (there === rank) continue;
          rank = there;
          d += `H${ends[interval - 1]}V${y(rank).toFixed(1)}`;
        }
        setAttr(nodes[i].line, "d", `${d}H${x.right}`);
      }
      label();
      if (state) move(state);
    }

    /** Names at the right end of the lines, at their rank for the highest tau. */
    function label() {
      const { n, m } = path.states;
      const room = width >= LABELLED_FROM;
      for (let i = 0; i < n; i++) {
        const shown = room && (n <= LABELLED || i === chosen || i === hovered);
        const rank = path.ranks[(m - 1) * n + i];
        setText(nodes[i].label, shown ? `${rank}  ${shortenWide(names[i], 24)}` : "");
        setAttr(nodes[i].label, "x", x.right + 8);
        setAttr(nodes[i].label, "y", y(rank).toFixed(1));
      }
    }

    function choose(i) {
      if (chosen === i && nodes[i] && nodes[i].line.classList.contains("cv-chosen")) return;
      for (const at of [chosen, i]) mark(at, "cv-chosen", at === i);
      chosen = i;
      if (nodes[i]) lines.append(nodes[i].line);
      if (path && x) label();
    }

    function mark(i, name, on) {
      if (!nodes[i]) return;
      for (const node of Object.values(nodes[i])) toggle(node, name, on);
      if (name === "cv-chosen") setAttr(nodes[i].label, "aria-selected", String(on));
    }

    function hover(i, tau) {
      if (i !== hovered) {
        mark(hovered, "cv-hover", false);
        mark(i, "cv-hover", true);
        hovered = i;
        if (path.states.n > LABELLED) label();
      }
      if (i >= 0) setAttr(labels, "aria-activedescendant", nodes[i].label.id);
      tell(i, tau);
    }

    function tell(i, tau) {
      setText(readout, i < 0 ? "Point at a line, or walk the list with the arrow keys, to read its name."
        : `Rank ${rankAt(i, tau)} at τ ${plain(Number(tau.toFixed(4)))}: ${isolate(shorten(names[i], TITLE_TOLD))}`);
    }

    /** The threshold: the same as the slider's. */
    function move(next) {
      state = next;
      if (!x) return;
      const at = x.at(state.tau);
      const words = `τ ${plain(state.tau)}`;
      const wide = 14 + 7 * words.length;
      setAttr(cursor, "transform", `translate(${at.toFixed(1)} 0)`);
      const shift = Math.min(0, x.right + 4 - at - wide / 2) + Math.max(0, LEFT - 4 - at + wide / 2);
      setAttr(knob, "x", (shift - wide / 2).toFixed(1));
      setAttr(knob, "width", wide);
      setAttr(knobText, "x", shift.toFixed(1));
      setText(knobText, words);
      setAttr(absorbedClip, "x", at.toFixed(1));
      if (path && chosen >= 0) {
        const rank = rankAt(chosen, state.tau);
        setAttr(dot, "cy", y(rank).toFixed(1));
        setAttr(cursor, "aria-valuenow", plain(state.tau));
        setAttr(cursor, "aria-valuetext", `tau ${plain(state.tau)}, the chosen document has rank ${rank}`);
      }
    }

    ns.scale.drag(surface, (event, held) => {
      const tau = Number(x.value(ns.scale.place(svg, event)[0]).toFixed(4));
      hooks.turn(held ? { tau } : {}, held);
      if (held) cursor.focus({ preventScroll: true });
    });
    surface.addEventListener("pointermove", (event) => {
      if (event.buttons || !path) return;
      const [px, py] = ns.scale.place(svg, event);
      const tau = x.value(px);
      const rank = Math.round(((py - TOP) / height) * names.length + 0.5);
      let found = -1;
      if (rank >= 1 && rank <= names.length) for (let i = 0; i < names.length; i++) if (rankAt(i, tau) === rank) found = i;
      hover(found, tau);
    });
    surface.addEventListener("pointerleave", () => path && hover(-1));
    labels.addEventListener("pointermove", (event) => {
      const i = nodes.findIndex(({ label: node }) => node === event.target);
      if (path && i >= 0) hover(i, state.tau);
    });
    labels.addEventListener("pointerleave", () => path && hover(-1));
    labels.addEventListener("focus", () => path && hover(chosen, state.tau));
    labels.addEventListener("blur", () => path && hover(-1));
    labels.addEventListener("keydown", (event) => {
      if (!path) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        if (hovered >= 0) hooks.choose(hovered);
        return;
      }
      const now = hovered >= 0 ? rankAt(hovered, state.tau) : 0;
      const n = names.length;
      const rank = { ArrowDown: Math.min(n, now + 1), ArrowUp: Math.max(1, now - 1), Home: 1, End: n }[event.key];
      if (rank === undefined) return;
      event.preventDefault();
      hover(names.findIndex((_, i) => rankAt(i, state.tau) === rank), state.tau);
    });
    cursor.addEventListener("keydown", (event) => {
      const tau = ns.steps.turned(event, state.tau, path);
      if (tau === null) return;
      event.preventDefault();
      hooks.turn({ tau }, false);
    });
    tell(-1);
    const serial = ns.steps.serial++;

    return {
      element, svg, load, resize, draw, choose, move,
      stale: (on) => toggle(lines, "cv-stale", on),
    };
  };

  /** Where a key takes tau: finely, coarsely with page keys, to the next change of any rank with Shift; or null. */
  ns.steps.turned = function turned(event, tau, path) {
    const clean = (value) => Number(Math.min(1, Math.max(-1, value)).toFixed(6));
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (way && event.shiftKey && path) {
      const { states } = path;
      const here = ns.path.at(states, tau);
      return way > 0 ? (here + 1 < states.m ? states.low[here + 1] : 1) : here > 0 ? states.high[here - 1] : -1;
    }
    if (way) return clean(tau + way * FINE);
    if (event.key === "PageUp") return clean(tau + COARSE);
    if (event.key === "PageDown") return clean(tau - COARSE);
    if (event.key === "Home") return path ? path.states.high[0] : -1;
    return event.key === "End" ? 1 : null;
  };
  ns.steps.serial = 0;
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
