"""Figures made of explanations. Plotly is imported where a figure is drawn: it is heavy, and most runs draw none."""

from typing import TYPE_CHECKING

import numpy as np

from causalviz.evaluation.gate import NEEDED, Verdict
from causalviz.explain.metric_plane import BestRegion, MetricPlane
from causalviz.explain.region import Region
from causalviz.records import RankSettings
from causalviz.score import Float64Array

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_CELLS = 900
"""Cells drawn along an axis. A finer plane is drawn at evenly spaced points; values and region stay exact."""

_THIN = 1e-6
"""Narrower cells cannot be seen; they are left out."""
_MARGIN = 0.05
"""Share of the span of thresholds at which anything changes that is shown below it."""
_INK = "#14181d"
_LINE = "#17978a"
_SHORTEST_CURVE = 20
"""Questions along the reliability curve at least."""


def plane_figure(
    plane: MetricPlane, best: BestRegion, current: RankSettings, *, measure: str, highest: bool
) -> "Figure":
    """Draw a measure over the (tau, alpha) plane: the brighter, the better.

    The best region is outlined and the current setting marked. Grounds are transparent, and colours (Cividis) can be
    told apart by people who are colour-blind; the page makes the lettering light where its ground is dark.

    Args:
        plane: The measure's mean over several questions.
        best: Its best region.
        current: The tau and alpha to mark.
        measure: Its name, with its unit.
        highest: Whether more is better.
    """
    from plotly import graph_objects as go

    x, y, z = plane_grid(plane)
    figure = go.Figure(
        go.Heatmap(
            x=x,
            y=y,
            z=z.astype(np.float32),
            colorscale="Cividis",
            reversescale=not highest,
            colorbar={"title": {"text": measure, "side": "right"}, "thickness": 14, "outlinewidth": 0},
            hovertemplate=f"tau %{{x:.4f}}<br>alpha %{{y:.3f}}<br>{measure}: %{{z:.3g}}<extra></extra>",
        )
    )
    for colour, width, named in (("#ffffff", 5, False), ("#000000", 2, True)):
        figure.add_scatter(
            **_outline(best.region),
            mode="lines",
            line={"color": colour, "width": width},
            name=f"best region: {best.value:.3g}",
            showlegend=named,
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=[current.tau],
        y=[current.alpha],
        mode="markers",
        marker={"size": 12, "color": "#ffffff", "line": {"color": "#000000", "width": 3}},
        name=f"default: tau {current.tau:g}, alpha {current.alpha:g}",
        hovertemplate="default: tau %{x:g}, alpha %{y:g}<extra></extra>",
    )
    _lay_out(figure, height=520)
    figure.update_xaxes(
        title="absorption threshold tau (cosine)", range=[float(x[0]), 1.0], showgrid=False, zeroline=False
    )
    figure.update_yaxes(
        title="hybrid weight alpha (1: similarity only)",
        range=[0, 1],
        showgrid=False,
        zeroline=False,
    )
    return figure


def reliability_figure(verdict: Verdict) -> "Figure":
    """Draw how sure a verdict is by the number of labelled questions: measured so far, and with more like these.

    Grounds are transparent, as in plane_figure.
    """
    from plotly import graph_objects as go

    last = max(_SHORTEST_CURVE, 2 * verdict.labelled, round(1.5 * (verdict.labelled + (verdict.more or 0))))
    shown = [(n, 100 * share) for n, share in verdict.curve if n <= last]
    so_far = [point for point in shown if point[0] <= verdict.labelled]
    beyond = [point for point in shown if point[0] >= verdict.labelled]
    figure = go.Figure()
    hover = "%{x} questions: %{y:.0f} % agree<extra></extra>"
    for points, dash, name in ((so_far, "solid", "labelled so far"), (beyond, "dot", "with more like these")):
        figure.add_scatter(
            x=[n for n, _ in points],
            y=[share for _, share in points],
            mode="lines",
            line={"color": _LINE, "width": 3, "dash": dash},
            name=name,
            hovertemplate=hover,
        )
    figure.add_scatter(
        x=[1, last],
        y=[100 * NEEDED] * 2,
        mode="lines",
        line={"color": "#c2410c", "width": 1.5, "dash": "dash"},
        name=f"needed: {100 * NEEDED:.0f} %",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[verdict.labelled],
        y=[100 * dict(verdict.curve)[verdict.labelled]],
        mode="markers",
        marker={"size": 11, "color": "#ffffff", "line": {"color": _LINE, "width": 3}},
        name=f"now: {verdict.labelled}",
        hovertemplate=hover,
    )
    _lay_out(figure, height=300)
    grid = {"showgrid": True, "gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}
    figure.update_xaxes(title="questions labelled", range=[1, last], **grid)
    figure.update_yaxes(title="resamples that agree (%)", range=[0, 103], **grid)
    return figure


def _lay_out(figure: "Figure", *, height: int) -> None:
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, Noto Sans, sans-serif", "size": 13, "color": _INK},
        margin={"l": 64, "r": 16, "t": 40, "b": 56},
        height=height,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def plane_grid(plane: MetricPlane) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Lay a plane out as a rectangular grid.

    Returns:
        Edges of X columns of tau, (X + 1,), from a little below the first change to 1; edges of Y rows of alpha,
        (Y + 1,); and the mean in each cell, (Y, X). Exact down to cells of _THIN where there are at most MOST_CELLS
        along an axis.
    """
    first = max(-1.0, plane.start_of_change - _MARGIN * (1.0 - plane.start_of_change))
    taus = plane.low.astype(np.float64)
    x = _edges(np.concatenate([[first], taus[taus > first], [1.0]]))
    y = _edges(np.concatenate([np.unique(plane.alpha_low), [1.0]]))
    alphas = (y[1:] + y[:-1]) / 2
    rows = np.searchsorted(plane.high, ((x[1:] + x[:-1]) / 2).astype(np.float32))
    z = np.empty((len(y) - 1, len(x) - 1))
    for column, row in enumerate(rows.tolist()):
        begin, end = plane.start[row : row + 2].tolist()
        place = np.searchsorted(plane.alpha_high[begin:end], alphas)
        z[:, column] = plane.value[begin + np.minimum(place, end - begin - 1)]
    return x, y, z


def _edges(edges: Float64Array) -> Float64Array:
    """Leave out edges that cannot be seen apart, or space them evenly if there are too many."""
    kept = edges[np.concatenate([[True], np.diff(edges) > _THIN])]
    if len(kept) > MOST_CELLS + 1:
        return np.linspace(edges[0], edges[-1], MOST_CELLS + 1)
    kept[-1] = edges[-1]
    return kept if len(kept) > 1 else np.array([edges[-1] - _THIN, edges[-1]])


def _outline(region: Region) -> dict[str, list[float]]:
    low, high, bottom, top = region.tau_low, region.tau_high, region.alpha_low, region.alpha_high
    return {"x": [low, high, high, low, low], "y": [bottom, bottom, top, top, bottom]}
