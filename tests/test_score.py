from dataclasses import replace
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import World, WorldDocument, causal_score, centroid, dot, residual
from strategies import MODES, clear_of_cosines, loose_traces, rank_settings, taus, trace_of, unit, worlds

from causalviz.errors import ShapeError
from causalviz.partition import absorbed
from causalviz.records import Candidate, Mode, RankSettings, Trace
from causalviz.score import Float64Array, ScoreTable, causal_scores

CLOSE = 1e-5
"""How far float32 numbers may lead s_c away from real vectors, where the centroid is LONG enough."""
LONG = 0.05
"""Length of a centroid, of at most 1, above which CLOSE holds: cancelling terms leave only rounding."""


def candidate(
    weights: list[float], relevance: list[float], gram: list[list[float]] | None = None
) -> Candidate:
    """Make a candidate; its terms are orthogonal unless a Gram matrix says otherwise."""
    n = len(weights)
    return Candidate(
        id="d",
        title="d",
        similarity=0.5,
        terms=tuple(f"t{i}" for i in range(n)),
        weights=np.array(weights, np.float32),
        cosines=np.zeros(n, np.float32),
        matches=np.zeros(n, np.int64),
        exact=np.zeros(n, bool),
        relevance=np.array(relevance, np.float32),
        gram=np.eye(n, dtype=np.float32) if gram is None else np.array(gram, np.float32).reshape(n, n),
        repeats=0,
        tokens=n,
    )


def score(one: Candidate, in_a: list[bool] | None = None) -> tuple[float, list[float]]:
    table = ScoreTable.of((one,))
    scores, contributions = causal_scores(table, np.array([in_a or [False] * len(one.terms)]))
    return float(scores[0]), contributions[0].tolist()


def scores_of(world: World, settings: RankSettings) -> tuple[dict[str, float], Float64Array]:
    trace = trace_of(world)
    table = ScoreTable.of(trace.candidates)
    scores, contributions = causal_scores(
        table, absorbed(table.cosines, table.exact, settings.tau, settings.mode)
    )
    ids = [c.id for c in trace.candidates]
    return dict(zip(ids, scores.tolist(), strict=True)), contributions


def shortest_centroid(world: World, settings: RankSettings) -> float:
    """Length of the shortest centroid that does not vanish outright; 1 when there is none."""
    lengths = [1.0]
    for document in world.documents:
        terms = residual(world, document, settings.tau, settings.mode)
        if terms:
            mean = centroid(world, document, terms)
            lengths.append(sqrt(dot(mean, mean)))
    return min((length for length in lengths if length > 1e-6), default=1.0)


def test_a_weighted_centroid_by_hand() -> None:
    # Weights 3 : 1 on (1, 0) and (0, 1): v_B = (.75, .25), of length sqrt(10)/4. With q = (1, 0):
    # s_c = .75 / (sqrt(10)/4) = 3/sqrt(10), all of it from the first term.
    scored, shares = score(candidate([3, 1], [1, 0]))
    assert scored == pytest.approx(3 / sqrt(10), rel=1e-15)
    assert shares == pytest.approx([3 / sqrt(10), 0], rel=1e-15)


def test_a_centroid_of_slanted_terms_by_hand() -> None:
    # (1, 0) with weight 1 and (3/5, 4/5) with weight 5: the sum is (4, 4). With q = (0, 1): s_c = 4/sqrt(32).
    slanted = candidate([1, 5], [0, 0.8], [[1, 0.6], [0.6, 1]])
    scored, shares = score(slanted)
    assert scored == pytest.approx(1 / sqrt(2), rel=1e-7)
    assert shares == pytest.approx([0, 1 / sqrt(2)], rel=1e-7)
    # The second keyword in A leaves the first alone: s_c = <q, (1, 0)> = 0; and the other way round .8.
    assert score(slanted, [False, True]) == (0.0, [0.0, 0.0])
    scored, shares = score(slanted, [True, False])
    assert scored == pytest.approx(0.8, rel=1e-7)
    assert shares == pytest.approx([0, 0.8], rel=1e-7)


def test_a_centroid_against_the_query_has_a_negative_score() -> None:
    assert score(candidate([2], [-0.5])) == (-0.5, [-0.5])


def test_a_single_keyword_scores_its_own_relevance_whatever_its_weight() -> None:
    for weight in (0.001, 1.0, 1000.0):
        assert score(candidate([weight], [0.375]))[0] == pytest.approx(0.375, rel=1e-15)


@pytest.mark.parametrize("in_a", [[True, True], []])
def test_an_empty_b_has_no_score_and_no_contributions(in_a: list[bool]) -> None:
    scored, shares = score(candidate([2.0] * len(in_a), [0.5] * len(in_a)), in_a)
    assert np.isnan(scored)
    assert shares == [0.0] * len(in_a)


@pytest.mark.parametrize(
    ("weights", "relevance", "gram"),
    [
        ([2], [0], [[0]]),  # the term's vector is zero: an empty text
        ([1, 1], [0.5, -0.5], [[1, -1], [-1, 1]]),  # opposite terms cancel
        ([1, 2], [0, 0], [[0, 0], [0, 0]]),
    ],
)
def test_a_zero_centroid_scores_zero(
    weights: list[float], relevance: list[float], gram: list[list[float]]
) -> None:
    assert score(candidate(weights, relevance, gram)) == (0.0, [0.0] * len(weights))


def test_opposite_terms_that_cancel_up_to_rounding_score_zero() -> None:
    # (0.6, 0.8) and its opposite: float32 makes their product 1 + 2e-8 or so, of either sign.
    for product in (-0.9999999, -1.0, -1.0000001):
        assert score(candidate([1, 1], [0.6, -0.59999996], [[1, product], [product, 1]]))[0] == 0


def test_a_zero_vector_beside_others_adds_nothing() -> None:
    assert score(candidate([3, 5], [0.5, 0], [[1, 0], [0, 0]])) == (0.5, [0.5, 0.0])


def test_no_candidates_and_no_keywords_are_a_table_too() -> None:
    scores, contributions = causal_scores(ScoreTable.of(()), np.zeros((0, 0), bool))
    assert (scores.shape, contributions.shape) == ((0,), (0, 0))
    scores, contributions = causal_scores(
        ScoreTable.of((candidate([], []), candidate([], []))), np.zeros((2, 0), bool)
    )
    assert np.isnan(scores).all()
    assert contributions.shape == (2, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.ones(3, np.float32)},
        {"cosines": np.zeros(1, np.float32)},
        {"exact": np.zeros(0, bool)},
        {"relevance": np.zeros((2, 1), np.float32)},
        {"gram": np.eye(3, dtype=np.float32)},
        {"gram": np.ones((2, 1), np.float32)},
        {"terms": ("t0",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_vectors_that_do_not_follow_the_terms_are_refused(change: dict[str, object]) -> None:
    broken = replace(candidate([3, 1], [1, 0]), **change)  # type: ignore[arg-type]
    with pytest.raises(
        ShapeError, match=rf"candidate 'd' has {len(broken.terms)} terms, but its vectors are"
    ):
        ScoreTable.of((candidate([1], [0]), broken))


@given(worlds(), rank_settings())
def test_the_score_is_the_cosine_of_real_vectors(world: World, settings: RankSettings) -> None:
    assume(clear_of_cosines(world, settings.tau) and shortest_centroid(world, settings) > LONG)
    scores, _ = scores_of(world, settings)
    for document in world.documents:
        expected = causal_score(world, document, settings.tau, settings.mode)
        assert scores[document.id] == pytest.approx(
            np.nan if expected is None else expected, abs=CLOSE, nan_ok=True
        )


@given(worlds(min_documents=1), rank_settings(), st.integers(0, 2**32 - 1))
def test_turning_all_vectors_alike_changes_no_score(world: World, settings: RankSettings, seed: int) -> None:
    assume(clear_of_cosines(world, settings.tau) and shortest_centroid(world, settings) > LONG)
    dim = len(world.query)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))[0]

    def turned(vector: tuple[float, ...]) -> tuple[float, ...]:
        return unit(rotation @ np.array(vector))

    other = World(
        query=turned(world.query),
        query_terms=world.query_terms,
        terms={term: turned(vector) for term, vector in world.terms.items()},
        documents=tuple(
            WorldDocument(id=d.id, vector=turned(d.vector), weights=d.weights) for d in world.documents
        ),
    )
    for a, b in zip(world.documents, other.documents, strict=True):
        expected = causal_score(world, a, settings.tau, settings.mode)
        assert causal_score(other, b, settings.tau, settings.mode) == pytest.approx(expected, abs=CLOSE)
    before = trace_of(world).candidates
    after = {c.id: c for c in trace_of(other).candidates}
    for one in before:
        first, second = (
            score(c, absorbed(c.cosines, c.exact, settings.tau, settings.mode).tolist())[0]
            for c in (one, after[one.id])
        )
        assert second == pytest.approx(first, abs=CLOSE, nan_ok=True)


@given(worlds(), rank_settings(), st.integers(-8, 8))
def test_scaling_all_weights_changes_no_score(world: World, settings: RankSettings, power: int) -> None:
    # By a power of two, so that not even rounding differs.
    table = ScoreTable.of(trace_of(world).candidates)
    scaled = replace(table, weights=table.weights * 2.0**power)
    in_a = absorbed(table.cosines, table.exact, settings.tau, settings.mode)
    for before, after in zip(causal_scores(table, in_a), causal_scores(scaled, in_a), strict=True):
        assert before.tobytes() == after.tobytes()


@given(worlds(min_documents=1), rank_settings(), st.randoms(use_true_random=False), st.floats(0.01, 100))
def test_the_order_of_keywords_and_a_common_factor_change_no_score(
    world: World, settings: RankSettings, random: Random, factor: float
) -> None:
    assume(shortest_centroid(world, settings) > LONG)
    table = ScoreTable.of(trace_of(world).candidates)
    order = list(range(table.weights.shape[1]))
    random.shuffle(order)
    shuffled = ScoreTable(
        similarity=table.similarity,
        suspect=table.suspect,
        cross=table.cross,
        weights=table.weights[:, order] * factor,
        cosines=table.cosines[:, order],
        exact=table.exact[:, order],
        relevance=table.relevance[:, order],
        gram=table.gram[:, order][:, :, order],
    )
    in_a = absorbed(table.cosines, table.exact, settings.tau, settings.mode)
    scores, contributions = causal_scores(table, in_a)
    others, other_contributions = causal_scores(shuffled, in_a[:, order])
    np.testing.assert_allclose(others, scores, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other_contributions, contributions[:, order], rtol=0, atol=1e-12)


@given(st.builds(trace_of, worlds()) | loose_traces(), taus(), st.sampled_from(MODES))
def test_contributions_sum_to_the_score(trace: Trace, tau: float, mode: Mode) -> None:
    table = ScoreTable.of(trace.candidates)
    in_a = absorbed(table.cosines, table.exact, tau, mode)
    scores, contributions = causal_scores(table, in_a)
    assert not contributions[in_a | (table.weights == 0)].any()
    for scored, shares in zip(scores, contributions, strict=True):
        if np.isnan(scored):
            assert not shares.any()
        else:
            assert shares.sum() == pytest.approx(scored, rel=1e-9, abs=1e-9 * np.abs(shares).sum())


@given(st.builds(trace_of, worlds()) | loose_traces(), taus(), st.sampled_from(MODES))
def test_a_score_is_a_number_exactly_when_b_holds_a_keyword(trace: Trace, tau: float, mode: Mode) -> None:
    table = ScoreTable.of(trace.candidates)
    scores, contributions = causal_scores(table, absorbed(table.cosines, table.exact, tau, mode))
    for one, scored in zip(trace.candidates, scores, strict=True):
        in_b = ~absorbed(one.cosines, one.exact, tau, mode)
        assert np.isnan(scored) == (not in_b.any())
    assert np.isfinite(scores[~np.isnan(scores)]).all()
    assert np.isfinite(contributions).all()


@given(worlds(), rank_settings())
def test_a_score_is_a_cosine(world: World, settings: RankSettings) -> None:
    assume(shortest_centroid(world, settings) > LONG)
    scores = np.array(list(scores_of(world, settings)[0].values()))
    assert (np.abs(scores[~np.isnan(scores)]) <= 1 + CLOSE).all()


@given(worlds(min_documents=1), rank_settings())
def test_a_candidates_score_does_not_depend_on_its_company(world: World, settings: RankSettings) -> None:
    # To the last bit, although company may widen the table.
    candidates = trace_of(world).candidates
    table = ScoreTable.of(candidates)
    scores, _ = causal_scores(table, absorbed(table.cosines, table.exact, settings.tau, settings.mode))
    for one, scored in zip(candidates, scores, strict=True):
        in_a = absorbed(one.cosines, one.exact, settings.tau, settings.mode).tolist()
        np.testing.assert_equal(score(one, in_a)[0], scored)
