"""Points of a space as rows of numbers, and what a tree is shown of a row.

A *row* has one column per varied axis: the coordinate of a numeric axis, the index of the value of a categorical one.
Rows are canonical: a coordinate is that of the whole number to which it rounds, so that a row that went through the
database comes back the same.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cubisect.space import AXES, Coordinate, NumericAxis, Range, Scale, Space, Value

Float = NDArray[np.float64]
Rows = NDArray[np.float64]
Features = NDArray[np.float32]

DERIVED = (
    ("total_bytes", "descriptor_count", -1.0),  # mean size
    ("descriptor_count", "repetition", 1.0),  # submitted descriptors
    ("total_bytes", "repetition", 1.0),  # submitted bytes
)
"""Products and quotients that a driver is sensitive to, as sums of log coordinates: (axis, other axis, sign)."""

ROUND_AXES = ("descriptor_count", "total_bytes")
"""Axes whose alignment may matter: the number of trailing zero bits of the value is shown to the trees."""


class Encoding:
    """Converts between unit cube, rows, coordinates of Optuna and features of one space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.names = tuple(space.varied)
        self.categories: dict[int, tuple[Value, ...]] = {}
        low, high = [], []
        for column, (name, domain) in enumerate(space.varied.items()):
            axis = AXES[name]
            if isinstance(domain, Range) and isinstance(axis, NumericAxis):
                low.append(axis.to_coordinate(domain.low))
                high.append(axis.to_coordinate(domain.high))
            elif isinstance(domain, tuple):
                self.categories[column] = domain
                low.append(0.0)
                high.append(len(domain) - 1.0)
        self.low, self.high = np.array(low), np.array(high)
        self.span = np.maximum(self.high - self.low, 1e-12)
        self.numeric = tuple(c for c in range(len(self.names)) if c not in self.categories)
        self._derived = self._derived_columns()
        self.round_columns = tuple(self.names.index(name) for name in ROUND_AXES if name in self.names)

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return len(self.names)

    def axis(self, column: int) -> NumericAxis:
        """Return the numeric axis of a column."""
        axis = AXES[self.names[column]]
        assert isinstance(axis, NumericAxis)
        return axis

    def is_log(self, column: int) -> bool:
        """Tell whether the column is the log2 of a value."""
        return column not in self.categories and self.axis(column).scale is Scale.LOG2

    def from_unit(self, unit: Float) -> Rows:
        """Return canonical rows from the unit cube, uniform in every coordinate; not all of them are feasible."""
        rows = self.low + unit * self.span
        for column in range(self.width):
            steps = self._steps(column)
            if steps:  # each of the values gets an equal share, the outermost ones too
                rows[:, column] = self.low[column] + np.minimum(np.floor(unit[:, column] * steps), steps - 1)
        return self.canonical(rows)

    def _steps(self, column: int) -> int:
        """Return the number of values of a categorical or whole-number linear axis, else 0."""
        if column in self.categories:
            return len(self.categories[column])
        axis = self.axis(column)
        return int(self.span[column]) + 1 if axis.integer and axis.scale is Scale.LINEAR else 0

    def canonical(self, rows: Rows) -> Rows:
        """Return rows moved to the coordinates of the values to which they round."""
        rows = np.clip(rows, self.low, self.high)
        for column in self.numeric:
            axis = self.axis(column)
            if axis.integer:
                values = axis.values_at(rows[:, column])
                rows[:, column] = np.log2(values) if axis.scale is Scale.LOG2 else values
        return rows

    def canonical_at(self, column: int, position: float) -> float:
        """Return what `canonical` makes of one position of a numeric column."""
        row = self.low.copy()
        row[column] = position
        return float(self.canonical(row[None, :])[0, column])

    def feasible(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell for each row whether a batch exists there."""
        columns: dict[str, NDArray[np.generic]] = {self.names[c]: rows[:, c] for c in self.numeric}
        if "workload" in self.names:
            column = self.names.index("workload")
            columns["workload"] = np.array(self.categories[column])[rows[:, column].astype(int)]
        if not columns:
            return np.ones(len(rows), dtype=np.bool_)
        return self.space.feasible(columns)

    def coordinates(self, row: Float) -> dict[str, Coordinate]:
        """Return a row as Optuna parameters."""
        values: dict[str, Coordinate] = {}
        for column, name in enumerate(self.names):
            if column in self.categories:
                values[name] = self.categories[column][int(row[column])]
            else:
                values[name] = int(row[column]) if self._steps(column) else float(row[column])
        return values

    def row(self, coordinates: Mapping[str, Coordinate]) -> Float:
        """Return the canonical row at these coordinates."""
        values = [
            self.categories[c].index(coordinates[name]) if c in self.categories else float(coordinates[name])
            for c, name in enumerate(self.names)
        ]
        return np.asarray(self.canonical(np.array([values], dtype=np.float64))[0])

    def scaled(self, rows: Rows) -> Float:
        """Return the numeric columns of rows as fractions of their ranges."""
        columns = list(self.numeric)
        return np.asarray((rows[:, columns] - self.low[columns]) / self.span[columns])

    def distances(self, rows: Rows, others: Rows) -> Float:
        """Return distances between two sets of rows: Euclidean in fractions of the ranges, half for another value."""
        gap = self.scaled(rows)[:, None, :] - self.scaled(others)[None, :, :]
        square = (gap**2).sum(axis=2)
        for column in self.categories:
            square += 0.25 * (rows[:, column][:, None] != others[:, column][None, :])
        return np.asarray(np.sqrt(square))

    def features(self, rows: Rows) -> Features:
        """Return what a tree sees of rows: coordinates, one column per named value, derived quantities, alignment."""
        columns = [rows[:, c] for c in self.numeric]
        for column, values in self.categories.items():
            columns += [rows[:, column] == index for index in range(len(values))] if len(values) > 1 else []
        columns += [rows[:, a] + sign * rows[:, b] for a, b, sign in self._derived]
        columns += [_trailing_zeros(np.rint(np.exp2(rows[:, c]))) for c in self.round_columns]
        return np.stack(columns, axis=1).astype(np.float32)

    def _derived_columns(self) -> tuple[tuple[int, int, float], ...]:
        index = {name: column for column, name in enumerate(self.names)}
        return tuple((index[a], index[b], sign) for a, b, sign in DERIVED if a in index and b in index)


def _trailing_zeros(values: Float) -> Float:
    """Return the number of trailing zero bits of whole numbers of at least 1."""
    whole = np.maximum(values, 1.0).astype(np.int64)
    return np.log2((whole & -whole).astype(np.float64))
