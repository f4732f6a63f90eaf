/* The method's arithmetic in the page: partition, score and rank for one trace.
 *
 * It mirrors causalviz/partition.py, score.py and rank.py, sum for sum in the same order, so that both give
 * the same bits and therefore the same order, ties included. No DOM here; the page and the report share it.
 */
const CausalVizRerank = (() => {
  "use strict";

  /** A centroid shorter than sqrt(VANISHED) times its total weight is the zero vector (score.py). */
  const VANISHED = 1e-7;
  /** Less than two different float32 similarities are apart (rank.py). */
  const JUST_BELOW = 1e-9;

  /** Flatten a trace (JSON) into typed arrays, once per query. */
  function prepare(trace) {
    const candidates = trace.candidates;
    const n = candidates.length;
    const k = candidates.reduce((most, c) => Math.max(most, c.keywords.length), 0);
    const table = {
      n,
      k,
      size: new Int32Array(n),
      similarity: new Float64Array(n),
      suspect: new Uint8Array(n),
      cross: new Float64Array(n).fill(NaN),
      weights: new Float64Array(n * k),
      cosines: new Float32Array(n * k).fill(-Infinity),
      exact: new Uint8Array(n * k),
      relevance: new Float64Array(n * k),
      gram: new Float64Array(n * k * k),
    };
    candidates.forEach((candidate, i) => {
      const size = candidate.keywords.length;
      table.size[i] = size;
      table.similarity[i] = candidate.similarity;
      table.suspect[i] = candidate.suspect ? 1 : 0;
      table.cross[i] = candidate.cross_encoder ?? NaN;
      candidate.keywords.forEach((keyword, j) => {
        const at = i * k + j;
        table.weights[at] = keyword.weight;
        if (keyword.cosine !== null) table.cosines[at] = keyword.cosine;
        table.exact[at] = keyword.exact ? 1 : 0;
        table.relevance[at] = keyword.relevance;
      });
      // The upper triangle, row by row, as the trace stores it.
      let next = 0;
      for (let a = 0; a < size; a++) {
        for (let b = a; b < size; b++) {
          const value = candidate.gram[next++];
          table.gram[(i * k + a) * k + b] = value;
          table.gram[(i * k + b) * k + a] = value;
        }
      }
    });
    return table;
  }

  /** Mark A (equation 3); tau is compared as float32, equality goes to A. */
  function absorbed(table, tau, mode) {
    const inA = new Uint8Array(table.n * table.k);
    const threshold = Math.fround(tau);
    for (let at = 0; at < inA.length; at++) {
      if (table.weights[at] === 0) continue;
      inA[at] = table.exact[at] || (mode !== "exact" && table.cosines[at] >= threshold) ? 1 : 0;
    }
    return inA;
  }

  /** s_c per candidate (equations 4 and 5; NaN where B is empty) and the length of m' G m's root. */
  function causalScores(table, inA) {
    const { n, k, weights, relevance, gram } = table;
    const scores = new Float64Array(n);
    const lengths = new Float64Array(n);
    const m = new Float64Array(k);
    for (let i = 0; i < n; i++) {
      const row = i * k;
      for (let j = 0; j < k; j++) m[j] = inA[row + j] ? 0 : weights[row + j];
      let dot = 0;
      let total = 0;
      let length2 = 0;
      for (let j = 0; j < k; j++) {
        let rowSum = 0;
        const start = (row + j) * k;
        for (let l = 0; l < k; l++) rowSum += gram[start + l] * m[l];
        dot += m[j] * relevance[row + j];
        total += m[j];
        length2 += m[j] * rowSum;
      }
      if (total === 0) {
        scores[i] = NaN;
      } else if (length2 > VANISHED * (total * total)) {
        lengths[i] = Math.sqrt(length2);
        scores[i] = dot / lengths[i];
      }
    }
    return { scores, lengths };
  }

  /** Stretch to [0, 1]; NaN stays NaN, a constant column becomes 0. */
  function minMax(column) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of column) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const values = column.map((value) => (high > low || Number.isNaN(value) ? (value - low) / (high - low) : 0));
    return { values, low, high };
  }

  /** Candidate indices by descending score; NaN last; equal scores keep the baseline order. */
  function ordered(column) {
    const key = (index) => (Number.isNaN(column[index]) ? -Infinity : column[index]);
    return Array.from(column, (_, index) => index).sort((a, b) => {
      const first = key(a);
      const second = key(b);
      return first === second ? a - b : first > second ? -1 : 1;
    });
  }

  /** Similarity; a suspected document takes its causal rank where that is the lower one. Candidates in baseline order. */
  function guardedScores({ similarity, suspect }, causalRank) {
    return similarity.map((own, i) => (suspect[i] && causalRank[i] > i + 1 ? similarity[causalRank[i] - 1] - JUST_BELOW : own));
  }

  function ranksOf(order) {
    const ranks = new Int32Array(order.length);
    order.forEach((index, position) => {
      ranks[index] = position + 1;
    });
    return ranks;
  }

  /**
   * Rank a prepared trace under settings {tau, alpha, method, mode, emptyB}.
   *
   * Every returned column is indexed by candidate in baseline order; `order` lists candidates as ranked.
   */
  function rerank(table, settings) {
    const inA = absorbed(table, settings.tau, settings.mode);
    const { scores, lengths } = causalScores(table, inA);
    const emptyB = Uint8Array.from(scores, (score) => (Number.isNaN(score) ? 1 : 0));
    const causal =
      settings.emptyB === "fallback"
        ? scores.map((score, i) => (Number.isNaN(score) ? table.similarity[i] : score))
        : scores;
    const similarity = minMax(table.similarity);
    const stretched = minMax(causal);
    const alpha = settings.alpha;
    const hybrid = similarity.values.map((value, i) => alpha * value + (1 - alpha) * stretched.values[i]);
    const causalRank = ranksOf(ordered(causal));
    const guarded = guardedScores(table, causalRank);
    const columns = { similarity: table.similarity, causal, hybrid, guarded, "cross-encoder": table.cross };
    const final = columns[settings.method];
    const order = ordered(final);
    return {
      inA,
      emptyB,
      causal,
      lengths,
      normalisedSimilarity: similarity.values,
      normalisedCausal: stretched.values,
      ranges: {
        similarity: [similarity.low, similarity.high],
        causal: [stretched.low, stretched.high],
      },
      hybrid,
      guarded,
      cross: table.cross,
      final,
      similarityRank: ranksOf(ordered(table.similarity)),
      causalRank,
      hybridRank: ranksOf(ordered(hybrid)),
      guardedRank: ranksOf(ordered(guarded)),
      crossRank: ranksOf(ordered(table.cross)),
      rank: ranksOf(order),
      order,
    };
  }

  /** Each keyword's exact share of candidate i's s_c; they sum to it. Zero for keywords in A. */
  function contributions(table, ranking, i) {
    const shares = new Float64Array(table.size[i]);
    if (ranking.lengths[i] === 0) return shares;
    for (let j = 0; j < shares.length; j++) {
      const at = i * table.k + j;
      if (!ranking.inA[at]) shares[j] = (table.weights[at] * table.relevance[at]) / ranking.lengths[i];
    }
    return shares;
  }

  /** Share of random keyword pairs whose cosine reaches tau: `pairs` ascending. */
  function absorbedShare(pairs, tau) {
    const threshold = Math.fround(tau);
    let low = 0;
    let high = pairs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Math.fround(pairs[middle]) >= threshold) high = middle;
      else low = middle + 1;
    }
    return pairs.length ? (pairs.length - low) / pairs.length : 0;
  }

  return { prepare, rerank, guardedScores, contributions, absorbedShare };
})();

if (typeof module !== "undefined") module.exports = CausalVizRerank;
