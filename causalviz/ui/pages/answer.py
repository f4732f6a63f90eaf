"""The Answer page: what a chat model answers from the first documents of either ranking, side by side."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr
from gradio.context import Context

from causalviz.answer.prompt import TEMPLATE
from causalviz.answer.translation import Translations
from causalviz.errors import CausalvizError, ParameterError
from causalviz.pipeline import normalise_query
from causalviz.records import DEFAULT_METHOD, RankSettings, Trace
from causalviz.ui import present, present_answer, present_judging
from causalviz.ui.answering import AnswerSettings, Columns, Session, answers, prompts
from causalviz.ui.models import Models
from causalviz.ui.pages.explore import Asked, Explore

_SESSION_SECONDS = 6 * 3600
_ABOUT = (
    "**Does the order of the documents change the answer?** The same question is answered twice, from the first "
    "documents by similarity and from the first re-ranked, and each sentence is held against the sources."
)
_VIEW = """
const view = CausalVizView.answers(element.querySelector(".ans-root"));
watch("value", () => { if (props.value) view.show(JSON.parse(props.value)); });
"""
_BUSY = """(...values) => {
  document.querySelector("#answer-view .ans-root").dispatchEvent(new CustomEvent("asked"));
  return values;
}"""
_FAILED = (
    "() => { document.querySelector('#answer-view .ans-root').dispatchEvent(new CustomEvent('failed')); }"
)
# tau, alpha and the rest as they stand on the Explore page when the button is pressed.
_WITH_STATE = """(last, session, _, ...values) => {
  const view = document.querySelector(".causalviz-root").view;
  return [last, session, JSON.stringify(view ? view.state() : null), ...values];
}"""


def build(models: Models, explored: Explore, tab: gr.Tab) -> None:
    """Lay out the page and wire its events; no model is loaded before the first question."""
    session = gr.State(None, time_to_live=_SESSION_SECONDS)
    state = gr.Textbox(visible=False)
    ready = models.has_chat
    gr.Markdown(_ABOUT, elem_id="answer-about")
    with gr.Row(elem_id="answer-bar", equal_height=True):
        question = gr.Textbox(
            label="Question",
            placeholder="The question asked on Explore, or another one",
            container=False,
            scale=8,
            max_lines=3,
            elem_id="answer-question",
        )
        ask = gr.Button(
            _ask_words(ready=ready),
            variant="primary",
            scale=0,
            min_width=190,
            elem_id="answer-ask",
        )
        stop = gr.Button("Stop", scale=0, min_width=72, visible=ready, elem_id="answer-stop")
    options, reset = _options(ready=ready)
    translated = options[-2]
    view = gr.HTML(
        "",
        html_template='<div class="ans-root"></div>',
        js_on_load=_VIEW,
        elem_id="answer-view",
        apply_default_css=False,
    )

    page = _Page(models, explored)
    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    tab.select(page.open, explored.question, [question, ask, stop, translated], queue=False, **private)
    for trigger in (ask.click, question.submit):
        found = trigger(page.begin, session, session, js=_BUSY, **private).then(
            page.ask,
            [explored.asked, question, *explored.inputs[1:]],
            [explored.question, explored.view, explored.asked, explored.ruling, view],
            **private,
        )
        found.success(
            page.answer, [explored.asked, session, state, *options], view, js=_WITH_STATE, **private
        )
        found.failure(None, js=_FAILED, api_visibility="private")
        explored.follow(found)
    stop.click(page.stop, session, None, queue=False, **private)
    if Context.root_block is not None:
        Context.root_block.unload(page.close)
    reset.click(lambda: TEMPLATE, None, options[-1], queue=False, **private)


class _Page:
    """What the page's events call; the return values follow their outputs."""

    def __init__(self, models: Models, explored: Explore) -> None:
        self._models, self._explored = models, explored
        self._sessions: dict[str, Session] = {}

    def open(self, asked: str) -> Any:  # noqa: ANN401 - component updates
        """Take over the question asked on Explore, and show what the chat model chosen now can do."""
        ready = self._models.has_chat
        return (
            asked or gr.skip(),
            gr.Button(_ask_words(ready=ready)),
            gr.Button(visible=ready),
            gr.Checkbox(visible=ready),
        )

    def begin(self, session: Session | None, request: gr.Request) -> Session:
        """End what still runs."""
        session = session or Session()
        session.stop()
        self._sessions[str(request.session_hash)] = session
        return session

    def close(self, request: gr.Request) -> None:
        """End what a page that was closed still runs."""
        self.stop(self._sessions.pop(str(request.session_hash), None))

    def ask(self, last: Asked, query: str, *values: Any) -> Any:  # noqa: ANN401 - component updates
        """Ask the question on the Explore page, unless it was the last one asked there."""
        nothing = [gr.skip()] * 5
        try:
            if last is not None and last[1].query == normalise_query(query):
                return nothing
            return query, *self._explored.ask(query, *values), gr.skip()
        except CausalvizError as error:
            # Nothing was asked: what was asked before is not answered instead.
            return gr.skip(), gr.skip(), None, gr.skip(), present.error_message(str(error))

    def answer(self, last: Asked, session: Session, state: str, *values: Any) -> Iterator[str]:  # noqa: ANN401 - as ask
        """Show the prompts, then the answers as they grow."""
        if last is None:
            return
        pipeline, trace = last
        stop = session.begin()
        models = self._models
        if models.chosen("chat").kind == "local" and not models.loaded("chat"):
            yield present.message(
                {"progress": "Loading the chat model, which takes longest the first time …"}
            )
        try:
            chosen = _answer_settings(*values)
            chat = models.chat
            columns = prompts(pipeline, trace, _rank_settings(state, trace), chosen, chat)
        except CausalvizError as error:
            yield present.error_message(str(error))
            return

        def shown(found: Columns, note: str = "") -> str:
            return present_answer.columns_message(found, trace.query, trace.knowledge_base, note)

        if chat is None:
            done = [replace(column, state="done") for column in columns]
            yield shown((done[0], done[1]), present_answer.NO_MODEL)
            return
        yield shown(columns)
        # Translations of documents that go with the session go with it, too.
        shared = pipeline.base.path.is_relative_to(models.settings.home)
        kept = Translations(models.settings.cache / "translations") if shared else session.private
        for found in answers(columns, trace.query, chosen, chat, kept=kept, words=pipeline.tokens, stop=stop):
            yield shown(found)

    @staticmethod
    def stop(session: Session | None) -> None:
        """End the run."""
        if session is not None:
            session.stop()


def _ask_words(*, ready: bool) -> str:
    return "Answer" if ready else "Build the prompts"


def _options(*, ready: bool) -> tuple[list[gr.components.Component], gr.Button]:
    """Components in the order of _answer_settings' parameters, and the button that resets the last of them."""
    usual = AnswerSettings()
    with gr.Row(elem_id="answer-options", equal_height=True):
        gr.Markdown("Compare similarity with", elem_classes="bar-label")
        method = gr.Radio(
            present_judging.choices(),
            value=DEFAULT_METHOD,
            label="Compare similarity with",
            container=False,
            scale=8,
            elem_id="answer-method",
        )
    with gr.Accordion("Sources and prompt", open=False, elem_id="answer-prompt"):
        with gr.Row():
            strategy = gr.Radio(
                [("best passages of several documents", "cross"), ("the best document only", "single")],
                value=usual.strategy,
                label="Where sources come from",
                elem_id="answer-strategy",
            )
            documents = gr.Slider(1, 10, usual.documents, step=1, label="Documents selected")
            budget = gr.Slider(500, 32_000, usual.budget, step=100, label="Most tokens")
            translated = gr.Checkbox(
                value=usual.translated,
                label="Translate foreign sources",
                info="Those in another language than the question, by the chat model.",
                visible=ready,
                elem_id="answer-translated",
            )
        template = gr.Textbox(
            usual.template,
            label="Template",
            info="{question} and {sources} are filled in; {mark} is the mark that fences the sources.",
            lines=6,
            max_lines=14,
            elem_id="answer-template",
        )
        reset = gr.Button("Reset the template", size="sm", elem_id="answer-reset")
    return [method, strategy, documents, budget, translated, template], reset


def _answer_settings(*values: Any) -> AnswerSettings:  # noqa: ANN401 - what Gradio passes
    method, strategy, documents, budget, translated, template = values
    return AnswerSettings(
        method=method,
        strategy=strategy,
        documents=int(documents),
        budget=int(budget),
        translated=translated,
        template=template,
    )


def _rank_settings(state: str, trace: Trace) -> RankSettings:
    """The settings as they stand on the Explore page; those the question was asked with where nothing is drawn yet."""
    try:
        return present.view_state(state)[0]
    except ParameterError:
        return trace.settings
