"""Keywords of Chinese, English and mixed text, with the real segmentation and stop words."""

import math
import re
import time

import numpy as np
import pytest
from fakes import plain_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from causalviz.backends.segmentation import default_tokenizer
from causalviz.keywords import _TOKEN, Token, Tokenizer, inverse_document_frequency, top_weights

TOKENIZER = plain_tokenizer()


def terms(text: str) -> list[str]:
    return [token.term for token in default_tokenizer().tokens(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # identifiers, numbers and hyphenated words stay whole (case 8 and 9 of what users report)
        ("PPR-9087", ["ppr-9087"]),
        ("load_model_v2() 返回 NaN", ["load_model_v2", "返回", "nan"]),
        ("版本 1.5.2，误差 0.001", ["版本", "1.5.2", "误差", "0.001"]),
        ("a state-of-the-art re-ranker", ["state-of-the-art", "re-ranker"]),
        ("np.float32 in node.js", ["np.float32", "node.js"]),
        ("C++ and C# and F#", ["c++", "c#", "f#"]),
        ("GB/T 39335-2020", ["gb", "39335-2020"]),
        ("4,096 characters at 10:30", ["4,096", "characters", "10:30"]),
        # a sentence end is no joiner, a possessive no part of the word
        ("It ends here.Then Wason's task", ["ends", "wason", "task"]),
        # function words, URL pieces, addresses and lone letters are no keywords
        ("the and of 的 如何 什么", []),
        ("see https://example.org/a?b=c and mail x.y@example.org today", ["see", "mail", "today"]),
        ("write to a.b+c-d@mail.example.org, or to 中@例子.中国", ["write"]),
        ("请看 www.example.org/路径 后再评估", ["请", "看", "路径", "后", "再", "评估"]),
        ("x = 3 i.e. y", []),
        # content words that careless lists drop
        ("数据出境的安全如何评估", ["数据", "出境", "安全", "评估"]),
        ("an information system for computers", ["information", "system", "computers"]),
        # nothing
        ("", []),
        ("😀 !!! ——", []),
    ],
)
def test_the_words_of_a_text(text: str, expected: list[str]) -> None:
    found = terms(text)
    longer = [term for term in expected if len(term) > 1]
    assert found == (longer or expected)


def test_a_single_character_counts_only_where_there_is_no_longer_word() -> None:
    assert terms("猫") == ["猫"]
    assert terms("猫 吃 老鼠") == ["老鼠"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("ＡＢＣ１２３ 型号", "ABC123 型号"), ("ＰＰＲ－９０８７", "PPR-9087"), ("ColBERT", "COLBERT")],
)
def test_width_and_case_do_not_matter(first: str, second: str) -> None:
    assert terms(first) == terms(second)


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("数据出境the -_.'12:，。\n"))))
def test_a_token_stands_where_it_says_it_stands(text: str) -> None:
    tokenizer = default_tokenizer()
    tokens = tokenizer.tokens(text)
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert token.term == token.term.strip()
        # the words of the surface alone are the token again, unless segmentation sees more context in the text
        assert tokenizer.tokens(text[token.start : token.end])


@pytest.mark.parametrize(
    "unit",
    [
        "a", "-", "+", ".", "@", "_", "'", "中a", "a-", "a+", "a.", "a_", "-_", "1.", "1,", "a'", "'s", "a@", "@a",
        "a@-", "a@b.", "a@b-", "x.y@", "www.", "http://", "数据", "龘", "龘靐齉", "龘a", "c++", "c#",
        "\u0301\u0323", "a\u0301\u0323",
    ],
)  # fmt: skip
def test_the_time_for_a_hostile_run_grows_with_its_length(unit: str) -> None:
    tokenizer = default_tokenizer()

    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        start = time.process_time()
        tokenizer.tokens(text)
        return time.process_time() - start

    tokenizer.tokens("数据 ready")
    # Twice the length takes twice the time, four times if it grew with the square; a pause may spoil one attempt.
    assert any(seconds(100_000) <= 3 * seconds(50_000) + 0.1 for _ in range(3))


@pytest.mark.parametrize("text", ["龘" * 100_000, "数据" * 50_000, "a" + "\u0301" * 100_000])
def test_what_others_compute_on_a_run_is_done_in_pieces(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def segment(run: str) -> list[str]:
        seen.append(run)
        return list(run)

    def normalize(_form: str, run: str) -> str:
        seen.append(run)
        return run

    monkeypatch.setattr("causalviz.keywords.unicodedata.normalize", normalize)
    tokens = list(Tokenizer(segment, frozenset()).tokens(text))
    assert max(map(len, seen)) <= 1000
    assert sum(map(len, seen)) <= 2 * len(text)
    assert [text[t.start : t.end] for t in tokens if len(t.term) > 1] == [
        t.term for t in tokens if len(t.term) > 1
    ]


_SCRAPS = (
    "late", "interaction", "数据出境", "猫", " ", "\n", "，", "。", ".", ",", "-", "‐", "'", "’s", "_", "1.5", "10:30",
    "C++", "#", "www.", "example.org", "https://", "@", "x.y", "+", "é", "\u0301", "ⓐ", "‿", "(", "“", "a", "的", "/",
)  # fmt: skip


@given(st.lists(st.sampled_from(_SCRAPS), max_size=40), st.lists(st.integers(1, 6), min_size=1, max_size=40))
def test_a_text_has_the_same_words_wherever_it_is_cut_into_pieces(
    scraps: list[str], sizes: list[int]
) -> None:
    text = "".join(scraps)
    pieces, start = [], 0
    for size in sizes:
        pieces.append(text[start : start + size])
        start += size
    pieces.append(text[start:])
    assert list(TOKENIZER.stream(pieces)) == TOKENIZER.tokens(text) == words_of_the_whole(text)


def words_of_the_whole(text: str) -> list[Token]:
    """Words of a text that is not cut at all: its pattern is run over the whole of it."""
    words = []
    for match in _TOKEN.finditer(text):
        if match["skip"]:
            continue
        start = match.start()
        for surface in re.findall("..?", match["han"]) if match["han"] else [match["word"]]:
            words += list(TOKENIZER._keep(surface, start))  # noqa: SLF001 - what it keeps is tested above
            start += len(surface)
    return [t for t in words if len(t.term) > 1] or [t for t in words if "\u4e00" <= t.term <= "\u9fff"]


def test_weights_by_hand() -> None:
    # N = 3 documents; df 3, 1, 0 -> idf 1, 1 + ln 2, 1 + ln 4; counts 2, 1, 1 of 4 words
    idf = inverse_document_frequency(np.array([3, 1, 0]), 3)
    assert idf == pytest.approx([1.0, 1 + math.log(2), 1 + math.log(4)])
    best, weights = top_weights(np.array([2, 1, 1]), idf, 2)
    # weights 0.5, 0.4233, 0.5966
    assert best.tolist() == [2, 0]
    assert weights == pytest.approx([(1 + math.log(4)) / 4, 0.5])


def test_equal_weights_keep_term_order_and_no_words_give_no_keyword() -> None:
    best, _ = top_weights(np.array([1, 1, 1]), np.ones(3), 2)
    assert best.tolist() == [0, 1]
    assert top_weights(np.zeros(0, np.int64), np.zeros(0), 5)[0].tolist() == []


def test_idf_is_scikit_learns() -> None:
    counts = np.random.default_rng(0).integers(0, 3, (12, 30))
    expected = TfidfTransformer(smooth_idf=True).fit(counts).idf_
    assert inverse_document_frequency((counts > 0).sum(axis=0), 12) == pytest.approx(expected)
