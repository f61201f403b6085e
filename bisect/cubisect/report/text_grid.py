"""The failure map of a text: failures over trials in a coarse grid."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cubisect.analysis.frame import failed, mapping
from cubisect.report.plots import PAIRS, label
from cubisect.report.terminal import size

MOST_CELLS = 8
"""Columns and rows at most: a table of more does not fit a page."""


@dataclass(frozen=True)
class TextGrid:
    """Names of both quantities, the lower ends of the columns, and each row's lower end with its cells."""

    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]


def text_grid(frame: pd.DataFrame) -> TextGrid | None:
    """Return the grid of the first pair of quantities that both vary, None where there is none."""
    found = mapping(frame)
    pair = next((pair for pair in PAIRS[:2] if all(found[name].nunique() > 1 for name in pair)), None)
    if pair is None:
        return None
    (across, columns), (up, rows) = (_cells(found[name].to_numpy(dtype=np.float64)) for name in pair)
    fails = failed(found)
    cells = [[_cell(fails[(across == x) & (up == y)]) for x in range(len(columns))] for y in range(len(rows))]
    names = [[_named(name, low) for low in lows] for name, lows in zip(pair, (columns, rows), strict=True)]
    return TextGrid(label(pair[0]), label(pair[1]), names[0], list(zip(names[1], cells, strict=True))[::-1])


def _cells(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[float]]:
    """Return the cell of every value, and the lower ends of the cells: whole octaves, equally many in each."""
    octaves = np.floor(np.log2(np.maximum(values, 1.0))).astype(np.int64)
    low, width = int(octaves.min()), -(-(int(octaves.max()) - int(octaves.min()) + 1) // MOST_CELLS)
    cells = (octaves - low) // width
    return cells, [2.0 ** (low + width * k) for k in range(int(cells.max()) + 1)]


def _cell(fails: NDArray[np.bool_]) -> str:
    return f"{int(fails.sum())}/{len(fails)}" if len(fails) else ""


def _named(name: str, low: float) -> str:
    return size(low) if "bytes" in label(name) else f"{low:,.0f}"
