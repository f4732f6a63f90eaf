import json
from dataclasses import replace
from pathlib import Path

import pytest
from explain.random_traces import worked_example
from hypothesis import given
from strategies import loose_traces, rank_settings, traces

from causalviz.cli import main
from causalviz.explain.as_json import document_explained, ranking_explained
from causalviz.explain.states import tau_states
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.trace import to_json


@pytest.fixture
def example(tmp_path: Path) -> str:
    """Write the worked example's trace."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(to_json(worked_example())), encoding="utf-8")
    return str(path)


def test_the_ranking_of_the_worked_example() -> None:
    trace = worked_example()
    found = ranking_explained(tau_states(trace, trace.settings))
    assert [one["id"] for one in found["documents"]] == ["d2", "d1", "d3"]
    assert [(f["upper"], f["lower"]) for f in found["flips"]] == [("d2", "d1"), ("d1", "d3")]
    assert [step["ranks"] for step in found["tau_path"]] == [
        {"d1": 1, "d2": 2, "d3": 3},
        {"d1": 2, "d2": 1, "d3": 3},
    ]
    assert (found["tau"], found["alpha"], found["method"], found["query_keywords"]) == (
        0.9,
        0.5,
        "hybrid",
        ["u"],
    )


def test_the_first_document_of_the_worked_example() -> None:
    trace = worked_example()
    found = document_explained(tau_states(trace, trace.settings), 0)
    assert [(k["term"], k["match"], k["exact"]) for k in found["A"]] == [("u", "u", True)]
    assert [(k["term"], k["share"], k["end"]) for k in found["B"]] == [("v", 0, 0)]
    assert found["document"]["rank"] == 2
    assert found["first"]["rank"] == 2
    assert found["first_region"]["sentence"] == "first for tau up to 0.8 at any alpha"
    assert [step["rank"] for step in found["tau_path"]] == [1, 2]
    assert [one["kind"] for one in found["stuffing"]] == ["guard", "density", "absorbed", "duplicate"]


@given(traces() | loose_traces(), rank_settings())
def test_every_explanation_is_plain_json_and_agrees_with_the_ranking(
    trace: Trace, chosen: RankSettings
) -> None:
    states = tau_states(trace, chosen)
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    found = ranking_explained(states)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [one["rank"] for one in found["documents"]] == list(range(1, len(trace.candidates) + 1))
    for index, candidate in enumerate(trace.candidates):
        one = document_explained(states, index)
        assert json.loads(json.dumps(one, allow_nan=False))["document"] == one["document"]
        assert one["document"]["rank"] == one["first"]["rank"] == ranking.rank[index]
        assert len(one["A"]) + len(one["B"]) == len(one["leave_one_out"]) == len(candidate.terms)
        if one["first"]["rank"] == 1:
            assert one["first"]["both"] == (chosen.tau, chosen.alpha)


def test_the_command_explains_a_ranking(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", example]) == 0
    shown = capsys.readouterr().out
    for words in (
        "how?",
        "Where neighbours swap",
        "0.6667",
        "Who is first over tau",
        "2 orders over all of tau",
    ):
        assert words in shown
    assert "The present order holds for tau 0.8000 to 1.0000." in " ".join(shown.split())


def test_the_command_explains_a_document(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", example, "--document", "d1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Moved down 1: the words it shares with the question (u) were set aside" in shown
    assert "Its largest region: first for tau up to 0.8 at any alpha." in shown
    assert main(["explain", example, "--document", "d2"]) == 0
    assert "It is first" in capsys.readouterr().out


def test_the_command_names_the_suspects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = worked_example()
    first, *others = trace.candidates
    guarded = replace(
        trace,
        candidates=(replace(first, suspect=True, use=4.0, topic=0.5), *others),
        settings=replace(trace.settings, method="guarded"),
    )
    path = tmp_path / "guarded.json"
    path.write_text(json.dumps(to_json(guarded)), encoding="utf-8")
    assert main(["explain", str(path)]) == 0
    assert capsys.readouterr().out.count("⚠ suspected") == 1
    assert main(["explain", str(path), "--document", "d1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "⚠ Suspected of stuffing: it uses the question’s words 4.0 times as much" in shown
    assert main(["explain", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["documents"]
    assert [(one["id"], one["suspect"], one["guarded_rank"]) for one in found] == [
        ("d2", False, 1),
        ("d1", True, 2),
        ("d3", False, 3),
    ]


def test_the_command_writes_json(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    trace = worked_example()
    states = tau_states(trace, trace.settings)
    assert main(["explain", example, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flips"] == ranking_explained(states)["flips"]
    assert main(["explain", example, "--document", "d3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["document"] == document_explained(states, 2)["document"]


def test_what_cannot_be_explained_is_one_line_and_exit_code_1(
    example: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    cases = [
        ([str(tmp_path / "none.json")], "cannot be read"),
        ([str(binary)], "is no text in UTF-8"),
        ([example, "--document", "d9"], "no document 'd9' among its 3 candidates ('d1', 'd2', 'd3' ...)"),
    ]
    for arguments, words in cases:
        assert main(["explain", *arguments]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert words in error


def test_a_trace_without_candidates_is_explained_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({**to_json(worked_example()), "candidates": []}), encoding="utf-8")
    assert main(["explain", str(path)]) == 0
    assert "1 order over all of tau" in " ".join(capsys.readouterr().out.split())
