"""Labelling: whose grade is what, which questions count, and what the labels say about re-ranking."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from causalviz.errors import ParameterError
from causalviz.evaluation.gate import METHODS, NDCG, Verdict, judge
from causalviz.evaluation.measures import Qrels
from causalviz.knowledge_base import Choice, GateRecord, choose, documents_of, load_gate
from causalviz.pipeline import Pipeline, SearchSettings, conditions, normalise_query
from causalviz.protocols import Progress
from causalviz.records import RankSettings
from causalviz.ui.questions import (
    SEED,
    Answers,
    Question,
    ask_question,
    check_count,
    check_known,
    known_documents,
    queries_jsonl,
)
from causalviz.ui.sources import id_of, proposals

FIRST_QUESTIONS = 8
"""Proposed at a time."""
HIGHEST_GRADE = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """One session's labels on one knowledge base; every change gives a new record."""

    pipeline: Pipeline
    queries: Mapping[str, str] = field(default_factory=dict)
    """Text by id, in the order they are gone through."""
    asked: Mapping[str, Question] = field(default_factory=dict)
    """Those looked at so far."""
    grades: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Grade by question and document; only of questions in ``queries``."""
    from_documents: frozenset[str] = frozenset()
    """Ids of the proposed questions."""
    past: tuple[tuple[str, Mapping[str, int]], ...] = ()
    """For undo: a question and its grades before each step."""

    def with_questions(self, queries: Mapping[str, str]) -> "Judged":
        """Add questions at the end; those already there stay.

        Raises:
            ParameterError: an id stands for another question already, a question cannot be asked, or they are too many.
        """
        for id_, text in queries.items():
            normalise_query(text)
            if self.queries.get(id_, text) != text:
                raise ParameterError(
                    f"'{id_[:80]}' is the id of another question here already; give the new one an id of its own."
                )
        together = {**self.queries, **queries}
        check_count(together)
        return replace(self, queries=together)

    def proposed(self, count: int = FIRST_QUESTIONS) -> "Judged":
        """Add questions made from the documents' own titles, then headings.

        Raises:
            ParameterError: there is nothing left to propose, or there are too many questions.
        """
        texts = list(itertools.islice(proposals(self.pipeline, self.queries.values()), count))
        if not texts:
            raise ParameterError(
                "no further title or heading of these documents makes a question; bring questions of your own."
            )
        found = self.with_questions({id_of(text): text for text in texts})
        return replace(found, from_documents=self.from_documents | {id_of(text) for text in texts})

    def ask(self, id_: str) -> "Judged":
        """Ask a question unless it is asked already.

        Raises:
            ParameterError: there is no such question.
            KnowledgeBaseError: the knowledge base holds no document.
        """
        if id_ not in self.queries:
            raise ParameterError("this question is not on the list any more; choose one that is.")
        if id_ in self.asked:
            return self
        question = ask_question(self.pipeline, id_, self.queries[id_])
        return replace(self, asked={**self.asked, id_: question})

    def grade(self, id_: str, document: str, grade: int) -> "Judged":
        """Give a document a grade for an asked question.

        Raises:
            ParameterError: there is no such question, document or grade.
        """
        if document not in self._pool(id_) or grade not in range(HIGHEST_GRADE + 1):
            raise ParameterError("the page sent a grade for something that is not shown; reload the page.")
        return self._changed(id_, {**self.grades.get(id_, {}), document: grade})

    def grade_rest(self, id_: str) -> "Judged":
        """Call every document of a question that has no grade not relevant.

        Raises:
            ParameterError: there is no such question.
        """
        return self._changed(id_, dict.fromkeys(self._pool(id_), 0) | dict(self.grades.get(id_, {})))

    def undo(self) -> "tuple[Judged, str | None]":
        """Take the last step back; returns the question it was about, None where there is nothing to take back."""
        if not self.past:
            return self, None
        *before, (id_, grades) = self.past
        return replace(self, past=tuple(before), grades={**self.grades, id_: grades}), id_

    def missing(self, id_: str) -> int | None:
        """How many documents of a question have no grade yet; None before it is asked."""
        question = self.asked.get(id_)
        grades = self.grades.get(id_, {})
        return None if question is None else sum(document not in grades for document in question.pool)

    def next_question(self, after: str | None = None) -> str | None:
        """Find the next question that does not count yet, looking on from one and then from the beginning."""
        ids = list(self.queries)
        start = ids.index(after) + 1 if after is not None and after in self.queries else 0
        return next((id_ for id_ in ids[start:] + ids[:start] if self.missing(id_) != 0), None)

    def imported(self, queries: Mapping[str, str], qrels: Qrels, progress: Progress) -> "tuple[Judged, str]":
        """Take questions and judgments in; a judgment replaces an earlier one.

        Returns:
            The record, all judged questions asked, and what was left out in a sentence, empty if nothing was.

        Raises:
            ParameterError: the files do not fit each other, what is here or the knowledge base.
            KnowledgeBaseError: the knowledge base holds no document.
        """
        found = self.with_questions(queries)
        if not qrels:
            return found, ""
        check_known(found.queries, qrels)
        known, left_out = known_documents(self.pipeline, qrels)
        merged = {id_: {**found.grades.get(id_, {}), **grades} for id_, grades in known.items()}
        found = replace(found, grades={**found.grades, **merged}, past=())
        for done, id_ in enumerate(known):
            progress(done, len(known), "questions")
            found = found.ask(id_)
        return found, left_out

    def moved_to(self, pipeline: Pipeline) -> "Judged":
        """Keep questions and grades where the documents have changed; questions are asked anew when looked at."""
        if pipeline is self.pipeline:
            return self
        if pipeline.base.fingerprint == self.pipeline.base.fingerprint:
            return replace(self, pipeline=pipeline)
        rows = pipeline.base.documents.rows
        kept = {id_: {d: g for d, g in grades.items() if d in rows} for id_, grades in self.grades.items()}
        moved = replace(self, pipeline=pipeline, grades=kept, asked={}, past=())
        for id_, grades in kept.items():
            moved = moved.ask(id_) if grades else moved
        return moved

    @cached_property
    def answers(self) -> Answers:
        """The questions that count: those for which documents were found, and all of the pool have a grade."""
        ids = [id_ for id_ in self.queries if self.missing(id_) == 0 and self.asked[id_].pool]
        return Answers(
            name=f"labels on {self.pipeline.base.name}",
            pipeline=self.pipeline,
            questions=tuple(self.asked[id_] for id_ in ids),
            qrels={id_: self.grades[id_] for id_ in ids},
            note="Every document that any ranking puts among its first ten was graded.",
        )

    @cached_property
    def verdict(self) -> Verdict | None:
        """What the questions that count say; None as long as they hold no relevant document."""
        answers = self.answers
        if not any(grade > 0 for grades in answers.qrels.values() for grade in grades.values()):
            return None
        values = {name: answers.ndcg(name) for name in METHODS}
        if not any(any(found) for found in values.values()):
            return None
        return judge(values, measure=NDCG, seed=SEED)

    def record(self) -> GateRecord:
        """What is kept with the knowledge base.

        Raises:
            ParameterError: there is no verdict yet.
        """
        if self.verdict is None:
            raise ParameterError(
                "there is no verdict to keep yet; label the documents of some questions first."
            )
        trace = self.answers.questions[0].trace
        return GateRecord(
            verdict=self.verdict,
            date=datetime.now(UTC),
            conditions=conditions(SearchSettings(), trace.settings),
            encoder=trace.encoder,
            fingerprint=trace.fingerprint,
            documents=documents_of(self.pipeline.base),
        )

    def questions_file(self) -> str:
        """All questions, as queries.jsonl.

        Raises:
            ParameterError: there is none.
        """
        if not self.queries:
            raise ParameterError("there is no question to save yet; propose or upload some first.")
        return queries_jsonl(list(self.queries.items()))

    def judgments(self) -> dict[str, Mapping[str, int]]:
        """All grades, also of questions that do not count yet.

        Raises:
            ParameterError: there is none.
        """
        found = {id_: grades for id_, grades in self.grades.items() if grades}
        if not found:
            raise ParameterError("there is no judgment to save yet; grade some documents first.")
        return found

    def _pool(self, id_: str) -> tuple[str, ...]:
        if id_ not in self.asked:
            raise ParameterError("this question is not on the list any more; choose one that is.")
        return self.asked[id_].pool

    def _changed(self, id_: str, grades: Mapping[str, int]) -> "Judged":
        step = (id_, self.grades.get(id_, {}))
        return replace(self, grades={**self.grades, id_: grades}, past=(*self.past, step))


def default_choice(pipeline: Pipeline, search: SearchSettings, settings: RankSettings) -> Choice:
    """Say by which method a knowledge base ranks until a person chooses, and why.

    Raises:
        KnowledgeBaseError: the knowledge base is gone or damaged.
    """
    record, ignored = load_gate(pipeline.base.path)
    choice = choose(record, documents_of(pipeline.base), conditions(search, settings))
    return replace(choice, note=choice.note or ignored)
