/* What the view shows, as plain numbers: settings, the slider's span, and one frame per drag step.
 *
 * All scores come from CausalVizRerank; nothing is recomputed here. No DOM.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";

  /** Where too few documents use the question's words to say what is usual, this share of content words is warned of. */
  const STUFFED_SHARE = 0.25;
  /** Suspicion begins beyond these (guard.py): use as a multiple of the topic's cube, and a density as a multiple of its limit. */
  const RATIO = 4;
  const DENSE = 2;
  /** A column spread over less than this is stretched so much by min-max that the page says so. */
  const NARROW_RANGE = 0.02;
  /** The slider starts at this quantile of the random pairs, or lower if a candidate's keyword lies lower. */
  const SPAN_QUANTILE = 0.5;
  const METHODS = ["hybrid", "causal", "guarded", "similarity", "cross-encoder"];
  const MODES = ["semantic", "exact"];
  const EMPTY_B = ["last", "fallback"];

  function settingsOf(trace) {
    const { tau, alpha, method, mode, empty_b: emptyB } = trace.settings;
    return { tau, alpha, method, mode, emptyB };
  }

  /** Keep the valid part of a proposed state; the rest stays as it was. */
  function merge(state, proposed) {
    const next = { ...state };
    const within = (value, low, high) => Number.isFinite(value) && value >= low && value <= high;
    if (within(proposed.tau, -1, 1)) next.tau = proposed.tau;
    if (within(proposed.alpha, 0, 1)) next.alpha = proposed.alpha;
    if (METHODS.includes(proposed.method)) next.method = proposed.method;
    if (MODES.includes(proposed.mode)) next.mode = proposed.mode;
    if (EMPTY_B.includes(proposed.emptyB)) next.emptyB = proposed.emptyB;
    if (typeof proposed.chosen === "string") next.chosen = proposed.chosen;
    return next;
  }

  /** Whether a cross-encoder scored the candidates. */
  const crossed = (trace) => typeof trace.reranker === "string";

  /** A state that the trace has the numbers for: without a cross-encoder's scores the method is another one. */
  function fitting(trace, state, method = trace.settings.method) {
    return state.method === "cross-encoder" && !crossed(trace) ? { ...state, method } : state;
  }

  /** Read a threshold as typed: a number, or the sentence that says what is wrong with it. */
  function readTau(text, current) {
    const value = Number(text.trim().replace(",", ".").replace("−", "-"));
    const kept = `Still using ${ns.dom.plain(current)}.`;
    if (!text.trim() || Number.isNaN(value)) {
      return { error: `“${ns.dom.shorten(text.trim(), 20)}” is not a number between -1 and 1. ${kept}` };
    }
    if (value < -1 || value > 1) {
      return { error: `${ns.dom.shorten(text.trim(), 20)} is out of range: a cosine lies between -1 and 1. ${kept}` };
    }
    return { value };
  }

  /** Every candidate keyword's cosine to its nearest query keyword; exact matches are absorbed at any threshold. */
  function cosinesOf(trace) {
    const cosines = [];
    let exact = 0;
    for (const candidate of trace.candidates) {
      for (const keyword of candidate.keywords) {
        if (keyword.exact) exact++;
        else if (keyword.cosine !== null) cosines.push(keyword.cosine);
      }
    }
    return { cosines, exact };
  }

  /** The lower end of the threshold slider; its upper end is 1. */
  function spanStart(trace, cosines) {
    const pairs = trace.random_pairs;
    const low = [trace.settings.tau, ...cosines];
    if (pairs.length) low.push(pairs[Math.floor(SPAN_QUANTILE * (pairs.length - 1))]);
    const least = low.reduce((a, b) => Math.min(a, b), 1);
    return Math.max(-1, Math.floor(Math.min(least, 0.99) * 100) / 100);
  }

  /** Rank under a state, with what the cards need beyond it. */
  function frame(trace, table, state) {
    const ranking = CausalVizRerank.rerank(table, state);
    const { order, final } = ranking;
    const tied = new Uint8Array(table.n);
    for (let at = 1; at < order.length; at++) {
      if (final[order[at]] === final[order[at - 1]]) tied[order[at]] = tied[order[at - 1]] = 1;
    }
    return { trace, table, state, ranking, tied };
  }

  /** Total weight and the part of it that lies in A, for candidate i. */
  function shares(view, i) {
    const { table, ranking } = view;
    let total = 0;
    let inA = 0;
    let countA = 0;
    for (let j = 0; j < table.size[i]; j++) {
      const at = i * table.k + j;
      total += table.weights[at];
      if (ranking.inA[at]) {
        inA += table.weights[at];
        countA++;
      }
    }
    return { total, a: total ? inA / total : 0, b: total ? 1 - inA / total : 0, countA, countB: table.size[i] - countA };
  }

  /** How much of a document is the question's own keywords, and whether documents rarely go so far (stuffing.py). */
  function repetition(candidate, trace) {
    const { percent } = ns.dom;
    const { repeats, tokens } = candidate;
    const share = tokens > 0 ? Math.min(1, repeats / tokens) : 0;
    const words = repeats
      ? `repeats the question’s words ×${repeats}${tokens > 0 ? `, ${percent(share)} of its content words` : ""}`
      : "does not repeat the question’s words";
    const limit = trace.density_limit;
    const usual = typeof limit === "number";
    const beyond = repeats > 0 && (usual ? share > limit : share >= STUFFED_SHARE);
    return { share, beyond, words, usual: beyond && usual ? `; documents here rarely exceed ${percent(limit)}` : "" };
  }

  /** The guard's two numbers, in multiples of what is usual here; null where nothing tells what is. */
  function compared(candidate) {
    const { use = null, topic = null } = candidate;
    return use === null || topic === null ? null : { use, topic };
  }

  /** What a document is suspected for, in words (suspicion.py says the same), or "" where the trace does not tell. */
  function reason(candidate, trace) {
    const found = compared(candidate);
    if (found && found.use > Math.max(RATIO * (found.topic * found.topic * found.topic), 1)) return `${usage(found)}, while the rest of it has ${topicOf(found)}`;
    const { repeats, tokens } = candidate;
    const share = tokens > 0 ? repeats / tokens : 0;
    const limit = trace.density_limit;
    if (typeof limit !== "number" || !(share > DENSE * limit)) return "";
    const { percent } = ns.dom;
    return `the question’s words make up ${percent(share)} of its content words, more than twice the ${percent(limit)} that documents here rarely exceed`;
  }

  const usage = ({ use }) => `it uses the question’s words ${use.toFixed(1)} times as much as documents here usually do`;
  const topicOf = ({ topic }) =>
    `${topic < 0.05 ? "next to nothing" : `${topic.toFixed(1)} times as much`} to do with the other results`;

  /** The guard's verdict: whether a document is suspected, and its sentence; "" where nothing tells what is usual. */
  function verdict(candidate, trace) {
    const found = compared(candidate);
    if (candidate.suspect) {
      const why = reason(candidate, trace);
      return { suspect: true, words: `suspected of stuffing${why ? `: ${why}` : ""}` };
    }
    return { suspect: false, words: found ? `not suspected of stuffing: ${usage(found)}, and the rest of it has ${topicOf(found)}` : "" };
  }

  /** What warns of a document, one thing alone: the guard's suspicion, or without its verdict an unusual density. */
  function warning(candidate, trace) {
    const { suspect, words } = verdict(candidate, trace);
    if (suspect) return words;
    const repeated = repetition(candidate, trace);
    return !words && repeated.beyond ? repeated.words + repeated.usual : "";
  }

  /** The empty-B sentence of a candidate, or null while it has a keyword of its own. */
  function emptiness(view, i) {
    if (!view.ranking.emptyB[i]) return null;
    return view.table.size[i] ? "nothing but query keywords" : "no keywords at all";
  }

  function titleOf(candidate) {
    return candidate.title.trim() || candidate.id;
  }

  /** "same text as X" or "nearly the same words as X", X by title (by id if both are titled alike), or null. */
  function twinOf(trace, candidate) {
    const same = candidate.duplicate_of ?? null;
    const id = same ?? candidate.near_duplicate_of ?? null;
    if (id === null) return null;
    const twin = trace.candidates.find((other) => other.id === id);
    const name = twin && titleOf(twin) !== titleOf(candidate) ? titleOf(twin) : id;
    return { words: same === null ? "nearly the same words as" : "same text as", name };
  }

  /** What is chosen before anyone chooses: the best-placed document that moved up, else the first. */
  function firstChoice(ranking) {
    const riser = ranking.order.find((i) => ranking.rank[i] < ranking.similarityRank[i]);
    return riser === undefined ? ranking.order[0] : riser;
  }

  ns.model = {
    STUFFED_SHARE, NARROW_RANGE, settingsOf, merge, crossed, fitting, readTau, cosinesOf, spanStart, frame, shares, repetition, reason, verdict, warning,
    emptiness, titleOf, twinOf, firstChoice,
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
