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
    # b is nothing but the question, so similarity puts it first; it has no B, so every other method puts it last
    assert found.themes[0].stuffed_ranks == {
        "similarity": (1,),
        "exact": (3,),
        "semantic": (3,),
        "hybrid": (3,),
    }
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


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "holds no theme"),
        ("{", "line 1"),
        ("[1]", "line 1"),
        ('\n{"id": "T1"}', "line 2"),
        (json.dumps({**THEME, "documents": THEME["documents"][1:]}), "0 targets"),
        (json.dumps({**THEME, "documents": [THEME["documents"][0]] * 2}), "2 targets"),
        (json.dumps({**THEME, "documents": [{**THEME["documents"][0], "role": "hero"}]}), "role 'hero'"),
        ("\n".join([json.dumps(THEME)] * 2), "id 'a' twice"),
    ],
)
def test_a_broken_themes_file_names_the_place(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ThemesError, match=found):
        read_themes(path)


def test_a_missing_themes_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ThemesError, match="cannot be read"):
        read_themes(tmp_path / "nowhere.jsonl")
