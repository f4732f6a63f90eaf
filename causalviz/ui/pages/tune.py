"""The Tune page: one measure over the whole (tau, alpha) plane, for questions whose answers are known."""

from pathlib import Path
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError
from causalviz.ui.library import Library
from causalviz.ui.pages.failing import notice
from causalviz.ui.pages.uploads import page_progress
from causalviz.ui.tuning import MEASURES, Labelled, Sample, own_questions, tuned

_SESSION_SECONDS = 6 * 3600
_ABOUT = (
    "Every point is a pair of **tau** and **alpha**; its colour is the measure's mean over questions whose answers are "
    "known. The best region and its value are exact for the hybrid score: no grid of settings was tried."
)


def build(library: Library, sample: Sample, tab: gr.Tab) -> None:
    """Lay out the page and wire its events; nothing is computed before its tab is opened."""
    own = gr.State(None, time_to_live=_SESSION_SECONDS)
    with gr.Row(elem_id="tune-bar", equal_height=True):
        names = list(MEASURES)
        measure = gr.Radio(names, value=names[0], label="Measure", container=False, elem_id="tune-measure")
        upload = gr.UploadButton(
            "Use my own THEMES.jsonl",
            file_types=[".jsonl"],
            size="sm",
            scale=0,
            min_width=210,
            elem_id="tune-upload",
        )
        back = gr.Button(
            "Back to the sample", size="sm", scale=0, min_width=160, visible=False, elem_id="tune-back"
        )
    said = gr.Markdown("Open this page to measure the eight sample questions.", elem_id="tune-said")
    plot = gr.Plot(show_label=False, elem_id="tune-map")
    gr.Markdown(_ABOUT, elem_id="tune-about")

    def on_open(mine: Labelled | None, name: str, progress: gr.Progress = gr.Progress()) -> Any:  # noqa: ANN401, B008 - Gradio's own way to ask for its progress bar
        try:
            found = tuned(mine or sample.labelled(page_progress(progress)), MEASURES[name])
        except CausalvizError as error:
            raise notice(error) from error
        return f"**{found.sentence}**", found.figure

    def on_upload(path: str, progress: gr.Progress = gr.Progress()) -> Any:  # noqa: ANN401, B008 - as above
        try:
            labelled = own_questions(Path(path), library.encoder, page_progress(progress))
        except CausalvizError as error:
            raise notice(error) from error
        finally:
            Path(path).unlink(missing_ok=True)
        return labelled, gr.Button(visible=True), f"Measuring {len(labelled.themes)} questions of your own."

    shown: list[gr.components.Component] = [said, plot]
    private: dict[str, Any] = {"api_visibility": "private"}
    tab.select(on_open, [own, measure], shown, **private)
    measure.input(on_open, [own, measure], shown, **private)
    upload.upload(on_upload, upload, [own, back, said], **private).success(
        on_open, [own, measure], shown, **private
    )
    back.click(lambda: (None, gr.Button(visible=False)), None, [own, back], **private).then(
        on_open, [own, measure], shown, **private
    )
