/* The live view of one trace: mount it, show a trace, and everything redraws in the page while a slider moves.
 *
 * Classic scripts, in this order: rerank.js, view/dom.js, the other view/*.js in any order, explore.js.
 *
 *   const view = CausalVizView.mount(root, { graph, initial, onChange, theme })
 *   view.show(trace); view.showTexts(texts); view.setStatus({ kind, message }); view.state(); view.setState(patch)
 *
 * `initial` is a partial state {tau, alpha, method, mode, emptyB, chosen} for the first trace (a share link).
 * `theme` is "host" (the class `dark` on an ancestor decides), "system", "light" or "dark"; by default "host" inside Gradio.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";
  const { h, toggle } = ns.dom;

  /** Beyond this many candidates cards jump while a slider is dragged, so that a step stays quick. */
  const ANIMATED_WHILE_DRAGGED = 40;
  /** Milliseconds without a change after which reading order and the spoken summary catch up. */
  const REST = 350;
  /** What the jump list itself covers of the pane. */
  const JUMP_HEIGHT = 40;
  const FORMAT = "causalviz-trace";
  const VERSION = 1;

  /** Widths of the view in px from or below which a class changes its layout (explore.css). */
  const WIDTHS = [["cv-wide", 1500, Infinity], ["cv-tight", 0, 1180], ["cv-narrow", 0, 1140], ["cv-phone", 0, 640]];

  function fit(element, width) {
    for (const [name, from, below] of WIDTHS) toggle(element, name, width > 0 && width >= from && width < below);
  }

  function themeOf(root, wanted) {
    if (wanted) return wanted;
    return root.closest(".gradio-container, gradio-app") ? "host" : "system";
  }

  /** Jump list of the right-hand pane where it scrolls. */
  function jumps(targets, pane) {
    return h(
      "nav.cv-jumps", { "aria-label": "Parts of the explanation" },
      ...targets.map(([words, target]) => {
        const button = h("button.cv-jump", { type: "button" }, words);
        button.addEventListener("click", () => {
          const { top } = pane.getBoundingClientRect();
          pane.scrollTop += target.getBoundingClientRect().top - top - JUMP_HEIGHT;
        });
        return button;
      }),
    );
  }

  ns.mount = function mount(root, options = {}) {
    const controls = ns.controls(turn);
    const summary = ns.summary();
    const ranking = ns.ranking({ choose });
    const detail = ns.detail();
    const text = ns.text();
    const graph = options.graph ? ns.graph(options.graph) : null;
    const status = ns.status();
    const spoken = h("p.cv-sr", { role: "status" });
    const side = h("div.cv-side", null, text.element, graph ? graph.element : null);
    const right = h("div.cv-right", null, detail.element, side);
    const parts = [
      ["Why", detail.anchors.why], ["Keywords", detail.anchors.keywords], ["Arithmetic", detail.anchors.arithmetic],
      ["Text", text.element], ...(graph ? [["Graph", graph.element]] : []),
    ];
    right.prepend(jumps(parts, right));
    const main = h("div.cv-main", null, ranking.element, right);
    const results = h("div.cv-results", null, summary.element, controls.element, main, spoken);
    const frameElement = h("div.cv-frame", null, status.element, results);
    const element = h("div.causalviz", { "data-theme": themeOf(root, options.theme), lang: "en" }, frameElement);

    const view = { show, showTexts, setStatus, state: () => ({ ...state }), setState, destroy, element, lastStepMs: 0 };
    let trace = null;
    let table = null;
    let frame = null;
    let state = { tau: NaN, alpha: 0.5, method: "hybrid", mode: "semantic", emptyB: "last", chosen: null };
    let chosen = -1;
    let drawnChoice = -1;
    let wanted = options.initial || null;
    let pending = 0;
    let handlerMs = 0;
    let resting = 0;
    let dragging = false;

    root.replaceChildren(element);
    const observer = new ResizeObserver(() => fit(element, element.clientWidth));
    observer.observe(element);
    fit(element, element.clientWidth);
    setStatus({ kind: "idle" });

    const indexOf = (id) => (trace ? trace.candidates.findIndex((candidate) => candidate.id === id) : -1);

    /** A person turned something. The frame is drawn once per animation frame, from the last value. */
    function turn(patch, held) {
      const began = performance.now();
      dragging = held;
      apply(patch);
      handlerMs += performance.now() - began;
    }

    function apply(patch) {
      const next = ns.model.merge(state, patch);
      if (trace && indexOf(next.chosen) < 0) next.chosen = state.chosen;
      const changed = Object.keys(next).some((key) => next[key] !== state[key]);
      state = next;
      if (trace) chosen = indexOf(state.chosen);
      if (changed || Object.keys(patch).length === 0) schedule(changed);
      return changed;
    }

    let told = true;
    function schedule(changed) {
      if (changed) told = false;
      if (!pending) pending = requestAnimationFrame(step);
    }

    function step() {
      const began = performance.now();
      pending = 0;
      draw();
      view.lastStepMs = handlerMs + performance.now() - began;
      handlerMs = 0;
      element.dataset.stepMs = view.lastStepMs.toFixed(3);
      if (!told) {
        told = true;
        if (options.onChange) options.onChange(view.state());
      }
    }

    function draw() {
      if (!trace || !table.n) return;
      frame = ns.model.frame(trace, table, state);
      toggle(element, "cv-still", dragging && table.n > ANIMATED_WHILE_DRAGGED);
      controls.update(state);
      ranking.update(frame, chosen);
      if (drawnChoice !== chosen) {
        drawnChoice = chosen;
        controls.choose(trace, chosen);
        if (chosen >= 0) {
          detail.choose(frame, chosen);
          text.choose(frame, chosen);
        }
      }
      if (chosen >= 0) {
        detail.update(frame, chosen);
        text.update(frame, chosen);
        if (graph) graph.update(frame, chosen);
      }
      clearTimeout(resting);
      resting = setTimeout(rest, REST);
    }

    function rest() {
      if (!frame || frame.trace !== trace) return;
      ranking.settle();
      const name = chosen >= 0 ? ns.dom.shorten(ns.model.titleOf(trace.candidates[chosen]), 80) : "";
      if (chosen >= 0) {
        ns.dom.setText(spoken, `${name}: rank ${frame.ranking.rank[chosen]}, by similarity ${frame.ranking.similarityRank[chosen]}.`);
      }
    }

    function choose(index) {
      dragging = false;
      apply({ chosen: trace.candidates[index].id });
    }

    function show(next) {
      if (!next || next.format !== FORMAT || next.version !== VERSION) {
        setStatus({ kind: "error", message: `This result cannot be shown: it is no ${FORMAT} of version ${VERSION}. Ask the question again.` });
        return;
      }
      const sameScale = trace !== null && trace.encoder === next.encoder && trace.centred === next.centred;
      if (!sameScale) state = { ...state, ...ns.model.settingsOf(next) };
      const sameQuestion = trace !== null && trace.query === next.query && trace.fingerprint === next.fingerprint;
      const wantedChoice = Boolean(wanted && wanted.chosen);
      if (wanted) state = ns.model.merge(state, wanted);
      wanted = null;
      trace = next;
      table = CausalVizRerank.prepare(trace);
      frame = null;
      drawnChoice = -1;
      if (!table.n) {
        setStatus({ kind: "empty", message: ns.status.nothing(trace) });
        return;
      }
      chosen = indexOf(sameQuestion || wantedChoice ? state.chosen : null);
      if (chosen < 0) chosen = ns.model.firstChoice(CausalVizRerank.rerank(table, state));
      state.chosen = trace.candidates[chosen].id;
      summary.load(trace);
      controls.load(trace);
      ranking.load(trace);
      text.load(null);
      status.set(null);
      reveal("results");
      draw();
      schedule(true);
    }

    function showTexts(texts) {
      text.load(texts || {});
      if (!frame || chosen < 0) return;
      text.choose(frame, chosen);
      text.update(frame, chosen);
    }

    /** Results stay in sight (and usable) under an error, dimmed while loading; without any, the state has the stage. */
    function setStatus({ kind, message }) {
      status.set(kind, message);
      const keep = (kind === "error" || kind === "loading") && trace !== null && table.n > 0;
      reveal(keep ? "both" : "status", kind);
    }

    function reveal(what, kind) {
      toggle(results, "cv-hidden", what === "status");
      frameElement.dataset.shows = what;
      element.setAttribute("aria-busy", String(kind === "loading"));
    }

    function setState(patch) {
      dragging = false;
      if (!trace) wanted = { ...wanted, ...patch };
      else apply(patch || {});
    }

    function destroy() {
      cancelAnimationFrame(pending);
      clearTimeout(resting);
      observer.disconnect();
      element.remove();
    }

    return view;
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
