"""`report TRACE.json ... --out FILE.html`: one HTML file that shows and explains rankings anywhere."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from causalviz.bootstrap import make_encoder, pipeline_for
from causalviz.cli.explain import read_trace
from causalviz.cli.rank import write_file
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.errors import KnowledgeBaseError
from causalviz.records import Trace
from causalviz.report import Texts
from causalviz.settings import Settings
from causalviz.ui.present import marked_texts, report_file


def run(options: argparse.Namespace) -> None:
    """Write the report and say what it holds."""
    traces = [read_trace(path) for path in options.traces]
    texts = None if options.texts is None else _texts(options.texts, options.encoder, traces)
    content = report_file(traces, texts, options.document)
    write_file(options.out, content)
    size, held = len(content.encode()), sum(len(some) for some in texts or [])
    if options.json:
        print_json({"report": str(options.out), "bytes": size, "traces": len(traces), "texts": held})
        return
    rows = [[trace.query, str(len(trace.candidates))] for trace in traces]
    what = f"the texts of {held} candidates" if texts else "no document text"
    notes = ["", f"{options.out}: {size / 1e6:.1f} MB; it holds {what}."]
    print_table("Report", {"question": "left", "candidates": "right"}, rows, notes)


def _texts(place: Path, encoder_name: str | None, traces: Sequence[Trace]) -> list[Texts]:
    settings = Settings.of()
    encoder = make_encoder(encoder_name or settings.encoder)
    with progress_bar() as progress:
        pipeline = pipeline_for(place, encoder, settings, progress)
    for trace in traces:
        if trace.fingerprint != pipeline.base.fingerprint:
            raise KnowledgeBaseError(
                f"'{place}' has fingerprint {pipeline.base.fingerprint}, but the question '{trace.query[:60]}' was "
                f"asked of '{trace.knowledge_base}' with fingerprint {trace.fingerprint}; name that knowledge base, "
                "ask the question again if its documents have changed, or leave --texts out."
            )
    return [marked_texts(pipeline, trace) for trace in traces]
