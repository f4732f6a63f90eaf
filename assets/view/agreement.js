/* How far two rankings agree: rank-biased overlap and AP correlation. Pure; lists of ids, best first, each id once. */
(function (ns) {
  "use strict";

  /** Weight of depth in rank-biased overlap: the first ten places carry 86 % of it. */
  const PERSISTENCE = 0.9;

  /**
   * Rank-biased overlap, extrapolated from the shorter list's depth k (Webber, Moffat and Zobel 2010, equation 23):
   * (X_k / k) p^k + ((1 - p) / p) sum over d of (X_d / d) p^d, X_d being the overlap of the first d places.
   * 1 for equal lists, 0 for disjoint ones, null where a list is empty.
   */
  function rankBiasedOverlap(first, second, p = PERSISTENCE) {
    const depth = Math.min(first.length, second.length);
    if (!depth) return null;
    const seen = new Set();
    let overlap = 0;
    let sum = 0;
    let power = 1;
    for (let d = 1; d <= depth; d++) {
      for (const id of [first[d - 1], second[d - 1]]) {
        if (seen.has(id)) overlap++;
        else seen.add(id);
      }
      power *= p;
      sum += (overlap / d) * power;
    }
    return (overlap / depth) * power + ((1 - p) / p) * sum;
  }

  /**
   * AP correlation of `first` with the reference `second` (Yilmaz, Aslam and Robertson 2008): 2 / (n - 1) times the sum,
   * over places i > 1 of `first`, of the share of the documents above i that `second` also puts above it; minus 1.
   * Over the documents both lists hold; -1 for reversed lists, 1 for equal ones, null for fewer than two.
   */
  function apCorrelation(first, second) {
    const place = new Map(second.map((id, at) => [id, at]));
    const places = first.filter((id) => place.has(id)).map((id) => place.get(id));
    if (places.length < 2) return null;
    let sum = 0;
    for (let i = 1; i < places.length; i++) {
      let right = 0;
      for (let above = 0; above < i; above++) if (places[above] < places[i]) right++;
      sum += right / i;
    }
    return (2 * sum) / (places.length - 1) - 1;
  }

  ns.agreement = { rankBiasedOverlap, apCorrelation };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
