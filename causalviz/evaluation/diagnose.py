"""The paper's Table 2: where each method ranks the target and the stuffed documents of every theme."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from causalviz.evaluation.evaluate import CROSS_ENCODER
from causalviz.evaluation.themes import Theme
from causalviz.rank import rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable


def methods(settings: RankSettings, *, crossed: bool = False) -> dict[str, RankSettings]:
    """Return the columns of Table 2, the cross-encoder's where it scored; all share tau and alpha."""
    columns = {
        "similarity": replace(settings, method="similarity"),
        "exact": replace(settings, method="causal", mode="exact"),
        "semantic": replace(settings, method="causal", mode="semantic"),
        "fallback": replace(settings, method="causal", mode="semantic", empty_b="fallback"),
        "hybrid": replace(settings, method="hybrid", mode="semantic"),
        "guarded": replace(settings, method="guarded", mode="semantic", empty_b="last"),
    }
    return columns | ({CROSS_ENCODER: replace(settings, method="cross-encoder")} if crossed else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class ThemeResult:
    """Ranks (from 1, lower is better) within one theme's candidate set."""

    theme: Theme
    target_rank: Mapping[str, int]
    """By method."""
    stuffed_ranks: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """All themes and their means."""

    themes: tuple[ThemeResult, ...]
    mean_target_rank: Mapping[str, float]
    mean_stuffed_rank: Mapping[str, float | None]
    """Over all stuffed documents of the file; None where there are none."""


def diagnose(themes: Iterable[Theme], ask: Callable[[Theme], Trace], settings: RankSettings) -> Diagnosis:
    """Rank each theme's documents by every method.

    Args:
        themes: At least one.
        ask: Gives a theme's trace over exactly its documents; a cross-encoder scored all themes, or none.
        settings: tau, alpha and the empty-B rule to use.
    """
    results = [_theme_result(theme, ask(theme), settings) for theme in themes]
    names = list(results[0].target_rank)
    stuffed = {name: [rank for result in results for rank in result.stuffed_ranks[name]] for name in names}
    return Diagnosis(
        themes=tuple(results),
        mean_target_rank={name: fmean(result.target_rank[name] for result in results) for name in names},
        mean_stuffed_rank={name: fmean(ranks) if ranks else None for name, ranks in stuffed.items()},
    )


def _theme_result(theme: Theme, trace: Trace, settings: RankSettings) -> ThemeResult:
    table = ScoreTable.of(trace.candidates)
    ranks = {
        name: {
            candidate.id: int(rank)
            for candidate, rank in zip(trace.candidates, rerank(table, chosen).rank, strict=True)
        }
        for name, chosen in methods(settings, crossed=trace.reranker is not None).items()
    }
    return ThemeResult(
        theme=theme,
        target_rank={name: rank[theme.target] for name, rank in ranks.items()},
        stuffed_ranks={
            name: tuple(sorted(rank[id_] for id_ in theme.stuffed)) for name, rank in ranks.items()
        },
    )
