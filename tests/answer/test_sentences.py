"""Sentences of answers, Chinese and English."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.answer.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("数据出境需要评估。由省级部门受理！是吗？", ["数据出境需要评估。", "由省级部门受理！", "是吗？"]),
        (
            "MaxSim adds maxima [1]. It is cheap. [2, 3] Done",
            ["MaxSim adds maxima [1].", "It is cheap. [2, 3]", "Done"],
        ),
        ("评估分三步。[1]【2】然后受理[3]。", ["评估分三步。[1]【2】", "然后受理[3]。"]),
        ("S(q, d) costs 0.5 ms, e.g. on a GPU.", ["S(q, d) costs 0.5 ms, e.g. on a GPU."]),
        (
            "Khattab et al. wrote it, cf. Fig. 2 of J. Smith. So.",
            ["Khattab et al. wrote it, cf. Fig. 2 of J. Smith.", "So."],
        ),
        ("1. First item\n2. Second item", ["1. First item", "2. Second item"]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("Use www.example.org/a.b today.", ["Use www.example.org/a.b today."]),
        ("Wait... what", ["Wait...", "what"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, parts: list[str]) -> None:
    assert cut(text) == parts


@given(st.text(alphabet="ab .。!?\n[1]\"'”）0"))
def test_every_visible_character_lies_in_exactly_one_sentence(text: str) -> None:
    found = sentences(text)
    assert "".join("".join(cut(text)).split()) == "".join(text.split())
    assert all(a < b <= c < d for (a, b), (c, d) in itertools.pairwise(found))
