"""Retrieval against a plain sort, with the real index."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from causalviz.arrays import FloatMatrix
from causalviz.backends.faiss_index import FaissIndex
from causalviz.candidates import UNKNOWN, near_duplicates, nearest, nearest_texts
from causalviz.errors import ParameterError


def unit_rows(seed: int, n: int) -> FloatMatrix:
    vectors = np.random.default_rng(seed).normal(size=(n, 8))
    units: FloatMatrix = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return units


@given(st.integers(0, 10_000), st.integers(1, 120), st.integers(1, 130), st.floats(-1, 1))
def test_the_best_rows_are_those_a_full_sort_finds(seed: int, n: int, top_k: int, theta: float) -> None:
    vectors = unit_rows(seed, n)
    vectors[n // 2 :] = vectors[: n - n // 2]  # every document twice: ties everywhere, at the border too
    query = unit_rows(seed + 1, 1)[0]
    rows, similarity = nearest(FaissIndex(vectors), vectors, query, top_k, theta)
    exact = (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    expected = [
        i for i in sorted(range(n), key=lambda i: (-exact[i], i))[:top_k] if exact[i] >= np.float32(theta)
    ]
    assert rows.tolist() == expected
    assert similarity.tolist() == exact[expected].tolist()


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 9), min_size=1, max_size=120),
    st.integers(1, 130),
    st.floats(-1, 1),
)
def test_copies_come_in_only_where_other_texts_leave_room(
    seed: int, text_of: list[int], top_k: int, theta: float
) -> None:
    vectors = unit_rows(seed, 10)[text_of]
    query = unit_rows(seed + 1, 1)[0]
    texts = [f"text {number}" for number in text_of]
    rows, similarity, left_out = nearest_texts(FaissIndex(vectors), vectors, texts, query, top_k, theta)
    exact = (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    ranked = [
        i for i in sorted(range(len(texts)), key=lambda i: (-exact[i], i)) if exact[i] >= np.float32(theta)
    ]
    firsts = [i for n, i in enumerate(ranked) if texts[i] not in {texts[j] for j in ranked[:n]}]
    copies = [i for i in ranked if i not in firsts]
    expected = set((firsts + copies)[:top_k])
    assert rows.tolist() == [i for i in ranked if i in expected]
    assert similarity.tolist() == exact[rows].tolist()
    assert left_out.tolist() == [i for i in ranked[:top_k] if i not in expected]


def test_a_thousand_copies_leave_room_for_the_others() -> None:
    vectors = np.concatenate([np.repeat(unit_rows(0, 1), 1000, axis=0), unit_rows(1, 5)])
    texts = ["the same"] * 1000 + list("abcde")
    rows, _, left_out = nearest_texts(FaissIndex(vectors), vectors, texts, vectors[0], 8, -1.0)
    assert sorted(rows.tolist()) == [0, 1, 2, 1000, 1001, 1002, 1003, 1004]
    assert left_out.tolist() == [3, 4, 5, 6, 7]


def test_a_thousand_copies_at_the_border_compete_by_row() -> None:
    vectors = np.repeat(unit_rows(0, 1), 1000, axis=0)
    rows, _ = nearest(FaissIndex(vectors), vectors, vectors[0], 20, 0.0)
    assert rows.tolist() == list(range(20))


def test_equality_with_theta_stays() -> None:
    vectors = np.array([[0.9, np.sqrt(1 - 0.81)], [0.8, 0.6]], np.float32)
    rows, _ = nearest(FaissIndex(vectors), vectors, np.array([1, 0], np.float32), 5, 0.9)
    assert rows.tolist() == [0]


@pytest.mark.parametrize(
    ("top_k", "theta", "found"),
    [(0, 0.0, "top-k is 0"), (5, 1.5, "theta is 1.5"), (5, float("nan"), "theta")],
)
def test_limits_that_make_no_sense_are_refused(top_k: int, theta: float, found: str) -> None:
    vectors = unit_rows(0, 3)
    with pytest.raises(ParameterError, match=found):
        nearest(FaissIndex(vectors), vectors, vectors[0], top_k, theta)


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=1, max_size=9),
    st.integers(1, 4),
    st.integers(0, 2**18 - 1),
)
def test_the_first_text_before_with_nearly_the_same_words_is_found(
    rows: list[list[int]], block: int, seen: int
) -> None:
    # as in life some texts are copies of others with one word more
    texts = np.array([*rows, *([n + (i == 0) for i, n in enumerate(row)] for row in rows)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("causalviz.candidates._BLOCK", block)
        patch.setattr("causalviz.candidates._OWN", 2)
        patch.setattr("causalviz.candidates._SHARED", 2)
        found = near_duplicates(csr_matrix(texts))
        old = np.array([bool(seen >> i & 1) for i in range(len(texts))])
        among_old = near_duplicates(csr_matrix(texts[old]))
        known = np.full(len(texts), UNKNOWN)
        known[old] = np.where(among_old >= 0, np.flatnonzero(old)[among_old], -1)
        assert near_duplicates(csr_matrix(texts), known).tolist() == found.tolist()
    for i, text in enumerate(texts):
        close = [
            j
            for j, other in enumerate(texts[:i])
            if text.any() and other.any() and cosine_squared(text, other) >= Fraction(95, 100) ** 2
        ]
        assert found[i] == (close[0] if close else -1)


def cosine_squared(one: NDArray[np.int64], other: NDArray[np.int64]) -> Fraction:
    """Exactly."""
    return Fraction(int(one @ other) ** 2, int(one @ one) * int(other @ other))
