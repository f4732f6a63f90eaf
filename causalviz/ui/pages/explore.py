"""The Explore page: ask one question, see both rankings and why."""

import json
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import RankSettings, Trace, Unit
from causalviz.ui import present
from causalviz.ui.library import SAMPLE_NAME, Library, Upload
from causalviz.ui.pages import uploads
from causalviz.ui.pages.failing import notice
from causalviz.ui.pages.missing import MissingDrawer

_SESSION_SECONDS = 6 * 3600

# These snippets run in the page. The view and the trace it was given hang on its root element.
_ON_LOAD = """
const root = element.querySelector(".causalviz-root");
const view = CausalVizView.mount(root, { graph: JSON.parse(props.graph) });
root.view = view;
watch("value", () => {
  const message = JSON.parse(props.value);
  if (message.trace) view.show((root.trace = message.trace));
  if (message.chosen) view.setState({ chosen: message.chosen });
  if (message.texts) view.showTexts(message.texts);
  if (message.error) view.setStatus({ kind: "error", message: message.error });
  if (message.report) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([message.report], { type: "text/html" }));
    link.download = "causalviz-report.html";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
});
"""
# The state is read where it lives, when the button is pressed.
_WITH_STATE = """(last, leave) => {
  const view = document.querySelector(".causalviz-root").view;
  return [last, leave, JSON.stringify(view ? view.state() : null)];
}"""
_SHOW_LOADING = """(...values) => {
  document.querySelector(".causalviz-root").view?.setStatus({ kind: "loading", message: "Looking for documents" });
  return values;
}"""
_SWITCH_THEME = "() => { document.body.classList.toggle('dark'); }"
_TITLE = "<div class='brand'><strong>CausalViz</strong><span>why a retriever ranks what it ranks</span></div>"


def build(library: Library) -> None:
    """Lay out the page and wire its events."""
    asked = gr.State(None, time_to_live=_SESSION_SECONDS)
    with gr.Row(elem_id="top-bar", equal_height=True):
        gr.HTML(_TITLE, elem_id="brand", js_on_load=None, min_width=150)
        base = gr.Dropdown(
            library.names(),
            value=SAMPLE_NAME,
            label="Knowledge base",
            container=False,
            min_width=150,
            elem_id="knowledge-base",
        )
        question = gr.Textbox(
            label="Question",
            placeholder="What do you want to find out?",
            container=False,
            scale=8,
            max_lines=3,
            elem_id="question",
        )
        ask = gr.Button("Ask", variant="primary", scale=0, min_width=96, elem_id="ask")
        theme = gr.Button("◐", scale=0, min_width=44, elem_id="theme")
    examples = gr.Dataset(
        components=[question],
        samples=[[query] for query in present.prepared_questions()],
        label="Prepared questions on the sample",
        elem_id="examples",
    )
    with gr.Row(elem_id="drawers"):
        upload = uploads.build(library, base)
        missing = MissingDrawer()
        options = _search_options()
        with gr.Accordion("Save a report", open=False, elem_id="report-bar"):
            leave = gr.Checkbox(label="Leave document text out", info="Keywords and scores stay; titles go too.")
            report = gr.Button("Save as one HTML file", size="sm", elem_id="save-report")
            shown = gr.Textbox(visible=False)
    view = gr.HTML(
        "",
        html_template='<div class="causalviz-root"></div>',
        js_on_load=_ON_LOAD,
        graph=json.dumps(present.graph()),
        elem_id="explore-view",
        apply_default_css=False,
    )

    def on_ask(query: str, name: str, own: Upload | None, *chosen: Any) -> Any:  # noqa: ANN401 - what Gradio passes and takes
        try:
            pipeline = library.pipeline_for(name, own)
            search = _search_settings(*chosen)
            trace = pipeline.ask(
                query, search, RankSettings(tau=pipeline.encoder.default_tau(centred=search.centred))
            )
        except CausalvizError as error:
            return present.error_message(str(error)), None
        return present.trace_message(trace), (pipeline, trace)

    def on_asked(last: tuple[Pipeline, Trace] | None) -> Any:  # noqa: ANN401 - a message, or no update
        return present.texts_message(*last) if last else gr.skip()

    def on_report(last: tuple[Pipeline, Trace] | None, leave: bool, state: str) -> str:  # noqa: FBT001 - a checkbox
        if last is None:
            return present.error_message("there is nothing to report yet; ask a question first.")
        try:
            return present.report_message(*last, state, with_texts=not leave)
        except CausalvizError as error:
            raise notice(error) from error

    inputs = [question, base, upload, *options]
    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    picked = examples.click(lambda row: (row[0], SAMPLE_NAME), examples, [question, base], **private)
    for trigger in (ask.click, question.submit, picked.then):
        # The texts follow in a second message: finding keywords in them takes longer than ranking.
        answered = trigger(on_ask, inputs, [view, asked], js=_SHOW_LOADING, **private)
        answered.then(on_asked, asked, view, **private)
        answered.then(MissingDrawer.choices, asked, missing.document, **private)
    missing.wire(asked, view)
    report.click(on_report, [asked, leave, shown], view, js=_WITH_STATE, **private)
    theme.click(None, js=_SWITCH_THEME, api_visibility="private")


def _search_options() -> list[gr.components.Component]:
    """Components in the order of _search_settings' parameters."""
    defaults = SearchSettings()
    with gr.Accordion("Search options", open=False, elem_id="options"), gr.Row():
        return [
            gr.Slider(1, 100, defaults.top_k, step=1, label="Candidates (top k)"),
            gr.Slider(-1, 1, defaults.theta, step=0.01, label="Least similarity of a candidate (theta)"),
            gr.Radio(
                [("documents", "document"), ("chunks of 4,096 characters", "chunk")],
                value=defaults.unit,
                label="What is ranked",
            ),
            gr.Checkbox(
                value=defaults.centred,
                label="Centre keyword vectors",
                info="Subtract their mean before comparing them.",
            ),
        ]


def _search_settings(top_k: float, theta: float, unit: Unit, centred: bool) -> SearchSettings:  # noqa: FBT001 - in the components' order
    return SearchSettings(top_k=int(top_k), theta=theta, unit=unit, centred=centred)
