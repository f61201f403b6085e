"""What is safe? The largest box in which the failure rate is below a bound, with stated confidence.

A box chosen because no trial in it failed would flatter itself. So the explored trials are halved: one half, with the
failures of all other trials, chooses the largest box without a failure; the other half gives its rate, with an exact
one-sided Clopper-Pearson bound. The box ends at trials that passed, not just before the first that failed. The rate is
the mean over the box as the search explores it (evenly in coordinates), with any category of the campaign; it is no
promise for each point.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from cubisect.analysis.frame import coordinates, explored, failed, mapping, numeric_axes, varied_axes
from cubisect.analysis.result import Result, percent, plural
from cubisect.analysis.rules import Condition
from cubisect.space import NumericAxis

CONFIDENCE = 0.95
BOUND = 0.01
LEVELS = 11
"""Candidate ends per axis."""
MAX_AXES = 4
"""More would make the grid of boxes large; the axes along which failures lie least evenly are taken."""


@dataclass(frozen=True, kw_only=True)
class Envelope(Result):
    """The box and what is known of it.

    `failures` of `trials` are of the half that did not choose the box; `upper` is the bound on its failure rate.
    `share` is the share of the explored trials inside. `more_trials` without a failure would bring the bound to
    `bound`; 0 where it is there, None where failures inside forbid it.
    """

    conditions: tuple[Condition, ...]
    failures: int
    trials: int
    share: float
    upper: float
    bound: float
    confidence: float
    more_trials: int | None

    @property
    def text(self) -> str:
        """The box in one line."""
        return " and ".join(condition.answer for condition in self.conditions) or "the whole space"

    @property
    def answer(self) -> str:
        """The box, its bound, and what a tighter one costs."""
        if not self.trials:
            return f"No explored trial tells what is safe; spend {self.more_trials}."
        head = (
            f"Safest: {self.text} ({percent(self.share)} of the explored trials). Of {plural(self.trials, 'trial')} "
            f"there that did not choose it, {self.failures} failed: a rate of at most {percent(self.upper)} "
            f"({percent(self.confidence)} confidence)"
        )
        if self.upper <= self.bound:
            return f"{head}; that is below {percent(self.bound)}."
        if self.more_trials is None:
            return f"{head}; {percent(self.bound)} or less is out of reach."
        return f"{head}; {plural(self.more_trials, 'more trial')} without a failure would show {percent(self.bound)}."


def safe_envelope(
    frame: pd.DataFrame, *, bound: float = BOUND, confidence: float = CONFIDENCE, seed: int = 0
) -> Envelope:
    """Return the largest box without a failure, and the bound on the failure rate in it."""
    even = explored(frame)
    judges = np.random.default_rng(seed).permutation(len(even)) % 2 == 0
    others = mapping(frame)
    if not failed(others).any():
        judges[:] = True  # the whole space needs no choosing, so every trial may judge it
    bad = pd.concat([even[~judges & failed(even)], others[failed(others) & ~others["number"].isin(even["number"])]])
    axes = _uneven(numeric_axes(varied_axes(even)), even[~judges], bad)
    conditions = _pulled_in(_largest_box(axes, even[~judges], bad), even[~judges], others)
    jury = even[judges]
    inside = _inside(conditions, jury)
    failures, trials = int((inside & failed(jury)).sum()), int(inside.sum())
    upper = 1.0 if failures == trials else float(beta.ppf(confidence, failures + 1, trials - failures))
    return Envelope(
        conditions=conditions,
        failures=failures,
        trials=trials,
        share=float(_inside(conditions, even).mean()) if len(even) else 0.0,
        upper=upper,
        bound=bound,
        confidence=confidence,
        more_trials=more_trials(failures, trials, bound=bound, confidence=confidence),
    )


def more_trials(failures: int, trials: int, *, bound: float, confidence: float = CONFIDENCE) -> int | None:
    """Return how many more trials without a failure bring the upper bound to `bound`, None beyond a million."""
    low, high = trials, 1_000_000
    if failures == 0:
        return max(math.ceil(math.log(1.0 - confidence) / math.log1p(-bound)) - trials, 0)
    if beta.ppf(confidence, failures + 1, high - failures) > bound:
        return None
    while low < high:
        middle = (low + high) // 2
        if middle > failures and beta.ppf(confidence, failures + 1, middle - failures) <= bound:
            high = middle
        else:
            low = middle + 1
    return low - trials


def _pulled_in(conditions: tuple[Condition, ...], even: pd.DataFrame, every: pd.DataFrame) -> tuple[Condition, ...]:
    """Return the box with its ends at its outermost trials; ends that keep no recorded trial out are dropped.

    Only trials of the choosing half say where the ends are, so that the other half can judge.
    """
    held = even[_inside(conditions, even)]
    tight = []
    for condition in conditions:
        if condition.holds(every).all() or held.empty:
            continue
        values = held[condition.name]
        if condition.high is not None:
            tight.append(Condition(name=condition.name, high=float(values.max())))
        else:
            tight.append(Condition(name=condition.name, low=float(values.min())))
    return tuple(tight)


def _inside(conditions: tuple[Condition, ...], rows: pd.DataFrame) -> NDArray[np.bool_]:
    good = np.ones(len(rows), dtype=np.bool_)
    for condition in conditions:
        good &= condition.holds(rows)
    return good


def _uneven(axes: list[NumericAxis], even: pd.DataFrame, bad: pd.DataFrame) -> list[NumericAxis]:
    """Return the axes along which failures lie least as explored trials do (largest gap of the distributions)."""
    if len(axes) <= MAX_AXES or bad.empty or even.empty:
        return axes[:MAX_AXES]

    def gap(axis: NumericAxis) -> float:
        x, y = np.sort(coordinates(even, axis)), np.sort(coordinates(bad, axis))
        return float(np.abs(np.arange(len(y)) / len(y) - np.searchsorted(x, y) / len(x)).max())

    chosen = sorted(axes, key=gap, reverse=True)[:MAX_AXES]
    return [axis for axis in axes if axis in chosen]


# -- the search for the box --------------------------------------------------------------------------------------------


def _largest_box(axes: list[NumericAxis], even: pd.DataFrame, bad: pd.DataFrame) -> tuple[Condition, ...]:
    """Return the box with most trials of `even` and no trial of `bad`: one end per axis, upper or lower."""
    if not axes or bad.empty:
        return ()
    ends = [_ends(axis, even, bad) for axis in axes]
    best: tuple[int, tuple[Condition, ...]] = (-1, ())
    for lower in np.ndindex(*(2,) * len(axes)):
        found = _largest_of(axes, ends, [bool(flag) for flag in lower], even, bad)
        if found[0] > best[0]:
            best = found
    return best[1]


def _ends(axis: NumericAxis, even: pd.DataFrame, bad: pd.DataFrame) -> NDArray[np.float64]:
    """Return candidate ends of one axis: quantiles of explored and of failing trials together."""
    levels = np.linspace(0.0, 1.0, LEVELS // 2 + 2)[1:-1]
    both = [np.quantile(coordinates(rows, axis), levels) for rows in (even, bad) if len(rows)]
    edge = coordinates(bad, axis)
    return np.unique(np.concatenate([*both, [edge.min() - 1e-6, edge.max() + 1e-6]]))


def _largest_of(
    axes: list[NumericAxis],
    ends: list[NDArray[np.float64]],
    lower: list[bool],
    even: pd.DataFrame,
    bad: pd.DataFrame,
) -> tuple[int, tuple[Condition, ...]]:
    """Return the best box whose end on axis i is a lower one where `lower[i]`, and how many trials it holds.

    Every trial falls into one cell of the grid of ends; sums over leading cells give the content of every box at once.
    """
    content = [_content(axes, ends, lower, rows) for rows in (even, bad)]
    counts = np.where(content[1] == 0, content[0], -1)
    best = np.unravel_index(int(np.argmax(counts)), counts.shape)
    conditions = []
    for axis, cuts, flipped, index in zip(axes, ends, lower, best, strict=True):
        if index == len(cuts):
            continue
        cut = float(cuts[::-1][index] if flipped else cuts[index])
        value = float(2.0**cut if axis.scale == "log2" else cut)
        if axis.integer:
            value = float(math.ceil(value) if flipped else math.floor(value))
        conditions.append(Condition(name=axis.name, low=value if flipped else None, high=None if flipped else value))
    return int(counts[best]), tuple(conditions)


def _content(
    axes: list[NumericAxis], ends: list[NDArray[np.float64]], lower: list[bool], rows: pd.DataFrame
) -> NDArray[np.int64]:
    """Return, for every box of the grid, the number of rows inside; the last index on an axis is no end at all."""
    shape = tuple(len(cuts) + 1 for cuts in ends)
    cells = []
    for axis, cuts, flipped in zip(axes, ends, lower, strict=True):
        x = coordinates(rows, axis)
        cells.append(len(cuts) - np.searchsorted(cuts, x, side="right") if flipped else np.searchsorted(cuts, x))
    flat = np.ravel_multi_index(tuple(cells), shape) if len(rows) else np.empty(0, dtype=np.int64)
    content = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
    for axis_index in range(len(axes)):
        content = content.cumsum(axis=axis_index)
    return content.astype(np.int64)
