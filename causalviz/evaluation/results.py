"""Answers kept on disk as they come: an interrupted evaluation goes on where it stopped, a second one only reads."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from causalviz.errors import CollectionError, ParameterError
from causalviz.evaluation.evaluate import Answer
from causalviz.protocols import Progress
from causalviz.records import RankSettings

_PACKAGE = Path(__file__).parent.parent


class AnswerFile:
    """Answers to questions, one line of JSON each; what cannot be read is not there."""

    def __init__(self, path: Path) -> None:
        """Read what an earlier run left.

        Args:
            path: From answers_path; the file need not exist.
        """
        self._path = path
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._answers = dict(entry for entry in map(_entry, lines) if entry)

    def get(self, query: str) -> Answer | None:
        """Return the answer to a question, by its text."""
        return self._answers.get(query)

    def add(self, query: str, answer: Answer) -> None:
        """Keep an answer, at once in the file."""
        self._answers[query] = answer
        entry = {"query": query, "rankings": answer.rankings, "statistics": answer.statistics}
        with self._path.open("a", encoding="utf-8") as file:
            # The line before may have been cut off when its run was killed.
            file.write(f"\n{json.dumps(entry)}\n")


def _entry(line: str) -> tuple[str, Answer] | None:
    try:
        entry = json.loads(line)
        return entry["query"], Answer(rankings=entry["rankings"], statistics=entry["statistics"])
    except (ValueError, KeyError, TypeError):
        return None


def answers_path(  # noqa: PLR0913 - what an answer depends on, one by one
    cache: Path,
    fingerprint: str,
    settings: RankSettings,
    *,
    centred: bool,
    top_k: int,
    reranker: str | None = None,
) -> Path:
    """Place of the answers a knowledge base gives under some settings, in this version of the software.

    Args:
        cache: The folder.
        fingerprint: Of the knowledge base: its documents and encoder.
        settings: tau and alpha count, which all methods share.
        centred: Whether keyword vectors are centred.
        top_k: How many candidates compete.
        reranker: Name of the cross-encoder that scores them too, if any.
    """
    # Whatever in this package is written anew may rank anew.
    sources = (path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py")))
    version = hashlib.sha256(b"\0".join(sources)).hexdigest()
    key = json.dumps([fingerprint, settings.tau, settings.alpha, centred, top_k, reranker, version])
    return cache / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.answers.jsonl"


def answer_all(
    queries: Mapping[str, str], kept: AnswerFile, ask: Callable[[str], Answer], progress: Progress
) -> dict[str, Answer]:
    """Answer every question that has no answer yet, and keep it.

    Args:
        queries: Text by query id.
        kept: Answers of earlier runs.
        ask: Gives a question's answer.
        progress: Told of (questions done, questions in all, the question).

    Returns:
        Answer by query id.

    Raises:
        CollectionError: a question cannot be asked.
    """
    answers = {}
    for done, (id_, query) in enumerate(queries.items()):
        found = kept.get(query)
        if found is None:
            progress(done, len(queries), query)
            try:
                found = ask(query)
            except ParameterError as error:
                raise CollectionError(f"query '{id_}' cannot be asked: {error}") from error
            kept.add(query, found)
        answers[id_] = found
    return answers
