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
    B: { at: [437, 168], words: [0, 26], anchor: "middle" },
    q: { at: [76, 226], words: [16, 4], anchor: "start" },
    d: { at: [280, 208], words: [0, -17], anchor: "middle" },
    y: { at: [484, 214], words: [-16, 4], anchor: "end" },
  };
  const THIN = 1.5;
  const THICK = 7;
  /** The questions about q and B, in reading order: is q independent of B given these? */
  const CASES = [
    { given: [], when: "Before retrieval" },
    { given: ["d"], when: "Once d is retrieved (Observation 1)" },
    { given: ["A", "d"], when: "With A set aside too" },
  ];
  /** The two screening-off facts. */
  const SCREENS = [
    { pair: ["q", "d"], given: ["A"], words: "A screens q off from d" },
    { pair: ["d", "y"], given: ["A", "B"], words: "A and B screen d off from y" },
  ];
  const REMARK = "The graph explains why the rule looks at B; the score is not an estimated causal effect.";

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
      `g.cv-node.cv-node-${letter.toLowerCase()}`, { "data-node": letter },
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
      `g.cv-node.cv-node-${letter}`, { "data-node": letter },
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
    const meanings = Object.fromEntries(data.nodes.map(({ id, meaning }) => [id, meaning]));
    const order = data.nodes.map(({ id }) => id);
    const nodes = {
      A: boxes.A.element, B: boxes.B.element, q: circle("q", "the question"),
      d: circle("d", "retrieved document", "retrieval conditions on it"), y: circle("y", "ideal answer", "never observed"),
    };
    const bars = s("g.cv-bars");
    const svg = s(
      "svg.cv-dag", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group" },
      ...Object.values(edges), bars, ...Object.values(nodes),
    );
    const meaning = h("p.cv-graph-meaning");
    let asked = { pair: ["q", "B"], given: ["d"] };

    for (const [letter, node] of Object.entries(nodes)) {
      node.setAttribute("role", "button");
      node.setAttribute("tabindex", "0");
      node.append(s("title", null, `${meanings[letter]}. Click: hold it fixed or release it. Shift-click: ask about it.`));
      node.addEventListener("click", (event) => (event.shiftKey ? pairWith(letter) : turn(letter)));
      node.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (event.shiftKey) pairWith(letter);
        else turn(letter);
      });
    }

    const selects = [0, 1].map((at) => {
      const select = h("select.cv-select.cv-ask-node", { "aria-label": `${at ? "Second" : "First"} node of the question to the graph` },
        ...order.map((id) => h("option", { value: id }, id)));
      select.addEventListener("change", () => {
        const pair = asked.pair.slice();
        if (pair[1 - at] === select.value) pair[1 - at] = pair[at];
        pair[at] = select.value;
        ask(pair, asked.given);
      });
      return select;
    });
    const given = h("span.cv-ask-given");
    const question = h("p.cv-ask", null, "Are ", selects[0], " and ", selects[1], " linked, ", given);
    const answer = h("p.cv-answer", { role: "status" });
    const pathList = h("ul.cv-answer-paths");

    const group = h("div.cv-verdicts", { role: "radiogroup", "aria-label": "The paper’s questions on q and B" });
    const steps = CASES.map((one, at) => {
      const { independent } = verdictOf(data, "q", "B", one.given);
      const button = h(
        "button.cv-verdict", { type: "button", role: "radio", "data-independent": String(independent) },
        h("span.cv-verdict-when", null, one.when, h("span.cv-symbol", null, ` given ${listed(one.given)}`)),
        h("span.cv-verdict-words", null, `q and B are ${independent ? "independent" : "dependent"}`),
      );
      button.addEventListener("click", () => ask(["q", "B"], one.given));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = (at + step + CASES.length) % CASES.length;
        ask(["q", "B"], CASES[next].given);
        steps[next].button.focus();
      });
      group.append(button);
      return { button, given: one.given };
    });
    const remark = h("p.cv-remark", { tabindex: "-1" }, h("strong", null, "Remark 1. "), REMARK);
    const screens = SCREENS.map((one) => {
      const button = h("button.cv-verdict", { type: "button" },
        h("span.cv-verdict-when", null, one.words), h("span.cv-verdict-words", null, `${listed(one.pair, " and ")} given ${listed(one.given)}`));
      button.addEventListener("click", () => ask(one.pair, one.given));
      return { ...one, button };
    });
    const scope = h("button.cv-verdict", { type: "button" }, h("span.cv-verdict-when", null, "What it does not claim (Remark 1)"), h("span.cv-verdict-words"));
    scope.addEventListener("click", () => {
      remark.classList.add("cv-remark-shown");
      remark.scrollIntoView({ block: "nearest" });
      remark.focus({ preventScroll: true });
    });
    const element = h(
      "section.cv-panel.cv-graph-panel", { "aria-label": "Causal graph" },
      h("div.cv-set-head", null, h("h4.cv-set-title", null, "the causal graph behind the rule"),
        h("span.cv-set-note", null, "click a node to hold it fixed")), svg, meaning,
      h("div.cv-asking", null, question, answer, pathList), group,
      h("div.cv-verdicts", null, ...screens.map(({ button }) => button), scope), remark,
    );

    function listed(ids, between = ", ") {
      return order.filter((id) => ids.includes(id)).join(between) || "nothing";
    }

    /** Hold a node fixed, or release it; the two asked about are neither. */
    function turn(letter) {
      if (asked.pair.includes(letter)) {
        ask(asked.pair, asked.given);
        answer.append(` (${letter} is one of the two asked about; choose another pair to hold it fixed.)`);
        return;
      }
      ask(asked.pair, asked.given.includes(letter) ? asked.given.filter((id) => id !== letter) : [...asked.given, letter]);
    }

    function pairWith(letter) {
      if (!asked.pair.includes(letter)) ask([asked.pair[1], letter], asked.given);
    }

    /** Draw each path between two nodes as open or blocked, as networkx decided it. */
    function ask(pair, held) {
      asked = { pair, given: order.filter((id) => held.includes(id) && !pair.includes(id)) };
      const verdict = verdictOf(data, pair[0], pair[1], asked.given);
      const isCase = (one) => sameSet(one.pair || ["q", "B"], pair) && sameSet(one.given, asked.given);
      const current = steps.findIndex(isCase);
      steps.forEach(({ button }, i) => {
        button.setAttribute("aria-checked", String(i === current));
        button.tabIndex = i === Math.max(0, current) ? 0 : -1;
      });
      for (const one of screens) one.button.setAttribute("aria-pressed", String(isCase(one)));
      selects.forEach((select, at) => {
        select.value = pair[at];
      });
      for (const edge of Object.values(edges)) {
        edge.dataset.path = "none";
        edge.dataset.opened = "false";
      }
      bars.replaceChildren();
      const barred = new Set();
      for (const path of verdict.paths) {
        path.nodes.slice(1).forEach((node, i) => {
          const edge = edges[[`${path.nodes[i]}>${node}`, `${node}>${path.nodes[i]}`].find((name) => edges[name])];
          // An edge on several paths is open if one of them is.
          if (edge.dataset.path !== "open") edge.dataset.path = path.open ? "open" : "blocked";
          if (path.open && path.decided_by) edge.dataset.opened = "true";
        });
        if (!path.open && !barred.has(path.decided_by)) bars.append(bar(path.decided_by));
        barred.add(path.decided_by);
      }
      svg.dataset.given = asked.given.join(" ");
      for (const [letter, node] of Object.entries(nodes)) {
        const fixed = asked.given.includes(letter);
        node.classList.toggle("cv-given", fixed);
        node.classList.toggle("cv-asked-about", pair.includes(letter));
        setAttr(node, "aria-pressed", String(fixed));
        setAttr(node, "aria-disabled", pair.includes(letter) ? "true" : null);
        setAttr(node, "aria-label", `${letter}, ${meanings[letter]}${fixed ? ", held fixed" : pair.includes(letter) ? ", asked about" : ""}`);
      }
      const open = verdict.paths.filter((path) => path.open).length;
      const when = asked.given.length ? `once ${listed(asked.given, " and ")} ${asked.given.length > 1 ? "are" : "is"} held fixed` : "with nothing held fixed";
      given.textContent = `${when}?`;
      answer.replaceChildren(
        h("strong", null, verdict.independent ? "No. " : "Yes. "),
        verdict.independent ? `No path is open: ${pair.join(" and ")} are independent.`
          : `${open} of ${verdict.paths.length} ${verdict.paths.length === 1 ? "path" : "paths"} ${open === 1 ? "is" : "are"} open: ${pair.join(" and ")} are dependent.`);
      answer.dataset.independent = String(verdict.independent);
      // Read from the first of the two; what decides a path is the same from either end.
      const turned = verdict.x !== pair[0];
      pathList.replaceChildren(...verdict.paths.map((path) =>
        h("li.cv-verdict-path", { "data-open": String(path.open), "data-decided-by": path.decided_by },
          h("span.cv-path", null, pathWords(data, turned ? path.nodes.slice().reverse() : path.nodes)), " ", h("span.cv-path-why", null, path.why))));
      setAttr(svg, "aria-label", `Causal graph. ${question.firstChild.data}${pair.join(" and ")} linked, ${given.textContent} ${answer.textContent}`);
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
            ? "B is empty here: every keyword was set aside, so nothing is left that could speak for the answer."
            : "Thickness of the arrows from A and B: their share of this document’s keyword weight.");
    }

    ask(["q", "B"], ["d"]);
    return { element, svg, update };
  };
  ns.graph.verdictOf = verdictOf;
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
