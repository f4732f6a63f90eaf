"""Why a document is missing, in words that are true."""

from pathlib import Path

import pytest
from test_pipeline import TEXTS, make_pipeline, ranks

from causalviz.errors import ParameterError
from causalviz.pipeline import SearchSettings
from causalviz.records import RankSettings
from causalviz.ui.missing import explain_missing

SETTINGS = RankSettings(tau=0.9)


def test_a_document_beyond_top_k_is_told_its_k_and_its_rank(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(top_k=1, theta=-1), SETTINGS)
    assert [c.id for c in trace.candidates] == ["copy.txt"]
    words, widened = explain_missing(pipeline, trace, "maxsim.txt", SETTINGS)
    # the copy holds nothing but the question's words, so the newcomer is first whatever tau is
    assert ranks(widened) == {"maxsim.txt": 1, "copy.txt": 2}
    assert "number 2 of 3 by similarity" in words
    assert "it enters with top k = 2" in words
    assert "would rank 1 of 2." in words
    assert "theta" not in words


def test_a_document_below_theta_is_told_its_theta(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(theta=0.3), SETTINGS)
    words, widened = explain_missing(pipeline, trace, "recipe.txt", SETTINGS)
    similarity = next(c.similarity for c in widened.candidates if c.id == "recipe.txt")
    assert f"theta = 0.3 (it enters with theta = {similarity:.4f})" in words
    assert "top k" not in words


def test_a_candidate_is_not_missing(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(theta=-1), SETTINGS)
    with pytest.raises(ParameterError, match="among the 3 candidates"):
        explain_missing(pipeline, trace, "copy.txt", SETTINGS)
    with pytest.raises(ParameterError, match="no document 'nobody'"):
        explain_missing(pipeline, trace, "nobody", SETTINGS)
