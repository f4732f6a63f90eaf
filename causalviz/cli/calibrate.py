"""`calibrate COLLECTION|THEMES.jsonl`: the paper's Table 4, and the gate it sets."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from causalviz.bootstrap import collection_pipeline, make_encoder, pipeline_for, themes_pipeline
from causalviz.candidates import check_limits
from causalviz.cli.rank import check_given_tau, tau_of
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.errors import CollectionError, ParameterError
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.diagnose import diagnose
from causalviz.evaluation.evaluate import reranked
from causalviz.evaluation.gate import COLUMNS, METHODS, NDCG, TARGET_RANK, Verdict, check_draws, judge, ndcg
from causalviz.evaluation.measures import DEPTH
from causalviz.evaluation.qrels import read_qrels, read_queries
from causalviz.evaluation.themes import Theme, read_themes
from causalviz.knowledge_base import GateRecord, KnowledgeBase, documents_of, write_gate
from causalviz.pipeline import Pipeline, SearchSettings, conditions
from causalviz.protocols import Encoder, Progress
from causalviz.rank import check_alpha
from causalviz.records import JsonObject, Method, RankSettings, Trace
from causalviz.settings import Settings

_THETA = -1.0
"""No threshold: a document may answer however dissimilar it is."""

Themes = tuple[Theme, ...]
Values = dict[Method, list[float]]


def run(options: argparse.Namespace) -> None:
    """Judge by the labelled questions, keep the verdict with the knowledge base, and print it."""
    settings = Settings.of()
    encoder = make_encoder(options.encoder or settings.encoder)
    # Indexing may take minutes: what is wrong with the settings or the labels is said before.
    check_limits(options.top_k, _THETA)
    check_given_tau(options)
    check_alpha(options.alpha)
    check_draws(options.probes, options.resamples, options.seed)
    labels = _labels(options)
    with progress_bar() as progress:
        pipeline = _pipeline(labels, options, encoder, settings, progress)
    tau, remarks = tau_of(options, pipeline)
    chosen = RankSettings(tau=tau, alpha=options.alpha)
    if isinstance(labels, Collection):
        name, values, left_out = labels.name, *_ndcg(pipeline, labels, options, chosen)
    else:
        name, values, left_out = options.collection.stem, _target_ranks(pipeline, labels, options, chosen), 0
    verdict = judge(
        values,
        measure=NDCG if isinstance(labels, Collection) else TARGET_RANK,
        probes=options.probes,
        resamples=options.resamples,
        seed=options.seed,
    )
    base = pipeline.base
    record = GateRecord(
        verdict=verdict,
        date=datetime.now(UTC).replace(microsecond=0),
        conditions=conditions(SearchSettings(top_k=options.top_k, centred=options.centred), chosen),
        encoder=base.encoder,
        fingerprint=base.fingerprint,
        documents=documents_of(base),
    )
    write_gate(base.path, record)
    if options.json:
        print_json({"collection": name} | verdict_to_json(verdict) | {"stored_in": base.name})
    else:
        if left_out:
            remarks.append(
                f"Questions without a relevant document in the knowledge base, left out: {left_out}."
            )
        _print(name, values, record, base, remarks)


def _labels(options: argparse.Namespace) -> Collection | Themes:
    files: tuple[Path | None, Path | None] = (options.queries, options.qrels)
    match files:
        case Path() as queries, Path() as qrels if options.kb:
            return _judged(options.kb, queries, qrels)
        case None, None if options.collection:
            source: Path = options.collection
            themes = source.is_file() or source.suffix == ".jsonl"
            return read_themes(source) if themes else read_collection(source)
    raise ParameterError(
        "there are no labelled questions to calibrate by; give a test collection or a themes file, or all of --kb, "
        "--queries and --qrels."
    )


def _judged(kb: Path, queries: Path, qrels: Path) -> Collection:
    """Questions and judgments of a knowledge base, which holds the documents."""
    texts = read_queries(queries)
    judgments = read_qrels(qrels, queries=texts)
    asked = {id_: texts[id_] for id_ in judgments}
    return Collection(name=kb.resolve().stem, documents=(), queries=asked, qrels=judgments)


def _pipeline(
    labels: Collection | Themes,
    options: argparse.Namespace,
    encoder: Encoder,
    settings: Settings,
    progress: Progress,
) -> Pipeline:
    if options.kb:
        return pipeline_for(options.kb, encoder, settings, progress)
    if isinstance(labels, Collection):
        return collection_pipeline(labels, options.collection, encoder, settings, progress)
    return themes_pipeline(labels, options.collection, encoder, settings, progress)


def _ndcg(
    pipeline: Pipeline, labels: Collection, options: argparse.Namespace, settings: RankSettings
) -> tuple[Values, int]:
    """Measure every question that a document answers; also count the others, which say nothing."""
    there = pipeline.base.documents.rows
    relevant = {
        id_: [document for document, grade in grades.items() if grade > 0]
        for id_, grades in labels.qrels.items()
    }
    qrels = {
        id_: labels.qrels[id_] for id_, documents in relevant.items() if any(d in there for d in documents)
    }
    if not qrels:
        found = next((document for documents in relevant.values() for document in documents), None)
        raise CollectionError(
            f"the knowledge base '{pipeline.base.name}' holds no document that is judged relevant"
            f"{f' (such as {found!r})' if found else ''}, so no method can find one; check the ids of the judgments."
        )
    search = SearchSettings(top_k=max(options.top_k, DEPTH), theta=_THETA, centred=options.centred)
    rankings: dict[Method, dict[str, list[str]]] = {name: {} for name in METHODS}
    with progress_bar() as progress:
        for done, id_ in enumerate(qrels):
            progress(done, len(qrels), labels.queries[id_])
            trace = pipeline.ask(labels.queries[id_], search, settings)
            for name, ranking in rankings.items():
                ranking[id_] = reranked(trace, COLUMNS[name], settings, options.top_k)
    return ndcg(rankings, qrels), len(labels.qrels) - len(qrels)


def _target_ranks(
    pipeline: Pipeline, themes: Themes, options: argparse.Namespace, settings: RankSettings
) -> Values:
    search = SearchSettings(centred=options.centred)

    def ask(theme: Theme) -> Trace:
        return pipeline.ask_among(theme.query, [d.id for d in theme.documents], search, settings)

    found = diagnose(themes, ask, settings).themes
    return {name: [-float(result.target_rank[COLUMNS[name]]) for result in found] for name in METHODS}


def verdict_to_json(verdict: Verdict) -> JsonObject:
    """The judged part of the stable JSON of `calibrate --json`."""
    return {
        "probes": verdict.probes,
        "resamples": verdict.resamples,
        "seed": verdict.seed,
        "measure": verdict.measure,
        "labelled": verdict.labelled,
        "delta": verdict.delta[verdict.compared],
        "enable": verdict.decision == "on",
        "decision": verdict.decision,
        "method": verdict.method,
        "reliability": dict(verdict.reliability),
        "deltas": dict(verdict.delta),
        "intervals": {name: list(interval) for name, interval in verdict.interval.items()},
        "agreement": verdict.agreement,
        "choice_reliability": verdict.choice_reliability,
        "curve": [list(point) for point in verdict.curve],
        "more": verdict.more,
        "sentence": verdict.sentence,
    }


def _print(name: str, values: Values, record: GateRecord, base: KnowledgeBase, remarks: list[str]) -> None:
    verdict, conditions = record.verdict, record.conditions
    columns = {"method": "left"} | dict.fromkeys(
        [verdict.measure, "against similarity", "interval", "reliability"], "right"
    )
    how = f"encoder {base.encoder}, tau {conditions.tau:g}{', centred' if conditions.centred else ''}"
    notes = [
        "",
        verdict.sentence,
        (
            f"Reliability: share of {verdict.resamples:,} resamples of {verdict.probes} of {verdict.labelled} labelled "
            "questions that put it on the side of similarity the full set does. Interval: 95 %, paired bootstrap."
        ),
        f"The best of all four is the same in {_share(verdict.choice_reliability)} of the resamples.",
        f"{how}, alpha {conditions.alpha:g}; seed {verdict.seed}.",
        f"Kept with the knowledge base '{base.name}', where `rank` obeys it while documents and settings are these.",
    ]
    print_table(f"Which method may rank {name}", columns, _rows(values, verdict), notes + remarks)


def _rows(values: Values, verdict: Verdict) -> list[list[str]]:
    rows = []
    for name in METHODS:
        compared = ["-", "-", "-"]
        if name in verdict.delta:
            low, high = verdict.interval.get(name, (None, None))
            compared = [
                f"{verdict.delta[name]:+.3f}",
                "-" if low is None else f"{low:+.3f} to {high:+.3f}",
                _share(verdict.reliability[name]),
            ]
        rows.append([name, f"{abs(fmean(values[name])):.3f}", *compared])
    return rows


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
