"""Rules that a person can read: a box of intervals and categories, with numbers as round as the trials allow."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cubisect.analysis.rates import Rate
from cubisect.analysis.result import Result, amount, plural, unit_of
from cubisect.space import Value


@dataclass(frozen=True, kw_only=True)
class Condition(Result):
    """What a rule asks of one quantity: an interval (an open end is None), or one of `values` of a category."""

    name: str
    low: float | None = None
    high: float | None = None
    values: tuple[Value, ...] | None = None

    @property
    def answer(self) -> str:
        """``descriptor_count ≥ 40,600``."""
        if self.values is not None:
            return f"{self.name} in {{{', '.join(str(v) for v in self.values)}}}"
        low, high = (None if end is None else amount(self.name, end) for end in (self.low, self.high))
        if low is not None and high is not None:
            return f"{low} ≤ {self.name} ≤ {high}"
        return f"{self.name} ≥ {low}" if low is not None else f"{self.name} ≤ {high}"

    def holds(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Tell for every row whether it meets the condition."""
        column = rows[self.name]
        if self.values is not None:
            return np.asarray(column.isin(list(self.values)), dtype=np.bool_)
        values = column.to_numpy(dtype=np.float64)
        good = np.ones(len(rows), dtype=np.bool_)
        if self.low is not None:
            good &= values >= self.low
        if self.high is not None:
            good &= values <= self.high
        return good


@dataclass(frozen=True, kw_only=True)
class Rule(Result):
    """A region: trials that meet every condition end in `kind` with `rate`.

    `rate` is of held-out trials (chosen by the search, so a rate of these trials, not of the region's volume);
    `support` counts all trials inside and `hits` those of the kind. `confirmed` says that held-out trials inside fail
    more often than those outside (Fisher's exact test, Holm-corrected over the rules).
    """

    kind: str
    conditions: tuple[Condition, ...]
    rate: Rate
    support: int
    hits: int
    confirmed: bool

    @property
    def text(self) -> str:
        """The conditions in one line."""
        return " and ".join(condition.answer for condition in self.conditions) or "everywhere"

    @property
    def answer(self) -> str:
        """The rule, its rate, and whether it is confirmed."""
        sure = "" if self.confirmed else " (not confirmed on held-out trials)"
        held = f"{self.rate.failures} of {plural(self.rate.trials, 'held-out trial')} ({self.rate.interval.answer})"
        return f"{self.kind} where {self.text}: {held}{sure}"

    def contains(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Tell for every row whether it is inside."""
        return inside(self.conditions, rows)


def inside(conditions: Iterable[Condition], rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell for every row whether it meets all conditions."""
    good = np.ones(len(rows), dtype=np.bool_)
    for condition in conditions:
        good &= condition.holds(rows)
    return good


def round_between(low: float, high: float) -> float:
    """Return the number with the fewest significant digits in (low, high], nearest to the middle."""
    if not low < high:
        return high
    middle = math.sqrt(low * high) if low > 0.0 else (low + high) / 2.0
    for digits in range(1, 16):
        rounded = float(f"{middle:.{digits - 1}e}")
        if low < rounded <= high:
            return rounded
    return high


def rounded_conditions(
    bounds: Mapping[str, tuple[float | None, float | None]], rows: pd.DataFrame
) -> tuple[Condition, ...]:
    """Return interval conditions with each end moved to a round number between its neighbouring trials.

    `bounds` are in values; the neighbours are those among all `rows`, so that no trial changes sides.
    """
    conditions = []
    for name, (low, high) in bounds.items():
        values = np.unique(rows[name].to_numpy(dtype=np.float64))
        conditions.append(
            Condition(
                name=name,
                low=None if low is None else _rounded(name, *_neighbours(values, low)),
                high=None if high is None else _rounded_below(name, *_neighbours(values, high)),
            )
        )
    return tuple(conditions)


def _neighbours(values: NDArray[np.float64], bound: float) -> tuple[float, float]:
    """Return the largest value below `bound` and the smallest at or above it."""
    at = int(np.searchsorted(values, bound, side="left"))
    return float(values[max(at - 1, 0)]), float(values[min(at, len(values) - 1)])


def _rounded(name: str, low: float, high: float) -> float:
    """Return a number in (low, high] that is round in the unit in which it is read."""
    unit, _ = unit_of(name, high)
    rounded = round_between(low / unit, high / unit) * unit
    return rounded if low < rounded <= high else high


def _rounded_below(name: str, low: float, high: float) -> float:
    """Return a round number in [low, high), so that a condition `≤` keeps `low` and leaves out `high`."""
    rounded = _rounded(name, low, high)
    return rounded if rounded < high else low
