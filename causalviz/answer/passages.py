"""Which passages of the selected documents go into a prompt, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Strategy = Literal["single", "cross"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A chunk of a selected document."""

    id: str
    """``document#number``, as in the knowledge base."""
    document: str
    """Id of the document it belongs to."""
    title: str
    text: str
    position: int
    """Its place in the document."""
    similarity: float
    """cos(E(q), E(chunk)), equation (1)."""


def choose_passages(documents: Sequence[Sequence[Passage]], strategy: Strategy) -> list[Passage]:
    """Order the passages of the selected documents by how soon they enter the prompt.

    "single": those of the first document alone, most similar first. "cross": every document's most similar passage,
    documents in their order, then every document's second, and so on: so the ranking of the documents decides, and a
    long document cannot crowd the others out. Of passages with the very same text only the first stays.

    Args:
        documents: The passages of each selected document, documents best first; an empty document gives nothing.
        strategy: As above.
    """
    best_first = [sorted(passages, key=lambda p: (-p.similarity, p.position)) for passages in documents]
    if strategy == "single":
        rounds = [best_first[0]] if best_first else []
    else:
        longest = max(map(len, best_first), default=0)
        rounds = [[passages[i] for passages in best_first if i < len(passages)] for i in range(longest)]
    by_text: dict[str, Passage] = {}
    for passage in (passage for one_round in rounds for passage in one_round):
        by_text.setdefault(passage.text, passage)
    return list(by_text.values())
