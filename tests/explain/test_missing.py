from dataclasses import replace

import numpy as np
import pytest
from explain.random_traces import random_trace, worked_example

from causalviz.errors import ParameterError
from causalviz.explain.missing import why_missing
from causalviz.explain.tau_path import TauSpan
from causalviz.rank import rerank
from causalviz.records import RankSettings
from causalviz.score import ScoreTable

F = np.float32


def test_the_second_document_missing_from_the_first_and_third() -> None:
    whole = worked_example()
    d1, d2, d3 = whole.candidates
    trace = replace(whole, candidates=(d1, d3), top_k=1, theta=0.75)
    found = why_missing(trace, trace.settings, whole, "d2", 2)
    assert (found.top_k, found.beyond_top_k) == (2, True)
    assert (found.theta, found.below_theta) == (d2.similarity, True)
    assert found.index == 1
    assert found.rank == 1
    assert found.spans == (
        TauSpan(low=-1, high=float(F(0.8)), rank=2),
        TauSpan(low=float(np.nextafter(F(0.8), F(1))), high=1, rank=1),
    )
    assert found.tau_for(1) == 0.9
    low = why_missing(trace, RankSettings(tau=0.7), whole, "d2", 2)
    assert low.tau_for(1) == np.nextafter(F(0.8), F(1))
    assert low.tau_for(2) == 0.7


def test_what_does_not_shut_it_out() -> None:
    whole = worked_example()
    trace = replace(whole, candidates=whole.candidates[:2], top_k=3, theta=0.5)
    found = why_missing(trace, trace.settings, whole, "d3", 3)
    assert (found.beyond_top_k, found.below_theta) == (False, False)
    assert found.tau_for(1) is None


def test_it_ranks_as_if_it_had_been_a_candidate() -> None:
    trace = random_trace(np.random.default_rng(4), 30)
    settings = RankSettings(tau=0.4)
    table = ScoreTable.of(trace.candidates)
    for index in (0, 7, 29):
        others = tuple(c for i, c in enumerate(trace.candidates) if i != index)
        id_ = trace.candidates[index].id
        found = why_missing(replace(trace, candidates=others), settings, trace, id_, index + 1)
        assert found.index == index
        for span in found.spans:
            for tau in (span.low, span.high):
                assert rerank(table, replace(settings, tau=tau)).rank[index] == span.rank


def test_a_candidate_is_not_missing() -> None:
    trace = worked_example()
    with pytest.raises(ParameterError, match="'d2' is among the candidates already"):
        why_missing(trace, trace.settings, trace, "d2", 2)
    others = replace(trace, candidates=trace.candidates[:2])
    with pytest.raises(ParameterError, match="ranks start at 1"):
        why_missing(others, trace.settings, trace, "d3", 0)
    with pytest.raises(ParameterError, match="ranks start at 1"):
        why_missing(others, trace.settings, trace, "d3", 3).tau_for(0)
    with pytest.raises(ParameterError, match="no document 'nobody'"):
        why_missing(others, trace.settings, trace, "nobody", 3)


def test_among_equals_it_keeps_the_place_it_has_in_the_widened_trace() -> None:
    # Chunks are ordered by number: #2 stands before #10, which as a text comes first.
    whole = worked_example()
    chunks = tuple(replace(whole.candidates[1], id=f"a.txt#{n}") for n in range(1, 13))
    widened = replace(whole, candidates=chunks)
    for index, missing in enumerate(chunks):
        trace = replace(whole, candidates=tuple(chunk for chunk in chunks if chunk is not missing))
        found = why_missing(trace, trace.settings, widened, missing.id, 1)
        assert (found.index, found.rank) == (index, index + 1)
