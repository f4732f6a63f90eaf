"""`index FOLDER --kb OUT`: read, encode and save what changed."""

import argparse

from causalviz.bootstrap import index_into, make_encoder
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.knowledge_base import IndexResult, folder_source
from causalviz.records import FileReport, JsonObject
from causalviz.settings import Settings


def run(options: argparse.Namespace) -> None:
    """Index and report every file."""
    source = folder_source(options.folder)
    encoder = make_encoder(options.encoder or Settings.of().encoder)
    with progress_bar() as progress:
        result = index_into(options.kb, source, encoder, progress)
    if options.json:
        print_json(result_to_json(str(options.kb), result))
    else:
        _print(str(options.kb), result)


def result_to_json(path: str, result: IndexResult) -> JsonObject:
    """The stable JSON of `index --json`."""
    return {
        "knowledge_base": path,
        "files": [_file_to_json(report) for report in result.files],
        "seconds": result.seconds,
        "encoder_seconds": result.encoder_seconds,
    }


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
    }


def _print(path: str, result: IndexResult) -> None:
    rows = [
        [
            report.file,
            report.status,
            f"{report.characters:,}",
            str(report.chunks),
            report.encoding or "",
            "; ".join([report.reason] if report.reason else report.warnings),
        ]
        for report in result.files
    ]
    count = {
        status: sum(r.status == status for r in result.files)
        for status in ("indexed", "unchanged", "refused")
    }
    counted = ", ".join(f"{n} {status}" for status, n in count.items())
    time = f"{result.seconds:.1f} s ({result.encoder_seconds:.1f} s in the encoder)"
    notes = ["", f"{counted}, {len(result.removed)} removed in {time}."]
    columns = {
        "file": "left",
        "status": "left",
        "characters": "right",
        "chunks": "right",
        "encoding": "left",
        "remarks": "left",
    }
    print_table(f"Knowledge base {path}", columns, rows, notes)
