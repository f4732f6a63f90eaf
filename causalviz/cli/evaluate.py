"""`evaluate COLLECTION`: the paper's Table 3."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from statistics import median

from causalviz.backends.bm25 import Bm25Index, counted_words
from causalviz.bootstrap import collection_pipeline, make_encoder
from causalviz.candidates import check_limits
from causalviz.cli.rank import check_given_tau, crossed, reranker_of, tau_of
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.evaluation.collections import read_collection
from causalviz.evaluation.evaluate import (
    CROSS_ENCODER,
    METHODS,
    Answer,
    Evaluation,
    answer,
    draw_queries,
    evaluate,
    stratified,
    verdict,
)
from causalviz.evaluation.measures import DEPTH, MEASURES, RESAMPLES, Qrels
from causalviz.evaluation.results import AnswerFile, answer_all, answers_path
from causalviz.evaluation.statistics import STATISTICS, Strata, median_split, read_strata
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Reranker
from causalviz.rank import check_alpha, check_method
from causalviz.records import JsonObject, RankSettings
from causalviz.settings import Settings

THETA = -1.0
"""No threshold: a document may be relevant however dissimilar it is."""
_FILE = "file"
"""What strata of a file are called."""


def run(options: argparse.Namespace) -> None:
    """Evaluate a collection and print the table."""
    settings = Settings.of()
    encoder = make_encoder(options.encoder or settings.encoder)
    # Indexing may take minutes: what is wrong with the settings is said before.
    check_limits(options.top_k, THETA)
    check_given_tau(options)
    check_alpha(options.alpha)
    if CROSS_ENCODER in (options.methods or ()):
        check_method("cross-encoder", options.reranker or settings.reranker or None)
    reranker = reranker_of(options, settings)
    collection = read_collection(options.collection)
    queries = draw_queries(collection.queries, options.sample, options.seed)
    named = read_strata(options.strata_file, collection.queries) if options.strata_file else {}
    with progress_bar() as progress:
        pipeline = collection_pipeline(collection, options.collection, encoder, settings, progress)
    tau, remarks = tau_of(options, pipeline)
    chosen = RankSettings(tau=tau, alpha=options.alpha)
    search = SearchSettings(top_k=options.top_k, theta=THETA, centred=options.centred)
    kept = kept_answers(pipeline, search, chosen, settings, reranker)
    with progress_bar() as progress:
        answers = answer_all(queries, kept, asker(pipeline, search, chosen, reranker), progress)
    qrels = {id_: collection.qrels[id_] for id_ in queries}
    everything = (METHODS[0], CROSS_ENCODER, *METHODS[1:]) if reranker else METHODS
    methods = list(dict.fromkeys(options.methods or everything))
    rankings = {
        name: {id_: found.rankings[name] for id_, found in answers.items()}
        for name in dict.fromkeys(["similarity", *methods])
    }
    evaluation = evaluate(rankings, qrels, options.seed, methods)
    strata = {
        name: stratified(evaluation, split, options.seed)
        for name, split in _splits(answers, named, by_statistic=options.strata).items()
    }
    if options.json:
        found = evaluation_to_json(evaluation, per_query=options.per_query)
        if options.strata:
            found["statistics"] = _statistics_to_json(answers, per_query=options.per_query)
        if strata:
            found["strata"] = {
                name: {stratum: _stratum_to_json(one) for stratum, one in split.items()}
                for name, split in strata.items()
            }
        print_json(
            {"collection": collection.name, "queries": len(queries), "encoder": encoder.name, "tau": tau}
            | ({"reranker": reranker.name} if reranker else {})
            | found
        )
        return
    how = f"encoder {encoder.name}, tau {tau:g}{', centred' if options.centred else ''}, alpha {options.alpha:g}"
    asked = (
        f"{len(queries)} of {len(collection.queries)} judged queries, {len(collection.documents)} documents; the "
        f"{options.top_k} most similar are re-ranked; {how}; seed {options.seed}."
    )
    missing = len(collection.documents) - len(pipeline.base.documents.ids)
    named_reranker = reranker.name if reranker else "not computed (none is configured)"
    notes = [
        asked,
        *remarks,
        *_remarks(qrels, missing),
        f"Cross-encoder: {named_reranker}.",
        verdict(evaluation),
    ]
    _print(f"How good each method's ranking of {collection.name} is", evaluation, notes)
    for name, split in strata.items():
        _print_strata(name, split, answers, left_out=len(queries.keys() - named.keys()))


def kept_answers(
    pipeline: Pipeline,
    search: SearchSettings,
    chosen: RankSettings,
    settings: Settings,
    reranker: Reranker | None = None,
) -> AnswerFile:
    """Open what earlier runs under the same settings left in the cache."""
    path = answers_path(
        settings.cache,
        pipeline.base.fingerprint,
        chosen,
        centred=search.centred,
        top_k=search.top_k,
        reranker=reranker.name if reranker else None,
    )
    return AnswerFile(path)


def asker(
    pipeline: Pipeline, search: SearchSettings, chosen: RankSettings, reranker: Reranker | None = None
) -> Callable[[str], Answer]:
    """Return what asks a question once and ranks its candidates by every method."""
    base = pipeline.base
    deep = replace(search, top_k=max(search.top_k, DEPTH))

    @cache
    def bm25() -> Bm25Index:
        return Bm25Index(base.documents.ids, counted_words(base.documents.counts, base.vocabulary))

    def ask(query: str) -> Answer:
        trace = crossed(pipeline.ask(query, deep, chosen), pipeline, reranker)
        words = [token.term for token in pipeline.tokens(trace.query)]
        return answer(trace, chosen, search.top_k, bm25().rank(words, DEPTH))

    return ask


def _splits(
    answers: Mapping[str, Answer], named: Mapping[str, str], *, by_statistic: bool
) -> dict[str, Strata]:
    splits: dict[str, Strata] = {}
    if by_statistic:
        for name in STATISTICS:
            splits[name] = median_split({id_: found.statistics[name] for id_, found in answers.items()})
    if named:
        strata = sorted({named[id_] for id_ in answers if id_ in named})
        splits[_FILE] = {stratum: [id_ for id_ in answers if named.get(id_) == stratum] for stratum in strata}
    return splits


def evaluation_to_json(evaluation: Evaluation, *, per_query: bool) -> JsonObject:
    """The measured part of the stable JSON of `evaluate --json`."""
    found: JsonObject = {
        "methods": {name: dict(values) for name, values in evaluation.means.items()},
        "difference": _differences_to_json(evaluation),
    }
    if per_query:
        found["per_query"] = {
            id_: {name: dict(evaluation.scores[name][id_]) for name in evaluation.means}
            for id_ in next(iter(evaluation.scores.values()))
        }
    return found


def _differences_to_json(evaluation: Evaluation) -> JsonObject:
    return {
        name: {"mean": d.mean, "low": d.low, "high": d.high, "p": evaluation.p[name]}
        for name, d in evaluation.difference.items()
    }


def _statistics_to_json(answers: Mapping[str, Answer], *, per_query: bool) -> JsonObject:
    found: JsonObject = {"median": {name: _median(answers, name) for name in STATISTICS}}
    if per_query:
        found["per_query"] = {id_: dict(one.statistics) for id_, one in answers.items()}
    return found


def _median(answers: Mapping[str, Answer], statistic: str) -> float:
    return median(found.statistics[statistic] for found in answers.values())


def _stratum_to_json(stratum: Evaluation) -> JsonObject:
    return {
        "queries": _count(stratum),
        "methods": {name: values["ndcg@10"] for name, values in stratum.means.items()},
        "difference": _differences_to_json(stratum),
    }


def _count(evaluation: Evaluation) -> int:
    return len(next(iter(evaluation.scores.values())))


def _remarks(qrels: Qrels, missing: int) -> list[str]:
    remarks = [
        f"Interval: 95 %, paired bootstrap over the queries, {RESAMPLES:,} resamples.",
        f"p: two-sided paired randomisation test, {RESAMPLES:,} draws. bm25 ranks the whole collection.",
    ]
    if missing:
        remarks.append(f"Documents without text, which no method finds: {missing}.")
    unanswered = sum(all(grade <= 0 for grade in grades.values()) for grades in qrels.values())
    if unanswered:
        remarks.append(f"Queries without a relevant document, which score 0 by every method: {unanswered}.")
    return remarks


def _print(title: str, evaluation: Evaluation, notes: list[str]) -> None:
    rows = [
        [name, *(f"{values[measure]:.3f}" for measure in MEASURES), *_difference_cells(evaluation, name)]
        for name, values in evaluation.means.items()
    ]
    if list(evaluation.means) == list(METHODS):
        rows.insert(1, ["cross-encoder", "not computed", *["-"] * 5])
    columns = {"method": "left"} | dict.fromkeys(
        ["nDCG@10", "P@5", "MRR@10", "nDCG@10 against similarity", "interval", "p"], "right"
    )
    print_table(title, columns, rows, ["", *notes])


def _difference_cells(evaluation: Evaluation, method: str) -> list[str]:
    difference = evaluation.difference.get(method)
    if not difference:
        return ["-", "-", "-"]
    interval = f"{difference.low:+.3f} to {difference.high:+.3f}"
    return [f"{difference.mean:+.3f}", interval, f"{evaluation.p[method]:.4f}"]


def _print_strata(
    name: str, split: Mapping[str, Evaluation], answers: Mapping[str, Answer], left_out: int
) -> None:
    rows = [
        [stratum, str(_count(one)), method, f"{values['ndcg@10']:.3f}", *_difference_cells(one, method)]
        for stratum, one in split.items()
        for method, values in one.means.items()
    ]
    if name == _FILE:
        title, note = "By the strata of the file", f"Queries without a stratum, left out here: {left_out}."
    else:
        above = "above it" if len(split) > 1 else "none is above it"
        title, note = f"By {name}", f"low: up to the median, {_median(answers, name):.3f}; high: {above}."
    columns = {"stratum": "left", "queries": "right", "method": "left"} | dict.fromkeys(
        ["nDCG@10", "against similarity", "interval", "p"], "right"
    )
    print_table(f"\n{title}", columns, rows, [note])
