"""The paper's statistics of a question that need no judgment (section 4.6), and strata of questions.

The paper names three statistics and leaves their definitions open; each function below says what was chosen. All look
at the ten most similar candidates, or at all where there are fewer, and give a share in [0, 1].
"""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

import numpy as np

from causalviz.errors import CollectionError
from causalviz.evaluation.qrels import text_lines
from causalviz.partition import absorbed
from causalviz.rank import min_max
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable

TOP = 10
STATISTICS = ("keyword_overlap", "a_absorption", "top1_gap", "empty_b")

Strata = Mapping[str, Sequence[str]]
"""Query ids by stratum."""


def query_statistics(trace: Trace, settings: RankSettings) -> dict[str, float]:
    """Return all of STATISTICS; of the settings, tau and the mode count."""
    shares = absorption_shares(trace, settings)
    return {
        "keyword_overlap": keyword_overlap(trace),
        "a_absorption": fmean(shares) if shares else 0.0,
        "top1_gap": top1_gap(trace),
        "empty_b": fmean(share == 1.0 for share in shares) if shares else 0.0,
    }


def keyword_overlap(trace: Trace) -> float:
    """Return the mean share of the question's keywords that are, word for word, keywords of a candidate.

    The question's keywords are the denominator, so that the rate does not depend on how many a document has. 0 without
    keywords or candidates.
    """
    first = trace.candidates[:TOP]
    if not first or not trace.query_keywords:
        return 0.0
    return fmean(int(candidate.exact.sum()) for candidate in first) / len(trace.query_keywords)


def absorption_shares(trace: Trace, settings: RankSettings) -> list[float]:
    """Return each candidate's A-absorption ratio: the weight of its keywords in A by that of all its keywords.

    It is 1 exactly where B is empty, so also for a document without keywords, which has nothing in B either.
    """
    table = ScoreTable.of(trace.candidates[:TOP])
    in_a = absorbed(table.cosines, table.exact, settings.tau, settings.mode)
    total, rest = table.weights.sum(axis=1), np.where(in_a, 0.0, table.weights).sum(axis=1)
    left = np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)
    return [1.0 - share for share in left.tolist()]


def top1_gap(trace: Trace) -> float:
    """Return how far the runner-up lies behind the first: (s1 - s2) / (s1 - s10).

    Similarities are normalised as for the hybrid, min-max over the candidates looked at, since cosines of one encoder
    fill 0.8 to 0.9 and of another 0 to 0.7. 0 where all are equal or there is only one.
    """
    similarity = min_max(np.array([candidate.similarity for candidate in trace.candidates[:TOP]], np.float64))
    return float(similarity[0] - similarity[1]) if similarity.size > 1 else 0.0


def median_split(values: Mapping[str, float]) -> Strata:
    """Split queries at the median of a statistic: "low" up to it, "high" above it.

    Args:
        values: By query id, at least one.

    Returns:
        Strata that hold a query; only "low" where all values are equal.
    """
    middle = median(values.values())
    strata = {
        "low": [id_ for id_, value in values.items() if value <= middle],
        "high": [id_ for id_, value in values.items() if value > middle],
    }
    return {name: ids for name, ids in strata.items() if ids}


def read_strata(path: Path, known: Container[str]) -> dict[str, str]:
    """Read lines ``query-id<TAB>stratum``.

    Args:
        path: The file, in UTF-8.
        known: The ids there are.

    Returns:
        Stratum by query id.

    Raises:
        CollectionError: the file cannot be read or is empty, a line is of another form, or an id is unknown or occurs
            twice.
    """
    strata: dict[str, str] = {}
    for number, line in text_lines(path):
        where = f"line {number} of '{path.name}'"
        id_, _, stratum = (part.strip() for part in line.partition("\t"))
        if not id_ or not stratum:
            raise CollectionError(f"{where} names no stratum; expected a query's id, a tab and its stratum.")
        if id_ not in known:
            raise CollectionError(
                f"{where} names the query '{id_}', which has no judgments; remove the line or judge the query."
            )
        if id_ in strata:
            raise CollectionError(
                f"{where} puts the query '{id_}' into a stratum again; keep one of the lines."
            )
        strata[id_] = stratum
    if not strata:
        raise CollectionError(
            f"'{path.name}' holds no stratum; write a query's id, a tab and its stratum a line."
        )
    return strata
