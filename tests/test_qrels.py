"""Judgments and questions in the forms other tools write, good and bad."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.errors import CollectionError, ParameterError
from causalviz.evaluation.qrels import read_qrels, read_queries, trec_qrels

WHOLE = st.characters(exclude_categories=["Cs"])
DOCUMENT = st.text(WHOLE, min_size=1, max_size=6)
# A word that opens a file with U+FEFF would be read as its byte order mark.
QUERY = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="\ufeff"), min_size=1, max_size=6
)
QRELS = st.dictionaries(
    QUERY, st.dictionaries(DOCUMENT, st.integers(-2, 4), min_size=1, max_size=4), min_size=1, max_size=4
)


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "judgments.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@given(qrels=QRELS)
def test_what_is_written_for_trec_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, qrels: dict[str, dict[str, int]]
) -> None:
    qrels = qrels | {"one": {"relevant": 1}}
    assert read_qrels(written(tmp_path_factory.mktemp("trec"), trec_qrels(qrels))) == qrels


def test_trec_judgments_are_written_four_fields_a_line() -> None:
    assert trec_qrels({"q1": {"a b/100%.md": 2, "c": 0}}) == "q1 0 a%20b/100%25.md 2\nq1 0 c 0\n"


@pytest.mark.parametrize("qrels", [{"a b": {"d": 1}}, {"": {"d": 1}}, {"q": {"": 1}}])
def test_an_id_that_would_break_the_line_is_refused(qrels: dict[str, dict[str, int]]) -> None:
    with pytest.raises(ParameterError, match="give it"):
        trec_qrels(qrels)


@pytest.mark.parametrize(
    "content",
    [
        "query-id\tcorpus-id\tscore\nq\ta b\t2\nq\t100%25\t0\n",
        "q\ta b\t2\r\n\r\nq\t100%25\t0\r\n",
        "\ufeffq\ta b\t2\nq\t100%25\t0",
        "q 0 a%20b 2\nq 0 100%2525 0\n",
        "q\t0\ta%20b\t2\nq   Q0\t100%2525  0  \n",
    ],
)
def test_judgments_of_trec_and_beir_are_read_alike(tmp_path: Path, content: str) -> None:
    assert read_qrels(written(tmp_path, content)) == {"q": {"a b": 2, "100%25": 0}}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "'judgments.txt' holds no judgment, so"),
        ("query-id\tcorpus-id\tscore\n", "holds no judgment, so"),
        ("q\ta\t0\nq\tb\t-1\n", "holds no judgment above 0"),
        ("q\ta\t1\n\nq\ta\t2\n", "line 3 .*'a' for query 'q' again"),
        ("q\ta\tgood\n", "line 1 .*grade 'good'"),
        ("q\ta\tNaN\n", "line 1 .*grade 'NaN'"),
        ("q\ta\t1\nq\tb\tinf\n", "line 2 .*grade 'inf'"),
        ("q 0 a 1.5\n", "line 1 .*grade '1.5'"),
        ("q 0 a 1_0\n", "grade '1_0'"),
        ("q 0 a ١\n", "grade '١'"),
        (f"q 0 a {'9' * 5000}\n", "grade '99999999999999999999', but"),
        ("q\ta\t1\nq\tb\tscore\n", "line 2 .*grade 'score'"),
        ("q a 1\n", "line 1 .*is no judgment"),
        ("q 0 a b 1\n", "line 1 .*is no judgment"),
        ("q\t\t1\n", "line 1 .*is no judgment"),
        (b"q 0 \xff 1\n", "no text in UTF-8 .*at byte 4"),
        ("q\ta\t1\nz\ta\t1\n", "line 2 .*names the unknown query 'z'"),
        ("q\ta\t1\nq\tz\t1\n", "line 2 .*names the unknown document 'z'"),
    ],
)
def test_broken_judgments_are_named_with_their_line(tmp_path: Path, content: str | bytes, found: str) -> None:
    with pytest.raises(CollectionError, match=found) as refused:
        read_qrels(written(tmp_path, content), queries={"q"}, documents={"a", "b"})
    assert str(tmp_path) not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for read in (read_qrels, read_queries):
        with pytest.raises(CollectionError, match=r"'nowhere' cannot be read \(No such file"):
            read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content",
    [
        '{"_id": "1", "text": "a\u2028b"}\n\n{"_id": 2, "text": "c", "note": 1}\n',
        "1\ta\u2028b\r\n2\tc\r\n",
        "\ufeff1\ta\u2028b\n2 \t c",
    ],
)
def test_questions_are_read_from_json_lines_and_from_tabs(tmp_path: Path, content: str) -> None:
    assert read_queries(written(tmp_path, content)) == {"1": "a\u2028b", "2": "c"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "holds no query"),
        (json.dumps({"_id": "q", "text": " "}), r"query 'q' \(line 1 .*has no text"),
        (json.dumps({"_id": "q", "text": None}), "has no text"),
        ("q\t\n", "has no text"),
        ("q\ta\nq\tb\n", "line 2 .*'q' again"),
        ('{"_id": 1, "text": "a"}\n{"_id": "1", "text": "b"}\n', "line 2 .*'1' again"),
        ("q a\n", "line 1 .*is no query"),
        ("\ta\n", "line 1 .*is no query"),
        ('{"_id": "q"}', "no 'text'"),
        ("{", "line 1 .*is no JSON object"),
        (b"\xe9\ta", "no text in UTF-8"),
    ],
)
def test_broken_questions_are_named_with_their_line(tmp_path: Path, content: str | bytes, found: str) -> None:
    with pytest.raises(CollectionError, match=found):
        read_queries(written(tmp_path, content))
