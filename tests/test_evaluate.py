"""Measures worked out by hand, their laws, test collections good and bad, and the command as scripts meet it."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import silent
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.stats import permutation_test
from strategies import rank_settings, traces

from causalviz import cli
from causalviz.backends.bm25 import Bm25Index, counted_words
from causalviz.errors import CollectionError, MissingBackendError, ParameterError
from causalviz.evaluation.collections import read_collection
from causalviz.evaluation.evaluate import (
    CROSS_ENCODER,
    METHODS,
    Answer,
    draw_queries,
    evaluate,
    reranked,
    reranked_by_all,
    settings_of,
    stratified,
    verdict,
)
from causalviz.evaluation.measures import RESAMPLES, means, measure, paired_difference, randomisation_p
from causalviz.evaluation.results import AnswerFile, answer_all, answers_path
from causalviz.evaluation.statistics import STATISTICS
from causalviz.records import RankSettings, Trace

pytest.importorskip("ir_measures", reason="left out where it has no wheel; see requirements.txt")

RERANKING = METHODS[:-1]
CORPUS: list[dict[str, Any]] = [
    {"_id": "stuffed", "title": "", "text": "Late interaction late interaction late interaction."},
    {
        "_id": "answer",
        "title": "MaxSim",
        "text": "Each token keeps a vector; late the best matches are summed.",
    },
    {"_id": "bread", "title": "Bread", "text": "Flour, water and salt rest overnight."},
    {"_id": "empty", "title": "", "text": ""},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "late interaction"},
    {"_id": "q2", "text": "how is bread made"},
    {"_id": "unjudged", "text": "anything"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tanswer\t2\nq1\tstuffed\t0\nq2\tbread\t1\n"


def write(
    folder: Path,
    corpus: list[Any] | str = CORPUS,
    queries: list[Any] | str = QUERIES,
    qrels: str = QRELS,
) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, entries in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        lines = (
            entries
            if isinstance(entries, str)
            else "".join(f"{json.dumps(e, ensure_ascii=False)}\n" for e in entries)
        )
        (folder / name).write_text(lines, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return folder


# Measures


def test_measures_are_those_worked_out_by_hand() -> None:
    qrels = {"q": {"a": 2, "b": 1, "c": 0}, "late": {"z": 1}, "missed": {"z": 1}}
    rankings = {
        "q": ["x", "b", "a", "c"],
        "late": [*"abcdefghij", "z"],  # relevant at place 11, beyond every cut-off
        "unjudged": ["a"],
    }
    found = measure(rankings, qrels)
    # DCG = 1 / log2(3) + 2 / log2(4) = 0.6309 + 1; the ideal order a, b gives 2 / log2(2) + 1 / log2(3) = 2.6309
    assert found["q"]["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1) / (2 + 1 / math.log2(3)))
    assert found["q"]["ndcg@10"] == pytest.approx(0.6199, abs=1e-4)
    # two of the first five, though there are only four
    assert found["q"]["p@5"] == pytest.approx(2 / 5)
    # the first relevant document is second
    assert found["q"]["mrr@10"] == pytest.approx(1 / 2)
    nothing = {"ndcg@10": 0.0, "p@5": 0.0, "mrr@10": 0.0}
    assert found["late"] == found["missed"] == nothing
    assert set(found) == set(qrels)
    assert means(found)["p@5"] == pytest.approx((2 / 5 + 0 + 0) / 3)


def test_an_empty_ranking_and_a_query_without_relevant_documents_score_0() -> None:
    found = measure({"q": [], "r": ["a"]}, {"q": {"a": 1}, "r": {"a": 0}})
    assert {value for scores in found.values() for value in scores.values()} == {0.0}


def test_without_ir_measures_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingBackendError, match="pip install ir_measures=="):
        measure({}, {"q": {"a": 1}})


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 4), min_size=1, max_size=14))
def test_a_perfect_ranking_has_ndcg_1_and_no_other_has_more(grades: dict[str, int]) -> None:
    perfect = sorted(grades, key=lambda id_: -grades[id_])
    found = measure({"best": perfect, "worst": perfect[::-1]}, {"best": grades, "worst": grades})
    relevant = any(grades.values())
    assert found["best"]["ndcg@10"] == pytest.approx(float(relevant))
    assert found["best"]["mrr@10"] == float(relevant)
    assert found["worst"]["ndcg@10"] <= found["best"]["ndcg@10"]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.integers(0, 2**32))
def test_a_method_differs_from_itself_by_exactly_nothing(values: list[float], seed: int) -> None:
    found = paired_difference(values, values, seed)
    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)


def test_an_interval_is_of_paired_differences_and_repeats_with_its_seed() -> None:
    # the values differ widely between queries, the methods by 0.1 in every query: pairing leaves nothing uncertain
    baseline = [0.0, 0.3, 0.9, 0.6]
    found = paired_difference([value + 0.1 for value in baseline], baseline, seed=1)
    assert (found.mean, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    # differences 0 and 1, twice each: the mean of four draws is k / 4 with binomial odds; 1 / 16 lie at either end,
    # more than the 2.5 % that are cut off
    spread = paired_difference([1.0, 1.0, 0.0, 0.0], [0.0] * 4, seed=1)
    assert (spread.mean, spread.low, spread.high) == (0.5, 0.0, 1.0)
    ours = [0.1, 0.5, 0.7, 0.2, 0.9]
    assert paired_difference(ours, [0.2] * 5, seed=7) == paired_difference(ours, [0.2] * 5, seed=7)
    assert paired_difference(ours, [0.2] * 5, seed=7) != paired_difference(ours, [0.2] * 5, seed=8)


@pytest.mark.parametrize(
    ("ours", "baseline", "seed"), [([1.0], [0.0], 0), ([], [], 0), ([1.0, 0.0], [1.0], 0)]
)
def test_an_interval_needs_two_paired_queries(ours: list[float], baseline: list[float], seed: int) -> None:
    with pytest.raises(ParameterError, match="at least two"):
        paired_difference(ours, baseline, seed)


def test_a_randomisation_p_is_the_share_of_swaps_that_differ_as_much() -> None:
    # differences 1, 1, 1: of the eight ways to swap, all or none give a mean of 1 or -1
    assert randomisation_p([1.0] * 3, [0.0] * 3, seed=0) == pytest.approx(2 / 8)
    # differences 0.5, -0.25, 0: sums of +-0.75 (4 ways) and +-0.25 (4 ways); the observed one is 0.25
    assert randomisation_p([0.5, 0.25, 0.3], [0.0, 0.5, 0.3], seed=0) == 1
    ours = [0.1, 0.5, 0.7, 0.2, 0.9, 0.4, 0.6, 0.8, 0.3, 0.5, 0.9, 0.7, 0.1]
    assert randomisation_p(ours, [0.3] * 13, seed=1) == randomisation_p(ours, [0.3] * 13, seed=1)
    assert randomisation_p(ours, [0.3] * 13, seed=1) != randomisation_p(ours, [0.3] * 13, seed=2)
    # never 0: the observed order is one of those that could have been
    assert randomisation_p([1.0] * 40, [0.0] * 40, seed=0) == 1 / (RESAMPLES + 1)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=10))
def test_every_swap_is_counted_where_scipy_counts_them_all(pairs: list[tuple[float, float]]) -> None:
    ours, baseline = np.array(pairs).round(3).T

    def mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = values.mean(axis=axis)
        return found

    oracle = permutation_test((ours - baseline,), mean, permutation_type="samples", n_resamples=10_000)
    found = randomisation_p(ours.tolist(), baseline.tolist(), seed=0)
    assert found == pytest.approx(min(oracle.pvalue, 1))


def test_many_queries_are_drawn_and_come_near_to_scipy() -> None:
    draw = np.random.default_rng(4)
    baseline = draw.uniform(size=60)
    ours = baseline + draw.normal(0.04, 0.15, 60)
    oracle = permutation_test(
        (ours - baseline,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
    )
    # 2,000 draws: a standard error of at most 0.011
    assert randomisation_p(ours.tolist(), baseline.tolist(), seed=0) == pytest.approx(oracle.pvalue, abs=0.03)


@pytest.mark.parametrize(
    ("ours", "baseline", "seed"), [([1.0], [0.0], 0), ([1.0, 0.0], [1.0], 0), ([1.0, 0.0], [1.0, 0.0], -1)]
)
def test_a_randomisation_needs_two_paired_queries_and_a_seed(
    ours: list[float], baseline: list[float], seed: int
) -> None:
    with pytest.raises(ParameterError, match=r"at least two|seed is -1"):
        randomisation_p(ours, baseline, seed)


# Methods


@given(traces(), rank_settings(), st.integers(1, 9))
def test_all_methods_at_once_rank_as_one_by_one(trace: Trace, settings: RankSettings, top_k: int) -> None:
    found = reranked_by_all(trace, settings, top_k)
    names = RERANKING if trace.reranker is None else (*RERANKING, CROSS_ENCODER)
    assert found == {name: reranked(trace, name, settings, top_k) for name in names}


def test_strata_are_compared_each_on_its_own() -> None:
    qrels = {id_: {"a": 1} for id_ in ("q1", "q2", "q3")}
    second, first = ["b", "a"], ["a", "b"]
    rankings = {
        "similarity": {"q1": second, "q2": second, "q3": first},
        "hybrid": {"q1": first, "q2": first, "q3": second},
    }
    whole = evaluate(rankings, qrels, seed=0, methods=["hybrid"])
    strata = stratified(whole, {"helped": ["q1", "q2"], "hurt": ["q3"]}, seed=0)
    loss = 1 - 1 / math.log2(3)
    assert strata["helped"].means["hybrid"]["ndcg@10"] == 1
    assert strata["helped"].difference["hybrid"].mean == pytest.approx(loss)
    assert strata["helped"].p["hybrid"] == pytest.approx(2 / 4)
    assert strata["hurt"].means["hybrid"]["ndcg@10"] == pytest.approx(1 / math.log2(3))
    assert not strata["hurt"].difference
    assert not strata["hurt"].p
    assert stratified(whole, {"all": ["q1", "q2", "q3"]}, seed=0)["all"] == whole


@given(traces(), rank_settings(), st.sampled_from(RERANKING), st.integers(1, 9))
def test_positions_beyond_k_keep_the_baseline_order(
    trace: Trace, settings: RankSettings, method: str, top_k: int
) -> None:
    baseline = [candidate.id for candidate in trace.candidates]
    found = reranked(trace, method, settings, top_k)
    assert found[top_k:] == baseline[top_k:]
    assert sorted(found[:top_k]) == sorted(baseline[:top_k])
    # what lies beyond has no say in what happens before
    alone = replace(trace, candidates=trace.candidates[:top_k])
    assert found[:top_k] == reranked(alone, method, settings, top_k)
    assert reranked(trace, "similarity", settings, top_k) == baseline


def test_there_is_no_other_re_ranking_method() -> None:
    with pytest.raises(ParameterError, match="bm25"):
        settings_of("bm25", RankSettings(tau=0.9))


def test_bm25_finds_documents_that_share_a_word_and_breaks_ties_by_id() -> None:
    index = Bm25Index(["c", "b", "a", "d"], [["salt"], ["salt"], ["bread", "salt"], []])
    assert index.rank(["bread"], 10) == ["a"]
    assert index.rank(["salt"], 10) == ["b", "c", "a"]  # a is longer
    assert index.rank(["salt"], 2) == ["b", "c"]
    assert index.rank(["unseen"], 10) == index.rank([], 10) == []
    assert Bm25Index(["a"], [[]]).rank(["bread"], 10) == []


def test_bm25_of_counts_is_bm25_of_the_words() -> None:
    texts = [["salt", "bread", "salt"], [], ["water"], ["bread", "water", "flour"]]
    vocabulary = ["bread", "flour", "salt", "water"]
    counts = csr_matrix(np.array([[words.count(word) for word in vocabulary] for words in texts]))
    found = counted_words(counts, vocabulary)
    assert [sorted(words) for words in found] == [sorted(words) for words in texts]
    asked = ["bread", "water"]
    assert Bm25Index([*"dcba"], found).rank(asked, 9) == Bm25Index([*"dcba"], texts).rank(asked, 9)
    assert counted_words(csr_matrix(np.zeros((0, 4), np.int32)), vocabulary) == []


def test_a_sample_is_drawn_by_seed_whatever_the_order() -> None:
    queries = {f"q{i}": str(i) for i in range(20)}
    drawn = draw_queries(queries, 5, seed=3)
    assert len(drawn) == 5
    assert drawn.items() <= queries.items()
    assert drawn == draw_queries(dict(reversed(queries.items())), 5, seed=3)
    assert drawn != draw_queries(queries, 5, seed=4)
    assert draw_queries(queries, 50, seed=3) == draw_queries(queries, None, seed=3) == queries


@pytest.mark.parametrize(("sample", "seed", "found"), [(0, 0, "sample is 0"), (None, -1, "seed is -1")])
def test_a_sample_out_of_range_is_refused(sample: int | None, seed: int, found: str) -> None:
    with pytest.raises(ParameterError, match=found):
        draw_queries({"q": "x"}, sample, seed)


def test_the_verdict_says_on_which_side_of_zero_each_interval_lies() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(6)}
    second = {id_: ["b", "a"] for id_ in qrels}
    rankings = {
        "similarity": second,
        "exact": {id_: ["a"] for id_ in qrels},
        "semantic": {},
        "hybrid": second,
    }
    found = evaluate(rankings, qrels, seed=0, methods=list(rankings))
    assert found.difference["exact"].mean == pytest.approx(1 - 1 / math.log2(3))
    assert verdict(found) == (
        "On these queries, better than similarity (interval above zero): exact; worse (interval below zero): semantic; "
        "no difference shown (interval holds zero): hybrid."
    )
    alone = evaluate(rankings, {"q0": {"a": 1}}, seed=0, methods=["similarity", "exact"])
    assert alone.difference == {}
    assert "One query" in verdict(alone)
    assert "No method was compared" in verdict(evaluate(rankings, qrels, seed=0, methods=["similarity"]))


# Answers kept on disk


ONE = Answer(rankings={"similarity": ["a", "b"]}, statistics={"top1_gap": 0.1 + 0.2})
OTHER = Answer(rankings={"similarity": []}, statistics={"top1_gap": 1 / 3})


def test_kept_answers_are_read_back_to_the_last_bit(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "x.answers.jsonl"
    kept = AnswerFile(path)
    assert kept.get("late\ninteraction\ud800") is None
    kept.add("late\ninteraction\ud800", ONE)
    kept.add("迟交互", OTHER)
    for file in (kept, AnswerFile(path)):
        assert (file.get("late\ninteraction\ud800"), file.get("迟交互")) == (ONE, OTHER)


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_line_that_was_cut_off_is_not_there_and_harms_no_other(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.answers.jsonl"
    for query, found in (("one", ONE), ("other", OTHER)):
        AnswerFile(path).add(query, found)
    path.write_bytes(path.read_bytes()[:-cut])
    left = AnswerFile(path)
    assert left.get("one") == ONE
    assert left.get("other") == (OTHER if cut == 1 else None)
    left.add("third", OTHER)
    again = AnswerFile(path)
    assert (again.get("one"), again.get("third")) == (ONE, OTHER)


def test_what_is_no_answer_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.answers.jsonl"
    path.write_bytes(b'null\n[1]\n{"query": "one"}\n\xff\n')
    assert AnswerFile(path).get("one") is None


def test_an_interrupted_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(query: str) -> Answer:
        asked.append(query)
        return ONE

    def stop_at_the_third(done: int, *_: object) -> None:
        if done == 2:
            raise KeyboardInterrupt

    path, queries = tmp_path / "x.answers.jsonl", {"1": "a", "2": "b", "3": "c", "4": "a"}
    with pytest.raises(KeyboardInterrupt):
        answer_all(queries, AnswerFile(path), ask, stop_at_the_third)
    assert answer_all(queries, AnswerFile(path), ask, silent) == dict.fromkeys(queries, ONE)
    assert asked == ["a", "b", "c"]


def test_answers_have_a_file_for_each_setting_that_changes_them(tmp_path: Path) -> None:
    settings = RankSettings(tau=0.9)
    places = {
        answers_path(tmp_path, "f", settings, centred=False, top_k=20),
        answers_path(tmp_path, "g", settings, centred=False, top_k=20),
        answers_path(tmp_path, "f", replace(settings, tau=0.8), centred=False, top_k=20),
        answers_path(tmp_path, "f", replace(settings, alpha=0.4), centred=False, top_k=20),
        answers_path(tmp_path, "f", settings, centred=True, top_k=20),
        answers_path(tmp_path, "f", settings, centred=False, top_k=10),
        answers_path(tmp_path, "f", settings, centred=False, top_k=20, reranker="a"),
        answers_path(tmp_path, "f", settings, centred=False, top_k=20, reranker="b"),
    }
    assert len(places) == 8
    # the method is part of every column's rule, not of what all share
    same = answers_path(tmp_path, "f", replace(settings, method="similarity"), centred=False, top_k=20)
    assert same in places


# Collections


def test_a_collection_is_read_as_it_is_meant(tmp_path: Path) -> None:
    separator = "\u2028"  # ends a line for str.splitlines, not for a JSON Lines file
    corpus = [{"_id": 7, "text": f"one{separator}line"}, {"_id": "b", "title": None, "text": None}]
    queries = "\ufeff" + json.dumps({"_id": "q", "text": "x"}) + "\r\n\r\n"
    found = read_collection(write(tmp_path / "c", corpus, queries, "q\t7\t1\r\n"))  # no line of column names
    assert [(d.id, d.title, d.text) for d in found.documents] == [
        ("7", "7", f"one{separator}line"),
        ("b", "b", ""),
    ]
    assert found.queries == {"q": "x"}
    assert found.qrels == {"q": {"7": 1}}


def test_unjudged_queries_are_left_out(tmp_path: Path) -> None:
    assert set(read_collection(write(tmp_path / "c")).queries) == {"q1", "q2"}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"corpus": ""}, "no document with text"),
        ({"corpus": [{"_id": "answer", "text": " "}]}, "no document with text"),
        ({"corpus": "{"}, "line 1 of .*corpus.jsonl"),
        ({"corpus": '"_id text"'}, "JSON str, but an object"),
        ({"corpus": [{"_id": "a"}]}, "no 'text'"),
        ({"corpus": [{"_id": ["a"], "text": ""}]}, "an id is text"),
        ({"corpus": [{"_id": "a", "text": 5}]}, "JSON int"),
        ({"corpus": [*CORPUS, CORPUS[0]]}, "line 5 .*'stuffed' again"),
        ({"queries": ""}, "'queries.jsonl' holds no query"),
        ({"queries": QUERIES[1:]}, "line 2 of 'test.tsv' names the unknown query 'q1'"),
        ({"queries": [*QUERIES, QUERIES[0]]}, "line 4 .*'q1' again"),
        ({"queries": [{"_id": "q1", "text": " "}, QUERIES[1]]}, "query 'q1' .*has no text"),
        ({"qrels": ""}, "holds no judgment, so"),
        ({"qrels": QRELS.splitlines()[0]}, "holds no judgment, so"),
        ({"qrels": "q1\tanswer\t0\n"}, "no judgment above 0"),
        ({"qrels": QRELS + "q1\tnobody\t1\n"}, "line 5 of 'test.tsv' names the unknown document 'nobody'"),
        ({"qrels": QRELS + "q1\tbread\tNaN\n"}, "line 5 .*grade 'NaN'"),
        ({"qrels": QRELS + "q1 bread 1\n"}, "line 5 .*is no judgment"),
        ({"qrels": QRELS + "q1\tanswer\t1\n"}, "line 5 .*'answer' for query 'q1' again"),
    ],
)
def test_a_broken_collection_names_the_place(tmp_path: Path, changes: dict[str, Any], found: str) -> None:
    with pytest.raises(CollectionError, match=found):
        read_collection(write(tmp_path / "c", **changes))


def test_a_missing_collection_or_file_says_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"no folder; .*qrels/test\.tsv"):
        read_collection(tmp_path / "nowhere")
    (write(tmp_path / "c") / "queries.jsonl").unlink()
    with pytest.raises(CollectionError, match=r"c' holds no queries\.jsonl; a collection is"):
        read_collection(tmp_path / "c")


# The command, with the bundled encoder


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    return write(tmp_path / "tiny")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["evaluate", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_evaluate_gives_its_stable_json(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, str(collection), "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert set(found) == {"collection", "queries", "methods", "difference", "tau", "encoder"}
    assert (found["collection"], found["queries"], found["encoder"], found["tau"]) == (
        "tiny",
        2,
        "e5-small",
        0.9,
    )
    assert list(found["methods"]) == list(METHODS)
    assert all(set(values) == {"ndcg@10", "p@5", "mrr@10"} for values in found["methods"].values())
    assert set(found["difference"]) == set(METHODS) - {"similarity"}
    assert all(set(interval) == {"mean", "low", "high", "p"} for interval in found["difference"].values())
    # q1: the stuffed page leads by similarity, the answer (2) is second: 1 / log2(3); nothing but the question's words
    # is left to the stuffed page, so the answer leads when re-ranked. q2: bread leads throughout
    assert found["methods"]["similarity"]["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert found["methods"]["exact"]["mrr@10"] == 1
    # with the fallback it keeps its similarity, and its place
    assert found["methods"]["fallback"]["mrr@10"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["methods"]["bm25"]["p@5"] == pytest.approx(1 / 5)
    # the index and the answers are kept, and give the same again; so does an interrupted run that goes on
    (kept,) = (tmp_path / "home" / "cache").glob("*.answers.jsonl")
    assert len(list((tmp_path / "home" / "cache").glob("*.kb"))) == 1
    assert run(capsys, str(collection), "--json")[1] == out
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2 + 5])
    assert run(capsys, str(collection), "--json")[1] == out
    assert sorted(filter(None, kept.read_bytes().split(b"\n")))[-2:] == sorted(
        filter(None, whole.split(b"\n"))
    )
    kept.unlink()
    assert run(capsys, str(collection), "--json")[1] == out
    assert kept.read_bytes() == whole


def test_evaluate_measures_the_methods_asked_for_query_by_query(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--methods", "exact", "bm25", "exact", "--sample", "1", "--top-k", "1", "--per-query", "--json"]
    code, out, _ = run(capsys, str(collection), *asked)
    found = json.loads(out)
    assert code == 0
    assert found["queries"] == 1
    assert list(found["methods"]) == ["exact", "bm25"]
    assert found["difference"] == {}
    ((query, measured),) = found["per_query"].items()
    assert query in {"q1", "q2"}
    assert measured == found["methods"]


def test_evaluate_prints_a_table_and_a_verdict(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, str(collection))
    said = " ".join(out.split())
    assert (code, err) == (0, "")
    assert all(name in said for name in (*METHODS, "nDCG@10", "P@5", "MRR@10"))
    assert "cross-encoder not computed" in said
    assert "paired randomisation test" in said
    assert "2 of 2 judged queries, 4 documents" in said
    assert "Documents without text, which no method finds: 1." in said
    assert said.endswith(".")
    assert "On these queries, better than similarity (interval above zero):" in said


def test_evaluate_compares_within_strata(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = tmp_path / "rounds.tsv"
    rounds.write_text("q1\tfirst round\n", encoding="utf-8")
    asked = [str(collection), "--strata", "--strata-file", str(rounds)]
    code, out, _ = run(capsys, *asked, "--per-query", "--json")
    found = json.loads(out)
    assert code == 0
    # q1's two keywords are both keywords of the stuffed page and of no other; "bread" alone is a keyword of q2
    each = found["statistics"]["per_query"]
    assert {id_: set(one) for id_, one in each.items()} == {id_: set(STATISTICS) for id_ in ("q1", "q2")}
    overlaps = {id_: one["keyword_overlap"] for id_, one in each.items()}
    assert found["statistics"]["median"]["keyword_overlap"] == pytest.approx(sum(overlaps.values()) / 2)
    assert set(found["strata"]) == {*STATISTICS, "file"}
    (alone,) = found["strata"]["file"].values()
    assert list(found["strata"]["file"]) == ["first round"]
    assert (alone["queries"], alone["difference"]) == (1, {})
    assert alone["methods"] == {m: values["ndcg@10"] for m, values in found["per_query"]["q1"].items()}
    for strata in found["strata"].values():
        assert sum(one["queries"] for one in strata.values()) in {1, 2}
    said = " ".join(run(capsys, *asked)[1].split())
    assert all(f"By {name}" in said for name in STATISTICS)
    assert "Queries without a stratum, left out here: 1." in said


BAD_INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "no document": ({"corpus": ""}, "holds no document with text"),
    "no query": ({"queries": ""}, "holds no query"),
    "no label": ({"qrels": ""}, "holds no judgment, so"),
    "no relevant document": ({"qrels": "q1\tanswer\t0\n"}, "no judgment above 0"),
    "unknown document": ({"qrels": QRELS + "q1\tnobody\t1\n"}, "unknown document 'nobody'"),
    "unknown query": ({"qrels": QRELS + "q9\tanswer\t1\n"}, "unknown query 'q9'"),
    "document twice": ({"corpus": [*CORPUS, CORPUS[0]]}, "'stuffed' again"),
    "query twice": ({"queries": [*QUERIES, QUERIES[0]]}, "'q1' again"),
    "judged twice": ({"qrels": QRELS + "q1\tanswer\t1\n"}, "'answer' for query 'q1' again"),
    "grade not a number": ({"qrels": "q1\tanswer\tNaN\n"}, "the grade 'NaN'"),
    "grade infinite": ({"qrels": "q1\tanswer\tinf\n"}, "the grade 'inf'"),
    "grade a fraction": ({"qrels": QRELS + "q2\tanswer\t0.5\n"}, "the grade '0.5'"),
    "question unseen": ({"queries": [{"_id": "q1", "text": "\u200b"}, *QUERIES[1:]]}, "query 'q1' cannot be"),
}


@pytest.mark.parametrize(("changes", "found"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_a_bad_collection_is_one_line_and_exit_code_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    found: str,
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    code, out, err = run(capsys, str(write(tmp_path / "bad", **changes)), "--json")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert found in err


def test_strata_that_are_none_are_named_before_anything_is_indexed(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = tmp_path / "rounds.tsv"
    rounds.write_text("q9\tfirst\n", encoding="utf-8")
    code, out, err = run(capsys, str(collection), "--strata-file", str(rounds))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "'q9', which has no judgments" in err
    assert not (tmp_path / "home").exists()


def test_a_query_without_a_relevant_document_counts_as_0_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    judged = write(tmp_path / "c", qrels="q1\tstuffed\t0\nq2\tbread\t1\n")
    assert json.loads(run(capsys, str(judged), "--json")[1])["methods"]["similarity"]["ndcg@10"] == 1 / 2
    said = " ".join(run(capsys, str(judged))[1].split())
    assert "Queries without a relevant document, which score 0 by every method: 1." in said


def test_one_query_has_measures_but_no_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    code, out, err = run(capsys, str(write(tmp_path / "c", qrels="q2\tbread\t1\n")), "--strata")
    assert (code, err) == (0, "")
    assert "One query says nothing about others" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--sample", "0"], "sample is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--top-k", "0"], "top-k is 0"),
        (["--tau", "2"], "tau is 2"),
        (["--alpha", "2"], "alpha is 2"),
        (["--encoder", "word2vec"], "no encoder 'word2vec'"),
    ],
)
def test_a_setting_out_of_range_is_named_before_anything_is_indexed(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], found: str
) -> None:
    code, out, err = run(capsys, str(collection), *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert found in err
    assert not (tmp_path / "home").exists()


def test_a_missing_collection_is_one_line_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, str(tmp_path / "nowhere"))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "is no folder" in err


def test_an_unknown_method_is_wrong_usage(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(capsys, str(collection), "--methods", "magic")
    assert stopped.value.code == 2
    assert "magic" in capsys.readouterr().err
