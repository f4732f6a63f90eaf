/* Every rank at every tau and alpha, exactly: intervals, cells, flip points. Pure arithmetic, no DOM.
 *
 * The page's half of causalviz/explain (states.py, tau_path.py, plane.py, crossings.py, region.py, flips.py), with the
 * same intervals and cells; those files hold the proofs. Every score comes from CausalVizRerank, so that ranks agree
 * with the ranking to the last bit. Candidates are numbered in baseline order (similarity descending), as in a table.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";

  /** Lines of the hybrid closer than this may be ordered by rounding (crossings.py). */
  const ROUNDING = 2 ** -48;
  /** A rounded range keeps at least this part of the exact one, in 100ths (region.py). */
  const KEPT = 80n;
  const DIGITS = 60;

  const single = new Float32Array(1);
  const singleBits = new Int32Array(single.buffer);
  const double = new Float64Array(1);
  const doubleBits = new BigInt64Array(double.buffer);
  const halves = new Uint32Array(double.buffer);

  /** The next float32. */
  function nextSingle(value) {
    single[0] = value;
    if (single[0] === 0) singleBits[0] = 1;
    else singleBits[0] += single[0] > 0 ? 1 : -1;
    return single[0];
  }

  /** The next double of one that is not negative. */
  function nextUp(value) {
    double[0] = value + 0;
    halves[0]++;
    if (halves[0] === 0) halves[1]++;
    return double[0];
  }

  /** The double before one that is not negative; negative for 0. */
  function nextDown(value) {
    if (value === 0) return -Number.MIN_VALUE;
    double[0] = value;
    if (halves[0] === 0) halves[1]--;
    halves[0]--;
    return double[0];
  }

  /** Index of the first entry that is at least a value. */
  function firstFrom(ascending, value, from = 0, to = ascending.length) {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ascending[middle] >= value) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /* States: the causal scores on every interval of tau. */

  /** Which keywords tau moves, and which are always in A. */
  function movable(table, mode) {
    const size = table.n * table.k;
    const moves = new Uint8Array(size);
    const always = new Uint8Array(size);
    for (let at = 0; at < size; at++) {
      if (table.weights[at] === 0) continue;
      if (mode === "exact") always[at] = table.exact[at];
      else if (table.exact[at] || table.cosines[at] >= 1) always[at] = 1;
      else if (table.cosines[at] >= -1) moves[at] = 1;
    }
    return { moves, always };
  }

  /** scores[s][i]: s_c of candidate i with its s least similar movable keywords in B; NaN where B is empty. */
  function ownStates(table, { moves, always }) {
    const { n, k } = table;
    const place = new Int32Array(n * k);
    let most = 0;
    for (let i = 0; i < n; i++) {
      const mine = [];
      for (let j = 0; j < k; j++) if (moves[i * k + j]) mine.push(i * k + j);
      mine.sort((a, b) => table.cosines[a] - table.cosines[b] || a - b);
      mine.forEach((at, rank) => {
        place[at] = rank;
      });
      most = Math.max(most, mine.length);
    }
    const scores = [];
    for (let s = 0; s <= most; s++) {
      const exact = Uint8Array.from(always, (fixed, at) => fixed || (moves[at] && place[at] >= s ? 1 : 0));
      scores.push(CausalVizRerank.rerank({ ...table, exact }, { tau: 1, alpha: 0, method: "causal", mode: "exact", emptyB: "last" }).causal);
    }
    return scores;
  }

  /** CausalVizRerank's min-max of one row, over the entries that are numbers. */
  function stretch(column, from, to, into) {
    let low = Infinity;
    let high = -Infinity;
    for (let at = from; at < to; at++) {
      if (column[at] < low) low = column[at];
      if (column[at] > high) high = column[at];
    }
    for (let at = from; at < to; at++) {
      into[at] = high > low || Number.isNaN(column[at]) ? (column[at] - low) / (high - low) : 0;
    }
  }

  const same = (a, b) => a === b || (a !== a && b !== b);

  /**
   * The intervals of tau on which no score changes, ascending: thresholds low[m]..high[m], float32, both included;
   * together they tile [-1, 1]. causal, stretched and guarded (made when it is asked for) are M x N, row by row.
   */
  function states(table, { mode, emptyB }) {
    const { n, k } = table;
    for (let i = 1; i < n; i++) if (table.similarity[i] > table.similarity[i - 1]) throw new RangeError("candidates are not in baseline order");
    const kinds = movable(table, mode);
    const scores = ownStates(table, kinds);
    const moving = [];
    for (let at = 0; at < n * k; at++) if (kinds.moves[at]) moving.push(at);
    moving.sort((a, b) => table.cosines[a] - table.cosines[b]);
    const ends = [];
    const causal = [];
    const letGo = new Int32Array(n);
    const row = Float64Array.from({ length: n }, (_, i) => standIn(0, i));
    function standIn(s, i) {
      const score = scores[s][i];
      return emptyB === "fallback" && Number.isNaN(score) ? table.similarity[i] : score;
    }
    causal.push(row.slice());
    for (let next = 0; next < moving.length; ) {
      const end = table.cosines[moving[next]];
      let changed = false;
      const touched = new Set();
      for (; next < moving.length && table.cosines[moving[next]] === end; next++) {
        const i = Math.floor(moving[next] / k);
        letGo[i]++;
        touched.add(i);
      }
      for (const i of touched) {
        const score = standIn(letGo[i], i);
        if (!same(score, row[i])) changed = true;
        row[i] = score;
      }
      if (!changed) continue;
      ends.push(end);
      causal.push(row.slice());
    }
    const m = causal.length;
    const flat = new Float64Array(m * n);
    const stretched = new Float64Array(m * n);
    causal.forEach((scoresThere, at) => {
      flat.set(scoresThere, at * n);
      stretch(flat, at * n, (at + 1) * n, stretched);
    });
    const similarity = new Float64Array(n);
    stretch(table.similarity, 0, n, similarity);
    return {
      table, mode, emptyB, n, m, similarity, stretched, causal: flat, guarded: null,
      low: Float32Array.from([-1, ...ends.map(nextSingle)]), high: Float32Array.from([...ends, 1]),
    };
  }

  /** The interval that holds float32(tau). */
  const at = (of, tau) => firstFrom(of.high, Math.fround(tau));

  /** The column by which the method ranks on an interval. */
  function finals(of, interval, { method, alpha }, into) {
    const { n } = of;
    const start = interval * n;
    const beta = 1 - alpha;
    if (method === "guarded" && !of.guarded) of.guarded = guardedOf(of);
    for (let i = 0; i < n; i++) {
      const value = method === "similarity" ? of.table.similarity[i]
        : method === "cross-encoder" ? of.table.cross[i] : method === "causal" ? of.causal[start + i]
          : method === "guarded" ? of.guarded[start + i] : alpha * of.similarity[i] + beta * of.stretched[start + i];
      into[i] = Number.isNaN(value) ? -Infinity : value;
    }
    return into;
  }

  /** The guarded scores on every interval: suspicion is settled, but causal ranks follow tau. */
  function guardedOf(of) {
    const { n, m } = of;
    const { ranks } = path(of, { method: "causal", alpha: 0 });
    const scores = new Float64Array(m * n);
    for (let start = 0; start < m * n; start += n) {
      scores.set(CausalVizRerank.guardedScores(of.table, ranks.subarray(start, start + n)), start);
    }
    return scores;
  }

  /** Sort in place what is nearly sorted already; `before(a, b)` is a total order. */
  function resort(order, before) {
    for (let at = 1; at < order.length; at++) {
      const held = order[at];
      let to = at;
      while (to > 0 && before(held, order[to - 1])) {
        order[to] = order[to - 1];
        to--;
      }
      order[to] = held;
    }
  }

  /** Every document's rank on every interval, M x N, under {method, alpha}. */
  function path(of, settings) {
    const { n, m } = of;
    const ranks = new Int32Array(m * n);
    const key = new Float64Array(n);
    const order = Int32Array.from({ length: n }, (_, i) => i);
    const before = (a, b) => key[a] > key[b] || (key[a] === key[b] && a < b);
    for (let interval = 0; interval < m; interval++) {
      finals(of, interval, settings, key);
      resort(order, before);
      for (let place = 0; place < n; place++) ranks[interval * n + order[place]] = place + 1;
    }
    return { states: of, ranks, method: settings.method, alpha: settings.alpha };
  }

  const scratch = new Map();
  /** One document's rank on an interval at any alpha, by the ranking's own arithmetic. */
  function rankOn(of, index, interval, settings) {
    if (!scratch.has(of.n)) scratch.set(of.n, new Float64Array(of.n));
    const key = finals(of, interval, settings, scratch.get(of.n));
    let rank = 1;
    for (let j = 0; j < of.n; j++) if (key[j] > key[index] || (key[j] === key[index] && j < index)) rank++;
    return rank;
  }

  /* The plane: cells of constant rank for one document. */

  /**
   * Rows of tau (low, high); the cells of row r are start[r] to start[r + 1] - 1, alpha ascending, ends included.
   * best equals worst except in a crossing, some 1e-14 wide, in which rounding decides.
   */
  function plane(of, index, method) {
    const { n, m } = of;
    const rows = { low: [], high: [], start: [], alphaLow: [], alphaHigh: [], best: [], worst: [] };
    const cell = (low, high, best, worst) => {
      if (low > high) return;
      rows.alphaLow.push(low);
      rows.alphaHigh.push(high);
      rows.best.push(best);
      rows.worst.push(worst);
    };
    let low = new Float64Array(n);
    let high = new Float64Array(n);
    let lastLow = new Float64Array(n).fill(NaN);
    let lastHigh = new Float64Array(n).fill(NaN);
    let lastRank = -1;
    const order = Int32Array.from({ length: n }, (_, i) => i);
    const before = (a, b) => low[a] < low[b];
    for (let interval = 0; interval < m; interval++) {
      const rank = method === "hybrid" ? crossings(of, index, interval, low, high) : rankOn(of, index, interval, { method, alpha: 0 });
      if (method !== "hybrid") low.fill(Infinity);
      let alike = rank === lastRank;
      for (let j = 0; alike && j < n; j++) alike = low[j] === lastLow[j] && (low[j] === Infinity || high[j] === lastHigh[j]);
      if (alike) {
        rows.high[rows.high.length - 1] = of.high[interval];
        continue;
      }
      rows.low.push(of.low[interval]);
      rows.high.push(of.high[interval]);
      rows.start.push(rows.alphaLow.length);
      resort(order, before);
      let now = rank;
      let cursor = 0;
      for (let next = 0; next < n && low[order[next]] < Infinity; ) {
        const begin = low[order[next]];
        let reached = high[order[next]];
        let risen = 0;
        let fallen = 0;
        for (; next < n && low[order[next]] < Infinity && (risen + fallen === 0 || low[order[next]] <= nextUp(reached)); next++) {
          if (high[order[next]] > reached) reached = high[order[next]];
          if (order[next] < index) fallen++;
          else risen++;
        }
        cell(cursor, nextDown(begin), now, now);
        cell(begin, reached, now - risen, now + fallen);
        now += fallen - risen;
        cursor = nextUp(reached);
      }
      cell(cursor, 1, now, now);
      [lastRank, lastLow, low] = [rank, low, lastLow];
      [lastHigh, high] = [high, lastHigh];
    }
    rows.start.push(rows.alphaLow.length);
    return {
      states: of, index, method, low: Float32Array.from(rows.low), high: Float32Array.from(rows.high), start: Int32Array.from(rows.start),
      alphaLow: Float64Array.from(rows.alphaLow), alphaHigh: Float64Array.from(rows.alphaHigh),
      best: Int32Array.from(rows.best), worst: Int32Array.from(rows.worst),
    };
  }

  /** Where one document's line crosses each other's on an interval; returns its rank at alpha 0. */
  function crossings(of, index, interval, low, high) {
    const { n, stretched, similarity } = of;
    const row = interval * n;
    const mine = stretched[row + index];
    const scored = !Number.isNaN(mine);
    let rank = 1;
    for (let j = 0; j < n; j++) {
      const theirs = stretched[row + j];
      const sign = j > index ? 1 : -1;
      const x = sign * (theirs - mine);
      low[j] = high[j] = Infinity;
      if (x > 0) {
        const total = x + sign * (similarity[index] - similarity[j]);
        low[j] = Math.max(x - ROUNDING, 0) / total;
        high[j] = Math.min(x + ROUNDING, total) / total;
        if (j > index) rank++;
      } else if (scored ? !Number.isNaN(theirs) && j < index : !Number.isNaN(theirs) || j < index) rank++;
    }
    return rank;
  }

  const rowAt = (of, tau) => firstFrom(of.high, Math.fround(tau));

  /** Rank at any point, ties and rounding included. */
  function rankAt(of, tau, alpha) {
    const row = rowAt(of, tau);
    const cell = firstFrom(of.alphaHigh, alpha, of.start[row], of.start[row + 1]);
    if (of.best[cell] === of.worst[cell]) return of.best[cell];
    return rankOn(of.states, of.index, at(of.states, tau), { method: of.method, alpha });
  }

  /** Settled stretches of alpha, row by row, in which the rank is the given one. */
  function stretches(of, rank) {
    const found = [];
    for (let row = 0; row < of.low.length; row++) {
      for (let cell = of.start[row]; cell < of.start[row + 1]; cell++) {
        if (of.best[cell] === rank && of.worst[cell] === rank) found.push({ row, low: of.alphaLow[cell], high: of.alphaHigh[cell] });
      }
    }
    return found;
  }

  /** The best rank of any settled cell. */
  function bestRank(of) {
    let best = of.states.n;
    for (let cell = 0; cell < of.best.length; cell++) if (of.worst[cell] < best) best = of.worst[cell];
    return best;
  }

  const larger = (a, b) => a[0] !== b[0] ? a[0] > b[0] : a[1] !== b[1] ? a[1] > b[1] : a[2] > b[2];

  /** The largest rectangle in which the rank is the given one (region.py), or null. */
  function region(of, rank) {
    const found = stretches(of, rank);
    const byRow = new Map();
    for (const part of found) byRow.set(part.row, [...(byRow.get(part.row) || []), part]);
    const runEnd = new Map();
    for (const row of Array.from(byRow.keys()).sort((a, b) => b - a)) runEnd.set(row, runEnd.get(row + 1) ?? row);
    const counted = of.states.high[0];
    const size = (first, last, part) => {
      const [start, end, width] = [of.low[first], of.high[last], part.high - part.low];
      return [Math.max(0, end - Math.max(start, counted)) * width, end - start, width];
    };
    let best = null;
    let bestSize = [-1, -1, -1];
    for (const start of found) {
      const end = runEnd.get(start.row);
      let parts = [start];
      for (let row = start.row; row <= end; row++) {
        parts = parts.flatMap((whole) => byRow.get(row)
          .filter((other) => other.low <= whole.high && other.high >= whole.low)
          .map((other) => ({ row, low: Math.max(whole.low, other.low), high: Math.min(whole.high, other.high) })));
        parts = parts.filter((part) => larger(size(start.row, end, part), bestSize));
        if (!parts.length) break;
        for (const part of parts) {
          const here = size(start.row, row, part);
          if (larger(here, bestSize)) [best, bestSize] = [{ first: start.row, last: row, part }, here];
        }
      }
    }
    return best && { tauLow: of.low[best.first], tauHigh: of.high[best.last], alphaLow: best.part.low, alphaHigh: best.part.high };
  }

  /* The region in words: decimals rounded inwards, so that the sentence is true as it stands. */

  /** The shortest digits that mean a float32. */
  function digitsOf(value) {
    for (let precision = 1; precision < 10; precision++) {
      const text = value.toPrecision(precision);
      if (Math.fround(Number(text)) === value) return String(Number(text));
    }
    return String(value);
  }

  /** A decimal number as a whole number of 10^-DIGITS; digits beyond are dropped. */
  function scaled(text) {
    const [mantissa, exponent = "0"] = text.replace(/^-/, "").split("e");
    const [whole, part = ""] = mantissa.split(".");
    const shift = DIGITS + Number(exponent) - part.length;
    const value = shift >= 0 ? BigInt(whole + part) * 10n ** BigInt(shift) : BigInt(whole + part) / 10n ** BigInt(-shift);
    return text.startsWith("-") ? -value : value;
  }

  const floorTo = (value, step) => {
    const rest = ((value % step) + step) % step;
    return value - rest;
  };

  function written(value) {
    const text = (value < 0n ? -value : value).toString().padStart(DIGITS + 1, "0");
    const number = `${text.slice(0, -DIGITS)}.${text.slice(-DIGITS)}`.replace(/\.?0+$/, "");
    return value < 0n ? `-${number}` : number;
  }

  function rounded(low, high) {
    for (let decimals = 2; decimals < 17; decimals++) {
      const step = 10n ** BigInt(DIGITS - decimals);
      const inner = [-floorTo(-low, step), floorTo(high, step)];
      if ((inner[1] - inner[0]) * 100n >= KEPT * (high - low)) return inner.map(written);
    }
    return [written(low), written(high)];
  }

  function rangeWords(low, high, whole, words) {
    if (low === whole[0] && high === whole[1]) return "";
    if (low === high) return ` ${low}`;
    const [shownLow, shownHigh] = rounded(scaled(low), scaled(high));
    if (low === whole[0]) return ` ${words[0]} ${shownHigh}`;
    if (high === whole[1]) return ` ${words[1]} ${shownLow}`;
    return ` ${shownLow}${low.startsWith("-") ? " to " : "-"}${shownHigh}`;
  }

  /** "first for tau 0.87-0.91 at any alpha below 0.4". */
  function sentence(where, what = "first") {
    const tau = rangeWords(digitsOf(where.tauLow), digitsOf(where.tauHigh), ["-1", "1"], ["up to", "from"]);
    const range = rangeWords(String(where.alphaLow), String(where.alphaHigh), ["0", "1"], ["below", "above"]);
    const alpha = /^ \d/.test(range) ? `alpha${range}` : `any alpha${range}`;
    return tau ? `${what} for tau${tau} at ${alpha}` : `${what} at any tau and ${alpha}`;
  }

  /* Flip points. */

  /** The tau nearest to a given one among the wanted intervals; of two equally near, the lower; null if there is none. */
  function nearestTau(of, tau, wanted) {
    if (wanted(at(of, tau))) return tau;
    let best = null;
    for (let m = 0; m < of.m; m++) {
      if (!wanted(m)) continue;
      for (const end of [of.low[m], of.high[m]]) {
        const nearer = best === null ? -1 : Math.abs(end - tau) - Math.abs(best - tau);
        if (nearer < 0 || (nearer === 0 && end < best)) best = end;
      }
    }
    return best;
  }

  /** A double at which a condition holds while it does not at its neighbour towards `outside` (flips.py). */
  function nearestFlip(outside, inside, holds) {
    const bits = (value) => {
      double[0] = value + 0;
      return doubleBits[0];
    };
    const value = (of) => {
      doubleBits[0] = of;
      return double[0];
    };
    let [no, yes] = [bits(outside), bits(inside)];
    while (yes - no > 1n || no - yes > 1n) {
      const middle = (no + yes) / 2n;
      if (holds(value(middle))) yes = middle;
      else no = middle;
    }
    return value(yes);
  }

  /** Where the lower of two documents would overtake the upper: the nearest tau, and the nearest alpha, or null. */
  function swap(of, ranked, settings, upper, lower) {
    const { n, stretched, similarity } = of;
    const tau = nearestTau(of, settings.tau, (m) => ranked.ranks[m * n + lower] < ranked.ranks[m * n + upper]);
    const row = at(of, settings.tau) * n;
    const [earlier, later] = upper < lower ? [upper, lower] : [lower, upper];
    if (settings.method !== "hybrid" || !(stretched[row + later] > stretched[row + earlier])) return { upper, lower, tau, alpha: null };
    const line = (i, alpha) => alpha * similarity[i] + (1 - alpha) * stretched[row + i];
    const swapped = (alpha) => (lower < upper ? line(lower, alpha) >= line(upper, alpha) : line(lower, alpha) > line(upper, alpha));
    return { upper, lower, tau, alpha: nearestFlip(settings.alpha, lower < upper ? 1 : 0, swapped) };
  }

  /** What it would take for the document of a plane to be first: {rank, tau, alpha, both}; null where nothing does. */
  function toBeFirst(cells, ranked, settings) {
    const { states: of, index } = cells;
    const interval = at(of, settings.tau);
    const rank = rankOn(of, index, interval, settings);
    if (rank === 1) return { rank, tau: settings.tau, alpha: settings.alpha, both: [settings.tau, settings.alpha] };
    const tau = nearestTau(of, settings.tau, (m) => ranked.ranks[m * of.n + index] === 1);
    const first = stretches(cells, 1);
    const here = first.find(({ row }) => row === rowAt(cells, settings.tau));
    const alpha = settings.method !== "hybrid" || !here ? null : nearestFlip(
      settings.alpha, Math.min(Math.max(settings.alpha, here.low), here.high),
      (value) => rankOn(of, index, interval, { method: settings.method, alpha: value }) === 1);
    const exact = Math.fround(settings.tau);
    const span = 1 - of.high[0] || 1;
    let both = null;
    let least = Infinity;
    for (const { row, low, high } of first) {
      const t = Math.min(Math.max(exact, cells.low[row]), cells.high[row]);
      const a = Math.min(Math.max(settings.alpha, low), high);
      const distance = ((t - exact) / span) ** 2 + (a - settings.alpha) ** 2;
      if (distance < least) [least, both] = [distance, [t === exact ? settings.tau : t, a]];
    }
    return { rank, tau, alpha, both };
  }

  /** Candidate i with each keyword on the other side, one at a time: {inA: where it is now, causal, rank}. */
  function otherSides(table, ranking, settings, i) {
    return Array.from({ length: table.size[i] }, (_, j) => {
      const exact = ranking.inA.slice();
      const there = i * table.k + j;
      exact[there] = exact[there] ? 0 : 1;
      const moved = CausalVizRerank.rerank({ ...table, exact }, { ...settings, mode: "exact" });
      return { inA: ranking.inA[there] === 1, causal: moved.emptyB[i] ? NaN : moved.causal[i], final: moved.final[i], rank: moved.rank[i] };
    });
  }

  ns.path = {
    states, at, path, rankOn, plane, rowAt, rankAt, stretches, bestRank, region, sentence, nearestTau, swap, toBeFirst, otherSides,
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
