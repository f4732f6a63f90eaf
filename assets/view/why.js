/* One sentence on why a document stands where it stands: a pure function of the numbers, true in every case.
 *
 * What it relies on: candidate j can only fall behind i although it is at least as similar if i's causal score is
 * strictly higher (or j was put last for lack of keywords). So "closer than what is left of those it passed" holds.
 * The result is a list of parts, {text} or {term, set}, so that the page can colour keywords; set "Q" is the question's own keyword
 * that one of A is close to. toText joins them.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";

  const NAMED = 3;
  /** A keyword pulling the other way is named from this part of all contributions (in size) on. */
  const WORTH_NAMING = 0.02;

  const documents = (n) => (n === 1 ? "the document" : `the ${n} documents`);
  const some = (n) => (n === 1 ? "1 document" : `${n} documents`);

  /** What is true of candidate i, as a small record of facts. */
  function facts({ trace, table, ranking, state }, i) {
    const last = state.emptyB === "last";
    const from = ranking.similarityRank[i];
    const to = ranking.rank[i];
    const found = {
      i, n: table.n, from, to, move: from - to, last, state,
      size: table.size[i],
      empty: ranking.emptyB[i] === 1,
      allEmpty: ranking.emptyB.every((flag) => flag === 1),
      causalRank: ranking.causalRank[i],
      suspect: table.suspect[i] === 1,
      reason: table.suspect[i] === 1 ? ns.model.reason(trace.candidates[i], trace) : "",
      crossed: !Number.isNaN(ranking.cross[i]),
      anyCrossed: ranking.cross.some((score) => !Number.isNaN(score)),
      vanished: false,
      passed: 0, passedLast: 0, overtaken: 0, filledIn: false, ties: 0,
    };
    found.vanished = !found.empty && ranking.lengths[i] === 0;
    for (let j = 0; j < table.n; j++) {
      if (j === i) continue;
      if (ranking.final[j] === ranking.final[i]) found.ties++;
      const wasAbove = ranking.similarityRank[j] < from;
      const isAbove = ranking.rank[j] < to;
      if (wasAbove === isAbove) continue;
      if (ranking.emptyB[j] && !last) found.filledIn = true;
      if (!wasAbove) found.overtaken++;
      else if (ranking.emptyB[j] && last) found.passedLast++;
      else found.passed++;
    }
    const shares = CausalVizRerank.contributions(table, ranking, i);
    const keywords = trace.candidates[i].keywords.map((keyword, j) => ({
      term: keyword.term, weight: keyword.weight, exact: keyword.exact, match: keyword.match, share: shares[j], inA: ranking.inA[i * table.k + j] === 1,
    }));
    const all = keywords.reduce((sum, keyword) => sum + Math.abs(keyword.share), 0);
    const own = keywords.filter((keyword) => !keyword.inA);
    const setAside = keywords.filter((keyword) => keyword.inA).sort((a, b) => b.weight - a.weight);
    found.shared = setAside.filter((keyword) => keyword.exact);
    found.close = setAside.filter((keyword) => !keyword.exact);
    found.pulling = own.filter((keyword) => keyword.share > 0).sort((a, b) => b.share - a.share);
    found.against = own
      .filter((keyword) => keyword.share < 0 && -keyword.share >= WORTH_NAMING * all)
      .sort((a, b) => a.share - b.share);
    found.left = found.pulling.length ? found.pulling : own.slice().sort((a, b) => a.share - b.share);
    return found;
  }

  function terms(keywords, set) {
    const parts = [];
    keywords.slice(0, NAMED).forEach((keyword, at) => {
      if (at) parts.push({ text: ", " });
      parts.push({ term: keyword.term, set });
      if (set === "A" && !keyword.exact) parts.push({ text: " ≈ " }, { term: keyword.match, set: "Q" });
    });
    if (keywords.length > NAMED) parts.push({ text: ", …" });
    return parts;
  }

  function lead({ move, to }) {
    if (move > 0) return `Moved up ${move}`;
    if (move < 0) return `Moved down ${-move}`;
    return `Stays at rank ${to}`;
  }

  /** "the words it shares with the question (…) or that are close to its words (word ≈ its word)". */
  function setAside(f) {
    if (!f.shared.length) return [{ text: "words close to the question’s (" }, ...terms(f.close, "A"), { text: ")" }];
    const shared = [{ text: "the words it shares with the question (" }, ...terms(f.shared, "A"), { text: ")" }];
    if (!f.close.length) return shared;
    return [...shared, { text: " or that are close to its words (" }, ...terms(f.close, "A"), { text: ")" }];
  }

  /** "… were set aside, and what is left (…)": the subject of most sentences. */
  function subject(f) {
    const left = terms(f.left, "B");
    if (!f.shared.length && !f.close.length) {
      const none =
        f.state.mode === "exact" ? "it holds none of the question’s own keywords" : "it shares no keyword with the question";
      return [{ text: `${none}, so nothing was set aside; what it says (` }, ...left, { text: ")" }];
    }
    return [...setAside(f), { text: " were set aside, and what is left (" }, ...left, { text: ")" }];
  }

  /** How what is left compares with the documents it changed places with; `whom` names them. */
  function compared(f, better, whom) {
    if (f.filledIn) return ` has a ${better ? "higher" : "lower"} causal score than ${whom}`;
    const theirs = `what is left of ${whom}`;
    if (f.vanished) return ` cancels out (causal score 0), ${better ? "still more" : "less"} than ${theirs}`;
    if (better && !f.pulling.length) return ` does not point towards the question, yet ${theirs} points further away`;
    return ` is ${better ? "closer" : "less close"} to the question than ${theirs}`;
  }

  /** The document rose or fell although its causal rank is on the other side of its similarity rank. */
  function drifted(f, word, whom, reason, rest) {
    const own = `Its own is no ${word} placed (causal rank ${f.causalRank}, similarity rank ${f.from})`;
    return [
      { text: ` because others ${whom}, with a ${reason} causal score. ${own}${rest}: ` },
      ...subject(f), { text: f.vanished ? " cancels out." : " is what counts." },
    ];
  }

  function movedUp(f) {
    const back = f.overtaken ? `; ${some(f.overtaken)} passed it in turn` : "";
    const lack = f.passedLast === 1 ? "has no keyword of its own" : "have no keyword of their own";
    const ownless = `${some(f.passedLast)} above it ${lack} and went last`;
    if (!f.passed) {
      const tail = f.vanished ? " cancels out." : ` has causal rank ${f.causalRank} of ${f.n}.`;
      return [{ text: ` only because others moved: ${ownless}${back}. For its part, ` }, ...subject(f), { text: tail }];
    }
    const rest = (f.passedLast ? `; ${ownless}` : "") + back;
    if (f.causalRank >= f.from) return drifted(f, "better", `fell: it passed ${some(f.passed)}`, "lower", rest);
    return [{ text: ": " }, ...subject(f), { text: `${compared(f, true, `${documents(f.passed)} it passed`)}${rest}.` }];
  }

  function movedDown(f) {
    const up = f.passed + f.passedLast;
    const back = up ? `; it passed ${some(up)} in turn` : "";
    if (f.causalRank <= f.from) return drifted(f, "worse", `rose: ${some(f.overtaken)} passed it`, "higher", back);
    return [{ text: ": " }, ...subject(f), { text: `${compared(f, false, `${documents(f.overtaken)} that passed it`)}${back}.` }];
  }

  function stayed(f) {
    const up = f.passed + f.passedLast;
    const places = up
      ? `, and it passed ${some(up)} while ${some(f.overtaken)} passed it`
      : ", and no document changes places with it";
    const score = f.vanished ? "cancels out (causal score 0)" : `gives it causal rank ${f.causalRank} of ${f.n}`;
    return [{ text: ": " }, ...subject(f), { text: ` ${score}${places}.` }];
  }

  /** ": every keyword it has (…) is shared with the question", or close to its keywords. */
  function allInA(f) {
    const close = [...terms(f.close, "A"), { text: ")" }];
    if (!f.shared.length) return [{ text: ": every keyword it has (" }, ...close, { text: " is close to one of the question’s" }];
    const shared = [...terms(f.shared, "A"), { text: ")" }];
    if (!f.close.length) return [{ text: ": every keyword it has (" }, ...shared, { text: " is shared with the question" }];
    return [
      { text: ": every keyword it has is shared with the question (" }, ...shared,
      { text: " or close to one of the question’s (" }, ...close,
    ];
  }

  /** B is empty: nothing of its own is left to compare with the question. */
  function withoutRest(f) {
    const cause = f.size
      ? [...allInA(f), { text: ", so nothing of its own is left to compare; " }]
      : [{ text: ": no keyword could be drawn from its text, so there is nothing to compare; " }];
    if (f.last) {
      const rule = f.allEmpty ? "that holds for every candidate, so the order by similarity stands." : "such documents go last.";
      return [...cause, { text: rule }];
    }
    const compared = [];
    if (f.passed && f.state.method !== "guarded") compared.push(`higher than that of ${documents(f.passed)} it passed`);
    if (f.overtaken && f.state.method !== "guarded") compared.push(`lower than that of ${documents(f.overtaken)} that passed it`);
    const tail = compared.length ? `, ${compared.join(" and ")}` : "";
    return [...cause, { text: `it keeps its similarity in place of a causal score${tail}.` }];
  }

  /** The guard: only suspected documents fall; the others rise past them or stay. */
  function guarded(f) {
    const passed = f.passed + f.passedLast;
    if (!f.suspect) {
      const keeps = "its similarity counts, and its keywords play no part.";
      if (!passed) return [{ text: `: it is not suspected of stuffing, so ${keeps}` }];
      return [{ text: ` only because ${some(passed)} above it, suspected of stuffing, fell. It is not suspected itself: ${keeps}` }];
    }
    const why = `: it is suspected of stuffing${f.reason && `, for ${f.reason}`}`;
    const ranks = `its causal rank (${f.causalRank} of ${f.n}) is`;
    if (f.causalRank <= f.from) {
      const rose = passed ? `; it rose because ${some(passed)} above it, also suspected, fell` : "";
      return [{ text: `${why}. But ${ranks} no lower than its rank by similarity (${f.from}), so it keeps its similarity${rose}.` }];
    }
    const cause = f.to < f.causalRank ? "as other suspected documents fell too" : "behind others as similar";
    const place = f.to === f.causalRank ? "" : ` (rank ${f.to}, ${cause})`;
    const told = [{ text: `${why}. And ${ranks} lower than its rank by similarity (${f.from}), so it takes that place${place}` }];
    if (f.empty) return [...told, ...withoutRest(f)];
    return [...told, { text: ": " }, ...subject(f), { text: f.vanished ? " cancels out (causal score 0)." : " makes its causal score." }];
  }

  function crossEncoder(f) {
    if (f.crossed) return [{ text: ": ranked by the cross-encoder’s score alone, the keywords play no part." }];
    if (f.anyCrossed) return [{ text: ": the cross-encoder gave it no score; such documents go last." }];
    return [{ text: ": the cross-encoder gave no candidate a score, so the order by similarity stands." }];
  }

  function onlySimilarity(f) {
    const text = f.passedLast
      ? `: all weight is on similarity, so only documents without a keyword of their own change places: ${some(f.passedLast)} went last.`
      : ": all weight is on similarity, so the keywords change nothing here.";
    return [{ text }];
  }

  /** The parts of the sentence for candidate i of a frame (see model.frame). */
  function parts(view, i) {
    const f = facts(view, i);
    if (f.n === 1) return [{ text: "The only candidate: there is no other document to rank it against." }];
    const told = [{ text: lead(f) }];
    if (f.state.method === "similarity") {
      told.push({ text: ": ranked by similarity alone, the keywords play no part." });
    } else if (f.state.method === "cross-encoder") {
      told.push(...crossEncoder(f));
    } else if (f.state.method === "guarded") {
      told.push(...guarded(f));
    } else if (f.empty) {
      told.push(...withoutRest(f));
    } else if (f.state.method === "hybrid" && f.state.alpha === 1) {
      told.push(...onlySimilarity(f));
    } else {
      told.push(...(f.move > 0 ? movedUp(f) : f.move < 0 ? movedDown(f) : stayed(f)));
      if (f.against.length && f.pulling.length) {
        told.push({ text: " Pulling the other way: " }, ...terms(f.against, "B"), { text: "." });
      }
    }
    if (f.ties) told.push({ text: ` Its final score equals that of ${some(f.ties)}; equal scores keep the order by similarity.` });
    return told;
  }

  const toText = (list) => list.map((part) => (part.term === undefined ? part.text : part.term)).join("");

  ns.why = { facts, parts, toText };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
