"""The failure map: trials counted in the cells of a grid over two quantities, so that a page never holds them all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cubisect.outcome import FAILURES, SEVERITY, Outcome
from cubisect.report.terminal import size
from cubisect.space import AXES, NumericAxis, Scale

COLUMNS, ROWS = 36, 22
"""Cells of the grid: as many as can be told apart and clicked on a narrow page."""

CODES: Mapping[Outcome, int] = {outcome: code for code, outcome in enumerate(Outcome)}
"""The number by which an outcome is counted."""

MIN_SPAN = 1e-6
"""Narrowest view in coordinates; below it all trials share one point."""

MAX_LOG2 = 1000.0
"""Coordinates of a log side beyond this have no value that a float can hold."""

_LOG_FEATURES = ("mean_size", "smallest_size", "largest_size", "submitted_descriptors", "submitted_bytes",
                 "distinct_sizes", "size_changes")  # fmt: skip
_BYTE_QUANTITIES = ("mean_size", "smallest_size", "largest_size", "submitted_bytes")


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What one side of the map shows: an axis or a feature; its coordinate is log2 of the value on a log side."""

    name: str
    log: bool = False
    unit: str = ""
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What stands beside the side."""
        return f"{self.name} (log scale)" if self.log else self.name

    def coordinates(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the coordinates of a column; of a categorical axis, the index of the value."""
        if self.labels:
            texts = values.astype(str)
            return np.array([self.labels.index(t) if t in self.labels else -1 for t in texts], dtype=np.float64)
        numbers = values.astype(np.float64)
        return np.log2(np.maximum(numbers, 1.0)) if self.log else numbers

    def text(self, coordinate: float) -> str:
        """Return a coordinate as a person reads it."""
        if self.labels:
            index = round(coordinate)
            return self.labels[index] if 0 <= index < len(self.labels) else ""
        value = 2.0 ** min(coordinate, MAX_LOG2) if self.log else coordinate
        return size(value) if self.unit == "bytes" else _short(value)

    def ticks(self, low: float, high: float, most: int = 7) -> list[float]:
        """Return coordinates between `low` and `high` to be labelled, evenly spaced and round."""
        step = _round_step((high - low) / most, whole=self.log)
        if self.labels:
            step = max(math.ceil(step), 1)
        first = math.ceil(low / step)
        return [k * step for k in range(first, math.floor(high / step) + 1)]


def _quantities() -> dict[str, Quantity]:
    found = {}
    for name, axis in AXES.items():
        if isinstance(axis, NumericAxis):
            found[name] = Quantity(name=name, log=axis.scale is Scale.LOG2, unit=axis.unit)
        else:
            found[name] = Quantity(name=name, labels=tuple(str(value) for value in axis.values))
    for name in _LOG_FEATURES:
        found[name] = Quantity(name=name, log=True, unit="bytes" if name in _BYTE_QUANTITIES else "")
    return found


QUANTITIES: Mapping[str, Quantity] = _quantities()
"""Everything that a side of the map can show, by name."""


DEFAULT_X, DEFAULT_Y = "descriptor_count", "total_bytes"
"""The sides of the map until others are chosen."""


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of the plane that is shown, in coordinates."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def around(self, x: float, y: float, factor: float) -> "View":
        """Return a view `factor` times as wide and high with (x, y) in its middle."""
        half_x = max((self.x_high - self.x_low) * factor, MIN_SPAN) / 2
        half_y = max((self.y_high - self.y_low) * factor, MIN_SPAN) / 2
        return View(x_low=x - half_x, x_high=x + half_x, y_low=y - half_y, y_high=y + half_y)

    def moved(self, dx: float, dy: float) -> "View":
        """Return this view moved by fractions of its width and height."""
        x, y = dx * (self.x_high - self.x_low), dy * (self.y_high - self.y_low)
        return View(x_low=self.x_low + x, x_high=self.x_high + x, y_low=self.y_low + y, y_high=self.y_high + y)

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of the view."""
        return (self.x_low + self.x_high) / 2, (self.y_low + self.y_high) / 2


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The trials in one cell of the grid. Row 0 is at the bottom.

    `only` is the trial's number when it is alone; `one_point` says that zooming in would not part the trials.
    """

    column: int
    row: int
    counts: Mapping[Outcome, int]
    only: int | None = None
    one_point: bool = False

    @property
    def total(self) -> int:
        """Trials in the cell."""
        return sum(self.counts.values())

    @property
    def failing(self) -> int:
        """Trials in the cell that failed."""
        return sum(count for outcome, count in self.counts.items() if outcome in FAILURES)

    @property
    def worst(self) -> Outcome:
        """The gravest failing outcome, or ok, or inconclusive when there is nothing else."""
        conclusive = [outcome for outcome in self.counts if outcome is not Outcome.INCONCLUSIVE]
        return max(conclusive, key=SEVERITY.__getitem__, default=Outcome.INCONCLUSIVE)


@dataclass(frozen=True, kw_only=True)
class FailureMap:
    """Cells with trials in them, over `view`; `outside` counts the trials that the view leaves out."""

    x: Quantity
    y: Quantity
    view: View
    cells: Sequence[Cell]
    trials: int
    outside: int
    columns: int = COLUMNS
    rows: int = ROWS

    def bounds(self, cell: Cell) -> View:
        """Return the part of the plane that a cell covers."""
        width = (self.view.x_high - self.view.x_low) / self.columns
        height = (self.view.y_high - self.view.y_low) / self.rows
        x, y = self.view.x_low + cell.column * width, self.view.y_low + cell.row * height
        return View(x_low=x, x_high=x + width, y_low=y, y_high=y + height)


@dataclass(frozen=True, kw_only=True)
class Points:
    """Trials as the map needs them: arrays of equal length. `x` and `y` in coordinates, `outcome` as in `CODES`."""

    number: NDArray[np.int64]
    outcome: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    def inside(self, view: View) -> NDArray[np.bool_]:
        """Tell for every trial whether the view shows it."""
        return np.asarray(
            (self.x >= view.x_low) & (self.x <= view.x_high) & (self.y >= view.y_low) & (self.y <= view.y_high)
        )

    def whole(self) -> View:
        """Return the view that shows every trial, with a margin of a cell."""
        (x_low, x_high), (y_low, y_high) = _extent(self.x), _extent(self.y)
        return View(x_low=x_low, x_high=x_high, y_low=y_low, y_high=y_high)


def failure_map(points: Points, x: Quantity, y: Quantity, view: View | None = None) -> FailureMap:
    """Count the trials of a view by cell and outcome; without a view, all of them."""
    view = view or points.whole()
    inside = np.flatnonzero(points.inside(view))
    column = _cell_index(points.x[inside], view.x_low, view.x_high, COLUMNS)
    row = _cell_index(points.y[inside], view.y_low, view.y_high, ROWS)
    cell = row * COLUMNS + column
    kinds = len(CODES)
    counts = np.bincount(cell * kinds + points.outcome[inside], minlength=COLUMNS * ROWS * kinds)
    table = counts.reshape(-1, kinds)
    some_trial = np.zeros(len(table), dtype=np.int64)
    some_trial[cell] = inside
    elsewhere = (points.x[inside] != points.x[some_trial[cell]]) | (points.y[inside] != points.y[some_trial[cell]])
    several_points = np.bincount(cell[elsewhere], minlength=len(table)) > 0
    cells = [
        _cell(index, table[index], int(points.number[some_trial[index]]), one_point=not several_points[index])
        for index in np.flatnonzero(table.sum(axis=1)).tolist()
    ]
    total = len(points.number)
    return FailureMap(x=x, y=y, view=view, cells=cells, trials=len(inside), outside=total - len(inside))


def _cell(index: int, counts: NDArray[np.int64], number: int, *, one_point: bool) -> Cell:
    by_outcome = {outcome: int(counts[code]) for outcome, code in CODES.items() if counts[code]}
    only = number if int(counts.sum()) == 1 else None
    row, column = divmod(index, COLUMNS)
    return Cell(column=column, row=row, counts=by_outcome, only=only, one_point=one_point)


def _cell_index(values: NDArray[np.float64], low: float, high: float, cells: int) -> NDArray[np.int64]:
    return np.clip(((values - low) / (high - low) * cells).astype(np.int64), 0, cells - 1)


def _extent(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = max((high - low) / COLUMNS, 0.25)
    return low - margin, high + margin


def _round_step(step: float, *, whole: bool) -> float:
    """Return the smallest of 1, 2, 5 × 10^k (when whole, of 1, 2, 4… above a half) that is at least `step`."""
    if whole and step > 0.5:
        return float(1 << max(math.ceil(math.log2(step)), 0))
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _short(value: float) -> str:
    if abs(value) >= 1e7:
        return f"{value / 1e6:.3g}M"
    return f"{value:,.0f}" if abs(value) >= 1e3 or float(value).is_integer() else f"{value:.3g}"
