"""The Explore page: ask one question, see both rankings and why."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from causalviz.errors import CausalvizError, StoppedError
from causalviz.jobs import paused
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import RankSettings, Trace, Unit
from causalviz.ui import present
from causalviz.ui.crossing import Crossing
from causalviz.ui.judging import default_choice
from causalviz.ui.library import SAMPLE_NAME, Library, Upload
from causalviz.ui.pages.failing import notice
from causalviz.ui.pages.missing import MissingDrawer
from causalviz.ui.pages.uploads import UploadDrawer, names_for

EXPLORE = "explore"
"""Id of this page's tab."""
_SESSION_SECONDS = 6 * 3600
_SCORES_ARE_IN = "The cross-encoder’s scores are in: “Rank by” offers them now."
Asked = tuple[Pipeline, Trace] | None
"""What a session asked last, and of whom."""
Crossed = tuple[Trace, Trace] | None
"""A trace before and after a cross-encoder scored it."""

# These snippets run in the page. The view and the trace it was given hang on its root element.
_ON_LOAD = """
const root = element.querySelector(".causalviz-root");
let shared = CausalVizView.sharedState();
const view = CausalVizView.mount(root, { graph: JSON.parse(props.graph), initial: shared?.state });
root.view = view;
root.ruling = "";
if (CausalVizView.brokenLink()) view.notify("This link is damaged or was cut off; ask the question again.", "warn");
watch("value", () => {
  const message = JSON.parse(props.value);
  if (message.trace) view.show((root.trace = message.trace));
  if (typeof message.ruling === "string" && message.ruling !== root.ruling) {
    root.ruling = message.ruling;
    if (!shared) view.setState({ method: message.trace.settings.method });
  }
  if (message.chosen) view.setState({ chosen: message.chosen });
  if (message.trace && shared) {
    view.checkShared(shared);
    shared = null;
  }
  if (message.texts) view.showTexts(message.texts);
  if (message.note) view.notify(message.note, message.kind);
  if (message.idle) view.setStatus({ kind: "idle", message: message.idle });
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
# A request that was turned away brings no message; Gradio's notice says why.
_SHOW_FAILED = """() => {
  const view = document.querySelector(".causalviz-root").view;
  view?.setStatus({ kind: "error", message: "No answer came: the notice says why. Ask again." });
}"""
_READ_LINK = "() => JSON.stringify(CausalVizView.sharedState())"
_AGAIN = "(_, ...values) => [JSON.stringify(CausalVizView.sharedState()), ...values]"
_SWITCH_THEME = "() => { document.body.classList.toggle('dark'); }"
_TITLE = "<div class='brand'><strong>CausalViz</strong><span>why a retriever ranks what it ranks</span></div>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Explore:
    """What other pages use of this one."""

    base: gr.Dropdown
    """The list of knowledge bases; what is chosen here is chosen everywhere."""
    upload: gr.State
    """The session's own documents."""
    begin: Callable[[Upload | None, gr.Request], Upload]
    """Gives a session its documents, which go when its page is closed."""
    question: gr.Textbox
    view: gr.HTML
    asked: gr.State
    ruling: gr.Markdown
    """Says by which method a new question is ranked, where a calibration has a say."""
    missing: gr.Dropdown
    inputs: Sequence[gr.components.Component]
    """What decides what is asked: the question, the knowledge base, the session's documents, the search options."""
    ask: Callable[..., Any]
    """Takes their values and gives those of ``view``, ``asked`` and ``ruling``; it may raise CausalvizError."""
    crossed: gr.State
    """What the cross-encoder scored last."""
    cross: Callable[[Asked, gr.Request], Iterator[Any]]
    """Scores what was asked last where a reranker is chosen, tells how far it is; gives ``view`` and ``crossed``."""

    def follow(self, event: Any) -> None:  # noqa: ANN401 - Gradio's dependency has no public name
        """Bring what belongs to a trace after an event that puts one into ``view`` and ``asked``."""
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        # The texts follow in a second message: finding keywords in them takes longer than ranking.
        event.then(_Answers.texts, self.asked, self.view, **private)
        event.then(MissingDrawer.choices, self.asked, self.missing, **private)
        # A cross-encoder takes seconds: the ranking is there before, and its scores come in when it is done.
        # A new question must not wait for the scores of the one before, which it stops.
        private["trigger_mode"] = "multiple"
        scored = event.then(self.cross, self.asked, [self.view, self.crossed], **private)
        scored.then(_Answers.adopt, [self.asked, self.crossed], [self.view, self.asked], **private)


def build(library: Library, blocks: gr.Blocks, tab: gr.Tab) -> Explore:
    """Lay out the page inside the app's blocks and wire its events."""
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
        uploads = UploadDrawer(library)
        missing = MissingDrawer()
        options = _search_options()
        with gr.Accordion("Save a report", open=False, elem_id="report-bar"):
            leave = gr.Checkbox(
                label="Leave document text out", info="Keywords and scores stay; titles go too."
            )
            report = gr.Button("Save as one HTML file", size="sm", elem_id="save-report")
            shown = gr.Textbox(visible=False)
    uploads.lay_out_report()
    ruling = gr.Markdown(visible=False, elem_id="ruling")
    view = gr.HTML(
        "",
        html_template='<div class="causalviz-root"></div>',
        js_on_load=_ON_LOAD,
        graph=json.dumps(present.graph()),
        elem_id="explore-view",
        apply_default_css=False,
    )

    answers = _Answers(library)
    inputs = [question, base, uploads.upload, *options]
    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    picked = examples.click(lambda row: (row[0], SAMPLE_NAME), examples, [question, base], **private)
    linked = blocks.load(answers.fill_in, shown, inputs, js=_READ_LINK, **private)
    # Knowledge bases may have come, gone or got other names on the Documents page, here or elsewhere.
    tab.select(answers.bases, [base, uploads.upload], base, queue=False, **private)
    # Of the questions asked before an answer is in, the last is answered; Gradio's default would drop them all.
    asking = [
        trigger(
            answers.ask,
            inputs,
            [view, asked, ruling],
            js=_SHOW_LOADING,
            trigger_mode="always_last",
            **private,
        )
        for trigger in (ask.click, question.submit, picked.then)
    ]
    asking.append(
        linked.then(answers.ask_again, [shown, *inputs], [view, asked, ruling], js=_AGAIN, **private)
    )
    page = Explore(
        base=base,
        upload=uploads.upload,
        begin=uploads.begin,
        question=question,
        view=view,
        asked=asked,
        ruling=ruling,
        missing=missing.document,
        inputs=inputs,
        ask=answers.asked,
        crossed=gr.State(None, time_to_live=_SESSION_SECONDS),
        cross=answers.cross,
    )
    for answered in asking:
        page.follow(answered)
        answered.failure(None, js=_SHOW_FAILED, api_visibility="private")
    missing.wire(asked, view, answers.texts)
    uploads.wire(blocks, tab, base, view)
    report.click(answers.report, [asked, leave, shown], view, js=_WITH_STATE, **private)
    theme.click(None, js=_SWITCH_THEME, api_visibility="private")
    return page


class _Answers:
    """What the page's events call; the return values follow their outputs."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._crossing = Crossing(library)

    def ask(self, query: str, name: str, own: Upload | None, *chosen: Any) -> Any:  # noqa: ANN401 - what Gradio passes and takes
        """Give the message to the view, what was asked of whom, and what decided the method."""
        try:
            return self.asked(query, name, own, *chosen)
        except CausalvizError as error:
            return present.error_message(str(error)), None, gr.skip()

    def asked(self, query: str, name: str, own: Upload | None, *chosen: Any) -> Any:  # noqa: ANN401 - as ask
        """Do the same, but leave errors to the caller."""
        pipeline = self._library.pipeline_for(name, own)
        search = _search_settings(*chosen)
        settings = RankSettings(tau=pipeline.default_tau(centred=search.centred).tau)
        choice = default_choice(pipeline, search, settings)
        with paused():
            trace = pipeline.ask(query, search, replace(settings, method=choice.method))
        overriding = " “Rank by” overrides it." if choice.obeyed else ""
        ruling = present.plain_markdown(choice.note or "") + overriding
        decided = f"{trace.fingerprint} {choice.method} {choice.note}" if choice.note else ""
        return (
            present.trace_message(trace, ruling=decided),
            (pipeline, trace),
            gr.Markdown(ruling, visible=bool(ruling)),
        )

    def cross(self, last: Asked, request: gr.Request) -> Iterator[Any]:
        """Let the cross-encoder score what was asked last; tell how far it is once that takes long."""
        if last is None or not last[1].candidates or not self._library.has_reranker:
            yield gr.skip(), gr.skip()
            return
        told: Any = gr.skip()
        try:
            for found in self._crossing.run(str(request.session_hash), *last):
                if isinstance(found, str):
                    yield present.message({"note": found, "kind": "note"}), gr.skip()
                    told = present.message({"note": _SCORES_ARE_IN, "kind": "note"})
                else:
                    yield told, (last[1], found)
        except StoppedError:
            yield gr.skip(), gr.skip()
        except CausalvizError as error:
            words = f"No cross-encoder scores: {present.without_places(str(error))}"
            yield present.message({"note": words, "kind": "warn"}), gr.skip()

    @staticmethod
    def adopt(last: Asked, crossed: Crossed) -> Any:  # noqa: ANN401 - what Gradio takes
        """Put a cross-encoder's scores into what is shown, unless something else was asked meanwhile."""
        if last is None or crossed is None or last[1] is not crossed[0]:
            return gr.skip(), gr.skip()
        return present.trace_message(crossed[1]), (last[0], crossed[1])

    @staticmethod
    def texts(last: Asked) -> Any:  # noqa: ANN401 - a message, or no update
        """Give the texts of what was asked last."""
        if last is None:
            return gr.skip()
        try:
            return present.texts_message(*last)
        except CausalvizError as error:
            return present.error_message(str(error))

    @staticmethod
    def report(last: Asked, leave: bool, state: str) -> str:  # noqa: FBT001 - a checkbox
        """Give a report of the view as it stands."""
        if last is None:
            return present.error_message("there is nothing to report yet; ask a question first.")
        try:
            return present.report_message(*last, state, with_texts=not leave)
        except CausalvizError as error:
            raise notice(error) from error

    def bases(self, name: str, own: Upload | None) -> Any:  # noqa: ANN401 - a component update
        """Offer the knowledge bases there are by now; what is chosen stays, unless it is gone."""
        names = names_for(self._library, own)
        return gr.Dropdown(choices=names) if name in names else gr.Dropdown(choices=names, value=SAMPLE_NAME)

    def fill_in(self, link: str) -> Any:  # noqa: ANN401 - component updates
        """Fill the inputs in from a share link."""
        # The page was built when the app started: since then knowledge bases may have been kept.
        names = self._library.names()
        found = present.shared_question(link)
        if found is None:
            return [gr.skip(), gr.Dropdown(choices=names), *[gr.skip()] * 5]
        name = found.knowledge_base if found.knowledge_base in names else SAMPLE_NAME
        base = gr.Dropdown(choices=names, value=name)
        search = found.search
        return [found.query, base, gr.skip(), search.top_k, search.theta, search.unit, search.centred]

    def ask_again(self, link: str, *values: Any) -> Any:  # noqa: ANN401 - as ask
        """Ask what a share link filled in; nothing without one."""
        return self.ask(*values) if present.shared_question(link) else [gr.skip()] * 3


def _search_options() -> list[gr.components.Component]:
    """Components in the order of _search_settings' parameters."""
    defaults = SearchSettings()
    with gr.Accordion("Search options", open=False, elem_id="options"), gr.Row():
        return [
            gr.Slider(1, present.MOST_CANDIDATES, defaults.top_k, step=1, label="Candidates (top k)"),
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
    return SearchSettings(top_k=int(top_k), theta=theta, unit=unit, centred=centred, copies_last=True)
