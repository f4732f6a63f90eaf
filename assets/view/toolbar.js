/* The slim row of tools beside the summary: keep a snapshot, download, copy a link; and the notice that answers.
 *
 * toolbar({save, download, share, graph}) -> {element, destroy()}; without share there is no link to copy; notice() -> {element, say(kind, words, ...nodes), clear()}.
 */
(function (ns) {
  "use strict";
  const { h, toggle } = ns.dom;

  const FADES_MS = 10_000;
  const DOWNLOADS = [
    ["Ranking", [["csv", "CSV, for a spreadsheet"], ["trec", "TREC run"], ["json", "JSON, the trace and this state"]]],
    ["How ranks change with tau", [["path.svg", "SVG"], ["path.png", "PNG"]]],
    ["Map of tau and alpha", [["map.svg", "SVG"], ["map.png", "PNG"]]],
    ["Causal graph", [["graph.svg", "SVG"], ["graph.png", "PNG"]]],
  ];

  ns.toolbar = function toolbar(hooks) {
    const tool = (words, title, act) => {
      const button = h("button.cv-tool", { type: "button", title }, words);
      button.addEventListener("click", act);
      return button;
    };
    const groups = DOWNLOADS.filter(([, items]) => hooks.graph || !items[0][0].startsWith("graph"));
    const menu = h(
      "details.cv-menu", null, h("summary.cv-tool", null, "Download"),
      h("div.cv-menu-list", null, ...groups.map(([name, items]) =>
        h("div.cv-menu-group", { role: "group", "aria-label": name }, h("span.cv-menu-name", null, name), ...items.map(([kind, words]) => {
          const button = tool(words, null, () => {
            close();
            hooks.download(kind);
          });
          button.dataset.kind = kind;
          return button;
        })))),
    );
    const close = () => {
      menu.open = false;
    };
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      close();
      menu.firstChild.focus();
    });
    menu.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !menu.contains(event.relatedTarget)) close();
    });
    // The list opens to the right, or as far left as the window asks for.
    menu.addEventListener("toggle", () => {
      const list = menu.lastChild;
      list.style.translate = "";
      const over = list.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
      if (menu.open && over > 0) list.style.translate = `${-over}px 0`;
    });
    const outside = (event) => {
      if (menu.open && !menu.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", outside);
    const element = h(
      "div.cv-tools", { role: "group", "aria-label": "Keep and share this result" },
      tool("Save snapshot", "Keep this state in the page, to compare it with others", hooks.save), menu,
      hooks.share ? tool("Copy link", "A link that restores this question and these settings", hooks.share) : null,
    );
    return { element, destroy: () => document.removeEventListener("pointerdown", outside) };
  };

  ns.notice = function notice() {
    const words = h("div.cv-notice-words", { role: "status" });
    const close = h("button.cv-tool", { type: "button", "aria-label": "Close this notice" }, "×");
    const element = h("div.cv-notice.cv-hidden", null, words, close);
    let fading = 0;
    function clear() {
      clearTimeout(fading);
      toggle(element, "cv-hidden", true);
      words.replaceChildren();
    }
    /** What was only said for confirmation goes by itself, unless someone is at it. */
    function fade() {
      if (element.matches(":hover, :focus-within")) fading = setTimeout(fade, FADES_MS);
      else clear();
    }
    close.addEventListener("click", clear);
    return {
      element, clear,
      say(kind, text, ...nodes) {
        element.dataset.kind = kind;
        clearTimeout(fading);
        if (kind === "note" && !nodes.some((node) => node.matches("input"))) fading = setTimeout(fade, FADES_MS);
        toggle(element, "cv-hidden", false);
        words.replaceChildren(h("span", null, text), ...nodes);
      },
    };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
