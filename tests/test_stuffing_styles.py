"""Each stuffing style worked out by hand in both languages, and the laws all of them keep."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.backends.segmentation import default_tokenizer
from causalviz.errors import ParameterError
from causalviz.evaluation.stuffing import DEVELOPMENT, HELD_OUT, stuff

EXACT = tuple(style for style in (*DEVELOPMENT, *HELD_OUT) if style != "synonyms")
ALL = (*EXACT, "synonyms")
KEYWORDS = ("vector", "token", "colbert", "数据", "出境", "评估")
SENTENCES = (
    "Bread rises at 3.5 degrees. ",
    "Salt (a little.) ",
    "Is rye heavy?\n",
    "面包要醒发。",
    "他说：“先揉面！”",
    "最后烤熟",
)


def texts() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12).map("".join)


def terms() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(KEYWORDS), min_size=1, unique=True)


def words(text: str) -> Counter[str]:
    return Counter(token.term for token in default_tokenizer().tokens(text))


# Every style by hand


def test_a_list_opens_with_the_question_and_every_keyword_six_times() -> None:
    question, block, text = stuff("Late tokens?", ["late", "tokens"], "Bread.", "list", 3).split("\n")
    assert (question, text) == ("Late tokens?", "Bread.")
    assert Counter(block.split(" ")) == {"late": 6, "tokens": 6}


def test_woven_keywords_stand_after_each_sentence() -> None:
    text = "Flour costs 3.5 euros. He said “knead!” Bake"
    found = stuff("late?", ["late"], text, "woven", 3)
    assert found == "late? Flour costs 3.5 euros. late He said “knead!” late Bake late"
    assert stuff("出境？", ["出境"], "先揉面。他说：“好。”再烤", "woven", 3) == (
        "出境？ 先揉面。 出境 他说：“好。” 出境 再烤 出境"
    )


def test_woven_keywords_are_three_different_ones_where_there_are_as_many() -> None:
    first, second = (
        stuff("q", ["a", "b", "c", "d"], "One. Two.", "woven", 3).removeprefix("q One. ").split(" Two. ")
    )
    for group in (first.split(), second.split()):
        assert len(set(group)) == 3
        assert set(group) < {"a", "b", "c", "d"}


def test_a_title_holds_each_keyword_once_and_leaves_the_text_as_it_is() -> None:
    text = "Bread\n\nFlour, water.  Salt.\n"
    assert stuff("Late?", ["late"], text, "title", 3) == f"Late?\nlate\n\n{text}"
    question, keywords, empty, body = stuff("数据出境？", ["数据", "出境"], "揉面。", "title", 3).split("\n")
    assert (question, empty, body) == ("数据出境？", "", "揉面。")
    assert sorted(keywords.split(" | ")) == ["出境", "数据"]


def test_light_puts_each_keyword_in_once_or_twice_at_sentence_ends() -> None:
    found = {stuff("Late?", ["late"], "Rye. Salt.", "light", seed) for seed in range(40)}
    assert found == {
        "Rye. late Salt.",
        "Rye. Salt. late",
        "Rye. late late Salt.",
        "Rye. late Salt. late",
        "Rye. Salt. late late",
    }
    assert stuff("出境？", ["出境"], "揉面。", "light", 3) in {"揉面。 出境", "揉面。 出境 出境"}


def test_heavy_puts_blocks_before_between_and_after() -> None:
    # 10 characters of text ask for 20 of keywords; 3 blocks of "late" hold 12, so each has it ceil(20 / 12) = 2 times
    assert (
        stuff("Late?", ["late"], "Rye. Salt.", "heavy", 3) == "late late\nRye.\nlate late\nSalt.\nlate late"
    )
    # 6 characters ask for 12; 3 blocks hold 6
    assert stuff("出境？", ["出境"], "揉面。烤熟。", "heavy", 3) == (
        "出境 出境\n揉面。\n出境 出境\n烤熟。\n出境 出境"
    )


def test_synonyms_are_woven_in_instead_of_the_keywords_that_have_any() -> None:
    related = {"late": ["tardy"], "tokens": []}
    found = stuff("Late tokens?", ["late", "tokens"], "Rye.", "synonyms", 3, related=related)
    assert found in {"Late tokens? Rye. tardy tokens", "Late tokens? Rye. tokens tardy"}
    assert (
        stuff("数据？", ["数据"], "揉面。", "synonyms", 3, related={"数据": ["资料"]}) == "数据？ 揉面。 资料"
    )


def test_phrases_are_sentences_in_the_language_of_the_question() -> None:
    wanted = ["late", "rye"]
    english = {stuff("Late rye?", wanted, "Salt.", "phrases", seed) for seed in range(60)}
    assert "Salt. Many readers ask about late and rye." in english
    assert "Salt. This page explains rye and late in detail." in english
    assert len(english) == 8 * 2  # eight templates, two orders
    chinese = {stuff("数据出境？", ["数据", "出境"], "Salt.", "phrases", seed) for seed in range(60)}
    assert "Salt. 本文为您详细介绍数据和出境。" in chinese
    assert len(chinese) == 8 * 2


def test_phrases_go_on_below_a_text_too_short_for_all_keywords() -> None:
    found = stuff("q", ["a1", "b2", "c3", "d4", "e5"], "Salt.", "phrases", 3)
    assert found.startswith("Salt. ")
    assert all(term in found for term in ("a1", "b2", "c3", "d4", "e5"))
    assert found.count(" and ") == 2  # two pairs and one alone


# Laws


@given(st.sampled_from(ALL), terms(), texts(), st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_text(style: str, chosen: list[str], text: str, seed: int) -> None:
    once, again = (
        stuff(" ".join(chosen), chosen, text, style, seed, related={chosen[0]: ["rye"]}) for _ in range(2)
    )
    assert once == again


@pytest.mark.parametrize("style", EXACT)
def test_another_seed_gives_another_text(style: str) -> None:
    found = {stuff("q", KEYWORDS, "Rye. Salt. Water.", style, seed) for seed in range(10)}
    assert len(found) > 1


@given(st.sampled_from(EXACT), terms(), texts(), st.integers(0, 2**32))
def test_every_keyword_is_in_the_text(style: str, chosen: list[str], text: str, seed: int) -> None:
    found = stuff(" ".join(chosen), chosen, text, style, seed)
    assert all(term in found for term in chosen)


@given(st.sampled_from(ALL), terms(), texts(), st.integers(0, 2**32))
def test_the_words_of_the_off_topic_text_survive(style: str, chosen: list[str], text: str, seed: int) -> None:
    found = stuff(" ".join(chosen), chosen, text, style, seed, related={chosen[0]: ["rye"]})
    assert words(text) <= words(found)


@given(terms(), texts(), st.integers(0, 2**32))
def test_light_adds_nothing_but_each_keyword_once_or_twice(chosen: list[str], text: str, seed: int) -> None:
    added = words(stuff("q", chosen, text, "light", seed)) - words(text)
    assert set(added) == set(chosen)
    assert set(added.values()) <= {1, 2}


@given(terms(), texts(), st.integers(0, 2**32))
def test_most_of_a_heavy_text_is_keywords(chosen: list[str], text: str, seed: int) -> None:
    found = stuff("q", chosen, text, "heavy", seed)
    assert sum(found.count(term) * len(term) for term in chosen) >= 2 * len(text)


@given(terms(), texts(), st.integers(0, 2**32))
def test_a_text_stuffed_with_synonyms_names_its_keywords_in_the_question_only(
    chosen: list[str], text: str, seed: int
) -> None:
    related = {term: [f"near{i}"] for i, term in enumerate(chosen)}
    found = stuff("q", chosen, text, "synonyms", seed, related=related)
    assert not any(term in found for term in chosen)


def test_development_and_held_out_styles_are_kept_apart() -> None:
    assert not set(DEVELOPMENT) & set(HELD_OUT)


@pytest.mark.parametrize(
    ("chosen", "text", "style", "said"),
    [
        (["late"], "Rye.", "loud", "no stuffing style 'loud'; choose one of: list, woven, title, light,"),
        ([], "Rye.", "list", "0 keywords and 4 characters"),
        (["late"], " \n", "list", "1 keywords and 0 characters"),
        (["late"], "Rye.", "synonyms", "no related words"),
    ],
)
def test_what_cannot_be_stuffed_is_refused(chosen: list[str], text: str, style: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        stuff("q", chosen, text, style, 0)
