"""`evaluate COLLECTION`: the paper's Table 3."""

import argparse
from collections.abc import Mapping

from causalviz.backends.bm25 import Bm25Index
from causalviz.bootstrap import collection_pipeline, make_encoder
from causalviz.candidates import check_limits
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.evaluate import Evaluation, draw_queries, evaluate, reranked, verdict
from causalviz.evaluation.measures import DEPTH, MEASURES, RESAMPLES, Qrels
from causalviz.partition import check_tau
from causalviz.pipeline import Pipeline, SearchSettings, normalise_query
from causalviz.rank import check_alpha
from causalviz.records import JsonObject, RankSettings
from causalviz.settings import Settings

_THETA = -1.0
"""No threshold: a document may be relevant however dissimilar it is."""


def run(options: argparse.Namespace) -> None:
    """Evaluate a collection and print the table."""
    settings = Settings.of()
    encoder = make_encoder(options.encoder or settings.encoder)
    tau = encoder.default_tau(centred=options.centred) if options.tau is None else options.tau
    # Indexing may take minutes: what is wrong with the settings is said before.
    check_limits(options.top_k, _THETA)
    check_tau(tau)
    check_alpha(options.alpha)
    collection = read_collection(options.collection)
    queries = draw_queries(collection.queries, options.sample, options.seed)
    chosen = RankSettings(tau=tau, alpha=options.alpha)
    with progress_bar() as progress:
        pipeline = collection_pipeline(collection, options.collection, encoder, settings, progress)
    methods = list(dict.fromkeys(options.methods))
    rankings = _rankings(pipeline, queries, methods, options, chosen)
    if "bm25" in methods:
        rankings["bm25"] = _bm25(pipeline, collection, queries)
    qrels = {id_: collection.qrels[id_] for id_ in queries}
    evaluation = evaluate(rankings, qrels, options.seed, methods)
    if options.json:
        found = evaluation_to_json(evaluation, per_query=options.per_query)
        print_json(
            {"collection": collection.name, "queries": len(queries), "encoder": encoder.name, "tau": tau}
            | found
        )
    else:
        how = f"encoder {encoder.name}, tau {tau:g}{', centred' if options.centred else ''}, alpha {options.alpha:g}"
        asked = (
            f"{len(queries)} of {len(collection.queries)} judged queries, {len(collection.documents)} documents; the "
            f"{options.top_k} most similar are re-ranked; {how}; seed {options.seed}."
        )
        missing = len(collection.documents) - len(pipeline.base.documents.ids)
        _print(collection.name, evaluation, [asked, *_remarks(qrels, missing), verdict(evaluation)])


def _rankings(
    pipeline: Pipeline,
    queries: Mapping[str, str],
    methods: list[str],
    options: argparse.Namespace,
    settings: RankSettings,
) -> dict[str, dict[str, list[str]]]:
    """Ask every query once and reorder its candidates by every method; similarity is what they are compared with."""
    search = SearchSettings(top_k=max(options.top_k, DEPTH), theta=_THETA, centred=options.centred)
    rankings: dict[str, dict[str, list[str]]] = {
        name: {} for name in ("similarity", *methods) if name != "bm25"
    }
    with progress_bar() as progress:
        for done, (id_, query) in enumerate(queries.items()):
            progress(done, len(queries), query)
            trace = pipeline.ask(query, search, settings)
            for name, ranking in rankings.items():
                ranking[id_] = reranked(trace, name, settings, options.top_k)
    return rankings


def _bm25(pipeline: Pipeline, collection: Collection, queries: Mapping[str, str]) -> dict[str, list[str]]:
    def words(text: str) -> list[str]:
        return [token.term for token in pipeline.tokens(text)]

    index = Bm25Index([d.id for d in collection.documents], [words(d.text) for d in collection.documents])
    return {id_: index.rank(words(normalise_query(query)), DEPTH) for id_, query in queries.items()}


def evaluation_to_json(evaluation: Evaluation, *, per_query: bool) -> JsonObject:
    """The measured part of the stable JSON of `evaluate --json`."""
    found: JsonObject = {
        "methods": {name: dict(values) for name, values in evaluation.means.items()},
        "difference": {
            name: {"mean": d.mean, "low": d.low, "high": d.high} for name, d in evaluation.difference.items()
        },
    }
    if per_query:
        ids = next(iter(evaluation.scores.values()))
        found["per_query"] = {
            id_: {name: dict(scores[id_]) for name, scores in evaluation.scores.items()} for id_ in ids
        }
    return found


def _remarks(qrels: Qrels, missing: int) -> list[str]:
    remarks = [
        f"Interval: 95 %, paired bootstrap over the queries, {RESAMPLES:,} resamples. bm25 ranks the whole collection.",
        "Cross-encoder: not computed (none is configured).",
    ]
    if missing:
        remarks.append(f"Documents without text, which no method finds: {missing}.")
    unanswered = sum(all(grade <= 0 for grade in grades.values()) for grades in qrels.values())
    if unanswered:
        remarks.append(f"Queries without a relevant document, which score 0 by every method: {unanswered}.")
    return remarks


def _print(collection: str, evaluation: Evaluation, notes: list[str]) -> None:
    rows = []
    for name, values in evaluation.means.items():
        difference = evaluation.difference.get(name)
        compared = ["-", "-"]
        if difference:
            compared = [f"{difference.mean:+.3f}", f"{difference.low:+.3f} to {difference.high:+.3f}"]
        rows.append([name, *(f"{values[measure]:.3f}" for measure in MEASURES), *compared])
    columns = {"method": "left"} | dict.fromkeys(
        ["nDCG@10", "P@5", "MRR@10", "nDCG@10 against similarity", "interval"], "right"
    )
    print_table(f"How good each method's ranking of {collection} is", columns, rows, ["", *notes])
