"""Where questions come from: the documents' own titles and headings, and uploaded lists."""

import hashlib
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from causalviz.errors import ParameterError
from causalviz.evaluation.qrels import read_qrels, read_queries, text_lines
from causalviz.pipeline import LONGEST_QUESTION, Pipeline
from causalviz.ui.questions import SEED

_LEAST_WORDS = 2
"""Content words that a line needs to be worth asking."""
_HEADING = (4, 80)
"""Characters of a line that may be a heading."""
_ENDS = tuple(".。!?！？:：;；,，、")
_LOOKED_INTO = 500
"""Documents read in search of headings once all titles are used."""


def read_uploads(paths: Sequence[Path]) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Read a list of questions, a file of judgments, or both, whatever they are called.

    Raises:
        CollectionError: a file is neither, or breaks its format.
        ParameterError: there are two of one kind.
    """
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for path in paths:
        judgments = _holds_judgments(path)
        if qrels if judgments else queries:
            raise ParameterError(
                f"there are two files of {'judgments' if judgments else 'questions'}; choose one of each kind at most."
            )
        if judgments:
            qrels = read_qrels(path)
        else:
            queries = read_questions(path)
    return queries, qrels


def read_questions(path: Path) -> dict[str, str]:
    """Read queries.jsonl, ``id<TAB>question`` lines, or one question a line, whose id is then made from its words.

    Raises:
        CollectionError: the file breaks its format.
        ParameterError: a question is too long, or there is none.
    """
    lines = [line.strip() for _, line in text_lines(path)]
    if not lines:
        raise ParameterError(f"'{path.name}' holds no question; write one a line.")
    if lines[0].startswith("{") or all("\t" in line for line in lines):
        return read_queries(path)
    long = next((line for line in lines if len(line) > LONGEST_QUESTION), None)
    if long is not None:
        raise ParameterError(
            f"'{path.name}' holds a line of {len(long):,} characters; write one question a line."
        )
    return {id_of(line): line for line in lines}


def _holds_judgments(path: Path) -> bool:
    """Three fields at tabs or four at white space, the last of them a number, in the file's last line."""
    *_, (_, last) = [(0, ""), *text_lines(path)]
    at_tabs, at_spaces = last.strip().split("\t"), last.split()
    fields = next((f for f, n in ((at_tabs, 3), (at_spaces, 4)) if len(f) == n), None)
    return fields is not None and fields[-1].strip().lstrip("+-").isdigit()


def id_of(text: str) -> str:
    """Make an id from a question's words: the same question has the same one in every file."""
    return f"q-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def proposals(pipeline: Pipeline, taken: Iterable[str]) -> Iterator[str]:
    """Give titles and then headings that are worth asking, in an order drawn with SEED, none twice."""
    table = pipeline.base.documents
    order = random.Random(SEED).sample(range(len(table.ids)), len(table.ids))  # noqa: S311 - a reproducible draw
    titles = (table.titles[row] for row in order)
    headings = (
        heading
        for row in order[:_LOOKED_INTO]
        for heading in headings_of(pipeline.base.texts([table.ids[row]], "document")[table.ids[row]])
    )
    seen = {text.casefold() for text in taken}
    for line in itertools.chain(titles, headings):
        text = line.strip()
        if text.casefold() not in seen and len({t.term for t in pipeline.tokens(text)}) >= _LEAST_WORDS:
            seen.add(text.casefold())
            yield text


def headings_of(text: str) -> list[str]:
    """Find what looks like a heading: a short paragraph of one line that does not end as a sentence or a list does."""
    low, high = _HEADING
    blocks = [block.strip() for block in text.split("\n\n")]
    return [
        b
        for b in blocks
        if low <= len(b) <= high and "\n" not in b and "\t" not in b and not b.endswith(_ENDS)
    ]
