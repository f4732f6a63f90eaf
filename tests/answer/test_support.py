"""Which source a sentence rests on, worked out by hand."""

from fakes import plain_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from causalviz.answer.support import SUPPORT, SupportedSentence, check_support

WORDS = plain_tokenizer().tokens
SOURCES = {1: "late interaction keeps token vectors", 2: "cross encoder reads both texts in 2020"}


def check(answer: str) -> list[SupportedSentence]:
    return check_support(answer, SOURCES, WORDS)


def only(answer: str) -> SupportedSentence:
    (found,) = check(answer)
    return found


def test_a_cited_source_that_holds_half_the_words_supports() -> None:
    # content words: interaction keeps many things; two of four are in source 1
    found = only("The interaction keeps many things [1].")
    assert (found.kind, found.sources, found.share) == ("cited", (1,), 0.5)
    assert found.missing == ("many", "things")
    # one word more that is not there: two of five
    found = only("The interaction keeps many other things [1].")
    assert (found.kind, found.sources, found.share) == ("unsupported", (1,), 0.4)


def test_several_cited_sources_support_together() -> None:
    # late vectors | cross encoder: half in each, all in both
    found = only("Late vectors, cross encoder, and [1, 2].")
    assert (found.kind, found.sources) == ("cited", (1, 2))
    assert found.missing == ("and",)


def test_a_sentence_without_citation_is_linked_to_the_source_that_holds_most() -> None:
    found = only("A cross encoder reads token pairs.")
    # cross encoder reads: 3 of 5 in source 2; token: 1 of 5 in source 1
    assert (found.kind, found.sources, found.share) == ("uncited", (2,), 0.6)


def test_a_wrong_citation_is_told_with_the_right_source() -> None:
    found = only("A cross encoder reads both texts [1].")
    assert (found.kind, found.sources, found.share) == ("elsewhere", (2,), 1.0)


def test_a_number_that_the_source_lacks_is_never_supported() -> None:
    assert only("A cross encoder reads both in 2020 [2].").kind == "cited"
    found = only("A cross encoder reads both in 2021 [2].")
    assert (found.kind, found.sources, found.missing) == ("unsupported", (2,), ("2021",))


def test_a_citation_of_no_source_is_named() -> None:
    found = only("Late interaction keeps token vectors [7].")
    assert (found.kind, found.sources, found.unknown) == ("elsewhere", (1,), (7,))
    found = only("Penguins swim [7].")
    assert (found.kind, found.sources, found.unknown) == ("unsupported", (), (7,))


def test_a_sentence_without_content_words_claims_nothing() -> None:
    assert [found.kind for found in check("Of the! … Penguins swim.")] == [
        "nothing",
        "nothing",
        "unsupported",
    ]


def test_chinese_sentences_are_checked_word_by_word() -> None:
    sources = {1: "数据出境安全评估由省级网信部门受理", 2: "汽车数据"}
    # pairs of characters from the sentence's beginning: 数据 出境 安全 评估 / 需要 费用
    first, second = check_support("数据出境安全评估[1]。需要费用[1]。", sources, WORDS)
    assert (first.kind, first.sources, first.share) == ("cited", (1,), 1.0)
    assert (second.kind, second.missing) == ("unsupported", ("需要", "费用"))


def test_without_sources_nothing_is_supported() -> None:
    (found,) = check_support("Late interaction [1].", {}, WORDS)
    assert (found.kind, found.sources, found.share, found.unknown) == ("unsupported", (), 0.0, (1,))


WORD = st.sampled_from(["late", "token", "reads", "penguin", "2020", "2021"])


@given(
    st.lists(WORD, min_size=1), st.lists(st.lists(WORD), max_size=3), st.lists(st.integers(0, 4), max_size=3)
)
def test_the_verdict_follows_from_share_and_missing_words(
    sentence: list[str], sources: list[list[str]], cited: list[int]
) -> None:
    given_sources = {number: " ".join(words) for number, words in enumerate(sources, start=1)}
    answer = " ".join(sentence) + "".join(f" [{number}]" for number in cited)
    (found,) = check_support(answer, given_sources, WORDS)
    held = {word for number in found.sources for word in sources[number - 1]}
    distinct = set(sentence)
    assert set(found.missing) == distinct - held
    assert found.share == 1 - len(distinct - held) / len(distinct)
    good = found.share >= SUPPORT and not {"2020", "2021"} & set(found.missing)
    assert (found.kind != "unsupported") == good
    assert set(found.unknown) == {number for number in cited if number not in given_sources}


@given(st.lists(WORD, min_size=1), st.lists(WORD), st.lists(WORD))
def test_more_text_in_the_cited_source_never_takes_support_away(
    sentence: list[str], source: list[str], more: list[str]
) -> None:
    answer = " ".join(sentence) + " [1]"
    (before,) = check_support(answer, {1: " ".join(source)}, WORDS)
    (after,) = check_support(answer, {1: " ".join(source + more)}, WORDS)
    assert after.share >= before.share
    assert after.kind == "cited" or before.kind == "unsupported"
