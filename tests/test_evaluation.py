"""Themes files and the diagnosis made of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_pipeline import make_pipeline

from causalviz.errors import ThemesError
from causalviz.evaluation.diagnose import diagnose
from causalviz.evaluation.themes import read_themes
from causalviz.pipeline import SearchSettings
from causalviz.records import RankSettings

THEME: dict[str, Any] = {
    "id": "T1",
    "lang": "en",
    "query": "late interaction",
    "documents": [
        {"id": "a", "role": "target", "title": "a", "text": "token vectors late maxima"},
        {"id": "b", "role": "stuffed", "title": "b", "text": "late interaction late interaction"},
        {"id": "c", "role": "unrelated", "title": "c", "text": "bread and salt"},
    ],
}


def write(path: Path, *themes: Any) -> Path:  # noqa: ANN401 - any JSON
    path.write_text("\n".join(json.dumps(theme) for theme in themes), encoding="utf-8")
    return path


def test_a_diagnosis_ranks_target_and_stuffed_by_every_method(tmp_path: Path) -> None:
    themes = read_themes(write(tmp_path / "t.jsonl", THEME))
    pipeline, _ = make_pipeline(tmp_path, {d.id: d.text for d in themes[0].documents})
    settings = RankSettings(tau=0.9)
    found = diagnose(
        themes, lambda t: pipeline.ask_among(t.query, ["a", "b", "c"], SearchSettings(), settings), settings
    )
    # b is nothing but the question, so similarity puts it first; it has no B, so the other methods put it last
    ranks = dict(found.themes[0].stuffed_ranks)
    assert "guarded" in ranks
    del ranks["guarded"]  # its rule has tests of its own
    # with the fallback b keeps its similarity, and no s_c is higher
    assert ranks == {"similarity": (1,), "exact": (3,), "semantic": (3,), "fallback": (1,), "hybrid": (3,)}
    assert found.mean_target_rank["similarity"] == 2
    assert found.mean_stuffed_rank["hybrid"] == 3


def test_a_theme_without_stuffed_documents_has_no_stuffed_mean(tmp_path: Path) -> None:
    themes = read_themes(write(tmp_path / "t.jsonl", {**THEME, "documents": THEME["documents"][::2]}))
    pipeline, _ = make_pipeline(tmp_path, {d.id: d.text for d in themes[0].documents})
    settings = RankSettings(tau=0.9)
    found = diagnose(
        themes, lambda t: pipeline.ask_among(t.query, ["a", "c"], SearchSettings(), settings), settings
    )
    assert found.mean_stuffed_rank["similarity"] is None


def changed(**fields: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps({**THEME, **fields})


def changed_document(**fields: Any) -> str:  # noqa: ANN401 - any JSON
    first, *others = THEME["documents"]
    return changed(documents=[{**first, **fields}, *others])


BLANK = ["", " \n\u3000", "\u200b\ufeff", "\ud800"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "holds no theme"),
        ("{", r"line 1 of 't\.jsonl' is no theme \(no JSON: Expecting property name"),
        ("[1]", "the line: should be an object, found a list"),
        ("null", "the line: should be an object, found null"),
        ("[" * 100_000, "nesting beyond"),
        ("9" * 5000, "a number or a nesting beyond"),
        ('\n{"id": "T1"}', r"line 2 of 't\.jsonl' is no theme \(lang: missing"),
        (changed(documents=THEME["documents"][1:]), "0 targets"),
        (changed(documents=[]), "0 targets"),
        (changed(documents=[THEME["documents"][0]] * 2), "2 targets"),
        (changed(documents={"a": 1}), "documents: should be a list, found an object"),
        (changed(documents=[1]), r"documents\.0: should be an object, found 1"),
        (changed_document(role="hero"), r"documents\.0\.role: should be 'target', .*, found \"hero\""),
        (changed_document(role=[]), r"documents\.0\.role: should be 'target', .*, found a list"),
        ("\n".join([json.dumps(THEME)] * 2), "id 'a' twice"),
        *(
            (change(**{name: value}), rf"{place}{name}: should be a string, found {shown}")
            for change, place, names in (
                (changed, "", ("id", "lang", "query")),
                (changed_document, r"documents\.0\.", ("id", "title", "text")),
            )
            for name in names
            for value, shown in (
                (5, "5"),
                (None, "null"),
                (True, "true"),
                (["a"], "a list"),
                ({}, "an object"),
            )
        ),
        *((changed(query=blank), "query: it is blank") for blank in BLANK),
        *((changed_document(text=blank), r"documents\.0\.text: it is blank") for blank in BLANK),
        *((changed_document(id=blank), r"documents\.0\.id: it is blank") for blank in BLANK),
    ],
)
def test_a_broken_themes_file_names_the_place(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ThemesError, match=found) as refused:
        read_themes(path)
    # a stranger reads it: no folder of the server, no name of a Python class, one sentence of moderate length
    assert str(tmp_path) not in str(refused.value)
    assert "Error" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_long_wrong_value_is_shortened(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(changed_document(role="x" * 1000), encoding="utf-8")
    with pytest.raises(ThemesError, match="x…"):
        read_themes(path)


def test_a_themes_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9")
    for name, found in (
        ("nowhere.jsonl", "'nowhere.jsonl' cannot be read (No such file"),
        (".", "cannot be read (Is a directory"),
        ("latin.jsonl", "'latin.jsonl' is no text in UTF-8"),
    ):
        with pytest.raises(ThemesError) as refused:
            read_themes(tmp_path / name)
        assert found in str(refused.value)
        assert str(tmp_path) not in str(refused.value)


def test_half_a_surrogate_pair_is_replaced_wherever_it_stands(tmp_path: Path) -> None:
    half = "a\ud800b"
    line = {**THEME, "id": half, "lang": half, "query": half}
    line["documents"] = [{**THEME["documents"][0], "id": half, "title": half, "text": half}]
    (theme,) = read_themes(write(tmp_path / "t.jsonl", line))
    (document,) = theme.documents
    texts = {theme.id, theme.lang, theme.query, document.id, document.title, document.text}
    assert texts == {"a\ufffdb"}


def test_other_line_ends_inside_a_text_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    text = "one\u2028two\u0085three"
    path = tmp_path / "t.jsonl"
    line = json.dumps(json.loads(changed_document(text=text)), ensure_ascii=False)
    path.write_bytes(f"\ufeff{line}\r\n".encode())
    assert read_themes(path)[0].documents[0].text == text
