"""A cross-encoder as scripts meet it: a column of every command that ranks, and a method; tiny random weights."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from backends.test_rerankers import LIMIT, SMALL, save_tokenizer
from test_evaluate import write
from test_evaluation import THEME
from transformers import BertConfig, BertForSequenceClassification

from causalviz import cli
from causalviz.backends.rerankers import CrossEncoderReranker
from causalviz.evaluation.evaluate import METHODS
from causalviz.trace import loads

DOCUMENTS = {
    "stuffed.txt": "ColBERT late interaction. ColBERT late interaction work. How ColBERT late interaction work.",
    "answer.txt": "Each token keeps a vector of its own; the best match of every token is summed.",
    "bread.md": "# Bread\n\nFlour, water and salt rest overnight.",
}
QUESTION = "How does ColBERT late interaction work?"
NEED_ONE = (
    "causalviz: the method is cross-encoder, but no cross-encoder scored the candidates; name one with --reranker or "
    "CAUSALVIZ_RERANKER and ask again, or choose another method.\n"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a model of MiniLM's architecture with small random layers; return its name as a reranker."""
    folder = tmp_path_factory.mktemp("cross")
    words = save_tokenizer(folder, pieces=False)
    torch.manual_seed(1)
    config = BertConfig(vocab_size=words, max_position_embeddings=LIMIT, pad_token_id=1, **SMALL)
    BertForSequenceClassification(config).save_pretrained(folder)
    return f"cross:{folder}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    return str(tmp_path / "docs")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    output = capsys.readouterr()
    return code, output.out, output.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:  # noqa: ANN401 - any JSON
    # On stderr the library that loads the weights shows how far it is.
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_without_one_the_column_is_there_and_empty(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "rank", QUESTION, "--kb", folder)
    assert found["reranker"] is None
    assert {(d["cross_encoder"], d["cross_encoder_rank"]) for d in found["documents"]} == {(None, None)}


def test_rank_gives_the_models_own_scores_and_ranks_by_them(
    folder: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"found.{name}" for name in ("trace", "csv", "trec")}
    written = [part for name, file in files.items() for part in (f"--{name}", str(file))]
    asked = ["rank", QUESTION, "--kb", folder, "--reranker", model]
    found = run_json(capsys, *asked, "--method", "cross-encoder", *written)
    reranker = CrossEncoderReranker(model.partition(":")[2])
    assert (found["method"], found["reranker"]) == ("cross-encoder", reranker.name)
    texts = {name: text.removeprefix("# ") for name, text in DOCUMENTS.items()}
    scores = {name: float(reranker.score(QUESTION, [text])[0]) for name, text in texts.items()}
    assert {d["id"]: d["cross_encoder"] for d in found["documents"]} == pytest.approx(scores, abs=1e-4)
    order = [d["id"] for d in found["documents"]]
    assert order == sorted(scores, key=lambda name: -scores[name])
    assert [d["cross_encoder_rank"] for d in found["documents"]] == [d["rank"] for d in found["documents"]]
    # the other columns are as without it, and the scores stay where another method ranks
    hybrid = run_json(capsys, *asked)
    assert hybrid["method"] == "hybrid"
    plain = run_json(capsys, "rank", QUESTION, "--kb", folder)
    assert [d["id"] for d in hybrid["documents"]] == [d["id"] for d in plain["documents"]]
    assert {d["id"]: d["cross_encoder"] for d in hybrid["documents"]} == pytest.approx(scores, abs=1e-4)

    trace = loads(files["trace"].read_text(encoding="utf-8"))
    assert (trace.reranker, trace.settings.method) == (reranker.name, "cross-encoder")
    assert trace.seconds["rerank"] > 0
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text(encoding="utf-8-sig"))))
    assert [(r["id"], r["rank"], r["cross_rank"]) for r in rows] == [
        (id_, str(rank), str(rank)) for rank, id_ in enumerate(order, start=1)
    ]
    assert "causalviz-cross-encoder" in files["trec"].read_text(encoding="utf-8")

    explained = run_json(capsys, "explain", str(files["trace"]))
    assert [d["id"] for d in explained["documents"]] == order
    assert all("ranked by the cross-encoder’s score alone" in d["why"] for d in explained["documents"])
    assert [set(part["ranks"].values()) for part in explained["tau_path"]] == [{1, 2, 3}]
    page = tmp_path / "report.html"
    assert run(capsys, "report", str(files["trace"]), "--out", str(page))[0] == 0
    said = page.read_text(encoding="utf-8")
    assert "Ranked by the cross-encoder alone" in said
    assert "cross-encoder rank" in said


def test_the_environment_names_one_and_the_option_another(
    folder: str, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAUSALVIZ_RERANKER", model)
    code, out, _ = run(capsys, "rank", QUESTION, "--kb", folder, "--method", "cross-encoder")
    said = " ".join(out.split())
    assert code == 0
    assert "ordered by cross-encoder" in said
    code, _, err = run(capsys, "rank", QUESTION, "--kb", folder, "--reranker", "nonsense")
    assert code == 1
    assert err.startswith("causalviz: there is no reranker 'nonsense'; choose one of: bge-reranker-v2-m3")


@pytest.mark.parametrize("command", [["rank", QUESTION, "--method"], ["evaluate", "--methods"]])
def test_to_rank_by_none_is_a_named_error_before_anything_is_read(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    place = ["--kb", folder] if command[0] == "rank" else []
    target = [] if command[0] == "rank" else [str(write(tmp_path / "tiny"))]
    code, out, err = run(capsys, command[0], *target, *command[1:], "cross-encoder", *place)
    assert (code, out, err) == (1, "", NEED_ONE)
    assert not (tmp_path / "home").exists()


def test_diagnose_adds_its_column(folder: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    themes = Path(folder) / "t.jsonl"
    themes.write_text(json.dumps(THEME), encoding="utf-8")
    asked = ["diagnose", str(themes), "--reranker", model]
    found = run_json(capsys, *asked)
    plain = run_json(capsys, *asked[:2])
    (theme,) = found["themes"]
    ranks = [theme["target_rank"]["cross-encoder"], *theme["stuffed_ranks"]["cross-encoder"]]
    assert set(ranks) < {1, 2, 3}
    assert found["mean_target_rank"] == plain["mean_target_rank"] | {"cross-encoder": ranks[0]}
    assert found["reranker"] == CrossEncoderReranker(model.partition(":")[2]).name
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert f"Cross-encoder: {found['reranker']}." in out
    assert "not computed" not in out


def test_evaluate_adds_its_row_and_keeps_its_answers_apart(
    folder: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = str(write(tmp_path / "tiny"))
    plain = run_json(capsys, "evaluate", collection)
    found = run_json(capsys, "evaluate", collection, "--reranker", model)
    assert list(found["methods"]) == ["similarity", "cross-encoder", *METHODS[1:]]
    assert {name: found["methods"][name] for name in METHODS} == plain["methods"]
    assert set(found["methods"]["cross-encoder"]) == {"ndcg@10", "p@5", "mrr@10"}
    assert "cross-encoder" in found["difference"]
    assert len(list((Path(folder).parent / "home" / "cache").glob("*.answers.jsonl"))) == 2
    code, out, _ = run(capsys, "evaluate", collection, "--reranker", model, "--methods", "cross-encoder")
    assert code == 0
    assert "not computed" not in out
