/* The live view of one trace: mount it, show a trace, and everything redraws in the page while a slider moves.
 *
 * Classic scripts, in this order: rerank.js, view/dom.js, the other view/*.js in any order, explore.js.
 *
 *   const view = CausalVizView.mount(root, { graph, initial, onChange, theme })
 *   view.show(trace); view.showTexts(texts); view.setStatus({ kind, message }); view.state(); view.setState(patch)
 *
 *   view.snapshots(); view.saveSnapshot(); view.restore(number); view.shareLink(); view.checkShared(shared); view.notify(words, kind)
 *   view.download(kind)                       // csv json trec, and path map graph as .svg or .png
 *   CausalVizView.sharedState()               // what a share link holds: {state, query, knowledgeBase, fingerprint, ...} or null
 *   CausalVizView.brokenLink()                // whether the address holds a share link that cannot be read
 *
 * `initial` is a partial state {tau, alpha, method, mode, emptyB, chosen} for the first trace (a share link).
 * `share: false` leaves out the button that copies a link, where an address means nothing to others (a report).
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
    const whatif = ns.whatif({ turn, choose });
    const snapshots = ns.snapshots({ restore });
    const notice = ns.notice();
    const toolbar = ns.toolbar({ save: saveSnapshot, share: options.share === false ? null : copyLink, download, graph });
    summary.element.insertBefore(toolbar.element, summary.element.querySelector(".cv-facts"));
    const spoken = h("p.cv-sr", { role: "status" });
    const side = h("div.cv-side", null, text.element, graph ? graph.element : null);
    const right = h("div.cv-right", null, detail.element, side);
    const parts = [
      ["Why", detail.anchors.why], ["Keywords", detail.anchors.keywords], ["Arithmetic", detail.anchors.arithmetic],
      ["Text", text.element], ...(graph ? [["Graph", graph.element]] : []),
    ];
    right.prepend(jumps(parts, right));
    const main = h("div.cv-main", null, ranking.element, right);
    const results = h("div.cv-results", null, summary.element, notice.element, controls.element, main, spoken);
    const below = h("div.cv-below-fold", null, snapshots.element, whatif.element);
    const frameElement = h("div.cv-frame", null, status.element, results, below);
    const element = h("div.causalviz", { "data-theme": themeOf(root, options.theme), lang: "en" }, frameElement);

    const view = {
      show, showTexts, setStatus, state: () => ({ ...state }), setState, destroy, element, lastStepMs: 0, saveSnapshot, download, checkShared,
      snapshots: snapshots.list, restore: (number) => restore(snapshots.get(number)), notify: (words, kind = "note") => notice.say(kind, words),
      shareLink: () => (trace ? ns.share.link(trace, state) : { error: "There is no result to link to yet." }),
    };
    let trace = null;
    let table = null;
    let texts = null;
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
      if (patch.method) wanted = null;
      apply(patch);
      handlerMs += performance.now() - began;
    }

    function apply(patch) {
      let next = ns.model.merge(state, patch);
      if (trace) next = ns.model.fitting(trace, next, state.method);
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
      whatif.update(frame, chosen, dragging);
      clearTimeout(resting);
      resting = setTimeout(rest, REST);
    }

    function rest() {
      if (!frame || frame.trace !== trace) return;
      ranking.settle();
      whatif.rest();
      snapshots.update(frame);
      if (chosen >= 0) detail.rest(frame, chosen);
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
      // A cross-encoder's scores may follow in a second trace of the same question.
      wanted = wanted && wanted.method === "cross-encoder" && !ns.model.crossed(next) ? { method: wanted.method } : null;
      // Texts stay where the same candidates come again, with a cross-encoder's scores.
      const known = (id, i) => trace.candidates[i]?.id === id;
      if (!sameQuestion || !next.candidates.every(({ id }, i) => known(id, i))) texts = null;
      trace = next;
      state = ns.model.fitting(trace, state);
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
      text.load(texts);
      status.set(null);
      reveal("results");
      draw();
      schedule(true);
    }

    function showTexts(given) {
      texts = given || {};
      text.load(texts);
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
      toggle(below, "cv-hidden", what === "status");
      frameElement.dataset.shows = what;
      element.setAttribute("aria-busy", String(kind === "loading"));
    }

    function setState(patch) {
      dragging = false;
      if (!trace) wanted = { ...wanted, ...patch };
      else apply(patch || {});
    }

    /** The frame of the present state, drawn already or not. */
    const present = () => ns.model.frame(trace, table, state);

    function saveSnapshot() {
      if (!trace || !table.n) return;
      const { name } = snapshots.save(present(), texts);
      const button = h("button.cv-tool", { type: "button" }, "compare");
      button.addEventListener("click", () => snapshots.element.scrollIntoView({ block: "start" }));
      notice.say("note", `Kept as “${name}”, below the ranking, until this page is closed.`, button);
    }

    /** Show a snapshot again, with its own trace if that is another one than is shown. */
    function restore(one) {
      if (!one) return;
      const asked = trace;
      if (one.trace !== trace) {
        show(one.trace);
        if (one.texts) showTexts(one.texts);
      }
      setState(one.state);
      if (one.trace.query !== asked.query) {
        notice.say("warn", `“${one.name}” belongs to another question: “${ns.dom.shorten(one.query, 160)}”. Its result is shown again; nothing was asked anew.`);
      } else if (one.fingerprint !== asked.fingerprint) {
        notice.say("warn", `“${one.name}” was made before the knowledge base changed. Its result is shown again as it was.`);
      } else notice.say("note", `“${one.name}” is shown again.`);
    }

    async function copyLink() {
      const { link, error } = view.shareLink();
      if (error) return notice.say("warn", error);
      const field = h("input.cv-notice-link", { type: "text", readonly: true, value: link, "aria-label": "The link" });
      let copied = true;
      try {
        await navigator.clipboard.writeText(link);
      } catch {
        copied = false;
      }
      notice.say("note", copied ? "The link is on the clipboard. It holds the question and the settings, no document." : "Copy this link:", field);
      if (!copied) field.select();
      return undefined;
    }

    /** Warn where what is shown is not what a link was made from; returns the sentences. */
    function checkShared(shared) {
      if (!shared || !trace) return [];
      const found = ns.share.differences(shared, trace);
      if (found.length) notice.say("warn", `Not quite what the link was made from: ${found.join("; ")}. Ranks may differ.`);
      return found;
    }

    async function download(kind) {
      if (!trace || !table.n) return;
      const shown = present();
      const name = (what) => ns.exports.fileName(trace, what);
      const [what, format] = kind.split(".");
      try {
        if (kind === "csv") ns.exports.save(name("ranking.csv"), ns.exports.csv(shown), "text/csv;charset=utf-8");
        else if (kind === "json") ns.exports.save(name("trace.json"), ns.exports.json(shown), "application/json");
        else if (kind === "trec") ns.exports.save(name("run.txt"), ns.exports.trec(shown), "text/plain;charset=utf-8");
        else {
          const svg = what === "graph" ? graph.svg : whatif.figures()[what];
          const caption = ns.exports.caption(what, shown, chosen);
          if (format === "svg") ns.exports.save(name(`${what}.svg`), ns.exports.standAlone(svg, caption).text, "image/svg+xml");
          else ns.exports.save(name(`${what}.png`), await ns.exports.png(svg, caption));
        }
      } catch (error) {
        notice.say("warn", `This could not be written: ${error.message}.`);
      }
    }

    function destroy() {
      toolbar.destroy();
      cancelAnimationFrame(pending);
      clearTimeout(resting);
      observer.disconnect();
      whatif.destroy();
      element.remove();
    }

    return view;
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
