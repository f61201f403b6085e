"""The matrix that classifiers see: log coordinates of numeric axes, derived quantities, and one column per category.

The derived quantities follow from the point alone, so that a model can be asked about points that were never run.
Without them no tree finds a band oblique in the axes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cubisect.analysis.frame import categorical_names, coordinates, numeric_axes, varied_axes
from cubisect.space import AXES, NumericAxis, Point, Value

DERIVED = ("mean_size", "submitted_descriptors", "submitted_bytes")


@dataclass(frozen=True)
class Column:
    """One column: a numeric axis or derived quantity (`value` is None), or whether a categorical axis has `value`."""

    name: str
    value: Value | None = None


def columns_of(rows: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns for what varies in `rows`."""
    names = varied_axes(rows)
    numeric = [axis.name for axis in numeric_axes(names)]
    derived = [name for name in DERIVED if rows[name].nunique() > 1 and _adds(name, numeric)]
    columns = [Column(name) for name in (*numeric, *derived)]
    for name in categorical_names(names):
        columns += [Column(name, value) for value in sorted(rows[name].unique().tolist(), key=str)]
    return tuple(columns)


def _adds(derived: str, numeric: Sequence[str]) -> bool:
    """Tell whether a derived quantity says more than one axis does: both axes that it is made of vary."""
    parts = {
        "mean_size": ("total_bytes", "descriptor_count"),
        "submitted_descriptors": ("descriptor_count", "repetition"),
        "submitted_bytes": ("total_bytes", "repetition"),
    }
    return all(part in numeric for part in parts[derived])


def matrix(rows: pd.DataFrame, columns: Sequence[Column]) -> NDArray[np.float32]:
    """Return the float32 matrix of `rows`, shape (rows, columns)."""
    return np.stack([_column(rows, column) for column in columns], axis=1).astype(np.float32)


def _column(rows: pd.DataFrame, column: Column) -> NDArray[np.float64]:
    if column.value is not None:
        return np.asarray(rows[column.name] == column.value, dtype=np.float64)
    axis = AXES.get(column.name)
    if isinstance(axis, NumericAxis):
        return coordinates(rows, axis)
    return np.asarray(np.log2(rows[column.name].to_numpy(dtype=np.float64)), dtype=np.float64)


def points_frame(points: Iterable[Point]) -> pd.DataFrame:
    """Return a frame of points, with the derived quantities of their axes."""
    frame = pd.DataFrame([point.values() for point in points])
    frame["mean_size"] = frame["total_bytes"] / frame["descriptor_count"]
    frame["submitted_descriptors"] = frame["descriptor_count"] * frame["repetition"]
    frame["submitted_bytes"] = frame["total_bytes"] * frame["repetition"]
    return frame
