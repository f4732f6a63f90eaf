/* The Evaluate page's view: what was measured, and every question with a button that opens it.
 *
 *   CausalVizView.evaluation(root, open) -> {show(message)}   // open(question id)
 */
(function (ns) {
  "use strict";
  const { h, toggle, foreign, fixed, signed } = ns.dom;

  const ORDERS = {
    "largest change": (a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before),
    "worst losses": (a, b) => a.after - a.before - (b.after - b.before),
    "best gains": (a, b) => b.after - b.before - (a.after - a.before),
  };
  /** Differences below this are equal on screen. */
  const SEEN = 0.0005;

  ns.evaluation = function evaluation(root, open) {
    const element = h("section.cal", { "aria-label": "Evaluation" });
    let order = Object.keys(ORDERS)[0];
    let shown = null;
    root.replaceChildren(element);

    function row(one) {
      const change = one.after - one.before;
      const button = h("button.cal-open", { type: "button", title: "Open this question on the Explore page" }, foreign("span", one.text));
      button.addEventListener("click", () => open(one.id));
      const bar = h("span.cal-bar", { "aria-hidden": "true" });
      bar.style.setProperty("--cal-size", `${(50 * Math.abs(change)).toFixed(1)}%`);
      toggle(bar, "cal-loss", change < -SEEN);
      const words = change > SEEN ? "better" : change < -SEEN ? "worse" : "same";
      return h(
        "tr", { "data-change": words },
        h("th", { scope: "row" }, button),
        h("td", null, fixed(one.before, 3)), h("td", null, fixed(one.after, 3)),
        h("td", null, signed(change, 3), h("span.cal-soft", null, words)), h("td.cal-bars", null, bar),
      );
    }

    function draw() {
      const picker = h("div.cal-orders", { role: "group", "aria-label": "Order of the questions" }, "Sorted by ", ...Object.keys(ORDERS).map((name) => {
        const button = h("button.cal-tool", { type: "button", "aria-pressed": String(name === order) }, name);
        button.addEventListener("click", () => {
          order = name;
          draw();
          element.querySelector(".cal-orders [aria-pressed=true]").focus();
        });
        return button;
      }));
      const questions = [...shown.questions].sort(ORDERS[order]);
      element.replaceChildren(
        h("p.cal-summary", { role: "status" }, shown.summary),
        ns.measures(shown.rows),
        h("p.cal-soft", null, [shown.note, shown.how].filter(Boolean).join(" ")),
        picker,
        h("div.cal-scroll.cal-tall", { tabindex: "0", role: "region", "aria-label": "Questions" }, h(
          "table.cal-table.cal-questions", null,
          h("thead", null, h("tr", null, h("th", { scope: "col" }, "Question (opens it in Explore)"),
            h("th", { scope: "col" }, "By similarity", h("span.cal-symbol", null, "nDCG@10")),
            h("th", { scope: "col" }, "Re-ranked", h("span.cal-symbol", null, shown.methodName)),
            h("th", { scope: "col" }, "Change"), h("th", { scope: "col", "aria-hidden": "true" }))),
          h("tbody", null, ...questions.map(row)),
        )),
      );
    }

    function show(message) {
      if (message.save) ns.exports.save(message.save.name, message.save.content, `${message.save.type};charset=utf-8`);
      if (message.empty) element.replaceChildren(h("p.cal-intro", null, message.empty));
      if (!message.questions) return;
      shown = message;
      draw();
    }

    return { show };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
