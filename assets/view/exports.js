/* Downloads: the ranking as CSV, the trace with its state as JSON, a TREC run, and the drawings as SVG and PNG.
 *
 * All is made in the page from the frame that is shown. Texts in, text out; only `save` touches the page.
 */
(function (ns) {
  "use strict";
  const { s, plain, shorten } = ns.dom;

  /** What a spreadsheet may take for the beginning of a formula (exports.py, which says why so). */
  const FORMULA = /^(?:'*[\t\r\n]|['\t-\r\x1c-\x20\x85\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*[=+\-@＝＋－＠])/;
  /** TREC scores are written in millionths. */
  const STEP = 1_000_000;
  const TAG = "causalviz";
  const QUERY_ID = "q1";
  const SCALE = 2;
  const CAPTION = { line: 18, first: 22, letter: 6.4 };
  const KEEP_MS = 60_000;
  const COPIED = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
    "font-family", "font-size", "font-style", "font-weight", "text-decoration-line", "shape-rendering", "white-space",
  ];

  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  /** A cell of text, safe in a spreadsheet. */
  const textCell = (text) => quoted(FORMULA.test(text) ? `'${text}` : text);

  /** A double with all its digits, written as Python writes it; nothing where there is none. */
  function numberCell(value) {
    if (!Number.isFinite(value)) return "";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
    return Number.isInteger(value) ? value.toFixed(1) : String(value);
  }

  /** The ranking as exports.csv_table writes it, with a mark that tells spreadsheets that it is UTF-8. */
  function csv(frame) {
    const { trace, table, ranking } = frame;
    const rows = ranking.order.map((i) => {
      const candidate = trace.candidates[i];
      const set = (wanted) => candidate.keywords.filter((_, j) => ranking.inA[i * table.k + j] === wanted).map(({ term }) => term).join(" ");
      return [
        ranking.rank[i], ranking.similarityRank[i], ranking.causalRank[i], ranking.hybridRank[i], textCell(candidate.id), textCell(candidate.title),
        numberCell(table.similarity[i]), numberCell(ranking.causal[i]), numberCell(ranking.hybrid[i]), ranking.emptyB[i] ? "yes" : "no",
        textCell(set(1)), textCell(set(0)), candidate.repeats, candidate.tokens, textCell(candidate.duplicate_of ?? ""),
        ranking.guardedRank[i], candidate.suspect ? "yes" : "no",
        numberCell(ranking.cross[i]), ns.model.crossed(trace) ? ranking.crossRank[i] : "",
      ].join(",");
    });
    const head = "rank,similarity_rank,causal_rank,hybrid_rank,id,title,similarity,causal,hybrid,empty_b,A,B,repeats,tokens,duplicate_of,guarded_rank,suspect,cross_encoder,cross_rank";
    return `\ufeff${[head, ...rows].join("\r\n")}\r\n`;
  }

  /** The versioned trace with the settings that are shown: `explain` and `report` then say what the page says. */
  function json(frame) {
    const { tau, alpha, method, mode, emptyB } = frame.state;
    return `${JSON.stringify({ ...frame.trace, settings: { tau, alpha, method, mode, empty_b: emptyB } }, null, 1)}\n`;
  }

  function roundHalfEven(value) {
    const down = Math.floor(value);
    const part = value - down;
    return part < 0.5 || (part === 0.5 && down % 2 === 0) ? down : down + 1;
  }

  /** A TREC run as exports.trec_run writes it: scores fall strictly, ids hold no white space. */
  function trec(frame) {
    const { trace, ranking } = frame;
    const safe = (id) => id.replace(/[\s%\u0000-\u001f\u007f-\u009f]/g, encodeURIComponent);
    let last = null;
    return ranking.order.map((i, at) => {
      const score = ranking.final[i];
      const highest = last === null ? Infinity : last - 1;
      const own = Number.isFinite(score) ? roundHalfEven(score * STEP) : last === null ? 0 : highest;
      last = Math.min(own, highest);
      return `${QUERY_ID} Q0 ${safe(trace.candidates[i].id)} ${at + 1} ${(last / STEP).toFixed(6)} ${TAG}-${frame.state.method}\n`;
    }).join("");
  }

  /** "color(srgb 0 0.5 1 / 0.2)" as every program reads it. */
  function colour(value) {
    const found = /^color\(srgb ([\d.e+-]+) ([\d.e+-]+) ([\d.e+-]+)(?: \/ ([\d.]+))?\)$/.exec(value);
    if (!found) return value;
    return `rgba(${found.slice(1, 4).map((part) => Math.round(255 * part)).join(", ")}, ${found[4] ?? 1})`;
  }

  /** A stand-alone copy of a drawing: styles written into it, on a ground, with a caption. */
  function standAlone(svg, caption) {
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const copy = svg.cloneNode(true);
    const live = [svg, ...svg.querySelectorAll("*")];
    const nodes = [copy, ...copy.querySelectorAll("*")];
    const gone = [];
    nodes.forEach((node, at) => {
      const style = getComputedStyle(live[at]);
      if (style.display === "none") gone.push(node);
      for (const name of ["class", "style", "tabindex", "role", "aria-label", "aria-valuenow", "aria-valuetext", "aria-selected", "aria-pressed"]) node.removeAttribute(name);
      if (node.tagName === "clipPath" || node.parentNode?.tagName === "clipPath") return;
      for (const name of COPIED) node.style.setProperty(name, colour(style.getPropertyValue(name)));
    });
    for (const node of gone) node.remove();
    const host = getComputedStyle(svg.closest(".causalviz"));
    const probe = getComputedStyle(document.body).backgroundColor;
    const ground = [host.backgroundColor, probe].find((value) => value && !/, 0\)$|transparent/.test(value)) || (host.colorScheme === "dark" ? "#14171c" : "#ffffff");
    const padding = 16;
    const box = [-padding, -padding, width + 2 * padding, height + 2 * padding + CAPTION.first + CAPTION.line];
    copy.prepend(s("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: ground }));
    caption.forEach((line, at) => copy.append(s("text", {
      x: 0, y: height + CAPTION.first + at * CAPTION.line, fill: host.color, style: `font: ${at ? 400 : 600} 12px ${host.fontFamily.replace(/"/g, "'")}`,
    }, shorten(line, Math.floor(width / CAPTION.letter)))));
    copy.setAttribute("viewBox", box.join(" "));
    copy.setAttribute("width", box[2]);
    copy.setAttribute("height", box[3]);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return { text: new XMLSerializer().serializeToString(copy), width: box[2], height: box[3] };
  }

  async function png(svg, caption) {
    const { text, width, height } = standAlone(svg, caption);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.ceil(width * SCALE), Math.ceil(height * SCALE)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done, fail) => {
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the drawing is too large"))), "image/png");
    });
  }

  /** What a drawing needs to be read on its own, in two lines. */
  function caption(what, { trace, state }, chosen) {
    const alpha = state.method === "hybrid" ? `, α ${plain(state.alpha)}` : "";
    const title = ns.model.titleOf(trace.candidates[chosen]);
    const head = { path: "Ranks over tau", map: "Rank at every tau and alpha", graph: "Causal graph" }[what];
    return [
      `${head}: ${shorten(title, 60)}`,
      `“${shorten(trace.query, 44)}” · by ${state.method}, τ ${plain(state.tau)}${alpha} · ${shorten(trace.encoder, 20)} · CausalViz`,
    ];
  }

  function save(name, content, type) {
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MS);
  }

  /** A file's name from the question. */
  function fileName(trace, what) {
    const words = trace.query.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+/, "").slice(0, 40).replace(/-+$/, "").toLowerCase();
    return `causalviz-${words || "question"}-${what}`;
  }

  ns.exports = { csv, json, trec, standAlone, png, caption, save, fileName };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
