"""Retrieval against a plain sort, with the real index."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.backends.faiss_index import FaissIndex
from causalviz.candidates import nearest
from causalviz.errors import ParameterError
from causalviz.records import FloatMatrix


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
