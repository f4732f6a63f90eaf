"""Derive a snapshot from the stored sources: vocabulary, idf, keywords and their vectors."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from causalviz.keywords import DOCUMENT_KEYWORDS, inverse_document_frequency, top_weights
from causalviz.knowledge_base.base import KnowledgeBase, UnitTable, fingerprint
from causalviz.knowledge_base.store import Store, StoredUnit
from causalviz.protocols import Progress
from causalviz.records import FloatMatrix

TERM_BATCH = 256


def take_snapshot(
    store: Store, encode_terms: Callable[[Sequence[str]], FloatMatrix], dim: int, progress: Progress
) -> dict[str, bytes]:
    """Compute, store and return the snapshot of the store's present generation; only new keywords are encoded.

    What is returned is whole even where another run changes the sources meanwhile; what is stored is then not used.
    """
    with store.reading():
        generation, hashes = store.generation, store.hashes()
        documents, chunks = list(store.document_units()), list(store.chunk_units())
    vocabulary = sorted({word for unit in documents for word in unit.counts})
    positions = {word: i for i, word in enumerate(vocabulary)}
    counts = _count_matrix(documents, positions)
    frequency = np.bincount(counts.indices, minlength=len(vocabulary)).astype(np.int64)
    idf = inverse_document_frequency(frequency, len(documents))
    tables = {
        "documents": _table(documents, counts, idf, dim),
        "chunks": _table(chunks, _count_matrix(chunks, positions), idf, dim),
    }
    used = np.unique(np.concatenate([table.keyword_terms.ravel() for table in tables.values()]))
    used = used[used >= 0]
    terms = [vocabulary[i] for i in used]
    _encode_missing(store, terms, encode_terms, progress)
    term_rows = np.full(len(vocabulary), -1, np.int32)
    term_rows[used] = np.arange(len(used))
    base = KnowledgeBase(
        name="",
        path=store.path,
        encoder=store.encoder,
        fingerprint=fingerprint(store.encoder, hashes),
        vocabulary=tuple(vocabulary),
        idf=idf,
        term_rows=term_rows,
        term_vectors=store.term_vectors(terms, dim),
        **tables,
    )
    parts = base.to_parts()
    store.write_snapshot(generation, parts)
    return parts


def _count_matrix(units: Sequence[StoredUnit], positions: dict[str, int]) -> csr_matrix:
    """Words in vocabulary order within each row, so that equal weights are picked in term order."""
    indptr = np.zeros(len(units) + 1, np.int32)
    indptr[1:] = np.cumsum([len(unit.counts) for unit in units])
    indices = np.fromiter((positions[word] for unit in units for word in unit.counts), np.int32, indptr[-1])
    data = np.fromiter((n for unit in units for n in unit.counts.values()), np.int32, indptr[-1])
    matrix = csr_matrix((data, indices, indptr), shape=(len(units), len(positions)))
    matrix.sort_indices()
    return matrix


def _table(units: Sequence[StoredUnit], counts: csr_matrix, idf: NDArray[np.float64], dim: int) -> UnitTable:
    terms = np.full((len(units), DOCUMENT_KEYWORDS), -1, np.int32)
    weights = np.zeros((len(units), DOCUMENT_KEYWORDS), np.float32)
    for row, (start, end) in enumerate(zip(counts.indptr, counts.indptr[1:], strict=False)):
        words = counts.indices[start:end]
        best, lambdas = top_weights(counts.data[start:end], idf[words], DOCUMENT_KEYWORDS)
        terms[row, : len(best)], weights[row, : len(best)] = words[best], lambdas
    return UnitTable(
        ids=tuple(unit.id for unit in units),
        titles=tuple(unit.title for unit in units),
        text_hashes=tuple(unit.text_hash for unit in units),
        vectors=np.stack([unit.vector for unit in units]) if units else np.zeros((0, dim), np.float32),
        counts=counts,
        keyword_terms=terms,
        keyword_weights=weights,
    )


def _encode_missing(
    store: Store, terms: Iterable[str], encode: Callable[[Sequence[str]], FloatMatrix], progress: Progress
) -> None:
    known = store.known_terms()
    missing = [term for term in terms if term not in known]
    for start in range(0, len(missing), TERM_BATCH):
        batch = missing[start : start + TERM_BATCH]
        progress(start, len(missing), "keywords")
        store.add_terms(batch, encode(batch))
