"""A cross-encoder's scores come in after the ranking, with word of how far they are, and stop for a new question."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from test_pipeline import SETTINGS, TEXTS, LengthReranker, make_pipeline

from causalviz.errors import BackendError, StoppedError
from causalviz.pipeline import Pipeline, SearchSettings, with_reranker
from causalviz.protocols import Progress
from causalviz.records import Trace
from causalviz.settings import Settings
from causalviz.ui.crossing import Crossing
from causalviz.ui.library import Library

Score = Callable[[Trace, Progress], Trace]


class Scoring(Library):
    """Scores as told, without a model."""

    def __init__(self, home: Path, score: Score) -> None:
        """Have a home that is never used."""
        super().__init__(Settings(home=home, encoder="words", host="", port=1, reranker="told"), "words")
        self._score = score

    def crossed(self, pipeline: Pipeline, trace: Trace, progress: Progress) -> Trace:  # noqa: ARG002 - as the real one
        """Score."""
        return self._score(trace, progress)


def asked(folder: Path) -> tuple[Pipeline, Trace]:
    pipeline, _ = make_pipeline(folder, TEXTS)
    return pipeline, pipeline.ask("late interaction", SearchSettings(theta=-1.0), SETTINGS)


def at_once(trace: Trace, progress: Progress) -> Trace:
    return with_reranker(trace, LengthReranker(), TEXTS, progress)


def test_a_quick_run_gives_the_scores_and_says_nothing(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path)
    (found,) = Crossing(Scoring(tmp_path, at_once)).run("a", pipeline, trace, every=600)
    assert isinstance(found, Trace)
    assert found.reranker == "length"


def test_a_long_run_tells_how_far_it_is(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path)
    go_on = threading.Event()

    def slowly(trace: Trace, progress: Progress) -> Trace:
        progress(1, 4, "scoring")
        go_on.wait()
        return at_once(trace, progress)

    run = Crossing(Scoring(tmp_path, slowly)).run("a", pipeline, trace, every=0.01)
    first = next(run)
    assert isinstance(first, str)
    assert first.startswith("The cross-encoder reads the candidates: ")
    go_on.set()
    *_, last = run
    assert isinstance(last, Trace)


def test_a_new_question_stops_the_run_of_the_one_before_and_of_nobody_else(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path)
    other = replace(trace, query="another question")
    go_on = threading.Event()

    def slowly(trace: Trace, progress: Progress) -> Trace:
        if trace is not other:
            go_on.wait()
        return at_once(trace, progress)

    crossing = Crossing(Scoring(tmp_path, slowly))
    mine, theirs = (crossing.run(session, pipeline, trace, every=0.01) for session in "ab")
    assert isinstance(next(mine), str)
    assert isinstance(next(theirs), str)
    *_, found = crossing.run("a", pipeline, other)
    assert isinstance(found, Trace)
    assert found.query == "another question"
    go_on.set()
    with pytest.raises(StoppedError):
        list(mine)
    *_, found = theirs
    assert isinstance(found, Trace)


def test_a_failure_of_the_model_reaches_whoever_asked(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path)

    def fail(_trace: Trace, _progress: Progress) -> Trace:
        raise BackendError("memory ran out; choose a smaller model.")

    with pytest.raises(BackendError, match="memory ran out"):
        list(Crossing(Scoring(tmp_path, fail)).run("a", pipeline, trace))


def test_a_library_scores_with_the_cross_encoder_its_settings_name(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path)
    nobody = Settings(home=tmp_path, encoder="words", host="", port=1)
    assert not Library(nobody, "words").has_reranker
    library = Library(replace(nobody, reranker="nonsense"), "words")
    assert library.has_reranker
    with pytest.raises(ValueError, match="there is no reranker 'nonsense'"):
        library.crossed(pipeline, trace, lambda *_: None)
