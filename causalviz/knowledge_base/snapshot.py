"""Derive a snapshot from the stored sources: vocabulary, idf, keywords and their vectors."""

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from causalviz.arrays import FloatMatrix
from causalviz.keywords import DOCUMENT_KEYWORDS, inverse_document_frequency, top_weights
from causalviz.knowledge_base.base import KnowledgeBase, UnitTable, derive, fingerprint
from causalviz.knowledge_base.store import Store, StoredUnit
from causalviz.protocols import Progress

TERM_BATCH = 256


def take_snapshot(
    store: Store, encode_terms: Callable[[Sequence[str]], FloatMatrix], dim: int, progress: Progress
) -> KnowledgeBase:
    """Compute, store and return the snapshot of the store's present generation; only new keywords are encoded.

    What is returned is whole even where another run changes the sources meanwhile; what is stored is then not used.
    """
    with store.reading():
        generation, hashes, near = store.generation, store.hashes(), _near_before(store)
        vocabulary = sorted({word for unit in store.document_units() for word in unit.counts})
        positions = {word: i for i, word in enumerate(vocabulary)}
        documents = _read(store.document_units(), positions, dim)
        chunks = _read(store.chunk_units(), positions, dim)
    del positions
    frequency = np.bincount(documents.counts.indices, minlength=len(vocabulary)).astype(np.int64)
    idf = inverse_document_frequency(frequency, len(hashes))
    tables = {"documents": _with_keywords(documents, idf), "chunks": _with_keywords(chunks, idf)}
    used = np.unique(np.concatenate([table.keyword_terms.ravel() for table in tables.values()]))
    used = used[used >= 0]
    terms = [vocabulary[i] for i in used]
    _encode_missing(store, terms, encode_terms, progress)
    term_rows = np.full(len(vocabulary), -1, np.int32)
    term_rows[used] = np.arange(len(used))
    term_vectors = store.term_vectors(terms, dim)
    base = KnowledgeBase(
        name=store.path.stem,
        path=store.path,
        encoder=store.encoder,
        fingerprint=fingerprint(store.encoder, hashes),
        vocabulary=tuple(vocabulary),
        idf=idf,
        term_rows=term_rows,
        term_vectors=term_vectors,
        **tables,
        **derive(tables["documents"], term_vectors, near),
    )
    store.write_snapshot(generation, base.to_parts())
    return base


def near_duplicate_ids(store: Store) -> dict[str, str]:
    """Earlier document with nearly the same words, by id; none while the snapshot is older than the sources."""
    if store.fingerprint() is None:
        return {}
    return {id_: twin for (id_, _), twin in _near_before(store).items() if twin is not None}


def _near_before(store: Store) -> dict[tuple[str, str], str | None]:
    """Near duplicates as the last snapshot knew them, by id and hash of the text; its age plays no part."""
    parts = store.read_snapshot_parts("documents.ids", "documents.text_hashes", "near_duplicates")
    if "near_duplicates" not in parts:  # there is none, or an earlier release took it
        return {}
    ids, hashes = json.loads(parts["documents.ids"]), json.loads(parts["documents.text_hashes"])
    rows = np.frombuffer(parts["near_duplicates"], np.int64)
    return {
        key: ids[row] if row >= 0 else None
        for key, row in zip(zip(ids, hashes, strict=True), rows, strict=True)
    }


def _read(units: Iterable[StoredUnit], positions: dict[str, int], dim: int) -> UnitTable:
    """Read units one by one into arrays; their keywords are still missing.

    Words stand in vocabulary order within each row, so that equal weights are picked in term order.
    """
    ids, titles, text_hashes = [], [], []
    vectors, indptr, indices, data = bytearray(), array("i", [0]), array("i"), array("i")
    for unit in units:
        ids.append(unit.id)
        titles.append(unit.title)
        text_hashes.append(unit.text_hash)
        vectors += unit.vector.tobytes()
        row = sorted((positions[word], count) for word, count in unit.counts.items())
        indices.extend(word for word, _ in row)
        data.extend(count for _, count in row)
        indptr.append(len(indices))
    integers = (np.frombuffer(numbers, np.int32) for numbers in (data, indices, indptr))
    return UnitTable(
        ids=tuple(ids),
        titles=tuple(titles),
        text_hashes=tuple(text_hashes),
        vectors=np.frombuffer(vectors, np.float32).reshape(-1, dim),
        counts=csr_matrix(tuple(integers), shape=(len(ids), len(positions))),
        keyword_terms=np.full((len(ids), DOCUMENT_KEYWORDS), -1, np.int32),
        keyword_weights=np.zeros((len(ids), DOCUMENT_KEYWORDS), np.float32),
    )


def _with_keywords(table: UnitTable, idf: NDArray[np.float64]) -> UnitTable:
    counts, terms, weights = table.counts, table.keyword_terms.copy(), table.keyword_weights.copy()
    for row, (start, end) in enumerate(zip(counts.indptr, counts.indptr[1:], strict=False)):
        words = counts.indices[start:end]
        best, lambdas = top_weights(counts.data[start:end], idf[words], DOCUMENT_KEYWORDS)
        terms[row, : len(best)], weights[row, : len(best)] = words[best], lambdas
    return replace(table, keyword_terms=terms, keyword_weights=weights)


def _encode_missing(
    store: Store, terms: Iterable[str], encode: Callable[[Sequence[str]], FloatMatrix], progress: Progress
) -> None:
    known = store.known_terms()
    missing = [term for term in terms if term not in known]
    for start in range(0, len(missing), TERM_BATCH):
        batch = missing[start : start + TERM_BATCH]
        progress(start, len(missing), "keywords")
        store.add_terms(batch, encode(batch))
