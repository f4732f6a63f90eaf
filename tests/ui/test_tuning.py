"""Tuning over labelled questions: what is averaged, what is said, what is kept."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import WordEncoder, silent

from causalviz.errors import ParameterError, ThemesError
from causalviz.evaluation.diagnose import diagnose
from causalviz.rank import rerank
from causalviz.score import ScoreTable
from causalviz.ui.tuning import MEASURES, Labelled, own_questions, tuned

TEXTS = {
    "target": "token vectors late maxima of every token compare",
    "stuffed": "late interaction late interaction",
    "echo": "interaction late work interaction late again",
    "other": "bread and salt",
}


def theme(name: str, query: str, roles: dict[str, str]) -> dict[str, Any]:
    documents = [
        {"id": f"{name}/{key}", "role": role, "title": key, "text": f"{TEXTS[key]} {name}"}
        for key, role in roles.items()
    ]
    return {"id": name, "lang": "en", "query": query, "documents": documents}


THEMES = [
    theme(
        "T1",
        "late interaction",
        {"target": "target", "stuffed": "stuffed", "echo": "stuffed", "other": "unrelated"},
    ),
    theme("T2", "late token", {"target": "target", "stuffed": "near", "echo": "stuffed"}),
]


def write(folder: Path, *themes: dict[str, Any]) -> Path:
    path = folder / "own.jsonl"
    path.write_text("\n".join(json.dumps(theme) for theme in themes), encoding="utf-8")
    return path


@pytest.fixture
def labelled(tmp_path: Path) -> Labelled:
    return own_questions(write(tmp_path, *THEMES), WordEncoder(), silent)


def test_questions_are_asked_over_their_own_documents_at_the_encoders_default(labelled: Labelled) -> None:
    assert [{c.id for c in trace.candidates} for trace in labelled.traces] == [
        {d["id"] for d in theme["documents"]} for theme in THEMES
    ]
    assert {(t.settings.tau, t.settings.alpha, t.settings.method) for t in labelled.traces} == {
        (0.5, 0.5, "hybrid")
    }


def test_the_plane_agrees_with_the_diagnosis_everywhere(labelled: Labelled) -> None:
    traces = {t.query: t for t in labelled.traces}
    rank, stuffed, first = (tuned(labelled, measure).plane for measure in MEASURES.values())
    for tau, alpha in np.random.default_rng(2).uniform([-1, 0], [1, 1], (100, 2)).tolist():
        settings = replace(labelled.traces[0].settings, tau=tau, alpha=alpha)
        found = diagnose(labelled.themes, lambda theme: traces[theme.query], settings)
        assert rank.at(tau, alpha) == pytest.approx(found.mean_target_rank["hybrid"])
        assert stuffed.at(tau, alpha) == pytest.approx(found.mean_stuffed_rank["hybrid"])
        tops = [rerank(ScoreTable.of(t.candidates), settings).order[0] for t in labelled.traces]
        ids = [t.candidates[i].id for t, i in zip(labelled.traces, tops, strict=True)]
        assert first.at(tau, alpha) == pytest.approx(np.mean([id_.endswith("/target") for id_ in ids]))


def test_the_sentence_names_the_best_region_the_default_and_a_caution(labelled: Labelled) -> None:
    found = tuned(labelled, MEASURES["mean target rank"])
    region = found.best.region
    middle = found.plane.at(
        (region.tau_low + region.tau_high) / 2, (region.alpha_low + region.alpha_high) / 2
    )
    assert middle == found.best.value == found.plane.value.min()
    assert found.sentence.startswith(f"Best mean target rank: {found.best.value:g}, ")
    here = found.plane.at(0.5, 0.5)
    assert f"At the default (tau 0.5, alpha 0.5) it is {here:.3g}." in found.sentence
    assert "these 2 questions" in found.sentence


def test_a_role_nobody_has_cannot_be_measured(tmp_path: Path) -> None:
    questions = own_questions(
        write(tmp_path, theme("T1", "late", {"target": "target", "other": "unrelated"})),
        WordEncoder(),
        silent,
    )
    with pytest.raises(ParameterError, match=r"no document of own\.jsonl has the role"):
        tuned(questions, MEASURES["mean stuffed rank"])
    assert tuned(questions, MEASURES["mean target rank"]).best.value == 1


def test_nothing_of_an_uploaded_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    own_questions(write(tmp_path, *THEMES), WordEncoder(), silent)
    assert list(scratch.iterdir()) == []


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ThemesError, match=r"^line 1 of 'own\.jsonl' is no theme") as refused:
        own_questions(path, WordEncoder(), silent)
    assert str(tmp_path) not in str(refused.value)
