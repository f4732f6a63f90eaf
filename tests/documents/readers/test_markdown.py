import time

import pytest

from causalviz.documents import Limits, clean
from causalviz.documents.readers.base import ReadText
from causalviz.documents.readers.markdown import read_markdown


def read(markdown: str) -> ReadText:
    return read_markdown(markdown.encode(), Limits())


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("# Heading `code`", "Heading code"),
        ("Heading\n=======", "Heading"),
        ("*a* **b** _c_ __d__ ~~e~~ `f`", "a b c d e f"),
        ("[words](https://example.org 'title') and [ref][1]\n\n[1]: x", "words and ref"),
        ("![the plan](plan.png)", "the plan"),
        ("* one\n* two\n  + three", "one\ntwo\nthree"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("> quoted\n> words", "quoted\nwords"),
        ("a &amp; b &lt;c&gt; \\*d\\*", "a & b <c> *d*"),
        ("| h1 | h2 |\n|----|:--:|\n| 1  | 2  |", "h1\th2\n1\t2"),
        ("one<!-- hidden -->two\n\n<!-- a\nblock -->\n\nthree", "onetwo\n\nthree"),
        ("```python\nif a_b_c: x = y**2  # __init__\n```", "if a_b_c: x = y**2 # __init__"),
        ("load_model_v2 and 2 * 3 * 4 and 2**3", "load_model_v2 and 2 * 3 * 4 and 2**3"),
        ("**注意：**请先评估。约**5**个，**“重要数据”**目录", "注意:请先评估。约5个,“重要数据”目录"),
        ("　　第一条　为了规范", "第一条 为了规范"),
        ("one\n\n---\n\ntwo", "one\n\ntwo"),
        ("soft\nbreak  \nhard", "soft\nbreak\nhard"),
    ],
)
def test_the_words_stay_and_the_marks_go(markdown: str, words: str) -> None:
    assert clean(read(markdown).text) == words


def test_raw_html_and_templates_stay_text() -> None:
    hostile = "<img src=x onerror=alert(1)> ${1+1} {{value}}\n\n<script>alert(1)</script>"
    assert clean(read(hostile).text) == hostile


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("intro\n\n## The *first* heading\n\n# A later one", "The first heading"),
        ("---\ntitle: 'Named in front'\ntags: [a]\n---\n# Heading\ntext", "Named in front"),
        ("---\ntags: [a]\n---\n# Heading", "Heading"),
        ("no heading", None),
    ],
)
def test_the_title_is_the_front_matter_s_or_the_first_heading(markdown: str, title: str | None) -> None:
    assert read(markdown).title == title


def test_front_matter_is_no_text() -> None:
    assert clean(read("---\ntitle: A\nlayout: post\n---\nbody").text) == "body"


def test_the_encoding_is_found_as_for_plain_text() -> None:
    found = read_markdown("# 数据出境安全评估".encode("gb18030"), Limits())
    assert (found.title, found.encoding) == ("数据出境安全评估", "gb18030")


@pytest.mark.parametrize(
    "piece", [">", "[", "*a ", "**a", "- ", "![a](", "[a](b", "|a", "`a``", "_a__", "\\", "a\n"]
)
def test_no_nesting_takes_more_than_linear_time(piece: str) -> None:
    start = time.process_time()
    read(piece * (20_000 // len(piece)))
    assert time.process_time() - start < 10  # 0.2 s; what is quadratic takes minutes
