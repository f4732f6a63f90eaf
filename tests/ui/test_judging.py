"""Labelling and measuring without a page: what is proposed, what counts, what is said and kept."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from explain.random_traces import random_trace
from fakes import WordEncoder, silent
from hypothesis import given
from hypothesis import strategies as st

from causalviz.bootstrap import index_into, open_pipeline
from causalviz.errors import CollectionError, ParameterError
from causalviz.evaluation.gate import METHODS, judge
from causalviz.evaluation.qrels import trec_qrels
from causalviz.figures import reliability_figure
from causalviz.knowledge_base import RecordEntry, write_gate
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import DEFAULT_METHOD, Document, RankSettings
from causalviz.ui import present_judging
from causalviz.ui.judging import Judged, default_choice
from causalviz.ui.questions import (
    MOST_QUESTIONS,
    Answers,
    csv_of,
    json_of,
    judged_answers,
    ndcg_case,
    surface,
    theme_answers,
)
from causalviz.ui.sources import headings_of, read_questions, read_uploads
from causalviz.ui.tuning import questions_in

WORDS = [
    "bread",
    "salt",
    "river",
    "stone",
    "token",
    "vector",
    "late",
    "interaction",
    "maxima",
    "compare",
    "letter",
]
HOSTILE = "<img src=x onerror=alert(1)> ${1+1} {{value}}"


def document(number: int) -> Document:
    """Titles of two words of their own; a heading; a body that shares words with the neighbours."""
    own = f"subject{number} matter{number}"
    body = " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 9))
    text = f"{own}\n\nInside part{number}\n\n{body} {own}."
    return Document(id=f"d{number:02d}.txt", title=own, text=text, reader="text")


DOCUMENTS = [document(number) for number in range(24)]


def indexed(path: Path, documents: list[Document]) -> Pipeline:
    index_into(path, [RecordEntry(one) for one in documents], WordEncoder(), silent)
    return open_pipeline(path, WordEncoder(), silent, "mine")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return indexed(tmp_path_factory.mktemp("base") / "mine.kb", DOCUMENTS)


def labelled(pipeline: Pipeline, count: int) -> Judged:
    """Grade that many proposed questions: 3 for the document the question comes from, 0 for all others."""
    judged = Judged(pipeline=pipeline).proposed(count)
    titles = dict(zip(pipeline.base.documents.titles, pipeline.base.documents.ids, strict=True))
    for id_, text in judged.queries.items():
        judged = judged.ask(id_).grade(id_, titles[text], 3).grade_rest(id_)
    return judged


def test_titles_are_proposed_before_headings_and_none_twice(pipeline: Pipeline) -> None:
    judged = Judged(pipeline=pipeline).proposed(20).proposed(20)
    texts = list(judged.queries.values())
    assert sorted(texts[:24]) == sorted(one.title for one in DOCUMENTS)
    assert set(texts[24:]) <= {f"Inside part{number}" for number in range(24)}
    assert len(texts) == len(set(texts)) == 40
    assert Judged(pipeline=pipeline).proposed(20).proposed(20).queries == judged.queries
    with pytest.raises(ParameterError, match="bring questions of your own"):
        judged.proposed(20).proposed(1)


def test_a_title_that_says_nothing_is_not_proposed(tmp_path: Path) -> None:
    documents = [
        Document(id="scan.pdf", title="scan", text="scan\n\nbread and salt here.", reader="text"),
        Document(id="b.txt", title="The river stone", text="The river stone\n\nlate token.", reader="text"),
    ]
    judged = Judged(pipeline=indexed(tmp_path / "small.kb", documents)).proposed()
    assert list(judged.queries.values()) == ["The river stone"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Title\n\nFirst part\n\nA sentence ends here.\n\nSecond part",
            ["Title", "First part", "Second part"],
        ),
        ("第一章 总则\n\n本法适用于数据处理活动。", ["第一章 总则"]),
        ("a list:\n\ntwo\nlines\n\na\tcell\n\nabc\n\n" + "long " * 20, []),
        ("", []),
    ],
)
def test_a_heading_is_a_short_line_of_its_own_that_is_no_sentence(text: str, found: list[str]) -> None:
    assert headings_of(text) == found


def test_the_pool_is_every_methods_first_ten_in_the_order_of_none(pipeline: Pipeline) -> None:
    judged = Judged(pipeline=pipeline).with_questions({"a": "late token river subject3"}).ask("a")
    question = judged.asked["a"]
    assert set(question.pool) == {id_ for name in METHODS for id_ in question.rankings[name][:10]}
    places = [question.rankings["similarity"].index(id_) for id_ in question.pool]
    assert places != sorted(places)
    assert question.pool == Judged(pipeline=pipeline).with_questions(judged.queries).ask("a").asked["a"].pool


def test_a_question_counts_once_every_pooled_document_is_graded(pipeline: Pipeline) -> None:
    judged = Judged(pipeline=pipeline).proposed(2)
    first, second = judged.queries
    assert judged.missing(first) is None
    judged = judged.ask(first)
    pool = judged.asked[first].pool
    for left, document in enumerate(reversed(pool)):
        assert judged.answers.questions == ()
        assert judged.missing(first) == len(pool) - left
        judged = judged.grade(first, document, 1)
    assert [question.id for question in judged.answers.questions] == [first]
    assert judged.answers.qrels == {first: dict.fromkeys(pool, 1)}
    assert judged.next_question(first) == second
    assert judged.next_question(second) == second  # it wraps around, past the first, which counts


def test_a_question_that_finds_nothing_does_not_count(tmp_path: Path) -> None:
    opposite = Document(id="a.txt", title="a", text="bread", reader="text")
    pipeline = indexed(tmp_path / "one.kb", [opposite])
    words = (f"word{number}" for number in range(100))
    away = next(
        word for word in words if not pipeline.ask(word, SearchSettings(), RankSettings(tau=0.5)).candidates
    )
    judged = Judged(pipeline=pipeline).with_questions({"a": away}).ask("a")
    assert judged.missing("a") == 0
    assert judged.answers.questions == ()
    assert judged.next_question() is None
    assert json.loads(present_judging.card_message(judged, "a"))["card"]["documents"] == []


def test_undo_takes_one_step_back_whatever_question_it_was(pipeline: Pipeline) -> None:
    judged = Judged(pipeline=pipeline).proposed(2)
    first, second = judged.queries
    one = judged.ask(first).ask(second).grade_rest(first)
    document = one.asked[second].pool[0]
    two = one.grade(second, document, 2).grade(second, document, 3)
    back, where = two.undo()
    assert (where, back.grades[second]) == (second, {document: 2})
    back, where = back.undo()
    back, where = back.undo()
    assert (where, back.grades[first]) == (first, {})
    assert back.undo() == (back, None)
    assert two.grades[second] == {document: 3}  # nothing that was is changed


@pytest.mark.parametrize(
    "wrong", [("none", "d01.txt", 1), ("a", "elsewhere", 1), ("a", None, 4), ("a", None, -1)]
)
def test_what_is_not_shown_cannot_be_graded(pipeline: Pipeline, wrong: tuple[str, str | None, int]) -> None:
    judged = Judged(pipeline=pipeline).with_questions({"a": "late token"}).ask("a")
    question, document, grade = wrong
    with pytest.raises(ParameterError):
        judged.grade(question, document or judged.asked["a"].pool[0], grade)


def test_judgments_and_questions_survive_the_way_through_files(pipeline: Pipeline, tmp_path: Path) -> None:
    judged = labelled(pipeline, 3)
    (tmp_path / "q.jsonl").write_text(judged.questions_file(), encoding="utf-8")
    (tmp_path / "judged.txt").write_text(trec_qrels(judged.judgments()), encoding="utf-8")
    queries, qrels = read_uploads([tmp_path / "judged.txt", tmp_path / "q.jsonl"])
    again, left_out = Judged(pipeline=pipeline).imported(queries, qrels, silent)
    assert left_out == ""
    assert again.queries == judged.queries
    assert again.grades == judged.grades
    assert again.answers.means == judged.answers.means


def test_an_import_names_what_does_not_fit(pipeline: Pipeline) -> None:
    judged = Judged(pipeline=pipeline).with_questions({"a": "late token"})
    with pytest.raises(ParameterError, match="whose words are in no list"):
        judged.imported({}, {"b": {"d01.txt": 1}}, silent)
    with pytest.raises(ParameterError, match="none of the 1 judged documents"):
        judged.imported({}, {"a": {"elsewhere": 1}}, silent)
    with pytest.raises(ParameterError, match="another question here already"):
        judged.imported({"a": "river stone"}, {}, silent)
    with pytest.raises(ParameterError, match="at most 500"):
        judged.imported({str(number): f"late token {number}" for number in range(MOST_QUESTIONS)}, {}, silent)
    with pytest.raises(ParameterError, match="the question is empty"):
        judged.imported({"b": " "}, {}, silent)
    found, left_out = judged.imported({}, {"a": {"d01.txt": 2, "elsewhere": 1}}, silent)
    assert found.grades == {"a": {"d01.txt": 2}}
    assert "1 of 2 judgments" in left_out


def test_a_list_of_questions_is_read_in_every_form(tmp_path: Path) -> None:
    forms = {
        "plain": ("late token\n\n 1 river 2 \n", ["late token", "1 river 2"]),
        "json": ('{"_id": "a", "text": "late token"}\n', ["late token"]),
        "tabs": ("a\tlate token\nb\triver\n", ["late token", "river"]),
    }
    for name, (content, texts) in forms.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert list(read_questions(tmp_path / name).values()) == texts
    assert read_questions(tmp_path / "plain") == read_questions(tmp_path / "plain")
    (tmp_path / "plain").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match="holds no question"):
        read_questions(tmp_path / "plain")


@pytest.mark.parametrize(
    ("content", "judgments"),
    [
        ("a 0 d01.txt 2\n", True),
        ("query-id\tcorpus-id\tscore\na\td01.txt\t2\n", True),
        ("who was first in 1969\n", False),
        ("late token\n", False),
        ('{"_id": "a", "text": "b 0 c 1"}\n', False),
    ],
)
def test_judgments_are_told_from_questions(tmp_path: Path, content: str, judgments: bool) -> None:
    (tmp_path / "file.txt").write_text(content, encoding="utf-8")
    queries, qrels = read_uploads([tmp_path / "file.txt"])
    assert (bool(qrels), bool(queries)) == (judgments, not judgments)
    (tmp_path / "two.txt").write_text(content, encoding="utf-8")
    with pytest.raises(ParameterError, match="two files of"):
        read_uploads([tmp_path / "file.txt", tmp_path / "two.txt"])


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CollectionError, match=r"'q\.jsonl' is no text in UTF-8"):
        read_uploads([tmp_path / "q.jsonl"])


def test_there_is_no_verdict_before_a_relevant_document(pipeline: Pipeline) -> None:
    judged = Judged(pipeline=pipeline).proposed(1)
    (id_,) = judged.queries
    assert judged.verdict is None
    judged = judged.ask(id_).grade_rest(id_)
    assert judged.verdict is None
    with pytest.raises(ParameterError, match="no verdict to keep yet"):
        judged.record()
    message = json.loads(present_judging.results_message(judged, ""))
    assert message["verdict"]["headline"] == "No verdict yet"
    assert "None of the 1 graded questions has a relevant document" in message["verdict"]["sentence"]


def test_the_verdict_is_the_gates_over_the_questions_that_count(pipeline: Pipeline) -> None:
    judged = labelled(pipeline, 5).proposed(3)
    values = {name: judged.answers.ndcg(name) for name in METHODS}
    assert judged.verdict == judge(values, measure="nDCG@10", resamples=2000, seed=0)
    # the document with the title's own words is first by similarity: the best there is
    assert values["similarity"] == [1.0] * 5
    message = json.loads(present_judging.results_message(judged, ""))
    assert message["counted"] == "5 of 8 questions count"
    assert [row["method"] for row in message["rows"]] == list(METHODS)


def test_who_proposed_a_question_is_said_where_it_counts(pipeline: Pipeline) -> None:
    def notes(judged: Judged) -> list[str]:
        found: list[str] = json.loads(present_judging.results_message(judged, ""))["notes"]
        return found

    assert any(
        "2 of them are made from a document’s own title" in note for note in notes(labelled(pipeline, 2))
    )
    own = Judged(pipeline=pipeline).with_questions({"a": "subject3 matter3"}).ask("a")
    assert notes(own.grade("a", "d03.txt", 3).grade_rest("a")) == []


def test_the_reliability_curve_is_solid_as_far_as_there_are_labels(pipeline: Pipeline) -> None:
    verdict = labelled(pipeline, 5).verdict
    assert verdict is not None
    figure = reliability_figure(verdict)
    so_far, beyond, needed, now = figure.data
    assert (so_far.x[-1], beyond.x[0], now.x) == (5, 5, (5,))
    assert so_far.y[-1] == beyond.y[0] == now.y[0] == 100 * verdict.agreement
    assert set(needed.y) == {95}
    assert figure.layout.xaxis.title.text == "questions labelled"
    assert figure.layout.yaxis.title.text == "resamples that agree (%)"


def test_a_kept_verdict_ranks_until_the_documents_change(tmp_path: Path) -> None:
    path = tmp_path / "kept.kb"
    pipeline = indexed(path, DOCUMENTS)
    search, settings = SearchSettings(), RankSettings(tau=0.5)
    assert default_choice(pipeline, search, settings).method == DEFAULT_METHOD
    judged = labelled(pipeline, 12)
    verdict = judged.verdict
    assert verdict is not None
    assert verdict.decision == "off"  # titles favour similarity by their nature
    write_gate(path, judged.record())
    choice = default_choice(pipeline, search, settings)
    assert (choice.method, choice.obeyed) == ("similarity", True)
    changed = indexed(path, [*DOCUMENTS[:18], *(document(number) for number in range(40, 46))])
    choice = default_choice(changed, search, settings)
    assert (choice.method, choice.obeyed, choice.stale) == (DEFAULT_METHOD, False, True)
    moved = judged.moved_to(changed)
    assert moved.queries == judged.queries
    rows = changed.base.documents.rows
    assert all(document in rows for grades in moved.grades.values() for document in grades)


def test_cards_and_results_hold_hostile_text_as_text(tmp_path: Path) -> None:
    bad = Document(id=f"{HOSTILE}.txt", title=HOSTILE, text=f"{HOSTILE}\n\nlate token", reader="text")
    judged = Judged(pipeline=indexed(tmp_path / "bad.kb", [bad, *DOCUMENTS]))
    judged = judged.with_questions({"a": f"late token {HOSTILE}"}).ask("a").grade_rest("a")
    judged = judged.grade("a", bad.id, 3)
    for message in (
        present_judging.card_message(judged, "a"),
        present_judging.results_message(judged, HOSTILE),
        present_judging.evaluation_message(judged.answers, "hybrid"),
    ):
        assert "<" not in message
        assert HOSTILE in json.dumps(json.loads(message))
    card = json.loads(present_judging.card_message(judged, "a"))["card"]
    shown = next(one for one in card["documents"] if one["id"] == bad.id)
    assert (shown["title"], shown["text"], shown["grade"]) == (HOSTILE, "late token", 3)


grades = st.dictionaries(st.integers(0, 14).map(lambda n: f"c{n}"), st.integers(0, 3), max_size=15)


@given(st.permutations(range(10)), grades)
def test_the_maps_measure_is_trec_evals(order: list[int], graded: Mapping[str, int]) -> None:
    trace = random_trace(np.random.default_rng(0), 10)
    names = {candidate.id: f"c{i}" for i, candidate in enumerate(trace.candidates)}
    by_id = {id_: graded[name] for id_, name in names.items() if name in graded}
    by_id |= {name: grade for name, grade in graded.items() if name not in names.values()}
    case = ndcg_case(trace, by_id)
    ids = [trace.candidates[i].id for i in order]
    run = [ir_measures.ScoredDoc("q", id_, -float(place)) for place, id_ in enumerate(ids)]
    qrels = [ir_measures.Qrel("q", id_, grade) for id_, grade in by_id.items()]
    found = {str(m.measure): m.value for m in ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, run)}
    assert case.metric(np.array(order)) == pytest.approx(found.get("nDCG@10", 0.0), abs=1e-12)


def theme(name: str) -> str:
    roles = {"target": "token vectors maxima compare", "stuffed": "late interaction late interaction"}
    documents = [
        {"id": f"{name}/{role}", "role": role, "title": role, "text": f"{text} {name}"}
        for role, text in {**roles, "near": "interaction work letter", "unrelated": "bread salt"}.items()
    ]
    return json.dumps({"id": name, "lang": "en", "query": f"late interaction {name}", "documents": documents})


@pytest.fixture
def themes(tmp_path: Path) -> Answers:
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(theme, ["T1", "T2", "T3"])), encoding="utf-8")
    return theme_answers(questions_in(tmp_path, file, WordEncoder(), silent))


def test_a_themes_roles_become_grades(themes: Answers) -> None:
    assert themes.qrels["T2"] == {"T2/target": 3, "T2/near": 1, "T2/stuffed": 0, "T2/unrelated": 0}
    assert themes.pipeline.base.texts(["T1/target"], "document")["T1/target"].startswith("token vectors")


def test_the_map_at_the_default_is_the_measured_mean_of_the_hybrid(themes: Answers) -> None:
    words, figure = surface(themes)
    assert figure is not None
    assert f"(tau 0.5, alpha 0.5) it is {themes.means['hybrid']['ndcg@10']:.3f}." in words


def test_the_map_says_when_it_is_not_drawn(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = labelled(pipeline, 2).answers
    monkeypatch.setattr("causalviz.ui.questions.MOST_PAIRS", 1)
    words, figure = surface(answers)
    assert figure is None
    assert "is not drawn" in words


def test_the_largest_change_comes_first(pipeline: Pipeline) -> None:
    answers = labelled(pipeline, 8).answers
    sizes = [abs(after - before) for _, before, after in answers.changes("causal")]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0


def test_what_is_saved_holds_every_number(pipeline: Pipeline) -> None:
    queries = {"=1+1": "late token river", "b": "subject3 matter3"}
    qrels = {"=1+1": {"d01.txt": 2, "d02.txt": 0}, "b": {"d03.txt": 1}}
    answers = judged_answers(pipeline, queries, qrels, silent)
    rows = list(csv.DictReader(io.StringIO(csv_of(answers))))
    assert [row["query_id"] for row in rows] == ["'=1+1", "b"]
    assert [(row["judged"], row["relevant"]) for row in rows] == [("2", "1"), ("1", "1")]
    assert float(rows[1]["similarity ndcg@10"]) == answers.scores["similarity"]["b"]["ndcg@10"] == 1.0
    saved = json.loads(json_of(answers))
    assert saved["methods"] == answers.means
    assert [entry["qrels"] for entry in saved["queries"]] == list(qrels.values())
    assert saved["queries"][1]["rankings"]["similarity"][0] == "d03.txt"
