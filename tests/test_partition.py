import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import World, cosine
from strategies import MODES, taus, worlds

from causalviz.arrays import FloatMatrix, FloatVector
from causalviz.errors import CausalvizError, ParameterError
from causalviz.partition import absorbed, nearest_query_keyword
from causalviz.records import Mode

NONE_EXACT = np.zeros(3, bool)


def query_and_terms(world: World) -> tuple[FloatMatrix, FloatMatrix]:
    dim = len(world.query)
    queries = np.array([world.terms[u] for u in world.query_terms], np.float32).reshape(-1, dim)
    return queries, np.array(list(world.terms.values()), np.float32).reshape(-1, dim)


def cosines_of(world: World) -> FloatVector:
    queries, terms = query_and_terms(world)
    return nearest_query_keyword(terms, queries)[0]


@pytest.mark.parametrize(
    ("tau", "in_a"),
    [
        (0.875, [False, False, False]),
        (0.75, [True, False, False]),
        (0.7, [True, False, False]),
        (0.625, [True, True, False]),
        (0.25, [True, True, True]),
    ],
)
def test_a_keyword_at_the_threshold_belongs_to_a(tau: float, in_a: list[bool]) -> None:
    # Two query keywords on the first two axes; each term's third entry is nobody's business. Its cosines to them are
    # its first two entries, so the column maxima are .75 (first), .625 (second), .25 (second).
    queries = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
    terms = np.array([[0.75, 0.25, 0.5], [0.5, 0.625, 0.25], [0.125, 0.25, 0.75]], np.float32)
    cosines, matches = nearest_query_keyword(terms, queries)
    assert cosines.tolist() == [0.75, 0.625, 0.25]
    assert matches.tolist() == [0, 1, 1]
    assert absorbed(cosines, NONE_EXACT, tau, "semantic").tolist() == in_a


@pytest.mark.parametrize("tau", [0.1, 0.3, 0.6, 0.7, 0.9, 0.91])
def test_equality_is_judged_in_the_cosines_own_precision(tau: float) -> None:
    # float32 0.9 is 0.89999998, less than the double 0.9; yet it is what 0.9 is called there.
    at = np.float32(tau)
    around = np.array(
        [np.nextafter(at, np.float32(-1)), at, np.nextafter(at, np.float32(1))], dtype=np.float32
    )
    assert absorbed(around, NONE_EXACT, tau, "semantic").tolist() == [False, True, True]
    for same in (float(at), np.float64(tau)):  # NumPy would widen the column for its own doubles
        assert absorbed(around, NONE_EXACT, same, "semantic").tolist() == [False, True, True]
    # And a column of doubles is judged in double precision.
    doubles = np.array([np.nextafter(tau, -1), tau, np.nextafter(tau, 1)])
    assert absorbed(doubles, NONE_EXACT, tau, "semantic").tolist() == [False, True, True]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tau", [-1.0, 0.0, 1.0])
def test_a_query_keyword_itself_is_absorbed_at_every_tau(mode: Mode, tau: float) -> None:
    # Its cosine may fall short of 1 by rounding, or be missing altogether.
    cosines = np.array([np.nextafter(np.float32(1), np.float32(0)), -1, -np.inf], np.float32)
    assert absorbed(cosines, np.ones(3, bool), tau, mode).all()


def test_without_query_keywords_nothing_is_absorbed() -> None:
    cosines, matches = nearest_query_keyword(np.eye(3, dtype=np.float32), np.zeros((0, 3), np.float32))
    assert cosines.tolist() == [-np.inf] * 3
    assert matches.tolist() == [-1] * 3
    assert not absorbed(cosines, NONE_EXACT, -1.0, "semantic").any()


def test_without_document_keywords_there_is_nothing_to_say() -> None:
    cosines, matches = nearest_query_keyword(np.zeros((0, 3), np.float32), np.eye(3, dtype=np.float32))
    assert cosines.shape == matches.shape == (0,)
    assert absorbed(cosines, np.zeros(0, bool), 0.5, "semantic").shape == (0,)


def test_the_first_of_equally_near_query_keywords_is_the_match() -> None:
    queries = np.array([[0, 1], [1, 0], [1, 0]], np.float32)
    cosines, matches = nearest_query_keyword(np.array([[1, 0]], np.float32), queries)
    assert (cosines.tolist(), matches.tolist()) == ([1.0], [1])


def test_a_zero_vector_has_cosine_zero() -> None:
    # An empty text's vector: absorbed only when tau is 0 or less.
    cosines, matches = nearest_query_keyword(np.zeros((1, 2), np.float32), np.eye(2, dtype=np.float32))
    assert (cosines.tolist(), matches.tolist()) == ([0.0], [0])
    exact = np.zeros(1, bool)
    assert absorbed(cosines, exact, 0.0, "semantic").tolist() == [True]
    assert absorbed(cosines, exact, 1e-6, "semantic").tolist() == [False]


def test_a_matrix_is_judged_entry_by_entry() -> None:
    cosines = np.array([[0.5, 0.25], [-np.inf, 0.75]], np.float32)
    exact = np.array([[False, True], [False, False]])
    assert absorbed(cosines, exact, 0.5, "semantic").tolist() == [[True, True], [False, True]]
    assert absorbed(cosines, exact, 0.5, "exact").tolist() == exact.tolist()


@pytest.mark.parametrize("tau", [-1.001, 1.001, 60.0, float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("mode", MODES)
def test_a_tau_that_is_no_cosine_is_refused(tau: float, mode: Mode) -> None:
    with pytest.raises(ParameterError) as caught:
        absorbed(np.zeros(3, np.float32), NONE_EXACT, tau, mode)
    assert str(caught.value) == (
        f"tau is {tau:g}, but a cosine lies between -1 and 1; choose a value in that range, "
        "or leave it out for the encoder's default."
    )
    assert isinstance(caught.value, CausalvizError)
    assert isinstance(caught.value, ValueError)


@given(worlds(), taus(), taus())
def test_raising_tau_only_moves_keywords_from_a_to_b(world: World, first: float, second: float) -> None:
    cosines = cosines_of(world)
    exact = np.array([term in world.query_terms for term in world.terms], bool)
    low = absorbed(cosines, exact, min(first, second), "semantic")
    high = absorbed(cosines, exact, max(first, second), "semantic")
    assert not (high & ~low).any()
    assert (low & exact).tolist() == exact.tolist()


@given(worlds(), taus())
def test_exact_mode_ignores_tau(world: World, tau: float) -> None:
    exact = np.array([term in world.query_terms for term in world.terms], bool)
    in_a = absorbed(cosines_of(world), exact, tau, "exact")
    assert in_a.tolist() == exact.tolist()
    assert not np.shares_memory(in_a, exact)


@given(worlds(), st.data())
def test_a_keyword_is_absorbed_exactly_when_its_own_cosine_says_so(world: World, data: st.DataObject) -> None:
    # tau is often one of the cosines themselves.
    cosines = cosines_of(world)
    candidates = [float(c) for c in cosines if -1 <= c <= 1]
    tau = data.draw(taus() | st.sampled_from(candidates) if candidates else taus())
    in_a = absorbed(cosines, np.zeros(len(cosines), bool), tau, "semantic")
    assert in_a.tolist() == [bool(c >= np.float32(tau)) for c in cosines]


@given(worlds())
def test_the_nearest_query_keyword_is_the_oracles(world: World) -> None:
    queries, terms = query_and_terms(world)
    cosines, matches = nearest_query_keyword(terms, queries)
    assert cosines.dtype == np.float32
    for vector, found, match in zip(world.terms.values(), cosines.tolist(), matches.tolist(), strict=True):
        expected = [cosine(vector, world.terms[u]) for u in world.query_terms]
        assert found == pytest.approx(max(expected, default=-np.inf), abs=1e-6)
        assert match == -1 if not expected else expected[match] == pytest.approx(found, abs=1e-6)
