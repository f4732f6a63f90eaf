"""The drawer that answers "why is this document missing?"."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError, ParameterError
from causalviz.pipeline import Pipeline
from causalviz.records import Trace
from causalviz.ui import present
from causalviz.ui.missing import explain_missing
from causalviz.ui.pages.failing import notice

MOST_CHOICES = 3000
"""Longer lists of documents are not sent to the page; an id can be typed."""

_WITH_STATE = """(last, id) => {
  const view = document.querySelector(".causalviz-root").view;
  return [last, id, JSON.stringify(view ? view.state() : null)];
}"""


class MissingDrawer:
    """Laid out where it is made; wired once the view exists."""

    def __init__(self) -> None:
        with gr.Accordion("Why is a document missing?", open=False, elem_id="missing"):
            self.document = gr.Dropdown(
                [],
                label="A document that is not among the candidates",
                allow_custom_value=True,
                elem_id="missing-document",
            )
            self.why = gr.Button("Why?", size="sm", elem_id="missing-why")
            self.answer = gr.Textbox(
                label="Answer", interactive=False, visible=False, lines=2, elem_id="missing-answer"
            )
            self._state = gr.Textbox(visible=False)

    def wire(self, asked: gr.State, view: gr.HTML, texts: Callable[..., Any]) -> None:
        """React to the button: the answer in words, and the ranking with the document added and chosen.

        Args:
            asked: What the session asked last.
            view: Where the ranking is drawn.
            texts: Gives the message with the texts of what was asked.
        """

        def on_why(last: tuple[Pipeline, Trace] | None, unit_id: str | None, state: str) -> Any:  # noqa: ANN401 - component updates
            try:
                if last is None or not unit_id:
                    raise ParameterError("ask a question and choose a document first.")
                pipeline, trace = last
                words, widened = explain_missing(pipeline, trace, unit_id, present.view_state(state)[0])
            except CausalvizError as error:
                raise notice(error) from error
            return (
                gr.Textbox(words, visible=True),
                present.trace_message(widened, chosen=unit_id),
                (pipeline, widened),
            )

        event = self.why.click(
            on_why,
            [asked, self.document, self._state],
            [self.answer, view, asked],
            js=_WITH_STATE,
            api_visibility="private",
            show_progress="hidden",
        )
        event.then(texts, asked, view, api_visibility="private", show_progress="hidden")

    @staticmethod
    def choices(last: tuple[Pipeline, Trace] | None) -> Any:  # noqa: ANN401 - a component update
        """Offer the documents that are not candidates of the question just asked."""
        if last is None:
            return gr.Dropdown(choices=[], value=None)
        pipeline, trace = last
        table = pipeline.base.units(trace.unit)
        there = {candidate.id for candidate in trace.candidates}
        others = [
            (f"{title} · {id_}", id_)
            for id_, title in zip(table.ids, table.titles, strict=True)
            if id_ not in there
        ]
        return gr.Dropdown(choices=others[:MOST_CHOICES], value=None)
