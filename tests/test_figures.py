"""The figure over the (tau, alpha) plane, from planes small enough to draw by hand."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from explain.random_traces import random_trace, worked_example

from causalviz import figures
from causalviz.explain.metric_plane import MetricPlane, best_region, metric_plane, rank_case
from causalviz.figures import plane_figure, plane_grid
from causalviz.rank import rerank
from causalviz.records import RankSettings
from causalviz.score import ScoreTable
from causalviz.settings import ROOT

CURRENT = RankSettings(tau=0.75, alpha=0.5)


def plane() -> MetricPlane:
    """Draw two columns: rank 3 everywhere up to tau 0.5; above it 1 up to alpha 0.25, then 2."""
    return MetricPlane(
        start_of_change=0.5,
        low=np.array([-1, np.nextafter(np.float32(0.5), np.float32(1))], np.float32),
        high=np.array([0.5, 1], np.float32),
        start=np.array([0, 1, 3]),
        alpha_low=np.array([0.0, 0.0, 0.25]),
        alpha_high=np.array([1.0, np.nextafter(0.25, 0), 1.0]),
        value=np.array([3.0, 1.0, 2.0]),
    )


def drawn(highest: bool = False) -> Any:  # noqa: ANN401, FBT002 - plotly has no types
    found = plane()
    best = best_region(found, highest=highest)
    return plane_figure(found, best, CURRENT, measure="mean target rank", highest=highest)


def test_the_grid_is_cut_where_the_plane_is() -> None:
    x, y, z = plane_grid(plane())
    # 5 % of the span 0.5 to 1 is shown below it
    assert x == pytest.approx([0.475, 0.5, 1.0])
    assert y.tolist() == [0.0, 0.25, 1.0]
    assert z.tolist() == [[3.0, 1.0], [3.0, 2.0]]


def test_the_grid_agrees_with_ranking_at_random_points() -> None:
    rng = np.random.default_rng(3)
    traces = [random_trace(rng, 8) for _ in range(3)]
    found = metric_plane([rank_case(trace, 2) for trace in traces], CURRENT)
    x, y, z = plane_grid(found)
    tables = [ScoreTable.of(trace.candidates) for trace in traces]
    for tau, alpha in rng.uniform([x[0], 0], [1, 1], (200, 2)).tolist():
        column, row = np.searchsorted(x, tau) - 1, np.searchsorted(y, alpha) - 1
        if min(abs(x - tau)) < 1e-5 or min(abs(y - alpha)) < 1e-5:
            continue
        mean = np.mean([rerank(t, RankSettings(tau=tau, alpha=alpha)).rank[2] for t in tables])
        assert z[row, column] == pytest.approx(mean)


def test_a_finer_plane_is_drawn_at_even_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_CELLS", 4)
    rng = np.random.default_rng(1)
    found = metric_plane([rank_case(random_trace(rng, 20), 3) for _ in range(5)], CURRENT)
    x, y, z = plane_grid(found)
    assert z.shape == (4, 4)
    assert np.diff(x) == pytest.approx(np.full(4, (1 - x[0]) / 4))
    assert y.tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_a_plane_in_which_nothing_changes_can_be_drawn() -> None:
    trace = worked_example()
    found = metric_plane([rank_case(trace, 0)], RankSettings(tau=0.5, method="similarity"))
    figure: Any = plane_figure(
        found, best_region(found, highest=False), CURRENT, measure="rank", highest=False
    )
    assert np.unique(figure.data[0].z).tolist() == [1.0]


def test_the_best_region_and_the_default_are_marked_and_axes_named() -> None:
    figure = drawn()
    heat, _, outline, default = figure.data
    assert (min(outline.x), max(outline.x)) == pytest.approx((0.5, 1.0))
    assert (min(outline.y), max(outline.y)) == pytest.approx((0.0, 0.25))
    assert outline.name == "best region: 1"
    assert (default.x, default.y) == ((0.75,), (0.5,))
    assert default.name == "default: tau 0.75, alpha 0.5"
    assert "cosine" in figure.layout.xaxis.title.text
    assert "alpha" in figure.layout.yaxis.title.text
    assert heat.colorbar.title.text == "mean target rank"


def test_better_is_brighter_whichever_way_the_measure_points() -> None:
    # Cividis ends in yellow: low values get it where less is better
    assert drawn(highest=False).data[0].reversescale
    assert not drawn(highest=True).data[0].reversescale
    assert drawn().data[0].colorscale[-1][1] == "#fee838"


def test_plotly_is_imported_only_to_draw() -> None:
    code = "import sys, causalviz.figures, causalviz.ui.tuning; print('plotly' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603 - our own code
    assert out.stdout.strip() == "False"
