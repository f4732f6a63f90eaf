"""Tuning tau and alpha over labelled questions, without a page: ask, measure, say what is best."""

import tempfile
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from causalviz.arrays import IndexVector
from causalviz.bootstrap import SAMPLE, indexed_pipeline, themes_pipeline
from causalviz.errors import ParameterError
from causalviz.evaluation.themes import Theme, read_themes
from causalviz.explain.metric_plane import BestRegion, Case, MetricPlane, best_region, metric_plane, rank_case
from causalviz.explain.states import position
from causalviz.figures import plane_figure
from causalviz.knowledge_base import RecordEntry
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder, Progress
from causalviz.records import RankSettings, Trace
from causalviz.settings import Settings
from causalviz.ui.places import temporary

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Labelled:
    """Themes with their traces, each over its own documents."""

    name: str
    pipeline: Pipeline
    themes: tuple[Theme, ...]
    traces: tuple[Trace, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """What is averaged over the questions."""

    name: str
    highest: bool
    """Whether more is better."""
    cases: Callable[[Theme, Trace], Sequence[Case]]
    """What of one theme enters the mean."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tuned:
    """A measure over the whole plane, ready to be shown."""

    plane: MetricPlane
    best: BestRegion
    figure: "Figure"
    sentence: str


def _target_rank(theme: Theme, trace: Trace) -> Sequence[Case]:
    return [rank_case(trace, position(trace, theme.target))]


def _target_first(theme: Theme, trace: Trace) -> Sequence[Case]:
    target = position(trace, theme.target)

    def first(order: IndexVector) -> float:
        return float(order[0] == target)

    return [Case(trace=trace, watched=(target,), metric=first)]


def _stuffed_ranks(theme: Theme, trace: Trace) -> Sequence[Case]:
    # One case a document, as `diagnose` averages: over all stuffed documents of the file.
    return [rank_case(trace, position(trace, document)) for document in theme.stuffed]


MEASURES = {
    measure.name: measure
    for measure in (
        Measure(name="mean target rank", highest=False, cases=_target_rank),
        Measure(name="mean stuffed rank", highest=True, cases=_stuffed_ranks),
        Measure(name="share of themes whose target is first", highest=True, cases=_target_first),
    )
}


class Sample:
    """The sample's questions: asked when somebody first wants to see them, then shared by all sessions."""

    def __init__(self, encoder: Callable[[], Encoder], settings: Settings) -> None:
        self._encoder, self._settings = encoder, settings
        self._lock = threading.Lock()
        self._labelled: Labelled | None = None

    def labelled(self, progress: Progress) -> Labelled:
        """Return them."""
        with self._lock:
            encoder = self._encoder()
            if self._labelled is None or self._labelled.pipeline.base.encoder != encoder.name:
                self._labelled = sample_questions(encoder, self._settings, progress)
            return self._labelled


def sample_questions(encoder: Encoder, settings: Settings, progress: Progress) -> Labelled:
    """Ask the sample's eight themes; their documents are indexed once and kept in the cache."""
    file = SAMPLE / "themes.jsonl"
    themes = read_themes(file)
    pipeline = themes_pipeline(themes, file, encoder, settings, progress)
    return Labelled(name="the sample", pipeline=pipeline, themes=themes, traces=_asked(themes, pipeline))


def own_questions(file: Path, encoder: Encoder, progress: Progress) -> Labelled:
    """Ask the themes of a user's file; nothing of it is kept on disk, so the pipeline has no texts.

    Raises:
        ThemesError: it is no themes file.
    """
    with tempfile.TemporaryDirectory(dir=temporary()) as folder:
        return questions_in(Path(folder), file, encoder, progress)


def questions_in(folder: Path, file: Path, encoder: Encoder, progress: Progress) -> Labelled:
    """Ask the themes of a user's file, which are indexed into a folder.

    Raises:
        ThemesError: it is no themes file.
    """
    themes = read_themes(file)
    source = [RecordEntry(document) for theme in themes for document in theme.documents]
    pipeline = indexed_pipeline(folder / f"{uuid.uuid4().hex}.kb", source, encoder, progress, file.stem)
    return Labelled(name=file.name, pipeline=pipeline, themes=themes, traces=_asked(themes, pipeline))


def _asked(themes: Sequence[Theme], pipeline: Pipeline) -> tuple[Trace, ...]:
    settings = RankSettings(tau=pipeline.default_tau(centred=False).tau)
    return tuple(
        pipeline.ask_among(theme.query, [d.id for d in theme.documents], SearchSettings(), settings)
        for theme in themes
    )


def tuned(labelled: Labelled, measure: Measure) -> Tuned:
    """Map a measure of the hybrid over the whole plane and find where it is best.

    Raises:
        ParameterError: no document has the role that the measure looks at.
    """
    pairs = zip(labelled.themes, labelled.traces, strict=True)
    cases = [case for theme, trace in pairs for case in measure.cases(theme, trace)]
    if not cases:
        raise ParameterError(
            f"no document of {labelled.name} has the role that '{measure.name}' looks at; label some, or choose "
            "another measure."
        )
    current = labelled.traces[0].settings
    plane = metric_plane(cases, current)
    best = best_region(plane, highest=measure.highest)
    here = plane.at(current.tau, current.alpha)
    region = best.region.sentence(f"Best {measure.name}: {best.value:.3g},")
    default = (
        ""
        if here is None
        else f" At the default (tau {current.tau:g}, alpha {current.alpha:g}) it is {here:.3g}."
    )
    return Tuned(
        plane=plane,
        best=best,
        figure=plane_figure(plane, best, current, measure=measure.name, highest=measure.highest),
        sentence=f"{region}.{default} This is best for these {len(labelled.themes)} questions; try it on others "
        "before you rely on it.",
    )
