import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import World, WorldDocument
from strategies import EMPTY_B, METHODS, MODES, RERANKER, loose_traces, rank_settings, trace_of, traces

from causalviz.errors import CausalvizError, TraceError
from causalviz.rank import Ranking, rerank
from causalviz.records import Candidate, DefaultTau, JsonObject, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.trace import FORMAT, VERSION, from_json, loads, to_json

GOLDEN = Path(__file__).parent / "golden"
WORLD = World(
    query=(1.0, 0.0),
    query_terms=("数据", "risk"),
    terms={"数据": (1.0, 0.0), "risk": (0.0, 1.0), "step": (0.6, 0.8), "流程": (0.8, -0.6)},
    documents=(
        WorldDocument(id="guide.txt", vector=(0.6, 0.8), weights={"step": 0.75, "数据": 0.25}, cross=-1.5),
        WorldDocument(id="empty.txt", vector=(0.0, 1.0), weights={}),
        WorldDocument(
            id="stuffed.txt", vector=(1.0, 0.0), weights={"数据": 0.5, "risk": 0.5}, suspect=True, cross=-4.0
        ),
        WorldDocument(id="目标.txt", vector=(-0.6, 0.8), weights={"流程": 0.5, "step": 0.25}),
    ),
)
SMALL = replace(
    trace_of(WORLD),
    default_tau=DefaultTau(tau=0.6, origin="encoder", reason="tau 0.6 is known.", proposed=0.625),
)


def dumps(trace: Trace) -> str:
    """Write a trace as the software does: NaN and infinity are no JSON."""
    return json.dumps(to_json(trace), ensure_ascii=False, allow_nan=False)


def columns(ranking: Ranking) -> list[bytes]:
    return [np.asarray(getattr(ranking, name)).tobytes() for name in Ranking.__dataclass_fields__]


def numbers(candidate: Candidate) -> list[tuple[Any, ...]]:
    arrays = (
        candidate.weights,
        candidate.cosines,
        candidate.matches,
        candidate.exact,
        candidate.relevance,
        candidate.gram,
    )
    return [(array.dtype, array.shape, array.tobytes()) for array in arrays]


def assert_same(first: Trace, second: Trace) -> None:
    """Compare two traces field by field, arrays to the last bit."""
    arrays = {"candidates": (), "random_pairs": np.zeros(0, np.float32)}
    assert str(replace(first, **arrays)) == str(replace(second, **arrays))  # type: ignore[arg-type]
    assert first.random_pairs.tobytes() == second.random_pairs.tobytes()
    assert first.random_pairs.dtype == second.random_pairs.dtype
    for a, b in zip(first.candidates, second.candidates, strict=True):
        assert numbers(a) == numbers(b)
        plain = (
            "id",
            "title",
            "similarity",
            "terms",
            "repeats",
            "tokens",
            "duplicate_of",
            "suspect",
            "use",
            "topic",
            "cross_encoder",
        )
        assert [getattr(a, name) for name in plain] == [getattr(b, name) for name in plain]


def test_the_json_of_a_small_trace_is_worked_out_by_hand() -> None:
    # float32 0.6 is 0.6000000238418579 as a double, 0.8 is 0.800000011920929; (.6, .8) times itself is 1.0000000477
    # in double precision, and 1 again as float32.
    data = to_json(SMALL)
    assert data["format"] == FORMAT == "causalviz-trace"
    assert data["version"] == VERSION == 1
    assert data["query_keywords"] == [{"term": "数据", "weight": 1.0}, {"term": "risk", "weight": 1.0}]
    assert data["settings"] == {
        "tau": 0.6,
        "alpha": 0.5,
        "method": "hybrid",
        "mode": "semantic",
        "empty_b": "last",
    }
    stuffed, guide, empty, target = data["candidates"]
    assert [c["id"] for c in (stuffed, target)] == ["stuffed.txt", "目标.txt"]
    assert guide == {
        "id": "guide.txt",
        "title": "guide.txt",
        "similarity": 0.6000000238418579,
        "keywords": [
            {
                "term": "step",
                "weight": 0.75,
                "cosine": 0.800000011920929,
                "match": "risk",
                "exact": False,
                "relevance": 0.6000000238418579,
            },
            {"term": "数据", "weight": 0.25, "cosine": 1.0, "match": "数据", "exact": True, "relevance": 1.0},
        ],
        # The upper triangle, row by row: <step, step>, <step, 数据>, <数据, 数据>.
        "gram": [1.0, 0.6000000238418579, 1.0],
        "repeats": 0,
        "tokens": 2,
        "duplicate_of": None,
        "near_duplicate_of": None,
        "suspect": False,
        "use": None,
        "topic": None,
        "cross_encoder": -1.5,
    }
    assert data["reranker"] == RERANKER
    assert data["default_tau"] == {
        "tau": 0.6,
        "origin": "encoder",
        "reason": "tau 0.6 is known.",
        "proposed": 0.625,
    }
    assert target["cross_encoder"] is None
    assert stuffed["suspect"] is True
    assert (empty["keywords"], empty["gram"]) == ([], [])


def test_a_keyword_of_a_query_without_keywords_has_neither_cosine_nor_match() -> None:
    trace = trace_of(replace(WORLD, query_terms=()))
    keyword = to_json(trace)["candidates"][0]["keywords"][0]
    assert keyword["cosine"] is None
    assert keyword["match"] is None
    back = loads(dumps(trace)).candidates[0]
    assert back.cosines.tolist() == [-np.inf, -np.inf]
    assert back.matches.tolist() == [-1, -1]


def test_a_trace_of_this_version_reads_and_ranks_as_it_did(golden: Callable[[str, str], None]) -> None:
    # Files written by an earlier release: a change here is a new VERSION, or a broken promise to whoever kept one.
    golden("trace-v1.json", json.dumps(to_json(SMALL), ensure_ascii=False, indent=1) + "\n")
    trace = loads((GOLDEN / "trace-v1.json").read_text(encoding="utf-8"))
    table = ScoreTable.of(trace.candidates)
    lines = []
    for method, mode, empty_b in product(METHODS, MODES, EMPTY_B):
        for tau, alpha in ((0.5, 0.25), (0.9, 0.5)):
            ranking = rerank(
                table, RankSettings(tau=tau, alpha=alpha, method=method, mode=mode, empty_b=empty_b)
            )
            ranks = " > ".join(f"{trace.candidates[i].id} {ranking.final[i]:.9g}" for i in ranking.order)
            lines.append(f"{method} {mode} {empty_b} tau={tau} alpha={alpha}: {ranks}\n")
    golden("rankings-v1.txt", "".join(lines))


def test_a_trace_from_before_the_guard_reads_and_suspects_no_one() -> None:
    data = to_json(SMALL)
    for entry in data["candidates"]:
        for name in ("suspect", "use", "topic"):
            del entry[name]
    trace = from_json(data)
    assert [(c.suspect, c.use, c.topic) for c in trace.candidates] == [(False, None, None)] * 4
    guarded = rerank(ScoreTable.of(trace.candidates), replace(trace.settings, method="guarded"))
    assert guarded.rank.tolist() == guarded.similarity_rank.tolist()


def test_a_trace_from_before_cross_encoders_reads_and_has_none() -> None:
    data = to_json(SMALL)
    del data["reranker"]
    for entry in data["candidates"]:
        del entry["cross_encoder"]
    trace = from_json(data)
    assert trace.reranker is None
    assert {c.cross_encoder for c in trace.candidates} == {None}


def test_a_trace_from_before_proposals_reads_and_has_no_default() -> None:
    data = to_json(SMALL)
    del data["default_tau"]
    assert from_json(data).default_tau is None


@pytest.mark.parametrize("method", ["hybrid", "cross-encoder"])
def test_scores_or_a_ranking_of_no_named_cross_encoder_are_refused(method: str) -> None:
    data = to_json(SMALL)
    data["reranker"] = None
    data["settings"]["method"] = method
    if method == "cross-encoder":
        for entry in data["candidates"]:
            entry["cross_encoder"] = None
    with pytest.raises(TraceError, match="names no cross-encoder"):
        from_json(data)


@given(traces() | loose_traces())
def test_json_keeps_every_bit(trace: Trace) -> None:
    text = dumps(trace)
    back = loads(text)
    assert_same(trace, back)
    assert dumps(back) == text


@given(traces() | loose_traces(), rank_settings())
def test_json_keeps_every_ranking(trace: Trace, chosen: RankSettings) -> None:
    before = rerank(ScoreTable.of(trace.candidates), chosen)
    after = rerank(ScoreTable.of(loads(dumps(trace)).candidates), chosen)
    assert columns(before) == columns(after)


@given(traces() | loose_traces())
def test_json_holds_no_nan_and_no_infinity(trace: Trace) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(dumps(trace), parse_constant=refuse)


@pytest.mark.parametrize(
    "text", ["", "no json", "{", "[1, 2", '{"a": }', "\ufeff{}", "[" * 100_000, "9" * 5000]
)
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(TraceError, match=r"this is no (JSON|causalviz-trace)"):
        loads(text)


@pytest.mark.parametrize("data", [None, 1, "trace", [], {}, {"format": "something else"}, {"version": 1}])
def test_json_that_is_no_trace_is_refused(data: object) -> None:
    with pytest.raises(TraceError) as caught:
        from_json(data)
    assert str(caught.value) == "this is no causalviz-trace file; write one with `rank --trace FILE`."


@pytest.mark.parametrize("version", [None, 0, 2, "1", [1]])
def test_another_version_is_refused_by_number(version: object) -> None:
    with pytest.raises(TraceError) as caught:
        from_json({**to_json(SMALL), "version": version})
    assert str(caught.value) == (
        f"the trace has version {version}, but this release reads version 1; "
        "ask the question again to write a new one."
    )


def damage(change: Callable[[dict[str, Any]], object]) -> JsonObject:
    """Change the small trace's JSON in place."""
    data = copy.deepcopy(to_json(SMALL))
    change(data)
    return data


def first(data: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = data["candidates"][0]
    return entry


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no candidates": lambda d: d.pop("candidates"),
    "candidates is a number": lambda d: d.update(candidates=5),
    "a candidate is a number": lambda d: d.update(candidates=[5]),
    "a candidate is text": lambda d: d.update(candidates=["x"]),
    "an unknown setting": lambda d: d["settings"].update(beta=1),
    "no tau": lambda d: d["settings"].pop("tau"),
    "tau is text": lambda d: d["settings"].update(tau="0.6"),
    "tau is no cosine": lambda d: d["settings"].update(tau=60),
    "alpha is no share": lambda d: d["settings"].update(alpha=-1),
    "alpha is missing a value": lambda d: d["settings"].update(alpha=None),
    "an unknown method": lambda d: d["settings"].update(method="magic"),
    "an unknown mode": lambda d: d["settings"].update(mode="magic"),
    "an unknown rule for empty b": lambda d: d["settings"].update(empty_b="magic"),
    "an unknown unit": lambda d: d.update(unit="page"),
    "the query is a number": lambda d: d.update(query=5),
    "the warnings are a number": lambda d: d.update(warnings=5),
    "the seconds are text": lambda d: d.update(seconds="x"),
    "a default tau that is a number": lambda d: d.update(default_tau=0.6),
    "a default tau that is no cosine": lambda d: d["default_tau"].update(tau=2),
    "a default tau of unknown origin": lambda d: d["default_tau"].update(origin="oracle"),
    "a proposal that is no cosine": lambda d: d["default_tau"].update(proposed=math.inf),
    "a default tau without a reason": lambda d: d["default_tau"].pop("reason"),
    "random pairs hold text": lambda d: d.update(random_pairs=["x"]),
    "a query keyword without a weight": lambda d: d["query_keywords"][0].pop("weight"),
    "a query keyword's weight is text": lambda d: d["query_keywords"][0].update(weight="x"),
    "a similarity that is not a number": lambda d: first(d).update(similarity=math.nan),
    "a similarity that is missing": lambda d: first(d).update(similarity=None),
    "a similarity beyond double precision": lambda d: first(d).update(similarity=10**400),
    "a title that is a list": lambda d: first(d).update(title=["x"]),
    "an id that is a number": lambda d: first(d).update(id=7),
    "repeats that are text": lambda d: first(d).update(repeats="x"),
    "a suspicion that is text": lambda d: first(d).update(suspect="yes"),
    "a use that is not a number": lambda d: first(d).update(use=math.nan),
    "a topic that is text": lambda d: first(d).update(topic="x"),
    "a gram matrix that is too short": lambda d: first(d).update(gram=[1.0, 0.6]),
    "a gram matrix of one number": lambda d: first(d).update(gram=[1.0]),
    "a gram matrix that is a number": lambda d: first(d).update(gram=1.0),
    "a gram matrix with infinity": lambda d: first(d)["gram"].__setitem__(0, math.inf),
    "a gram matrix beyond float32": lambda d: first(d)["gram"].__setitem__(0, 1e300),
    "a weight that is not a number": lambda d: first(d)["keywords"][0].update(weight=math.nan),
    "a weight of zero": lambda d: first(d)["keywords"][0].update(weight=0),
    "a negative weight": lambda d: first(d)["keywords"][0].update(weight=-1),
    "a weight beyond float32": lambda d: first(d)["keywords"][0].update(weight=1e300),
    "a weight beyond double precision": lambda d: first(d)["keywords"][0].update(weight=10**400),
    "a weight that is a list": lambda d: first(d)["keywords"][0].update(weight=[1]),
    "a cosine that is not a number": lambda d: first(d)["keywords"][0].update(cosine=math.nan),
    "a match that is no query keyword": lambda d: first(d)["keywords"][0].update(match="nothing"),
    "a match that is a list": lambda d: first(d)["keywords"][0].update(match=[]),
    "exact is text": lambda d: first(d)["keywords"][0].update(exact="no"),
    "a term that is a number": lambda d: first(d)["keywords"][0].update(term=5),
    "a relevance that is missing": lambda d: first(d)["keywords"][0].pop("relevance"),
    "candidates out of order": lambda d: d["candidates"].reverse(),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_trace_is_refused(name: str) -> None:
    with pytest.raises(TraceError, match="the trace is damaged"):
        from_json(damage(DAMAGES[name]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def places(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """List the paths to every value inside JSON data."""
    inside: list[tuple[str | int, object]] = []
    if isinstance(data, dict):
        inside = list(data.items())
    elif isinstance(data, list):
        inside = list(enumerate(data))
    return [place for key, value in inside for place in ((*path, key), *places(value, (*path, key)))]


@given(traces() | loose_traces(), rank_settings(), st.data())
def test_a_trace_damaged_anywhere_is_refused_or_ranks(
    trace: Trace, chosen: RankSettings, data: st.DataObject
) -> None:
    damaged = to_json(trace)
    *path, last = data.draw(st.sampled_from(places(damaged)))
    parent: Any = damaged
    for key in path:
        parent = parent[key]
    if data.draw(st.booleans()):
        del parent[last]
    else:
        parent[last] = data.draw(JSON)
    try:
        back = from_json(damaged)
        rerank(ScoreTable.of(back.candidates), back.settings)
        ranking = rerank(ScoreTable.of(back.candidates), chosen)
        dumps(back)
    except CausalvizError:
        return
    missing = ranking.empty_b & (chosen.empty_b == "last")
    assert np.isnan(ranking.hybrid).tolist() == missing.tolist()


@given(st.text())
def test_any_text_at_all_is_refused_or_a_trace(text: str) -> None:
    with pytest.raises(TraceError):
        loads(text)
