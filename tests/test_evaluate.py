"""Measures worked out by hand, their laws, test collections good and bad, and the command as scripts meet it."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import rank_settings, traces

from causalviz import cli
from causalviz.backends.bm25 import Bm25Index
from causalviz.errors import CollectionError, MissingBackendError, ParameterError
from causalviz.evaluation.collections import read_collection
from causalviz.evaluation.evaluate import METHODS, draw_queries, evaluate, reranked, settings_of, verdict
from causalviz.evaluation.measures import means, measure, paired_difference
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


# Methods


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
        ({"queries": ""}, "line 2 .*'q1', which queries.jsonl"),
        ({"queries": [{"_id": "q1", "text": " "}, QUERIES[1]]}, "query 'q1' .*has no text"),
        ({"qrels": ""}, "no judgment above 0"),
        ({"qrels": QRELS.splitlines()[0]}, "no judgment above 0"),
        ({"qrels": "q1\tanswer\t0\n"}, "no judgment above 0"),
        ({"qrels": QRELS + "q1\tnobody\t1\n"}, "line 5 .*'nobody', which corpus.jsonl"),
        ({"qrels": QRELS + "q1\tbread\tgood\n"}, "line 5 .*is no judgment"),
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
    with pytest.raises(CollectionError, match=r"queries\.jsonl' cannot be read"):
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
    assert all(set(interval) == {"mean", "low", "high"} for interval in found["difference"].values())
    # q1: the stuffed page leads by similarity, the answer (2) is second: 1 / log2(3); nothing but the question's words
    # is left to the stuffed page, so the answer leads when re-ranked. q2: bread leads throughout
    assert found["methods"]["similarity"]["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert found["methods"]["exact"]["mrr@10"] == 1
    # with the fallback it keeps its similarity, and its place
    assert found["methods"]["fallback"]["mrr@10"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["methods"]["bm25"]["p@5"] == pytest.approx(1 / 5)
    # the index is kept, and gives the same again
    assert len(list((tmp_path / "home" / "cache").glob("*.kb"))) == 1
    assert run(capsys, str(collection), "--json")[1] == out


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
    assert "Cross-encoder: not computed" in said
    assert "2 of 2 judged queries, 4 documents" in said
    assert "Documents without text, which no method finds: 1." in said
    assert said.endswith(".")
    assert "On these queries, better than similarity (interval above zero):" in said


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
