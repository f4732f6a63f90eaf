/* The hero: two ranked columns joined by lines. Nodes are built once per trace; a step only moves and renames them.
 *
 * ranking({choose}) -> {element, load(trace), update(frame, chosen), settle()}.
 */
(function (ns) {
  "use strict";
  const { h, s, setText, setAttr, setStyle, toggle, fixed, shorten, isolate, foreign } = ns.dom;

  /** Height of one rank in px; explore.css draws cards of this height less the gap. */
  const PITCH = 66;
  const LINK_WIDTH = 64;
  const TITLE_SHOWN = 240;
  const TITLE_TOLD = 2000;
  const METHOD_WORDS = { hybrid: "hybrid", causal: "causal score", guarded: "guarded similarity", similarity: "similarity", "cross-encoder": "cross-encoder" };

  const moves = {
    up: { glyph: "▲", words: "moved up" },
    down: { glyph: "▼", words: "moved down" },
    same: { glyph: "=", words: "same rank" },
  };
  const wayOf = (move) => (move > 0 ? "up" : move < 0 ? "down" : "same");

  function figure(label, strong) {
    const value = h("span.cv-figure-value");
    return { value, element: h(strong ? "span.cv-figure.cv-figure-strong" : "span.cv-figure", null, h("span.cv-figure-label", null, label), value) };
  }

  /** One mark: suspected of stuffing, or how often the question's words occur. */
  function stuffingFlag(candidate, trace) {
    const { words, usual, share } = ns.model.repetition(candidate, trace);
    const warning = ns.model.warning(candidate, trace);
    const told = warning ? `Warning: ${warning}` : words + usual;
    if (candidate.suspect) {
      return h(
        "span.cv-flag.cv-flag-warn.cv-flag-suspect", { title: told },
        h("span.cv-warn", { "aria-hidden": "true" }, "⚠"),
        h("span", { "aria-hidden": "true" }, "suspected", h("span.cv-flag-word", null, " of stuffing")),
        h("span.cv-sr", null, told),
      );
    }
    if (!candidate.repeats) return h("span.cv-flag.cv-flag-quiet", { title: told }, "repeats ×0");
    const short = `×${candidate.repeats}${candidate.tokens ? ` · ${ns.dom.percent(share)}` : ""}`;
    return h(
      warning ? "span.cv-flag.cv-flag-warn" : "span.cv-flag", { title: told },
      warning ? h("span.cv-warn", { "aria-hidden": "true" }, "⚠") : null,
      h("span", { "aria-hidden": "true" }, h("span.cv-flag-word", null, "repeats "), short),
      h("span.cv-sr", null, told),
    );
  }

  function card(trace, index, side) {
    const candidate = trace.candidates[index];
    const title = ns.model.titleOf(candidate);
    const rank = h("span.cv-rank");
    const heading = foreign("span.cv-title", shorten(title, TITLE_SHOWN), { title: isolate(shorten(title, TITLE_TOLD)) });
    const node = { rank, heading };
    const rankBox = h("span.cv-rank-box", null, h("span.cv-sr", null, "Rank "), rank);
    const figures = h("span.cv-figures");
    const special = h("span.cv-flag.cv-flag-special");
    if (side === "after") {
      node.glyph = h("span", { "aria-hidden": "true" });
      node.told = h("span.cv-sr");
      node.delta = h("span.cv-delta", null, node.glyph, node.told);
      node.special = special;
      rankBox.append(node.delta);
      node.final = figure("final", true);
      node.similarity = figure("similarity");
      node.causal = figure("causal");
      figures.append(node.final.element, node.similarity.element, node.causal.element);
      if (ns.model.crossed(trace)) {
        node.cross = figure("cross-encoder");
        node.cross.element.title = "Its rank by the cross-encoder";
        figures.append(node.cross.element);
        figures.classList.add("cv-figures-four");
      }
    } else {
      node.similarity = figure("similarity", true);
    }
    node.button = h(
      "button.cv-card", { type: "button", "aria-pressed": "false", tabindex: "-1" },
      rankBox,
      side === "after"
        ? h("span.cv-body", null, heading, stuffingFlag(candidate, trace), special)
        : h("span.cv-body", null, heading, h("span.cv-below", null, node.similarity.element, stuffingFlag(candidate, trace))),
      side === "after" ? figures : null,
    );
    node.item = h("li.cv-item", { "data-candidate": index }, node.button);
    return node;
  }

  ns.ranking = function ranking(hooks) {
    const before = h("ol.cv-column", { "aria-label": "Documents by similarity" });
    const after = h("ol.cv-column", { "aria-label": "Documents re-ranked" });
    const links = s("svg.cv-links", { "aria-hidden": "true", width: LINK_WIDTH });
    const board = h("div.cv-board", null, before, links, after);
    const afterHead = h("span.cv-head-method");
    const formula = h("span.cv-head-note");
    const element = h(
      "section.cv-ranking", { "aria-label": "Ranking" },
      h(
        "div.cv-head", null,
        h("div", null, h("h3.cv-section", null, "by similarity"), h("span.cv-head-note", null, "what plain retrieval returns")),
        h("div.cv-legend", { "aria-hidden": "true" }, h("span.cv-up", null, "▲ up"), h("span.cv-down", null, "▼ down")),
        h("div", null, h("h3.cv-section", null, "re-ranked: ", afterHead), formula),
      ),
      h("div.cv-scroll", { tabindex: "-1" }, board),
    );
    setStyle(element, "--cv-pitch", `${PITCH}px`);
    setStyle(element, "--cv-link-width", `${LINK_WIDTH}px`);

    let cards = { before: [], after: [] };
    let lines = [];
    let shown = null;
    let marked = -1;
    let suspects = 0;

    function load(trace) {
      suspects = trace.candidates.filter((candidate) => candidate.suspect).length;
      const half = LINK_WIDTH / 2;
      cards = {
        before: trace.candidates.map((_, i) => card(trace, i, "before")),
        after: trace.candidates.map((_, i) => card(trace, i, "after")),
      };
      trace.candidates.forEach((candidate, i) => {
        const twin = ns.model.twinOf(trace, candidate);
        cards.after[i].twin = twin === null ? "" : `${twin.words} ${isolate(shorten(twin.name, 60))}`;
      });
      lines = trace.candidates.map(() =>
        s("path.cv-link", { d: `M0 0C${half} 0 ${half} 1 ${LINK_WIDTH} 1`, "vector-effect": "non-scaling-stroke" }));
      before.replaceChildren(...cards.before.map((node) => node.item));
      after.replaceChildren(...cards.after.map((node) => node.item));
      links.replaceChildren(...lines);
      const height = trace.candidates.length * PITCH;
      links.setAttribute("height", height);
      setStyle(board, "height", `${height}px`);
      for (const side of ["before", "after"]) {
        cards[side].forEach((node, i) => {
          node.button.addEventListener("click", () => hooks.choose(i));
          node.item.addEventListener("pointerenter", () => hover(i, true));
          node.item.addEventListener("pointerleave", () => hover(i, false));
          node.button.addEventListener("keydown", (event) => walk(event, side, i));
        });
      }
      shown = null;
      marked = -1;
      element.querySelector(".cv-scroll").scrollTop = 0;
    }

    function hover(i, on) {
      for (const node of [cards.before[i].item, cards.after[i].item, lines[i]]) node.classList.toggle("cv-hover", on);
    }

    /** Arrow keys go by rank, not by the order of nodes; left and right change the column. */
    function walk(event, side, i) {
      if (!shown || event.ctrlKey || event.metaKey || event.altKey) return;
      const ranks = side === "before" ? shown.ranking.similarityRank : shown.ranking.rank;
      const n = ranks.length;
      const rank = { ArrowDown: Math.min(n, ranks[i] + 1), ArrowUp: Math.max(1, ranks[i] - 1), Home: 1, End: n }[event.key];
      let target = rank === undefined ? -1 : ranks.indexOf(rank);
      let column = side;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        target = i;
        column = event.key === "ArrowLeft" ? "before" : "after";
      }
      if (target < 0) return;
      event.preventDefault();
      hooks.choose(target);
      cards[column][target].button.focus();
    }

    function updateFlags(node, frame, i) {
      const empty = ns.model.emptiness(frame, i);
      let text = empty || node.twin;
      if (frame.tied[i]) text = text ? `tie · ${text}` : "tie: equal final score";
      setText(node.special, text);
      toggle(node.special, "cv-hidden", !text);
      toggle(node.special, "cv-flag-empty", Boolean(empty));
      toggle(node.heading, "cv-one-line", Boolean(text));
    }

    function update(frame, chosen) {
      const { ranking: r, state } = frame;
      const first = shown === null || shown.trace !== frame.trace;
      shown = frame;
      for (let i = 0; i < cards.after.length; i++) {
        const node = cards.after[i];
        const from = r.similarityRank[i];
        const to = r.rank[i];
        const move = from - to;
        if (first) {
          const old = cards.before[i];
          setText(old.rank, String(from));
          setText(old.similarity.value, fixed(frame.table.similarity[i]));
          setStyle(old.item, "transform", `translateY(${(from - 1) * PITCH}px)`);
          setText(node.similarity.value, fixed(frame.table.similarity[i]));
        }
        if (node.to !== to || first) {
          const way = wayOf(move);
          node.to = to;
          setText(node.rank, String(to));
          setText(node.glyph, move ? `${moves[way].glyph}${Math.abs(move)}` : moves.same.glyph);
          setText(node.told, move ? ` ${moves[way].words} ${Math.abs(move)}, ` : ` ${moves.same.words}, `);
          setAttr(node.delta, "data-way", way);
          setAttr(lines[i], "data-way", way);
          setStyle(node.item, "transform", `translateY(${(to - 1) * PITCH}px)`);
          // A scale of exactly 0 would hide the line.
          setStyle(lines[i], "transform", `translate(0px,${(from - 0.5) * PITCH}px) scale(1,${-move * PITCH || 0.01})`);
        }
        setText(node.final.value, fixed(r.final[i]));
        setText(node.causal.value, fixed(r.causal[i], 4, "none"));
        if (node.cross) setText(node.cross.value, `#${r.crossRank[i]}`);
        updateFlags(node, frame, i);
      }
      if (chosen !== marked || first) mark(chosen);
      setText(afterHead, METHOD_WORDS[state.method]);
      const beta = ns.dom.plain(1 - state.alpha);
      setText(formula, {
        hybrid: `final = ${ns.dom.plain(state.alpha)} similarity + ${beta} causal, both on 0..1`,
        causal: "final = causal score, of the words left",
        guarded: `final = similarity, ${suspects ? `except ${suspects} suspected of stuffing` : "as none is suspected of stuffing"}`,
        similarity: "final = similarity, nothing re-ranked",
        "cross-encoder": "final = the cross-encoder’s own score",
      }[state.method]);
    }

    function mark(chosen) {
      for (const i of [marked, chosen]) {
        if (i < 0 || i >= lines.length) continue;
        for (const side of ["before", "after"]) {
          const { button, item } = cards[side][i];
          button.setAttribute("aria-pressed", String(i === chosen));
          button.tabIndex = i === chosen ? 0 : -1;
          item.classList.toggle("cv-chosen", i === chosen);
        }
        lines[i].classList.toggle("cv-chosen", i === chosen);
      }
      if (chosen >= 0) links.append(lines[chosen]);
      marked = chosen;
    }

    /** Once things are at rest, put the nodes in ranked order for screen readers, without moving the focused one. */
    function settle() {
      if (!shown) return;
      const items = shown.ranking.order.map((i) => cards.after[i].item);
      if (items.every((item, at) => after.children[at] === item)) return;
      const held = items.findIndex((item) => item.contains(document.activeElement));
      items.forEach((item, at) => {
        if (held < 0 || at > held) after.append(item);
        else if (at < held) after.insertBefore(item, items[held]);
      });
    }

    return { element, load, update, settle };
  };
  ns.ranking.PITCH = PITCH;
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
