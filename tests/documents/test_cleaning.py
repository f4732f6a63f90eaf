import re
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from documents.builders import SHARED, needs_shared
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import clean
from causalviz.documents.cleaning import (
    RULES,
    close_letter_spacing,
    collapse_blanks,
    drop_addresses,
    drop_contents_leaders,
    drop_images,
    drop_invisible,
    drop_rules,
    join_hyphenated_words,
    normalise_width,
    unify_line_endings,
)

# Pieces of what the rules look for, so that random joins of them come upon the rules' borders.
PIECES = [
    "一", "二", "关于", "a", "b", "Word", "-", "-\n", "\n", "\r\n", " ", "  ", "\t", ".", "....", "........", "…", "⋯",
    "1", "12", "iv", "(", ")", "[", "]", "![", "](", "](x)", "http://", "www.", "a.b", "@", "x@y.zz", ",", ":", "|",
    "|---|", "___", "第一章", "页", ">", "#", "mailto:", "\u200b", "\xad", "\u0301", "\u0323", "ﬁ", "１",
    "\u3000", "\x00",
    "\ue000", "\u1680", "´", "\uac00", "\u11a8", "\u0dca", "\ufeff", "\x85", "‥", "😀", "\U000e0100",
]  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))


@given(texts)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(texts, st.integers(1, 12))
def test_blocks_of_any_size_give_what_the_whole_gives(text: str, size: int) -> None:
    assert clean(text, block=size) == clean(text, block=len(text) + 1)


@given(texts)
def test_cleaning_is_applying_the_rules_until_nothing_changes(text: str) -> None:
    cleaned = clean(text)
    for rule in RULES:
        assert rule(cleaned) == cleaned


@given(texts)
def test_clean_text_holds_nothing_invisible_and_no_blanks_to_spare(text: str) -> None:
    cleaned = clean(text)
    assert cleaned == cleaned.strip()
    assert "\n\n\n" not in cleaned
    assert "  " not in cleaned
    assert all(char.isprintable() or char in "\n\t" for char in cleaned)


@given(
    st.lists(
        st.sampled_from(["word", "数据", "PPR-9087", "load_model_v2()", "0.001", "1.5.2", "a+b=c", "C++"]),
        min_size=1,
    )
)
def test_plain_words_identifiers_and_numbers_stay_as_they_are(words: list[str]) -> None:
    assert clean(" ".join(words)) == " ".join(words)


def test_line_endings_of_all_systems_become_one() -> None:
    assert unify_line_endings("a\r\nb\rc\nd\fe\u2028f\x85g") == "a\nb\nc\nd\ne\nf\ng"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("数\u200b据\ufeff出\u2060境", "数据出境"),  # zero-width
        ("co\xadoperate", "cooperate"),  # soft hyphen
        ("a\u202ecba", "acba"),  # right-to-left override
        ("☎\ufe0f", "☎"),  # variation selector
        ("hid\U000e0068\U000e0069den", "hidden"),  # tag characters: text no eye sees
        ("one\x07two", "one two"),
        ("\uf0b7 item", "  item"),  # a Wingdings bullet
        ("a\ud800b", "a b"),  # half of a surrogate pair
        ("a\tb\nc", "a\tb\nc"),
    ],
)
def test_what_has_no_glyph_goes(text: str, expected: str) -> None:
    assert drop_invisible(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＡＢＣ１２３ 型号", "ABC123 型号"),
        ("scientiﬁc ﬂow oﬃce", "scientific flow office"),
        ("第１条，（一）：ｘ²", "第1条,(一):x2"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("等…⋯", "等......"),
        ("a\u3000b\u00a0c", "a b c"),
    ],
)
def test_width_and_ligatures_are_normalised(text: str, expected: str) -> None:
    assert normalise_width(text) == expected


def test_a_letter_keeps_thirty_marks_at_most() -> None:
    assert len(normalise_width("x" + "\u0323" * 5000)) == 1 + 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("capabili-\nties of", "capabilities of"),
        ("capabili- \n  ties of", "capabilities of"),
        ("inter-\nnation-\nalisation", "internationalisation"),
        ("Fähig-\nkeiten", "Fähigkeiten"),
        ("state-of-\nthe-art", "state-of-the-art"),  # one half has another hyphen
        ("a well-known and a well-\nknown one", "a well-known and a well-known one"),  # written so elsewhere
        ("COVID-\n19", "COVID-19"),
        ("Lucene-\nBM25", "Lucene-BM25"),
        ("- one\n- two", "- one\n- two"),  # a list
        ("数据-\n安全", "数据-\n安全"),
        ("end -\nnext", "end -\nnext"),  # a dash
        ("one-\n\ntwo", "one-\n\ntwo"),  # an empty line ends a paragraph
    ],
)
def test_hyphenated_words_are_joined(text: str, expected: str) -> None:
    assert join_hyphenated_words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Install ........ 12", "Install"),
        ("Install ........ 12\nUse ...... 3", "Install\nUse"),
        ("一、总则……………3", "一、总则"),
        ("一、总则 ⋯ ⋯ ⋯ ３", "一、总则"),
        ("对 国 防 问 题 的 意 见 … … … … １ １", "对国防问题的意见"),
        ("1.1 Scope . . . . . . . . . 3", "1.1 Scope"),
        ("Preface .......... iv", "Preface"),
        ("第二章······················（15）", "第二章"),
        ("附录______________第 7 页", "附录"),
        ("Install ........ 12 Use ........ 13 End", "Install Use End"),  # two entries in one line
        ("Install\t........\t12", "Install"),
    ],
)
def test_leaders_of_a_contents_page_go_with_the_page_number(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "wait... 3 days",
        "he said ... then left",
        "等了......3天",
        "1...3",
        "a -- b",
        "3.14",
        "PPR--12",
        "x__y",
        "Rate - - - - 12",
    ],
)
def test_an_ellipsis_is_no_leader(text: str) -> None:
    assert drop_contents_leaders(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://example.org/a?b=1#c for", "see for"),
        ("详见https://example.org/a，然后", "详见 ,然后"),
        ("(www.example.org/x).", "( )."),
        ("FTP://Example.org/", ""),
        ("mail a.b+c@mail.example.org now", "mail now"),
        ("邮箱abc@qq.com。", "邮箱 。"),
        ("mailto:a@b.org", ""),
        ("by {one, two}@example.org of", "by of"),
        ('<a href="https://example.org">here</a>', '<a href=" ">here</a>'),
    ],
)
def test_addresses_go(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    "text", ["a @ b", "user@host", "node.js", "http is", "www", "${1+1}", "{{value}}", "a:b//c"]
)
def test_what_is_no_address_stays(text: str) -> None:
    assert drop_addresses(text) == text


def test_image_marks_go_and_their_words_stay() -> None:
    assert (
        clean("see ![the plan](plan.png), a[0](x) and [a link](x)")
        == "see the plan , a[0](x) and [a link](x)"
    )
    assert drop_images("![outer ![inner](a)](b)").split() == ["outer", "inner"]
    assert drop_images("if (![a].has(b))\n](x)") == "if (![a].has(b))\n](x)"


def test_drawn_lines_are_emptied() -> None:
    drawn = ["|---|:--:|", "+----+----+", "=====", "* * *", "─────", "___", "- - -"]
    assert drop_rules("\n".join(["| a | b |", *drawn, "c"])).split() == ["|", "a", "|", "b", "|", "c"]
    assert drop_rules("--") == "--"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("关 于 红 军 作 战", "关于红军作战"),
        ("( 一 九 三 七 年 )", "(一九三七年)"),
        ("目 录", "目录"),
        ("  目   录 ", "  目录"),
        ("第一章 总 则", "第一章 总则"),
        ("第一章 总 则\n第二章 附 则", "第一章 总则\n第二章 附则"),
        ("使用 GPU 训练", "使用 GPU 训练"),
        ("数据 出境 安全", "数据 出境 安全"),
        ("是 否 合格", "是 否 合格"),
        ("型 号 A 级 别 B", "型 号 A 级 别 B"),  # two and two: not a run of three
        ("男\t女\t计", "男\t女\t计"),  # cells of a table
        ("a ( ) , b", "a ( ) , b"),
    ],
)
def test_letter_spaced_chinese_is_closed_up(text: str, expected: str) -> None:
    assert close_letter_spacing(text) == expected


def test_blanks_are_collapsed_and_a_cell_end_is_kept() -> None:
    assert collapse_blanks("  a   b \t c  \n\n\n\n d \n") == "a b\tc\n\nd"


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "${1+1}",
        "{{value}}",
        "<script>alert(1)</script>",
        "'; DROP TABLE x; --",
    ],
)
def test_hostile_markup_stays_text(text: str) -> None:
    assert clean(text) == text


HOSTILE = [
    ".", ". ", "....1 ", "a....v", "-", "-\n", "a-", "a-b", "a-\n", "一 ", "[", "![", "![x ", "](a", "![![[", "http://",
    "www.a.", "a@", "a.b@", "a" * 64 + "@" + "b" * 63 + ".", "|-", "{a}@", "\n ", " \t", "第一章 ", "a\u0301\u0323",
    "\ufdfa", "1 ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    # 100,000 characters take well under a second; a rule that is quadratic takes minutes.
    count = 100_000 // len(piece)
    start = time.process_time()
    for text in (
        piece * count,
        piece * count + "x",
        "." + piece * count,
        "![" * count + piece + "](c)" * count,
    ):
        clean(text)
    assert time.process_time() - start < 20


@needs_shared
def test_a_law_is_cleaned_within_milliseconds_and_keeps_its_characters() -> None:
    law = (SHARED / "zh_law" / "core" / "数据出境安全评估办法.md").read_text(encoding="utf-8")
    han = [char for char in law if "\u4e00" <= char <= "\u9fff"]
    assert [char for char in clean(law) if "\u4e00" <= char <= "\u9fff"] == han
    start = time.process_time()
    clean((law * 5)[:12_000])
    assert time.process_time() - start < 0.5  # about 0.01 s


@pytest.mark.parametrize("line", ["The purpose and scope of the transfer.\n", "数据处理者向境外提供数据。\n"])
def test_a_long_text_is_cleaned_in_the_memory_of_its_result(line: str) -> None:
    text = line * 100_000
    tracemalloc.start()
    cleaned = clean(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(cleaned) == len(text) - 1
    assert peak < 1.1 * sys.getsizeof(cleaned) + 2_000_000  # and a block at work


def test_the_rules_are_applied_in_the_order_listed() -> None:
    text = "目 录\r\nInstall\u200b…………１２"
    for rule in RULES:
        text = rule(text)
    assert text == clean("目 录\r\nInstall\u200b…………１２") == "目录\nInstall"


def test_the_table_of_rules_in_the_documentation_is_true() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reading.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| `(.+)` \| `(.+)` \|$", page, re.MULTILINE)
    assert [name for name, _, _ in rows] == [rule.__name__ for rule in RULES]
    shown = {"␠": " ", "⇥": "\t", "⏎": "\n", "⟨CR⟩": "\r", "⟨FF⟩": "\f", "⟨ZWSP⟩": "\u200b", "⟨SHY⟩": "\xad"}
    for rule, (_, before, after) in zip(RULES, rows, strict=True):
        for mark, char in shown.items():
            before, after = before.replace(mark, char), after.replace(mark, char)  # noqa: PLW2901 - as a person reads them
        assert rule(before).strip() == after
