"""What is shown of a reply."""

import pytest

from causalviz.answer.replies import without_thoughts


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("plain", "plain"),
        ("<think>\n\n</think>\n\nanswer", "answer"),
        (" <think>still at", ""),
        ("an answer about <think>tags</think>", "an answer about <think>tags</think>"),
        ("", ""),
    ],
)
def test_thoughts_before_the_answer_are_left_out(reply: str, shown: str) -> None:
    assert without_thoughts(reply) == shown
