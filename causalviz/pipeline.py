"""From a question to its trace: retrieve candidates, look up their keywords, note the few numbers a rank is made of."""

import math
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_matrix

from causalviz.arrays import FloatMatrix, FloatVector, IndexVector
from causalviz.candidates import check_limits, cosines, near_duplicates, nearest, nearest_texts
from causalviz.errors import KnowledgeBaseError, ParameterError
from causalviz.guard import Usage, suspicion
from causalviz.keywords import QUERY_KEYWORDS, Token, Tokenizer, inverse_document_frequency, top_weights
from causalviz.knowledge_base import Conditions, KnowledgeBase, UnitTable
from causalviz.partition import check_tau, nearest_query_keyword
from causalviz.protocols import Encoder, MakeIndex, Progress, Reranker, VectorIndex
from causalviz.rank import check_alpha, min_max
from causalviz.records import Candidate, DefaultTau, Keyword, RankSettings, Trace, Unit
from causalviz.tau import TauProposal, centre, default_tau

SAMPLE = 201
"""Values of the density distribution a trace keeps."""
_NAMED = 3
"""Copies named in a warning."""
LONGEST_QUESTION = 20_000
"""Characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """What decides the candidate set S1 (equation 2)."""

    top_k: int = 20
    theta: float = 0.0
    unit: Unit = "document"
    centred: bool = False
    """Subtract the mean keyword vector from keyword vectors before comparing them (METHOD.md, section 4)."""
    copies_last: bool = False
    """Let copies of a text come in only where other texts leave room, so that they fill no ranking."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pipeline:
    """A knowledge base with what is needed to ask it. Immutable; shared between threads and sessions."""

    base: KnowledgeBase
    encoder: Encoder
    tokenizer: Tokenizer
    make_index: MakeIndex
    _indexes: dict[Unit, VectorIndex] = field(default_factory=dict)
    _words: dict[Unit, csr_matrix] = field(default_factory=dict)

    def ask(self, query: str, search: SearchSettings, settings: RankSettings) -> Trace:
        """Retrieve the candidates of a question and record what ranks them.

        Raises:
            ParameterError: the question is empty, or a setting is out of range.
            KnowledgeBaseError: the knowledge base holds no document.
        """
        check_limits(search.top_k, search.theta)
        run = self._start(query, search, settings)
        table = self.base.units(search.unit)
        index, k, theta = self._index(search.unit), search.top_k, search.theta
        if not search.copies_last:
            return self._trace(run, *nearest(index, table.vectors, run.vector, k, theta))
        rows, similarity, left_out = nearest_texts(
            index, table.vectors, table.text_hashes, run.vector, k, theta
        )
        trace = self._trace(run, rows, similarity)
        return replace(trace, warnings=(*trace.warnings, *_said_of_copies(table, rows, left_out)))

    def ask_among(
        self, query: str, unit_ids: Sequence[str], search: SearchSettings, settings: RankSettings
    ) -> Trace:
        """Record what ranks a given candidate set, whatever its similarity; top_k and theta play no part.

        Raises:
            ParameterError: as for ask, or an id is not in the knowledge base.
        """
        run = self._start(query, search, settings)
        table = self.base.units(search.unit)
        rows = np.array(sorted(self._row(id_, search.unit) for id_ in unit_ids), np.int64)
        similarity = cosines(table.vectors[rows], run.vector)
        best = np.lexsort((rows, -similarity))
        return self._trace(run, rows[best], similarity[best])

    def similarity_rank(self, query: str, unit_id: str, unit: Unit) -> int:
        """Rank one document by similarity among all of the knowledge base, from 1; ties as for candidates.

        Raises:
            ParameterError: the question is empty, or the id is not in the knowledge base.
        """
        row = self._row(unit_id, unit)
        vector = self.encoder.encode_queries([normalise_query(query)])[0]
        similarity = cosines(self.base.units(unit).vectors, vector)
        ahead = similarity > similarity[row]
        ahead[:row] |= similarity[:row] == similarity[row]
        return int(ahead.sum()) + 1

    def copy_among(self, unit_id: str, others: Sequence[str], unit: Unit) -> str | None:
        """Return the first of other units with the very same text as one.

        Raises:
            ParameterError: an id is not in the knowledge base.
        """
        texts = self.base.units(unit).text_hashes
        text = texts[self._row(unit_id, unit)]
        return next((other for other in others if texts[self._row(other, unit)] == text), None)

    def _row(self, unit_id: str, unit: Unit) -> int:
        try:
            return self.base.units(unit).rows[unit_id]
        except KeyError as error:
            raise ParameterError(
                f"the knowledge base holds no {unit} '{unit_id}'; check the id, which is the path below its folder."
            ) from error

    def tokens(self, text: str) -> list[Token]:
        """Content words of an indexed text, to mark keywords in it."""
        return self.tokenizer.tokens(text)

    @property
    def random_pairs(self) -> Mapping[bool, FloatVector]:
        """Ascending cosines of random pairs of distinct keywords, raw (False) and centred (True)."""
        return self.base.random_pairs

    def propose_tau(self, *, centred: bool) -> TauProposal | None:
        """Return what was read off this knowledge base's random keyword pairs; None where it has too few keywords."""
        return self.base.tau_proposals[centred]

    def default_tau(self, *, centred: bool) -> DefaultTau:
        """Return the threshold to use where none is given: the encoder's, else this knowledge base's."""
        return default_tau(self.encoder.default_tau(centred=centred), self.propose_tau(centred=centred))

    def _index(self, unit: Unit) -> VectorIndex:
        if unit not in self._indexes:
            self._indexes[unit] = self.make_index(self.base.units(unit).vectors)
        return self._indexes[unit]

    def _start(self, query: str, search: SearchSettings, settings: RankSettings) -> "_Run":
        check_tau(settings.tau)
        check_alpha(settings.alpha)
        if not self.base.documents.ids:
            raise KnowledgeBaseError(
                "this knowledge base holds no documents; add some that can be read, then ask again."
            )
        start = time.perf_counter()
        question = normalise_query(query)
        keywords = self._query_keywords(question)
        vector, term_vectors = self._encode(question, [keyword.term for keyword in keywords])
        return _Run(
            query=question,
            keywords=keywords,
            vector=vector,
            keyword_vectors=self._place(term_vectors, centred=search.centred),
            search=search,
            settings=settings,
            start=start,
            encoded=time.perf_counter(),
        )

    def _query_keywords(self, question: str) -> tuple[Keyword, ...]:
        counts = Counter(token.term for token in self.tokenizer.tokens(question))
        terms = sorted(counts)
        unseen = float(inverse_document_frequency(np.zeros(1, np.int64), len(self.base.documents.ids))[0])
        known = self.base.word_index
        idf = np.array([self.base.idf[known[term]] if term in known else unseen for term in terms])
        best, weights = top_weights(np.array([counts[term] for term in terms], np.int64), idf, QUERY_KEYWORDS)
        return tuple(Keyword(term=terms[i], weight=float(w)) for i, w in zip(best, weights, strict=True))

    def _encode(self, question: str, terms: Sequence[str]) -> tuple[FloatVector, FloatMatrix]:
        """Encode the question and those of its keywords the knowledge base has no vector of, in one call."""
        rows = [
            self.base.term_rows[self.base.word_index[t]] if t in self.base.word_index else -1 for t in terms
        ]
        new = [term for term, row in zip(terms, rows, strict=True) if row < 0]
        encoded = self.encoder.encode_queries([question, *new])
        fresh = iter(encoded[1:])
        vectors = [self.base.term_vectors[row] if row >= 0 else next(fresh) for row in rows]
        return encoded[0], np.array(vectors, np.float32).reshape(len(terms), self.encoder.dim)

    def _place(self, vectors: FloatMatrix, *, centred: bool) -> FloatMatrix:
        """Return keyword vectors as they are compared: raw, or centred and renormalised."""
        return centre(vectors, self.base.mean_term_vector) if centred else vectors

    def _trace(self, run: "_Run", rows: IndexVector, similarity: FloatVector) -> Trace:
        retrieved = time.perf_counter()
        search = run.search
        table = self.base.units(search.unit)
        usage = self.base.usage(run.keywords, search.unit)
        candidates = self._candidates(run, table, rows, similarity, usage)
        warnings = []
        if not run.keywords:
            warnings.append(
                "The question holds only function words or symbols, so no keyword is set aside and B is the whole "
                "document."
            )
        if not candidates:
            warnings.append(
                f"No {search.unit} reaches the similarity threshold theta = {search.theta:g}; lower it to see "
                "candidates."
            )
        end = time.perf_counter()
        return Trace(
            query=run.query,
            query_keywords=run.keywords,
            candidates=candidates,
            encoder=self.base.encoder,
            centred=search.centred,
            unit=search.unit,
            top_k=search.top_k,
            theta=search.theta,
            settings=run.settings,
            knowledge_base=self.base.name,
            fingerprint=self.base.fingerprint,
            documents=len(table.ids),
            random_pairs=self.random_pairs[search.centred],
            seconds={
                "encode": run.encoded - run.start,
                "retrieve": retrieved - run.encoded,
                "score": end - retrieved,
                "total": end - run.start,
            },
            default_tau=self.default_tau(centred=search.centred),
            densities=_even_sample(np.sort(usage.densities).astype(np.float32)),
            density_limit=usage.limit,
            warnings=tuple(warnings),
        )

    def _word_weights(self, unit: Unit) -> csr_matrix:
        if unit not in self._words:
            self._words[unit] = self.base.word_weights(unit)
        return self._words[unit]

    def _candidates(
        self, run: "_Run", table: UnitTable, rows: IndexVector, similarity: FloatVector, usage: Usage
    ) -> tuple[Candidate, ...]:
        base, query_terms = self.base, {keyword.term for keyword in run.keywords}
        words = table.keyword_terms[rows]
        n, k = words.shape
        # All keywords of all candidates in one product each; padding is zero rows, cut off below.
        there = words.ravel() >= 0
        vectors = np.zeros((n * k, self.encoder.dim))
        vectors[there] = self._place(
            base.term_vectors[base.term_rows[words.ravel()[there]]], centred=run.search.centred
        )
        relevance = (vectors @ run.vector.astype(np.float64)).astype(np.float32).reshape(n, k)
        nearest_cosines, matches = nearest_query_keyword(vectors, run.keyword_vectors)
        blocks = vectors.reshape(n, k, self.encoder.dim)
        gram = (blocks @ blocks.transpose(0, 2, 1)).astype(np.float32)
        first_with: dict[str, str] = {}
        twins = near_duplicates(table.counts[rows])
        found = suspicion(
            usage, self._word_weights(run.search.unit), rows, min_max(similarity.astype(np.float64))
        )
        candidates = []
        for i, row in enumerate(rows):
            size = int((words[i] >= 0).sum())
            part = slice(i * k, i * k + size)
            terms = tuple(base.vocabulary[word] for word in words[i, :size])
            id_ = table.ids[row]
            earlier = first_with.setdefault(table.text_hashes[row], id_)
            candidates.append(
                Candidate(
                    id=id_,
                    title=table.titles[row],
                    similarity=float(similarity[i]),
                    terms=terms,
                    weights=table.keyword_weights[row, :size],
                    cosines=nearest_cosines[part],
                    matches=matches[part],
                    exact=np.array([term in query_terms for term in terms], bool),
                    relevance=relevance[i, :size],
                    gram=gram[i, :size, :size],
                    repeats=int(usage.repeats[row]),
                    tokens=int(usage.tokens[row]),
                    duplicate_of=earlier if earlier != id_ else None,
                    near_duplicate_of=table.ids[rows[twins[i]]] if twins[i] >= 0 and earlier == id_ else None,
                    suspect=bool(found.suspect[i]),
                    use=_number(found.use[i]),
                    topic=_number(found.topic[i]),
                )
            )
        return tuple(candidates)


def _said_of_copies(table: UnitTable, rows: IndexVector, left_out: IndexVector) -> list[str]:
    """Say which copies gave their places to other texts, if any did."""
    if not len(left_out):
        return []
    first = {table.text_hashes[row]: table.ids[row] for row in rows[::-1]}
    named = [f"{table.ids[row]} (as {first[table.text_hashes[row]]})" for row in left_out[:_NAMED]]
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    are = (
        "copy of a candidate's text gives its place"
        if len(left_out) == 1
        else "copies of candidates' texts give their places"
    )
    return [f"{len(left_out)} {are} to other texts: {', '.join(named)}{more}."]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Run:
    """One question on its way to a trace."""

    query: str
    keywords: tuple[Keyword, ...]
    vector: FloatVector
    keyword_vectors: FloatMatrix
    search: SearchSettings
    settings: RankSettings
    start: float
    encoded: float


def conditions(search: SearchSettings, settings: RankSettings) -> Conditions:
    """Return what a calibration must have been measured with to be obeyed."""
    return Conditions(
        tau=settings.tau,
        alpha=settings.alpha,
        centred=search.centred,
        top_k=search.top_k,
        unit=search.unit,
        mode=settings.mode,
        empty_b=settings.empty_b,
    )


def with_reranker(trace: Trace, reranker: Reranker, texts: Mapping[str, str], progress: Progress) -> Trace:
    """Add a cross-encoder's scores to a trace, beside everything else in it.

    Args:
        trace: What was asked; scores of another cross-encoder are replaced.
        reranker: Reads the question and each candidate's text together.
        texts: By candidate id, as indexed.
        progress: Told of the characters read.

    Raises:
        BackendError: the model failed.
    """
    start = time.perf_counter()
    scores = reranker.score(trace.query, [texts[c.id] for c in trace.candidates], progress)
    took = time.perf_counter() - start
    seconds = {name: value for name, value in trace.seconds.items() if name != "rerank"}
    return replace(
        trace,
        candidates=tuple(
            replace(candidate, cross_encoder=_number(score))
            for candidate, score in zip(trace.candidates, scores, strict=True)
        ),
        reranker=reranker.name,
        seconds=seconds | {"rerank": took},
    )


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _even_sample(ascending: FloatVector) -> FloatVector:
    """At most SAMPLE values, evenly spaced in rank, the least and the greatest among them."""
    if len(ascending) <= SAMPLE:
        return ascending
    return ascending[np.linspace(0, len(ascending) - 1, SAMPLE).round().astype(np.int64)]


def normalise_query(query: str) -> str:
    """NFKC without control characters and lone surrogates, so that full-width and ASCII forms ask the same.

    Raises:
        ParameterError: nothing that can be seen is left, or the question is too long.
    """
    if len(query) > LONGEST_QUESTION:
        raise ParameterError(
            f"the question has {len(query):,} characters, but at most {LONGEST_QUESTION:,} are read; shorten it."
        )
    text = unicodedata.normalize("NFKC", query.encode("utf-8", "ignore").decode())
    text = "".join(c if unicodedata.category(c) != "Cc" else " " for c in text).strip()
    # Joiners and marks of direction (Cf) belong into a text, but are none.
    if all(c.isspace() or unicodedata.category(c) == "Cf" for c in text):
        raise ParameterError("the question is empty; type what you want to find out.")
    return text
