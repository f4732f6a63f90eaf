/* How the causal score adds up: each keyword of B carries its share on from where the one before it ended. */
/* global CausalVizRerank */
(function (ns) {
  "use strict";
  const { h, s, setText, setAttr, toggle, fixed, signed, shortenWide } = ns.dom;

  const WIDTH = 420;
  const HEIGHT = 118;
  const LABELS = 46;
  const TOP = 12;
  /** Room for the first label, which leans to the left. */
  const LEFT = 32;
  const LETTERS = 8;

  ns.waterfall = function waterfall() {
    const bars = s("g");
    const zero = s("line.cv-fall-zero", { x1: LEFT, x2: WIDTH });
    const svg = s("svg.cv-fall", { viewBox: `0 0 ${WIDTH} ${HEIGHT + LABELS}`, role: "img" }, zero, bars);
    const caption = h("p.cv-head-note");
    const element = h("div.cv-fall-box", null, h("h4.cv-set-title", null, "how the causal score adds up"), svg, caption);
    let steps = [];

    function step(term) {
      const words = s("title");
      const bar = s("rect.cv-fall-bar");
      const link = s("line.cv-fall-link");
      const label = s("text.cv-fall-label", null, shortenWide(term, LETTERS));
      return { words, bar, link, label, term, element: s("g", null, words, bar, link, label) };
    }

    function choose(frame, i) {
      steps = [...frame.trace.candidates[i].keywords.map(({ term }) => step(term)), step("sum")];
      toggle(steps[steps.length - 1].element, "cv-fall-total", true);
      bars.replaceChildren(...steps.map((one) => one.element));
    }

    function place(one, x, width, from, to, y) {
      setAttr(one.bar, "x", x.toFixed(1));
      setAttr(one.bar, "width", (0.72 * width).toFixed(1));
      setAttr(one.bar, "y", Math.min(y(from), y(to)).toFixed(1));
      setAttr(one.bar, "height", Math.max(1, Math.abs(y(from) - y(to))).toFixed(1));
      setAttr(one.link, "x1", x.toFixed(1));
      setAttr(one.link, "x2", (x + width).toFixed(1));
      setAttr(one.link, "y1", y(to).toFixed(1));
      setAttr(one.link, "y2", y(to).toFixed(1));
      setAttr(one.label, "transform", `translate(${(x + 0.4 * width).toFixed(1)} ${HEIGHT + 10}) rotate(-38)`);
      toggle(one.bar, "cv-negative", to < from);
      setText(one.words, `${one.term} ${signed(to - from)}`);
    }

    function update(frame, i) {
      const { table, ranking } = frame;
      const shares = CausalVizRerank.contributions(table, ranking, i);
      const inB = (j) => !ranking.inA[i * table.k + j];
      const count = steps.slice(0, -1).filter((_, j) => inB(j)).length;
      toggle(element, "cv-hidden", count === 0);
      if (count === 0) return;
      let low = 0;
      let high = 0;
      let at = 0;
      for (const share of shares) {
        at += share;
        low = Math.min(low, at);
        high = Math.max(high, at);
      }
      const total = at;
      const y = (value) => TOP + ((high - value) / (high - low || 1)) * (HEIGHT - TOP);
      const width = (WIDTH - LEFT) / (count + 1);
      let x = LEFT;
      at = 0;
      steps.forEach((one, j) => {
        const last = j === steps.length - 1;
        toggle(one.element, "cv-hidden", !last && !inB(j));
        if (last) place(one, x, width, 0, total, y);
        else if (inB(j)) {
          place(one, x, width, at, at + shares[j], y);
          at += shares[j];
          x += width;
        }
      });
      setAttr(zero, "y1", y(0).toFixed(1));
      setAttr(zero, "y2", y(0).toFixed(1));
      setText(caption, `From 0 to ${fixed(total)}: every bar is one keyword of B, as high as what it adds.`);
    }

    return { element, choose, update };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
