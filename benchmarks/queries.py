"""What a question costs: a re-rank at new sliders, and a whole warm query over ten thousand documents."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from scipy.sparse import csr_matrix

from causalviz.arrays import FloatMatrix
from causalviz.backends.faiss_index import FaissIndex
from causalviz.backends.segmentation import default_tokenizer
from causalviz.bootstrap import make_encoder
from causalviz.guard import suspicion
from causalviz.keywords import DOCUMENT_KEYWORDS
from causalviz.knowledge_base import KnowledgeBase, UnitTable
from causalviz.knowledge_base.base import derive
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder
from causalviz.rank import rerank
from causalviz.records import RankSettings
from causalviz.score import ScoreTable

DOCUMENTS = 10_000
WORDS = 30_000
QUERY = "How does ColBERT late interaction work?"


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    encoder = make_encoder("e5-small")
    pipeline = random_pipeline(encoder)
    settings = RankSettings(tau=0.9)
    hundred = SearchSettings(top_k=100, theta=-1.0)
    table = ScoreTable.of(pipeline.ask(QUERY, hundred, settings).candidates)
    vector = encoder.encode_queries([QUERY])[0]
    index = FaissIndex(pipeline.base.documents.vectors)
    asked = pipeline.ask(QUERY, SearchSettings(theta=-1.0), settings)
    rows = np.array([pipeline.base.documents.rows[candidate.id] for candidate in asked.candidates])
    weights, pull = pipeline.base.word_weights("document"), np.linspace(1, 0, len(rows))
    encode, search, query, hundred_query, again, guard = interleaved(
        [
            lambda: encoder.encode_queries([QUERY]),
            lambda: index.search(vector, 20),
            lambda: pipeline.ask(QUERY, SearchSettings(theta=-1.0), settings),
            lambda: pipeline.ask(QUERY, hundred, settings),
            lambda: rerank(table, RankSettings(tau=0.87, alpha=0.3)),
            lambda: suspicion(pipeline.base.usage(asked.query_keywords, "document"), weights, rows, pull),
        ],
        rounds=60,
    )
    return [
        ["encode one query", f"{encode * 1e3:.2f} ms", ""],
        [f"search {DOCUMENTS:,} vectors", f"{search * 1e3:.2f} ms", ""],
        [
            "re-rank 100 candidates / encode",
            f"{100 * again / encode:.1f} % ({again * 1e3:.2f} ms)",
            "<= 10 %",
        ],
        [
            "warm query, top 20 / (encode + search)",
            f"{query / (encode + search):.2f} ({query * 1e3:.2f} ms)",
            "<= 1.5",
        ],
        ["guard / warm query, top 20", f"{100 * guard / query:.1f} % ({guard * 1e3:.2f} ms)", "<= 10 %"],
        ["warm query, top 100 / (encode + search)", f"{hundred_query / (encode + search):.2f}", ""],
    ]


def interleaved(actions: list[Callable[[], object]], rounds: int) -> list[float]:
    """Median seconds of each action; they take turns, so that a slow moment of the machine meets them all."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, times in zip(actions, seconds, strict=True):
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
    return [median(times[5:]) for times in seconds]


def random_pipeline(encoder: Encoder) -> Pipeline:
    """A knowledge base of random unit vectors in which the query's keywords are known."""
    draw = np.random.default_rng(0)
    words = sorted(
        {token.term for token in default_tokenizer().tokens(QUERY)} | {f"word{i}" for i in range(WORDS)}
    )

    def unit_rows(n: int) -> FloatMatrix:
        vectors: FloatMatrix = draw.normal(size=(n, encoder.dim)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    per_document = 120
    counts = csr_matrix(
        (
            np.ones(DOCUMENTS * per_document, np.int32),
            draw.integers(0, len(words), DOCUMENTS * per_document).astype(np.int32),
            np.arange(0, DOCUMENTS * per_document + 1, per_document, dtype=np.int32),
        ),
        shape=(DOCUMENTS, len(words)),
    )
    documents = UnitTable(
        ids=tuple(f"{i:06d}.txt" for i in range(DOCUMENTS)),
        titles=tuple(f"Document {i}" for i in range(DOCUMENTS)),
        text_hashes=tuple(str(i) for i in range(DOCUMENTS)),
        vectors=unit_rows(DOCUMENTS),
        counts=counts,
        keyword_terms=draw.integers(0, len(words), (DOCUMENTS, DOCUMENT_KEYWORDS)).astype(np.int32),
        keyword_weights=np.sort(draw.random((DOCUMENTS, DOCUMENT_KEYWORDS)).astype(np.float32))[:, ::-1],
    )
    term_vectors = unit_rows(len(words))
    base = KnowledgeBase(
        name="random",
        path=Path(),
        encoder=encoder.name,
        fingerprint="",
        documents=documents,
        chunks=documents,
        vocabulary=tuple(words),
        idf=np.ones(len(words)),
        term_rows=np.arange(len(words), dtype=np.int32),
        term_vectors=term_vectors,
        **derive(documents, term_vectors),
    )
    return Pipeline(base=base, encoder=encoder, tokenizer=default_tokenizer(), make_index=FaissIndex)
