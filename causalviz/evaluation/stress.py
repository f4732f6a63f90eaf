"""The stuffing benchmark: inject keyword-stuffed documents into a test collection, measure what each method keeps."""

import random
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from causalviz.arrays import FloatMatrix
from causalviz.errors import CollectionError, ParameterError
from causalviz.evaluation.collections import Collection
from causalviz.evaluation.measures import Qrels, Rankings, check_seed, means, measure
from causalviz.evaluation.stuffing import DEVELOPMENT, HELD_OUT, Related, stuff
from causalviz.records import Document

GROUPS: Mapping[str, tuple[str, ...]] = {"development": DEVELOPMENT, "held-out": HELD_OUT}
"""Names that stand for several styles."""
RELATED = 5
"""Related words of a keyword."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """What is injected."""

    styles: tuple[str, ...]
    """Taken in turn, document after document, so that all are injected equally often."""
    per_query: int = 2
    """Documents injected for each query."""
    seed: int = 0
    """Same seed, same documents; what a query gets does not depend on the other queries, but for the style."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.per_query < 1:
            raise ParameterError(
                f"per-query is {self.per_query}, but at least one document is injected for each query; choose 1 or "
                "more."
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Injection:
    """Where an injected document comes from."""

    query: str
    """Id of the query it is stuffed for."""
    style: str
    source: str
    """Id of the off-topic document under the stuffing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """A collection with stuffed documents among its own."""

    collection: Collection
    """Its own documents as they were, then the injected ones, which no judgment calls relevant."""
    injected: Mapping[str, Injection]
    """By document id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One method on the clean and on the attacked collection."""

    clean: Mapping[str, float]
    """Mean of every measure."""
    attacked: Mapping[str, float]
    kept: float | None
    """Attacked nDCG@10 as a share of clean nDCG@10; None where that is 0."""
    injected_rank: float | None
    """Mean rank of the documents injected for a query among its first, from 1; None where none is there."""


def styles_named(names: Sequence[str]) -> tuple[str, ...]:
    """Replace the names of groups by their styles; each style once, in the order it is first named."""
    return tuple(dict.fromkeys(style for name in names for style in GROUPS.get(name, (name,))))


def inject(
    collection: Collection,
    keywords: Mapping[str, Sequence[str]],
    design: Design,
    candidates: Mapping[str, AbstractSet[str]],
    related: Related | None = None,
) -> Attack:
    """Add stuffed documents for every query of a collection.

    Each is made from a whole document that is off-topic for its query: neither judged relevant nor among its
    candidates.

    Args:
        collection: All of its queries are attacked.
        keywords: By query id; a query without any gets no document.
        design: Styles, number and seed.
        candidates: Ids of documents near each query, by query id.
        related: Words near each keyword, for "synonyms".

    Raises:
        CollectionError: a query has fewer off-topic documents than are to be injected.
        ParameterError: there is no such style, or "synonyms" is asked for without related words.
    """
    prefix = "stuffed"
    while any(document.id.startswith(f"{prefix}/") for document in collection.documents):
        prefix = f"_{prefix}"
    documents, injected = [], {}
    attacked = [id_ for id_ in sorted(collection.queries) if keywords.get(id_)]
    for place, id_ in enumerate(attacked):
        # A seed of its own: the documents of a query stay the same whichever others are attacked.
        draw = random.Random(f"{design.seed}/{id_}")  # noqa: S311 - a reproducible draw, no secret
        for number, source in enumerate(_off_topic(collection, id_, candidates, design.per_query, draw)):
            style = design.styles[(place * design.per_query + number) % len(design.styles)]
            new = f"{prefix}/{style}/{id_}/{number}"
            query, seed = collection.queries[id_], draw.getrandbits(32)
            text = stuff(query, keywords[id_], source.text, style, seed, related=related)
            # Titled by its id, as a record without a title is: all that was stuffed is in the text.
            documents.append(Document(id=new, title=new, text=text, reader="record"))
            injected[new] = Injection(query=id_, style=style, source=source.id)
    return Attack(
        collection=replace(collection, documents=(*collection.documents, *documents)), injected=injected
    )


def _off_topic(
    collection: Collection,
    query: str,
    candidates: Mapping[str, AbstractSet[str]],
    count: int,
    draw: random.Random,
) -> list[Document]:
    near = candidates.get(query, frozenset()) | {
        id_ for id_, grade in collection.qrels[query].items() if grade > 0
    }
    pool = [
        document for document in collection.documents if document.id not in near and document.text.strip()
    ]
    if len(pool) < count:
        raise CollectionError(
            f"query '{query}' of '{collection.name}' leaves {len(pool)} off-topic documents to stuff, but {count} are "
            "to be injected; lower --per-query, or --top-k, whose candidates are not taken."
        )
    return draw.sample(pool, count)


def related_words(
    terms: Sequence[str],
    term_vectors: FloatMatrix,
    words: Sequence[str],
    vectors: FloatMatrix,
    count: int = RELATED,
) -> dict[str, tuple[str, ...]]:
    """Find the words nearest to each term by cosine, the term itself left out; ties in the order of ``words``.

    Args:
        terms: m terms.
        term_vectors: (m, dim), rows of norm 1.
        words: n words to choose from, all different.
        vectors: (n, dim), rows of norm 1.
        count: How many for each term, fewer where there are no more.
    """
    nearest = np.argsort(-(term_vectors @ vectors.T), axis=1, kind="stable")[:, : count + 1]
    return {
        term: tuple(words[j] for j in row if words[j] != term)[:count]
        for term, row in zip(terms, nearest.tolist(), strict=True)
    }


def compare(clean: Rankings, attacked: Rankings, qrels: Qrels, attack: Attack, top_k: int) -> Comparison:
    """Measure one method's rankings of the clean and of the attacked collection.

    Args:
        clean: Document ids, best first, by query id.
        attacked: The same with the injected documents among them.
        qrels: Of the queries to measure, at least one.
        attack: What was injected.
        top_k: Injected documents count as ranked among this many first.
    """
    before, after = means(measure(clean, qrels)), means(measure(attacked, qrels))
    ranks = list(_injected_ranks(attacked, attack, top_k))
    return Comparison(
        clean=before,
        attacked=after,
        kept=after["ndcg@10"] / before["ndcg@10"] if before["ndcg@10"] > 0 else None,
        injected_rank=fmean(ranks) if ranks else None,
    )


def _injected_ranks(rankings: Rankings, attack: Attack, top_k: int) -> Iterator[int]:
    for query, ranking in rankings.items():
        for rank, id_ in enumerate(ranking[:top_k], start=1):
            if id_ in attack.injected and attack.injected[id_].query == query:
                yield rank
