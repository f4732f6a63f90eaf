/* The Calibrate page's two views: documents to grade, and what the grades say. Data reaches the page as text alone.
 *
 *   CausalVizView.calibration(root, send) -> {show(message)}   // send({kind: "grade" | "rest" | "undo" | "go" | "next", ...})
 *   CausalVizView.verdict(root) -> {show(message)}
 *   CausalVizView.measures(rows) -> element                    // the table of methods, also of the Evaluate page
 */
(function (ns) {
  "use strict";
  const { h, setText, toggle, foreign, fixed, signed, count, shortenWide } = ns.dom;

  const GRADES = ["not relevant", "touches it", "relevant", "answers it"];
  const STATES = { open: "not begun", begun: "begun", done: "counts" };
  /** Latin letters shown before "show more". */
  const FIRST_LINES = 300;
  /** Milliseconds after which the next question is asked for once more: an answer can get lost on the way. */
  const PATIENCE = 8000;

  ns.calibration = function calibration(root, send) {
    const chips = h("ol.cal-chips", { "aria-label": "Questions" });
    const number = h("p.cal-number");
    const question = h("h3.cal-question", { dir: "auto", lang: "" });
    const documents = h("ol.cal-documents", { "aria-label": "Documents to grade, in no particular order" });
    const alert = h("p.cal-alert.cal-hidden", { role: "alert" });
    const spoken = h("p.cal-sr", { role: "status" });
    const undo = h("button.cal-tool", { type: "button" }, "Undo", h("kbd", null, "u"));
    const rest = h("button.cal-tool", { type: "button" }, "Rest: not relevant", h("kbd", null, "r"));
    const left = h("span.cal-left");
    const keys = h(
      "p.cal-keys", null, "Keys: ", ...GRADES.flatMap((words, grade) => [h("kbd", null, String(grade)), ` ${words}  `]),
      h("kbd", null, "j"), h("kbd", null, "k"), " or ", h("kbd", null, "↓"), h("kbd", null, "↑"), " move",
    );
    const intro = h("div.cal-intro");
    const body = h(
      "div.cal-body.cal-hidden", null, chips, number, question,
      h("div.cal-tools", null, left, rest, undo), keys, documents,
    );
    root.replaceChildren(h("section.cal", { "aria-label": "Grade documents" }, alert, intro, body, spoken));

    let card = null;
    let cards = [];
    let at = 0;
    /** All are graded and the next question is on its way: keys that come early must not grade anything. */
    let waiting = false;
    let again = 0;

    const missing = () => card.documents.filter((one) => one.grade === null).length;

    function wait() {
      waiting = true;
      clearTimeout(again);
      again = setTimeout(() => send({ kind: "next", question: card.id }), PATIENCE);
    }

    function show(message) {
      // Answers to earlier grades may still come in: only a card says that the question is done with.
      if (message.card || message.intro || message.error) {
        waiting = false;
        clearTimeout(again);
      }
      setText(alert, message.error || "");
      toggle(alert, "cal-hidden", !message.error);
      if (message.save) ns.exports.save(message.save.name, message.save.content, `${message.save.type};charset=utf-8`);
      if (message.intro) {
        intro.replaceChildren(h("p", null, message.intro));
        card = null;
      }
      if (message.card) load(message.card);
      if (message.list) list(message.list, message.undo);
      toggle(intro, "cal-hidden", card !== null);
      toggle(body, "cal-hidden", card === null);
    }

    function list(questions, canUndo) {
      chips.replaceChildren(...questions.map((one, i) => {
        const mark = { open: "", begun: "…", done: "✓" }[one.state];
        const chip = h("button.cal-chip", {
          type: "button", "data-state": one.state, "aria-current": card && one.id === card.id ? "true" : null,
          title: one.text, "aria-label": `Question ${i + 1}, ${STATES[one.state]}: ${one.text}`,
        }, `${i + 1}${mark}`);
        chip.addEventListener("click", () => send({ kind: "go", question: one.id }));
        return h("li", null, chip);
      }));
      undo.disabled = !canUndo;
      setText(number, `Question ${card ? card.number : 1} of ${questions.length}`);
      tell();
      if (card && !missing() && questions.every((one) => one.state === "done")) {
        setText(left, "All questions are graded. Propose or upload more, or keep the verdict.");
      }
    }

    function load(next) {
      const other = card === null || card.id !== next.id;
      card = next;
      setText(question, card.text);
      cards = card.documents.map(draw);
      documents.replaceChildren(...cards.map((one) => one.element));
      const open = card.documents.findIndex((one) => one.grade === null);
      move(open < 0 ? 0 : open, other);
      if (other) {
        documents.scrollTop = 0;
        setText(spoken, `Question ${card.number}: ${card.text}. ${count(card.documents.length, "document")} to grade.`);
      }
    }

    function draw(one, index) {
      const text = h("p.cal-text", { dir: "auto", lang: "" });
      const more = h("button.cal-more", { type: "button", "aria-expanded": "false" });
      const open = (whole) => {
        setText(text, whole ? one.text + (one.cut ? " …" : "") : shortenWide(one.text, FIRST_LINES));
        setText(more, whole ? "show less" : "show more");
        more.setAttribute("aria-expanded", String(whole));
      };
      more.addEventListener("click", () => open(more.getAttribute("aria-expanded") === "false"));
      toggle(more, "cal-hidden", shortenWide(one.text, FIRST_LINES) === one.text);
      open(false);
      const buttons = GRADES.map((words, grade) => {
        const button = h("button.cal-grade", { type: "button", "data-grade": grade }, h("b", null, String(grade)), ` ${words}`);
        button.addEventListener("click", () => give(index, grade));
        return button;
      });
      const group = h("div.cal-grades", { role: "group", "aria-label": `Grade of ${one.title}` }, ...buttons);
      const element = h("li.cal-document", { tabindex: "-1" }, foreign("h4", one.title), text, more, group);
      element.addEventListener("focusin", () => mark(index));
      const update = () => {
        buttons.forEach((button, grade) => button.setAttribute("aria-pressed", String(one.grade === grade)));
        toggle(element, "cal-graded", one.grade !== null);
      };
      update();
      return { element, update };
    }

    function give(index, grade) {
      if (waiting || !card || card.documents[index].grade === grade) return;
      const before = missing();
      card.documents[index].grade = grade;
      cards[index].update();
      if (before > 0 && missing() === 0) wait();
      send({ kind: "grade", question: card.id, document: card.documents[index].id, grade });
      tell();
      const next = card.documents.findIndex((one, i) => i > index && one.grade === null);
      const open = next < 0 ? card.documents.findIndex((one) => one.grade === null) : next;
      if (open >= 0) move(open, true);
    }

    function gradeRest() {
      if (waiting || !card || !missing()) return;
      for (const [i, one] of card.documents.entries()) {
        one.grade ??= 0;
        cards[i].update();
      }
      wait();
      send({ kind: "rest", question: card.id });
      tell();
    }

    function tell() {
      if (!card) return;
      const open = missing();
      setText(left, !card.documents.length ? "Nothing is similar enough to this question; go on to another one." : open ? `${open} of ${count(card.documents.length, "document")} to grade` : "This question counts.");
      rest.disabled = !open;
    }

    function mark(index) {
      at = index;
      cards.forEach((one, i) => toggle(one.element, "cal-at", i === index));
    }

    function move(index, focus) {
      if (index < 0 || index >= cards.length) return;
      mark(index);
      const { element } = cards[index];
      if (focus && visible()) element.focus({ preventScroll: true });
      // Only the list scrolls, never the page.
      const low = element.offsetTop - documents.offsetTop;
      const high = low + element.offsetHeight;
      if (low < documents.scrollTop) documents.scrollTop = low;
      else if (high > documents.scrollTop + documents.clientHeight) documents.scrollTop = high - documents.clientHeight;
    }

    const visible = () => root.offsetParent !== null;

    function key(event) {
      if (!root.isConnected) return document.removeEventListener("keydown", key);
      if (!card || !visible() || event.ctrlKey || event.metaKey || event.altKey) return undefined;
      if (event.target.closest("input, textarea, select, [contenteditable], [role=listbox], [role=tab]")) return undefined;
      if (/^[0-3]$/.test(event.key)) give(at, Number(event.key));
      else if (event.key === "j" || event.key === "ArrowDown") move(at + 1, true);
      else if (event.key === "k" || event.key === "ArrowUp") move(at - 1, true);
      else if (event.key === "u") takeBack();
      else if (event.key === "r") gradeRest();
      else return undefined;
      event.preventDefault();
      return undefined;
    }

    function takeBack() {
      if (!undo.disabled && !waiting) send({ kind: "undo" });
    }

    undo.addEventListener("click", takeBack);
    rest.addEventListener("click", gradeRest);
    document.addEventListener("keydown", key);
    return { show };
  };

  const COLUMNS = [
    ["Good documents first", "nDCG@10", "From 0 to 1: 1 if the best-graded documents fill the first ten places in the best order"],
    ["Relevant in the first 5", "P@5", "Share of the first five documents with a grade of 1 or more"],
    ["First relevant comes early", "MRR@10", "1 if the first document is relevant, 1/2 if the second is the first relevant one, and so on"],
  ];

  const COMPARED = "Mean difference of nDCG@10, and below it the range it has in 95 % of resamples of these questions; a range that holds 0 may be chance";

  ns.measures = function measures(rows) {
    const head = COLUMNS.map(([words, symbol, hint]) => h("th", { scope: "col", title: hint }, words, h("span.cal-symbol", null, symbol)));
    const interval = ([, low, high]) => `${signed(low, 2)} to ${signed(high, 2)}`;
    const compared = (difference) => {
      if (!difference) return [h("span.cal-soft", null, "–")];
      return [signed(difference[0], 3), h("span.cal-soft", null, interval(difference))];
    };
    const meaning = h("details.cal-meaning", null, h("summary", null, "What do these columns say?"), h(
      "dl", null, ...COLUMNS.flatMap(([words, symbol, hint]) => [h("dt", null, `${words} (${symbol})`), h("dd", null, `${hint}.`)]),
      h("dt", null, "Against similarity"), h("dd", null, `${COMPARED}.`)));
    return h(
      "div.cal-scroll", null,
      h(
        "table.cal-table", null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Ranked by"), ...head,
          h("th", { scope: "col", title: COMPARED },
            "Against similarity", h("span.cal-symbol", null, "Δ nDCG@10, 95 %")))),
        h("tbody", null, ...rows.map((row) => h(
          `tr${row.best ? ".cal-best" : ""}`, null,
          h("th", { scope: "row" }, row.name),
          ...row.values.map((value) => h("td", null, fixed(value, 3))),
          h("td", null, ...compared(row.difference)),
        ))),
      ),
      meaning,
    );
  };

  ns.verdict = function verdict(root) {
    const headline = h("h3.cal-headline");
    const sentence = h("p.cal-sentence");
    const more = h("p.cal-settle");
    const counted = h("p.cal-counted");
    const warnings = h("ul.cal-notes");
    const table = h("div");
    const kept = h("p.cal-kept", { dir: "auto" });
    const box = h("div.cal-verdict", { role: "status" }, headline, sentence, more, counted, warnings);
    root.replaceChildren(h("section.cal", { "aria-label": "Verdict" }, box, kept, table));

    function show(message) {
      const { verdict: found, rows, notes } = message;
      box.dataset.decision = found.decision;
      setText(headline, found.headline);
      setText(sentence, found.sentence);
      setText(more, found.more);
      setText(counted, message.counted);
      warnings.replaceChildren(...notes.map((note) => h("li", null, note)));
      setText(kept, message.kept);
      toggle(kept, "cal-hidden", !message.kept);
      table.replaceChildren(...(rows.length ? [ns.measures(rows)] : []));
    }

    return { show };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
