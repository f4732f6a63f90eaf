import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents.passages import passages


def letters(text: str) -> list[tuple[int, int]]:
    """One token a character."""
    return [(i, i + 1) for i in range(len(text))]


def words(text: str) -> list[tuple[int, int]]:
    """One token a word; spaces belong to none."""
    starts = [i for i, c in enumerate(text) if c != " " and (i == 0 or text[i - 1] == " ")]
    return [(start, start + len(text[start:].split(" ", maxsplit=1)[0])) for start in starts]


def test_a_text_that_fits_stays_whole() -> None:
    text = "  three small words "
    assert passages(text, words(text), lambda part: len(part.split()) - 3, 3) == [text]


def test_passages_share_an_eighth_of_their_tokens() -> None:
    text = "abcdefghijklmnopqrst"
    assert passages(text, letters(text), lambda part: len(part) - 8, 8) == ["abcdefgh", "hijklmno", "opqrst"]


def test_passages_are_cut_between_tokens_without_the_space_around_them() -> None:
    text = "one two  three four five six seven eight nine"
    found = passages(text, words(text), lambda part: len(part.split()) - 4, 4)
    assert found == ["one two  three four", "five six seven eight", "nine"]


def test_a_passage_that_is_longer_by_itself_is_shortened_until_it_fits() -> None:
    # Every passage costs two tokens more than it has, as question and marks would.
    text = "abcdefghij"
    assert passages(text, letters(text), lambda part: len(part) + 2 - 6, 6) == ["abcd", "efgh", "ij"]


def test_a_token_too_long_for_everything_stands_alone() -> None:
    assert passages("abc", letters("abc"), len, 2) == ["a", "b", "c"]


def test_no_token_no_passage() -> None:
    assert passages(" ", [], len, 4) == []


@given(st.lists(st.integers(1, 3), max_size=120), st.integers(1, 20), st.integers(0, 5))
def test_every_token_is_read_and_no_passage_is_too_long(costs: list[int], limit: int, more: int) -> None:
    # Characters, all different, cost one to three tokens each, and a passage `more`, which the size does not allow for.
    text = "".join(chr(0x4E00 + i) for i in range(len(costs)))
    spans = [(i, i + 1) for i, cost in enumerate(costs) for _ in range(cost)]

    def excess(part: str) -> int:
        return sum(costs[ord(c) - 0x4E00] for c in part) + more - limit

    read = 0
    for part in passages(text, spans, excess, limit):
        assert excess(part) <= 0 or len(part) == 1
        start = text.index(part)
        assert start <= read
        read = max(read, start + len(part))
    assert read == len(text)


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_the_size_to_start_from_may_be_anything(size: int) -> None:
    text = "abcdefghijklmnop"
    found = passages(text, letters(text), lambda part: len(part) - 5, size)
    assert all(len(part) <= 5 for part in found)
    assert "".join(part[-1] for part in found)[-1] == "p"
