"""`reproduce` as scripts meet it: the paper's figures word for word, ours equal to what the other commands measure."""

import os
import re
import shutil
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from backends import tiny_models
from backends.test_rerankers import SMALL, save_tokenizer
from documents.builders import SHARED, needs_shared
from test_cross_encoder import run, run_json
from test_evaluate import CORPUS, write
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

from causalviz.bootstrap import SAMPLE
from causalviz.cli.main import parser
from causalviz.evaluation import paper
from causalviz.evaluation.measures import MEASURES
from causalviz.settings import ROOT

pytest.importorskip("ir_measures", reason="left out where it has no wheel; see requirements.txt")

THEMES = str(SAMPLE / "themes.jsonl")
TABLE_2 = {"similarity", "cross-encoder", "exact", "semantic", "hybrid", "guarded"}
TABLE_3 = {"similarity", "cross-encoder", "semantic", "fallback", "hybrid", "guarded"}
NO_RERANKER = ("--reranker", "none")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the models, the collections and one cache for all tests lie."""
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(autouse=True)
def home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(place / "home"))
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture(scope="module")
def encoder(place: Path) -> str:
    """Save a model of BGE-M3's architecture with two small random layers; return its name."""
    return f"bge-m3:{tiny_models.bge_m3(place / 'bge-m3')}"


@pytest.fixture(scope="module")
def reranker(place: Path) -> str:
    """Save one of the reranker's architecture likewise; texts of the sample fit into it whole."""
    folder = place / "bge-reranker-v2-m3"
    words = save_tokenizer(folder, pieces=True)
    config = XLMRobertaConfig(
        vocab_size=words, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, **SMALL
    )
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    return f"bge-reranker-v2-m3:{folder}"


@pytest.fixture(scope="module")
def scifact(place: Path) -> str:
    """Write a collection that a user might have named as the paper does."""
    return str(write(place / "SciFact"))


def ours(pairs: Any) -> Any:  # noqa: ANN401 - any JSON
    return {name: pair["ours"] for name, pair in pairs.items() if pair["ours"] is not None}


# The paper's figures


def test_the_means_of_the_papers_table_2_are_those_of_its_rows() -> None:
    for method, mean in paper.MEAN_TARGET_RANK.items():
        whole = Decimal(fmean(ranks[method] for ranks in paper.TARGET_RANK.values()))
        assert float(whole.quantize(Decimal("0.01"), ROUND_HALF_UP)) == mean


@needs_shared
def test_every_figure_is_the_one_the_paper_prints() -> None:
    text = next((SHARED.parent / "paper").glob("000_*.txt")).read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines()]
    printed = {line[0][:2]: [float(x) for x in line[1:]] for line in lines if re.match(r"T\d ", line[0])}
    assert {id_: list(ranks.values()) for id_, ranks in paper.TARGET_RANK.items()} == printed
    means = {line[0]: [float(x) for x in line[1:]] for line in lines if line[0].startswith("mean ")}
    assert means == {
        "mean target rank": list(paper.MEAN_TARGET_RANK.values()),
        "mean stuffing rank": list(paper.MEAN_STUFFED_RANK.values()),
    }
    for one in paper.COLLECTIONS:
        start = next(i for i, line in enumerate(lines) if line[0] == one.name and len(line) == 5)
        rows = [[float(x) for x in line[2:]] for line in lines[start : start + 5]]
        assert [list(values.values()) for values in one.methods.values()] == rows
        assert f"{one.name} ({one.documents:,} documents, {one.queries:,} queries)" in text
        gate = next(line for line in lines if line[:2] == [one.name, "factoid"])
        assert gate[2:4] == ["30", reliabilities(one.gate)]
    gate = next(line for line in lines if line[0].startswith("Diagnostic (8"))
    assert gate[2:4] == ["4", reliabilities(paper.THEMES_GATE)]


def reliabilities(gate: paper.Gate) -> str:
    return " / ".join(f"{100 * gate.reliability[name]:g}%" for name in ("causal", "hybrid"))


# The command


def check_against_the_other_commands(
    found: Any,  # noqa: ANN401 - any JSON
    folder: str,
    encoder: list[str],
    reranker: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Compare with `diagnose`, `evaluate` and `calibrate`; without a reranker they leave its column out."""
    table, (collection,), gates = found["table_2"], found["table_3"], found["table_4"]
    left_out = set() if reranker else {"cross-encoder"}

    diagnosed = run_json(capsys, "diagnose", THEMES, *encoder, *reranker)
    assert (found["encoder"], table["tau"]) == (diagnosed["encoder"], diagnosed["tau"])
    assert found["reranker"] == diagnosed.get("reranker")
    for key in ("mean_target_rank", "mean_stuffed_rank"):
        assert set(table[key]) == TABLE_2
        assert ours(table[key]) == {name: diagnosed[key][name] for name in TABLE_2 - left_out}
    for theme, other in zip(table["themes"], diagnosed["themes"], strict=True):
        assert theme["id"] == other["id"]
        assert ours(theme["target_rank"]) == {name: other["target_rank"][name] for name in TABLE_2 - left_out}

    evaluated = run_json(capsys, "evaluate", folder, *encoder, *reranker)
    assert collection["tau"] == evaluated["tau"]
    assert set(collection["methods"]) == TABLE_3
    for name in TABLE_3 - left_out:
        assert ours(collection["methods"][name]) == evaluated["methods"][name]

    for gate, target, probes in zip(gates, [THEMES, folder], [4, 30], strict=True):
        calibrated = run_json(capsys, "calibrate", target, *encoder, "--probes", str(probes))
        assert (gate["measure"], gate["labelled"]) == (calibrated["measure"], calibrated["labelled"])
        assert gate["probes"]["ours"] == calibrated["probes"]
        assert set(gate["methods"]) == set(calibrated["deltas"])
        for name, method in gate["methods"].items():
            assert method["delta"] == calibrated["deltas"][name]
            assert method["reliability"]["ours"] == calibrated["reliability"][name]
            assert method["enable"]["ours"] == (method["delta"] > 0)


def test_with_models_of_the_papers_kinds_it_measures_what_the_other_commands_do(
    encoder: str, reranker: str, scifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ["--encoder", encoder], ["--reranker", reranker]
    found = run_json(capsys, "reproduce", *models[0], *models[1], "--collections", scifact)
    assert (found["top_k"], found["alpha"]) == (20, 0.5)
    assert found["table_2"]["tau"] == found["table_3"][0]["tau"] == 0.6
    assert found["encoder"].startswith("bge-m3@")
    check_against_the_other_commands(found, scifact, *models, capsys)


def test_with_the_bundled_encoder_too_and_stuffing_is_demoted(
    place: Path,
    indexed_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(shutil.copytree(indexed_home, tmp_path / "home")))
    mine = str(write(place / "mine"))
    encoder = ["--encoder", "e5-small"]
    found = run_json(capsys, "reproduce", *encoder, *NO_RERANKER, "--collections", mine)
    check_against_the_other_commands(found, mine, encoder, [], capsys)
    target, stuffed = (ours(found["table_2"][f"mean_{what}_rank"]) for what in ("target", "stuffed"))
    # every column is another method's
    assert len(set(stuffed.values())) == len(stuffed)
    assert min(stuffed["semantic"], stuffed["hybrid"]) > stuffed["similarity"]
    assert target["hybrid"] < target["similarity"]
    assert found["table_4"][0]["methods"]["hybrid"]["enable"] == {"ours": True, "paper": True}
    (collection,) = found["table_3"]
    assert {pair["paper"] for pairs in collection["methods"].values() for pair in pairs.values()} == {None}


def test_the_papers_figure_stands_beside_ours(
    encoder: str, scifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(capsys, "reproduce", "--encoder", encoder, *NO_RERANKER, "--collections", scifact)
    assert found["reranker"] is None
    table, (collection,), (themes, gate) = found["table_2"], found["table_3"], found["table_4"]
    assert table["mean_target_rank"]["cross-encoder"] == {"ours": None, "paper": 2.63}
    assert table["mean_target_rank"]["guarded"]["paper"] is None
    assert table["mean_stuffed_rank"]["semantic"]["paper"] == 4.5
    first = table["themes"][0]
    assert (first["id"], first["target_rank"]["exact"]["paper"]) == ("T1", 6)
    assert collection["methods"]["hybrid"]["ndcg@10"]["paper"] == 0.55
    assert collection["methods"]["cross-encoder"]["mrr@10"] == {"ours": None, "paper": 0.693}
    assert (collection["queries"], collection["documents"]) == (
        {"ours": 2, "paper": 300},
        {"ours": 4, "paper": 5183},
    )
    assert themes["methods"]["causal"]["enable"]["paper"] is True
    assert gate["methods"]["hybrid"]["reliability"]["paper"] == 0.992
    assert gate["methods"]["hybrid"]["enable"]["paper"] is False
    assert gate["methods"]["guarded"]["reliability"]["paper"] is None


def test_the_tables_show_both_and_say_what_may_be_compared(
    encoder: str, scifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("reproduce", "--encoder", encoder, *NO_RERANKER, "--collections", scifact)
    found = run_json(capsys, *arguments)
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    mean = found["table_2"]["mean_target_rank"]
    row = next(line for line in out.splitlines() if line.startswith("mean target rank"))
    assert f"{mean['similarity']['ours']:.2f} / 2.88" in row
    assert "- / 2.63" in row
    values = found["table_3"][0]["methods"]["hybrid"]
    row = next(line for line in out.splitlines() if line.startswith("hybrid"))
    cells = [f"{values[key]['ours']:.3f} / {values[key]['paper']:.3f}" for key in MEASURES]
    assert row.split() == ["hybrid", *" ".join(cells).split()]
    row = next(line for line in out.splitlines() if line.startswith("SciFact") and "hybrid" in line)
    assert "/ disable" in row
    assert row.endswith("/ 99.2%")
    assert "the design of Table 2 is reproduced, not its corpus" in out
    assert "The paper has 300 queries and 5,183 documents, so these are not the same questions" in out
    assert "cross-encoder none (not computed), tau 0.6" in out


def test_without_collections_it_says_what_the_rest_needs(
    encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "reproduce", "--encoder", encoder, *NO_RERANKER)
    assert code == 0
    assert "Table 3 and the rest of Table 4 need test collections (BEIR layout): --collections FOLDER" in out
    assert "Table 3. " not in out


def test_a_draw_on_which_nothing_is_found_leaves_the_other_tables(
    encoder: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # the only relevant document has no text, so no method can find it
    qrels = "query-id\tcorpus-id\tscore\nq1\tempty\t1\n"
    hopeless = str(write(place / "hopeless", CORPUS, qrels=qrels))
    arguments = ("reproduce", "--encoder", encoder, *NO_RERANKER, "--collections", hopeless)
    found = run_json(capsys, *arguments)
    assert found["table_3"][0]["methods"]["similarity"]["ndcg@10"]["ours"] == 0
    assert found["table_4"][0]["measure"] == "target rank"
    gate = found["table_4"][1]
    assert (gate["measure"], gate["methods"]["hybrid"]["enable"]["ours"]) == (None, None)
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "hopeless: no method ranks a relevant document on any question" in out


def test_a_sample_is_the_draw_that_evaluate_makes(
    encoder: str, scifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = ("--sample", "1", "--seed", "3", "--encoder", encoder)
    found = run_json(capsys, "reproduce", *draw, *NO_RERANKER, "--collections", scifact)
    evaluated = run_json(capsys, "evaluate", scifact, *draw)
    (collection,) = found["table_3"]
    assert (found["seed"], collection["queries"]["ours"]) == (3, 1)
    assert ours(collection["methods"]["hybrid"]) == evaluated["methods"]["hybrid"]


# Bad input


def test_the_defaults_are_the_papers_models_whatever_the_environment_names(tmp_path: Path) -> None:
    options = parser().parse_args(["reproduce"])
    assert (options.encoder, options.reranker, options.collections) == ("bge-m3", "bge-reranker-v2-m3", [])
    # A process of its own: the libraries read where weights may lie when they are imported.
    absent = {"CAUSALVIZ_ENCODER": "e5-small", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "causalviz", "reproduce"],
        env=os.environ | absent,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()[-1]
    assert said.startswith("causalviz: the weights of encoder 'bge-m3' cannot be loaded from 'BAAI/bge-m3'")
    assert "bge-m3:FOLDER, or choose e5-small (bundled)." in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--collections", "/nowhere"], "'/nowhere' is no folder; a collection is a folder that holds"),
        (["--seed", "-1"], "the seed is -1, but a seed is a whole number from 0"),
        (["--encoder", "none"], "there is no encoder 'none'; choose one of: e5-small, bge-m3"),
        (
            ["--encoder", "e5-small", "--reranker", "nonsense"],
            "there is no reranker 'nonsense'; choose one of: bge",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_before_any_table(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "reproduce", *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"causalviz: {message}")


def test_a_sample_of_none_is_refused_before_a_model_is_loaded(
    scifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "reproduce", "--collections", scifact, "--sample", "0")
    assert (code, out) == (1, "")
    assert err.startswith("causalviz: the sample is 0 queries, but at least one is needed")
