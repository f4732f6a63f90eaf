/* The Answer page's view: two prompts, the answers as they grow, and what each sentence rests on.
 *
 *   CausalVizView.answers(root) -> {show(message)}
 *
 * What models and documents say reaches the page as text alone.
 */
(function (ns) {
  "use strict";
  const { h, setText, toggle, foreign, count } = ns.dom;

  const INTRO =
    "Ask a question above, or one on Explore first. Its first documents become numbered sources of two prompts: one column " +
    "by similarity, one re-ranked.";
  const STATES = {
    waiting: "waiting for the first word …", translating: "translating …", writing: "writing …", done: "", stopped: "stopped",
    cut: "cut off at the most tokens a reply may have", failed: "",
  };
  const RUNNING = new Set(["waiting", "translating", "writing"]);
  const KINDS = [
    ["cited", "supported by the source it cites"], ["uncited", "in a source, but not cited"],
    ["elsewhere", "in another source than the one cited"], ["unsupported", "in no source"],
  ];

  ns.answers = function answers(root) {
    const alert = h("p.cal-alert.cal-hidden", { role: "alert" });
    const intro = h("p.cal-intro", null, INTRO);
    const about = h("p.ans-about.cal-hidden", { dir: "auto" });
    const note = h("p.ans-note.cal-hidden");
    const same = h("p.ans-note.cal-hidden");
    const legend = h(
      "ul.ans-legend.cal-hidden", { "aria-label": "How sentences are marked" },
      ...KINDS.map(([kind, words]) => h("li", null, h("span.ans-sentence", { "data-kind": kind }, "sentence"), ` ${words}`)),
    );
    const progress = h("p.ans-progress.cal-hidden");
    const spoken = h("p.cal-sr", { role: "status" });
    const columns = [column(0), column(1)];
    const grid = h("div.ans-grid.cal-hidden", null, ...columns.map((one) => one.element));
    const element = h("section.cal.ans", { "aria-label": "Answers" }, alert, progress, intro, about, note, same, legend, grid, spoken);
    root.replaceChildren(element);
    root.addEventListener("asked", () => {
      setText(alert, "");
      toggle(alert, "cal-hidden", true);
      toggle(grid, "ans-old", true);
      report("Looking for documents …");
    });
    // A request that was turned away brings no message; Gradio's notice says why.
    root.addEventListener("failed", () => show({ error: "No answer came: the notice says why. Ask again." }));

    function report(words) {
      setText(progress, words);
      toggle(progress, "cal-hidden", !words);
      setText(spoken, words);
    }

    function show(message) {
      report(message.progress || "");
      setText(alert, message.error || "");
      toggle(alert, "cal-hidden", !message.error);
      if (!message.columns) return;
      const answered = message.columns.some((one) => one.parts.length);
      toggle(grid, "ans-old", false);
      toggle(intro, "cal-hidden", true);
      toggle(grid, "cal-hidden", false);
      about.replaceChildren(foreign("span", message.question), h("span.cal-soft", null, " from ", foreign("span", message.knowledgeBase)));
      setText(same, message.same ? "Both rankings chose the same sources: the prompts are equal, and so are the answers." : "");
      toggle(same, "cal-hidden", !message.same);
      toggle(about, "cal-hidden", false);
      setText(note, message.note);
      toggle(note, "cal-hidden", !message.note);
      toggle(legend, "cal-hidden", !answered);
      message.columns.forEach((one, index) => columns[index].update(one, Boolean(message.note)));
      const running = message.columns.some((one) => RUNNING.has(one.state));
      setText(spoken, running ? "Answers are being written." : message.note ? "Two prompts are ready." : "Answers are finished.");
    }

    return { show };
  };

  function column(index) {
    const name = h("h3.ans-name");
    const state = h("p.ans-state");
    const answer = h("div.ans-answer", { dir: "auto", lang: "" });
    const counted = h("p.ans-counted");
    const sources = h("ol.ans-sources", { "aria-label": "Sources" });
    const left = h("p.cal-soft");
    const prompt = h("textarea.ans-prompt", { readonly: true, rows: 12, "aria-label": "The prompt, word for word", spellcheck: "false", dir: "auto" });
    const copy = h("button.cal-tool", { type: "button" }, "Copy the prompt");
    const size = h("span.cal-soft");
    const whole = h("details.ans-whole", null, h("summary", null, "The prompt, word for word"), prompt);
    const element = h(
      "section.ans-column", null,
      name, state, answer, counted, h("h4.ans-heading", null, "Sources"), sources, left, h("div.ans-tools", null, copy, size), whole,
    );
    let drawnSources = "";
    let drawnParts = "";
    let opened = false;

    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(prompt.value);
        setText(copy, "Copied");
      } catch {
        whole.open = true;
        prompt.select();
        setText(copy, "Selected: press Ctrl+C");
      }
      setTimeout(() => setText(copy, "Copy the prompt"), 2500);
    });

    function update(one, promptsOnly) {
      name.replaceChildren(one.name, one.method ? h("span.cal-soft", null, ` ${one.method}`) : "");
      element.setAttribute("aria-label", `${one.name} ${one.method}`);
      element.setAttribute("aria-busy", String(RUNNING.has(one.state)));
      element.dataset.state = one.state;
      setText(state, promptsOnly ? "" : one.said || STATES[one.state]);
      toggle(state, "cal-alert", one.state === "failed");
      setText(counted, one.checked ? `${one.supported} of ${count(one.checked, "sentence")} found in the sources` : "");
      const parts = JSON.stringify(one.parts);
      if (parts !== drawnParts) {
        drawnParts = parts;
        answer.replaceChildren(...one.parts.map(drawPart));
      }
      toggle(answer, "cal-hidden", promptsOnly);
      const found = JSON.stringify(one.sources);
      if (found !== drawnSources) {
        drawnSources = found;
        sources.replaceChildren(...one.sources.map(drawSource));
      }
      setText(left, one.leftOut ? `${count(one.leftOut, "further passage")} did not fit into the prompt.` : "");
      if (prompt.value !== one.prompt) prompt.value = one.prompt;
      setText(size, `${count(one.tokens, "token")}`);
      if (promptsOnly && !opened) whole.open = opened = true;
    }

    const idOf = (number) => `ans-${index}-${number}`;

    function drawPart(part) {
      if (!part.kind) return part.text;
      const sentence = h("span.ans-sentence", { "data-kind": part.kind, title: part.why });
      const why = part.kind === "nothing" ? null : h("span.cal-sr", null, ` (${part.why}) `);
      const links = (part.kind === "cited" ? [] : part.sources).map((number) => {
        const link = h("button.ans-link", { type: "button", title: part.why, "aria-label": `Source ${number}: ${part.why}` }, `→ ${number}`);
        link.addEventListener("click", () => reveal(number));
        return link;
      });
      const mark = part.kind === "unsupported" ? h("span.ans-doubt", { "aria-hidden": "true" }, "?") : null;
      sentence.append(...withCitations(part), ...[mark, why].filter(Boolean));
      return h("span", null, sentence, ...links);
    }

    /** Citations become buttons where there is such a source; the rest stays text. */
    function withCitations(part) {
      return part.text.split(/(\[\d+(?:\s*[,，、]\s*\d+)*\]|【\d+】)/).flatMap((piece, at) => {
        if (at % 2 === 0) return [piece];
        return h("span.ans-cites", null, ...piece.split(/(\d+)/).map((bit, place) => {
          if (place % 2 === 0 || !sources.ownerDocument.getElementById(idOf(bit))) return bit;
          const link = h("button.ans-cite", { type: "button", title: part.why, "aria-label": `Source ${bit}` }, bit);
          link.addEventListener("click", () => reveal(bit));
          return link;
        }));
      });
    }

    function reveal(number) {
      const item = sources.ownerDocument.getElementById(idOf(number));
      if (!item) return;
      item.querySelector("details").open = true;
      item.scrollIntoView({ block: "nearest" });
      item.focus({ preventScroll: true });
    }

    function drawSource(source) {
      const badges = [
        source.only ? h("span.ans-badge", { title: "The other ranking did not choose it" }, "only here") : null,
        source.original ? h("span.ans-badge", null, "translated") : null,
        source.cut ? h("span.ans-badge", { title: "The rest did not fit into the prompt" }, "beginning only") : null,
      ];
      const texts = source.original
        ? h("div.ans-pair", null,
          h("div", null, h("h5", null, "as translated for the prompt"), foreign("p", source.text)),
          h("div", null, h("h5", null, "original"), foreign("p", source.original)))
        : foreign("p", source.text);
      return h(
        "li.ans-source", { id: idOf(source.number), tabindex: "-1" },
        h("details", null, h("summary", null, h("b", null, `[${source.number}] `), foreign("span", source.title), ...badges), h("p.cal-soft", { dir: "auto" }, source.document), texts),
      );
    }

    return { element, update };
  }
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
