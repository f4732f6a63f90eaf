/* The causal graph of retrieval for the chosen document, and what d-separation says about it.
 *
 * Every verdict and every open or blocked path is read from graph_to_json() (networkx); only the layout is ours.
 */
(function (ns) {
  "use strict";
  const { h, s, setText, setAttr, setStyle, toggle, percent, shortenWide } = ns.dom;

  const WIDTH = 560;
  const HEIGHT = 342;
  const BOX = { width: 218, height: 128, top: 24 };
  const TOP_TERMS = 4;
  const TERM_WIDTH = 22;
  const CENTRES = { A: [123, 88], B: [437, 88], q: [44, 252], d: [280, 246], y: [516, 252] };
  /** Where edges touch their nodes. */
  const ENDS = {
    "A>q": [[78, 152], [52, 226]], "A>d": [[160, 152], [246, 222]], "B>d": [[400, 152], [314, 222]],
    "B>y": [[482, 152], [508, 226]], "q>y": [[70, 262], [490, 262]],
  };
  /** How far the edge from q to y bows below the retrieved document. */
  const BOW = { x: 130, y: 88 };
  /** Where a path blocked at a node is barred. */
  const BARS = {
    A: { at: [123, 168], words: [0, 26], anchor: "middle" },
    d: { at: [280, 208], words: [0, -17], anchor: "middle" },
    y: { at: [484, 214], words: [-16, 4], anchor: "end" },
  };
  const THIN = 1.5;
  const THICK = 7;
  /** The questions shown, in reading order: is q independent of B given these? */
  const CASES = [
    { given: [], when: "Before retrieval" },
    { given: ["d"], when: "Once d is retrieved" },
    { given: ["A", "d"], when: "With A set aside too" },
  ];

  const sameSet = (a, b) => a.length === b.length && a.every((item) => b.includes(item));

  function verdictOf(graph, x, y, given) {
    return graph.verdicts.find((v) => sameSet([v.x, v.y], [x, y]) && sameSet(v.given, given));
  }

  const hasEdge = (graph, a, b) => graph.edges.some(([from, to]) => from === a && to === b);

  /** "q ← A → d ← B": the path with its arrows, as the graph has them. */
  function pathWords(graph, nodes) {
    return nodes.map((node, at) => (at ? `${hasEdge(graph, nodes[at - 1], node) ? "→" : "←"} ${node}` : node)).join(" ");
  }

  function curve(key) {
    const [[x1, y1], [x2, y2]] = ENDS[key];
    return key === "q>y" ? `M${x1} ${y1}C${x1 + BOW.x} ${y1 + BOW.y} ${x2 - BOW.x} ${y2 + BOW.y} ${x2} ${y2}` : `M${x1} ${y1}L${x2} ${y2}`;
  }

  /** An arrow head at the end of an edge, pointing along it. */
  function arrowHead(key) {
    const [[x1, y1], [x2, y2]] = ENDS[key];
    const angle = key === "q>y" ? Math.atan2(-BOW.y, BOW.x) : Math.atan2(y2 - y1, x2 - x1);
    return s("path.cv-arrow", { d: "M0 0L-11 -5.5L-11 5.5Z", transform: `translate(${x2} ${y2}) rotate(${(angle * 180) / Math.PI})` });
  }

  function keywordBox(letter, label) {
    const [x] = CENTRES[letter];
    const left = x - BOX.width / 2;
    const share = s("text.cv-node-share", { x: left + BOX.width - 12, y: BOX.top + BOX.height - 13, "text-anchor": "end" });
    const lines = Array.from({ length: TOP_TERMS + 1 }, (_, at) =>
      s("text.cv-node-term", { x: left + 14, y: BOX.top + 43 + at * 18 }));
    const element = s(
      `g.cv-node.cv-node-${letter.toLowerCase()}`, null,
      s("rect.cv-node-shape", { x: left, y: BOX.top, width: BOX.width, height: BOX.height, rx: 10 }),
      s("text.cv-node-letter", { x: left + 12, y: BOX.top + 21 }, letter),
      s("text.cv-node-name", { x: left + 30, y: BOX.top + 21 }, label), share, ...lines,
    );
    return { element, share, lines };
  }

  function circle(letter, words, extra) {
    const [x, y] = CENTRES[letter];
    // The words under q and y lean on the edges of the drawing, away from the edge between them.
    const [start, anchor] = { q: [14, "start"], d: [x, "middle"], y: [WIDTH - 14, "end"] }[letter];
    return s(
      `g.cv-node.cv-node-${letter}`, null,
      letter === "d"
        ? s("rect.cv-node-shape", { x: x - 34, y: y - 22, width: 68, height: 44, rx: 6 })
        : s("circle.cv-node-shape", { cx: x, cy: y, r: 24 }),
      s("text.cv-node-letter", { x, y: y + 5, "text-anchor": "middle" }, letter),
      s("text.cv-node-name", { x: start, y: y + 42, "text-anchor": anchor }, words),
      extra ? s("text.cv-node-hint", { x: start, y: y + 57, "text-anchor": anchor }, extra) : null,
    );
  }

  ns.graph = function graph(data) {
    const edges = {};
    for (const [from, to] of data.edges) {
      const key = `${from}>${to}`;
      edges[key] = s("g.cv-edge", { "data-edge": key }, s("path.cv-halo", { d: curve(key) }), s("path.cv-line", { d: curve(key) }), arrowHead(key));
    }
    const boxes = { A: keywordBox("A", "shared with the question"), B: keywordBox("B", "the rest") };
    const d = circle("d", "retrieved document", "retrieval conditions on it");
    const bars = s("g.cv-bars");
    const svg = s(
      "svg.cv-dag", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
      ...Object.values(edges), bars, boxes.A.element, boxes.B.element,
      circle("q", "the question"), d, circle("y", "ideal answer", "never observed"),
    );
    const meaning = h("p.cv-graph-meaning");
    const group = h("div.cv-verdicts", { role: "radiogroup", "aria-label": "What is held fixed in the graph" });
    const steps = CASES.map(({ given, when }, at) => {
      const verdict = verdictOf(data, "q", "B", given);
      const words = verdict.independent ? "q and B are independent" : "q and B are dependent";
      const button = h(
        "button.cv-verdict", { type: "button", role: "radio", "data-independent": String(verdict.independent) },
        h("span.cv-verdict-when", null, when, h("span.cv-symbol", null, ` given ${given.slice().reverse().join(", ") || "nothing"}`)),
        h("span.cv-verdict-words", null, words), h("span.cv-sr", null, ". "),
        ...verdict.paths.map((path) =>
          h(
            "span.cv-verdict-path", { "data-open": String(path.open) },
            h("span.cv-path", null, pathWords(data, path.nodes)), ` ${path.why}`, h("span.cv-sr", null, ". "),
          )),
      );
      button.addEventListener("click", () => condition(at));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = (at + step + CASES.length) % CASES.length;
        condition(next);
        steps[next].button.focus();
      });
      group.append(button);
      return { button, verdict, given };
    });
    const element = h(
      "section.cv-panel.cv-graph-panel", { "aria-label": "Causal graph" },
      h("div.cv-set-head", null, h("h4.cv-set-title", null, "the causal graph behind the rule")), svg, meaning, group,
      h("p.cv-remark", null, "The graph explains why the rule looks at B; the score is not an estimated causal effect."),
    );

    /** Draw each path between q and B as open or blocked, as networkx decided it. */
    function condition(at) {
      const { verdict, given } = steps[at];
      steps.forEach(({ button }, i) => {
        button.setAttribute("aria-checked", String(i === at));
        button.tabIndex = i === at ? 0 : -1;
      });
      for (const edge of Object.values(edges)) edge.dataset.path = "none";
      bars.replaceChildren();
      for (const path of verdict.paths) {
        path.nodes.slice(1).forEach((node, i) => {
          const key = [`${path.nodes[i]}>${node}`, `${node}>${path.nodes[i]}`].find((name) => edges[name]);
          edges[key].dataset.path = path.open ? "open" : "blocked";
        });
        if (!path.open) bars.append(bar(path.decided_by));
      }
      svg.dataset.given = given.join(" ");
      for (const node of svg.querySelectorAll(".cv-node")) node.classList.remove("cv-given");
      for (const node of given) svg.querySelector(`.cv-node-${node.toLowerCase()}`).classList.add("cv-given");
      setAttr(svg, "aria-label", `Causal graph. ${steps[at].button.textContent}`);
    }

    /** A no-entry sign at the node that blocks a path, its words where no edge runs. */
    function bar(node) {
      const { at: [x, y], words: [dx, dy], anchor } = BARS[node];
      return s(
        "g.cv-bar-mark", { "data-node": node, transform: `translate(${x} ${y})` },
        s("circle", { r: 11 }), s("path", { d: "M-6 0H6" }),
        s("text", { x: dx, y: dy, "text-anchor": anchor }, `blocked at ${node}`),
      );
    }

    function fillBox(box, keywords) {
      box.lines.forEach((line, at) => {
        const keyword = keywords[at];
        const words = keyword ? shortenWide(keyword.term, TERM_WIDTH) : at === 0 ? "empty" : "";
        setText(line, keyword && at === TOP_TERMS ? `+ ${keywords.length - TOP_TERMS} more` : words);
      });
      toggle(box.element, "cv-empty", !keywords.length);
    }

    function update(frame, i) {
      const { table, ranking } = frame;
      const { keywords } = frame.trace.candidates[i];
      const split = ns.model.shares(frame, i);
      const sides = { A: [], B: [] };
      keywords.forEach((keyword, j) => sides[ranking.inA[i * table.k + j] ? "A" : "B"].push(keyword));
      for (const side of ["A", "B"]) {
        const share = side === "A" ? split.a : split.b;
        fillBox(boxes[side], sides[side]);
        setText(boxes[side].share, `${percent(share)} of weight`);
        for (const key of Object.keys(edges)) {
          if (key.startsWith(`${side}>`)) setStyle(edges[key], "--cv-width", (THIN + (THICK - THIN) * share).toFixed(2));
        }
      }
      setText(meaning, !keywords.length
        ? "No keyword could be drawn from this document: A and B are both empty."
        : !split.countA
          ? "A is empty here: the document shares no keyword with the question, so nothing links it to the question’s wording and nothing is set aside."
          : !split.countB
            ? "B is empty here: every keyword is shared with the question, so nothing is left that could speak for the answer."
            : "Thickness of the arrows from A and B: their share of this document’s keyword weight.");
    }

    condition(1);
    return { element, update };
  };
  ns.graph.verdictOf = verdictOf;
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
