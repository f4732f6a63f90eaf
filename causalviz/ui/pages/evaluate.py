"""The Evaluate page: questions whose answers are known, both columns' measures, and the way to each question."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError, ParameterError
from causalviz.evaluation.qrels import trec_qrels
from causalviz.records import DEFAULT_METHOD, Method
from causalviz.ui import present, present_judging
from causalviz.ui.library import SAMPLE_NAME, Library, Upload
from causalviz.ui.pages.calibrate import FILE_TYPES, Labels
from causalviz.ui.pages.explore import EXPLORE, Explore
from causalviz.ui.pages.failing import notice
from causalviz.ui.pages.uploads import base_choices, page_progress
from causalviz.ui.places import temporary
from causalviz.ui.questions import Answers, csv_of, json_of, judged_answers, surface, theme_answers
from causalviz.ui.sources import read_uploads
from causalviz.ui.tuning import Sample, questions_in

_SESSION_SECONDS = 6 * 3600
_THEMES, _LABELS, _JUDGMENTS, _OWN_THEMES = "sample", "labels", "judgments", "themes"
_SOURCES = [
    ("the sample’s themes", _THEMES),
    ("what I labelled in Calibrate", _LABELS),
    ("my questions and judgments", _JUDGMENTS),
    ("my THEMES.jsonl", _OWN_THEMES),
]
_ABOUT = (
    "**How good is each ranking where the answers are known?** Choose questions with known answers; a click on one "
    "opens it on the Explore page."
)
_VIEW = """
const view = CausalVizView.evaluation(element.querySelector(".cal-root"), (id) => trigger("select", { id }));
const draw = () => { if (props.value) view.show(JSON.parse(props.value)); };
watch("value", draw);
draw();
"""

_NOTHING = {
    _THEMES: "open this page again to measure the sample.",
    _LABELS: "no question counts yet on this knowledge base; grade all documents of some on the Calibrate page.",
    _JUDGMENTS: "upload a list of questions (queries.jsonl) and their judgments (TREC qrels or BEIR) together.",
    _OWN_THEMES: "upload a themes file, one theme a line.",
}
_SAVED: dict[str, tuple[Callable[[Answers], str], str, str]] = {
    "csv": (csv_of, "evaluation.csv", "text/csv"),
    "json": (json_of, "evaluation.json", "application/json"),
    "qrels": (lambda answers: trec_qrels(answers.qrels), "qrels.txt", "text/plain"),
}

_DRAWING = "The map over tau and alpha is being drawn."

Folder = tempfile.TemporaryDirectory[str]
Kept = Mapping[str, Answers]
"""What a session measured, by source."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What this page uses of the others."""

    explore: Explore
    labels: gr.State
    tabs: gr.Tabs


def build(library: Library, sample: Sample, around: Around, tab: gr.Tab) -> None:
    """Lay out the page and wire its events; nothing is computed before its tab is opened."""
    kept = gr.State({}, time_to_live=_SESSION_SECONDS)
    folder = gr.State(None, time_to_live=_SESSION_SECONDS, delete_callback=_discard)
    gr.Markdown(_ABOUT, elem_id="evaluate-about")
    small: dict[str, Any] = {"size": "sm", "scale": 0}
    with gr.Row(elem_id="evaluate-bar", equal_height=True):
        gr.Markdown("Questions from", elem_classes="bar-label")
        source = gr.Radio(
            _SOURCES,
            value=_THEMES,
            label="Questions from",
            container=False,
            scale=8,
            elem_id="evaluate-source",
        )
        base = gr.Dropdown(
            [SAMPLE_NAME],
            value=SAMPLE_NAME,
            label="Knowledge base",
            container=False,
            visible=False,
            scale=0,
            min_width=190,
            elem_id="evaluate-base",
        )
        judgments = gr.UploadButton(
            "Upload questions + judgments",
            file_count="multiple",
            file_types=FILE_TYPES,
            visible=False,
            min_width=220,
            elem_id="evaluate-judgments",
            **small,
        )
        themes = gr.UploadButton(
            "Upload THEMES.jsonl",
            file_types=[".jsonl"],
            visible=False,
            min_width=170,
            elem_id="evaluate-themes",
            **small,
        )
    with gr.Row(elem_id="evaluate-options", equal_height=True):
        gr.Markdown("Compare similarity with", elem_classes="bar-label")
        method = gr.Radio(
            present_judging.choices(),
            value=DEFAULT_METHOD,
            label="Compare similarity with",
            container=False,
            scale=8,
            elem_id="evaluate-method",
        )
        saves = {
            kind: gr.Button(words, min_width=width, elem_id=f"evaluate-{kind}", **small)
            for kind, words, width in (
                ("csv", "Save CSV", 100),
                ("json", "Save JSON", 100),
                ("qrels", "Save judgments (TREC)", 170),
            )
        }
    view = gr.HTML(
        "",
        html_template='<div class="cal-root"></div>',
        js_on_load=_VIEW,
        elem_id="evaluate-view",
        apply_default_css=False,
    )
    said = gr.Markdown(elem_id="evaluate-said")
    plane = gr.Plot(show_label=False, visible=False, elem_id="evaluate-map")

    page = _Page(library, sample)
    explored = around.explore
    private: dict[str, Any] = {"api_visibility": "private"}
    quiet = private | {"show_progress": "hidden"}
    # Answered at once: nothing to wait for in the queue.
    quick = quiet | {"queue": False}
    own = [source, base, explored.upload, around.labels]
    opened = tab.select(
        lambda name, upload: base_choices(library, name, upload),
        [explored.base, explored.upload],
        base,
        **quick,
    )
    picked = source.input(page.controls, source, [base, judgments, themes], **quick)
    chosen = base.input(lambda name: name, base, explored.base, **quick)
    asked = [
        event.then(page.measure, [*own, kept], kept, show_progress_on=view, **private)
        for event in (opened, picked, chosen)
    ]
    asked += [
        judgments.upload(
            page.take_judgments,
            [judgments, base, explored.upload, kept],
            kept,
            show_progress_on=view,
            **private,
        ),
        themes.upload(
            page.take_themes, [themes, folder, kept], [kept, folder], show_progress_on=view, **private
        ),
    ]
    for event in asked:
        event.success(page.show, [kept, source, method], view, **quick).then(
            lambda: _DRAWING, None, said, **quick
        ).then(page.surface, [kept, source], [said, plane], **quiet)
    method.input(page.show, [kept, source, method], view, **quick)
    clicked = view.select(
        page.open,
        [kept, source, method],
        [around.tabs, explored.question, explored.view, explored.asked, explored.ruling],
        **quick,
    )
    explored.follow(clicked)
    for kind, button in saves.items():
        button.click(partial(page.save, kind), [kept, source], view, **quick)


class _Page:
    """What the page's events call; the return values follow their outputs."""

    def __init__(self, library: Library, sample: Sample) -> None:
        self._library, self._sample = library, sample

    @staticmethod
    def controls(source: str) -> Any:  # noqa: ANN401 - component updates
        """Show what a source needs."""
        return (
            gr.Dropdown(visible=source in {_LABELS, _JUDGMENTS}),
            gr.UploadButton(visible=source == _JUDGMENTS),
            gr.UploadButton(visible=source == _OWN_THEMES),
        )

    def measure(  # noqa: PLR0913, PLR0917 - in the components' order
        self,
        source: str,
        name: str,
        own: Upload | None,
        labels: Labels,
        kept: Kept,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio's own way to ask for its progress bar
    ) -> Kept:
        """Ask what a source holds, unless that waits for a file."""
        try:
            if source == _THEMES:
                return {**kept, source: theme_answers(self._sample.labelled(page_progress(progress)))}
            if source == _LABELS:
                judged = labels.get(name)
                if judged is None:
                    return {key: answers for key, answers in kept.items() if key != source}
                return {
                    **kept,
                    source: judged.moved_to(self._library.pipeline_for(name, own)).answers,
                }
        except CausalvizError as error:
            raise notice(error) from error
        return kept

    def take_judgments(
        self,
        paths: Sequence[str],
        name: str,
        own: Upload | None,
        kept: Kept,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - as above
    ) -> Kept:
        """Ask uploaded questions whose judgments were uploaded with them."""
        files = [Path(path) for path in paths]
        try:
            queries, qrels = read_uploads(files)
            if not queries or not qrels:
                found = "judgments" if qrels else "questions"
                raise ParameterError(
                    f"there is a file of {found} alone; choose two files together, the questions and their judgments."
                )
            pipeline = self._library.pipeline_for(name, own)
            return {**kept, _JUDGMENTS: judged_answers(pipeline, queries, qrels, page_progress(progress))}
        except CausalvizError as error:
            raise notice(error) from error
        finally:
            for file in files:
                file.unlink(missing_ok=True)

    def take_themes(
        self,
        path: str,
        folder: Folder | None,
        kept: Kept,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - as above
    ) -> tuple[Kept, Folder]:
        """Ask the themes of an uploaded file; they stay on disk as long as the session."""
        folder = folder or tempfile.TemporaryDirectory(dir=temporary())
        try:
            bar = page_progress(progress)
            labelled = questions_in(Path(folder.name), Path(path), self._library.encoder, bar)
        except CausalvizError as error:
            raise notice(error) from error
        finally:
            Path(path).unlink(missing_ok=True)
        return {**kept, _OWN_THEMES: theme_answers(labelled)}, folder

    @staticmethod
    def show(kept: Kept, source: str, method: Method) -> str:
        """Show what was measured, or what is missing."""
        answers = kept.get(source)
        if answers is None or not answers.questions:
            return present_judging.empty_message(_NOTHING[source])
        return present_judging.evaluation_message(answers, method)

    @staticmethod
    def surface(kept: Kept, source: str) -> Any:  # noqa: ANN401 - component updates
        """Draw the map of the mean over tau and alpha."""
        answers = kept.get(source)
        if answers is None or not answers.questions:
            return "", gr.Plot(visible=False)
        words, figure = surface(answers)
        return words, gr.Plot(visible=False) if figure is None else gr.Plot(figure, visible=True)

    @staticmethod
    def open(kept: Kept, source: str, method: Method, event: gr.EventData) -> Any:  # noqa: ANN401 - component updates
        """Show a question on the Explore page as it was measured."""
        try:
            answers = _needed(kept, source)
            data = event._data  # noqa: SLF001 - an attribute would fail where the page sent none
            question = answers.question(data.get("id") if isinstance(data, dict) else None)
        except CausalvizError as error:
            raise notice(error) from error
        trace = replace(question.trace, settings=replace(question.trace.settings, method=method))
        words = (
            f"As measured on Evaluate ({answers.name}), ranked by {present_judging.METHOD_WORDS[method]}. “Ask” asks "
            "the knowledge base chosen above anew."
        )
        return (
            gr.Tabs(selected=EXPLORE),
            question.text,
            present.trace_message(trace, ruling=f"evaluate {question.id} {method}"),
            (answers.pipeline, trace),
            gr.Markdown(present.plain_markdown(words), visible=True),
        )

    @staticmethod
    def save(kind: str, kept: Kept, source: str) -> str:
        """Give what was measured as a file."""
        write, name, mime = _SAVED[kind]
        try:
            return present_judging.save_message(name, write(_needed(kept, source)), mime)
        except CausalvizError as error:
            raise notice(error) from error


def _needed(kept: Kept, source: str) -> Answers:
    answers = kept.get(source)
    if answers is None or not answers.questions:
        raise ParameterError(f"nothing is measured yet: {_NOTHING[source]}")
    return answers


def _discard(folder: Folder | None) -> None:
    if folder is not None:
        folder.cleanup()
