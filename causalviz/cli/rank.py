"""`rank QUERY --kb FOLDER_OR_KB`: both orders side by side."""

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from causalviz.bootstrap import make_encoder, make_reranker, pipeline_for
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.errors import ParameterError
from causalviz.exports import csv_table, trec_run
from causalviz.knowledge_base import Choice, GateRecord, choose, documents_of, load_gate
from causalviz.partition import check_tau
from causalviz.pipeline import Pipeline, SearchSettings, conditions, with_reranker
from causalviz.protocols import Reranker
from causalviz.rank import Ranking, check_method, rerank
from causalviz.records import DEFAULT_METHOD, JsonObject, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.settings import Settings
from causalviz.trace import to_json


def run(options: argparse.Namespace) -> None:
    """Ask, rank and print."""
    settings = Settings.of()
    encoder = make_encoder(options.encoder or settings.encoder)
    check_given_tau(options)
    check_method(options.method or DEFAULT_METHOD, options.reranker or settings.reranker or None)
    reranker = reranker_of(options, settings)
    search = SearchSettings(
        top_k=options.top_k,
        theta=options.theta,
        unit=options.unit,
        centred=options.centred,
        copies_last=not options.keep_copies,
    )
    with progress_bar() as progress:
        pipeline = pipeline_for(options.kb, encoder, settings, progress)
    tau, remarks = tau_of(options, pipeline)
    asked = rank_settings(options, tau)
    record, ignored = load_gate(pipeline.base.path)
    choice = choose(record, documents_of(pipeline.base), conditions(search, asked), options.method)
    chosen = replace(asked, method=choice.method)
    trace = crossed(pipeline.ask(options.query, search, chosen), pipeline, reranker)
    ranking = rerank(ScoreTable.of(trace.candidates), chosen)
    if options.trace:
        # A lone surrogate's escape is JSON's own, so that it reads back as it was.
        content = json.dumps(to_json(trace), ensure_ascii=False, allow_nan=False)
        write_file(options.trace, content)
    if options.csv:
        # The byte order mark tells spreadsheets that the table is UTF-8.
        write_file(options.csv, csv_table(trace, ranking), encoding="utf-8-sig")
    if options.trec:
        write_file(options.trec, trec_run(trace, ranking, options.query_id))
    if options.json:
        # What kept a calibration from being obeyed is a warning; that one is obeyed is in "gate".
        notes = remarks + [note for note in (ignored, None if choice.obeyed else choice.note) if note]
        found = ranking_to_json(trace, ranking)
        print_json(found | {"gate": _gate_to_json(record, choice), "warnings": [*found["warnings"], *notes]})
    else:
        overriding = " --method overrides it." if choice.obeyed else ""
        notes = [note for note in (ignored, choice.note and choice.note + overriding) if note]
        _print(trace, ranking, remarks + notes)


def reranker_of(options: argparse.Namespace, settings: Settings) -> Reranker | None:
    """Load what --reranker or the environment names; None where neither names one."""
    name = options.reranker or settings.reranker
    return make_reranker(name) if name else None


def crossed(trace: Trace, pipeline: Pipeline, reranker: Reranker | None) -> Trace:
    """Let a cross-encoder score a trace's candidates, if there is one."""
    if reranker is None:
        return trace
    texts = pipeline.base.texts([candidate.id for candidate in trace.candidates], trace.unit)
    with progress_bar() as progress:
        return with_reranker(trace, reranker, texts, progress)


def tau_of(options: argparse.Namespace, pipeline: Pipeline) -> tuple[float, list[str]]:
    """Read --tau, or take the default; and what is to be said of one that was not measured for the encoder."""
    if options.tau is not None:
        return options.tau, []
    chosen = pipeline.default_tau(centred=options.centred)
    return chosen.tau, [] if chosen.origin == "encoder" else [chosen.reason]


def check_given_tau(options: argparse.Namespace) -> None:
    """Say that --tau is out of range before minutes of indexing.

    Raises:
        ParameterError: it is.
    """
    if options.tau is not None:
        check_tau(options.tau)


def rank_settings(options: argparse.Namespace, tau: float) -> RankSettings:
    """Read the ranking options that several commands share."""
    return RankSettings(
        tau=tau,
        alpha=options.alpha,
        method=getattr(options, "method", None) or DEFAULT_METHOD,
        mode=getattr(options, "mode", "semantic"),
        empty_b=options.empty_b,
    )


def _gate_to_json(record: GateRecord | None, choice: Choice) -> JsonObject | None:
    if record is None:
        return None
    return {
        "decision": record.verdict.decision,
        "method": record.verdict.method,
        "date": record.date.isoformat(),
        "stale": choice.stale,
        "obeyed": choice.obeyed,
    }


def write_file(path: Path, content: str, encoding: str = "utf-8") -> None:
    """Write what a command was asked to write; line ends stay as they are, a lone surrogate is written as its escape.

    Raises:
        ParameterError: the place cannot be written.
    """
    try:
        path.write_text(content, encoding=encoding, errors="backslashreplace", newline="")
    except OSError as error:
        raise ParameterError(
            f"'{path}' cannot be written ({error.strerror}); choose another place."
        ) from error


def ranking_to_json(trace: Trace, ranking: Ranking) -> JsonObject:
    """The stable JSON of `rank --json`, documents in final order."""
    settings = trace.settings
    return {
        "query": trace.query,
        "encoder": trace.encoder,
        "reranker": trace.reranker,
        "tau": settings.tau,
        "centred": trace.centred,
        "alpha": settings.alpha,
        "method": settings.method,
        "query_keywords": [{"term": k.term, "weight": k.weight} for k in trace.query_keywords],
        "documents": [_document_to_json(trace, ranking, int(i)) for i in ranking.order],
        "warnings": list(trace.warnings),
    }


def _document_to_json(trace: Trace, ranking: Ranking, i: int) -> JsonObject:
    candidate = trace.candidates[i]
    keywords = list(zip(candidate.terms, candidate.weights.tolist(), strict=True))
    in_a = ranking.in_a[i]
    return {
        "id": candidate.id,
        "title": candidate.title,
        "similarity": candidate.similarity,
        "similarity_rank": int(ranking.similarity_rank[i]),
        "causal": _number(ranking.causal[i]),
        "causal_rank": int(ranking.causal_rank[i]),
        "hybrid": _number(ranking.hybrid[i]),
        "hybrid_rank": int(ranking.hybrid_rank[i]),
        "guarded_rank": int(ranking.guarded_rank[i]),
        "cross_encoder": candidate.cross_encoder,
        "cross_encoder_rank": None if trace.reranker is None else int(ranking.cross_rank[i]),
        "rank": int(ranking.rank[i]),
        "empty_b": bool(ranking.empty_b[i]),
        "repeats": candidate.repeats,
        "duplicate_of": candidate.duplicate_of,
        "suspect": candidate.suspect,
        "use": candidate.use,
        "topic": candidate.topic,
        "A": [
            {
                "term": term,
                "weight": weight,
                "match": trace.query_keywords[candidate.matches[j]].term,
                "cosine": float(candidate.cosines[j]),
            }
            for j, (term, weight) in enumerate(keywords)
            if in_a[j]
        ],
        "B": [
            {"term": term, "weight": weight, "contribution": float(ranking.contributions[i, j])}
            for j, (term, weight) in enumerate(keywords)
            if not in_a[j]
        ],
    }


def _number(value: np.float64) -> float | None:
    return float(value) if math.isfinite(value) else None


def _print(trace: Trace, ranking: Ranking, remarks: list[str]) -> None:
    rows = []
    for i in ranking.order:
        candidate = trace.candidates[i]
        moved = int(ranking.similarity_rank[i] - ranking.rank[i])
        in_a = ranking.in_a[i]
        shared = [term for j, term in enumerate(candidate.terms) if in_a[j]]
        rest = [term for j, term in enumerate(candidate.terms) if not in_a[j]]
        rows.append(
            [
                str(ranking.rank[i]),
                f"▲{moved}" if moved > 0 else f"▼{-moved}" if moved < 0 else "=",
                f"{candidate.similarity:.4f}",
                _cell(ranking.causal[i]),
                *([f"{ranking.cross_rank[i]} ({_cell(ranking.cross[i])})"] if trace.reranker else []),
                _cell(ranking.final[i]),
                candidate.title[:60],
                " ".join(shared[:4]) or "-",
                " ".join(rest[:4]) if rest else "nothing but query keywords",
            ]
        )
    settings = trace.settings
    columns = {
        "rank": "right",
        "moved": "left",
        "s_sim": "right",
        "s_c": "right",
        **({"cross-encoder": "right"} if trace.reranker else {}),
        "score": "right",
        "title": "left",
        "shared with the question (A)": "left",
        "the rest (B)": "left",
    }
    how = f"tau {settings.tau:g} ({settings.mode}), alpha {settings.alpha:g}, encoder {trace.encoder}"
    if trace.centred:
        how += ", centred"
    took = f"{trace.seconds['total'] * 1000:.0f} ms"
    if trace.reranker:
        how += f", cross-encoder {trace.reranker} (rank and score)"
        took += f" and {trace.seconds['rerank']:.1f} s for the cross-encoder"
    found = f"{len(trace.candidates)} of {trace.documents} {trace.unit}s, ordered by {settings.method}"
    notes = [
        "",
        f"{found}: {how}; {took}.",
        f"Question keywords: {' '.join(k.term for k in trace.query_keywords) or 'none'}",
        *_suspicions(trace),
        *trace.warnings,
        *remarks,
    ]
    print_table(trace.query, columns, rows, notes)


def _suspicions(trace: Trace) -> list[str]:
    titles = [candidate.title[:60] for candidate in trace.candidates if candidate.suspect]
    return [f"Suspected of keyword stuffing: {'; '.join(titles)}."] if titles else []


def _cell(value: np.float64) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "-"
