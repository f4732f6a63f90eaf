"""What the paper printed: the figures of its Tables 2, 3 and 4, under the names our columns have."""

from collections.abc import Mapping
from dataclasses import dataclass

from causalviz.evaluation.measures import MEASURES
from causalviz.records import Method

PAPER = "arXiv 2608.21702"
ENCODER = "bge-m3"
RERANKER = "bge-reranker-v2-m3"
TAU = 0.6
"""Of Tables 2 and 3; a cosine of BGE-M3."""
TOP_K = 20
"""Candidates that are re-ranked in Table 3; beyond them the baseline's order stays."""

_TABLE_2 = ("similarity", "cross-encoder", "exact", "semantic", "hybrid")
_TABLE_3 = ("similarity", "cross-encoder", "semantic", "fallback", "hybrid")


def _row(*ranks: float) -> dict[str, float]:
    return dict(zip(_TABLE_2, ranks, strict=True))


TARGET_RANK: Mapping[str, Mapping[str, float]] = {
    "T1": _row(5, 5, 6, 2, 2),
    "T2": _row(2, 2, 1, 1, 1),
    "T3": _row(3, 3, 4, 2, 2),
    "T4": _row(3, 3, 2, 1, 1),
    "T5": _row(4, 2, 2, 1, 2),
    "T6": _row(2, 2, 2, 1, 1),
    "T7": _row(2, 2, 1, 1, 1),
    "T8": _row(2, 2, 3, 1, 1),
}
"""Table 2: rank of the target, by theme and method."""
MEAN_TARGET_RANK: Mapping[str, float] = _row(2.88, 2.63, 2.63, 1.25, 1.38)
MEAN_STUFFED_RANK: Mapping[str, float] = _row(2.00, 2.06, 3.00, 4.50, 3.13)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A row of Table 4."""

    probes: int
    enable: bool
    """What all questions of the collection decide, for both methods."""
    reliability: Mapping[Method, float]
    """Share of 2,000 resamples that decide so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperCollection:
    """A test collection of Table 3, and its row of Table 4."""

    name: str
    documents: int
    queries: int
    methods: Mapping[str, Mapping[str, float]]
    """Measure by method, then by name (measures.py)."""
    gate: Gate


def _methods(*rows: tuple[float, float, float]) -> dict[str, dict[str, float]]:
    return {name: dict(zip(MEASURES, row, strict=True)) for name, row in zip(_TABLE_3, rows, strict=True)}


THEMES_GATE = Gate(probes=4, enable=True, reliability={"causal": 1.0, "hybrid": 1.0})
COLLECTIONS = (
    PaperCollection(
        name="SciFact",
        documents=5183,
        queries=300,
        methods=_methods(
            (0.642, 0.159, 0.608),
            (0.716, 0.167, 0.693),
            (0.157, 0.033, 0.115),
            (0.157, 0.032, 0.115),
            (0.550, 0.135, 0.510),
        ),
        gate=Gate(probes=30, enable=False, reliability={"causal": 1.0, "hybrid": 0.992}),
    ),
    PaperCollection(
        name="NFCorpus",
        documents=3633,
        queries=323,
        methods=_methods(
            (0.317, 0.305, 0.523),
            (0.337, 0.323, 0.533),
            (0.136, 0.131, 0.228),
            (0.136, 0.131, 0.228),
            (0.266, 0.253, 0.466),
        ),
        gate=Gate(probes=30, enable=False, reliability={"causal": 1.0, "hybrid": 1.0}),
    ),
    PaperCollection(
        name="ArguAna",
        documents=8674,
        queries=1406,
        methods=_methods(
            (0.398, 0.127, 0.267),
            (0.470, 0.135, 0.346),
            (0.213, 0.050, 0.137),
            (0.212, 0.050, 0.136),
            (0.316, 0.086, 0.221),
        ),
        gate=Gate(probes=30, enable=False, reliability={"causal": 0.999, "hybrid": 0.955}),
    ),
)


def paper_collection(folder: str) -> PaperCollection | None:
    """Find what the paper says of a collection, by its folder's name in any case; None where it has no such one."""
    return next((one for one in COLLECTIONS if one.name.casefold() == folder.casefold()), None)
