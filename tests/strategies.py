"""Random worlds, traces and settings for the laws of the method.

A world holds real vectors (see oracle.py); ``trace_of`` boils it down to the numbers a trace keeps, as the pipeline
does. ``loose_traces`` are traces of any finite numbers at all, consistent or not.
"""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from oracle import Vector, World, WorldDocument, absorption, dot

from causalviz.partition import nearest_query_keyword
from causalviz.records import Candidate, DefaultTau, EmptyB, Keyword, Method, Mode, RankSettings, Trace

METHODS: tuple[Method, ...] = get_args(Method)
RERANKER = "a cross-encoder"
MODES: tuple[Mode, ...] = get_args(Mode)
EMPTY_B: tuple[EmptyB, ...] = get_args(EmptyB)


def unit(vector: NDArray[Any]) -> Vector:
    """Float32 entries of norm 1; the zero vector stays."""
    entries = np.asarray(vector, np.float64)
    length = float(np.sqrt((entries * entries).sum()))
    return tuple((entries / length if length else entries).astype(np.float32).tolist())


def taus() -> st.SearchStrategy[float]:
    """Every threshold there is."""
    return st.floats(-1, 1)


def alphas() -> st.SearchStrategy[float]:
    """Every hybrid weight there is, the two ends often."""
    return st.sampled_from((0.0, 0.5, 1.0)) | st.floats(0, 1)


def rank_settings() -> st.SearchStrategy[RankSettings]:
    """Anything a person may turn."""
    return st.builds(
        RankSettings,
        tau=taus(),
        alpha=alphas(),
        method=st.sampled_from(METHODS),
        mode=st.sampled_from(MODES),
        empty_b=st.sampled_from(EMPTY_B),
    )


@st.composite
def worlds(draw: st.DrawFn, *, min_documents: int = 0, max_documents: int = 8) -> World:
    """Draw a query, its keywords and documents; small whole-number directions, so that ties and zeros happen."""
    dim = draw(st.integers(2, 5))
    directions = arrays(np.int64, dim, elements=st.integers(-4, 4)).map(unit)
    names = [f"t{i}" for i in range(draw(st.integers(0, 10)))]
    terms = {name: draw(directions) for name in names}
    query_terms = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
    weights = (
        st.dictionaries(st.sampled_from(names), st.floats(0.0625, 8, width=32), max_size=6)
        if names
        else st.just({})
    )
    count = draw(st.integers(min_documents, max_documents))
    # Few values, so that they tie; now and then no cross-encoder at all.
    crosses = draw(st.sampled_from((st.none(), st.none() | st.integers(-3, 3).map(float))))
    return World(
        query=draw(directions),
        query_terms=tuple(query_terms),
        terms=terms,
        documents=tuple(
            WorldDocument(
                id=f"d{i}",
                vector=draw(directions),
                weights=draw(weights),
                suspect=draw(st.booleans()),
                cross=draw(crosses),
            )
            for i in range(count)
        ),
    )


def clear_of_cosines(world: World, tau: float) -> bool:
    """Whether no keyword's cosine is so near tau that rounding decides; equality has tests of its own."""
    return all(abs(absorption(world, term) - tau) > 1e-6 for term in world.terms)


def trace_of(world: World, settings: RankSettings | None = None) -> Trace:
    """Keep of a world what a trace keeps: float32 numbers, candidates in baseline order."""
    candidates = sorted(
        (candidate_of(world, document) for document in world.documents), key=lambda c: (-c.similarity, c.id)
    )
    settings = settings or RankSettings(tau=0.6)
    crossed = settings.method == "cross-encoder" or any(c.cross_encoder is not None for c in candidates)
    return Trace(
        query="how?",
        query_keywords=tuple(Keyword(term=term, weight=1.0) for term in world.query_terms),
        candidates=tuple(candidates),
        encoder="fake",
        centred=False,
        unit="document",
        top_k=20,
        theta=-1.0,
        settings=settings,
        knowledge_base="test",
        fingerprint="0",
        documents=len(candidates),
        random_pairs=np.linspace(-1, 1, 9, dtype=np.float32),
        seconds={"encode": 0.25},
        reranker=RERANKER if crossed else None,
    )


def candidate_of(world: World, document: WorldDocument) -> Candidate:
    """Boil one document down; its terms by weight, then name."""
    terms = sorted(document.weights, key=lambda term: (-document.weights[term], term))
    vectors = [world.terms[term] for term in terms]
    dim = len(world.query)
    cosines, matches = nearest_query_keyword(
        np.array(vectors, np.float32).reshape(-1, dim),
        np.array([world.terms[u] for u in world.query_terms], np.float32).reshape(-1, dim),
    )
    return Candidate(
        id=document.id,
        title=document.id,
        similarity=float(np.float32(dot(world.query, document.vector))),
        terms=tuple(terms),
        weights=np.array([document.weights[term] for term in terms], np.float32),
        cosines=cosines,
        matches=matches,
        exact=np.array([term in world.query_terms for term in terms], bool),
        relevance=np.array([dot(world.query, vector) for vector in vectors], np.float32),
        gram=np.array([[dot(a, b) for b in vectors] for a in vectors], np.float32).reshape(
            len(terms), len(terms)
        ),
        repeats=0,
        tokens=len(terms),
        suspect=document.suspect,
        cross_encoder=document.cross,
    )


def traces(*, min_documents: int = 0, max_documents: int = 8) -> st.SearchStrategy[Trace]:
    """Traces of worlds."""
    return st.builds(
        trace_of, worlds(min_documents=min_documents, max_documents=max_documents), rank_settings()
    )


@st.composite
def loose_traces(draw: st.DrawFn) -> Trace:
    """Draw any finite numbers, any text; nothing need fit together but the lengths."""
    reals = st.floats(width=32, allow_nan=False, allow_infinity=False)
    query_keywords = draw(st.lists(st.text(max_size=5), unique=True, max_size=3))
    blank = trace_of(World(query=(1.0,), query_terms=(), terms={}, documents=()), draw(rank_settings()))
    crossed = blank.reranker is not None or draw(st.booleans())
    candidates = [
        draw(_loose_candidates(f"d{i}", len(query_keywords), crossed=crossed))
        for i in range(draw(st.integers(0, 4)))
    ]
    candidates.sort(key=lambda c: (-c.similarity, c.id))
    return replace(
        blank,
        query=draw(st.text(max_size=10)),
        query_keywords=tuple(
            Keyword(term=term, weight=draw(st.floats(0.0625, 8, width=32))) for term in query_keywords
        ),
        candidates=tuple(candidates),
        centred=draw(st.booleans()),
        unit=draw(st.sampled_from(("document", "chunk"))),
        random_pairs=np.sort(draw(arrays(np.float32, st.integers(0, 5), elements=reals))),
        default_tau=draw(st.none() | default_taus()),
        density_limit=draw(st.none() | st.floats(0.0625, 1, width=32)),
        reranker=draw(st.text(max_size=5)) if crossed else None,
        warnings=tuple(draw(st.lists(st.text(max_size=5), max_size=2))),
    )


def default_taus() -> st.SearchStrategy[DefaultTau]:
    """Defaults of any kind of encoder and knowledge base."""
    cosines = st.floats(-1, 1)
    return st.builds(
        DefaultTau,
        tau=cosines,
        origin=st.sampled_from(("encoder", "knowledge base", "exact")),
        reason=st.text(max_size=5),
        proposed=st.none() | cosines,
    )


@st.composite
def _loose_candidates(draw: st.DrawFn, name: str, query_keywords: int, *, crossed: bool) -> Candidate:
    reals = st.floats(width=32, allow_nan=False, allow_infinity=False)
    terms = draw(st.lists(st.text(max_size=5), unique=True, max_size=4))
    n = len(terms)
    upper = np.triu(draw(arrays(np.float32, (n, n), elements=reals)))
    asked = query_keywords > 0
    use, topic = draw(st.just((None, None)) | st.tuples(st.floats(0, 40), st.floats(0, 8)))
    return Candidate(
        id=name,
        title=draw(st.text(max_size=5)),
        similarity=draw(reals),
        terms=tuple(terms),
        weights=draw(arrays(np.float32, n, elements=st.floats(2.0**-140, 2.0**127, width=32))),
        cosines=draw(arrays(np.float32, n, elements=reals)) if asked else np.full(n, -np.inf, np.float32),
        matches=draw(arrays(np.int64, n, elements=st.integers(0, query_keywords - 1)))
        if asked
        else np.full(n, -1, np.int64),
        exact=draw(arrays(bool, n)),
        relevance=draw(arrays(np.float32, n, elements=reals)),
        gram=upper + np.triu(upper, 1).T,
        repeats=draw(st.integers(0, 9)),
        tokens=draw(st.integers(0, 9)),
        duplicate_of=draw(st.none() | st.just("d0")),
        suspect=draw(st.booleans()),
        use=use,
        topic=topic,
        cross_encoder=draw(st.none() | reals) if crossed else None,
    )
