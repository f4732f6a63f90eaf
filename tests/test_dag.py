from collections.abc import Iterable
from itertools import combinations

import networkx as nx
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.dag import EDGES, NODES, every_verdict, graph_to_json, retrieval_graph, verdict
from causalviz.errors import ParameterError

GRAPH = retrieval_graph()

# What METHOD.md, section 3, claims, and what follows from the arrows by eye.
FACTS = [
    ("q", "B", "", True),  # q <- A -> d <- B stops at d, q -> y <- B stops at y
    ("q", "B", "d", False),  # Observation 1: the first path opens
    ("q", "B", "dA", True),  # and A screens it off again
    ("q", "B", "y", False),  # the other collider opens likewise
    ("q", "B", "yA", False),
    ("q", "B", "A", True),
    ("q", "d", "", False),  # the common cause A: association without causation
    ("q", "d", "A", True),
    ("q", "d", "B", False),
    ("q", "d", "Ay", False),  # through y: q -> y <- B -> d
    ("d", "y", "", False),
    ("d", "y", "A", False),
    ("d", "y", "B", False),
    ("d", "y", "AB", True),
    ("d", "y", "Bq", True),
    ("A", "B", "", True),
    ("A", "B", "d", False),
    ("A", "q", "dBy", False),  # an arrow cannot be screened off
    ("A", "y", "q", True),
    ("A", "y", "", False),
]


@pytest.mark.parametrize(("x", "y", "given", "independent"), FACTS)
def test_the_graph_implies_what_the_method_claims(x: str, y: str, given: str, independent: bool) -> None:
    assert verdict(GRAPH, x, y, given).independent is independent
    assert verdict(GRAPH, y, x, given).independent is independent
    assert oracle.d_separated(EDGES, x, y, given) is independent


def explained(x: str, y: str, given: str) -> list[tuple[str, bool, str | None, str]]:
    return [(" ".join(p.nodes), p.open, p.decided_by, p.why) for p in verdict(GRAPH, x, y, given).paths]


COLLIDER = "two arrows meet there (a collider) and it is not conditioned on"
SCREENED = "conditioning on it screens off what passes through"
OPEN = "open: nothing on it is conditioned on and no arrows meet"


def test_nothing_given_both_paths_from_q_to_b_are_blocked_at_their_colliders() -> None:
    assert explained("q", "B", "") == [
        ("q y B", False, "y", f"blocked at y: {COLLIDER}"),
        ("q A d B", False, "d", f"blocked at d: {COLLIDER}"),
    ]


def test_the_document_given_the_path_through_it_is_open() -> None:
    assert explained("q", "B", "d") == [
        ("q y B", False, "y", f"blocked at y: {COLLIDER}"),
        ("q A d B", True, "d", "open: two arrows meet at d (a collider) and it is conditioned on"),
    ]


def test_the_shared_keywords_given_as_well_it_is_blocked_again() -> None:
    assert explained("q", "B", "dA") == [
        ("q y B", False, "y", f"blocked at y: {COLLIDER}"),
        ("q A d B", False, "A", f"blocked at A: {SCREENED}"),
    ]


def test_the_answer_given_the_other_path_is_open() -> None:
    assert explained("q", "B", "y") == [
        ("q y B", True, "y", "open: two arrows meet at y (a collider) and it is conditioned on"),
        ("q A d B", False, "d", f"blocked at d: {COLLIDER}"),
    ]


def test_a_path_without_colliders_is_open_by_default() -> None:
    assert explained("q", "d", "") == [
        ("q A d", True, None, OPEN),
        ("q y B d", False, "y", f"blocked at y: {COLLIDER}"),
    ]


def test_a_path_with_two_colliders_needs_both() -> None:
    # A -> d <- B -> y <- q, beside the arrow A -> q that nothing blocks.
    around = ("A", "d", "B", "y", "q")
    for conditioned, is_open in (("", False), ("d", False), ("y", False), ("dy", True), ("dyB", False)):
        direct, path = verdict(GRAPH, "A", "q", conditioned).paths
        assert (direct.nodes, direct.open) == (("A", "q"), True)
        assert (path.nodes, path.open) == (around, is_open)
        assert path.decided_by in {"d", "B", "y"}


def test_a_collider_opens_through_what_it_causes() -> None:
    # a -> c <- b, c -> e -> f: given f, which c causes, a and b are dependent.
    graph = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "e"), ("e", "f")])
    (path,) = verdict(graph, "a", "b", ["f"]).paths
    assert (path.nodes, path.open, path.decided_by) == (("a", "c", "b"), True, "c")
    assert path.why == "open: two arrows meet at c (a collider) and f, which it causes, is conditioned on"
    assert verdict(graph, "a", "b").independent
    assert not verdict(graph, "a", "b", ["e"]).independent


def test_a_verdict_carries_its_question() -> None:
    found = verdict(GRAPH, "q", "B", ["d", "A", "d"])
    assert (found.x, found.y, found.given) == ("q", "B", ("A", "d"))


@pytest.mark.parametrize(
    ("x", "y", "given"),
    [
        ("q", "q", []),
        ("q", "z", []),
        ("z", "q", []),
        ("q", "B", ["z"]),
        ("q", "B", ["q"]),
        ("q", "B", ["A", "B"]),
        ("", "B", []),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(x: str, y: str, given: list[str]) -> None:
    with pytest.raises(ParameterError) as caught:
        verdict(GRAPH, x, y, given)
    assert str(caught.value) == (
        f"cannot ask about {x} and {y} given {{{', '.join(sorted(given))}}}: choose two different nodes of "
        "A, q, d, B, y and condition only on others."
    )


def test_every_question_about_the_five_nodes_is_answered_and_right() -> None:
    # 10 pairs under the 8 subsets of the other three.
    verdicts = every_verdict(GRAPH)
    assert len({(frozenset((v.x, v.y)), frozenset(v.given)) for v in verdicts}) == len(verdicts) == 80
    for v in verdicts:
        check(EDGES, v.x, v.y, v.given)


def test_the_page_gets_the_graph_and_all_its_verdicts() -> None:
    data = graph_to_json()
    assert {node["id"]: node["meaning"] for node in data["nodes"]} == NODES
    assert [node["id"] for node in data["nodes"] if not node["observed"]] == ["y"]
    assert {tuple(edge) for edge in data["edges"]} == {
        ("A", "q"),
        ("A", "d"),
        ("B", "d"),
        ("B", "y"),
        ("q", "y"),
    }
    answers = {(v["x"], v["y"], tuple(v["given"])): v for v in data["verdicts"]}
    assert len(answers) == 80
    for v in every_verdict(GRAPH):
        answer = answers[v.x, v.y, v.given]
        assert answer["independent"] is v.independent
        assert [(tuple(p["nodes"]), p["open"], p["decided_by"], p["why"]) for p in answer["paths"]] == [
            (p.nodes, p.open, p.decided_by, p.why) for p in v.paths
        ]


def check(edges: oracle.Edges, x: str, y: str, given: Iterable[str], nodes: Iterable[str] = ()) -> bool:
    """Compare a verdict and all its paths with the oracle; return the verdict."""
    given = sorted(given)
    graph: nx.DiGraph[str] = nx.DiGraph(edges)
    graph.add_nodes_from(nodes)
    found = verdict(graph, x, y, given)
    assert found.independent is oracle.d_separated(edges, x, y, given)
    assert found.independent is not any(path.open for path in found.paths)
    assert {path.nodes for path in found.paths} == oracle.simple_paths(edges, x, y)
    assert [len(path.nodes) for path in found.paths] == sorted(len(path.nodes) for path in found.paths)
    for path in found.paths:
        assert path.open is oracle.path_is_open(edges, path.nodes, given)
        assert path.decided_by is None or path.decided_by in path.nodes[1:-1]
        assert path.why.startswith("open: " if path.open else f"blocked at {path.decided_by}: ")
    return found.independent


def test_verdicts_on_three_thousand_random_graphs_are_the_oracles() -> None:
    rng = np.random.default_rng(20260701)
    independent = 0
    for _ in range(3000):
        nodes = [f"n{i}" for i in range(rng.integers(2, 7))]
        pairs = list(combinations(rng.permutation(nodes).tolist(), 2))
        edges = [pair for pair in pairs if rng.random() < rng.choice([0.3, 0.5, 0.7])]
        x, y, *others = rng.permutation(nodes).tolist()
        given = [node for node in others if rng.random() < 0.4]
        independent += check(edges, x, y, given, nodes)
    # Both answers occur often, or the test would say little.
    assert 600 < independent < 2400


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]], str, str, set[str]]:
    nodes = [f"n{i}" for i in range(draw(st.integers(2, 6)))]
    edges = draw(st.lists(st.sampled_from(list(combinations(nodes, 2))), unique=True))
    x, y, *others = draw(st.permutations(nodes))
    return nodes, edges, x, y, draw(st.sets(st.sampled_from(others))) if others else set()


@given(questions())
def test_independent_means_that_no_path_is_open(
    question: tuple[list[str], list[tuple[str, str]], str, str, set[str]],
) -> None:
    nodes, edges, x, y, conditioned = question
    assert check(edges, x, y, conditioned, nodes) is verdict_of(nodes, edges, y, x, conditioned)


def verdict_of(nodes: list[str], edges: list[tuple[str, str]], x: str, y: str, given: set[str]) -> bool:
    graph: nx.DiGraph[str] = nx.DiGraph(edges)
    graph.add_nodes_from(nodes)
    return verdict(graph, x, y, given).independent
