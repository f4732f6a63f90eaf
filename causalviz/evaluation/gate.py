"""The calibration gate (METHOD.md, section 5; the paper's Table 4): from labelled questions to which method may rank.

The paper enables re-ranking iff delta = mean(re-ranked) - mean(by similarity) is above zero on labelled probes. The
share of bootstrap resamples of n probes that decide as the full set does is the reliability of that decision.

The rule here, for several methods at once:

- The method with the highest mean is picked; of equals the one that changes less (the order of METHODS).
- "on": a re-ranking method is picked, and in NEEDED of the resamples its delta is above zero.
- "off": similarity is picked, and in NEEDED of the resamples no re-ranking method has a delta above zero.
- "undecided" otherwise, and with fewer than LEAST questions, however well they agree: a resample holds nothing that the
  questions do not, so a few questions that happen to agree would always be called reliable.

The bar has one side: where it is met, a 95 % interval of the difference, which has two, may still hold zero.

The resamples of one size begin with those of the smaller sizes, so that the curve over n has no jumps of its own.
Sizes beyond the number of labelled questions show what more questions like these would do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from causalviz.errors import ParameterError
from causalviz.evaluation.measures import RESAMPLES, Qrels, Rankings, check_seed
from causalviz.evaluation.measures import measure as measure_rankings
from causalviz.records import Method
from causalviz.score import Float64Array

METHODS: tuple[Method, ...] = ("similarity", "guarded", "hybrid", "causal")
"""Those that change less come first."""
COLUMNS: Mapping[Method, str] = {
    "similarity": "similarity",
    "guarded": "guarded",
    "hybrid": "hybrid",
    "causal": "semantic",
}
"""The column of Tables 2 and 3 that measures each."""
NAMES: Mapping[Method, str] = {
    "similarity": "similarity",
    "guarded": "guarded re-ranking",
    "hybrid": "the hybrid",
    "causal": "the causal score",
}
"""What sentences call them."""
NDCG = "nDCG@10"
TARGET_RANK = "target rank"
"""The paper's measure of themes; its values are ranks times -1, so that more is better and delta counts places."""
PROBES = 30
"""The paper's number for test collections; more than are labelled counts as all of them."""
NEEDED = 0.95
"""The paper's bar for a decision."""
_NEEDED = f"{100 * NEEDED:.0f} %"
LEAST = 4
"""Questions: the paper's smallest probe set."""
FURTHER = 500
"""How many more questions the curve looks ahead."""
_INTERVAL = (0.025, 0.975)
_MOST_RESAMPLES = 100_000
_DECIMALS = 12
"""Means that differ by less are equal: which order they were summed in must not decide."""

Decision = Literal["on", "off", "undecided"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What labelled questions say about ranking by each method. Differences and reliabilities leave out similarity."""

    decision: Decision
    method: Method
    """The one picked: what should rank, or where undecided what the questions lean to."""
    measure: str
    labelled: int
    """Questions with a value."""
    probes: int
    """n: questions in a resample, at most as many as are labelled."""
    resamples: int
    seed: int
    delta: Mapping[Method, float]
    """Mean difference to similarity, in the measure's unit; above zero is better."""
    interval: Mapping[Method, tuple[float, float]]
    """95 %, paired bootstrap of all labelled questions; empty for a single one, which has none."""
    reliability: Mapping[Method, float]
    """The paper's: share of resamples in which the method's delta is on the side of zero the full set puts it."""
    agreement: float
    """Share of resamples that agree with the verdict, which NEEDED is asked of."""
    choice_reliability: float
    """Share of resamples that pick the same of all methods."""
    curve: tuple[tuple[int, float], ...]
    """The agreement by the number of questions in a resample, ascending."""
    more: int | None
    """About how many questions beyond ``probes`` reach NEEDED; None where FURTHER do not."""
    sentence: str

    @property
    def compared(self) -> Method:
        """The re-ranking method a summary shows: the one picked, else the best of them."""
        best = max(self.delta, key=lambda name: self.delta[name])
        return best if self.method == "similarity" else self.method

    def keeps_off(self, method: Method) -> bool:
        """Tell whether the questions reliably speak against one method, whatever the verdict on all of them."""
        return (
            self.labelled >= LEAST
            and self.delta.get(method, np.inf) <= 0
            and self.reliability[method] >= NEEDED
        )


def judge(
    values: Mapping[Method, Sequence[float]],
    *,
    measure: str,
    probes: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Verdict:
    """Decide which method may rank, by the rule above.

    Args:
        values: One number a labelled question and method, more is better; similarity and at least one other of METHODS,
            the same questions in the same order.
        measure: What the numbers are, as NDCG.
        probes: n, how many questions a resample holds; more than are labelled counts as all, which is also the default.
        resamples: How many are drawn.
        seed: Same seed, same verdict.

    Raises:
        ParameterError: there is no question, no question on which any method found anything (all values are 0), a value
            is no finite number, methods differ in length or are missing, or a count or the seed is out of range.
    """
    check_draws(probes, resamples, seed)
    names, table = _table(values)
    gains = table - table[0]
    labelled = gains.shape[1]
    size = labelled if probes is None else min(probes, labelled)
    whole = _settled(gains.mean(axis=1))
    picked = int(whole.argmax())
    sizes = _sizes(size, labelled)
    means = _resampled_means(gains, sizes, resamples, seed)
    at = sizes.index(size)
    better = means > 0
    agree = (better[:, picked] if picked else ~better.any(axis=1)).mean(axis=1)
    low, high = np.quantile(means[sizes.index(labelled)], _INTERVAL, axis=1)
    reliability = (better[at] == (whole > 0)[:, None]).mean(axis=1)
    enough = next(
        (n for n, share in zip(sizes, agree, strict=True) if n >= max(size, LEAST) and share >= NEEDED), None
    )
    decided = labelled >= LEAST and agree[at] >= NEEDED
    others = range(1, len(names))
    found = Verdict(
        decision=("on" if picked else "off") if decided else "undecided",
        method=names[picked],
        measure=measure,
        labelled=labelled,
        probes=size,
        resamples=resamples,
        seed=seed,
        delta={names[i]: float(whole[i]) for i in others},
        interval={names[i]: (float(low[i]), float(high[i])) for i in others} if labelled > 1 else {},
        reliability={names[i]: float(reliability[i]) for i in others},
        agreement=float(agree[at]),
        choice_reliability=float((means[at].argmax(axis=0) == picked).mean()),
        curve=tuple((n, float(share)) for n, share in zip(sizes, agree, strict=True)),
        more=0 if decided else None if enough is None else enough - size,
        sentence="",
    )
    return replace(found, sentence=_sentence(found))


def ndcg(rankings: Mapping[Method, Rankings], qrels: Qrels) -> dict[Method, list[float]]:
    """Measure what judge() takes: nDCG@10 of every query of ``qrels``, in their order, by method."""
    return {
        name: [scores["ndcg@10"] for scores in measure_rankings(found, qrels).values()]
        for name, found in rankings.items()
    }


def check_draws(probes: int | None, resamples: int, seed: int) -> None:
    """Refuse draws that judge() would refuse.

    Raises:
        ParameterError: a count or the seed is out of range.
    """
    check_seed(seed)
    _check_count("probes", probes, None)
    _check_count("resamples", resamples, _MOST_RESAMPLES)


def _check_count(name: str, count: int | None, most: int | None) -> None:
    if count is None or (count >= 1 and (most is None or count <= most)):
        return
    wanted = "1 or more" if most is None else f"1 to {most:,}"
    raise ParameterError(f"{name} is {count:,}, but a count from {wanted} was expected; choose one.")


def _table(values: Mapping[Method, Sequence[float]]) -> tuple[tuple[Method, ...], Float64Array]:
    """Return the methods in the order of METHODS and their values, (methods, questions); the first is similarity."""
    names = tuple(name for name in METHODS if name in values)
    if "similarity" not in names or len(names) == 1 or len(names) < len(values):
        raise ParameterError(
            f"the methods to judge are {', '.join(values) or 'none'}, but similarity and at least one of "
            f"{', '.join(METHODS[1:])} were expected; give each its values."
        )
    lengths = [len(values[name]) for name in names]
    if not max(lengths):
        raise ParameterError("no question is labelled, so there is nothing to judge by; label some.")
    if len(set(lengths)) > 1:
        found = ", ".join(f"{n} of {name}" for n, name in zip(lengths, names, strict=True))
        raise ParameterError(
            f"there are values of {found}, but every method needs one for each question; measure the same questions by "
            "all methods."
        )
    try:
        table = np.array([values[name] for name in names], np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a value is no number ({error}); give one number a question.") from error
    if not np.isfinite(table).all():
        raise ParameterError(
            f"a value is {table[~np.isfinite(table)][0]:g}, but finite numbers were expected; measure that question "
            "again."
        )
    if not table.any():
        raise ParameterError(
            "no method ranks a relevant document on any question, so nothing speaks for one or the other; label "
            "documents that answer."
        )
    return names, table


def _sizes(size: int, labelled: int) -> list[int]:
    """Return growing resample sizes, the given two among them, as far as the curve looks ahead."""
    last = max(size + FURTHER, labelled)
    sizes, n = {size, labelled, last}, 1
    while n < last:
        sizes.add(n)
        n += max(1, n // 5)
    return sorted(sizes)


def _resampled_means(gains: Float64Array, sizes: Sequence[int], resamples: int, seed: int) -> Float64Array:
    """Average the gains over resamples of the questions.

    Args:
        gains: (methods, questions); the first row is zero.
        sizes: Ascending, at least 1.
        resamples: How many of each size.
        seed: Of the draws.

    Returns:
        (sizes, methods, resamples)
    """
    draw = np.random.default_rng(seed)
    total = np.zeros((len(gains), resamples))
    means = []
    for before, size in zip((0, *sizes), sizes, strict=False):
        drawn = draw.integers(0, gains.shape[1], (resamples, size - before), np.int32)
        total[1:] += gains[1:, drawn].sum(axis=2)  # similarity gains nothing on itself
        means.append(_settled(total / size))
    return np.stack(means)


def _settled(means: Float64Array) -> Float64Array:
    """Round away what the order of summing left; zero has no sign."""
    settled: Float64Array = np.round(means, _DECIMALS) + 0.0
    return settled


def _sentence(found: Verdict) -> str:
    if found.labelled < LEAST:
        return (
            f"Too few labels: {found.labelled} question{' says' if found.labelled == 1 else 's say'} too little about "
            f"others; label {LEAST - found.labelled} more at least."
        )
    compared = found.compared
    amount = f"{abs(found.delta[compared]):.3f} in {found.measure}"
    if found.method != "similarity":
        leads = f"{NAMES[compared]} is better than similarity by {amount}"
    elif found.delta[compared] < 0:
        leads = f"similarity is better than every re-ranking, by {amount} than {NAMES[compared]}, the best of them"
    else:
        leads = "no re-ranking is better than similarity"
    # Rounded down: 94.99 % must not read as what is needed.
    share = f"{int(100 * found.agreement + 1e-9)} % of resamples of {found.probes} agree"
    match found.decision:
        case "on":
            said = f"; it is switched on, and {share}"
        case "off":
            said = f"; re-ranking is kept off, and {share}"
        case "undecided" if found.more is None:
            said = (
                f", but only {share}: too few labels; even {found.probes + FURTHER} would not reach {_NEEDED}"
            )
        case "undecided":
            said = (
                f", but only {share}: too few labels; about {found.probes + found.more} would reach {_NEEDED}"
            )
    return f"On {found.labelled} labelled questions {leads}{said}."
