"""Answers from the two rankings of one question, without a page: prompts, replies, and what their sentences rest on."""

import itertools
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from causalviz.answer.passages import Passage, Strategy, choose_passages
from causalviz.answer.prompt import ANSWER_TOKENS, TEMPLATE, CountTokens, Prompt, build_prompt, utf8_tokens
from causalviz.answer.replies import without_thoughts
from causalviz.answer.support import SupportedSentence, Words, check_support
from causalviz.answer.translation import Translations, language_of, translate
from causalviz.candidates import cosines
from causalviz.errors import CausalvizError, ParameterError, StoppedError
from causalviz.pipeline import Pipeline
from causalviz.protocols import ChatModel
from causalviz.rank import rerank
from causalviz.records import DEFAULT_METHOD, Method, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.ui.present import without_places

PERIOD = 0.2
"""Seconds between two looks at what the models wrote."""
MOST_PASSAGES = 50
"""Of one document; they are more than any budget holds."""
_TEMPLATE_TOKENS = 64
"""Left for what a model's chat template adds."""

State = Literal["waiting", "translating", "writing", "done", "cut", "stopped", "failed"]
"""How far an answer is; "cut": it came to its most tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSettings:
    """What a person may choose."""

    method: Method = DEFAULT_METHOD
    """What is set against similarity."""
    strategy: Strategy = "cross"
    documents: int = 3
    """How many of each ranking's first are selected."""
    budget: int = 4000
    """Most tokens of a prompt."""
    translated: bool = True
    """Whether sources in another language than the question are translated."""
    template: str = TEMPLATE


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One ranking's way to an answer, as far as it has come."""

    method: Method
    prompt: Prompt
    originals: Mapping[str, str] = field(default_factory=dict)
    """By passage id, the text as indexed of what was translated."""
    state: State = "waiting"
    said: str = ""
    """What is being done, or why it failed."""
    reply: str = ""
    sentences: tuple[SupportedSentence, ...] = ()
    """Of ``answer``; while it is being written, without the last."""

    @property
    def answer(self) -> str:
        """The reply without thoughts."""
        return without_thoughts(self.reply)

    @property
    def running(self) -> bool:
        """Whether more is to come."""
        return self.state in {"waiting", "translating", "writing"}


Columns = tuple[Column, Column]
"""By similarity, and re-ranked."""


class Session:
    """What belongs to one person's page: the way to stop, and translations of documents nobody else may see."""

    def __init__(self) -> None:
        self.private = Translations()
        self._stop = threading.Event()

    def begin(self) -> threading.Event:
        """End what still runs, and return what the next run looks at."""
        self.stop()
        self._stop = threading.Event()
        return self._stop

    def stop(self) -> None:
        """End the run."""
        self._stop.set()


def prompts(
    pipeline: Pipeline, trace: Trace, settings: RankSettings, chosen: AnswerSettings, chat: ChatModel | None
) -> Columns:
    """Build two prompts for a question: from the first documents by similarity, and from the first re-ranked.

    Args:
        pipeline: Holds the texts.
        trace: What was asked.
        settings: tau, alpha and so on; the method is that of ``chosen``.
        chosen: What goes in.
        chat: Counts tokens; without one they are estimated by length.

    Raises:
        ParameterError: nothing was found, the template is wrong, or the budget is too small.
        KnowledgeBaseError: the documents changed since the question was asked.
    """
    if not trace.candidates:
        raise ParameterError(
            "no document is similar enough to this question, so there is nothing to answer from; lower theta in "
            "Explore's search options, or ask another question."
        )
    table = ScoreTable.of(trace.candidates)
    count, budget, _ = limits(chosen.budget, chat)

    def column(method: Method) -> Column:
        order = rerank(table, replace(settings, method=method)).order[: chosen.documents]
        passages = _passages(pipeline, trace, [trace.candidates[i].id for i in order], chosen.strategy)
        return Column(
            method=method, prompt=build_prompt(trace.query, passages, chosen.template, count, budget)
        )

    return column("similarity"), column(chosen.method)


def limits(budget: int, chat: ChatModel | None) -> tuple[CountTokens, int, int]:
    """How tokens are counted, and the most of them in a prompt and in its reply; a small model's context is shared."""
    if chat is None:
        return utf8_tokens, budget, ANSWER_TOKENS
    if chat.context is None:
        return chat.count_tokens, budget, ANSWER_TOKENS
    reply = min(ANSWER_TOKENS, chat.context // 4)
    return chat.count_tokens, min(budget, chat.context - reply - _TEMPLATE_TOKENS), reply


def answers(  # noqa: PLR0913 - each is needed by one step
    columns: Columns,
    query: str,
    chosen: AnswerSettings,
    chat: ChatModel,
    *,
    kept: Translations,
    words: Words,
    stop: threading.Event,
) -> Generator[Columns]:
    """Let the chat model answer both prompts, and give both columns again and again until they are finished.

    One prompt for both is answered once. A failure ends its own column, with the reason in ``said``. After ``stop``
    the iterator ends at once, and the models as soon as they look up; closing the iterator is a stop, too.

    Args:
        columns: From ``prompts``.
        query: The question.
        chosen: As for ``prompts``.
        chat: The model; it may be called from two threads.
        kept: Where translations are looked up and kept.
        words: Content words of a text.
        stop: Set to end the run.
    """
    same = columns[0].prompt.text == columns[1].prompt.text
    writers = [
        _Writer(column, query, chosen, chat, kept, stop) for column in (columns[:1] if same else columns)
    ]
    remembered = cache(words)
    threads = [threading.Thread(target=writer.write, daemon=True) for writer in writers]
    for thread in threads:
        thread.start()
    shown: list[Column] = []
    try:
        while True:
            over = stop.is_set() or not any(thread.is_alive() for thread in threads)
            found = [writer.column for writer in writers]
            if over:
                found = [_ended(column, stopped=stop.is_set()) for column in found]
            if found != shown:
                shown = found
                checked = [_checked(column, remembered) for column in found]
                yield checked[0], replace(checked[-1], method=columns[1].method)
            if over:
                return
            for thread in threads:
                thread.join(PERIOD / len(threads))
    finally:
        stop.set()


class _Writer:
    """Writes one column in a thread; ``column`` is replaced as a whole, so that it can be read at any time."""

    def __init__(  # noqa: PLR0913, PLR0917 - as answers
        self,
        column: Column,
        query: str,
        chosen: AnswerSettings,
        chat: ChatModel,
        kept: Translations,
        stop: threading.Event,
    ) -> None:
        self.column = column
        self._query = query
        self._chosen = chosen
        self._chat = chat
        self._kept = kept
        self._stop = stop

    def write(self) -> None:
        """Translate what is foreign, then answer."""
        count, budget, reply = limits(self._chosen.budget, self._chat)
        try:
            if self._chosen.translated:
                self._translate(count, budget)
            self._become(state="waiting", said="")
            ending = self._chat.reply(self.column.prompt.text, reply, self._take)
            self._become(state="done" if ending == "complete" else "cut")
        except StoppedError:
            self._become(state="stopped")
        except CausalvizError as error:
            self._become(state="failed", said=without_places(str(error)))

    def _translate(self, count: CountTokens, budget: int) -> None:
        language = language_of(self._query)
        passages = [source.passage for source in self.column.prompt.sources]
        foreign = [p for p in passages if language and language_of(p.text) not in {None, language}]
        if not foreign or language is None:
            return
        translated = {}
        for number, passage in enumerate(foreign, start=1):
            said = f"translating source {number} of {len(foreign)} into {language}"
            self._become(state="translating", said=said)
            translated[passage.id] = translate(passage.text, language, self._chat, self._kept, self._check)
        given = [replace(p, text=translated.get(p.id, p.text)) for p in passages]
        prompt = build_prompt(self._query, given, self._chosen.template, count, budget)
        self._become(
            prompt=replace(prompt, left_out=prompt.left_out + self.column.prompt.left_out),
            originals={passage.id: passage.text for passage in foreign},
        )

    def _take(self, piece: str) -> None:
        self._check(piece)
        if piece:
            self._become(state="writing", reply=self.column.reply + piece)

    def _check(self, _: str) -> None:
        if self._stop.is_set():
            raise StoppedError("stopped.")

    def _become(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Column
        self.column = replace(self.column, **changes)


def _ended(column: Column, *, stopped: bool) -> Column:
    if not column.running:
        return column
    if stopped:
        return replace(column, state="stopped", said="")
    return replace(column, state="failed", said="the answer could not be written; the app's log says why.")


def _checked(column: Column, words: Words) -> Column:
    """Hold the finished sentences against the sources, a translated one against both its texts."""
    texts = {
        source.number: f"{source.text}\n{column.originals.get(source.passage.id, '')}"
        for source in column.prompt.sources
    }
    found = check_support(column.answer, texts, words)
    return replace(column, sentences=tuple(found[:-1] if column.running else found))


def _passages(pipeline: Pipeline, trace: Trace, selected: Sequence[str], strategy: Strategy) -> list[Passage]:
    """Passages of the selected units in the order in which they enter the prompt."""
    base = pipeline.base
    if trace.unit == "document":
        groups = [_chunks_of(pipeline, document) for document in selected]
    elif strategy == "cross":
        groups = [[chunk] for chunk in selected]
    else:
        owner = selected[0].rpartition("#")[0]
        groups = [[chunk for chunk in selected if chunk.rpartition("#")[0] == owner]]
    question = pipeline.encoder.encode_queries([trace.query])[0]
    found = []
    for group in groups:
        similarity = cosines(base.chunks.vectors[[base.chunks.rows[id_] for id_ in group]], question)
        best = np.argsort(-similarity, kind="stable")[:MOST_PASSAGES]
        texts = base.texts([group[i] for i in best], "chunk")
        found.append(
            [
                Passage(
                    id=group[i],
                    document=group[i].rpartition("#")[0],
                    title=base.chunks.titles[base.chunks.rows[group[i]]],
                    text=texts[group[i]],
                    position=int(group[i].rpartition("#")[2]),
                    similarity=float(similarity[i]),
                )
                for i in best
            ]
        )
    return choose_passages(found, strategy)


def _chunks_of(pipeline: Pipeline, document: str) -> list[str]:
    ids = (f"{document}#{number}" for number in itertools.count(1))
    return list(itertools.takewhile(lambda id_: id_ in pipeline.base.chunks.rows, ids))
