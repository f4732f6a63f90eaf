/* The chosen document's text with its keywords marked: A and B differ in colour and in the style of their underline.
 *
 * text() -> {element, load(texts), choose(frame, index), update(frame, index)}. Offsets come from Python, so they count
 * code points; JavaScript strings count UTF-16 units.
 */
(function (ns) {
  "use strict";
  const { h, setText, toggle, count } = ns.dom;

  /** Turn ascending code point offsets into UTF-16 offsets; the identity unless the text has surrogates. */
  function unitOffsets(text) {
    if (!/[\ud800-\udbff]/.test(text)) return (offset) => Math.min(offset, text.length);
    const starts = [];
    let unit = 0;
    for (const character of text) {
      starts.push(unit);
      unit += character.length;
    }
    starts.push(unit);
    return (offset) => starts[Math.min(offset, starts.length - 1)];
  }

  /** Spans in reading order without overlaps; of two that overlap, the earlier or else the longer stays. */
  function disjoint(spans, keywords) {
    const sorted = spans
      .filter(([start, end, keyword]) => end > start && keyword >= 0 && keyword < keywords)
      .sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    let reached = 0;
    return sorted.filter(([start, end]) => {
      if (start < reached) return false;
      reached = end;
      return true;
    });
  }

  const lengthOf = (text) => (/[\ud800-\udbff]/.test(text) ? Array.from(text).length : text.length);

  ns.text = function text() {
    const body = h("div.cv-text", { dir: "auto", lang: "", tabindex: "0", role: "document", "aria-label": "Text of the chosen document" });
    const note = h("p.cv-text-note");
    const legend = h(
      "p.cv-text-legend", null,
      h("span.cv-mark.cv-in-a", null, "shared with the question (A)"), " ", h("span.cv-mark.cv-in-b", null, "the rest (B)"),
    );
    const element = h(
      "section.cv-panel.cv-text-panel", { "aria-label": "Text" },
      h("div.cv-set-head", null, h("h4.cv-set-title", null, "the document’s text"), legend), body, note,
    );
    let texts = null;
    let marks = [];
    let membership = [];

    function draw(frame, i) {
      const candidate = frame.trace.candidates[i];
      const found = texts && Object.hasOwn(texts, candidate.id) ? texts[candidate.id] : null;
      marks = candidate.keywords.map(() => []);
      membership = candidate.keywords.map(() => null);
      toggle(legend, "cv-hidden", !found);
      body.scrollTop = 0;
      if (!found) {
        body.replaceChildren();
        setText(note, texts ? "The text of this document is not part of this page." : "The text is on its way…");
        toggle(body, "cv-hidden", true);
        return;
      }
      toggle(body, "cv-hidden", false);
      const at = unitOffsets(found.text);
      const pieces = [];
      let cursor = 0;
      for (const [start, end, keyword] of disjoint(found.spans || [], candidate.keywords.length)) {
        const [from, to] = [at(start), at(end)];
        if (to <= from) continue;
        if (from > cursor) pieces.push(found.text.slice(cursor, from));
        const mark = h("mark.cv-mark", null, found.text.slice(from, to));
        marks[keyword].push(mark);
        pieces.push(mark);
        cursor = to;
      }
      pieces.push(found.text.slice(cursor));
      body.replaceChildren(...pieces);
      const shown = lengthOf(found.text);
      const cut = Number.isFinite(found.characters) && found.characters > shown;
      setText(note, found.text ? cut
        ? `Shown: the first ${shown.toLocaleString("en")} of ${count(found.characters, "character")}.` : ""
        : "The document has no text.");
    }

    function update(frame, i) {
      const { table, ranking } = frame;
      for (let j = 0; j < marks.length; j++) {
        const inA = ranking.inA[i * table.k + j] === 1;
        if (membership[j] === inA) continue;
        membership[j] = inA;
        for (const mark of marks[j]) mark.className = inA ? "cv-mark cv-in-a" : "cv-mark cv-in-b";
      }
    }

    return {
      element,
      load(given) {
        texts = given;
      },
      choose: draw,
      update,
    };
  };
  ns.text.disjoint = disjoint;
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
