"""`report`, and the files `rank` writes for other programs; the bundled encoder does the encoding."""

import json
from pathlib import Path
from typing import Any

import pytest
from explain.random_traces import worked_example
from test_cli import DOCUMENTS, run

from causalviz.trace import to_json

SENTINEL = "The heron stands in the reeds before dawn."


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:  # noqa: ANN401 - any JSON
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four documents that can be read, in a home of their own."""
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    for name, text in {**DOCUMENTS, "heron.txt": SENTINEL}.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "docs"


def test_the_command_writes_one_file_without_text_unless_asked(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    traces = [str(tmp_path / name) for name in ("one.json", "two.json")]
    for query, trace in zip(("late interaction", "bread and salt"), traces, strict=True):
        run_json(capsys, "rank", query, "--kb", str(folder), "--trace", trace)
    out = tmp_path / "report.html"
    found = run_json(capsys, "report", *traces, "--out", str(out))
    assert found == {"report": str(out), "bytes": out.stat().st_size, "traces": 2, "texts": 0}
    assert SENTINEL not in out.read_text(encoding="utf-8")
    found = run_json(capsys, "report", *traces, "--out", str(out), "--texts", str(folder))
    assert found == {"report": str(out), "bytes": out.stat().st_size, "traces": 2, "texts": 8}
    assert out.read_text(encoding="utf-8").count(SENTINEL) >= 2
    assert found["bytes"] < 6_000_000
    code, said, _ = run(
        capsys, "report", traces[0], "--out", str(out), "--no-text", "--document", "heron.txt"
    )
    assert (code, "no document text" in said) == (0, True)
    # a document was added since: the texts might not be those that were ranked
    (folder / "new.txt").write_text("news", encoding="utf-8")
    code, said, err = run(capsys, "report", traces[0], "--out", str(out), "--texts", str(folder))
    assert (code, said) == (1, "")
    assert "fingerprint" in err


def test_the_command_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(to_json(worked_example())), encoding="utf-8")
    bad.write_text("[]", encoding="utf-8")
    nowhere = str(tmp_path / "no" / "where.html")
    for arguments, found in [
        (["report", str(bad), "--out", nowhere], "no causalviz-trace"),
        (["report", str(good), "--out", nowhere], "cannot be written"),
        (["report", str(good), "--out", nowhere, "--document", "x"], "no trace holds the document 'x'"),
        (["report", str(tmp_path / "absent"), "--out", nowhere], "cannot be read"),
    ]:
        code, out, err = run(capsys, *arguments)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert found in err


def test_rank_exports_a_table_and_a_run(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table, trec = tmp_path / "a.csv", tmp_path / "a.trec"
    arguments = ("rank", "late interaction", "--kb", str(folder), "--method", "causal")
    found = run_json(capsys, *arguments, "--csv", str(table), "--trec", str(trec), "--query-id", "T6")
    ids = [document["id"] for document in found["documents"]]
    assert table.read_bytes().startswith(b"\xef\xbb\xbfrank,similarity_rank")
    lines = [line.split() for line in trec.read_text(encoding="utf-8").splitlines()]
    assert [line[2] for line in lines] == ids
    assert {(line[0], line[5]) for line in lines} == {("T6", "causalviz-causal")}
    code, _, err = run(capsys, *arguments, "--csv", str(tmp_path / "no" / "a.csv"))
    assert code == 1
    assert "cannot be written" in err
