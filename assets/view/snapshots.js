/* Snapshots: states of the view kept in this page, up to three side by side with the present one.
 *
 * snapshots({restore}) -> {element, save(frame, texts), list(), remove(snapshot), update(frame)}.
 */
(function (ns) {
  "use strict";
  const { h, plain, shorten, isolate, foreign, toggle, count } = ns.dom;

  const SHOWN = 3;
  const METHODS = { hybrid: "hybrid", causal: "causal score", guarded: "guarded similarity", similarity: "similarity", "cross-encoder": "cross-encoder" };

  ns.snapshots = function snapshots(hooks) {
    const chips = h("div.cv-snap-chips", { role: "group", "aria-label": "Snapshots to compare" });
    const columns = h("div.cv-snap-columns");
    const element = h("section.cv-snaps.cv-hidden", { "aria-label": "Snapshots" },
      h("div.cv-snap-top", null, h("h3.cv-wi-heading", null, "Snapshots"),
        h("p.cv-wi-lead", null, "Kept until this page is closed. Beside each document: where it is now."), chips), columns);
    let kept = [];
    let shown = [];
    let frame = null;
    let made = 0;

    function save(given, texts) {
      const { trace, ranking, state } = given;
      made++;
      const one = {
        name: `Snapshot ${made}`, query: trace.query, state: { ...state }, encoder: trace.encoder, knowledgeBase: trace.knowledge_base,
        fingerprint: trace.fingerprint, order: ranking.order.map((i) => trace.candidates[i].id), saved: new Date().toISOString(), trace, texts,
      };
      kept.push(one);
      shown = [...shown, one].slice(-SHOWN);
      update(given);
      return one;
    }

    function remove(one) {
      kept = kept.filter((other) => other !== one);
      shown = shown.filter((other) => other !== one);
      update(frame);
    }

    function flip(one) {
      shown = shown.includes(one) ? shown.filter((other) => other !== one) : [...shown, one].slice(-SHOWN);
      update(frame);
    }

    const settings = (state, encoder) =>
      `τ ${plain(state.tau)}${state.method === "hybrid" ? ` · α ${plain(state.alpha)}` : ""} · ${METHODS[state.method]}${
        state.mode === "exact" ? " · exact words only" : ""}${state.emptyB === "fallback" ? " · similarity if nothing left" : ""} · ${shorten(encoder, 30)}`;

    function rows(trace, order, nowRanks) {
      const titles = new Map(trace.candidates.map((candidate) => [candidate.id, ns.model.titleOf(candidate)]));
      return h("ol.cv-snap-list", null, ...order.map((id, at) => {
        const now = nowRanks && nowRanks.get(id);
        const move = now === undefined || now === null ? 0 : at + 1 - now;
        const words = !nowRanks ? "" : now === undefined ? "not here now" : move ? `now ${now} ${move > 0 ? "▲" : "▼"}${Math.abs(move)}` : "=";
        return h("li.cv-snap-row", { "data-id": id },
          h("span.cv-snap-rank", null, String(at + 1)), foreign("span.cv-snap-doc", shorten(titles.get(id) || id, 90), { title: isolate(shorten(titles.get(id) || id, 300)) }),
          h("span.cv-snap-move", { "data-way": move > 0 ? "up" : move < 0 ? "down" : "same" }, words));
      }));
    }

    /** How far the order of a snapshot agrees with the present one, in words and numbers. */
    function agreement(one, nowOrder) {
      const { rankBiasedOverlap, apCorrelation } = ns.agreement;
      const overlap = rankBiasedOverlap(one.order, nowOrder);
      const correlation = apCorrelation(one.order, nowOrder);
      const figure = (value) => (value === null ? "not defined" : value.toFixed(3));
      return h("p.cv-snap-note", {
        title: "Rank-biased overlap (p = 0.9): 1 for the same order, 0 for nothing in common, the top counting most. AP correlation (τAP): 1 for the same order, -1 for the reverse.",
      }, `agreement with now: overlap (RBO) ${figure(overlap)} · correlation (τAP) ${figure(correlation)}`);
    }

    function column(one, nowOrder, nowRanks) {
      const name = h("input.cv-snap-name", { type: "text", value: one.name, maxlength: 60, "aria-label": "Name of this snapshot", autocomplete: "off" });
      name.addEventListener("change", () => {
        one.name = name.value.trim() || one.name;
        update(frame);
      });
      const back = h("button.cv-tool", { type: "button" }, "restore");
      back.addEventListener("click", () => hooks.restore(one));
      const gone = h("button.cv-tool", { type: "button", "aria-label": `Remove ${one.name}` }, "remove");
      gone.addEventListener("click", () => remove(one));
      const other = frame && one.trace.query !== frame.trace.query;
      const changed = frame && !other && one.fingerprint !== frame.trace.fingerprint;
      return h("div.cv-snap", null,
        h("div.cv-snap-head", null, name, back, gone), h("p.cv-snap-note", null, settings(one.state, one.encoder)),
        agreement(one, nowOrder),
        other ? h("p.cv-snap-warn", null, "another question: ", foreign("span", shorten(one.query, 120))) : null,
        changed ? h("p.cv-snap-warn", null, "the knowledge base has changed since") : null, rows(one.trace, one.order, nowRanks));
    }

    function update(given) {
      frame = given;
      toggle(element, "cv-hidden", !kept.length);
      if (!kept.length || !frame) {
        columns.replaceChildren();
        chips.replaceChildren();
        return;
      }
      const { trace, ranking, state } = frame;
      const order = ranking.order.map((i) => trace.candidates[i].id);
      const nowRanks = new Map(order.map((id, at) => [id, at + 1]));
      const held = columns.contains(document.activeElement) && document.activeElement.matches("input");
      chips.replaceChildren(...(kept.length > SHOWN ? kept.map((one) => {
        const chip = h("button.cv-tool", { type: "button", "aria-pressed": String(shown.includes(one)) }, shorten(one.name, 40));
        chip.addEventListener("click", () => flip(one));
        return chip;
      }) : []));
      // A name that is being typed is not pulled away.
      if (held) return;
      columns.replaceChildren(
        h("div.cv-snap.cv-snap-now", null, h("div.cv-snap-head", null, h("strong", null, "Now"), h("span.cv-snap-count", null, count(order.length, "document"))),
          h("p.cv-snap-note", null, settings(state, trace.encoder)), rows(trace, order, null)),
        ...shown.map((one) => column(one, order, nowRanks)),
      );
    }

    const list = () => kept.map((one) => ({ ...one, state: { ...one.state }, order: one.order.slice() }));
    return { element, save, list, remove, update, get: (at) => kept[at] };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
