"""The Calibrate page: grade what the rankings find, and learn whether re-ranking helps on these documents."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError, ParameterError
from causalviz.evaluation.qrels import trec_qrels
from causalviz.figures import reliability_figure
from causalviz.knowledge_base import write_gate
from causalviz.pipeline import SearchSettings
from causalviz.records import RankSettings
from causalviz.ui import present_judging
from causalviz.ui.judging import FIRST_QUESTIONS, Judged, default_choice
from causalviz.ui.library import SAMPLE_NAME, UPLOADS, Library, Upload
from causalviz.ui.pages.explore import Explore
from causalviz.ui.pages.failing import notice
from causalviz.ui.pages.uploads import base_choices, page_progress
from causalviz.ui.sources import read_uploads

_SESSION_SECONDS = 6 * 3600
_ABOUT = (
    "**Does re-ranking help on your documents?** Grade what is found for a few questions; this page measures which "
    "ranking puts the good documents first, and how sure that is. You do not see which ranking found a document, so "
    "that you judge the document alone."
)
_INTRO = (
    "Take questions from the documents’ own titles and headings to begin with, or upload questions people really ask: "
    "those tell more, since a title is answered best by the very document it comes from."
)
_CURVE = (
    "How to read it: draw questions at random from those that count, the same one possibly twice, and look whether "
    "they come to the same verdict. The more draws agree, the less the verdict hangs on which questions you asked."
)
FILE_TYPES = [".jsonl", ".txt", ".tsv", ".qrels"]
_VIEW = """
const root = element.querySelector(".cal-root");
const view = CausalVizView.calibration(root, (step) => trigger("input", step));
const draw = () => { if (props.value) view.show(JSON.parse(props.value)); };
watch("value", draw);
draw();
"""
_RESULTS = """
const view = CausalVizView.verdict(element.querySelector(".cal-root"));
const draw = () => { if (props.value) view.show(JSON.parse(props.value)); };
watch("value", draw);
draw();
"""
_TEMPLATE = '<div class="cal-root"></div>'

Labels = Mapping[str, Judged]
"""A session's labels by the name of the knowledge base."""


def build(library: Library, explored: Explore, tab: gr.Tab) -> gr.State:
    """Lay out the page and wire its events.

    Returns:
        The session's Labels.
    """
    labels = gr.State({}, time_to_live=_SESSION_SECONDS)
    gr.Markdown(_ABOUT, elem_id="calibrate-about")
    with gr.Row(elem_id="calibrate-bar", equal_height=True):
        base = gr.Dropdown(
            [SAMPLE_NAME],
            value=SAMPLE_NAME,
            label="Knowledge base",
            container=False,
            scale=0,
            min_width=190,
            elem_id="calibrate-base",
        )
        small: dict[str, Any] = {"size": "sm", "scale": 0}
        propose = gr.Button(
            f"Propose {FIRST_QUESTIONS} questions",
            variant="primary",
            min_width=170,
            elem_id="propose",
            **small,
        )
        upload = gr.UploadButton(
            "Upload questions or judgments",
            file_count="multiple",
            file_types=FILE_TYPES,
            min_width=220,
            elem_id="upload-judgments",
            **small,
        )
        save_questions = gr.Button("Save questions", min_width=130, elem_id="save-questions", **small)
        save_judgments = gr.Button("Save judgments (TREC)", min_width=170, elem_id="save-judgments", **small)
    with gr.Row(elem_id="calibrate-body"):
        with gr.Column(scale=6, min_width=480):
            cards = gr.HTML(
                "",
                html_template=_TEMPLATE,
                js_on_load=_VIEW,
                elem_id="calibrate-view",
                apply_default_css=False,
            )
        with gr.Column(scale=5, min_width=440):
            results = gr.HTML(
                "",
                html_template=_TEMPLATE,
                js_on_load=_RESULTS,
                elem_id="calibrate-results",
                apply_default_css=False,
            )
            keep = gr.Button("Keep this verdict", size="sm", interactive=False, elem_id="keep-verdict")
            curve = gr.Plot(show_label=False, visible=False, elem_id="calibrate-curve")
            about_curve = gr.Markdown(_CURVE, visible=False, elem_id="calibrate-curve-about")

    page = _Page(library)
    shown: list[gr.components.Component] = [labels, cards, results, keep, curve, about_curve]
    inputs: list[gr.components.Component] = [labels, base, explored.upload]
    # One after the other: each begins with the labels the one before left.
    private: dict[str, Any] = {
        "api_visibility": "private",
        "concurrency_id": "labels",
        "concurrency_limit": 1,
    }
    quiet = private | {"show_progress": "hidden"}
    quick: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}
    opened = tab.select(page.choose, [explored.base, explored.upload], base, **quick)
    opened.then(page.show, inputs, shown, **quiet)
    base.input(lambda name: name, base, explored.base, **quick).then(page.show, inputs, shown, **quiet)
    propose.click(page.propose, inputs, shown, **quiet)
    upload.upload(page.take_in, [upload, *inputs], shown, show_progress_on=cards, **private)
    cards.input(page.step, inputs, shown, trigger_mode="multiple", **quiet)
    keep.click(page.keep, inputs, results, **quiet)
    save_questions.click(page.save_questions, inputs, cards, **quick)
    save_judgments.click(page.save_judgments, inputs, cards, **quick)
    return labels


class _Page:
    """What the page's events call; the return values follow their outputs."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def choose(self, name: str, own: Upload | None) -> Any:  # noqa: ANN401 - a component update
        """Offer the knowledge bases there are, the one chosen on the Explore page first."""
        return base_choices(self._library, name, own)

    def show(self, labels: Labels, name: str, own: Upload | None) -> Any:  # noqa: ANN401 - component updates
        """Show a knowledge base's labels as they stand."""
        try:
            judged = self._judged(labels, name, own)
            return self._shown(labels, name, judged, judged.next_question())
        except CausalvizError as error:
            raise notice(error) from error

    def propose(self, labels: Labels, name: str, own: Upload | None) -> Any:  # noqa: ANN401 - as above
        """Add questions made from the documents."""
        try:
            judged = self._judged(labels, name, own).proposed()
            return self._shown(labels, name, judged, judged.next_question())
        except CausalvizError as error:
            raise notice(error) from error

    def take_in(
        self,
        paths: Sequence[str],
        labels: Labels,
        name: str,
        own: Upload | None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio's own way to ask for its progress bar
    ) -> Any:  # noqa: ANN401 - as above
        """Add uploaded questions and judgments."""
        files = [Path(path) for path in paths]
        try:
            queries, qrels = read_uploads(files)
            judged, left_out = self._judged(labels, name, own).imported(
                queries, qrels, page_progress(progress)
            )
            shown = self._shown(labels, name, judged, judged.next_question())
        except CausalvizError as error:
            raise notice(error) from error
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        if left_out:
            gr.Info(left_out.strip())
        return shown

    def step(self, labels: Labels, name: str, own: Upload | None, event: gr.EventData) -> Any:  # noqa: ANN401 - as above
        """Do what a person did on the cards: grade, grade the rest, undo, or go to a question."""
        try:
            return self._stepped(labels, name, self._judged(labels, name, own), event._data)  # noqa: SLF001 - an attribute per key would fail on a missing one
        except CausalvizError as error:
            return gr.skip(), present_judging.error_message(str(error)), *[gr.skip()] * 4

    def _stepped(self, labels: Labels, name: str, judged: Judged, step: object) -> Any:  # noqa: ANN401 - as above
        match step:
            case {"kind": "grade", "question": str(id_), "document": str(document), "grade": int(grade)}:
                after = judged.grade(id_, document, grade)
            case {"kind": "rest", "question": str(id_)}:
                after = judged.grade_rest(id_)
            case {"kind": "undo"}:
                after, undone = judged.undo()
                return self._shown(labels, name, after, undone or after.next_question())
            case {"kind": "next", "question": str(id_)}:
                return self._shown(labels, name, judged, judged.next_question(id_) or id_)
            case {"kind": "go", "question": str(id_)}:
                return self._shown(labels, name, judged, id_)
            case _:
                raise ParameterError("the page sent something that cannot be read; reload the page.")
        if judged.missing(id_) and not after.missing(id_):
            return self._shown(labels, name, after, after.next_question(id_) or id_)
        counts = not after.missing(id_)
        return (
            {**labels, name: after},
            present_judging.list_message(after),
            *(self._results(after, name) if counts else [gr.skip()] * 4),
        )

    def keep(self, labels: Labels, name: str, own: Upload | None) -> str:
        """Keep the verdict with the knowledge base."""
        try:
            judged = self._judged(labels, name, own)
            write_gate(judged.pipeline.base.path, judged.record())
        except CausalvizError as error:
            raise notice(error) from error
        return present_judging.results_message(judged, f"Kept for {_who(name)}. {self._kept(judged)}")

    def save_questions(self, labels: Labels, name: str, own: Upload | None) -> str:
        """Give the questions as a file."""
        return self._saved(labels, name, own, lambda judged: ("queries.jsonl", judged.questions_file()))

    def save_judgments(self, labels: Labels, name: str, own: Upload | None) -> str:
        """Give the grades as a file."""
        return self._saved(labels, name, own, lambda judged: ("qrels.txt", trec_qrels(judged.judgments())))

    def _saved(
        self, labels: Labels, name: str, own: Upload | None, write: Callable[[Judged], tuple[str, str]]
    ) -> str:
        try:
            return present_judging.save_message(*write(self._judged(labels, name, own)), "text/plain")
        except CausalvizError as error:
            raise notice(error) from error

    def _judged(self, labels: Labels, name: str, own: Upload | None) -> Judged:
        pipeline = self._library.pipeline_for(name, own)
        found = labels.get(name)
        return Judged(pipeline=pipeline) if found is None else found.moved_to(pipeline)

    def _shown(self, labels: Labels, name: str, judged: Judged, id_: str | None) -> tuple[Any, ...]:
        """Show one question, or what can be done without one, and the results."""
        if id_ is None and judged.queries:
            id_ = next(iter(judged.queries))
        if id_ is None:
            card = present_judging.intro_message(_INTRO)
        else:
            judged = judged.ask(id_)
            card = present_judging.card_message(judged, id_)
        return {**labels, name: judged}, card, *self._results(judged, name)

    def _results(self, judged: Judged, name: str) -> tuple[Any, ...]:
        verdict = judged.verdict
        return (
            present_judging.results_message(judged, self._kept(judged)),
            gr.Button(f"Keep this verdict for {_who(name)}", interactive=verdict is not None),
            gr.Plot(reliability_figure(verdict), visible=True) if verdict else gr.Plot(visible=False),
            gr.Markdown(visible=verdict is not None),
        )

    @staticmethod
    def _kept(judged: Judged) -> str:
        search = SearchSettings()
        settings = RankSettings(tau=judged.pipeline.default_tau(centred=search.centred).tau)
        return default_choice(judged.pipeline, search, settings).note or ""


def _who(name: str) -> str:
    """Say who sees a verdict."""
    return "your uploads (nobody else sees it)" if name == UPLOADS else "everybody who uses this app"
