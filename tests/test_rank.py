import copy
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import World
from strategies import (
    EMPTY_B,
    METHODS,
    MODES,
    alphas,
    clear_of_cosines,
    loose_traces,
    rank_settings,
    taus,
    trace_of,
    traces,
    worlds,
)

from causalviz.errors import CausalvizError, ParameterError
from causalviz.partition import absorbed
from causalviz.rank import check_method, min_max, ordered, ranks_of, rerank
from causalviz.records import Candidate, EmptyB, Method, Mode, RankSettings, Trace
from causalviz.score import ScoreTable, causal_scores

NAN = float("nan")


def one_keyword(name: str, similarity: float, causal: float | None, *, suspect: bool = False) -> Candidate:
    """Make a candidate with one keyword that scores ``causal``, or whose keyword is the query's (None)."""
    return Candidate(
        id=name,
        title=name,
        similarity=similarity,
        terms=(name,),
        weights=np.ones(1, np.float32),
        cosines=np.zeros(1, np.float32),
        matches=np.zeros(1, np.int64),
        exact=np.array([causal is None]),
        relevance=np.array([causal or 0], np.float32),
        gram=np.ones((1, 1), np.float32),
        repeats=0,
        tokens=1,
        suspect=suspect,
    )


def table_of(*documents: tuple[float, float | None], suspects: tuple[int, ...] = ()) -> ScoreTable:
    return ScoreTable.of(
        tuple(one_keyword(f"d{i}", *scores, suspect=i in suspects) for i, scores in enumerate(documents))
    )


def settings(
    alpha: float = 0.5, method: Method = "hybrid", mode: Mode = "semantic", empty_b: EmptyB = "last"
) -> RankSettings:
    return RankSettings(tau=0.6, alpha=alpha, method=method, mode=mode, empty_b=empty_b)


THREE = table_of((0.75, 0.25), (0.5, 1.0), (0.25, 0.0))
# Over the three, similarity stretches to 1, .5, 0 and s_c to .25, 1, 0.


@pytest.mark.parametrize(
    ("alpha", "hybrid", "ranks"),
    [
        (0.5, [0.625, 0.75, 0], [2, 1, 3]),
        (0.75, [0.8125, 0.625, 0], [1, 2, 3]),
        (0.0, [0.25, 1, 0], [2, 1, 3]),
        (1.0, [1, 0.5, 0], [1, 2, 3]),
    ],
)
def test_the_hybrid_of_three_documents_by_hand(alpha: float, hybrid: list[float], ranks: list[int]) -> None:
    ranking = rerank(THREE, settings(alpha))
    assert ranking.normalised_similarity.tolist() == [1, 0.5, 0]
    assert ranking.causal.tolist() == [0.25, 1, 0]
    assert ranking.normalised_causal.tolist() == [0.25, 1, 0]
    assert ranking.hybrid.tolist() == hybrid
    assert ranking.final.tolist() == hybrid
    assert ranking.hybrid_rank.tolist() == ranks
    assert ranking.rank.tolist() == ranks
    assert ranking.order.tolist() == [ranks.index(position) for position in (1, 2, 3)]
    assert ranking.similarity_rank.tolist() == [1, 2, 3]
    assert ranking.causal_rank.tolist() == [2, 1, 3]
    assert not ranking.empty_b.any()


@pytest.mark.parametrize(
    ("method", "final", "ranks"),
    [
        ("similarity", [0.75, 0.5, 0.25], [1, 2, 3]),
        ("causal", [0.25, 1, 0], [2, 1, 3]),
        ("hybrid", [0.625, 0.75, 0], [2, 1, 3]),
    ],
)
def test_the_method_chooses_the_column(method: Method, final: list[float], ranks: list[int]) -> None:
    ranking = rerank(THREE, settings(method=method))
    assert ranking.final.tolist() == final
    assert ranking.rank.tolist() == ranks


CROSSED = ScoreTable.of(
    tuple(
        replace(one_keyword(f"d{i}", 0.9 - i / 8, 0.5), cross_encoder=cross)
        for i, cross in enumerate((-7.5, None, 2.25, -7.5, None))
    )
)


def test_a_cross_encoders_scores_rank_as_they_are_and_those_without_one_go_last() -> None:
    # 2.25 first; -7.5 twice and none twice keep their baseline order.
    ranking = rerank(CROSSED, settings(method="cross-encoder"))
    assert ranking.final.tolist() == pytest.approx([-7.5, NAN, 2.25, -7.5, NAN], nan_ok=True)
    assert ranking.order.tolist() == [2, 0, 3, 1, 4]
    assert ranking.rank.tolist() == ranking.cross_rank.tolist() == [2, 4, 1, 3, 5]
    # It is a column of its own, and changes no other.
    other = rerank(CROSSED, settings(method="hybrid"))
    assert other.cross_rank.tolist() == [2, 4, 1, 3, 5]
    assert other.order.tolist() == [0, 1, 2, 3, 4]


@given(traces(), rank_settings(), taus(), alphas(), st.sampled_from(EMPTY_B))
def test_the_cross_encoders_order_takes_no_account_of_any_setting(
    trace: Trace, chosen: RankSettings, tau: float, alpha: float, empty_b: EmptyB
) -> None:
    table = ScoreTable.of(trace.candidates)
    here = rerank(table, replace(chosen, method="cross-encoder"))
    there = rerank(table, RankSettings(tau=tau, alpha=alpha, method="cross-encoder", empty_b=empty_b))
    assert here.final.tobytes() == there.final.tobytes() == table.cross.tobytes()
    assert here.rank.tolist() == there.rank.tolist() == there.cross_rank.tolist()


def test_to_rank_by_a_cross_encoder_that_was_not_asked_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="no cross-encoder scored the candidates; name one with --reranker"
    ):
        check_method("cross-encoder", None)
    check_method("cross-encoder", "a model")
    check_method("hybrid", None)


FIVE = ((0.75, 0.25), (0.625, 0.5), (0.5, 1.0), (0.375, 0.75), (0.25, 0.125))
# Causal ranks 4, 3, 1, 2, 5.


@pytest.mark.parametrize(
    ("suspects", "guarded", "ranks"),
    [
        ((), [0.75, 0.625, 0.5, 0.375, 0.25], [1, 2, 3, 4, 5]),
        # The first takes rank 4: just below the fourth's similarity; the others close up.
        ((0,), [0.375, 0.625, 0.5, 0.375, 0.25], [4, 1, 2, 3, 5]),
        # The second takes rank 3; that the first falls too lets it keep rank 2.
        ((0, 1), [0.375, 0.5, 0.5, 0.375, 0.25], [4, 2, 1, 3, 5]),
        # A causal rank that is higher, or the same, moves no one.
        ((2, 3, 4), [0.75, 0.625, 0.5, 0.375, 0.25], [1, 2, 3, 4, 5]),
    ],
)
def test_a_suspect_takes_its_causal_rank_where_that_is_the_lower_one(
    suspects: tuple[int, ...], guarded: list[float], ranks: list[int]
) -> None:
    ranking = rerank(table_of(*FIVE, suspects=suspects), settings(method="guarded"))
    assert ranking.causal_rank.tolist() == [4, 3, 1, 2, 5]
    similarity = [score for score, _ in FIVE]
    below = [0 if score == own else 1e-9 for score, own in zip(guarded, similarity, strict=True)]
    assert ranking.guarded.tolist() == [g - b for g, b in zip(guarded, below, strict=True)]
    assert ranking.final.tolist() == ranking.guarded.tolist()
    assert ranking.guarded_rank.tolist() == ranking.rank.tolist() == ranks


def test_a_suspect_of_query_keywords_only_goes_last() -> None:
    ranking = rerank(
        table_of((0.75, None), (0.5, 0.25), (0.25, 0.5), suspects=(0,)), settings(method="guarded")
    )
    assert ranking.rank.tolist() == [3, 1, 2]
    kept = rerank(table_of((0.75, None), (0.5, 0.25), (0.25, 0.5), suspects=(1,)), settings(method="guarded"))
    assert kept.rank.tolist() == [1, 2, 3]


@given(traces() | loose_traces(), rank_settings())
def test_the_guard_moves_suspects_down_and_no_one_else(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), replace(chosen, method="guarded"))
    honest = [i for i in ranking.order if not trace.candidates[i].suspect]
    assert honest == sorted(honest)
    assert (ranking.rank <= np.maximum(ranking.similarity_rank, ranking.causal_rank))[honest].all()
    assert (ranking.guarded <= [c.similarity for c in trace.candidates]).all()
    clear = all(not c.suspect for c in trace.candidates)
    assert not clear or ranking.rank.tolist() == ranking.similarity_rank.tolist()


def test_a_constant_column_becomes_zero_and_leaves_the_other_to_decide() -> None:
    same_similarity = rerank(table_of((0.5, 0.25), (0.5, 0.75)), settings())
    assert same_similarity.normalised_similarity.tolist() == [0, 0]
    assert same_similarity.hybrid.tolist() == [0, 0.5]
    assert same_similarity.rank.tolist() == [2, 1]
    same_causal = rerank(table_of((0.75, 0.25), (0.5, 0.25)), settings())
    assert same_causal.normalised_causal.tolist() == [0, 0]
    assert same_causal.hybrid.tolist() == [0.5, 0]


def test_a_single_candidate_is_first_with_every_normalised_score_zero() -> None:
    ranking = rerank(table_of((0.75, 0.25)), settings())
    assert (ranking.hybrid.tolist(), ranking.rank.tolist()) == ([0], [1])
    assert ranking.causal.tolist() == [0.25]


def test_no_candidates_give_an_empty_ranking() -> None:
    for method in METHODS:
        ranking = rerank(ScoreTable.of(()), settings(method=method))
        assert ranking.order.shape == ranking.rank.shape == ranking.final.shape == (0,)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_document_of_query_keywords_only_is_last_even_when_similarity_alone_counts(alpha: float) -> None:
    ranking = rerank(table_of((0.9, None), (0.5, 0.25), (0.25, 0.5)), settings(alpha))
    assert ranking.empty_b.tolist() == [True, False, False]
    assert ranking.rank[0] == ranking.causal_rank[0] == 3
    assert np.isnan([ranking.causal[0], ranking.normalised_causal[0], ranking.hybrid[0]]).all()
    # It still takes part in the similarity column, whose range it sets: (.5 - .25) / (.9 - .25).
    assert ranking.normalised_similarity.tolist() == pytest.approx([1, 0.25 / 0.65, 0])
    # s_c stretches over the two that have one.
    assert ranking.normalised_causal.tolist()[1:] == [0, 1]
    # By similarity it keeps its place.
    assert rerank(table_of((0.9, None), (0.5, -0.5)), settings(method="similarity")).rank.tolist() == [1, 2]


def test_documents_without_b_keep_their_order_at_the_end() -> None:
    ranking = rerank(table_of((0.9, None), (0.8, None), (0.5, 0.5), (0.25, None)), settings())
    assert ranking.order.tolist() == [2, 0, 1, 3]


def test_all_documents_without_b_keep_the_baseline() -> None:
    for method in METHODS:
        assert rerank(table_of((0.9, None), (0.8, None)), settings(method=method)).order.tolist() == [0, 1]


def test_the_fallback_keeps_similarity_where_b_is_empty() -> None:
    ranking = rerank(table_of((0.75, None), (0.5, 0.25), (0.25, 1.0)), settings(empty_b="fallback"))
    assert ranking.empty_b.tolist() == [True, False, False]
    assert ranking.causal.tolist() == [0.75, 0.25, 1]
    # Stretched over all three: (.75 - .25) / .75, 0, 1.
    assert ranking.normalised_causal.tolist() == pytest.approx([2 / 3, 0, 1])
    assert ranking.causal_rank.tolist() == [2, 3, 1]
    # Hybrid: (1 + 2/3) / 2, .25, .5.
    assert ranking.hybrid.tolist() == pytest.approx([5 / 6, 0.25, 0.5])
    assert ranking.rank.tolist() == [1, 3, 2]
    assert not ranking.contributions[0].any()


@pytest.mark.parametrize("method", METHODS)
def test_equal_documents_keep_the_baseline_order(method: Method) -> None:
    # Similarity first: of the three with equal final score the more similar stays first, then the earlier id.
    ranking = rerank(table_of((0.5, 0.5), (0.5, 0.5), (0.5, 0.5)), settings(method=method))
    assert ranking.order.tolist() == [0, 1, 2]


def test_a_tie_in_the_causal_score_goes_to_the_more_similar() -> None:
    ranking = rerank(table_of((0.75, 0.5), (0.5, 0.75), (0.25, 0.5)), settings(method="causal"))
    assert ranking.order.tolist() == [1, 0, 2]


def test_keywords_in_a_are_marked_and_padding_is_not() -> None:
    wide = replace(
        one_keyword("wide", 0.75, 0.5),
        terms=("a", "b"),
        weights=np.ones(2, np.float32),
        cosines=np.array([0.7, 0.5], np.float32),
        matches=np.zeros(2, np.int64),
        exact=np.zeros(2, bool),
        relevance=np.zeros(2, np.float32),
        gram=np.eye(2, dtype=np.float32),
    )
    ranking = rerank(ScoreTable.of((wide, one_keyword("narrow", 0.5, None))), settings())
    assert ranking.in_a.tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize("alpha", [-0.01, 1.01, 50.0, NAN, float("inf")])
def test_an_alpha_that_is_no_share_is_refused(alpha: float) -> None:
    with pytest.raises(ParameterError) as caught:
        rerank(THREE, settings(alpha))
    assert str(caught.value) == (
        f"alpha is {alpha:g}, but the hybrid weight is a share between 0 (only the causal score) and 1 "
        "(only similarity); choose a value in that range."
    )


@pytest.mark.parametrize("tau", [-1.5, 1.5, NAN])
def test_a_tau_that_is_no_cosine_is_refused(tau: float) -> None:
    with pytest.raises(ParameterError, match="a cosine lies between -1 and 1"):
        rerank(THREE, RankSettings(tau=tau))


def test_columns_stretch_to_the_unit_interval() -> None:
    assert min_max(np.array([2.0, 4.0, 3.0])).tolist() == [0, 1, 0.5]
    assert min_max(np.array([-0.0, 0.0])).tolist() == [0, 0]
    assert min_max(np.array([7.0])).tolist() == [0]
    assert min_max(np.array([])).tolist() == []


def test_order_and_ranks_are_inverse_and_stable() -> None:
    column = np.array([0.5, NAN, 0.75, 0.5, NAN, -1.0])
    assert ordered(column).tolist() == [2, 0, 3, 5, 1, 4]
    assert ranks_of(ordered(column)).tolist() == [2, 5, 1, 3, 6, 4]


@given(traces(), rank_settings())
def test_a_and_b_partition_the_keywords(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    for one, marks, empty in zip(trace.candidates, ranking.in_a, ranking.empty_b, strict=True):
        size = len(one.terms)
        assert marks[:size].tolist() == absorbed(one.cosines, one.exact, chosen.tau, chosen.mode).tolist()
        assert not marks[size:].any()
        assert empty == marks[:size].all()


@given(traces(), rank_settings(), taus(), taus())
def test_raising_tau_only_shrinks_a(trace: Trace, chosen: RankSettings, first: float, second: float) -> None:
    table = ScoreTable.of(trace.candidates)
    low = rerank(table, replace(chosen, tau=min(first, second)))
    high = rerank(table, replace(chosen, tau=max(first, second)))
    assert not (high.in_a & ~low.in_a).any()
    assert not (high.empty_b & ~low.empty_b).any()


@given(traces() | loose_traces(), rank_settings())
def test_ranks_are_permutations_and_agree_with_the_order(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    n = len(trace.candidates)
    assert ranking.similarity_rank.tolist() == list(range(1, n + 1))
    for ranks in (
        ranking.causal_rank,
        ranking.hybrid_rank,
        ranking.guarded_rank,
        ranking.cross_rank,
        ranking.rank,
    ):
        assert sorted(ranks.tolist()) == list(range(1, n + 1))
    assert ranking.rank[ranking.order].tolist() == list(range(1, n + 1))
    column = {
        "similarity": ranking.similarity_rank,
        "causal": ranking.causal_rank,
        "hybrid": ranking.hybrid_rank,
        "guarded": ranking.guarded_rank,
        "cross-encoder": ranking.cross_rank,
    }
    assert ranking.rank.tolist() == column[chosen.method].tolist()


@given(traces() | loose_traces(), rank_settings())
def test_scores_never_rise_along_the_order_and_ties_keep_the_baseline(
    trace: Trace, chosen: RankSettings
) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    for i, j in pairwise(ranking.order.tolist()):
        first, second = ranking.final[i], ranking.final[j]
        same = first == second or (np.isnan(first) and np.isnan(second))
        assert (same and i < j) or first > second or (np.isnan(second) and not np.isnan(first))


@given(traces() | loose_traces(), rank_settings())
def test_nan_stands_only_for_an_empty_b(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    missing = ranking.empty_b & (chosen.empty_b == "last")
    for column in (ranking.causal, ranking.normalised_causal, ranking.hybrid):
        assert np.isnan(column).tolist() == missing.tolist()
        assert np.isfinite(column[~missing]).all()
    assert np.isfinite(ranking.normalised_similarity).all()
    assert np.isfinite(ranking.contributions).all()
    if chosen.method in {"similarity", "guarded"}:
        assert np.isfinite(ranking.final).all()


@given(traces() | loose_traces(), rank_settings())
def test_normalised_scores_lie_in_the_unit_interval(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    for column in (ranking.normalised_similarity, ranking.normalised_causal, ranking.hybrid):
        known = column[~np.isnan(column)]
        assert ((known >= 0) & (known <= 1 + 1e-15)).all()


@given(traces(), rank_settings())
def test_empty_b_is_below_everything_else(trace: Trace, chosen: RankSettings) -> None:
    assume(chosen.method in {"causal", "hybrid"})
    ranking = rerank(ScoreTable.of(trace.candidates), replace(chosen, empty_b="last"))
    count = int(ranking.empty_b.sum())
    last = ranking.order[len(ranking.order) - count :]
    assert ranking.empty_b[last].all()
    assert last.tolist() == sorted(last.tolist())


@given(traces(), rank_settings())
def test_alpha_one_is_the_similarity_order_of_the_documents_with_a_b(
    trace: Trace, chosen: RankSettings
) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), replace(chosen, alpha=1.0, method="hybrid"))
    scored = [i for i in ranking.order if not ranking.empty_b[i] or chosen.empty_b == "fallback"]
    assert scored == sorted(scored)


@given(traces(), rank_settings())
def test_alpha_zero_is_the_causal_order(trace: Trace, chosen: RankSettings) -> None:
    # Two scores that rounding alone tells apart may meet when they are stretched.
    ranking = rerank(ScoreTable.of(trace.candidates), replace(chosen, alpha=0.0, method="hybrid"))
    for better, worse in pairwise(ordered(ranking.causal).tolist()):
        if not ranking.causal[better] - ranking.causal[worse] < 1e-14:
            assert ranking.rank[better] < ranking.rank[worse]


@given(traces(), rank_settings(), taus())
def test_exact_mode_ignores_tau(trace: Trace, chosen: RankSettings, tau: float) -> None:
    table = ScoreTable.of(trace.candidates)
    first = rerank(table, replace(chosen, mode="exact"))
    second = rerank(table, replace(chosen, mode="exact", tau=tau))
    assert first.in_a.tolist() == (table.exact & (table.weights > 0)).tolist()
    assert first.order.tolist() == second.order.tolist()
    assert first.hybrid.tobytes() == second.hybrid.tobytes()


@given(traces(), rank_settings())
def test_tau_above_every_cosine_is_exact_mode(trace: Trace, chosen: RankSettings) -> None:
    table = ScoreTable.of(trace.candidates)
    assume((table.cosines[~table.exact] < 1).all())
    semantic = rerank(table, replace(chosen, mode="semantic", tau=1.0))
    exact = rerank(table, replace(chosen, mode="exact"))
    assert semantic.in_a.tolist() == exact.in_a.tolist()
    assert semantic.order.tolist() == exact.order.tolist()


@given(traces(min_documents=1), rank_settings())
def test_a_copy_of_a_document_ranks_right_behind_it(trace: Trace, chosen: RankSettings) -> None:
    index = len(trace.candidates) // 2
    one = trace.candidates[index]
    # The guard takes each copy to a causal rank of its own.
    assume(chosen.method != "guarded" or not one.suspect)
    twin = replace(one, id=one.id + "~")
    candidates = (*trace.candidates[: index + 1], twin, *trace.candidates[index + 1 :])
    ranking = rerank(ScoreTable.of(candidates), chosen)
    assert ranking.final[[index]].tobytes() == ranking.final[[index + 1]].tobytes()
    between = ranking.order.tolist()[ranking.rank[index] : ranking.rank[index + 1] - 1]
    # Only documents of the very same score may stand between them, and none can: they stand before or behind.
    assert between == []


@given(traces(), rank_settings())
def test_ranking_changes_nothing_it_is_given(trace: Trace, chosen: RankSettings) -> None:
    table = ScoreTable.of(trace.candidates)
    before = copy.deepcopy(table)
    first = rerank(table, chosen)
    for name in ScoreTable.__dataclass_fields__:
        assert getattr(table, name).tobytes() == getattr(before, name).tobytes()
    assert first.final.tobytes() == rerank(table, chosen).final.tobytes()


@given(traces(), rank_settings())
def test_the_ranking_shows_the_score_and_its_parts(trace: Trace, chosen: RankSettings) -> None:
    table = ScoreTable.of(trace.candidates)
    ranking = rerank(table, chosen)
    scores, contributions = causal_scores(
        table, absorbed(table.cosines, table.exact, chosen.tau, chosen.mode)
    )
    scored = ~ranking.empty_b
    assert ranking.causal[scored].tobytes() == scores[scored].tobytes()
    assert ranking.contributions.tobytes() == contributions.tobytes()


def apart(column: Mapping[str, float | None]) -> bool:
    known = sorted(value for value in column.values() if value is not None)
    return all(b - a > 1e-5 for a, b in pairwise(known))


def spread(column: dict[str, float | None]) -> float:
    known = [value for value in column.values() if value is not None]
    return max(known, default=0.0) - min(known, default=0.0)


@given(
    worlds(min_documents=2),
    taus(),
    alphas(),
    st.sampled_from(METHODS),
    st.sampled_from(MODES),
    st.sampled_from(EMPTY_B),
)
def test_the_order_is_that_of_real_vectors(  # noqa: PLR0913, PLR0917 - the settings, one by one
    world: World, tau: float, alpha: float, method: Method, mode: Mode, empty_b: EmptyB
) -> None:
    assume(clear_of_cosines(world, tau))
    # A centroid of nearly cancelling terms is mostly rounding: see test_score.
    for document in world.documents:
        if terms := oracle.residual(world, document, tau, mode):
            mean = oracle.centroid(world, document, terms)
            assume(not 1e-6 < np.hypot.reduce(mean) < 0.05)
    expected = oracle.rank(world, tau=tau, alpha=alpha, method=method, mode=mode, empty_b=empty_b)
    trace = trace_of(world)
    ranking = rerank(
        ScoreTable.of(trace.candidates),
        RankSettings(tau=tau, alpha=alpha, method=method, mode=mode, empty_b=empty_b),
    )
    ids = [c.id for c in trace.candidates]
    assert frozenset(np.array(ids)[ranking.empty_b].tolist()) == expected.empty
    column = {
        "similarity": expected.similarity,
        "causal": expected.causal,
        "hybrid": expected.hybrid,
        "guarded": expected.guarded,
        "cross-encoder": expected.cross,
    }[method]
    gap = 1e-5
    if method == "guarded":
        # Ranks turn on any rounding: where either column has two that are nearly equal, nothing is asked.
        assume(apart(expected.similarity) and apart(expected.causal))
        assert [ids[i] for i in ranking.order] == list(expected.order)
    if method == "hybrid":
        # Min-max divides rounding by the spread of each column.
        narrow = min(spread(dict(expected.similarity)), spread(dict(expected.causal)))
        assume(narrow > 1e-4)
        gap /= narrow
    rank = dict(zip(ids, ranking.rank.tolist(), strict=True))
    for first, second in combinations(expected.order, 2):
        a, b = column[first], column[second]
        if b is None or (a is not None and a - b > gap):
            assert rank[first] < rank[second] or (a is None and b is None)


@given(worlds(min_documents=1), rank_settings())
def test_errors_are_the_packages_own(world: World, chosen: RankSettings) -> None:
    table = ScoreTable.of(trace_of(world).candidates)
    for broken in (replace(chosen, tau=2.0), replace(chosen, alpha=-1.0)):
        with pytest.raises(CausalvizError):
            rerank(table, broken)
