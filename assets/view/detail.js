/* The chosen document: why it stands where it stands, its keywords in A and B, and the arithmetic.
 *
 * detail() -> {element, choose(frame, index), update(frame, index), rest(frame, index)}. Rows are built per document, then only
 * updated; what a keyword would do on the other side is worked out at rest.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";
  const { h, setText, setAttr, setStyle, toggle, fixed, plain, signed, percent, shorten, isolate, foreign } = ns.dom;

  const TERM_SHOWN = 80;
  /** Keywords of a document that a trace keeps (keywords.py). */
  const COMPARED = 15;
  const DENSEST = "Of a long text, its densest passage is counted";

  function head() {
    const title = h("h3.cv-doc-title", { dir: "auto", lang: "" });
    const id = h("span.cv-doc-id", { dir: "auto" });
    const path = h("p.cv-doc-path");
    const cross = h("p.cv-head-note");
    const remarks = h("ul.cv-remarks");
    const why = h("p.cv-why");
    let told = "";

    function choose(frame, i) {
      const { trace } = frame;
      const candidate = trace.candidates[i];
      const name = ns.model.titleOf(candidate);
      setText(title, shorten(name, 400));
      setAttr(title, "title", isolate(shorten(name, 2000)));
      setText(id, shorten(candidate.id, 160));
      toggle(id, "cv-hidden", candidate.id === name);
      told = "";
    }

    function remarksOf(frame, i) {
      const candidate = frame.trace.candidates[i];
      const { words, usual } = ns.model.repetition(candidate, frame.trace);
      const verdict = ns.model.verdict(candidate, frame.trace);
      const warning = ns.model.warning(candidate, frame.trace);
      const twin = ns.model.twinOf(frame.trace, candidate);
      // Under the guard the sentence below gives the reason.
      const short = verdict.suspect && frame.state.method === "guarded" ? "suspected of stuffing" : warning;
      const list = warning ? [["warn", `⚠ ${short}`]] : [];
      if (verdict.words && !warning) list.push(["", verdict.words]);
      if (verdict.words || !warning) list.push(["", verdict.suspect ? words : words + usual, candidate.repeats ? DENSEST : null]);
      const empty = ns.model.emptiness(frame, i);
      if (empty) list.push(["warn", `⚠ ${empty}`]);
      if (twin !== null) list.push(["", `${twin.words} ${isolate(shorten(twin.name, 120))}`]);
      return list;
    }

    function crossEncoder({ trace, ranking }, i) {
      if (!ns.model.crossed(trace)) return "cross-encoder: not computed";
      return `cross-encoder: rank ${ranking.crossRank[i]}, score ${fixed(ranking.cross[i], 4, "none")} (${shorten(trace.reranker, 60)})`;
    }

    function update(frame, i) {
      const { ranking } = frame;
      const move = ranking.similarityRank[i] - ranking.rank[i];
      const arrow = move ? ` (${move > 0 ? "▲" : "▼"}${Math.abs(move)})` : "";
      setText(path, `rank ${ranking.similarityRank[i]} by similarity → rank ${ranking.rank[i]} re-ranked${arrow}`);
      setText(cross, crossEncoder(frame, i));
      const list = remarksOf(frame, i);
      const parts = ns.why.parts(frame, i);
      const text = `${JSON.stringify(list)}${JSON.stringify(parts)}`;
      if (text === told) return;
      told = text;
      remarks.replaceChildren(...list.map(([kind, words, title]) => h(kind ? `li.cv-remark-${kind}` : "li", { title }, words)));
      why.replaceChildren(
        ...parts.map((part) =>
          part.term === undefined ? part.text : foreign(`span.cv-term.cv-term-${part.set.toLowerCase()}`, shorten(part.term, TERM_SHOWN))),
      );
    }

    return { element: h("div.cv-doc-head", null, h("span.cv-section", null, "chosen document"), title, id, path, cross, remarks, why), choose, update };
  }

  /** One keyword's row; it moves between A and B as a whole. */
  function keywordRow(keyword, total, heaviest) {
    const share = keyword.weight / total;
    const term = foreign("span.cv-kw-term", shorten(keyword.term, TERM_SHOWN), { title: isolate(shorten(keyword.term, 500)) });
    const weight = h("span.cv-bar.cv-bar-weight", null, h("span.cv-bar-fill"));
    weight.firstChild.style.width = `${((100 * keyword.weight) / heaviest).toFixed(2)}%`;
    const shareText = h("span.cv-num", null, percent(share));
    const bar = h("span.cv-bar-fill");
    const axis = h("span.cv-bar.cv-bar-signed", { "aria-hidden": "true" }, bar);
    const value = h("span.cv-num");
    const near = h("span.cv-near");
    if (keyword.match === null) near.append("no question keyword");
    else {
      near.append(
        foreign("span.cv-near-term", shorten(keyword.match, TERM_SHOWN)),
        h("span.cv-num", null, keyword.exact ? "exact match" : fixed(keyword.cosine, 3)),
      );
      near.title = keyword.exact
        ? "It is itself one of the question’s keywords: absorbed at any threshold"
        : `Nearest of the question’s keywords: ${isolate(shorten(keyword.match, 200))}, cosine ${fixed(keyword.cosine)}`;
    }
    const contribution = h("span.cv-contribution", null, axis, value);
    const sharing = h("span.cv-share", { title: "Share of the document’s total keyword weight" }, weight, shareText);
    const moved = h("span.cv-moved");
    const element = h("li.cv-kw", null, term, sharing, contribution, near, moved);
    return { element, near, bar, axis, value, contribution, moved, share, inA: null };
  }

  function keywordSet(letter, heading) {
    const note = h("span.cv-set-note");
    const list = h("ul.cv-kws");
    const none = h("p.cv-set-none");
    const columns = h(
      "div.cv-kw-head", { "aria-hidden": "true" },
      h("span", null, "keyword"), h("span", null, "share of weight"),
      letter === "B" ? h("span", null, "adds to the score") : null, h("span", null, letter === "A" ? "absorbed by" : "closest to"),
      h("span.cv-moved", { title: letter === "A" ? "Its rank if this one keyword were not set aside" : "Its rank if this one keyword were set aside" },
        letter === "A" ? "with it" : "without"),
    );
    const element = h(
      `div.cv-set.cv-set-${letter.toLowerCase()}`, { role: "group", "aria-label": `${heading} (${letter})` },
      h("div.cv-set-head", null, h("h4.cv-set-title", null, heading, h("span.cv-set-letter", null, letter)), note), columns, list, none,
    );
    return { element, note, list, none, columns };
  }

  function keywords() {
    const a = keywordSet("A", "shared with the question");
    const b = keywordSet("B", "the rest");
    const sum = h("p.cv-sum");
    b.element.append(sum);
    let rows = [];

    function choose(frame, i) {
      const { total } = ns.model.shares(frame, i);
      const { keywords: given } = frame.trace.candidates[i];
      const heaviest = given.reduce((most, keyword) => Math.max(most, keyword.weight), 0);
      rows = given.map((keyword) => keywordRow(keyword, total, heaviest));
      a.list.replaceChildren();
      b.list.replaceChildren();
    }

    /** Walk both lists in step with the rows, by weight; only a row that crosses is moved in the page. */
    function place(element, cursors, side) {
      const other = side === "a" ? "b" : "a";
      if (cursors[other] === element) cursors[other] = element.nextElementSibling;
      if (cursors[side] === element) cursors[side] = element.nextElementSibling;
      else (side === "a" ? a : b).list.insertBefore(element, cursors[side]);
    }

    /** The document's rank and score with each keyword on the other side. */
    function rest(frame, i) {
      const { table, ranking, state } = frame;
      const outcomes = ns.path.otherSides(table, ranking, state, i);
      const now = ranking.rank[i];
      rows.forEach(({ moved }, j) => {
        const { inA, causal, rank } = outcomes[j];
        const move = now - rank;
        setText(moved, move ? `${rank} ${move > 0 ? "▲" : "▼"}${Math.abs(move)}` : `${rank} =`);
        setAttr(moved, "data-way", move > 0 ? "up" : move < 0 ? "down" : "same");
        setAttr(moved, "title", `${inA ? "Counted" : "Set aside"} instead: causal score ${fixed(causal, 4, "none")} (now ${fixed(scoreOf(frame, i), 4, "none")}), rank ${rank} (now ${now})`);
      });
      toggle(element, "cv-moved-old", false);
    }

    function update(frame, i) {
      const { table, ranking, state } = frame;
      toggle(element, "cv-moved-old", true);
      const parts = CausalVizRerank.contributions(table, ranking, i);
      const split = ns.model.shares(frame, i);
      let most = 0;
      let least = 0;
      for (const part of parts) {
        most = Math.max(most, part);
        least = Math.min(least, part);
      }
      const width = most - least || 1;
      const cursors = { a: a.list.firstElementChild, b: b.list.firstElementChild };
      rows.forEach((row, j) => {
        const inA = ranking.inA[i * table.k + j] === 1;
        place(row.element, cursors, inA ? "a" : "b");
        if (row.inA !== inA) {
          row.inA = inA;
          toggle(row.contribution, "cv-hidden", inA);
        }
        if (inA) return;
        setText(row.value, signed(parts[j]));
        setStyle(row.bar, "left", `${((100 * (Math.min(0, parts[j]) - least)) / width).toFixed(2)}%`);
        setStyle(row.bar, "width", `${((100 * Math.abs(parts[j])) / width).toFixed(2)}%`);
        setStyle(row.axis, "--cv-zero", `${((-100 * least) / width).toFixed(2)}%`);
        toggle(row.bar, "cv-negative", parts[j] < 0);
      });
      setText(a.note, split.countA ? `${percent(split.a)} of its keyword weight, set aside` : "");
      setText(b.note, split.countB ? `${percent(split.b)} of its keyword weight, makes the causal score` : "no causal score");
      setText(a.none, split.countA ? "" : state.mode === "exact"
        ? "Nothing: it holds none of the question’s own keywords." : "Nothing: no keyword is that close to one of the question’s.");
      setText(b.none, split.countB ? "" : rows.length
        ? "Nothing: every keyword it has was set aside." : "Nothing: no keyword could be drawn from its text.");
      toggle(a.columns, "cv-hidden", !split.countA);
      toggle(b.columns, "cv-hidden", !split.countB);
      setText(sum, split.countB ? `sum of what they add = causal score ${fixed(scoreOf(frame, i))}` : "");
    }

    const compared = h("p.cv-compared", null, `Only a document’s ${COMPARED} heaviest keywords are compared.`);
    const element = h("div.cv-sets", null, a.element, b.element, compared);
    return { element, choose, update, rest };
  }

  /** The causal score itself; none where B is empty, whatever stands in for it in the ranking. */
  const scoreOf = (frame, i) => (frame.ranking.emptyB[i] ? NaN : frame.ranking.causal[i]);

  function arithmetic() {
    const rows = ["similarity", "causal"].map((name) => {
      const cells = ["raw", "range", "normalised", "weight", "weighted"].map((cell) => h(`td.cv-num.cv-cell-${cell}`));
      const label = name === "similarity" ? "similarity" : "causal score";
      const symbol = name === "similarity" ? "s_sim" : "s_c";
      return { cells, name, element: h("tr", null, h("th", { scope: "row" }, label, h("span.cv-symbol", null, ` ${symbol}`)), ...cells) };
    });
    const total = h("td.cv-num.cv-cell-final");
    const totalLabel = h("th", { scope: "row", colspan: 5 });
    const notes = h("ul.cv-notes");
    const range = h("th", { scope: "col" });
    const table = h(
      "table.cv-table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, h("span.cv-sr", null, "score")), h("th", { scope: "col" }, "raw"), range,
        h("th", { scope: "col" }, "stretched"), h("th", { scope: "col" }, "× weight"), h("th", { scope: "col" }, "= part"))),
      h("tbody", null, ...rows.map((row) => row.element)),
      h("tfoot", null, h("tr", null, totalLabel, total)),
    );
    let told = null;

    function update(frame, i) {
      const { ranking: r, state } = frame;
      const hybrid = state.method === "hybrid";
      const values = {
        similarity: [frame.table.similarity[i], r.ranges.similarity, r.normalisedSimilarity[i], state.alpha],
        causal: [r.causal[i], r.ranges.causal, r.normalisedCausal[i], 1 - state.alpha],
      };
      const notesNow = [];
      for (const { cells, name } of rows) {
        const [raw, [low, high], stretched, weight] = values[name];
        setText(cells[0], fixed(raw, 4, "none"));
        setText(cells[1], `${fixed(low)} … ${fixed(high)}`);
        setText(cells[2], hybrid ? fixed(stretched, 4, "none") : "–");
        setText(cells[3], hybrid ? `× ${plain(weight)}` : "–");
        setText(cells[4], hybrid ? fixed(weight * stretched, 4, "none") : "–");
        const label = name === "similarity" ? "similarities" : "causal scores";
        if (hybrid && high === low && frame.table.n > 1) notesNow.push(`All ${label} are equal, so they count as 0.`);
        else if (hybrid && high > low && high - low < ns.model.NARROW_RANGE) {
          notesNow.push(`All ${label} lie within ${gap(high - low)}: stretching that gap to the full 0..1 makes small differences look large.`);
        }
      }
      const [from, causalRank] = [r.similarityRank[i], r.causalRank[i]];
      const demoted = frame.table.suspect[i] === 1 && causalRank > from;
      const last = state.method === "guarded" ? demoted : state.method === "causal" || hybrid;
      if (r.emptyB[i]) {
        notesNow.push(state.emptyB === "fallback"
          ? "It has no keyword of its own, so its similarity stands in for the causal score."
          : `It has no keyword of its own, so there is no causal score${last ? ": it goes last" : ""}.`);
      }
      if (state.method === "guarded") {
        notesNow.push(demoted
          ? `It is suspected, and its causal rank (${causalRank}) is lower than its rank by similarity (${from}): it goes just below the document that is number ${causalRank} by similarity.`
          : frame.table.suspect[i] ? `It is suspected, but its causal rank (${causalRank}) is no lower than its rank by similarity (${from}).`
            : "It is not suspected, so its similarity stands.");
      }
      setText(range, `lowest … highest of ${frame.table.n}`);
      setText(totalLabel, {
        hybrid: "final = sum of both parts", causal: "final = causal score", similarity: "final = similarity", "cross-encoder": "final = the cross-encoder’s score",
        guarded: demoted ? `final = just below the similarity of number ${causalRank}` : "final = similarity",
      }[state.method]);
      setText(total, fixed(r.final[i], 4, "none, last"));
      const key = notesNow.join("\n");
      if (key !== told) {
        told = key;
        notes.replaceChildren(...notesNow.map((note) => h("li", null, note)));
      }
    }

    const formula = h(
      "details.cv-formula", null, h("summary", null, "The formula"),
      h("p", null, "A = keywords whose cosine to one of the question’s keywords is at least τ (and those that are the same word); B = the other keywords"),
      h("p.cv-math", null, "v_B = Σ λ(t) E(t) / Σ λ(t), summed over B       s_c = cos(E(q), v_B)"),
      h("p.cv-math", null, "final = α n(s_sim) + (1 − α) n(s_c)       n(x) = (x − lowest) / (highest − lowest)"),
      h("p.cv-math", null, "guarded: final = s_sim; for a suspected document whose causal rank r is lower, just below the s_sim of number r"),
      h("p", null, "E is the encoder, λ a keyword’s weight (how often it occurs here, less if it occurs in many documents). A keyword adds λ(t) E(q)·E(t) / |Σ λ E| to the causal score."),
    );
    const title = h("h4.cv-set-title", null, "the arithmetic");
    return { element: h("div.cv-arithmetic", null, title, h("div.cv-table-box", null, table), notes, formula), update };
  }

  /** A small gap with two significant digits, never as 0. */
  function gap(value) {
    return value >= 0.001 ? value.toFixed(4) : value.toPrecision(2);
  }

  ns.detail = function detail() {
    const top = head();
    const sets = keywords();
    const fall = ns.waterfall();
    const sums = arithmetic();
    return {
      element: h("section.cv-detail", { "aria-label": "Chosen document" }, top.element, sets.element, fall.element, sums.element),
      anchors: { keywords: sets.element, arithmetic: sums.element, why: top.element },
      choose(frame, i) {
        top.choose(frame, i);
        sets.choose(frame, i);
        fall.choose(frame, i);
      },
      update(frame, i) {
        top.update(frame, i);
        sets.update(frame, i);
        fall.update(frame, i);
        sums.update(frame, i);
      },
      rest: sets.rest,
    };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
