"""Two prompts, two answers, and what their sentences rest on; no page."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from answer.scripted import Scripted
from fakes import plain_tokenizer
from test_pipeline import TEXTS, make_pipeline

from causalviz.answer.support import check_support
from causalviz.answer.translation import Translations
from causalviz.errors import KnowledgeBaseError, ParameterError
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Ending
from causalviz.records import RankSettings, Trace
from causalviz.ui.answering import AnswerSettings, Columns, Session, answers, limits, prompts
from causalviz.ui.present_answer import columns_message, support_words

SETTINGS = RankSettings(tau=0.9)
ONE = AnswerSettings(documents=1)
WORDS = plain_tokenizer().tokens
ANSWER = "Token vectors compare [1]. Penguins swim [1]."


def asked(folder: Path, texts: dict[str, str], query: str, **search: object) -> tuple[Pipeline, Trace]:
    pipeline, _ = make_pipeline(folder, texts)
    return pipeline, pipeline.ask(query, SearchSettings(theta=-1, **search), SETTINGS)  # type: ignore[arg-type]


def sources(columns: Columns) -> list[list[str]]:
    return [[source.passage.id for source in column.prompt.sources] for column in columns]


def run(
    columns: Columns,
    chat: Scripted,
    chosen: AnswerSettings = ONE,
    query: str = "late interaction",
    stop: threading.Event | None = None,
) -> list[Columns]:
    kept = Translations()
    return list(answers(columns, query, chosen, chat, kept=kept, words=WORDS, stop=stop or threading.Event()))


def test_each_column_takes_its_own_first_documents(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, TEXTS, "late interaction")
    found = prompts(pipeline, trace, SETTINGS, ONE, None)
    # the stuffed copy leads by similarity and is last when re-ranked (tests/test_pipeline.py)
    assert sources(found)[0] == ["copy.txt#1"]
    assert sources(found)[1] != ["copy.txt#1"]
    assert [column.method for column in found] == ["similarity", "hybrid"]
    found = prompts(pipeline, trace, SETTINGS, replace(ONE, documents=3), None)
    assert [sorted(ids) for ids in sources(found)] == [sorted(f"{name}#1" for name in TEXTS)] * 2
    assert found[0].prompt.sources[0].text == TEXTS["copy.txt"]


LONG = {
    "long.txt": "late interaction. " * 300
    + "tokens compare maxima. " * 300,  # three chunks of 4,096 characters
    "other.txt": "bread and salt",
}


def test_one_document_gives_its_own_chunks_in_reading_order(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, LONG, "late interaction")
    chosen = AnswerSettings(strategy="single", documents=2, budget=30_000)
    found = prompts(pipeline, trace, SETTINGS, replace(chosen, method="causal"), None)
    assert sources(found)[0] == ["long.txt#1", "long.txt#2", "long.txt#3", "long.txt#4"]
    cross = prompts(pipeline, trace, SETTINGS, replace(chosen, strategy="cross"), None)
    assert {"other.txt#1", "long.txt#1"} <= set(sources(cross)[0])


def test_a_small_budget_keeps_the_chunks_most_similar_to_the_question(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, LONG, "tokens compare maxima")
    found = prompts(
        pipeline, trace, SETTINGS, AnswerSettings(strategy="single", documents=1, budget=1700), None
    )
    ids = sources(found)[0]
    assert "long.txt#1" not in ids  # "late interaction" only
    assert found[0].prompt.left_out == 4 - len(ids)
    assert found[0].prompt.tokens <= 1700


def test_ranked_chunks_are_sources_as_they_are_ranked(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, LONG, "tokens compare maxima", unit="chunk")
    found = prompts(pipeline, trace, SETTINGS, AnswerSettings(documents=2, budget=9000), None)
    assert sorted(sources(found)[0]) == sorted(candidate.id for candidate in trace.candidates[:2])
    single = replace(AnswerSettings(documents=9, budget=30_000), strategy="single")
    owner = trace.candidates[0].id.rpartition("#")[0]
    ids = sources(prompts(pipeline, trace, SETTINGS, single, None))[0]
    assert {id_.rpartition("#")[0] for id_ in ids} == {owner}


def test_without_candidates_and_after_a_change_the_reason_is_told(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, TEXTS, "late interaction")
    with pytest.raises(ParameterError, match="nothing to answer from; lower theta"):
        prompts(pipeline, replace(trace, candidates=()), SETTINGS, ONE, None)
    make_pipeline(tmp_path, {**TEXTS, "new.txt": "new"})
    with pytest.raises(KnowledgeBaseError, match="ask the question anew"):
        prompts(pipeline, trace, SETTINGS, ONE, None)


def test_both_answers_are_written_and_checked(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {**TEXTS, "b.txt": "token vectors compare"}, "late interaction")
    columns = prompts(pipeline, trace, SETTINGS, replace(ONE, documents=2), None)
    chat = Scripted(
        "<think>hm</think>", *ANSWER.split(" ")[:1], " vectors compare [1]. Penguins", " swim [1]."
    )
    *_, last = run(columns, chat)
    assert sorted(chat.prompts) == sorted(column.prompt.text for column in columns)
    for column in last:
        assert column.answer == ANSWER
        assert column.state == "done"
        assert column.sentences[1].kind == "unsupported"
    assert not any(column.running for column in last)


def test_one_prompt_for_both_is_answered_once(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare"}, "late interaction")
    columns = prompts(pipeline, trace, SETTINGS, ONE, None)
    chat = Scripted(ANSWER)
    *_, last = run(columns, chat)
    assert len(chat.prompts) == 1
    assert [column.answer for column in last] == [ANSWER, ANSWER]
    assert [column.method for column in last] == ["similarity", "hybrid"]
    assert [sentence.kind for sentence in last[1].sentences] == ["cited", "unsupported"]


class Paused(Scripted):
    """Waits after each piece until it may go on."""

    def __init__(self, *pieces: str) -> None:
        super().__init__(*pieces)
        self.go = threading.Semaphore(0)

    def reply(self, prompt: str, limit: int, piece: Callable[[str], None]) -> Ending:
        """Say it slowly."""

        def slowly(one: str) -> None:
            piece(one)
            assert self.go.acquire(timeout=60)

        return super().reply(prompt, limit, slowly)


def test_an_answer_grows_and_its_last_sentence_is_not_judged_early(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare"}, "late interaction")
    columns = prompts(pipeline, trace, SETTINGS, ONE, None)
    chat = Paused("Token vectors compare [1]. Pen", "guins swim.")
    grown = answers(columns, "q", ONE, chat, kept=Translations(), words=WORDS, stop=threading.Event())
    half = next(found for found in grown if found[0].reply)
    assert half[0].state == "writing"
    assert [sentence.kind for sentence in half[0].sentences] == ["cited"]
    chat.go.release()
    chat.go.release()
    *_, last = grown
    assert last[0].answer == "Token vectors compare [1]. Penguins swim."
    assert [sentence.kind for sentence in last[0].sentences] == ["cited", "unsupported"]


def test_stopping_keeps_what_was_written_and_the_model_notices(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare"}, "late interaction")
    columns = prompts(pipeline, trace, SETTINGS, ONE, None)
    others = set(threading.enumerate())
    chat, session = Paused("Token vectors", " compare."), Session()
    grown = answers(columns, "q", ONE, chat, kept=Translations(), words=WORDS, stop=session.begin())
    next(found for found in grown if found[0].reply)
    session.stop()
    *_, last = grown
    assert (last[0].state, last[0].answer) == ("stopped", "Token vectors")
    (models,) = set(threading.enumerate()) - others
    chat.go.release()  # the next piece raises in the model's thread, which ends
    models.join(60)
    assert not models.is_alive()


def test_closing_the_iterator_ends_the_run(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare"}, "late interaction")
    columns = prompts(pipeline, trace, SETTINGS, ONE, None)
    chat, stop = Paused("Token vectors", " compare."), threading.Event()
    grown = answers(columns, "q", ONE, chat, kept=Translations(), words=WORDS, stop=stop)
    next(found for found in grown if found[0].reply)
    grown.close()
    assert stop.is_set()
    chat.go.release()


def test_a_new_run_ends_the_one_before() -> None:
    session = Session()
    first = session.begin()
    second = session.begin()
    assert first.is_set()
    assert not second.is_set()


@pytest.mark.parametrize(
    ("chat", "state", "said"),
    [
        (
            Scripted("Half an ans", fault="the server broke off; ask again."),
            "failed",
            "the server broke off; ask again.",
        ),
        (Scripted("Half an ans", ending="cut"), "cut", ""),
    ],
)
def test_a_fault_ends_its_column_and_keeps_what_was_written(
    tmp_path: Path, chat: Scripted, state: str, said: str
) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token"}, "late interaction")
    *_, last = run(prompts(pipeline, trace, SETTINGS, ONE, None), chat)
    assert (last[0].state, last[0].said, last[0].answer) == (state, said, "Half an ans")


CHINESE = "后期交互 如何 工作"


def test_a_foreign_source_is_translated_and_checked_in_both_languages(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare by maxima"}, CHINESE)
    columns = prompts(pipeline, trace, SETTINGS, ONE, None)
    chat = Scripted("向量（vectors）比较。")
    shown = run(columns, chat, query=CHINESE)
    column = shown[-1][0]
    assert chat.prompts[0].startswith("Translate the quoted passage into Chinese")
    assert "向量（vectors）比较。" in chat.prompts[1]
    assert "by maxima" not in chat.prompts[1]
    assert column.prompt.text == chat.prompts[1]
    assert column.prompt.sources[0].text == "向量（vectors）比较。"
    assert column.originals == {"only.txt#1": "token vectors compare by maxima"}
    data = json.loads(columns_message(shown[-1], CHINESE, "kb"))
    assert data["columns"][0]["sources"][0]["original"] == "token vectors compare by maxima"
    assert data["columns"][0]["parts"][0]["kind"] == "uncited"


@pytest.mark.parametrize(
    ("chosen", "query"), [(replace(ONE, translated=False), CHINESE), (ONE, "late interaction"), (ONE, "2026")]
)
def test_nothing_is_translated_unasked(tmp_path: Path, chosen: AnswerSettings, query: str) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare by maxima"}, query)
    chat = Scripted("答案。")
    run(prompts(pipeline, trace, SETTINGS, chosen, None), chat, chosen, query)
    assert len(chat.prompts) == 1
    assert "by maxima" in chat.prompts[0]


def test_a_failed_translation_fails_the_column_in_words(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, {"only.txt": "token vectors compare"}, CHINESE)
    *_, last = run(prompts(pipeline, trace, SETTINGS, ONE, None), Scripted("半", ending="cut"), query=CHINESE)
    assert last[0].state == "failed"
    assert "ask without translation" in last[0].said


def test_a_small_models_context_is_shared_by_prompt_and_reply() -> None:
    chat = Scripted()
    assert limits(4000, None)[1:] == limits(4000, chat)[1:] == (4000, 1000)
    chat.context = 2048
    assert limits(4000, chat)[1:] == (2048 - 512 - 64, 512)
    assert limits(500, chat)[1:] == (500, 512)


def test_the_message_holds_the_answer_piece_by_piece(tmp_path: Path) -> None:
    pipeline, trace = asked(tmp_path, TEXTS, "late interaction")
    columns = prompts(pipeline, trace, SETTINGS, ONE, None)
    hostile = "<script>elephants</script> [1].\n\n😀 Penguins swim [9]. "
    *_, last = run(columns, Scripted(hostile))
    data = json.loads(columns_message(last, "late interaction", "kb", "a note"))
    assert data["note"] == "a note"
    for column in data["columns"]:
        assert "".join(part["text"] for part in column["parts"]) == hostile
        assert column["sources"][0]["only"]
    assert "There is no source [9]." in data["columns"][0]["parts"][-2]["why"]
    assert (data["columns"][0]["supported"], data["columns"][0]["checked"]) == (0, 2)


def test_the_reason_names_sources_share_and_missing_words() -> None:
    held = {1: "token vectors compare", 2: "bread salt water"}
    answer = (
        "Token vectors [1]. Vectors compare. Bread salt [1]. Token x1 y2 z3 [1]. Penguins. The. "
        "Token vectors 77 [1]."
    )
    assert [support_words(found) for found in check_support(answer, held, WORDS)] == [
        "Supported: [1], which it cites, holds 100 % of its words.",
        "It cites no source; [1] holds 100 % of its words.",
        "It cites another source, but [2] holds 100 % of its words.",
        "Not supported: [1] holds 25 % of its words, not x1, y2, z3.",
        "Not supported: no source holds its words.",
        "Nothing to check: it holds no content word.",
        "Not supported: [1] holds 67 % of its words, but not the number 77.",
    ]
