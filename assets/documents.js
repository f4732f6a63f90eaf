/* The Documents page: the knowledge bases there are, what was read of each file, and its text. Data reaches the page as text alone.
 *
 *   CausalVizView.documents(root, { send, run, uploadTo, shown }) -> { reply(message), told(message), refresh() }
 *
 * `send(step)` asks the app for something it answers at once (reply); `run(step)` begins what takes long, which tells how far
 * it is (told); `uploadTo` is the address that takes files; `shown()` is asked whether the page is in sight.
 */
(function (ns) {
  "use strict";
  const { h, setText, toggle, foreign, count, isolate } = ns.dom;

  const ROWS = 100;
  /** Milliseconds after which an answer counts as lost. */
  const PATIENCE = 30000;
  /** Milliseconds between two looks for what others changed. */
  const LOOK = 10000;
  /** Pieces of a text that stay drawn. */
  const KEPT = 8;
  const SEARCH_REST = 350;
  /** What one request brings to the app at most. */
  const FILES_AT_ONCE = 200;
  const BYTES_AT_ONCE = 100e6;
  const REFUSED = {
    413: "they are more than the app takes at once; add them in several goes",
    429: "more came within a minute than the app takes; wait a minute, then try again",
  };
  const EXPORT_TYPE = "application/vnd.sqlite3";

  const WHO = {
    own: "Only you see these files; they go when this page is closed.",
    saved: "Everybody who uses this app can ask it, change it and delete it.",
    sample: "It comes with the app and cannot be changed; a copy of it can.",
    given: "It was named when the app was started and cannot be changed here; a copy of it can.",
  };
  const KINDS = { own: "private", saved: "shared", sample: "the sample", given: "read only" };

  const COLUMNS = [
    ["file", "File"], ["status", "Status"], ["pages", "Pages"], ["characters", "Characters"], ["chunks", "Chunks"],
    ["language", "Language"], ["encoding", "Encoding"], ["reader", "Reader"], ["seconds", "Time"], ["size", "Size"],
  ];
  const NUMBERS = new Set(["pages", "characters", "chunks", "seconds", "size"]);
  const KINDS_OF_FILES = [
    ["all", "All", () => true],
    ["read", "Read", (row) => row.status === "read"],
    ["refused", "Refused", (row) => row.status === "refused"],
    ["copies", "Duplicates", (row) => Boolean(row.duplicate_of || row.near_duplicate_of)],
    ["warned", "With warnings", (row) => row.warnings.length > 0],
  ];

  function bytes(number) {
    if (!number) return "";
    if (number < 1000) return `${number} B`;
    if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e4 ? 1 : 0)} kB`;
    if (number < 1e9) return `${(number / 1e6).toFixed(number < 1e7 ? 1 : 0)} MB`;
    return `${(number / 1e9).toFixed(1)} GB`;
  }

  function time(seconds) {
    if (!seconds) return "";
    return seconds < 0.01 ? "< 0.01 s" : `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
  }

  function moment(seconds) {
    return new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  }

  function remarks(row) {
    const said = [];
    if (row.reason) said.push(row.reason);
    if (row.duplicate_of) said.push(`the same text as ${isolate(row.duplicate_of)}`);
    if (row.near_duplicate_of) said.push(`nearly the same words as ${isolate(row.near_duplicate_of)}`);
    return [...said, ...row.warnings].join("; ");
  }

  function tool(words, action, attributes) {
    const button = h("button.cal-tool", { type: "button", ...attributes }, words);
    button.addEventListener("click", action);
    return button;
  }

  /** One question after the other, each with its answer: an answer that is overtaken by the next would be lost. */
  function asker(send) {
    let number = 0;
    let line = Promise.resolve();
    const waiting = new Map();
    function ask(step) {
      const asked = line.then(() => new Promise((resolve, reject) => {
        const mine = ++number;
        const late = setTimeout(() => {
          waiting.delete(mine);
          reject(new Error("The app does not answer; check that it still runs, then reload this page."));
        }, PATIENCE);
        waiting.set(mine, (message) => {
          clearTimeout(late);
          waiting.delete(mine);
          if (message.error) reject(new Error(message.error));
          else resolve(message);
        });
        send({ ...step, number: mine });
      }));
      line = asked.catch(() => null);
      return asked;
    }
    return { ask, reply: (message) => waiting.get(message.reply)?.(message) };
  }

  /** Files and folders that were dropped, as [{file, name}] with the path inside what was dropped. */
  async function dropped(items) {
    const found = [];
    async function walk(entry, path) {
      if (entry.isFile) {
        found.push({ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), name: path + entry.name });
        return;
      }
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) return;
        for (const one of some) await walk(one, `${path}${entry.name}/`);
      }
    }
    // The list is emptied as soon as the event is over: all entries are taken first.
    const entries = [...items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() || item.getAsFile());
    for (const entry of entries) {
      if (entry instanceof File) found.push({ file: entry, name: entry.name });
      else if (entry) await walk(entry, "");
    }
    return found;
  }

  /** Hidden files, and what systems and office programs leave behind, are nobody's documents. */
  function wanted(name) {
    return name.split("/").every((part) => part && !part.startsWith(".") && !part.startsWith("~$") && part !== "__MACOSX" && part !== "Thumbs.db");
  }

  function secret() {
    return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Bring files to the app in one request; gives their places there, and can be broken off. */
  function carry(address, files, progress) {
    const request = new XMLHttpRequest();
    const places = new Promise((resolve, reject) => {
      const form = new FormData();
      // Each under a name of its own: nobody else's file is ever in its place.
      for (const file of files) form.append("files", file, secret());
      request.open("POST", address);
      request.responseType = "json";
      request.upload.addEventListener("progress", (event) => progress(event.loaded));
      request.addEventListener("load", () => {
        if (request.status === 200 && Array.isArray(request.response)) resolve(request.response);
        else reject(new Error(`The files could not be brought in: ${REFUSED[request.status] || "the app refused them; reload the page, then try again"}.`));
      });
      request.addEventListener("error", () => reject(new Error("The files could not be brought in: the app does not answer; check that it still runs, then try again.")));
      request.addEventListener("abort", () => resolve(null));
      request.send(form);
    });
    return { places, stop: () => request.abort() };
  }

  /** Files in groups, each small enough for one request. */
  function grouped(files) {
    const groups = [];
    let sum = Infinity;
    for (const one of files) {
      const group = groups.at(-1);
      if (!group || group.length >= FILES_AT_ONCE || sum + one.file.size > BYTES_AT_ONCE) {
        groups.push([one]);
        sum = one.file.size;
      } else {
        group.push(one);
        sum += one.file.size;
      }
    }
    return groups;
  }

  /** The text of one file, fetched and drawn in pieces. */
  function reader(ask, close, failed) {
    const back = tool("← All files", () => close());
    const title = foreign("h4.doc-title", "");
    const facts = h("p.doc-facts", { dir: "auto" });
    const page = h("select.doc-page", { "aria-label": "Go to a page" });
    const search = h("input.doc-input", { type: "search", placeholder: "Find in this text", "aria-label": "Find in this text" });
    const found = h("span.doc-found", { role: "status" });
    const before = tool("‹", () => step(-1), { "aria-label": "The place found before" });
    const after = tool("›", () => step(1), { "aria-label": "The next place found" });
    const text = h("div.doc-text", { tabindex: "0", dir: "auto", lang: "", role: "document", "aria-label": "The text as it was indexed" });
    const element = h(
      "div.doc-reader.cal-hidden", null, h("div.doc-bar", null, back, title), facts,
      h("div.doc-bar", null, page, search, before, after, found), text,
    );
    let file = null;
    let hits = [];
    let at = -1;
    let pieces = [];
    let drawn = [];
    let rest = 0;
    let generation = 0;

    const watching = new IntersectionObserver((seen) => {
      for (const one of seen) if (one.isIntersecting) load(Number(one.target.dataset.piece)).catch(failed);
    }, { root: text, rootMargin: "1500px 0px" });

    function place(part) {
      return (part.places || []).map((i) => h("span.doc-place", {
        role: "separator", "data-label": file.places[i].label, "aria-label": file.places[i].label, "data-place": i,
      }));
    }

    function draw(part) {
      const marks = place(part);
      if (part.chunk) marks.push(h("span.doc-chunk", { role: "separator", "data-label": `chunk ${part.chunk}`, "aria-label": `chunk ${part.chunk} begins` }));
      return [...marks, part.hit === undefined ? part.text : h("mark.doc-hit", { "data-hit": part.hit }, part.text)];
    }

    /** A piece once it is drawn; it is fetched when it is not. */
    function load(number) {
      const piece = pieces[number];
      if (!piece) return Promise.resolve(null);
      const mine = generation;
      piece.coming ??= ask({ kind: "piece", piece: number }).then((message) => {
        if (mine !== generation || pieces[number] !== piece) return piece.element;
        piece.element.replaceChildren(...message.piece.parts.flatMap(draw));
        piece.element.style.removeProperty("height");
        drawn = [...drawn.filter((one) => one !== number), number];
        mark();
        forget(number);
        return piece.element;
      }, (error) => {
        piece.coming = null;
        throw error;
      });
      return piece.coming;
    }

    /** Pieces far from the last one drawn make room, at the height they had. */
    function forget(near) {
      if (drawn.length <= KEPT) return;
      const far = drawn.reduce((most, one) => (Math.abs(one - near) > Math.abs(most - near) ? one : most), near);
      const piece = pieces[far];
      piece.element.style.height = `${piece.element.offsetHeight}px`;
      piece.element.replaceChildren();
      piece.coming = null;
      drawn = drawn.filter((one) => one !== far);
    }

    function lay() {
      generation += 1;
      watching.disconnect();
      drawn = [];
      pieces = Array.from({ length: file.pieces }, (_, i) => ({ element: h("div.doc-piece", { "data-piece": i }), coming: null }));
      const usual = Math.round((file.characters / file.pieces / 75) * 22);
      for (const piece of pieces) piece.element.style.height = `${Math.max(22, usual)}px`;
      text.replaceChildren(...pieces.map((piece) => piece.element));
      for (const piece of pieces) watching.observe(piece.element);
    }

    async function go(piece, selector) {
      const element = await load(piece);
      const target = element?.querySelector(selector) || element;
      if (!target) return;
      text.scrollTop += target.getBoundingClientRect().top - text.getBoundingClientRect().top - 60;
      // What is above may have been drawn meanwhile at another height.
      requestAnimationFrame(() => {
        text.scrollTop += target.getBoundingClientRect().top - text.getBoundingClientRect().top - 60;
      });
    }

    function mark() {
      for (const one of text.querySelectorAll(".doc-hit")) toggle(one, "doc-hit-at", Number(one.dataset.hit) === at);
    }

    function tell() {
      const many = `${hits.length.toLocaleString("en")}${file?.more ? "+" : ""}`;
      setText(found, search.value.trim() ? (hits.length ? `${at + 1} of ${many}` : "not in this text") : "");
      before.disabled = after.disabled = !hits.length;
    }

    function step(by) {
      if (!hits.length) return;
      at = (at + by + hits.length) % hits.length;
      tell();
      go(hits[at], `[data-hit="${at}"]`).then(mark, failed);
    }

    async function look() {
      const opened = file;
      const message = await ask({ kind: "find", words: search.value });
      if (file !== opened) return;
      hits = message.hits.pieces;
      file.more = message.hits.more;
      at = -1;
      const top = text.scrollTop;
      lay();
      if (hits.length) step(1);
      else text.scrollTop = top;
      tell();
    }

    search.addEventListener("input", () => {
      clearTimeout(rest);
      rest = setTimeout(() => look().catch(failed), SEARCH_REST);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    });
    page.addEventListener("change", () => {
      const index = Number(page.value);
      if (index >= 0) go(file.places[index].piece, `[data-place="${index}"]`).catch(failed);
    });
    element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !search.value) close();
    });

    function open(opened) {
      file = opened;
      hits = [];
      at = -1;
      search.value = "";
      setText(title, file.id);
      const known = [
        file.title && file.title !== file.id ? isolate(file.title) : "", count(file.characters, "character"), count(file.chunks, "chunk"),
        file.places.length ? `${file.places.length.toLocaleString("en")} of ${count(file.pages ?? file.places.length, "page")} with text` : "",
        file.reader, file.encoding || "", ...file.warnings,
      ];
      setText(facts, known.filter(Boolean).join(" · "));
      page.replaceChildren(
        h("option", { value: "-1" }, "Go to …"), ...file.places.map((one, i) => h("option", { value: i }, one.label)));
      toggle(page, "cal-hidden", !file.places.length);
      text.scrollTop = 0;
      lay();
      tell();
      toggle(element, "cal-hidden", false);
      text.focus({ preventScroll: true });
    }

    function shut() {
      generation += 1;
      watching.disconnect();
      file = null;
      pieces = [];
      text.replaceChildren();
      toggle(element, "cal-hidden", true);
    }

    return { element, open, shut, isOpen: () => file !== null };
  }

  /** The table of files: filtered, sorted, a hundred at a time. */
  function table(open, chosen) {
    const filter = h("input.doc-input", { type: "search", placeholder: "Filter by name or remark", "aria-label": "Filter the files" });
    const kinds = h("div.doc-kinds", { role: "group", "aria-label": "Which files" });
    const shown = h("span.doc-found", { role: "status" });
    const body = h("tbody");
    const every = h("input", { type: "checkbox", "aria-label": "Choose all files that are shown" });
    const heads = COLUMNS.map(([key, words]) => {
      const button = h("button.doc-sort", { type: "button" }, words);
      button.addEventListener("click", () => sort(key));
      return h("th", { scope: "col", "data-column": key }, button);
    });
    const earlier = tool("‹ Before", () => turn(-1));
    const later = tool("Next ›", () => turn(1));
    const where = h("span.doc-found", { role: "status" });
    const pager = h("div.doc-bar.doc-pager", null, earlier, where, later);
    const all = h("table.doc-table", null, h("thead", null, h("tr", null, h("th.doc-check", { scope: "col" }, every), ...heads)), body);
    const element = h("div.doc-files", null, h("div.doc-bar", null, filter, kinds, shown), h("div.doc-scroll", null, all), pager);
    const picked = new Set();
    let rows = [];
    let kept = [];
    let first = 0;
    let kind = "all";
    let column = "status";
    let down = false;
    let changeable = false;

    function sort(key) {
      down = column === key ? !down : NUMBERS.has(key);
      column = key;
      arrange();
    }

    function turn(by) {
      first += by * ROWS;
      draw();
      element.querySelector(".doc-scroll").scrollTop = 0;
    }

    function value(row) {
      if (column === "status") return row.status === "refused" ? 0 : 1;
      return row[column] ?? (NUMBERS.has(column) ? -1 : "");
    }

    const order = new Intl.Collator("en", { numeric: true });

    function arrange() {
      const words = filter.value.trim().toLocaleLowerCase();
      const test = KINDS_OF_FILES.find(([name]) => name === kind)[2];
      kept = rows.filter((row) => test(row) && (!words || row.searched.includes(words)));
      const sign = down ? -1 : 1;
      kept.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        const compared = typeof x === "number" && typeof y === "number" ? x - y : order.compare(String(x), String(y));
        return sign * compared || order.compare(a.file, b.file);
      });
      first = 0;
      heads.forEach((head) => {
        const on = head.dataset.column === column;
        if (on) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      for (const button of kinds.children) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
      draw();
    }

    function draw() {
      first = Math.max(0, Math.min(first, kept.length - 1 - ((kept.length - 1) % ROWS)));
      const some = kept.slice(first, first + ROWS);
      body.replaceChildren(...some.flatMap(line));
      if (!some.length) {
        body.replaceChildren(h("tr", null, h("td.doc-none", { colspan: COLUMNS.length + 1 }, rows.length ? "No file is like that." : "There are no files in here yet.")));
      }
      setText(where, `${(first + 1).toLocaleString("en")}–${Math.min(first + ROWS, kept.length).toLocaleString("en")} of ${kept.length.toLocaleString("en")}`);
      toggle(pager, "cal-hidden", kept.length <= ROWS);
      earlier.disabled = first === 0;
      later.disabled = first + ROWS >= kept.length;
      setText(shown, kept.length === rows.length ? "" : `${kept.length.toLocaleString("en")} of ${count(rows.length, "file")}`);
      tick();
    }

    function line(row) {
      const box = h("input", { type: "checkbox", "aria-label": `Choose ${isolate(row.file)}` });
      box.checked = picked.has(row.file);
      box.addEventListener("change", () => {
        if (box.checked) picked.add(row.file);
        else picked.delete(row.file);
        tick();
      });
      const refused = row.status === "refused";
      const said = remarks(row);
      const number = (key) => (row[key] ? row[key].toLocaleString("en") : "");
      const element = h(
        "tr", { tabindex: "0", "data-status": row.status, "aria-label": `${isolate(row.file)}, ${row.status}. ${refused ? row.reason : "Enter opens its text."}` },
        h("td.doc-check", null, box),
        h("td.doc-name", { dir: "auto", lang: "" }, row.file),
        h("td", null, h("span.doc-status", null, refused ? "refused" : "read")),
        h("td", null, number("pages")), h("td", null, number("characters")), h("td", null, number("chunks")),
        h("td", null, row.language || ""), h("td", null, row.encoding || ""), h("td", null, row.reader || ""),
        h("td", null, time(row.seconds)), h("td", null, bytes(row.size)),
      );
      if (!refused) {
        element.addEventListener("click", (event) => {
          if (event.target !== box && !String(getSelection()) && !event.target.classList.contains("doc-check")) open(row.file);
        });
      }
      element.addEventListener("keydown", (event) => {
        if (event.target !== element) return;
        if (event.key === "Enter" && !refused) open(row.file);
        else if (event.key === " ") box.click();
        else if (event.key === "ArrowDown") near(element, 1)?.focus();
        else if (event.key === "ArrowUp") near(element, -1)?.focus();
        else return;
        event.preventDefault();
      });
      if (!said) return [element];
      element.classList.add("doc-noted");
      const note = h("tr.doc-note", { "data-status": row.status }, h("td.doc-check"), h("td", { colspan: COLUMNS.length }, h("span.doc-remarks", { dir: "auto" }, said)));
      note.addEventListener("click", () => element.click());
      return [element, note];
    }

    function near(row, by) {
      const lines = [...body.querySelectorAll("tr[tabindex]")];
      return lines[lines.indexOf(row) + by];
    }

    function tick() {
      const here = kept.filter((row) => picked.has(row.file)).length;
      every.checked = here > 0 && here === kept.length;
      every.indeterminate = here > 0 && here < kept.length;
      chosen([...picked]);
    }

    every.addEventListener("change", () => {
      for (const row of kept) {
        if (every.checked) picked.add(row.file);
        else picked.delete(row.file);
      }
      draw();
    });
    filter.addEventListener("input", arrange);

    function show(files, mayChange, other) {
      rows = files;
      changeable = mayChange;
      for (const row of rows) row.searched = `${row.file} ${remarks(row)} ${row.language || ""}`.toLocaleLowerCase();
      const there = new Set(rows.map((row) => row.file));
      for (const one of [...picked]) if (other || !there.has(one)) picked.delete(one);
      if (other) {
        filter.value = "";
        kind = "all";
        column = "status";
        down = false;
      }
      kinds.replaceChildren(...KINDS_OF_FILES.map(([name, words, test]) => {
        const many = rows.filter(test).length;
        const button = tool(`${words} ${many.toLocaleString("en")}`, () => {
          kind = name;
          arrange();
        }, { "data-kind": name });
        toggle(button, "cal-hidden", name !== "all" && !many);
        return button;
      }));
      if (!rows.some(KINDS_OF_FILES.find(([name]) => name === kind)[2])) kind = "all";
      toggle(all, "doc-fixed", !changeable);
      const page = first;
      arrange();
      if (!other) {
        first = page;
        draw();
      }
    }

    function focus(file) {
      const index = kept.findIndex((row) => row.file === file);
      body.querySelectorAll("tr[tabindex]")[index - first]?.focus();
    }

    return { element, show, focus };
  }

  ns.documents = function documents(root, { send, run, uploadTo, shown }) {
    const { ask, reply } = asker(send);
    const cards = h("ul.doc-cards", { "aria-label": "Knowledge bases" });
    const trash = h("ul.doc-trash");
    const trashed = h("details.doc-trashed", null, h("summary", null, "Deleted"), trash);
    const name = h("h3.doc-base", { dir: "auto", lang: "" });
    const counted = h("p.doc-counted");
    const who = h("p.doc-who");
    const problem = h("p.cal-alert.cal-hidden", { role: "alert" });
    const tools = h("div.doc-bar.doc-tools");
    const form = h("form.doc-form.cal-hidden");
    const said = h("p.doc-said", { role: "status" });
    const alert = h("p.cal-alert.cal-hidden", { role: "alert" });
    const undo = tool("Undo", () => undone());
    const many = h("input", { type: "file", multiple: true, "aria-label": "Choose files to add" });
    const folder = h("input", { type: "file", multiple: true, webkitdirectory: true, "aria-label": "Choose a folder to add" });
    const whole = h("input", { type: "file", accept: ".kb", "aria-label": "Choose an exported knowledge base" });
    const zone = h(
      "div.doc-zone", null, h("p", null, h("b", null, "Drop files, folders or .zip archives here"), " to add them, or"),
      tool("Choose files", () => many.click()), tool("Choose a folder", () => folder.click()), h("p.doc-limits"),
    );
    const bar = h("progress.doc-progress", { max: 1, "aria-label": "How far it is" });
    const doing = h("p.doc-doing", { dir: "auto", role: "status" });
    const cancel = tool("Cancel", () => stop());
    const busy = h("div.doc-run-bar.cal-hidden", null, bar, doing, cancel);
    const foldered = h("div.doc-folder.cal-hidden");
    const history = h("ul.doc-history");
    const changes = h("details.doc-changes", null, h("summary", null, "What changed"), history);
    const remove = tool("Remove the chosen files", () => removal());
    const saves = h("div.doc-bar", null, remove,
      tool("Report as CSV", () => save("csv")), tool("Report as JSON", () => save("json")));
    const files = table(open, (picked) => {
      chosen = picked;
      setText(remove, picked.length ? `Remove ${count(picked.length, "file")}` : "Remove the chosen files");
      remove.disabled = !picked.length;
    });
    const text = reader(ask, close, fail);
    const list = h("div.doc-list", null, zone, foldered, files.element, saves, changes);
    for (const input of [many, folder, whole]) input.hidden = true;
    root.replaceChildren(h(
      "section.cal.docs", { "aria-label": "Documents" },
      h(
        "div.doc-body", null,
        h(
          "aside.doc-shelf", { "aria-label": "Knowledge bases" },
          h("div.doc-bar", null, h("h3.doc-heading", null, "Knowledge bases")), cards,
          h("div.doc-bar", null,
            tool("New …", () => naming("Name of the new, empty knowledge base", "", "Create", (wanted) => act({ kind: "create", name: wanted }, (made) => `“${made}” is there; add files to it.`))),
            tool("Import …", () => whole.click())),
          trashed,
        ),
        h("div.doc-main", null, h("div.doc-head", null, h("div", null, name, counted, who), tools), problem, form, h("div.doc-bar", null, said, undo), alert, busy, list, text.element),
      ),
      many, folder, whole,
    ));
    toggle(undo, "cal-hidden", true);

    let base = null;
    let limits = { file: Infinity, upload: Infinity };
    let chosen = [];
    let opened = null;
    let cancelled = false;
    let running = null;
    let halt = null;
    let shows = 0;
    let brought = "";
    let last = "";
    let drawn = "";
    let turning = null;

    function fail(error) {
      setText(alert, error.message);
      toggle(alert, "cal-hidden", false);
    }

    function say(words, deleted = "") {
      setText(said, words);
      brought = deleted;
      toggle(undo, "cal-hidden", !deleted);
      toggle(alert, "cal-hidden", true);
    }

    /** Do something at once, and show what became of it. */
    async function act(step, words, deleted) {
      try {
        const message = await ask(step);
        await show(message.chosen);
        say(words(message.made), deleted ? message.made : "");
      } catch (error) {
        fail(error);
      }
    }

    function ended() {
      toggle(form, "cal-hidden", true);
      form.replaceChildren();
    }

    /** Ask for a name in place. */
    function naming(label, value, words, then) {
      const input = h("input.doc-input", { type: "text", maxlength: 64, value, "aria-label": label, placeholder: label, autocomplete: "off" });
      form.replaceChildren(h("label", null, h("span", null, label), input), h("button.cal-tool", { type: "submit" }, words), tool("Cancel", ended));
      form.onsubmit = (event) => {
        event.preventDefault();
        ended();
        then(input.value);
      };
      toggle(form, "cal-hidden", false);
      input.focus();
      input.select();
    }

    function confirming(question, words, then) {
      const yes = h("button.cal-tool.doc-danger", { type: "submit" }, words);
      form.replaceChildren(h("span", { dir: "auto" }, question), yes, tool("Cancel", ended));
      form.onsubmit = (event) => {
        event.preventDefault();
        ended();
        then();
      };
      toggle(form, "cal-hidden", false);
      yes.focus();
    }

    function card(one) {
      const button = h(
        "button.doc-card", { type: "button", "aria-current": base && base.name === one.name ? "true" : null, "data-kind": one.kind },
        foreign("b", one.name), h("span.doc-kind", null, KINDS[one.kind]),
        h("span.doc-soft", null, [count(one.documents, "document"), one.refused ? `${one.refused.toLocaleString("en")} refused` : ""].filter(Boolean).join(" · ")),
        h("span.doc-soft", null, [bytes(one.size), one.encoder].filter(Boolean).join(" · ")),
        one.changed ? h("span.doc-soft", null, `changed ${moment(one.changed)}`) : null,
        one.problem ? h("span.doc-problem", null, one.problem) : null,
      );
      button.addEventListener("click", () => {
        say("");
        ended();
        show(one.name).catch(fail);
      });
      return h("li", null, button);
    }

    function listed(message) {
      limits = message.limits;
      setText(zone.querySelector(".doc-limits"), `Up to ${bytes(limits.file)} a file and ${bytes(limits.upload)} at once. A file of the same name is replaced. ${message.formats}`);
      const now = JSON.stringify([message.bases, base && base.name]);
      // A card drawn anew in the middle of a click would lose it.
      if (now !== drawn) cards.replaceChildren(...message.bases.map(card));
      drawn = now;
      trash.replaceChildren(...message.deleted.map((one) => h(
        "li", null, foreign("b", one.name), h("span.doc-soft", null, ` deleted ${moment(one.deleted)}, ${bytes(one.size)} `),
        tool("Undo", () => act({ kind: "restore", id: one.id }, (made) => `“${made}” is back.`), { "aria-label": `Bring ${isolate(one.name)} back` }),
      )));
      setText(trashed.querySelector("summary"), `Deleted (${message.deleted.length})`);
      toggle(trashed, "cal-hidden", !message.deleted.length);
      last = JSON.stringify([message.bases, message.deleted]);
    }

    /** Show a knowledge base. */
    function show(wantedName) {
      const turned = turn(wantedName);
      turning = turned.catch(() => null);
      return turned;
    }

    async function turn(wantedName) {
      const mine = ++shows;
      const message = await ask({ kind: "show", name: wantedName });
      if (mine !== shows) return; // another one was asked for meanwhile
      const other = !base || base.name !== message.base.name;
      base = message.base;
      listed(message);
      if (other || (opened && !base.files.some((row) => row.file === opened && row.status === "read"))) shut();
      setText(name, base.name);
      setText(counted, base.files.length ? `${count(base.files.length, "file")}: ${base.counted}` : "Nothing is in here yet.");
      setText(who, WHO[base.kind]);
      setText(problem, base.problem);
      toggle(problem, "cal-hidden", !base.problem);
      const called = base.name;
      const own = base.kind === "own";
      const changeable = own || base.kind === "saved";
      const present = own ? base.files.length > 0 : true;
      tools.replaceChildren(...[
        base.documents && !base.problem ? tool("Ask it", () => ask({ kind: "ask", name: base.name }).catch(fail), { title: "Choose it on the Explore page" }) : null,
        own && present ? tool("Keep for later …", () => naming("Name under which everybody can choose it", "", "Keep", (wanted) => act({ kind: "keep", name: wanted }, (made) => `Kept as “${made}”: everybody who uses this app can choose it now.`))) : null,
        base.kind === "saved" ? tool("Rename …", () => naming("New name", base.name, "Rename", (wanted) => act({ kind: "rename", name: base.name, wanted }, (made) => `It is called “${made}” now.`))) : null,
        own ? null : tool("Copy …", () => naming("Name of the copy", `${base.name} copy`, "Copy", (wanted) => act({ kind: "copy", name: base.name, wanted }, (made) => `“${made}” is a copy of it; it can be changed.`))),
        changeable && base.files.length ? tool("Rebuild", () => begin({ kind: "rebuild", name: base.name }, "Encoding anew"), { title: "Encode all texts anew, with the encoder of this app" }) : null,
        present ? tool("Export", () => exported().catch(fail), { title: "Download it as one file, which can be imported elsewhere" }) : null,
        base.kind === "saved" ? tool("Delete", () => act({ kind: "delete", name: called }, () => `“${called}” is deleted; it can be brought back for 30 days.`, true), { class: "cal-tool doc-danger" }) : null,
      ].filter(Boolean));
      toggle(zone, "cal-hidden", !changeable || base.foreign);
      toggle(remove, "cal-hidden", !changeable || base.foreign);
      toggle(saves, "cal-hidden", !base.files.length);
      toggle(files.element, "cal-hidden", !base.files.length);
      files.show(base.files, changeable, other);
      told(base.history);
      const hasFolder = base.kind === "saved" && base.folder && !base.foreign;
      toggle(foldered, "cal-hidden", !hasFolder);
      if (hasFolder) {
        foldered.replaceChildren(
          h("span", { dir: "auto" }, `Made from the folder ${isolate(base.folder)}.`),
          tool("Look what differs now", () => compare().catch(fail)));
      }
    }

    async function compare() {
      const { pending } = await ask({ kind: "pending", name: base.name });
      const parts = [["added", "new"], ["replaced", "changed"], ["removed", "gone"], ["refused", "not to be opened"]]
        .filter(([key]) => pending[key].length)
        .map(([key, words]) => `${pending[key].length.toLocaleString("en")} ${words} (${pending[key].slice(0, 5).map(isolate).join(", ")}${pending[key].length > 5 ? ", …" : ""})`);
      foldered.replaceChildren(
        h("span", { dir: "auto" }, parts.length ? `In the folder ${isolate(base.folder)} now: ${parts.join("; ")}.` : `Nothing differs in the folder ${isolate(base.folder)}.`),
        ...(parts.length ? [tool("Update", () => begin({ kind: "update", name: base.name }, "Updating"))] : []));
    }

    function told(runs) {
      history.replaceChildren(...runs.map((one) => h(
        "li", null, h("b", null, moment(one.time)), " ", one.words,
        h("ul", null, ...one.files.map(([what, file]) => h("li", null, h("span.doc-what", { "data-what": what }, what), " ", foreign("span", file)))),
      )));
      toggle(changes, "cal-hidden", !runs.length);
    }

    async function open(file) {
      try {
        const message = await ask({ kind: "open", name: base.name, id: file });
        opened = file;
        toggle(list, "cal-hidden", true);
        text.open(message.opened);
      } catch (error) {
        fail(error);
      }
    }

    function shut() {
      opened = null;
      text.shut();
      toggle(list, "cal-hidden", false);
    }

    function close() {
      const file = opened;
      shut();
      files.focus(file);
    }

    async function save(kind) {
      try {
        const { saved } = await ask({ kind: "save", name: base.name, as: kind });
        // Spreadsheets take a CSV for UTF-8 only with this mark.
        ns.exports.save(saved.name, kind === "csv" ? `\ufeff${saved.content}` : saved.content, `${saved.type};charset=utf-8`);
      } catch (error) {
        fail(error);
      }
    }

    async function exported() {
      const from = base.name;
      say(`Exporting “${from}” …`);
      const { pieces } = await ask({ kind: "export", name: from });
      const parts = [];
      for (let piece = 0; piece < pieces; piece += 1) {
        const { data } = await ask({ kind: "exported", piece });
        parts.push(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
        setText(said, `Exporting “${from}”: ${Math.round((100 * (piece + 1)) / pieces)} %`);
      }
      const link = h("a", { download: `${from}.kb` });
      link.href = URL.createObjectURL(new Blob(parts, { type: EXPORT_TYPE }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
      say(`“${from}” is exported as one file.`);
    }

    function removal() {
      const ids = chosen;
      const which = ids.length === 1 ? isolate(ids[0]) : count(ids.length, "file");
      confirming(`Remove ${which} from ${isolate(base.name)}? To have ${ids.length === 1 ? "it" : "them"} back you must add ${ids.length === 1 ? "it" : "them"} again.`, "Remove",
        () => begin({ kind: "forget", name: base.name, ids }, "Removing"));
    }

    function undone() {
      act({ kind: "restore", id: brought }, (made) => `“${made}” is back.`);
    }

    // What takes long -------------------------------------------------------------------------------------------

    function work(words) {
      running = words;
      cancelled = false;
      say("");
      ended();
      bar.removeAttribute("value");
      setText(doing, `${words} …`);
      toggle(busy, "cal-hidden", false);
      cancel.disabled = false;
      toggle(zone, "doc-off", true);
    }

    function idle() {
      running = null;
      toggle(busy, "cal-hidden", true);
      toggle(zone, "doc-off", false);
    }

    function begin(step, words) {
      work(words);
      run(step);
    }

    function stop() {
      cancelled = true;
      cancel.disabled = true;
      setText(doing, "Stopping …");
      if (halt) halt();
      else ask({ kind: "stop" }).catch(fail);
    }

    function toldOf(message) {
      if (message.progress && running) {
        const { done, total, what, left } = message.progress;
        if (total > 0) bar.value = Math.min(1, done / total);
        if (!cancelled) setText(doing, `${running}: ${what ? `${isolate(what)}, ` : ""}${left}`);
      }
      if (message.finished) {
        idle();
        show(message.finished.name).then(() => say(message.finished.said), fail);
      }
      if (message.failed) {
        idle();
        show(base.name).catch(() => null).then(() => fail(new Error(message.failed)));
      }
    }

    async function bring(all) {
      await turning; // files go to what was chosen last, not to what was shown until then: that may be everybody's
      const some = all.filter((one) => wanted(one.name));
      if (!some.length || running) return;
      const heavy = some.reduce((sum, one) => sum + (one.file.size > limits.file ? 0 : one.file.size), 0);
      if (heavy > limits.upload) {
        fail(new Error(`These files have ${bytes(heavy)} together, more than the ${bytes(limits.upload)} that are taken at once; add them in several goes.`));
        return;
      }
      const target = base.name;
      work("Bringing files in");
      const files = some.map((one) => ({ file: one.file, name: one.name, size: one.file.size, path: null }));
      let done = 0;
      try {
        for (const group of grouped(files.filter((one) => one.size <= limits.file))) {
          if (cancelled) break;
          const { places, stop: breakOff } = carry(uploadTo, group.map((one) => one.file), (loaded) => {
            bar.value = Math.min(1, (done + loaded) / (heavy || 1));
            setText(doing, `Bringing files in: ${bytes(done + loaded)} of ${bytes(heavy)}`);
          });
          halt = breakOff;
          (await places)?.forEach((path, i) => { group[i].path = path; });
          done += group.reduce((sum, one) => sum + one.size, 0);
        }
      } catch (error) {
        cancelled = true;
        fail(error);
      }
      halt = null;
      if (cancelled) {
        const paths = files.map((one) => one.path).filter(Boolean);
        if (paths.length) await ask({ kind: "drop", paths }).catch(() => null);
        idle();
        if (alert.classList.contains("cal-hidden")) say("Stopped; nothing was added.");
        return;
      }
      begin({ kind: "add", name: target, files: files.map(({ name: called, size, path }) => ({ name: called, size, path })) }, "Reading");
    }

    async function take(file) {
      if (!file || running) return;
      work("Importing");
      try {
        const carried = carry(uploadTo, [file], (loaded) => { bar.value = loaded / (file.size || 1); });
        halt = carried.stop;
        const [path] = (await carried.places) || [];
        halt = null;
        if (!path) {
          idle();
          say("Stopped; nothing was imported.");
          return;
        }
        begin({ kind: "import", path, called: file.name.replace(/\.kb$/i, "") }, "Importing");
      } catch (error) {
        idle();
        fail(error);
      }
    }

    const from = (input) => {
      const found = [...input.files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
      input.value = "";
      return found;
    };
    many.addEventListener("change", () => bring(from(many)).catch(fail));
    folder.addEventListener("change", () => bring(from(folder)).catch(fail));
    whole.addEventListener("change", () => take(from(whole)[0]?.file).catch(fail));
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      toggle(zone, "doc-over", true);
    });
    zone.addEventListener("dragleave", () => toggle(zone, "doc-over", false));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      toggle(zone, "doc-over", false);
      dropped(event.dataTransfer.items).then(bring).catch(fail);
    });

    /** Others may have changed something. */
    async function look() {
      if (!root.isConnected) return clearInterval(looking);
      if (!shown() || running || !base) return undefined;
      const mine = shows;
      const message = await ask({ kind: "list" });
      if (mine !== shows) return undefined;
      if (JSON.stringify([message.bases, message.deleted]) === last || running) return undefined;
      const still = message.bases.find((one) => one.name === base.name);
      const was = base.name;
      const changed = still?.changed !== base.changed;
      await show(still ? was : message.bases[0].name);
      if (changed) say(still ? `Somebody changed “${was}”; this is how it is now.` : `Somebody renamed or deleted “${was}”.`);
      return undefined;
    }
    const looking = setInterval(() => look().catch(() => null), LOOK);

    return { reply, told: toldOf, refresh: (wantedName) => show(base ? base.name : wantedName).catch((error) => (base ? show(wantedName).catch(fail) : fail(error))) };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
