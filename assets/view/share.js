/* Share links: the state of the view in the fragment of the page's address, which no server sees.
 *
 * CausalVizView.sharedState(hash) reads one safely; brokenLink(hash) tells whether there is one that cannot be read; share.link(trace, state) writes one, or says why it cannot.
 */
(function (ns) {
  "use strict";
  const { shorten } = ns.dom;

  const KEY = "cv";
  const VERSION = 1;
  /** Longer addresses are cut by mail programs and chats. */
  const LONGEST = 1800;
  const LONGEST_TEXT = 4000;
  /** The largest top k a search accepts. */
  const MOST_CANDIDATES = 100;
  const UNITS = ["document", "chunk"];

  function toBase64(text) {
    let bytes = "";
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
    return btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  function fromBase64(text) {
    const bytes = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
  }

  /** {link} or {error}: the sentence to show when the state does not fit. */
  function link(trace, state, base = location.href) {
    const packed = {
      v: VERSION, q: trace.query, k: trace.knowledge_base, u: trace.unit, n: trace.top_k, h: trace.theta, e: trace.encoder,
      z: trace.centred ? 1 : 0, f: trace.fingerprint, t: state.tau, a: state.alpha, m: state.method, o: state.mode, b: state.emptyB, c: state.chosen,
    };
    const made = `${base.split("#")[0]}#${KEY}=${toBase64(JSON.stringify(packed))}`;
    if (made.length <= LONGEST) return { link: made };
    return {
      error: `This state does not fit into a link: it would take ${made.length.toLocaleString("en")} characters of at most ${LONGEST.toLocaleString("en")}${
        trace.query.length > 300 ? " because the question is very long" : ""}. Download the JSON and send that instead.`,
    };
  }

  /** Whether there is a link in a fragment, but a damaged one. */
  function brokenLink(hash = location.hash) {
    return /^#?(?:.*&)?cv=/.test(String(hash)) && sharedState(hash) === null;
  }

  /** The state in a fragment, or null where there is none or it is damaged. Every part is checked; nothing else is kept. */
  function sharedState(hash = location.hash) {
    const found = /^#?(?:.*&)?cv=([A-Za-z0-9_-]+)/.exec(String(hash).slice(0, 4 * LONGEST));
    if (!found) return null;
    let data;
    try {
      data = JSON.parse(fromBase64(found[1]));
    } catch {
      return null;
    }
    if (data === null || typeof data !== "object" || data.v !== VERSION) return null;
    const text = (value) => (typeof value === "string" && value.length <= LONGEST_TEXT ? value : null);
    const number = (value, low, high) => (Number.isFinite(value) && value >= low && value <= high ? value : null);
    const query = text(data.q);
    if (!query || !query.trim()) return null;
    const none = { tau: NaN, alpha: NaN, method: null, mode: null, emptyB: null, chosen: null };
    const merged = ns.model.merge(none, { tau: data.t, alpha: data.a, method: data.m, mode: data.o, emptyB: data.b, chosen: text(data.c) });
    const state = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && !Number.isNaN(value)));
    const topK = number(data.n, 1, MOST_CANDIDATES);
    return {
      state, query, knowledgeBase: text(data.k), unit: UNITS.includes(data.u) ? data.u : null, topK: Number.isInteger(topK) ? topK : null,
      theta: number(data.h, -1, 1), encoder: text(data.e), centred: data.z === 1, fingerprint: text(data.f),
    };
  }

  /** What in a shown trace is not as it was when a link was made, in sentences. */
  function differences(shared, trace) {
    const found = [];
    if (shared.query !== trace.query) found.push("it shows another question");
    if (shared.encoder !== null && (shared.encoder !== trace.encoder || shared.centred !== trace.centred)) {
      found.push(`it was made with the encoder ${shorten(shared.encoder, 40)}${shared.centred ? ", centred" : ""}`);
    }
    if (shared.knowledgeBase !== null && shared.knowledgeBase !== trace.knowledge_base) {
      found.push(`it was made with the knowledge base ${shorten(shared.knowledgeBase, 60)}, which is not the one shown`);
    } else if (shared.fingerprint !== null && shared.fingerprint !== trace.fingerprint) found.push("the knowledge base has changed since");
    if (shared.unit !== null && shared.unit !== trace.unit) found.push(`it ranks ${shared.unit === "chunk" ? "passages" : "documents"}`);
    const { chosen } = shared.state;
    if (chosen && !trace.candidates.some(({ id }) => id === chosen)) found.push("the document it points at is not among the candidates");
    return found;
  }

  ns.share = { link, differences };
  ns.sharedState = sharedState;
  ns.brokenLink = brokenLink;
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
