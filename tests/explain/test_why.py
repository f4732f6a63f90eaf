from dataclasses import replace

import numpy as np
import pytest
from explain.random_traces import worked_example
from hypothesis import given
from strategies import loose_traces, rank_settings, traces

from causalviz.explain.why import Part, why_parts, why_sentence
from causalviz.explain.why_facts import facts
from causalviz.rank import rerank
from causalviz.records import Candidate, RankSettings, Trace
from causalviz.score import ScoreTable

EXAMPLE = worked_example()


def told(trace: Trace, chosen: RankSettings, index: int) -> str:
    return why_sentence(trace, rerank(ScoreTable.of(trace.candidates), chosen), chosen, index)


ASIDE = "the words it shares with the question"
LEFT = "were set aside, and what is left"
SAYS = "it shares no keyword with the question, so nothing was set aside; what it says"
CLOSER = "is closer to the question than what is left of the document it passed."
CLOSE = "words close to the question’s"
ALL = "so nothing of its own is left to compare;"
STAYS = "of 3, and no document changes places with it."

CASES: list[tuple[RankSettings, dict[int, str]]] = [
    (
        RankSettings(tau=0.9),
        {
            0: f"Moved down 1: {ASIDE} (u) {LEFT} (v) is less close to the question than what is left of the "
            "document that passed it.",
            1: f"Moved up 1: {SAYS} (w) {CLOSER}",
            2: f"Stays at rank 3: every keyword it has (z ≈ u) is close to one of the question’s, {ALL} such documents "
            "go last.",
        },
    ),
    (
        RankSettings(tau=0.7),
        {
            0: f"Stays at rank 1: {ASIDE} (u) {LEFT} (v) gives it causal rank 1 {STAYS}",
            1: f"Stays at rank 2: {CLOSE} (w ≈ u) {LEFT} (x) gives it causal rank 2 {STAYS}",
        },
    ),
    (
        RankSettings(tau=-1.0),
        {
            0: "Stays at rank 1: every keyword it has is shared with the question (u) or close to one of the "
            f"question’s (v ≈ u), {ALL} that holds for every candidate, so the order by similarity stands."
        },
    ),
    (
        RankSettings(tau=0.9, alpha=0.0, empty_b="fallback"),
        {
            0: f"Moved down 2: {ASIDE} (u) {LEFT} (v) has a lower causal score than the 2 documents that passed it.",
            1: f"Moved up 1: {SAYS} (w) {CLOSER}",
            2: f"Moved up 1: every keyword it has (z ≈ u) is close to one of the question’s, {ALL} it keeps its "
            "similarity in place of a causal score, higher than that of the document it passed.",
        },
    ),
    (
        RankSettings(tau=0.9, alpha=1.0),
        {0: "Stays at rank 1: all weight is on similarity, so the keywords change nothing here."},
    ),
    (
        RankSettings(tau=0.9, method="similarity"),
        {0: "Stays at rank 1: ranked by similarity alone, the keywords play no part."},
    ),
]


@pytest.mark.parametrize(("chosen", "sentences"), CASES)
def test_the_sentences_of_the_worked_example(chosen: RankSettings, sentences: dict[int, str]) -> None:
    assert {i: told(EXAMPLE, chosen, i) for i in sentences} == sentences


def crossed(*given: float | None) -> Trace:
    """Let a cross-encoder score the worked example."""
    candidates = tuple(
        replace(candidate, cross_encoder=score)
        for candidate, score in zip(EXAMPLE.candidates, given, strict=True)
    )
    return replace(EXAMPLE, candidates=candidates, reranker="a cross-encoder")


@pytest.mark.parametrize(
    ("given", "index", "expected"),
    [
        (
            (-1.5, 4.0, None),
            0,
            "Moved down 1: ranked by the cross-encoder’s score alone, the keywords play no part.",
        ),
        (
            (-1.5, 4.0, None),
            2,
            "Stays at rank 3: the cross-encoder gave it no score; such documents go last.",
        ),
        (
            (None, None, None),
            1,
            "Stays at rank 2: the cross-encoder gave no candidate a score, so the order by similarity stands.",
        ),
        (
            (4.0, 1.5, 1.5),
            2,
            (
                "Stays at rank 3: ranked by the cross-encoder’s score alone, the keywords play no part. "
                "Its final score equals that of 1 document; equal scores keep the order by similarity."
            ),
        ),
    ],
)
def test_the_cross_encoder_says_why(given: tuple[float | None, ...], index: int, expected: str) -> None:
    assert told(crossed(*given), RankSettings(tau=0.9, method="cross-encoder"), index) == expected


def suspects(*given: tuple[float, float] | None) -> Trace:
    """Suspect those candidates of the worked example that have a use and a topic."""
    candidates = tuple(
        candidate if numbers is None else replace(candidate, suspect=True, use=numbers[0], topic=numbers[1])
        for candidate, numbers in zip(EXAMPLE.candidates, given, strict=True)
    )
    return replace(EXAMPLE, candidates=candidates)


GUARDED = RankSettings(tau=0.9, method="guarded")
# At tau 0.9 the causal ranks are 2, 1, 3.
WHY = (
    "it is suspected of stuffing, for it uses the question’s words 4.1 times as much as documents here usually do, "
    "while the rest of it has 0.5 times as much to do with the other results."
)
LOWER = "is lower than its rank by similarity (1), so it takes that place"
NO_LOWER = "is no lower than its rank by similarity"
ROSE = "it rose because 1 document above it, also suspected, fell."
STAND = "so it keeps its similarity"
KEEPS = "its similarity counts, and its keywords play no part."


@pytest.mark.parametrize(
    ("given", "index", "expected"),
    [
        ((None, None, None), 0, f"Stays at rank 1: it is not suspected of stuffing, so {KEEPS}"),
        (
            ((4.1, 0.5), None, None),
            0,
            f"Moved down 1: {WHY} And its causal rank (2 of 3) {LOWER}: {ASIDE} (u) {LEFT} (v) makes its causal score.",
        ),
        (
            ((4.1, 0.5), None, None),
            1,
            "Moved up 1 only because 1 document above it, suspected of stuffing, fell. It is not suspected itself: "
            + KEEPS,
        ),
        (
            ((4.1, 0.5), (4.1, 0.5), None),
            1,
            f"Moved up 1: {WHY} But its causal rank (1 of 3) {NO_LOWER} (2), {STAND}; {ROSE}",
        ),
        (
            (None, None, (4.1, 0.5)),
            2,
            f"Stays at rank 3: {WHY} But its causal rank (3 of 3) {NO_LOWER} (3), {STAND}.",
        ),
    ],
)
def test_the_guard_says_why(given: tuple[tuple[float, float] | None, ...], index: int, expected: str) -> None:
    assert told(suspects(*given), GUARDED, index) == expected


def test_a_suspect_without_keywords_of_its_own_goes_last_by_the_guard() -> None:
    d1, d2, d3 = EXAMPLE.candidates
    own = replace(d3, similarity=1.0, suspect=True, repeats=3, tokens=4)
    trace = replace(EXAMPLE, candidates=(own, d1, d2), density_limit=0.25)
    dense = (
        "it is suspected of stuffing, for the question’s words make up 75 % of its content words, more than twice the "
        "25 % that documents here rarely exceed."
    )
    lead = f"Moved down 2: {dense} And its causal rank (3 of 3) {LOWER}: every keyword it has (z ≈ u) is close to one"
    assert told(trace, GUARDED, 0) == f"{lead} of the question’s, {ALL} such documents go last."
    # It keeps its similarity: causal rank 1.
    assert told(trace, replace(GUARDED, empty_b="fallback"), 0).startswith("Stays at rank 1: it is suspected")


def test_suspects_that_fall_together_share_the_places() -> None:
    d1, d2, d3 = EXAMPLE.candidates
    low = [with_keywords(one, [score], [[1]]) for one, score in ((d1, 0.25), (d2, 0.5), (d3, 0.75))]
    trace = replace(
        EXAMPLE, candidates=(replace(low[0], suspect=True), replace(low[1], suspect=True), low[2])
    )
    # Causal ranks 3, 2, 1: the first falls to 3; the second keeps its similarity.
    assert told(trace, GUARDED, 1) == (
        "Moved up 1: it is suspected of stuffing. But its causal rank (2 of 3) is no lower than its rank by similarity "
        "(2), so it keeps its similarity; it rose because 1 document above it, also suspected, fell."
    )
    four = (
        *trace.candidates[:1],
        replace(low[1], suspect=True, relevance=np.array([0.125], np.float32)),
        low[2],
    )
    # Causal ranks 2, 3, 1: both fall, and the first is ahead of the second again.
    assert told(replace(trace, candidates=four), GUARDED, 0) == (
        "Stays at rank 1: it is suspected of stuffing. And its causal rank (2 of 3) is lower than its rank by "
        "similarity (1), so it takes that place (rank 1, as other suspected documents fell too): it shares no keyword "
        "with the question, so nothing was set aside; what it says (k0) makes its causal score."
    )


def test_keywords_stand_apart_from_the_words_around_them() -> None:
    ranking = rerank(ScoreTable.of(EXAMPLE.candidates), EXAMPLE.settings)
    parts = why_parts(EXAMPLE, ranking, EXAMPLE.settings, 0)
    assert [part for part in parts if part.set] == [Part(text="u", set="A"), Part(text="v", set="B")]
    wide = replace(EXAMPLE.settings, tau=-1.0)
    parts = why_parts(EXAMPLE, rerank(ScoreTable.of(EXAMPLE.candidates), wide), wide, 0)
    named = [Part(text="u", set="A"), Part(text="v", set="A"), Part(text="u", set="Q")]
    assert [part for part in parts if part.set] == named


def test_a_word_close_to_the_questions_is_named_beside_a_word_of_the_question() -> None:
    first, *rest = EXAMPLE.candidates
    terms = ("u", *(f"k{i}" for i in range(5)))
    both = replace(
        with_keywords(first, [0.5] * 6, np.eye(6).tolist()),
        terms=terms,
        cosines=np.array([1, 0.95, 0.95, 0.95, 0.95, 0], np.float32),
        exact=np.array([True] + [False] * 5),
    )
    assert f"{ASIDE} (u) or that are close to its words (k0 ≈ u, k1 ≈ u, k2 ≈ u, …) {LEFT} (k4)" in told(
        replace(EXAMPLE, candidates=(both, *rest)), EXAMPLE.settings, 0
    )


def with_keywords(candidate: Candidate, relevance: list[float], gram: list[list[float]]) -> Candidate:
    n = len(relevance)
    return replace(
        candidate,
        terms=tuple(f"k{i}" for i in range(n)),
        weights=np.ones(n, np.float32),
        cosines=np.zeros(n, np.float32),
        matches=np.zeros(n, np.int64),
        exact=np.zeros(n, bool),
        relevance=np.array(relevance, np.float32),
        gram=np.array(gram, np.float32),
    )


def test_keywords_that_cancel_out_and_keywords_that_pull_the_other_way_are_named() -> None:
    d1, d2, d3 = EXAMPLE.candidates
    opposite = with_keywords(d2, [0.5, -0.5], [[1, -1], [-1, 1]])
    mixed = with_keywords(d3, [0.5, 0.5, 0.25, 0.25, -0.25], np.eye(5).tolist())
    trace = replace(EXAMPLE, candidates=(d1, opposite, mixed))
    chosen = RankSettings(tau=0.9, method="causal")
    # d1 0, d2 0 (a tie), d3 above both.
    assert told(trace, chosen, 1) == (
        "Moved down 1: it shares no keyword with the question, so nothing was set aside; what it says (k0, k1) cancels "
        "out (causal score 0), less than what is left of the document that passed it. Its final score equals that of 1 "
        "document; equal scores keep the order by similarity."
    )
    assert told(trace, chosen, 2) == (
        "Moved up 2: it shares no keyword with the question, so nothing was set aside; what it says (k0, k1, k2, …) is "
        "closer to the question than what is left of the 2 documents it passed. Pulling the other way: k4."
    )


def test_the_only_candidate_has_nothing_to_be_ranked_against() -> None:
    alone = replace(EXAMPLE, candidates=EXAMPLE.candidates[:1])
    assert told(alone, EXAMPLE.settings, 0) == (
        "The only candidate: there is no other document to rank it against."
    )


@given(traces(min_documents=1) | loose_traces().filter(lambda t: t.candidates), rank_settings())
def test_the_facts_add_up(trace: Trace, chosen: RankSettings) -> None:
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    for index in range(len(trace.candidates)):
        found = facts(trace, ranking, chosen, index)
        assert found.passed + found.passed_last - found.overtaken == found.before - found.now
        sentence = why_sentence(trace, ranking, chosen, index)
        assert sentence.endswith(".")
        moved = found.before - found.now
        lead = f"Moved up {moved}" if moved > 0 else f"Moved down {-moved}" if moved < 0 else "Stays at rank"
        assert sentence.startswith((lead, "The only candidate"))
        if found.vanished:
            assert ranking.causal[index] == 0
