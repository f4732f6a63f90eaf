"""A knowledge base in memory: immutable arrays, ready to search, and its texts on demand."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Self, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from causalviz.arrays import FloatMatrix, FloatVector, IndexVector
from causalviz.candidates import UNKNOWN, near_duplicates
from causalviz.errors import KnowledgeBaseError
from causalviz.guard import Usage, keyword_use
from causalviz.keywords import DOCUMENT_KEYWORDS
from causalviz.knowledge_base.store import Store
from causalviz.records import JsonObject, Keyword, Unit
from causalviz.tau import LEAST_TERMS, TauProposal, draw_pairs, propose_tau

_KINDS = {"raw": False, "centred": True}


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitTable:
    """What is ranked: all documents, or all chunks, of a knowledge base. N rows in id order."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    text_hashes: tuple[str, ...]
    """Equal for equal texts."""
    vectors: FloatMatrix
    """(N, dim), rows of norm 1; a document's is the normalised mean of its chunks'."""
    counts: csr_matrix
    """(N, V), occurrences of each word of the vocabulary."""
    keyword_terms: NDArray[np.int32]
    """(N, 15), indices into the vocabulary by weight descending; -1 pads."""
    keyword_weights: FloatMatrix
    """(N, 15), lambda; 0 pads."""

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row of each id."""
        return {id_: row for row, id_ in enumerate(self.ids)}

    @cached_property
    def tokens(self) -> IndexVector:
        """(N,), content words of each unit."""
        total: IndexVector = np.add.reduceat(
            np.append(self.counts.data, 0), self.counts.indptr[:-1], dtype=np.int64
        )
        total[np.diff(self.counts.indptr) == 0] = 0
        return total

    @cached_property
    def _postings(self) -> csc_matrix:
        return self.counts.tocsc()

    def occurrences(self, words: Iterable[int]) -> IndexVector:
        """Count in every unit how often any of some words, given by their places in the vocabulary, occurs: (N,)."""
        found = np.zeros(len(self.ids), np.int64)
        postings = self._postings
        for word in words:
            part = slice(postings.indptr[word], postings.indptr[word + 1])
            found[postings.indices[part]] += postings.data[part]
        return found

    def to_parts(self, prefix: str) -> Iterator[tuple[str, bytes | memoryview]]:
        """Serialise for Store.write_snapshot, part by part; what is large is not copied."""
        yield f"{prefix}.ids", _dump(self.ids)
        yield f"{prefix}.titles", _dump(self.titles)
        yield f"{prefix}.text_hashes", _dump(self.text_hashes)
        yield f"{prefix}.vectors", self.vectors.data
        yield f"{prefix}.indptr", self.counts.indptr.astype(np.int32).data
        yield f"{prefix}.indices", self.counts.indices.astype(np.int32, copy=False).data
        yield f"{prefix}.occurrences", self.counts.data.astype(np.int32, copy=False).data
        yield f"{prefix}.keyword_terms", self.keyword_terms.data
        yield f"{prefix}.keyword_weights", self.keyword_weights.data

    @classmethod
    def from_parts(cls, parts: dict[str, bytes], prefix: str, vocabulary: int, dim: int) -> Self:
        """Read what to_parts wrote."""

        def integers(name: str) -> NDArray[np.int32]:
            return np.frombuffer(parts[f"{prefix}.{name}"], np.int32)

        ids = tuple(json.loads(parts[f"{prefix}.ids"]))
        counts = csr_matrix(
            (integers("occurrences"), integers("indices"), integers("indptr")),
            shape=(len(ids), vocabulary),
        )
        return cls(
            ids=ids,
            titles=tuple(json.loads(parts[f"{prefix}.titles"])),
            text_hashes=tuple(json.loads(parts[f"{prefix}.text_hashes"])),
            vectors=np.frombuffer(parts[f"{prefix}.vectors"], np.float32).reshape(len(ids), dim),
            counts=counts,
            keyword_terms=integers("keyword_terms").reshape(-1, DOCUMENT_KEYWORDS),
            keyword_weights=np.frombuffer(parts[f"{prefix}.keyword_weights"], np.float32).reshape(
                -1, DOCUMENT_KEYWORDS
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class KnowledgeBase:
    """Documents with their vectors, words and keywords. V words, T of them keywords with a vector."""

    name: str
    path: Path
    encoder: str
    fingerprint: str
    """Hash of the encoder and of every document's id and content."""
    documents: UnitTable
    chunks: UnitTable
    vocabulary: tuple[str, ...]
    """Every content word of the documents, sorted."""
    idf: NDArray[np.float64]
    """(V,)"""
    term_rows: NDArray[np.int32]
    """(V,), row in term_vectors of each word; -1 for words that are nobody's keyword."""
    term_vectors: FloatMatrix
    """(T, dim), rows of norm 1."""
    random_pairs: Mapping[bool, FloatVector]
    """Ascending cosines of random pairs of distinct keywords, raw (False) and centred (True)."""
    tau_proposals: Mapping[bool, TauProposal | None]
    """tau read off them, raw and centred; None where the keywords are too few."""
    near_duplicates: IndexVector
    """(N,), row of the first document before each that has nearly the same words; -1 where there is none."""

    def units(self, unit: Unit) -> UnitTable:
        """Choose the table that is ranked."""
        return self.documents if unit == "document" else self.chunks

    @cached_property
    def word_index(self) -> dict[str, int]:
        """Position of each word in the vocabulary."""
        return {word: i for i, word in enumerate(self.vocabulary)}

    @cached_property
    def mean_term_vector(self) -> FloatVector:
        """Mean of all keyword vectors, what centring subtracts."""
        return mean_vector(self.term_vectors)

    def usage(self, keywords: Sequence[Keyword], unit: Unit) -> Usage:
        """Count a question's keywords in every document, or in every chunk."""
        known = [keyword for keyword in keywords if keyword.term in self.word_index]
        words = [self.word_index[keyword.term] for keyword in known]
        total = sum(keyword.weight for keyword in keywords)
        table = self.units(unit)
        repeats, tokens = table.occurrences(words), table.tokens
        if unit == "document" and len(self.chunks.ids) > len(self.documents.ids):
            repeats, tokens = _densest(self.chunks.occurrences(words), self.chunks.tokens, self._first_chunks)
        return Usage(
            words=np.array(words, np.int64),
            use=keyword_use(
                [table.occurrences([word]) for word in words],
                [keyword.weight / total for keyword in known],
                len(table.ids),
            ),
            repeats=repeats,
            tokens=tokens,
        )

    @cached_property
    def _first_chunks(self) -> IndexVector:
        """(N,) row of each document's first chunk; its others follow."""
        owners = [self.documents.rows[id_.rpartition("#")[0]] for id_ in self.chunks.ids]
        starts: IndexVector = np.searchsorted(owners, np.arange(len(self.documents.ids)))
        return starts

    def word_weights(self, unit: Unit) -> csr_matrix:
        """Weigh every word of the documents, or of the chunks: (N, V), (1 + ln tf) idf."""
        weights = self.units(unit).counts.astype(np.float32)
        weights.data = (1 + np.log(weights.data)) * self.idf[weights.indices].astype(np.float32)
        return weights

    def texts(self, unit_ids: Sequence[str], unit: Unit) -> dict[str, str]:
        """Texts of documents or of chunks, exactly as indexed, by id.

        Raises:
            KnowledgeBaseError: the knowledge base was indexed again in the meantime.
            KeyError: an id is not in it.
        """
        places = {id_: id_.rpartition("#")[::2] if unit == "chunk" else (id_, "") for id_ in unit_ids}
        found = {}
        with Store.open(self.path) as store:
            if store.fingerprint() != self.fingerprint:
                raise KnowledgeBaseError(
                    "the knowledge base was indexed again since the question was asked, so its texts may have changed; "
                    "ask the question anew."
                )
            documents = store.documents({owner for owner, _ in places.values()})
            for id_, (owner, number) in places.items():
                text = documents[owner].text
                if number:
                    chunk = store.chunk_ranges(owner)[int(number)]
                    text = text[chunk.start : chunk.end]
                found[id_] = text
        return found

    def to_parts(self) -> Iterator[tuple[str, bytes | memoryview]]:
        """Serialise for Store.write_snapshot, part by part; what is large is not copied."""
        proposals = {kind: _proposal_to_json(self.tau_proposals[centred]) for kind, centred in _KINDS.items()}
        yield "fingerprint", self.fingerprint.encode()
        yield "vocabulary", _dump(self.vocabulary)
        yield "idf", self.idf.data
        yield "term_rows", self.term_rows.data
        yield "term_vectors", self.term_vectors.data
        yield "random_pairs.raw", self.random_pairs[False].data
        yield "random_pairs.centred", self.random_pairs[True].data
        yield "tau", json.dumps(proposals).encode()
        yield "near_duplicates", self.near_duplicates.data
        yield "dim", str(self.term_vectors.shape[1]).encode()
        yield from self.documents.to_parts("documents")
        yield from self.chunks.to_parts("chunks")

    @classmethod
    def from_parts(cls, parts: dict[str, bytes], store: Store, name: str) -> Self:
        """Read what to_parts wrote.

        Raises:
            KnowledgeBaseError: the snapshot is damaged.
        """
        try:
            dim, vocabulary = int(parts["dim"]), tuple(json.loads(parts["vocabulary"]))
            documents = UnitTable.from_parts(parts, "documents", len(vocabulary), dim)
            term_vectors = np.frombuffer(parts["term_vectors"], np.float32).reshape(-1, dim)
            derived = _derived(parts) if "tau" in parts else derive(documents, term_vectors)
            return cls(
                name=name,
                path=store.path,
                encoder=store.encoder,
                fingerprint=parts["fingerprint"].decode(),
                documents=documents,
                chunks=UnitTable.from_parts(parts, "chunks", len(vocabulary), dim),
                vocabulary=vocabulary,
                idf=np.frombuffer(parts["idf"], np.float64),
                term_rows=np.frombuffer(parts["term_rows"], np.int32),
                term_vectors=term_vectors,
                **derived,
            )
        except (KeyError, ValueError) as error:
            raise KnowledgeBaseError(
                f"the knowledge base '{store.path}' is damaged ({error}); delete it and index the documents again."
            ) from error


def _densest(
    repeats: IndexVector, tokens: IndexVector, starts: IndexVector
) -> tuple[IndexVector, IndexVector]:
    """Pick of each document the passage with the largest share of repeats; of equal ones the first.

    Args:
        repeats: (passages,)
        tokens: (passages,)
        starts: (documents,) the first passage of each; its others follow.
    """
    share = repeats / np.maximum(tokens, 1)
    owner = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(share))))
    order = np.lexsort((np.arange(len(share)), -share, owner))
    best = order[starts]
    return repeats[best], tokens[best]


class Derived(TypedDict):
    """What a knowledge base keeps that follows from the rest of it."""

    random_pairs: Mapping[bool, FloatVector]
    tau_proposals: Mapping[bool, TauProposal | None]
    near_duplicates: IndexVector


def derive(
    documents: UnitTable, term_vectors: FloatMatrix, near: Mapping[tuple[str, str], str | None] | None = None
) -> Derived:
    """Compute it; snapshots of an earlier release lack it.

    Args:
        documents: All of them.
        term_vectors: (T, dim), of all keywords.
        near: What an earlier snapshot knew: by id and hash of the text, the id of the first near duplicate before it.
            A document that is not in it, or whose near duplicate is not, is compared with all others.
    """
    pairs = draw_pairs(term_vectors, mean_vector(term_vectors))
    return Derived(
        random_pairs=pairs,
        tau_proposals={kind: propose_tau(pairs[kind], len(term_vectors)) for kind in _KINDS.values()},
        near_duplicates=near_duplicates(documents.counts, _known_rows(documents, near or {})),
    )


def _known_rows(documents: UnitTable, near: Mapping[tuple[str, str], str | None]) -> IndexVector:
    unchanged = {
        key[0]: row
        for row, key in enumerate(zip(documents.ids, documents.text_hashes, strict=True))
        if key in near
    }
    earlier = {id_: twin for (id_, _), twin in near.items()}
    rows = np.full(len(documents.ids), UNKNOWN, np.int64)
    for id_, row in unchanged.items():
        twin = earlier[id_]
        rows[row] = -1 if twin is None else unchanged.get(twin, UNKNOWN)
    return rows


def _derived(parts: dict[str, bytes]) -> Derived:
    proposals = json.loads(parts["tau"])
    return Derived(
        random_pairs={
            centred: np.frombuffer(parts[f"random_pairs.{kind}"], np.float32)
            for kind, centred in _KINDS.items()
        },
        tau_proposals={
            centred: TauProposal(**proposals[kind]) if "tau" in proposals[kind] else None
            for kind, centred in _KINDS.items()
        },
        near_duplicates=np.frombuffer(parts["near_duplicates"], np.int64),
    )


def _proposal_to_json(proposal: TauProposal | None) -> JsonObject:
    return {"none": f"under {LEAST_TERMS} keywords"} if proposal is None else asdict(proposal)


def mean_vector(vectors: FloatMatrix) -> FloatVector:
    """Mean of rows, summed in double precision; zero where there is none."""
    if not len(vectors):
        return np.zeros(vectors.shape[1], np.float32)
    mean: FloatVector = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean


def fingerprint(encoder: str, hashes: dict[str, str]) -> str:
    """Identify a knowledge base by its encoder and its documents' contents."""
    content = json.dumps([encoder, sorted(hashes.items())], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _dump(strings: tuple[str, ...]) -> bytes:
    return json.dumps(strings, ensure_ascii=False).encode()
