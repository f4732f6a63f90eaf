"""Whatever the arguments: exit code 0, 1 or 2, never a traceback, and one line on stderr for a named error."""

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout

import pytest
from fakes import WordEncoder
from hypothesis import example, given
from hypothesis import strategies as st

from causalviz import cli
from causalviz.bootstrap import ENCODERS

ALWAYS = {
    # A server would wait for its end, and the paper's models for their download.
    "serve": ("--port", "99999"),
    "reproduce": ("--sample", "0"),
    "explain": (),
}
"""Arguments put behind the drawn ones, so that each command ends soon; others use an encoder that knows words alone."""
QUICK = ("--encoder", "words")
OPTIONS = {
    "index": ("--kb", "--encoder", "--json"),
    "rank": (
        "--kb", "--top-k", "--theta", "--unit", "--method", "--mode", "--trace", "--csv", "--trec", "--query-id",
        "--tau", "--alpha", "--empty-b", "--centred", "--reranker", "--json",
    ),
    "diagnose": ("--tau", "--alpha", "--empty-b", "--centred", "--reranker", "--json"),
    "evaluate": (
        "--methods", "--sample", "--seed", "--top-k", "--per-query", "--strata", "--strata-file", "--tau", "--json",
    ),
    "stress": ("--per-query", "--style", "--methods", "--sample", "--seed", "--top-k", "--out", "--alpha", "--json"),
    "calibrate": ("--kb", "--queries", "--qrels", "--probes", "--resamples", "--seed", "--top-k", "--tau", "--json"),
    "reproduce": ("--collections", "--sample", "--seed", "--encoder", "--reranker", "--json"),
    "explain": ("--document", "--json"),
    "report": ("--out", "--texts", "--no-text", "--document", "--json"),
    "serve": ("--kb", "--host", "--port", "--json"),
}  # fmt: skip
# The first ones exist: see `place`.
VALUES = (
    "docs", "a.kb", "collection", "collection/themes.jsonl", "trace.json", "new/out.html", "out.csv", "absent", "", ".",
    "-1", "0", "1", "2", "0.5", "1.5", "nan", "inf", "1e400", "9999999999", "w0 w4 x", "document", "chunk", "causal",
    "exact", "semantic", "last", "none", "cross:absent", "hybrid", "d0.txt", "a b", "\udcff", "如何", "--", "-h",
    "--help", "--bogus", "-x",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Go to a folder with documents, a knowledge base, a collection, themes and a trace."""
    folder = tmp_path_factory.mktemp("arguments")
    texts = {f"d{i}": " ".join(f"w{j}" for j in range(i, 60, 4)) for i in range(4)}
    (folder / "docs").mkdir()
    (folder / "collection" / "qrels").mkdir(parents=True)
    for id_, text in texts.items():
        (folder / "docs" / f"{id_}.txt").write_text(text)
    within = folder / "collection"
    (within / "corpus.jsonl").write_text(
        "\n".join(json.dumps({"_id": id_, "title": "", "text": text}) for id_, text in texts.items())
    )
    (within / "queries.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"q{i}", "text": f"w{i} w{i + 4} x"}) for i in range(4))
    )
    (within / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "\n".join(f"q{i}\td{i}\t1" for i in range(4))
    )
    documents = [
        {"id": id_, "role": role, "title": "t", "text": text}
        for role, (id_, text) in zip(("target", "near", "stuffed", "unrelated"), texts.items(), strict=True)
    ]
    theme = {"id": "T1", "lang": "en", "query": "w0 w4 x", "documents": documents}
    (within / "themes.jsonl").write_text(json.dumps(theme))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAUSALVIZ_HOME", str(folder / "home"))
        patch.setitem(ENCODERS, "words", WordEncoder)
        patch.chdir(folder)
        assert run(["index", "docs", "--kb", "a.kb", *QUICK])[0] == 0
        assert run(["rank", "w0 w4 x", "--kb", "a.kb", "--trace", "trace.json", *QUICK])[0] == 0
        yield


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """Give exit code and stderr."""
    error = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(error):
        try:
            code = cli.main(arguments)
        except SystemExit as ended:  # argparse: help, or wrong usage
            code = ended.code if isinstance(ended.code, int) else -1
    return code, error.getvalue()


# What a system can pass on: bytes without NUL; and no path that leads out of the folder.
ANYTHING = st.binary(max_size=6).map(lambda raw: os.fsdecode(raw.translate(None, b"\0/\\~")))


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Draw a command, places and options it has or has not, and values that may suit them or not."""
    command = draw(st.sampled_from(sorted(OPTIONS)))
    words = st.sampled_from((*OPTIONS[command] * 2, *VALUES)) | ANYTHING
    return [command, *draw(st.lists(words, max_size=7)), *ALWAYS.get(command, QUICK)]


@given(command_lines() | st.lists(ANYTHING, max_size=4))
@example(["rank", "w0", "--kb", "a.kb", "--trec", "out.csv", "--query-id", "a b", *QUICK])
@example(["rank", "w0", "--kb", "a.kb", "--trace", "absent/trace.json", *QUICK])
@example(["report", "trace.json", "--out", "\udcff.html", *QUICK])
@example(["stress", "collection", "--out", ".", "--top-k", "1", *QUICK])
@example(["calibrate", "collection", "--probes", "9999999999", *QUICK])
@example(["evaluate", "collection", "--sample", "0", *QUICK])
def test_any_arguments_end_with_a_code_and_at_most_one_line(arguments: list[str]) -> None:
    code, error = run(arguments)
    assert code in {0, 1, 2}
    assert "Traceback" not in error
    if code == 1:
        assert error.startswith("causalviz: ")
        assert len(error.splitlines()) == 1
        assert error.endswith("\n")
    if code == 2:
        assert "error: " in error
