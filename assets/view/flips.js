/* Flip points of the chosen document: the nearest tau and alpha at which it swaps with a neighbour or becomes first.
 *
 * flips(hooks) -> {element, draw(frame, i, path, plane)}; hooks.turn(patch, held). All from view/path.js.
 */
(function (ns) {
  "use strict";
  const { h, shorten, foreign } = ns.dom;

  const TITLE_SHOWN = 70;

  ns.flips = function flips(hooks) {
    const list = h("ul.cv-wi-flips-list");
    const element = h("div.cv-wi-flips", null, h("h4.cv-wi-title", null, "What would change its rank: the nearest settings"), list);

    const button = (words, patch) => {
      const node = h("button.cv-wi-go", { type: "button" }, words);
      node.addEventListener("click", () => hooks.turn(patch, false));
      return node;
    };

    /** "raise tau to 0.91" as a button, or why there is none. */
    function ways(state, found) {
      const nodes = [];
      for (const [name, value] of [["tau", found.tau], ["alpha", found.alpha]]) {
        if (value === null) continue;
        nodes.push(button(`${value > state[name] ? "raise" : "lower"} ${name} to ${ns.scale.told(value, state[name])}`, { [name]: value }));
      }
      return nodes;
    }

    function missing(state, found) {
      if (found.tau !== null && (found.alpha !== null || state.method !== "hybrid")) return "";
      if (found.tau === null && found.alpha === null) return state.method === "hybrid" ? "No tau alone and no alpha alone does it." : "No tau does it.";
      return found.tau === null ? "No tau alone does it." : "No alpha alone does it.";
    }

    function card(head, name, nodes, note) {
      return h("li.cv-wi-flip", null,
        h("p.cv-wi-flip-head", null, head, name ? foreign("span.cv-wi-doc", shorten(name, TITLE_SHOWN)) : null),
        nodes.length ? h("div.cv-wi-ways", null, ...nodes) : null, note ? h("p.cv-wi-flip-note", null, note) : null);
    }

    /** Between which thresholds, and which alphas, it stays first. */
    function stays(frame, i, path, plane) {
      const { state } = frame;
      const { n, low, high, m } = path.states;
      let [from, to] = [ns.path.at(path.states, state.tau), ns.path.at(path.states, state.tau)];
      while (from > 0 && path.ranks[(from - 1) * n + i] === 1) from--;
      while (to + 1 < m && path.ranks[(to + 1) * n + i] === 1) to++;
      const row = ns.path.rowAt(plane, state.tau);
      const part = ns.path.stretches(plane, 1).find((stretch) => stretch.row === row);
      const tau = from === 0 && to === m - 1 ? "at any tau" : from === 0 ? `up to tau ${ns.scale.told(high[to])}`
        : to === m - 1 ? `from tau ${ns.scale.told(low[from])} on` : `for tau from ${ns.scale.told(low[from])} to ${ns.scale.told(high[to])}`;
      if (state.method !== "hybrid" || !part) return `It is first, and stays so ${tau}.`;
      const alpha = part.low === 0 && part.high === 1 ? "at any alpha" : part.low === 0 ? `up to alpha ${ns.scale.told(part.high)}`
        : part.high === 1 ? `from alpha ${ns.scale.told(part.low)} on` : `for alpha from ${ns.scale.told(part.low)} to ${ns.scale.told(part.high)}`;
      return `It is first. At this alpha it stays so ${tau}; at this tau, ${alpha}.`;
    }

    function first(frame, i, path, plane) {
      const { state } = frame;
      const found = ns.path.toBeFirst(plane, path, state);
      if (found.rank === 1) return card("First now", "", [], stays(frame, i, path, plane));
      const nodes = ways(state, found);
      if (found.both && nodes.length < 2) {
        const [tau, alpha] = found.both;
        nodes.push(button(`both: tau ${ns.scale.told(tau)}, alpha ${ns.scale.told(alpha)}`, { tau, alpha }));
      }
      return card("What would it take to be first?", "", nodes, found.both || nodes.length ? missing(state, found) : "It cannot be: it is first at no tau and alpha.");
    }

    function draw(frame, i, path, plane) {
      const { ranking, trace, state } = frame;
      const at = ranking.order.indexOf(i);
      const above = ranking.order[at - 1];
      const below = ranking.order[at + 1];
      const cards = [first(frame, i, path, plane)];
      for (const [other, words, upper, lower] of [[above, "To overtake ", above, i], [below, "To fall behind ", i, below]]) {
        if (other === undefined) continue;
        const found = ns.path.swap(path.states, path, state, upper, lower);
        cards.push(card(`${words}number ${ranking.rank[other]}, `, ns.model.titleOf(trace.candidates[other]), ways(state, found), missing(state, found)));
      }
      const held = element.contains(document.activeElement);
      list.replaceChildren(...cards);
      if (held) list.querySelector("button")?.focus({ preventScroll: true });
    }

    return { element, draw };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
