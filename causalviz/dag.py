"""The causal graph of retrieval and what d-separation says about it (paper, section 3.2).

The verdicts come from networkx on the graph itself; the paths explain them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import networkx as nx

from causalviz.errors import ParameterError

EDGES: tuple[tuple[str, str], ...] = (("A", "q"), ("A", "d"), ("B", "d"), ("B", "y"), ("q", "y"))
NODES: dict[str, str] = {
    "q": "the question",
    "d": "the retrieved document",
    "y": "the ideal answer (never observed)",
    "A": "keywords shared with the question",
    "B": "the document's other keywords",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """One path between two nodes, and whether it carries association under a conditioning set."""

    nodes: tuple[str, ...]
    open: bool
    decided_by: str | None
    """The node that blocks it, or the conditioned collider that opens it; None for a path open by default."""
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What the graph implies about x and y given a set of nodes."""

    x: str
    y: str
    given: tuple[str, ...]
    independent: bool
    paths: tuple[Path, ...]


def retrieval_graph() -> "nx.DiGraph[str]":
    """Build the graph A -> q, A -> d, B -> d, B -> y, q -> y."""
    return nx.DiGraph(EDGES)


def verdict(graph: "nx.DiGraph[str]", x: str, y: str, given: Iterable[str] = ()) -> Verdict:
    """Decide by d-separation whether x and y are independent given a set, and explain it path by path.

    Raises:
        ParameterError: a node is not in the graph, x equals y, or either is conditioned on.
    """
    conditioned = frozenset(given)
    unknown = ({x, y} | conditioned) - set(graph)
    if unknown or x == y or conditioned & {x, y}:
        raise ParameterError(
            f"cannot ask about {x} and {y} given {{{', '.join(sorted(conditioned))}}}: choose two different nodes of "
            f"{', '.join(graph)} and condition only on others."
        )
    skeleton = graph.to_undirected(as_view=True)
    paths = sorted(nx.all_simple_paths(skeleton, x, y), key=lambda nodes: (len(nodes), nodes))
    return Verdict(
        x=x,
        y=y,
        given=tuple(sorted(conditioned)),
        independent=nx.is_d_separator(graph, {x}, {y}, set(conditioned)),
        paths=tuple(_explain(graph, tuple(nodes), conditioned) for nodes in paths),
    )


def _explain(graph: "nx.DiGraph[str]", nodes: tuple[str, ...], given: frozenset[str]) -> Path:
    opened: tuple[str, str] | None = None
    for before, node, after in zip(nodes, nodes[1:], nodes[2:], strict=False):
        if graph.has_edge(before, node) and graph.has_edge(after, node):
            below: set[str] = nx.descendants(graph, node)
            seen = sorted(given & ({node} | below))
            if not seen:
                why = f"blocked at {node}: two arrows meet there (a collider) and it is not conditioned on"
                return Path(nodes=nodes, open=False, decided_by=node, why=why)
            what = (
                "it is conditioned on" if node in given else f"{seen[0]}, which it causes, is conditioned on"
            )
            opened = (node, f"open: two arrows meet at {node} (a collider) and {what}")
        elif node in given:
            why = f"blocked at {node}: conditioning on it screens off what passes through"
            return Path(nodes=nodes, open=False, decided_by=node, why=why)
    if opened:
        return Path(nodes=nodes, open=True, decided_by=opened[0], why=opened[1])
    return Path(
        nodes=nodes,
        open=True,
        decided_by=None,
        why="open: nothing on it is conditioned on and no arrows meet",
    )


def every_verdict(graph: "nx.DiGraph[str]") -> tuple[Verdict, ...]:
    """All pairs of nodes under all subsets of the others: 80 verdicts for the five-node graph."""
    return tuple(
        verdict(graph, x, y, given)
        for x, y in combinations(graph, 2)
        for size in range(len(graph) - 1)
        for given in combinations([node for node in graph if node not in (x, y)], size)
    )


def graph_to_json() -> dict[str, Any]:
    """Everything the page needs to draw the graph and answer any question about it."""
    graph = retrieval_graph()
    return {
        "nodes": [
            {"id": node, "meaning": meaning, "observed": node != "y"} for node, meaning in NODES.items()
        ],
        "edges": [list(edge) for edge in EDGES],
        "verdicts": [
            {
                "x": v.x,
                "y": v.y,
                "given": list(v.given),
                "independent": v.independent,
                "paths": [
                    {"nodes": list(p.nodes), "open": p.open, "decided_by": p.decided_by, "why": p.why}
                    for p in v.paths
                ],
            }
            for v in every_verdict(graph)
        ],
    }
