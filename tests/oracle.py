"""The method once more, written from its definition alone and in vector form: slow, plain, independent.

It keeps real vectors and takes cosines of centroids, where the software keeps inner products and a Gram matrix. It
shares no code with causalviz, so that a mistake would have to be made twice to go unseen.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Vector = tuple[float, ...]
Edges = Sequence[tuple[str, str]]

ZERO = 1e-6
"""A centroid shorter than this is the zero vector: its terms cancel."""


@dataclass(frozen=True)
class WorldDocument:
    """A document: its vector, its keywords' weights, suspicion of stuffing, and a cross-encoder's score."""

    id: str
    vector: Vector
    weights: Mapping[str, float]
    suspect: bool = False
    cross: float | None = None


@dataclass(frozen=True)
class World:
    """A query among documents, with the vector of everything."""

    query: Vector
    query_terms: tuple[str, ...]
    terms: Mapping[str, Vector]
    documents: tuple[WorldDocument, ...]


@dataclass(frozen=True)
class Outcome:
    """What the definition gives for one setting; every mapping is by document id, None where there is no score."""

    similarity: Mapping[str, float]
    causal: Mapping[str, float | None]
    hybrid: Mapping[str, float | None]
    guarded: Mapping[str, float]
    cross: Mapping[str, float | None]
    empty: frozenset[str]
    order: tuple[str, ...]


def dot(a: Vector, b: Vector) -> float:
    """Sum the products of two vectors' entries, correctly rounded."""
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def cosine(a: Vector, b: Vector) -> float:
    """Cosine of the angle between two vectors; 0 with a zero vector."""
    lengths = math.sqrt(dot(a, a)) * math.sqrt(dot(b, b))
    return dot(a, b) / lengths if lengths else 0.0


def absorption(world: World, term: str) -> float:
    """a(t): the best cosine to a query keyword; infinite for a query keyword itself."""
    if term in world.query_terms:
        return math.inf
    return max((cosine(world.terms[term], world.terms[u]) for u in world.query_terms), default=-math.inf)


def residual(world: World, document: WorldDocument, tau: float, mode: str) -> list[str]:
    """B: the keywords that the query does not absorb (equation 3)."""
    if mode == "exact":
        return [term for term in document.weights if term not in world.query_terms]
    return [term for term in document.weights if not np.float32(absorption(world, term)) >= np.float32(tau)]


def centroid(world: World, document: WorldDocument, terms: Sequence[str]) -> Vector:
    """v_B: the weighted mean of the terms' vectors (equation 4)."""
    total = math.fsum(document.weights[term] for term in terms)
    return tuple(
        math.fsum(document.weights[term] * world.terms[term][axis] for term in terms) / total
        for axis in range(len(world.query))
    )


def causal_score(world: World, document: WorldDocument, tau: float, mode: str) -> float | None:
    """s_c: the cosine of the query and v_B (equation 5); None where B is empty."""
    terms = residual(world, document, tau, mode)
    if not terms:
        return None
    mean = centroid(world, document, terms)
    return cosine(world.query, mean) if math.sqrt(dot(mean, mean)) > ZERO else 0.0


def min_max(column: Mapping[str, float | None]) -> dict[str, float | None]:
    """Stretch the scores that there are to [0, 1]; a constant column becomes 0."""
    known = [value for value in column.values() if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    return {
        key: None if value is None else ((value - low) / (high - low) if high > low else 0.0)
        for key, value in column.items()
    }


def guarded(
    similarity: Mapping[str, float], causal: Mapping[str, float | None], suspects: frozenset[str]
) -> dict[str, tuple[float, bool]]:
    """Give each document the similarity it is ranked by, and whether it stands at it (else just below it).

    A suspected document stands just below the one that similarity puts where the causal score puts the suspect.
    """
    by_similarity = sorted(similarity, key=lambda key: (-similarity[key], key))
    by_causal = sorted(
        by_similarity,
        key=lambda key: math.inf if (score := causal[key]) is None else -score,
    )
    places = {
        key: max(by_similarity.index(key), by_causal.index(key) if key in suspects else 0)
        for key in similarity
    }
    return {
        key: (similarity[by_similarity[place]], by_similarity[place] == key) for key, place in places.items()
    }


def rank(  # noqa: PLR0913 - the settings, one by one
    world: World, *, tau: float, alpha: float, method: str, mode: str, empty_b: str
) -> Outcome:
    """Rank the documents of a world by the definition."""
    similarity = {d.id: cosine(world.query, d.vector) for d in world.documents}
    causal = {d.id: causal_score(world, d, tau, mode) for d in world.documents}
    empty = frozenset(key for key, value in causal.items() if value is None)
    if empty_b == "fallback":
        causal = {key: similarity[key] if value is None else value for key, value in causal.items()}
    first, second = min_max(similarity), min_max(causal)
    hybrid: dict[str, float | None] = {}
    for key in similarity:
        a, b = first[key], second[key]
        hybrid[key] = None if a is None or b is None else alpha * a + (1 - alpha) * b
    guard = guarded(similarity, causal, frozenset(d.id for d in world.documents if d.suspect))
    columns: dict[str, Mapping[str, float | None]] = {
        "similarity": similarity,
        "causal": causal,
        "hybrid": hybrid,
        "guarded": {key: value for key, (value, _) in guard.items()},
        "cross-encoder": {d.id: d.cross for d in world.documents},
    }
    column = columns[method]

    def best_first(key: str) -> tuple[bool, float, bool, float, str]:
        value = column[key]
        below = method == "guarded" and not guard[key][1]
        return (value is None, 0.0 if value is None else -value, below, -similarity[key], key)

    return Outcome(
        similarity=similarity,
        causal=causal,
        hybrid=hybrid,
        guarded={key: value for key, (value, _) in guard.items()},
        cross=columns["cross-encoder"],
        empty=empty,
        order=tuple(sorted(similarity, key=best_first)),
    )


def d_separated(edges: Edges, x: str, y: str, given: Iterable[str]) -> bool:
    """Decide d-separation by the moral graph of the ancestors (Lauritzen et al. 1990).

    Keep x, y, the given nodes and all their ancestors; marry the parents of every common child; forget the arrows;
    take the given nodes away. x and y are d-separated exactly when no way is left between them.
    """
    given = set(given)
    kept = {x, y} | given
    while more := {a for a, b in edges if b in kept} - kept:
        kept |= more
    ties = {frozenset(edge) for edge in edges if set(edge) <= kept}
    for child in kept:
        parents = [a for a, b in edges if b == child and a in kept]
        ties |= {frozenset(pair) for pair in combinations(parents, 2)}
    reached, border = {x}, {x}
    while border:
        border = {b for tie in ties for b in tie if tie & border and b not in reached | given}
        reached |= border
    return y not in reached


def simple_paths(edges: Edges, x: str, y: str) -> set[tuple[str, ...]]:
    """All ways from x to y along edges in either direction that visit no node twice."""
    neighbours: dict[str, set[str]] = {}
    for a, b in edges:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    found: set[tuple[str, ...]] = set()
    waiting: list[tuple[str, ...]] = [(x,)]
    while waiting:
        path = waiting.pop()
        if path[-1] == y:
            found.add(path)
        else:
            waiting += [(*path, node) for node in neighbours.get(path[-1], set()) - set(path)]
    return found


def path_is_open(edges: Edges, path: Sequence[str], given: Iterable[str]) -> bool:
    """Whether a path carries association (Pearl 2009, definition 1.2.3), from the definition."""
    given = set(given)
    above = set(given)  # with their ancestors: a collider among these is open
    while more := {a for a, b in edges if b in above} - above:
        above |= more
    inner = zip(path, path[1:], path[2:], strict=False)
    return all(
        node in above if (before, node) in edges and (after, node) in edges else node not in given
        for before, node, after in inner
    )
