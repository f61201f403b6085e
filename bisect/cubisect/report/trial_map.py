"""The failure map of a report: every failing trial as a mark of an inline SVG, to hover and to click.

Where there are too many trials to draw, passing ones are left out evenly, and the map says how many.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cubisect.analysis.frame import conclusive
from cubisect.analysis.result import number, plural
from cubisect.analysis.rules import Rule
from cubisect.outcome import Outcome
from cubisect.report.plots import LOOKS, PAIRS, is_log, label
from cubisect.report.terminal import size

WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 560, 400, 84, 44, 12
"""The picture and its margins, in units of the SVG."""

MOST_MARKS = 1500
"""So many marks are drawn of one outcome: a page of half a megabyte still opens at once."""

MOST_TICKS = 7

SHAPES = {
    Outcome.OK: "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z",
    Outcome.ERROR: "M-4-4h8v8h-8z",
    Outcome.SEGFAULT: "M-5-3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z",
    Outcome.HANG: "M0-6l5 6l-5 6l-5-6z",
    Outcome.ASYNC_ERROR: "M0-5l5 9h-10z",
    Outcome.CORRUPT: "M-2-5h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
    Outcome.CRASH: "M0 5l5-9h-10z",
}
"""Marks as SVG paths around the origin: each outcome has its own, for colour is never the only signal."""


@dataclass(frozen=True)
class Mark:
    """One trial: where it is drawn, what hovering tells."""

    outcome: str
    x: float
    y: float
    trial: int
    text: str


@dataclass(frozen=True)
class Tick:
    """A labelled line at `at`."""

    at: float
    text: str


@dataclass(frozen=True)
class Box:
    """The part of the panel in which a rule holds."""

    x: float
    y: float
    width: float
    height: float
    outcome: str
    text: str


@dataclass(frozen=True)
class Panel:
    """The trials on two quantities."""

    x_label: str
    y_label: str
    marks: Sequence[Mark]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    boxes: Sequence[Box]


@dataclass(frozen=True)
class Legend:
    """An outcome of the map: how it is drawn, how many trials have it, how many of those are not drawn."""

    outcome: str
    colour: str
    shape: str
    trials: int
    left_out: int


@dataclass(frozen=True)
class TrialMap:
    """One panel for each pair of quantities that both vary."""

    panels: Sequence[Panel]
    legend: Sequence[Legend]


def trial_map(frame: pd.DataFrame, rules: Sequence[Rule] = ()) -> TrialMap:
    """Return the map of a campaign's conclusive trials, with the boxes of the rules that speak of both quantities."""
    rows = conclusive(frame)
    groups = {outcome: rows[rows["outcome"] == str(outcome)] for outcome in LOOKS}
    drawn = {outcome: _thinned(group) for outcome, group in groups.items() if len(group)}
    pairs = [pair for pair in PAIRS if all(rows[name].nunique() > 1 for name in pair)]
    return TrialMap(
        panels=[_panel(drawn, x, y, rules) for x, y in pairs],
        legend=[
            Legend(str(o), LOOKS[o].colour, SHAPES[o], len(groups[o]), len(groups[o]) - len(drawn[o])) for o in drawn
        ],
    )


def _thinned(group: pd.DataFrame) -> pd.DataFrame:
    if len(group) <= MOST_MARKS:
        return group
    return group.iloc[np.linspace(0, len(group) - 1, MOST_MARKS).astype(np.int64)]


def _panel(drawn: dict[Outcome, pd.DataFrame], x: str, y: str, rules: Sequence[Rule]) -> Panel:
    rows = pd.concat(list(drawn.values()))  # outcomes in the order of LOOKS: failures over passes
    across = _Side(x, rows[x].to_numpy(dtype=np.float64), LEFT, WIDTH - EDGE)
    up = _Side(y, rows[y].to_numpy(dtype=np.float64), HEIGHT - BOTTOM, EDGE)
    trials: Iterable[Any] = rows.itertuples()
    places = zip(across.places(rows[x]), up.places(rows[y]), trials, strict=True)
    boxes = [box for rule in rules if (box := _box(rule, across, up)) is not None]
    return Panel(
        x_label=label(x), y_label=label(y), x_ticks=across.ticks(), y_ticks=up.ticks(), boxes=boxes,
        marks=[Mark(str(row.outcome), round(h, 1), round(v, 1), int(row.number), _told(row)) for h, v, row in places],
    )  # fmt: skip


def _told(row: Any) -> str:
    """Return what a person wants to know of a trial at a glance."""
    what = row.signature_title if isinstance(row.signature_title, str) else row.outcome
    method = "" if row.method == "batch" else ", as one copy per descriptor"
    return (
        f"trial {row.number}: {what}; {row.descriptor_count:,} copies, {size(row.total_bytes)}, submitted "
        f"{plural(int(row.repetition), 'time')}, {row.size_mix} {row.size_spread:.2g}{method} ({row.purpose})"
    )


class _Side:
    """One side of a panel: from values to places between `start` and `end`."""

    def __init__(self, name: str, values: NDArray[np.float64], start: float, end: float) -> None:
        self.name, self._log, self._start, self._end = name, is_log(name), start, end
        known = self._coordinates(values[np.isfinite(values)])
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        margin = 0.03 * (high - low) or 0.5
        self._low, self._high = low - margin, high + margin

    def places(self, values: "pd.Series[float]") -> NDArray[np.float64]:
        """Return where each value of a column lies."""
        return self._place(self._coordinates(np.asarray(values, dtype=np.float64)))

    def place(self, value: float) -> float:
        """Return where a value lies, at an end where it lies beyond it."""
        place = float(self._place(self._coordinates(np.array([value])))[0])
        return min(max(place, min(self._start, self._end)), max(self._start, self._end))

    def ticks(self) -> list[Tick]:
        """Return labelled places, evenly spaced and round."""
        span = self._high - self._low
        step = max(math.ceil(span / MOST_TICKS), 1) if self._log else 10.0 ** math.floor(math.log10(span / 2))
        first = math.ceil(self._low / step)
        stops = [k * step for k in range(first, math.floor(self._high / step) + 1)]
        stops = stops[:: math.ceil(len(stops) / MOST_TICKS)]
        return [Tick(round(float(self._place(np.array([at]))[0]), 1), self._text(at)) for at in stops]

    def _text(self, coordinate: float) -> str:
        value = 2.0**coordinate if self._log else coordinate
        return size(value) if "bytes" in label(self.name) else number(float(f"{value:.6g}"))

    def _coordinates(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log2(np.maximum(values, 1.0)) if self._log else values

    def _place(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        share = (coordinates - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


def _box(rule: Rule, across: _Side, up: _Side) -> Box | None:
    bounds = {condition.name: condition for condition in rule.conditions if condition.values is None}
    if across.name not in bounds and up.name not in bounds:
        return None
    ends = []
    for side in (across, up):
        condition = bounds.get(side.name)
        low = -math.inf if condition is None or condition.low is None else float(condition.low)
        high = math.inf if condition is None or condition.high is None else float(condition.high)
        ends.append(sorted((side.place(low), side.place(high))))
    (left, right), (top, bottom) = ends
    return Box(
        round(left, 1), round(top, 1), round(right - left, 1), round(bottom - top, 1), str(rule.kind), rule.answer
    )
