"""`diagnose [THEMES.jsonl]`: the paper's Table 2."""

import argparse

from causalviz.bootstrap import SAMPLE, make_encoder, themes_pipeline
from causalviz.cli.rank import check_given_tau, crossed, rank_settings, reranker_of, tau_of
from causalviz.cli.terminal import print_json, print_table, progress_bar
from causalviz.evaluation.diagnose import Diagnosis, diagnose
from causalviz.evaluation.evaluate import CROSS_ENCODER
from causalviz.evaluation.themes import Theme, read_themes
from causalviz.pipeline import SearchSettings
from causalviz.records import JsonObject, RankSettings, Trace
from causalviz.settings import Settings

_MISSING = "-"


def run(options: argparse.Namespace) -> None:
    """Diagnose a themes file and print the table."""
    settings = Settings.of()
    path = options.themes or SAMPLE / "themes.jsonl"
    themes = read_themes(path)
    encoder = make_encoder(options.encoder or settings.encoder)
    check_given_tau(options)
    reranker = reranker_of(options, settings)
    search = SearchSettings(centred=options.centred)
    with progress_bar() as progress:
        pipeline = themes_pipeline(themes, path, encoder, settings, progress)
    tau, remarks = tau_of(options, pipeline)
    chosen = rank_settings(options, tau)

    def ask(theme: Theme) -> Trace:
        trace = pipeline.ask_among(theme.query, [d.id for d in theme.documents], search, chosen)
        return crossed(trace, pipeline, reranker)

    diagnosis = diagnose(themes, ask, chosen)
    named = reranker.name if reranker else None
    if options.json:
        print_json(diagnosis_to_json(diagnosis, encoder.name, chosen, named))
    else:
        _print(diagnosis, encoder.name, chosen, named, remarks)


def diagnosis_to_json(
    diagnosis: Diagnosis, encoder: str, settings: RankSettings, reranker: str | None = None
) -> JsonObject:
    """The stable JSON of `diagnose --json`."""
    return {
        "encoder": encoder,
        **({"reranker": reranker} if reranker else {}),
        "tau": settings.tau,
        "themes": [
            {
                "id": result.theme.id,
                "query": result.theme.query,
                "target_rank": dict(result.target_rank),
                "stuffed_ranks": {name: list(ranks) for name, ranks in result.stuffed_ranks.items()},
            }
            for result in diagnosis.themes
        ],
        "mean_target_rank": dict(diagnosis.mean_target_rank),
        "mean_stuffed_rank": dict(diagnosis.mean_stuffed_rank),
    }


def _print(
    diagnosis: Diagnosis, encoder: str, settings: RankSettings, reranker: str | None, remarks: list[str]
) -> None:
    names = list(diagnosis.mean_target_rank)
    missing = [] if CROSS_ENCODER in names else [_MISSING]
    rows = [
        [result.theme.id, result.theme.query[:48], *missing]
        + [
            f"{result.target_rank[name]} ({','.join(map(str, result.stuffed_ranks[name])) or '-'})"
            for name in names
        ]
        for result in diagnosis.themes
    ]
    rows.append(
        ["", "mean target rank", *missing, *(f"{diagnosis.mean_target_rank[name]:.2f}" for name in names)]
    )
    stuffed = [diagnosis.mean_stuffed_rank[name] for name in names]
    rows.append(
        ["", "mean stuffed rank", *missing, *("-" if mean is None else f"{mean:.2f}" for mean in stuffed)]
    )
    methods = [CROSS_ENCODER, *names] if missing else names
    columns = {"theme": "left", "query": "left"} | dict.fromkeys(methods, "right")
    how = f"encoder {encoder}, tau {settings.tau:g}, alpha {settings.alpha:g}"
    notes = [
        "",
        f"Rank of the target (ranks of the stuffed documents); {how}.",
        f"Cross-encoder: {reranker}."
        if reranker
        else f"{_MISSING}: not computed; no cross-encoder is configured.",
        *remarks,
    ]
    print_table("Where each method ranks the document that answers", columns, rows, notes)
