"""Which passages enter a prompt, and in which order."""

import pytest

from causalviz.answer.passages import Passage, Strategy, choose_passages


def passage(document: str, position: int, similarity: float, text: str | None = None) -> Passage:
    id_ = f"{document}#{position}"
    return Passage(
        id=id_,
        document=document,
        title=document,
        text=id_ if text is None else text,
        position=position,
        similarity=similarity,
    )


A = [passage("a", 0, 0.3), passage("a", 1, 0.9), passage("a", 2, 0.5)]
B = [passage("b", 0, 0.99)]
C = [passage("c", 0, 0.1), passage("c", 1, 0.2)]


@pytest.mark.parametrize(
    ("strategy", "ids"),
    [
        ("single", ["a#1", "a#2", "a#0"]),
        # the best of each document in the documents' order, then the second best, then the third
        ("cross", ["a#1", "b#0", "c#1", "a#2", "c#0", "a#0"]),
    ],
)
def test_documents_keep_their_order_and_passages_go_by_similarity(strategy: Strategy, ids: list[str]) -> None:
    assert [one.id for one in choose_passages([A, B, C], strategy)] == ids


def test_equal_similarities_go_in_reading_order() -> None:
    chosen = choose_passages([[passage("a", 1, 0.5), passage("a", 0, 0.5)]], "single")
    assert [one.position for one in chosen] == [0, 1]


def test_the_same_text_is_given_once() -> None:
    copies = [[passage("a", 0, 0.5, "same")], [passage("b", 0, 0.9, "same"), passage("b", 1, 0.1)]]
    assert [one.id for one in choose_passages(copies, "cross")] == ["a#0", "b#1"]


@pytest.mark.parametrize("strategy", ["single", "cross"])
def test_nothing_gives_nothing(strategy: Strategy) -> None:
    assert choose_passages([], strategy) == []
    assert choose_passages([[]], strategy) == []
