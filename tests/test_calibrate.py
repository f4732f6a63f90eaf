"""`calibrate` and the gate it sets, as scripts meet them. The bundled encoder does the encoding."""

import json
from pathlib import Path
from typing import Any

import pytest

from causalviz import cli
from causalviz.evaluation.gate import METHODS
from causalviz.knowledge_base import GateRecord, read_gate
from causalviz.records import DEFAULT_METHOD

pytest.importorskip("ir_measures", reason="left out where it has no wheel; see requirements.txt")

SUBJECTS = {
    "bread": "Flour, water and salt rest overnight; yeast makes the loaf rise in a hot oven.",
    "bicycle": "Oil the chain, true the wheel and tighten the brake cable before a long ride.",
    "garden": "Water the seedlings at dusk and cover the soil with straw against frost.",
    "violin": "Rosin the bow, tune each string to the fork and rest the scroll on a shelf.",
    "pump": "Isolate the motor, fit the new seal and check the impeller for leaks.",
}
STUFFED = {name: f"{name} advice. {name} advice, {name} advice: {name} advice." for name in SUBJECTS}
DOCUMENTS = {f"{name}.txt": text for name, text in SUBJECTS.items()} | {
    f"{name}-stuffed.txt": text for name, text in STUFFED.items()
}
QUERIES = {name: f"{name} advice" for name in SUBJECTS}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "400")
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    return tmp_path / "docs"


def labels(tmp_path: Path, answers: dict[str, str]) -> list[str]:
    """Write questions and which document answers each; return the arguments that name them."""
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.txt"
    lines = [json.dumps({"_id": name, "text": QUERIES[name]}) for name in answers]
    queries.write_text("\n".join(lines), encoding="utf-8")
    qrels.write_text("".join(f"{name} 0 {answer} 1\n" for name, answer in answers.items()), encoding="utf-8")
    return ["--queries", str(queries), "--qrels", str(qrels)]


def right(tmp_path: Path) -> list[str]:
    """Return labels by which the answers are the honest documents."""
    return labels(tmp_path, {name: f"{name}.txt" for name in SUBJECTS})


def wrong(tmp_path: Path) -> list[str]:
    """Return labels by which the answers are the stuffed documents, which re-ranking puts last."""
    return labels(tmp_path, {name: f"{name}-stuffed.txt" for name in SUBJECTS})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    output = capsys.readouterr()
    return code, output.out, output.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:  # noqa: ANN401 - any JSON
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def rank(capsys: pytest.CaptureFixture[str], target: Path, *arguments: str) -> Any:  # noqa: ANN401 - any JSON
    return run_json(capsys, "rank", "bread advice", "--kb", str(target), *arguments)


def indexed(capsys: pytest.CaptureFixture[str], folder: Path) -> Path:
    kb = folder.parent / "my.kb"
    run_json(capsys, "index", str(folder), "--kb", str(kb))
    return kb


def stored(kb: Path) -> GateRecord:
    record = read_gate(kb)
    assert record is not None
    return record


def test_calibrate_gives_its_stable_json_and_keeps_the_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = indexed(capsys, folder)
    found = run_json(capsys, "calibrate", "--kb", str(kb), *right(folder.parent))
    assert set(found) == {
        "collection", "probes", "resamples", "seed", "measure", "labelled", "delta", "enable", "decision",
        "method", "reliability", "deltas", "intervals", "agreement", "choice_reliability", "curve", "more", "stored_in",
        "sentence",
    }  # fmt: skip
    assert (found["collection"], found["stored_in"], found["measure"]) == ("my", "my", "nDCG@10")
    # the default of 30 probes is cut to the five that are labelled
    assert (found["probes"], found["labelled"], found["resamples"], found["seed"]) == (5, 5, 2000, 0)
    assert set(found["reliability"]) == set(found["deltas"]) == set(METHODS) - {"similarity"}
    # nothing but the question's words is left to the stuffed page, so every answer leads when re-ranked
    assert (found["decision"], found["enable"]) == ("on", True)
    assert found["delta"] == found["deltas"][found["method"]] > 0
    assert found["deltas"]["hybrid"] > 0
    assert found["reliability"]["hybrid"] == 1
    record = stored(kb)
    assert (record.verdict.method, record.verdict.sentence) == (found["method"], found["sentence"])
    assert set(record.documents) == set(DOCUMENTS)
    assert (record.conditions.tau, record.conditions.top_k, record.encoder) == (0.9, 20, "e5-small")


def test_rank_obeys_what_was_calibrated_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kb = indexed(capsys, folder)
    before = rank(capsys, kb)
    assert (before["method"], before["gate"]) == (DEFAULT_METHOD, None)
    run_json(capsys, "calibrate", "--kb", str(kb), *wrong(folder.parent))
    after = rank(capsys, kb)
    assert after["method"] == "similarity"
    assert after["documents"][0]["id"] == "bread-stuffed.txt"
    date = stored(kb).date
    assert after["gate"] == {
        "decision": "off", "method": "similarity", "date": date.isoformat(), "stale": False, "obeyed": True
    }  # fmt: skip
    assert after["warnings"] == []
    code, out, _ = run(capsys, "rank", "bread advice", "--kb", str(kb))
    assert code == 0
    assert (
        f"Ranked by similarity: the calibration of {date:%Y-%m-%d} over 5 questions keeps re-ranking off here. "
        "--method overrides it."
    ) in out
    # a person decides otherwise
    over = rank(capsys, kb, "--method", "hybrid")
    assert (over["method"], over["gate"]["obeyed"], over["warnings"]) == ("hybrid", False, [])
    assert "calibration" not in run(capsys, "rank", "bread advice", "--kb", str(kb), "--method", "hybrid")[1]


def test_the_next_calibration_replaces_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # a folder's knowledge base lies in the cache, where rank finds the same
    run_json(capsys, "calibrate", "--kb", str(folder), *wrong(folder.parent))
    assert rank(capsys, folder)["method"] == "similarity"
    found = run_json(capsys, "calibrate", "--kb", str(folder), *right(folder.parent))
    assert rank(capsys, folder)["method"] == found["method"] != "similarity"


def test_a_verdict_is_obeyed_until_the_documents_change_by_more_than_a_tenth(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = indexed(capsys, folder)
    run_json(capsys, "calibrate", "--kb", str(kb), *wrong(folder.parent))
    (folder / "pump.txt").write_text("Prime the motor first.", encoding="utf-8")
    indexed(capsys, folder)
    assert rank(capsys, kb)["gate"]["obeyed"]  # one of ten
    (folder / "violin.txt").unlink()
    indexed(capsys, folder)
    found = rank(capsys, kb)
    assert found["method"] == DEFAULT_METHOD
    assert (found["gate"]["stale"], found["gate"]["obeyed"], found["gate"]["method"]) == (
        True,
        False,
        "similarity",
    )
    assert "stale, as 20 % of the documents" in found["warnings"][0]
    assert "calibrate again" in run(capsys, "rank", "bread advice", "--kb", str(kb))[1]


def test_a_verdict_measured_with_other_settings_is_not_obeyed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = indexed(capsys, folder)
    run_json(capsys, "calibrate", "--kb", str(kb), "--tau", "0.88", *wrong(folder.parent))
    found = rank(capsys, kb)
    assert (found["method"], found["gate"]["obeyed"], found["gate"]["stale"]) == (
        DEFAULT_METHOD,
        False,
        False,
    )
    assert "other settings (tau 0.88, now 0.9)" in found["warnings"][0]
    assert rank(capsys, kb, "--tau", "0.88")["gate"]["obeyed"]


def test_too_few_labels_decide_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kb = indexed(capsys, folder)
    found = run_json(capsys, "calibrate", "--kb", str(kb), *labels(folder.parent, {"bread": "bread.txt"}))
    assert (found["decision"], found["enable"], found["intervals"]) == ("undecided", False, {})
    assert found["sentence"].startswith("Too few labels: 1 question says")
    assert rank(capsys, kb)["gate"]["obeyed"] is False
    code, out, _ = run(capsys, "calibrate", "--kb", str(kb), *labels(folder.parent, {"bread": "bread.txt"}))
    assert code == 0
    assert "Too few labels" in out


def test_questions_that_no_document_answers_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {name: f"{name}.txt" for name in SUBJECTS} | {"pump": "elsewhere.txt"}
    code, out, err = run(capsys, "calibrate", "--kb", str(folder), *labels(folder.parent, answers))
    assert (code, err) == (0, "")
    assert "left out: 1." in out
    assert "On 4 labelled questions" in out


def collection(tmp_path: Path) -> Path:
    """Write the documents, questions and honest answers in BEIR layout."""
    tmp_path = tmp_path / "tiny"
    (tmp_path / "qrels").mkdir(parents=True)
    corpus = [json.dumps({"_id": id_, "title": "", "text": text}) for id_, text in DOCUMENTS.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(corpus), encoding="utf-8")
    queries = [json.dumps({"_id": name, "text": text}) for name, text in QUERIES.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(queries), encoding="utf-8")
    judged = "".join(f"{name}\t{name}.txt\t1\n" for name in QUERIES)
    (tmp_path / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    return tmp_path


def test_a_collection_and_its_documents_in_a_knowledge_base_give_the_same_verdict(
    folder: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beir = collection(folder.parent)
    own = run_json(capsys, "calibrate", str(beir), "--probes", "4")
    (cached,) = (home / "cache").glob("*.kb")
    assert stored(cached).verdict.sentence == own["sentence"]
    kb = indexed(capsys, folder)
    there = run_json(capsys, "calibrate", str(beir), "--kb", str(kb), "--probes", "4")
    assert stored(kb).verdict == stored(cached).verdict
    assert there == own | {"stored_in": "my"}
    assert own["stored_in"] == own["collection"] == "tiny"


def test_a_table_shows_every_method_and_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "calibrate", str(collection(folder.parent)), "--probes", "3", "--seed", "1")
    assert (code, err) == (0, "")
    for said in (*METHODS, "nDCG@10", "2,000 resamples of 3 of 5", "seed 1", "knowledge base 'tiny'"):
        assert said in out


def themes(tmp_path: Path, *, targets: str) -> Path:
    lines = []
    for name in SUBJECTS:
        roles = {f"{name}.txt": "near", f"{name}-stuffed.txt": "stuffed"} | {f"{name}{targets}.txt": "target"}
        documents = [
            {"id": id_, "role": role, "title": id_, "text": DOCUMENTS[id_]} for id_, role in roles.items()
        ]
        lines.append(json.dumps({"id": name, "lang": "en", "query": QUERIES[name], "documents": documents}))
    path = tmp_path / "tiny.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(("targets", "decision", "delta"), [("", "on", 1.0), ("-stuffed", "off", -1.0)])
def test_themes_are_judged_by_the_rank_of_their_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], targets: str, decision: str, delta: float
) -> None:
    found = run_json(capsys, "calibrate", str(themes(tmp_path, targets=targets)), "--probes", "4")
    assert (found["collection"], found["measure"], found["probes"]) == ("tiny", "target rank", 4)
    assert (found["decision"], found["enable"]) == (decision, decision == "on")
    # of two documents the one that answers is second by similarity and first by every re-ranking, or the reverse
    assert found["deltas"]["hybrid"] == delta
    assert found["reliability"]["causal"] == 1


def test_themes_may_be_asked_of_a_knowledge_base_that_holds_their_documents(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = indexed(capsys, folder)
    found = run_json(capsys, "calibrate", str(themes(folder.parent, targets="")), "--kb", str(kb))
    assert (found["stored_in"], found["deltas"]["hybrid"]) == ("my", 1.0)
    assert stored(kb).verdict.measure == "target rank"
    (folder / "pump.txt").unlink()
    indexed(capsys, folder)
    code, _, err = run(capsys, "calibrate", str(folder.parent / "tiny.jsonl"), "--kb", str(kb))
    assert (code, err.count("\n")) == (1, 1)
    assert "holds no document 'pump.txt'" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no labelled questions"),
        (["--kb", "DOCS"], "no labelled questions"),
        (["--kb", "DOCS", "--queries", "Q"], "no labelled questions"),
        (["--queries", "Q", "--qrels", "R"], "no labelled questions"),
        (["nowhere"], "'nowhere' is no folder"),
        (["nowhere.jsonl"], "'nowhere.jsonl' cannot be read"),
        (["DOCS"], "corpus.jsonl"),
        (["nowhere", "--probes", "0"], "probes is 0"),
        (["nowhere", "--resamples", "0"], "resamples is 0"),
        (["nowhere", "--seed", "-1"], "seed is -1"),
        (["nowhere", "--top-k", "0"], "top-k is 0"),
        (["nowhere", "--tau", "2"], "tau is 2"),
        (["nowhere", "--alpha", "2"], "alpha is 2"),
        (["nowhere", "--encoder", "word2vec"], "no encoder 'word2vec'"),
    ],
)
def test_what_cannot_be_calibrated_is_one_line_before_anything_is_indexed(
    folder: Path, home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    filled = [str(folder) if argument == "DOCS" else argument for argument in arguments]
    code, out, err = run(capsys, "calibrate", *filled)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert said in err
    assert not home.exists()


def test_judgments_of_other_documents_or_questions_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = labels(folder.parent, {"bread": "elsewhere.txt"})
    code, _, err = run(capsys, "calibrate", "--kb", str(folder), *files)
    assert (code, err.count("\n")) == (1, 1)
    assert "holds no document that is judged relevant (such as 'elsewhere.txt')" in err
    (folder.parent / "qrels.txt").write_text("cake 0 bread.txt 1\n", encoding="utf-8")
    code, _, err = run(capsys, "calibrate", "--kb", str(folder), *files)
    assert (code, err.count("\n")) == (1, 1)
    assert "names the unknown query 'cake'" in err
