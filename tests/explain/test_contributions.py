from itertools import pairwise

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from strategies import rank_settings, traces

from causalviz.explain.contributions import waterfall
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable


def test_the_waterfall_of_the_worked_example() -> None:
    trace = worked_example()
    ranking = rerank(ScoreTable.of(trace.candidates), trace.settings)
    w, x = waterfall(trace, ranking, 1)
    assert (w.term, w.weight, w.relevance, w.start) == ("w", 1, 1, 0)
    assert w.share == w.end == pytest.approx(np.sqrt(0.5))
    assert (x.term, x.share, x.start, x.end) == ("x", 0, w.end, w.end)
    assert waterfall(trace, ranking, 2) == ()


@given(traces(min_documents=1), rank_settings())
def test_the_steps_join_and_end_at_the_score(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    for index, candidate in enumerate(trace.candidates):
        steps = waterfall(trace, ranking, index)
        assert (
            sorted(s.keyword for s in steps)
            == np.flatnonzero(~ranking.in_a[index, : len(candidate.terms)]).tolist()
        )
        assert bool(steps) != bool(ranking.empty_b[index])
        if not steps:
            continue
        assert steps[0].start == 0
        assert steps[-1].end == pytest.approx(ranking.causal[index], abs=1e-12)
        for first, second in pairwise(steps):
            assert first.end == second.start
        shares = [s.share for s in steps]
        rising = [s for s in shares if s >= 0]
        assert shares[: len(rising)] == sorted(rising, reverse=True)
        assert shares[len(rising) :] == sorted(shares[len(rising) :])
