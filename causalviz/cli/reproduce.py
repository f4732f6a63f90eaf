"""`reproduce`: the paper's Tables 2, 3 and 4 again, its figures beside ours."""

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from causalviz.bootstrap import SAMPLE, collection_pipeline, make_encoder, make_reranker, themes_pipeline
from causalviz.cli.evaluate import THETA, asker, kept_answers
from causalviz.cli.rank import crossed
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.errors import ParameterError
from causalviz.evaluation import paper
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.diagnose import Diagnosis, diagnose
from causalviz.evaluation.evaluate import draw_queries
from causalviz.evaluation.gate import COLUMNS, NDCG, PROBES, TARGET_RANK, Verdict, judge
from causalviz.evaluation.gate import METHODS as GATED
from causalviz.evaluation.measures import MEASURES, RESAMPLES, Scores, check_seed, means, measure
from causalviz.evaluation.paper import PaperCollection
from causalviz.evaluation.results import answer_all
from causalviz.evaluation.themes import Theme, read_themes
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder, Reranker
from causalviz.records import JsonObject, Method, RankSettings, Trace
from causalviz.settings import Settings

_THEMES = SAMPLE / "themes.jsonl"
_NO_RERANKER = "none"
_ALPHA = 0.5
_TABLE_2 = ("similarity", "cross-encoder", "exact", "semantic", "hybrid", "guarded")
_TABLE_3 = ("similarity", "cross-encoder", "semantic", "fallback", "hybrid", "guarded")
"""The paper's methods in its order, then ours."""
_TABLE_4: tuple[Method, ...] = ("causal", "hybrid", "guarded")
_NAMES = {
    "similarity": "similarity (baseline)",
    "cross-encoder": "cross-encoder",
    "exact": "s_c exact",
    "semantic": "s_c semantic",
    "causal": "s_c",
    "fallback": "s_c, fallback (ours-fb)",
    "hybrid": "hybrid",
    "guarded": "guarded (not in the paper)",
}
_LEGEND = f"Each cell: here / in the paper ({paper.PAPER}); - where there is no figure."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Models:
    encoder: Encoder
    reranker: Reranker | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Gate:
    """A row of Table 4; the verdict is missing where the questions hold nothing to judge by."""

    name: str
    verdict: Verdict | None
    theirs: paper.Gate | None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measured:
    """What Table 3 says of one collection."""

    collection: Collection
    tau: float
    remarks: list[str]
    scores: Mapping[str, Scores]

    @property
    def theirs(self) -> PaperCollection | None:
        return paper.paper_collection(self.collection.name)

    @property
    def queries(self) -> int:
        return len(self.scores["similarity"])

    @property
    def means(self) -> dict[str, dict[str, float]]:
        return {name: means(scores) for name, scores in self.scores.items()}


def run(options: argparse.Namespace) -> None:
    """Compute the three tables and print each as soon as it is there; with --json all at the end."""
    settings = Settings.of()
    # Models take minutes to load and longer to encode: what is wrong with the rest is said before.
    check_seed(options.seed)
    collections = [(folder, read_collection(folder)) for folder in options.collections]
    drawn = [draw_queries(one.queries, options.sample, options.seed) for _, one in collections]
    themes = read_themes(_THEMES)
    models = _Models(
        encoder=make_encoder(options.encoder),
        reranker=None if options.reranker == _NO_RERANKER else make_reranker(options.reranker),
    )
    how: JsonObject = {
        "encoder": models.encoder.name,
        "reranker": models.reranker.name if models.reranker else None,
        "alpha": _ALPHA,
        "top_k": paper.TOP_K,
        "seed": options.seed,
    }
    diagnosis, chosen, remarks = _diagnosis(themes, models, settings)
    if not options.json:
        _print_themes(diagnosis, [_conditions(models, chosen.tau), *remarks])
    measured, gates = [], [_gate_of_themes(diagnosis, options.seed)]
    for (folder, collection), queries in zip(collections, drawn, strict=True):
        found = _measure(collection, folder, queries, models, settings)
        measured.append(found)
        gates.append(_gate_of_collection(found, options.seed))
        if not options.json:
            _print_collection(found, models, options.seed)
    if options.json:
        print_json(
            how
            | {
                "table_2": _themes_to_json(diagnosis, chosen.tau),
                "table_3": [_collection_to_json(found) for found in measured],
                "table_4": [_gate_to_json(gate) for gate in gates],
            }
        )
    else:
        _print_gates(gates, options.seed, without_collections=not measured)


def _settings(pipeline: Pipeline) -> tuple[RankSettings, list[str]]:
    """Take the encoder's tau, which for BGE-M3 is the paper's; for others what this knowledge base proposes."""
    tau = pipeline.default_tau(centred=False)
    remarks = [] if tau.origin == "encoder" else [tau.reason]
    return RankSettings(tau=tau.tau, alpha=_ALPHA), remarks


def _diagnosis(
    themes: tuple[Theme, ...], models: _Models, settings: Settings
) -> tuple[Diagnosis, RankSettings, list[str]]:
    with progress_bar() as progress:
        pipeline = themes_pipeline(themes, _THEMES, models.encoder, settings, progress)
    chosen, remarks = _settings(pipeline)

    def ask(theme: Theme) -> Trace:
        trace = pipeline.ask_among(theme.query, [d.id for d in theme.documents], SearchSettings(), chosen)
        return crossed(trace, pipeline, models.reranker)

    return diagnose(themes, ask, chosen), chosen, remarks


def _measure(
    collection: Collection, folder: Path, queries: Mapping[str, str], models: _Models, settings: Settings
) -> _Measured:
    with progress_bar() as progress:
        pipeline = collection_pipeline(collection, folder, models.encoder, settings, progress)
    chosen, remarks = _settings(pipeline)
    search = SearchSettings(top_k=paper.TOP_K, theta=THETA)
    kept = kept_answers(pipeline, search, chosen, settings, models.reranker)
    with progress_bar() as progress:
        answers = answer_all(queries, kept, asker(pipeline, search, chosen, models.reranker), progress)
    qrels = {id_: collection.qrels[id_] for id_ in queries}
    scores = {
        name: measure({id_: found.rankings[name] for id_, found in answers.items()}, qrels)
        for name in _TABLE_3
        if models.reranker or name != "cross-encoder"
    }
    return _Measured(collection=collection, tau=chosen.tau, remarks=remarks, scores=scores)


def _gate_of_themes(diagnosis: Diagnosis, seed: int) -> _Gate:
    ranks = {
        name: [-float(result.target_rank[COLUMNS[name]]) for result in diagnosis.themes] for name in GATED
    }
    verdict = judge(ranks, measure=TARGET_RANK, probes=paper.THEMES_GATE.probes, seed=seed)
    return _Gate(name=_THEMES.stem, verdict=verdict, theirs=paper.THEMES_GATE)


def _gate_of_collection(found: _Measured, seed: int) -> _Gate:
    """Judge by the scores of Table 3, as the paper does; `calibrate` leaves out questions nothing in it answers."""
    values = {name: [one["ndcg@10"] for one in found.scores[COLUMNS[name]].values()] for name in GATED}
    name, theirs = found.collection.name, found.theirs.gate if found.theirs else None
    try:
        return _Gate(name=name, verdict=judge(values, measure=NDCG, probes=PROBES, seed=seed), theirs=theirs)
    except ParameterError as error:
        # A drawn handful on which nothing was found: the other tables stand all the same.
        return _Gate(name=name, verdict=None, theirs=theirs, reason=str(error))


def _pair(ours: float | None, theirs: float | None) -> JsonObject:
    return {"ours": ours, "paper": theirs}


def _themes_to_json(diagnosis: Diagnosis, tau: float) -> JsonObject:
    return {
        "themes_file": _THEMES.name,
        "tau": tau,
        "themes": [
            {
                "id": result.theme.id,
                "target_rank": {
                    name: _pair(result.target_rank.get(name), _their_rank(result.theme, name))
                    for name in _TABLE_2
                },
            }
            for result in diagnosis.themes
        ],
        "mean_target_rank": {
            name: _pair(diagnosis.mean_target_rank.get(name), paper.MEAN_TARGET_RANK.get(name))
            for name in _TABLE_2
        },
        "mean_stuffed_rank": {
            name: _pair(diagnosis.mean_stuffed_rank.get(name), paper.MEAN_STUFFED_RANK.get(name))
            for name in _TABLE_2
        },
    }


def _their_rank(theme: Theme, method: str) -> float | None:
    return paper.TARGET_RANK.get(theme.id, {}).get(method)


def _collection_to_json(found: _Measured) -> JsonObject:
    theirs, measured = found.theirs, found.means
    return {
        "collection": found.collection.name,
        "tau": found.tau,
        "documents": _pair(len(found.collection.documents), theirs.documents if theirs else None),
        "queries": _pair(found.queries, theirs.queries if theirs else None),
        "methods": {
            name: {
                key: _pair(measured.get(name, {}).get(key), _their_value(theirs, name, key))
                for key in MEASURES
            }
            for name in _TABLE_3
        },
    }


def _their_value(theirs: PaperCollection | None, method: str, key: str) -> float | None:
    return theirs.methods.get(method, {}).get(key) if theirs else None


def _gate_to_json(gate: _Gate) -> JsonObject:
    verdict, theirs = gate.verdict, gate.theirs
    return {
        "collection": gate.name,
        "measure": verdict.measure if verdict else None,
        "labelled": verdict.labelled if verdict else None,
        "probes": _pair(verdict.probes if verdict else None, theirs.probes if theirs else None),
        "methods": {
            name: {
                "delta": verdict.delta[name] if verdict else None,
                "enable": {
                    "ours": verdict.delta[name] > 0 if verdict else None,
                    "paper": _their_decision(theirs, name),
                },
                "reliability": _pair(
                    verdict.reliability[name] if verdict else None,
                    theirs.reliability.get(name) if theirs else None,
                ),
            }
            for name in _TABLE_4
        },
    }


def _their_decision(theirs: paper.Gate | None, method: Method) -> bool | None:
    return theirs.enable if theirs and method in theirs.reliability else None


def _cell(ours: float | None, theirs: float | None, form: str) -> str:
    return " / ".join("-" if value is None else format(value, form) for value in (ours, theirs))


def _conditions(models: _Models, tau: float) -> str:
    reranker = models.reranker.name if models.reranker else "none (not computed)"
    return (
        f"Here: encoder {models.encoder.name}, cross-encoder {reranker}, tau {tau:g}, alpha {_ALPHA:g}. "
        f"In the paper: {paper.ENCODER}, {paper.RERANKER}, tau {paper.TAU:g}."
    )


def _print_themes(diagnosis: Diagnosis, notes: list[str]) -> None:
    rows = [
        [
            f"{result.theme.id} {result.theme.query[:40]}",
            *(_cell(result.target_rank.get(name), _their_rank(result.theme, name), "g") for name in _TABLE_2),
        ]
        for result in diagnosis.themes
    ]
    for title, ours, theirs in (
        ("mean target rank", diagnosis.mean_target_rank, paper.MEAN_TARGET_RANK),
        ("mean stuffing rank", diagnosis.mean_stuffed_rank, paper.MEAN_STUFFED_RANK),
    ):
        rows.append([title, *(_cell(ours.get(name), theirs.get(name), ".2f") for name in _TABLE_2)])
    design = (
        "The sample's themes are this project's own writing on the paper's eight subjects: the design of Table 2 is "
        "reproduced, not its corpus, so the orders can be compared and the figures need not agree."
    )
    columns = {"rank of the target": "left"} | {_NAMES[name]: "right" for name in _TABLE_2}
    print_table("Table 2. Controlled diagnostic experiment", columns, rows, ["", _LEGEND, design, *notes])


def _print_collection(found: _Measured, models: _Models, seed: int) -> None:
    theirs, ours = found.theirs, found.means
    rows = [
        [
            _NAMES[name],
            *(_cell(ours.get(name, {}).get(key), _their_value(theirs, name, key), ".3f") for key in MEASURES),
        ]
        for name in _TABLE_3
    ]
    columns = {"method": "left"} | dict.fromkeys(["nDCG@10", "P@5", "MRR@10"], "right")
    notes = [
        "",
        _LEGEND,
        _size(found, seed),
        _conditions(models, found.tau),
        *found.remarks,
    ]
    print_table(f"\nTable 3. {found.collection.name}", columns, rows, notes)


def _size(found: _Measured, seed: int) -> str:
    judged, documents = len(found.collection.queries), len(found.collection.documents)
    asked = (
        f"{found.queries:,} of {judged:,} judged queries, {documents:,} documents; the {paper.TOP_K} most similar are "
        f"re-ranked; seed {seed}."
    )
    theirs = found.theirs
    if theirs is None:
        known = ", ".join(one.name for one in paper.COLLECTIONS)
        return f"{asked} The paper has no figures of it; by the folder's name it has those of {known}."
    if (found.queries, documents) == (theirs.queries, theirs.documents):
        return f"{asked} So many as in the paper."
    return (
        f"{asked} The paper has {theirs.queries:,} queries and {theirs.documents:,} documents, so these are not the "
        "same questions and the figures need not agree."
    )


def _print_gates(gates: Iterable[_Gate], seed: int, *, without_collections: bool) -> None:
    rows, notes = [], []
    for gate in gates:
        rows += _gate_rows(gate)
        if gate.reason:
            notes.append(f"{gate.name}: {gate.reason}")
    columns = {"corpus": "left", "probes": "right", "gated": "left"} | dict.fromkeys(
        ["gain on all", "decision", "reliability"], "right"
    )
    how = (
        f"Reliability: share of {RESAMPLES:,} resamples of so many probes that decide as all labelled questions do. "
        f"Enabled where the gain, in {NDCG}, for themes in places of the target, is above zero. Seed {seed}."
    )
    if without_collections:
        notes.append(
            "Table 3 and the rest of Table 4 need test collections (BEIR layout): --collections FOLDER ..."
        )
    print_table("\nTable 4. Gating by calibration", columns, rows, ["", _LEGEND, how, *notes])


def _gate_rows(gate: _Gate) -> list[list[str]]:
    verdict, theirs = gate.verdict, gate.theirs
    decisions = {True: "enable", False: "disable", None: "-"}
    probes = _cell(verdict.probes if verdict else None, theirs.probes if theirs else None, "d")
    return [
        [
            gate.name,
            probes,
            _NAMES[name],
            f"{verdict.delta[name]:+.3f}" if verdict else "-",
            f"{decisions[verdict.delta[name] > 0 if verdict else None]} / {decisions[_their_decision(theirs, name)]}",
            _cell(
                verdict.reliability[name] if verdict else None,
                theirs.reliability.get(name) if theirs else None,
                ".1%",
            ),
        ]
        for name in _TABLE_4
    ]
