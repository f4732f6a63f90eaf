"""`index FOLDER --kb OUT`: read, encode and save what changed."""

import argparse

from causalviz.bootstrap import index_into, make_encoder, open_pipeline
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.knowledge_base import IndexResult, folder_source
from causalviz.pipeline import Pipeline
from causalviz.records import FileReport, JsonObject
from causalviz.settings import Settings
from causalviz.tau import LEAST_TERMS

_KINDS = {"raw": False, "centred": True}
_THOUSAND = 1000


def run(options: argparse.Namespace) -> None:
    """Index and report every file."""
    source = folder_source(options.folder)
    encoder = make_encoder(options.encoder or Settings.of().encoder)
    with progress_bar() as progress:
        result = index_into(options.kb, source, encoder, progress)
        pipeline = open_pipeline(options.kb, encoder, progress)
    if options.json:
        print_json(result_to_json(str(options.kb), result, pipeline))
    else:
        _print(str(options.kb), result, _tau_notes(pipeline))


def result_to_json(path: str, result: IndexResult, pipeline: Pipeline) -> JsonObject:
    """The stable JSON of `index --json`."""
    return {
        "knowledge_base": path,
        "files": [_file_to_json(report) for report in result.files],
        "seconds": result.seconds,
        "encoder_seconds": result.encoder_seconds,
        "tau": _tau_to_json(pipeline),
    }


def _tau_to_json(pipeline: Pipeline) -> JsonObject:
    """Say which tau a knowledge base proposes, and which is used where none is given."""
    found: JsonObject = {}
    for kind, centred in _KINDS.items():
        proposal, default = pipeline.propose_tau(centred=centred), pipeline.default_tau(centred=centred)
        found[kind] = {
            "default": default.tau,
            "from": default.origin,
            "proposed": proposal and proposal.tau,
            "below": proposal and proposal.below,
            "pairs": proposal and proposal.pairs,
        }
    return found


def _tau_notes(pipeline: Pipeline) -> list[str]:
    proposals = {kind: pipeline.propose_tau(centred=centred) for kind, centred in _KINDS.items()}
    told = [
        f"{proposal.tau:.3f}{'' if kind == 'raw' else f' {kind}'} ({proposal.reason})"
        for kind, proposal in proposals.items()
        if proposal
    ]
    default = pipeline.default_tau(centred=False)
    return [
        f"tau proposed for this knowledge base: {'; '.join(told)}."
        if told
        else f"tau proposed for this knowledge base: none, since it has under {LEAST_TERMS} keywords.",
        *([] if default.origin == "knowledge base" else [default.reason]),
    ]


def _file_to_json(report: FileReport) -> JsonObject:
    return {
        "file": report.file,
        "status": report.status,
        "reason": report.reason,
        "reader": report.reader,
        "encoding": report.encoding,
        "characters": report.characters,
        "chunks": report.chunks,
        "warnings": list(report.warnings),
        "size": report.size,
        "pages": report.pages,
        "language": report.language,
        "seconds": report.seconds,
        "duplicate_of": report.duplicate_of,
        "near_duplicate_of": report.near_duplicate_of,
    }


def _print(path: str, result: IndexResult, remarks: list[str]) -> None:
    rows = [
        [
            report.file,
            report.status,
            _size(report.size),
            "" if report.pages is None else f"{report.pages:,}",
            report.language or "",
            f"{report.characters:,}",
            f"{report.chunks:,}",
            "; ".join(_remarks(report)),
        ]
        for report in result.files
    ]
    count = {
        status: sum(r.status == status for r in result.files)
        for status in ("indexed", "unchanged", "refused")
    }
    counted = ", ".join(f"{n} {status}" for status, n in count.items())
    time = f"{result.seconds:.1f} s ({result.encoder_seconds:.1f} s in the encoder)"
    notes = ["", f"{counted}, {len(result.removed)} removed in {time}.", *remarks]
    columns = {
        "file": "left",
        "status": "left",
        "size": "right",
        "pages": "right",
        "language": "left",
        "characters": "right",
        "chunks": "right",
        "remarks": "left",
    }
    print_table(f"Knowledge base {path}", columns, rows, notes)


def _size(size: int) -> str:
    if size < _THOUSAND:
        return f"{size} B"
    return f"{size / 1e3:.1f} kB" if size < _THOUSAND**2 else f"{size / 1e6:.1f} MB"


def _remarks(report: FileReport) -> list[str]:
    if report.reason:
        return [report.reason]
    remarks = list(report.warnings)
    if report.duplicate_of:
        remarks.append(f"the same text as {report.duplicate_of}")
    if report.near_duplicate_of:
        remarks.append(f"nearly the same words as {report.near_duplicate_of}")
    return remarks
