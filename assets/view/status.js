/* What surrounds the ranking: the question with its keywords and figures, and the designed states without a result. */
(function (ns) {
  "use strict";
  const { h, setText, toggle, plain, count, shorten, isolate, foreign } = ns.dom;

  const CARDS_OF_THE_SKELETON = 7;
  const DEFAULTS = {
    idle: "Ask a question to see how its documents are ranked, and why.",
    loading: "Searching and reading keywords…",
    error: "Something went wrong. Please ask again.",
    empty: "No document passes the threshold.",
  };
  const TITLES = { idle: "Nothing asked yet", error: "This did not work", empty: "No document passes the threshold" };
  const HINTS = [
    ["1", "Similarity ranks", "Documents are ordered by how close they are to the question: repeating its words helps."],
    ["2", "Shared words are set aside", "Keywords that only echo the question (A) no longer count."],
    ["3", "The rest decides", "What a document says beyond them (B) is compared with the question, and the order changes."],
  ];

  /** The question, its keywords, and the figures of the search. */
  ns.summary = function summary() {
    const question = h("p.cv-question", { dir: "auto", lang: "" });
    const chips = h("ul.cv-chips", { "aria-label": "Keywords of the question" });
    const facts = h("ul.cv-facts", { "aria-label": "About this search" });
    const warnings = h("ul.cv-warnings", { role: "status" });
    const element = h(
      "header.cv-summary", null,
      h("div.cv-asked", null, h("span.cv-section", null, "question"), question),
      h("div.cv-asked", null, h("span.cv-section", null, "its keywords"), chips), facts, warnings,
    );

    function fact(words, title) {
      return h("li", { title }, ...[words].flat());
    }

    function load(trace) {
      const units = trace.unit === "chunk" ? ["passage"] : ["document"];
      setText(question, shorten(trace.query, 400));
      question.title = isolate(shorten(trace.query, 2000));
      const total = trace.query_keywords.reduce((sum, keyword) => sum + keyword.weight, 0);
      chips.replaceChildren(
        ...trace.query_keywords.map((keyword) =>
          h(
            "li.cv-chip",
            { title: `weight ${keyword.weight.toFixed(4)}, ${ns.dom.percent(keyword.weight / total)} of the question’s` },
            foreign("span", shorten(keyword.term, 80)),
          )),
        ...(trace.query_keywords.length ? [] : [h("li.cv-chip-none", null, "none: nothing can be set aside")]),
      );
      const stages = Object.entries(trace.seconds);
      const seconds = trace.seconds.total ?? stages.reduce((sum, [, value]) => sum + value, 0);
      facts.replaceChildren(
        fact(["knowledge base ", foreign("span", shorten(trace.knowledge_base, 40))], isolate(shorten(trace.knowledge_base, 200))),
        fact(`${count(trace.documents, ...units)} searched`, "Each was compared with the question"),
        fact(count(trace.candidates.length, "candidate"), `The ${trace.top_k} most similar at most`),
        fact(`similarity ≥ ${plain(trace.theta)} (θ)`, "Documents less similar to the question than this are not considered"),
        fact(`encoder ${shorten(trace.encoder, 60)}${trace.centred ? ", centred" : ""}`, "The model that turns texts and keywords into vectors"),
        fact(`${seconds < 0.1 ? seconds.toFixed(3) : seconds.toFixed(2)} s`, stages.map(([name, value]) => `${name} ${value.toFixed(3)} s`).join("\n")),
      );
      warnings.replaceChildren(...trace.warnings.map((warning) => h("li", { dir: "auto" }, shorten(warning, 400))));
      toggle(warnings, "cv-hidden", !trace.warnings.length);
    }

    return { element, load };
  };

  function skeleton() {
    const card = () => h("div.cv-bone");
    const column = () => h("div.cv-bones", null, ...Array.from({ length: CARDS_OF_THE_SKELETON }, card));
    return h("div.cv-skeleton", { "aria-hidden": "true" }, column(), column(), h("div.cv-bone.cv-bone-tall"));
  }

  /** The panel for idle, loading, error and empty; beside an earlier result it shrinks to a line above it. */
  ns.status = function status() {
    const title = h("h3.cv-status-title");
    const message = h("p.cv-status-message", { dir: "auto" });
    const extra = h("div.cv-status-extra");
    const element = h("section.cv-status", { role: "status", "aria-live": "polite" }, title, message, extra);

    function set(kind, text) {
      toggle(element, "cv-hidden", kind === null);
      element.dataset.kind = kind || "";
      if (kind === null) return;
      element.setAttribute("role", kind === "error" ? "alert" : "status");
      setText(title, TITLES[kind] || "");
      toggle(title, "cv-hidden", !TITLES[kind]);
      setText(message, shorten(text || DEFAULTS[kind], 600));
      if (kind === "loading") extra.replaceChildren(skeleton());
      else if (kind === "idle") {
        extra.replaceChildren(h("ol.cv-hints", null, ...HINTS.map(([number, name, words]) =>
          h("li", null, h("span.cv-hint-number", { "aria-hidden": "true" }, number), h("strong", null, name), h("span", null, words)))));
      } else extra.replaceChildren();
    }

    return { element, set };
  };

  /** Why a search came back with nothing. */
  ns.status.nothing = function nothing(trace) {
    if (!trace.documents) return "The knowledge base holds no document yet. Add files, then ask again.";
    const many = count(trace.documents, trace.unit === "chunk" ? "passage" : "document");
    return `None of the ${many} searched has a similarity of at least θ ${plain(trace.theta)} to the question. Lower θ, or ask in other words.`;
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
