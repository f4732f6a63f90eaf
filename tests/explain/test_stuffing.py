import math
from dataclasses import replace

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from strategies import rank_settings, traces

from causalviz.explain.stuffing import stuffing_evidence
from causalviz.explain.suspicion import percent
from causalviz.guard import density_limit
from causalviz.records import RankSettings, Trace

USUAL = np.array([0.0] * 10 + [0.01, 0.02, 0.03, 0.04, 0.05])
# Lower quartile of the five that use the words: 0.02. Scale 0.02 / ln(4/3); five documents, half expected beyond.
LIMIT = 0.02 / math.log(4 / 3) * math.log(10)


def with_counts(trace: Trace, *counts: tuple[int, int]) -> Trace:
    return replace(
        trace,
        candidates=tuple(
            replace(c, repeats=r, tokens=t) for c, (r, t) in zip(trace.candidates, counts, strict=True)
        ),
    )


def test_the_limit_by_hand() -> None:
    assert density_limit(USUAL) == pytest.approx(LIMIT)
    assert density_limit(np.array([0.0, 0.1, 0.2, 0.3])) is None
    assert density_limit(np.zeros(0)) is None


def test_a_density_beyond_the_limit_raises_the_flag() -> None:
    counted = with_counts(worked_example(), (40, 100), (10, 100), (0, 0))
    trace = replace(counted, densities=USUAL.astype(np.float32), density_limit=density_limit(USUAL))
    dense, usual, none = (stuffing_evidence(trace, trace.settings, i)[1] for i in range(3))
    assert (dense.value, dense.quantile, dense.flagged) == (0.4, 1, True)
    assert dense.limit == pytest.approx(LIMIT)
    assert dense.sentence == (
        "Uses the question’s words 40 times, 40 % of its content words; documents of this kind rarely exceed 16 %."
    )
    assert (usual.value, usual.flagged) == (0.1, False)
    assert (none.value, none.quantile, none.flagged) == (0, 0, False)
    assert none.sentence == "Does not repeat the question’s words."


def test_the_guard_has_the_first_word() -> None:
    first, second, third = worked_example().candidates
    trace = replace(
        worked_example(),
        candidates=(
            replace(first, suspect=True, use=4.125, topic=0.5),
            replace(second, suspect=True, use=1.0, topic=1.0, repeats=25, tokens=100),
            replace(third, use=0.5, topic=0.04, repeats=15, tokens=100),
        ),
        density_limit=0.12,
    )
    words, dense, clear = (stuffing_evidence(trace, trace.settings, i)[0] for i in range(3))
    assert (words.kind, words.value, words.limit, words.flagged) == ("guard", 4.125, 1, True)
    assert words.sentence == (
        "Suspected of stuffing: it uses the question’s words 4.1 times as much as documents here usually do, while the "
        "rest of it has 0.5 times as much to do with the other results."
    )
    assert (dense.value, dense.flagged) == (1, True)
    assert dense.sentence == (
        "Suspected of stuffing: the question’s words make up 25 % of its content words, more than twice the 12 % that "
        "documents here rarely exceed."
    )
    assert not clear.flagged
    assert clear.sentence == (
        "Not suspected of stuffing: it uses the question’s words 0.5 times as much as documents here usually do, and "
        "the rest of it has next to nothing to do with the other results."
    )
    # Beyond the limit, but not suspected: one mark, the guard's.
    assert [stuffing_evidence(trace, trace.settings, i)[1].flagged for i in range(3)] == [False, True, False]


def test_without_its_numbers_the_guard_says_only_what_is_known() -> None:
    first, *others = worked_example().candidates
    trace = replace(worked_example(), candidates=(replace(first, suspect=True), *others))
    suspect, other = (stuffing_evidence(trace, trace.settings, i)[0] for i in range(2))
    assert (suspect.value, suspect.limit, suspect.flagged) == (None, None, True)
    assert suspect.sentence == "Suspected of stuffing."
    assert (other.value, other.limit, other.flagged) == (None, None, False)
    assert other.sentence == (
        "Not suspected of stuffing: what use of the question’s words is usual here is not known."
    )


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0, "0 %"),
        (0.0005, "under 0.1 %"),
        (0.03125, "3.1 %"),
        (0.0625, "6.3 %"),
        (0.125, "13 %"),
        (1, "100 %"),
    ],
)
def test_a_share_is_told_as_in_the_page(share: float, told: str) -> None:
    assert percent(share) == told


def test_too_few_documents_tell_nothing() -> None:
    trace = with_counts(worked_example(), (1, 100), (0, 100), (0, 100))
    found = stuffing_evidence(trace, trace.settings, 0)[1]
    assert (found.limit, found.flagged) == (None, False)
    assert found.sentence == (
        "Uses the question’s words once, 1.0 % of its content words; too few documents use them at all to say what is "
        "usual."
    )


def test_the_share_set_aside_of_the_worked_example() -> None:
    trace = worked_example()
    shares = [stuffing_evidence(trace, trace.settings, i)[2] for i in range(3)]
    assert [s.value for s in shares] == [0.75, 0, 1]
    assert [s.flagged for s in shares] == [False, False, True]
    assert (
        shares[2].sentence
        == "100 % of its keyword weight is shared with the question: nothing but query keywords."
    )
    assert shares[0].sentence == "75 % of its keyword weight is shared with the question."
    assert shares[0].quantile == pytest.approx(1 / 3)


def test_a_share_far_above_the_others_raises_the_flag() -> None:
    trace = worked_example()
    _, d2, _ = trace.candidates
    many = [replace(d2, id=f"e{i}", similarity=0.4 - i / 100) for i in range(6)]
    # Cosines 0.8 of w only: half of d2's weight is set aside at tau 0.8; d1 keeps v, a quarter.
    wide = replace(trace, candidates=(*trace.candidates, *many))
    found = stuffing_evidence(wide, RankSettings(tau=0.8), 0)[2]
    assert found.limit == pytest.approx(0.5)
    assert found.flagged
    assert found.sentence == (
        "75 % of its keyword weight is shared with the question, more than the other candidates' usual 50 %."
    )
    assert not stuffing_evidence(wide, RankSettings(tau=0.8), 3)[2].flagged


def test_a_copy_raises_the_flag() -> None:
    trace = worked_example()
    twin = replace(trace.candidates[2], duplicate_of="d1")
    copied = replace(trace, candidates=(*trace.candidates[:2], twin))
    found = stuffing_evidence(copied, trace.settings, 2)[3]
    assert (found.value, found.flagged, found.sentence) == (1, True, "Same text as d1.")
    other = stuffing_evidence(copied, trace.settings, 0)[3]
    assert (other.value, other.flagged) == (0, False)


@given(traces(min_documents=1), rank_settings())
def test_evidence_is_made_of_shares(trace: Trace, chosen: RankSettings) -> None:
    for index in range(len(trace.candidates)):
        verdict, *shares = stuffing_evidence(trace, chosen, index)
        assert verdict.flagged == trace.candidates[index].suspect
        for found in shares:
            assert found.value is not None
            assert 0 <= found.value <= 1
            assert found.quantile is None or 0 <= found.quantile <= 1
            assert found.sentence.endswith(".")
