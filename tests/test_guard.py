"""The guard: what is usual comes from the knowledge base, and a suspicion needs use without topic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import cosine
from scipy.sparse import csr_matrix

from causalviz.arrays import IndexVector
from causalviz.guard import (
    DENSE,
    Usage,
    density_limit,
    explained_use,
    keyword_use,
    suspicion,
)
from causalviz.score import Float64Array

ASKED = 0
"""Column of the question's one word."""


def usage(counts: Float64Array) -> Usage:
    repeats = counts[:, ASKED].astype(np.int64)
    return Usage(
        words=np.array([ASKED]),
        use=keyword_use([repeats], [1.0], len(counts)),
        repeats=repeats,
        tokens=counts.sum(axis=1).astype(np.int64),
    )


def rows(*numbers: int) -> IndexVector:
    return np.array(numbers, np.int64)


# Words: the question's, two of its subject, two of another subject. Weights are the counts themselves.
BOOK = np.array(
    [
        [3, 4, 4, 0, 0],  # 0 about the subject
        [1, 4, 3, 0, 0],  # 1 about the subject
        [7, 0, 0, 9, 9],  # 2 about something else, with the question's word put in
        [1, 1, 0, 6, 6],  # 3 .. 6 mention the word, no candidates
        [1, 0, 1, 6, 6],
        [1, 1, 0, 8, 6],
        [1, 0, 1, 6, 8],
        [0, 0, 0, 9, 9],  # 7 does not use it
    ],
    np.float64,
)


def test_use_and_topic_are_multiples_of_those_of_documents_outside_the_candidates() -> None:
    candidates, pull = rows(0, 1, 2), np.array([1.0, 0.5, 0.0])
    found = suspicion(usage(BOOK), csr_matrix(BOOK), candidates, pull)
    # documents 3 to 6 use the word once each: ln 2
    assert found.use == pytest.approx(np.log([4, 2, 8]) / np.log(2))
    # without the word: unit vectors of the other four columns, the candidates weighed by 0.2 + pull
    left = BOOK[:, 1:] / np.linalg.norm(BOOK[:, 1:], axis=1, keepdims=True)
    total = 1.2 * left[0] + 0.7 * left[1] + 0.2 * left[2]
    usual = np.mean([cosine(left[i], total) for i in (3, 4, 5, 6)])
    expected = [
        cosine(left[0], 0.7 * left[1] + 0.2 * left[2]),
        cosine(left[1], 1.2 * left[0] + 0.2 * left[2]),
        cosine(left[2], 1.2 * left[0] + 0.7 * left[1]),
    ]
    assert found.topic == pytest.approx(np.array(expected) / usual)
    # 3 times the usual use, and nothing of the subject in the rest
    assert found.suspect.tolist() == [False, False, True]


def test_a_text_about_the_subject_may_use_the_word_as_often_as_a_stuffed_one() -> None:
    often = BOOK.copy()
    often[0, ASKED] = 7
    found = suspicion(usage(often), csr_matrix(often), rows(0, 1, 2), np.ones(3))
    assert found.use[0] == found.use[2]
    assert found.suspect.tolist() == [False, False, True]


def test_where_hardly_any_document_uses_the_words_nothing_is_usual() -> None:
    few = BOOK[:6]  # three documents outside use the word
    found = suspicion(usage(few), csr_matrix(few), rows(0, 1, 2), np.ones(3))
    assert np.isnan(found.use).all()
    assert np.isnan(found.topic).all()
    assert not found.suspect.any()


def test_a_density_beyond_all_nature_is_suspected_whatever_the_topic() -> None:
    dense = BOOK.copy()
    dense[1:, 1:] *= 20  # long texts: the word is rare in them
    dense[0] = [20, 40, 40, 0, 0]
    found = suspicion(usage(dense), csr_matrix(dense), rows(0, 1, 2), np.ones(3))
    limit = density_limit(usage(dense).densities)
    assert limit is not None
    assert DENSE * limit < 20 / 100
    assert found.use[0] < explained_use(found.topic)[0]
    assert found.suspect[0]


def test_the_limit_is_where_half_a_document_is_expected() -> None:
    # four documents of density 0.1: the lower quartile is 0.1, the scale 0.1 / -ln 0.75
    assert density_limit(np.array([0, 0.1, 0.1, 0.1, 0.1])) == pytest.approx(
        0.1 / -math.log(0.75) * math.log(4 / 0.5)
    )
    assert density_limit(np.array([0, 0, 0.1, 0.1, 0.1])) is None


def test_use_weighs_each_keyword_by_its_share_and_dampens_repetition() -> None:
    use = keyword_use([np.array([0, 1, 3]), np.array([1, 1, 0])], [0.75, 0.25], 3)
    assert use == pytest.approx([0.25 * math.log(2), math.log(2), 0.75 * math.log(4)])
    assert keyword_use([], [], 2).tolist() == [0, 0]


def test_a_topic_explains_four_times_its_cube_and_always_the_usual_use() -> None:
    assert explained_use(np.array([0, 0.5, 1, 1.5])).tolist() == [1, 1, 4, 13.5]


counted = st.lists(st.lists(st.integers(0, 6), min_size=5, max_size=5), min_size=8, max_size=14).map(
    lambda table: np.array(table, np.float64)
)


@given(counted, st.integers(0, 3), st.integers(1, 20))
def test_more_of_the_questions_words_never_lower_the_use_and_leave_the_topic(
    counts: Float64Array, which: int, more: int
) -> None:
    candidates, pull = rows(0, 1, 2, 3), np.linspace(1, 0, 4)
    before = suspicion(usage(counts), csr_matrix(counts), candidates, pull)
    counts = counts.copy()
    counts[which, ASKED] += more
    after = suspicion(usage(counts), csr_matrix(counts), candidates, pull)
    assert after.topic == pytest.approx(before.topic, nan_ok=True)
    assert np.isnan(before.use[which]) or after.use[which] > before.use[which]


@given(counted, st.permutations(range(4)))
def test_the_order_of_the_candidates_changes_nothing(counts: Float64Array, order: list[int]) -> None:
    pull = np.linspace(1, 0, 4)
    straight = suspicion(usage(counts), csr_matrix(counts), rows(0, 1, 2, 3), pull)
    mixed = suspicion(usage(counts), csr_matrix(counts), rows(*order), pull[order])
    assert mixed.use == pytest.approx(straight.use[order], nan_ok=True)
    assert mixed.topic == pytest.approx(straight.topic[order], nan_ok=True, abs=1e-9)


@given(counted)
def test_long_and_short_rows_of_the_same_words_are_the_same_topic(counts: Float64Array) -> None:
    pull = np.linspace(1, 0, 4)
    once = suspicion(usage(counts), csr_matrix(counts), rows(0, 1, 2, 3), pull)
    thrice = suspicion(usage(counts), csr_matrix(3 * counts), rows(0, 1, 2, 3), pull)
    assert thrice.topic == pytest.approx(once.topic, nan_ok=True, abs=1e-9)
