"""Questions whose answers are known: how good every method ranks them, and what may be saved of it."""

import json
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from causalviz.arrays import IndexVector
from causalviz.errors import ParameterError
from causalviz.evaluation.evaluate import reranked
from causalviz.evaluation.gate import COLUMNS, METHODS
from causalviz.evaluation.measures import (
    DEPTH,
    MEASURES,
    Difference,
    Qrels,
    means,
    measure,
    paired_difference,
)
from causalviz.explain.metric_plane import Case, best_region, metric_plane
from causalviz.exports import csv_text
from causalviz.figures import plane_figure
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Progress
from causalviz.records import Method, RankSettings, Trace

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from causalviz.ui.tuning import Labelled

SEED = 0
MOST_QUESTIONS = 500
"""Of an uploaded list: each is asked and kept for the session."""
MOST_PAIRS = 12_000
"""Relevant candidates times candidates, over all questions, up to which the exact map takes a few seconds."""
ROLE_GRADES = {"target": 3, "near": 1, "stuffed": 0, "unrelated": 0}
"""What a theme's roles count as on the scale of grades."""
_LEAST_COMPARED = 2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Question:
    """One question, asked; every method orders the same candidates."""

    id: str
    text: str
    trace: Trace
    rankings: Mapping[Method, tuple[str, ...]]
    """Document ids, best first."""

    @classmethod
    def of(cls, id_: str, text: str, trace: Trace) -> "Question":
        """Rank a trace by every method."""
        n = len(trace.candidates)
        rankings = {name: tuple(reranked(trace, COLUMNS[name], trace.settings, n)) for name in METHODS}
        return cls(id=id_, text=text, trace=trace, rankings=rankings)

    @property
    def pool(self) -> tuple[str, ...]:
        """The first DEPTH documents of every method, in an order of no meaning that is the same every time."""
        found = sorted({document for ranking in self.rankings.values() for document in ranking[:DEPTH]})
        random.Random(self.text).shuffle(found)  # noqa: S311 - a reproducible draw, no secret
        return tuple(found)


def ask_question(pipeline: Pipeline, id_: str, text: str) -> Question:
    """Ask a question as the Explore page does by default.

    Raises:
        ParameterError: the question is empty.
        KnowledgeBaseError: the knowledge base holds no document.
    """
    settings = RankSettings(tau=pipeline.default_tau(centred=False).tau)
    return Question.of(id_, text, pipeline.ask(text, SearchSettings(copies_last=True), settings))


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Asked questions with their judgments."""

    name: str
    pipeline: Pipeline
    questions: tuple[Question, ...]
    qrels: Qrels
    """Of every question; a document without a grade is not relevant."""
    note: str = ""
    """What a person must know about these judgments; may be empty."""

    @cached_property
    def scores(self) -> Mapping[Method, Mapping[str, Mapping[str, float]]]:
        """Every measure by method and question."""
        return {
            name: measure({q.id: q.rankings[name] for q in self.questions}, self.qrels) for name in METHODS
        }

    @cached_property
    def means(self) -> Mapping[Method, Mapping[str, float]]:
        """Every measure's mean by method."""
        return {name: means(scores) for name, scores in self.scores.items()}

    def ndcg(self, method: Method) -> list[float]:
        """nDCG@10 of every question, in order."""
        return [self.scores[method][question.id]["ndcg@10"] for question in self.questions]

    def difference(self, method: Method) -> Difference | None:
        """Mean difference of nDCG@10 to similarity, with its interval; None for a single question."""
        if len(self.questions) < _LEAST_COMPARED:
            return None
        return paired_difference(self.ndcg(method), self.ndcg("similarity"), SEED)

    def changes(self, method: Method) -> list[tuple[Question, float, float]]:
        """Questions with nDCG@10 by similarity and by a method, the largest change first; ties in order."""
        rows = list(zip(self.questions, self.ndcg("similarity"), self.ndcg(method), strict=True))
        return sorted(rows, key=lambda row: -abs(row[2] - row[1]))

    def question(self, id_: object) -> Question:
        """Find a question.

        Raises:
            ParameterError: there is none of that id.
        """
        found = next((question for question in self.questions if question.id == id_), None)
        if found is None:
            raise ParameterError("this question is not on the list any more; choose one that is.")
        return found


def theme_answers(labelled: "Labelled") -> Answers:
    """Turn themes into judged questions, each over its own documents."""
    pairs = list(zip(labelled.themes, labelled.traces, strict=True))
    return Answers(
        name=labelled.name,
        pipeline=labelled.pipeline,
        questions=tuple(Question.of(theme.id, theme.query, trace) for theme, trace in pairs),
        qrels={
            theme.id: {d.id: ROLE_GRADES[role] for d, role in zip(theme.documents, theme.roles, strict=True)}
            for theme, _ in pairs
        },
        note="Each question is asked over its own theme's documents. Target counts as grade 3, near as 1, others as 0.",
    )


def judged_answers(
    pipeline: Pipeline, queries: Mapping[str, str], qrels: Qrels, progress: Progress
) -> Answers:
    """Ask every question that has judgments.

    Raises:
        ParameterError: the files do not fit each other or the knowledge base, or hold too many questions.
        KnowledgeBaseError: the knowledge base holds no document.
    """
    check_known(queries, qrels)
    check_count(qrels)
    known, left_out = known_documents(pipeline, qrels)
    asked = []
    for done, id_ in enumerate(known):
        progress(done, len(known), "questions")
        asked.append(ask_question(pipeline, id_, queries[id_]))
    note = "Documents without a grade count as not relevant."
    return Answers(
        name=pipeline.base.name, pipeline=pipeline, questions=tuple(asked), qrels=known, note=note + left_out
    )


def check_known(queries: Mapping[str, str], qrels: Qrels) -> None:
    """Refuse judgments of a question whose words are unknown.

    Raises:
        ParameterError: as said.
    """
    missing = next((id_ for id_ in qrels if id_ not in queries), None)
    if missing is not None:
        raise ParameterError(
            f"the judgments name the question '{missing[:80]}', whose words are in no list; upload the questions "
            "together with them."
        )


def check_count(queries: Collection[str]) -> None:
    """Refuse more questions than a session may keep.

    Raises:
        ParameterError: as said.
    """
    if len(queries) > MOST_QUESTIONS:
        raise ParameterError(
            f"there are {len(queries):,} questions, but at most {MOST_QUESTIONS} are measured in the page; shorten the "
            "list, or use the command `evaluate`."
        )


def known_documents(pipeline: Pipeline, qrels: Qrels) -> tuple[dict[str, dict[str, int]], str]:
    """Keep the judgments of documents that the knowledge base holds.

    Returns:
        The judgments (questions without any left go too), and what was left out in a sentence, empty if nothing was.

    Raises:
        ParameterError: no document is known.
    """
    rows = pipeline.base.documents.rows
    known = {
        id_: kept
        for id_, grades in qrels.items()
        if (kept := {document: grade for document, grade in grades.items() if document in rows})
    }
    before, after = (sum(map(len, given.values())) for given in (qrels, known))
    if not after:
        raise ParameterError(
            f"none of the {before:,} judged documents is in the knowledge base '{pipeline.base.name}'; choose the "
            "knowledge base the judgments were made for."
        )
    unknown = before - after
    left_out = f" {unknown:,} of {before:,} judgments name documents that are not here and were left out."
    return known, left_out if unknown else ""


def surface(answers: Answers) -> "tuple[str, Figure | None]":
    """Map the mean nDCG@10 of the hybrid over the (tau, alpha) plane.

    Returns:
        One sentence, and the figure; no figure where the exact map would take too long or shows nothing.
    """
    cases = [ndcg_case(q.trace, answers.qrels[q.id]) for q in answers.questions if q.trace.candidates]
    if not any(case.watched for case in cases):
        return "No relevant document is among the candidates, so there is no map to draw.", None
    pairs = sum(len(case.watched) * len(case.trace.candidates) for case in cases)
    if pairs > MOST_PAIRS:
        words = (
            f"The exact map over tau and alpha is not drawn: it would take too long for {pairs:,} pairs of documents "
            f"(up to {MOST_PAIRS:,} are quick). It is drawn for fewer questions."
        )
        return words, None
    current = answers.questions[0].trace.settings
    plane = metric_plane(cases, current)
    best = best_region(plane, highest=True)
    here = plane.at(current.tau, current.alpha)
    at_default = (
        ""
        if here is None
        else f" At the default (tau {current.tau:g}, alpha {current.alpha:g}) it is {here:.3f}."
    )
    words = best.region.sentence(f"Best mean nDCG@10 of the hybrid: {best.value:.3f},")
    figure = plane_figure(plane, best, current, measure="mean nDCG@10", highest=True)
    return (
        f"{words}.{at_default} This is best for these questions; try it on others before you rely on it.",
        figure,
    )


def ndcg_case(trace: Trace, grades: Mapping[str, int]) -> Case:
    """Measure a trace by nDCG@10, as trec_eval does: the gain is the grade, documents without one gain nothing."""
    gains = np.array([max(0, grades.get(candidate.id, 0)) for candidate in trace.candidates], np.float64)
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    best = np.array(
        sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:DEPTH], np.float64
    )
    ideal = float(best @ discounts[: len(best)])

    def ndcg(order: IndexVector) -> float:
        first = gains[order[:DEPTH]]
        return float(first @ discounts[: len(first)]) / ideal if ideal else 0.0

    return Case(trace=trace, watched=tuple(np.flatnonzero(gains).tolist()), metric=ndcg)


def csv_of(answers: Answers) -> str:
    """One line a question: its judgments counted, and every measure by every method, all digits."""
    columns = [f"{name} {what}" for name in METHODS for what in MEASURES]
    rows: list[list[str | float]] = []
    for question in answers.questions:
        grades = answers.qrels[question.id].values()
        values = [answers.scores[name][question.id][what] for name in METHODS for what in MEASURES]
        rows.append([question.id, question.text, len(grades), sum(grade > 0 for grade in grades), *values])
    return csv_text(["query_id", "query", "judged", "relevant", *columns], rows)


def json_of(answers: Answers) -> str:
    """Everything measured, with the settings and the judgments it was measured by."""
    trace = answers.questions[0].trace
    differences = {name: answers.difference(name) for name in METHODS[1:]}
    found = {
        "name": answers.name,
        "knowledge_base": {"name": trace.knowledge_base, "fingerprint": trace.fingerprint},
        "encoder": trace.encoder,
        "tau": trace.settings.tau,
        "alpha": trace.settings.alpha,
        "top_k": trace.top_k,
        "seed": SEED,
        "methods": answers.means,
        "difference": {
            name: {"mean": d.mean, "low": d.low, "high": d.high} for name, d in differences.items() if d
        },
        "queries": [
            {
                "id": question.id,
                "text": question.text,
                "measures": {name: answers.scores[name][question.id] for name in METHODS},
                "rankings": question.rankings,
                "qrels": answers.qrels[question.id],
            }
            for question in answers.questions
        ],
    }
    return json.dumps(found, ensure_ascii=False, indent=1)


def queries_jsonl(questions: Sequence[tuple[str, str]]) -> str:
    """Write questions in BEIR layout, (id, text) a line."""
    return "".join(
        json.dumps({"_id": id_, "text": text}, ensure_ascii=False) + "\n" for id_, text in questions
    )
