"""Pictures of a campaign, still (PNG, by matplotlib) and interactive (HTML, by plotly).

Outcomes differ in colour *and* marker; the colours are those of Okabe and Ito, told apart by the colour-blind
(https://jfly.uni-koeln.de/color/). A picture of simulated trials says so across its face.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cubisect.analysis.frame import conclusive, explored, failed, varied_axes
from cubisect.analysis.monotone import RateCurve
from cubisect.analysis.rates import proportion
from cubisect.analysis.rules import Rule
from cubisect.analysis.summary import Analysis
from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.space import AXES, NumericAxis, Scale


@dataclass(frozen=True)
class Look:
    """How an outcome is drawn: colour, matplotlib marker, plotly symbol."""

    colour: str
    marker: str
    symbol: str


LOOKS: Mapping[Outcome, Look] = {
    Outcome.OK: Look("#8c8c8c", ".", "circle-open"),
    Outcome.ERROR: Look("#E69F00", "s", "square"),
    Outcome.SEGFAULT: Look("#D55E00", "X", "x"),
    Outcome.HANG: Look("#0072B2", "D", "diamond"),
    Outcome.ASYNC_ERROR: Look("#CC79A7", "^", "triangle-up"),
    Outcome.CORRUPT: Look("#009E73", "P", "cross"),
    Outcome.CRASH: Look("#000000", "v", "triangle-down"),
}

PAIRS = (("descriptor_count", "total_bytes"), ("descriptor_count", "repetition"), ("mean_size", "size_spread"))
"""The pairs of quantities on which a campaign's failures are mapped, where both vary."""

INCHES, DOTS_PER_INCH = 4.6, 110
COLUMNS_A_PANEL = 2
"""Entries of the legend beside each other, for each panel above them."""

WATERMARK = "SIMULATED"


def failure_map(frame: pd.DataFrame, rules: Sequence[Rule] = (), pairs: Sequence[tuple[str, str]] = PAIRS) -> Figure:
    """Return the trials on pairs of quantities, failures on top, with the boxes of the rules that speak of both."""
    rows = conclusive(frame)
    pairs = [pair for pair in pairs if all(rows[name].nunique() > 1 for name in pair)] or [pairs[0]]
    figure = Figure(figsize=(INCHES * len(pairs), INCHES), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(pairs)))
    for panel, (x, y) in zip(panels, pairs, strict=True):
        _map_panel(panel, rows, x, y, rules)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), COLUMNS_A_PANEL * len(pairs)), frameon=False
    )
    _finish(figure, frame, "Where trials failed")
    return figure


def rate_curves(frame: pd.DataFrame, curves: Sequence[RateCurve], *, titled: bool = True) -> Figure:
    """Return the explored failure rate along each axis with 95 % intervals, and the best monotone curve."""
    shown = [curve for curve in curves if curve.trials] or []
    figure = Figure(figsize=(INCHES * max(len(shown), 1), INCHES * 0.75), layout="constrained")
    for panel, curve in zip(np.atleast_1d(figure.subplots(1, max(len(shown), 1))), shown, strict=False):
        _curve_panel(panel, curve)
    title = "Failure rate of explored trials, 95 % intervals; dashed: best monotone curve"
    _finish(figure, frame, title if titled else None)
    return figure


def outcomes_by(frame: pd.DataFrame, name: str = "size_mix", *, titled: bool = True) -> Figure:
    """Return the explored failure rate for each value of a categorical axis, with 95 % intervals and counts."""
    rows = explored(frame)
    figure = Figure(figsize=(INCHES * 1.3, INCHES * 0.75), layout="constrained")
    panel = figure.subplots()
    for position, (value, group) in enumerate(rows.groupby(name, observed=True)):
        failures, trials = int(failed(group).sum()), len(group)
        interval = proportion(failures, trials)
        rate = failures / trials
        panel.errorbar([position], [rate], yerr=[[rate - interval.low], [interval.high - rate]], fmt="o",
                       color="#0072B2", capsize=4)  # fmt: skip
        panel.annotate(f"{value}\n{failures}/{trials}", (position, 0), (0, -8), textcoords="offset points",
                       ha="center", va="top", annotation_clip=False)  # fmt: skip
    panel.set_xticks([])
    panel.set_ylim(0, None)
    panel.set_ylabel("failure rate")
    _finish(figure, frame, f"Explored failure rate by {name}, 95 % intervals" if titled else None)
    return figure


def write_pictures(frame: pd.DataFrame, analysis: Analysis, folder: Path) -> list[Path]:
    """Write every picture of a campaign into a folder, the failure map also as a page to zoom; return the files.

    Raises:
        InputError: the folder cannot be written.
    """
    figures = {"failure_map": failure_map(frame, analysis.regions.rules)}
    if any(curve.trials for curve in analysis.monotonicity.curves):
        figures["rate_curves"] = rate_curves(frame, analysis.monotonicity.curves)
    figures |= {f"outcomes_by_{name}": outcomes_by(frame, name) for name in varied_categories(frame)}
    contents = {f"{name}.png": png(figure) for name, figure in figures.items()}
    contents["failure_map.html"] = interactive_map(frame).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}; name a folder that can be written") from error
    return [folder / name for name in contents]


def png(figure: Figure) -> bytes:
    """Return the picture as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
    return buffer.getvalue()


def interactive_map(frame: pd.DataFrame, x: str = "descriptor_count", y: str = "total_bytes") -> str:
    """Return a failure map to zoom and hover as one HTML page that needs no network."""
    rows = conclusive(frame)
    figure = go.Figure()
    for outcome, look in LOOKS.items():
        group = rows[rows["outcome"] == str(outcome)]
        if not len(group):
            continue
        hover = [f"trial {n}: {s or outcome}" for n, s in zip(group["number"], group["signature_title"], strict=True)]
        figure.add_scatter(
            x=group[x], y=group[y], mode="markers", name=f"{outcome} ({len(group)})", text=hover,
            marker={"color": look.colour, "symbol": look.symbol, "size": 6 if outcome is Outcome.OK else 9},
        )  # fmt: skip
    mark = f" — {WATERMARK}" if frame.attrs.get("simulated") else ""
    figure.update_layout(title=f"{frame.attrs.get('campaign', '')}{mark}", template="plotly_white",
                         xaxis_title=label(x), yaxis_title=label(y))  # fmt: skip
    for name, axis in ((x, figure.update_xaxes), (y, figure.update_yaxes)):
        axis(type="log" if is_log(name) else "linear")
    return str(figure.to_html(include_plotlyjs=True, full_html=True))


# -- panels ------------------------------------------------------------------------------------------------------------


def _map_panel(panel: Axes, rows: pd.DataFrame, x: str, y: str, rules: Sequence[Rule]) -> None:
    for outcome, look in LOOKS.items():
        group = rows[rows["outcome"] == str(outcome)]
        if len(group):
            panel.scatter(
                group[x], group[y], marker=look.marker, s=40 if outcome is Outcome.OK else 34, c=look.colour,
                alpha=0.9, linewidths=0.3, edgecolors="white",
                label=f"{outcome} ({len(group)})", zorder=1 if outcome is Outcome.OK else 2,
            )  # fmt: skip
    for name, scale in ((x, panel.set_xscale), (y, panel.set_yscale)):
        if is_log(name):
            scale("log", base=2)
    for rule in rules:
        _box(panel, rule, x, y)
    panel.set_xlabel(label(x))
    panel.set_ylabel(label(y))


def _box(panel: Axes, rule: Rule, x: str, y: str) -> None:
    """Draw the rule's box where it bounds at least one of the two quantities."""
    bounds = {condition.name: condition for condition in rule.conditions if condition.values is None}
    if x not in bounds and y not in bounds:
        return
    ends = []
    for name, (lowest, highest) in ((x, panel.get_xlim()), (y, panel.get_ylim())):
        condition = bounds.get(name)
        low = condition.low if condition and condition.low is not None else lowest
        high = condition.high if condition and condition.high is not None else highest
        ends.append((max(low, lowest), min(high, highest)))
    (left, right), (bottom, top) = ends
    colour = LOOKS[Outcome(rule.kind)].colour if rule.kind in LOOKS else "#000000"
    panel.add_patch(
        Rectangle((left, bottom), right - left, top - bottom, fill=False, edgecolor=colour, linewidth=1.6, zorder=3)
    )


def _curve_panel(panel: Axes, curve: RateCurve) -> None:
    edges = np.asarray(curve.edges, dtype=np.float64)
    log = is_log(curve.axis)
    middles = np.sqrt(edges[1:] * edges[:-1]) if log and edges[0] > 0 else (edges[1:] + edges[:-1]) / 2
    filled = np.asarray(curve.trials) > 0  # the monotone curve has a rate for these bins alone
    failures, trials = np.asarray(curve.failures)[filled], np.asarray(curve.trials)[filled]
    middles, rates = middles[filled], failures / trials
    intervals = [proportion(int(f), int(t)) for f, t in zip(failures, trials, strict=True)]
    low = rates - np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals]) - rates
    panel.errorbar(middles, rates, yerr=[np.maximum(low, 0), np.maximum(high, 0)], fmt="o", color="#0072B2", capsize=3)
    panel.plot(middles, curve.monotone_rates, "--", color="#D55E00")
    if log:
        panel.set_xscale("log", base=2)
    panel.set_ylim(0, None)
    panel.set_xlabel(label(curve.axis))
    panel.set_ylabel("failure rate")


def _finish(figure: Figure, frame: pd.DataFrame, title: str | None) -> None:
    if title is not None:
        figure.suptitle(f"{title} · {frame.attrs.get('campaign', '')}", fontsize=11)
    if frame.attrs.get("simulated"):
        for panel in figure.axes:  # each of them, for a picture may be cut
            panel.text(0.5, 0.5, WATERMARK, transform=panel.transAxes, fontsize=30, color="#777777", alpha=0.3,
                       rotation=24, ha="center", va="center", zorder=0)  # fmt: skip


def is_log(name: str) -> bool:
    """Tell whether a quantity is shown on a logarithmic scale."""
    axis = AXES.get(name)
    return not isinstance(axis, NumericAxis) or axis.scale is Scale.LOG2


def label(name: str) -> str:
    """Return a quantity with its unit, for a side of a picture."""
    axis = AXES.get(name)
    unit = (
        axis.unit
        if isinstance(axis, NumericAxis)
        else "bytes"
        if name.endswith("size") or name.startswith("bytes")
        else ""
    )
    return f"{name.replace('_', ' ')}{f' ({unit})' if unit and unit not in name.split('_') else ''}"


def varied_categories(frame: pd.DataFrame) -> list[str]:
    """Return the categorical axes that take several values in the frame."""
    return [name for name in varied_axes(frame) if not isinstance(AXES[name], NumericAxis)]
