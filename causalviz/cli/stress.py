"""`stress COLLECTION`: what each method keeps when keyword-stuffed documents are injected into a test collection."""

import argparse
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from causalviz.backends.bm25 import Bm25Index
from causalviz.bootstrap import attacked_pipeline, collection_pipeline, make_encoder
from causalviz.candidates import check_limits
from causalviz.cli.rank import check_given_tau, tau_of
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.errors import ParameterError
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.evaluate import draw_queries, reranked
from causalviz.evaluation.measures import DEPTH, MEASURES, Rankings
from causalviz.evaluation.stress import (
    Attack,
    Comparison,
    Design,
    compare,
    inject,
    related_words,
    styles_named,
)
from causalviz.evaluation.stuffing import Related
from causalviz.pipeline import Pipeline, SearchSettings, normalise_query
from causalviz.rank import check_alpha
from causalviz.records import Document, JsonObject, RankSettings, Trace
from causalviz.settings import Settings

_THETA = -1.0
"""No threshold: a document may be relevant however dissimilar it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Setup:
    """How every query is asked and ranked, on both collections."""

    methods: tuple[str, ...]
    top_k: int
    centred: bool
    settings: RankSettings

    @property
    def search(self) -> SearchSettings:
        return SearchSettings(top_k=max(self.top_k, DEPTH), theta=_THETA, centred=self.centred)


def run(options: argparse.Namespace) -> None:
    """Attack a collection, evaluate it clean and attacked, and print both side by side."""
    settings = Settings.of()
    encoder = make_encoder(options.encoder or settings.encoder)
    # Indexing may take minutes: what is wrong with the settings is said before.
    check_limits(options.top_k, _THETA)
    check_given_tau(options)
    check_alpha(options.alpha)
    design = Design(styles=styles_named(options.style), per_query=options.per_query, seed=options.seed)
    if options.out:
        _check_empty(options.out)
    whole = read_collection(options.collection)
    queries = draw_queries(whole.queries, options.sample, options.seed)
    collection = replace(whole, queries=queries, qrels={id_: whole.qrels[id_] for id_ in queries})
    with progress_bar() as progress:
        clean = collection_pipeline(collection, options.collection, encoder, settings, progress)
    tau, remarks = tau_of(options, clean)
    setup = _Setup(
        methods=tuple(dict.fromkeys(options.methods)),
        top_k=options.top_k,
        centred=options.centred,
        settings=RankSettings(tau=tau, alpha=options.alpha),
    )
    traces = _ask(clean, queries, setup)
    attack = _attack(clean, collection, traces, design, setup.top_k)
    with progress_bar() as progress:
        key = json.dumps([design.styles, design.per_query, design.seed, options.sample, setup.top_k])
        attacked = attacked_pipeline(clean, attack.collection, key, settings, progress)
    attacked_traces = _ask(attacked, queries, setup)
    before, after = _rankings(traces, setup), _rankings(attacked_traces, setup)
    if "bm25" in setup.methods:
        before["bm25"], after["bm25"] = _bm25(clean, collection, attack.collection, setup)
    found = {
        name: compare(before[name], after[name], collection.qrels, attack, setup.top_k)
        for name in setup.methods
    }
    if options.out:
        write_collection(options.out, attack.collection)
    if options.json:
        about = {"collection": collection.name, "queries": len(queries)}
        about |= {"styles": list(design.styles), "per_query": design.per_query, "seed": design.seed}
        about |= {"encoder": encoder.name, "tau": tau}
        print_json(about | _to_json(found, options.collection))
        return
    how = f"tau {tau:g}{', centred' if setup.centred else ''}, alpha {options.alpha:g}; seed {design.seed}"
    notes = [
        f"{len(queries)} of {len(whole.queries)} judged queries, {len(collection.documents)} documents.",
        f"The {setup.top_k} most similar are re-ranked; encoder {encoder.name}, {how}.",
        *remarks,
        *_remarks(attack, attacked_traces, design, setup.top_k),
    ]
    if options.out:
        notes.append(f"The attacked collection is in {options.out}.")
    _print(collection.name, found, ["", *notes])


def _attack(
    pipeline: Pipeline, collection: Collection, traces: Mapping[str, Trace], design: Design, top_k: int
) -> Attack:
    keywords = {id_: [keyword.term for keyword in trace.query_keywords] for id_, trace in traces.items()}
    candidates = {id_: {c.id for c in trace.candidates[:top_k]} for id_, trace in traces.items()}
    related = _related(pipeline, keywords) if "synonyms" in design.styles else None
    return inject(collection, keywords, design, candidates, related)


def _ask(pipeline: Pipeline, queries: Mapping[str, str], setup: _Setup) -> dict[str, Trace]:
    traces = {}
    with progress_bar() as progress:
        for done, (id_, query) in enumerate(queries.items()):
            progress(done, len(queries), query)
            traces[id_] = pipeline.ask(query, setup.search, setup.settings)
    return traces


def _rankings(traces: Mapping[str, Trace], setup: _Setup) -> dict[str, Rankings]:
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in setup.methods if name != "bm25"}
    with progress_bar() as progress:
        for done, (id_, trace) in enumerate(traces.items()):
            progress(done, len(traces), trace.query)
            for name, ranking in rankings.items():
                ranking[id_] = reranked(trace, name, setup.settings, setup.top_k)
    return {**rankings}


def _bm25(
    pipeline: Pipeline, clean: Collection, attacked: Collection, setup: _Setup
) -> tuple[Rankings, Rankings]:
    """Rank both collections; what they share is split into words once."""
    texts = {document.id: document.text for document in attacked.documents}
    words: dict[str, list[str]] = {}
    with progress_bar() as progress:
        for done, (id_, text) in enumerate(texts.items()):
            progress(done, len(texts), id_)
            words[id_] = _words(pipeline, text)
    questions = {id_: _words(pipeline, normalise_query(query)) for id_, query in clean.queries.items()}

    def rankings(documents: Iterable[Document]) -> Rankings:
        ids = [document.id for document in documents]
        index = Bm25Index(ids, [words[id_] for id_ in ids])
        return {id_: index.rank(terms, setup.search.top_k) for id_, terms in questions.items()}

    return rankings(clean.documents), rankings(attacked.documents)


def _words(pipeline: Pipeline, text: str) -> list[str]:
    return [token.term for token in pipeline.tokens(text)]


def _related(pipeline: Pipeline, keywords: Mapping[str, Sequence[str]]) -> Related:
    """Find every keyword's nearest words among the collection's own keywords."""
    base = pipeline.base
    places = np.flatnonzero(base.term_rows >= 0)
    words = [base.vocabulary[i] for i in places]
    vectors = base.term_vectors[base.term_rows[places]]
    related: dict[str, tuple[str, ...]] = {}
    with progress_bar() as progress:
        for done, terms in enumerate(keywords.values()):
            progress(done, len(keywords), "related words")
            new = [term for term in terms if term not in related]
            if new:
                related |= related_words(new, pipeline.encoder.encode_queries(new), words, vectors)
    return related


def write_collection(folder: Path, collection: Collection) -> None:
    """Write a collection in BEIR layout; read_collection gives the same documents, queries and judgments.

    Raises:
        ParameterError: the folder cannot be written.
    """
    corpus = (_entry(document) for document in collection.documents)
    queries = ({"_id": id_, "text": text} for id_, text in collection.queries.items())
    judgments = (
        f"{query}\t{document}\t{grade}"
        for query, grades in collection.qrels.items()
        for document, grade in grades.items()
    )
    files = {
        folder / "corpus.jsonl": map(json.dumps, corpus),
        folder / "queries.jsonl": map(json.dumps, queries),
        folder / "qrels" / "test.tsv": ["query-id\tcorpus-id\tscore", *judgments],
    }
    try:
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        for path, lines in files.items():
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise ParameterError(
            f"'{folder}' cannot be written ({error.strerror}); choose another place for --out."
        ) from error


def _entry(document: Document) -> JsonObject:
    """Take title and text apart again, which reading joined."""
    title, text = document.title, document.text
    if text == title.strip():
        text = ""
    elif text.startswith(f"{title.lstrip()}\n\n"):
        text = text.removeprefix(f"{title.lstrip()}\n\n")
    else:
        title = ""
    return {"_id": document.id, "title": title, "text": text}


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(
            f"'{folder}' holds something already, but the attacked collection needs a folder of its own; name a new "
            "one with --out."
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_json(found: Mapping[str, Comparison], folder: Path) -> JsonObject:
    """The measured part of the stable JSON, and what it was measured on."""
    return {
        "methods": {
            name: {
                "clean": dict(one.clean),
                "attacked": dict(one.attacked),
                "kept": one.kept,
                "injected_rank": one.injected_rank,
            }
            for name, one in found.items()
        },
        "data": {
            "corpus": _sha256(folder / "corpus.jsonl"),
            "qrels": _sha256(folder / "qrels" / "test.tsv"),
        },
    }


def _remarks(attack: Attack, traces: Mapping[str, Trace], design: Design, top_k: int) -> list[str]:
    near = sum(
        candidate.id in attack.injected and attack.injected[candidate.id].query == id_
        for id_, trace in traces.items()
        for candidate in trace.candidates[:top_k]
    )
    made = f"{len(attack.injected)} stuffed documents, {design.per_query} a query"
    remarks = [
        f"Injected: {made}; {near} of them are among the {top_k} most similar to their query.",
        f"Styles, in turn: {', '.join(design.styles)}.",
        "Kept: attacked nDCG@10 as a share of clean.",
        f"Injected rank: mean rank of a query's injected documents among its first {top_k}; higher is better.",
    ]
    without = sum(not trace.query_keywords for trace in traces.values())
    if without:
        remarks.append(f"Queries without a keyword, for which nothing is injected: {without}.")
    return remarks


def _print(collection: str, found: Mapping[str, Comparison], notes: list[str]) -> None:
    rows = [
        [
            name,
            *(f"{one.clean[measure]:.3f} / {one.attacked[measure]:.3f}" for measure in MEASURES),
            "-" if one.kept is None else f"{100 * one.kept:.0f} %",
            "-" if one.injected_rank is None else f"{one.injected_rank:.2f}",
        ]
        for name, one in found.items()
    ]
    columns = {"method": "left"} | dict.fromkeys(
        ["nDCG@10", "P@5", "MRR@10", "kept", "injected rank"], "right"
    )
    print_table(f"Keyword stuffing injected into {collection}: clean / attacked", columns, rows, notes)
