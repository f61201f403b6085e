"""One cut through one quantity: its fit, and how right it is on trials that it was not fitted to."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cubisect.analysis.rates import Interval, proportion

FOLDS = 10

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Stump:
    """Says that a trial fails when its value lies `above` the cut (or below it, when `above` is false).

    `low` and `high` are the neighbouring values between which the cut lies.
    """

    low: float
    high: float
    above: bool

    @property
    def cut(self) -> float:
        """The middle between the neighbouring trials, geometric where both are positive."""
        return math.sqrt(self.low * self.high) if self.low > 0.0 else (self.low + self.high) / 2.0

    def says_fail(self, x: Floats) -> Mask:
        """Tell for every value whether a trial there fails."""
        return np.asarray((x > self.cut) == self.above, dtype=np.bool_)


def fit(x: Floats, y: Mask) -> Stump:
    """Return the stump with the best balanced accuracy on sorted values `x` with labels `y`."""
    ends = np.flatnonzero(x[1:] > x[:-1])
    fails, passes = max(int(y.sum()), 1), max(int((~y).sum()), 1)
    if not len(ends):
        return Stump(float(x[0]), float(x[0]), above=True)
    fails_below = np.cumsum(y)[ends]
    passes_below = ends + 1 - fails_below
    gain = passes_below / passes - fails_below / fails
    best = int(np.argmax(np.abs(gain)))
    at = ends[best]
    return Stump(float(x[at]), float(x[at + 1]), above=bool(gain[best] > 0.0))


def folds_of(fails: Mask, seed: int) -> NDArray[np.int64]:
    """Return the fold of every trial; failing and passing trials are spread over the folds separately."""
    rng = np.random.default_rng(seed)
    folds = np.empty(len(fails), dtype=np.int64)
    for group in (np.flatnonzero(fails), np.flatnonzero(~fails)):
        folds[rng.permutation(group)] = np.arange(len(group)) % FOLDS
    return folds


def held_out_right(x: Floats, y: Mask, fold: NDArray[np.int64]) -> Mask:
    """Tell for every trial, sorted by value, whether the stump fitted to the other folds is right about it."""
    right = np.zeros(len(x), dtype=np.bool_)
    for held in range(FOLDS):
        out = fold == held
        stump = fit(x[~out], y[~out])
        right[out] = stump.says_fail(x[out]) == y[out]
    return right


def balanced_accuracy(right_on_fails: Mask, right_on_passes: Mask) -> tuple[float, Interval]:
    """Return the mean of the two shares that are right, with a 95 % MOVER interval on Wilson limits."""
    shares, lows, highs = [], [], []
    for right in (right_on_fails, right_on_passes):
        interval = proportion(int(right.sum()), len(right))
        shares.append(float(right.mean()))
        lows.append(shares[-1] - interval.low)
        highs.append(interval.high - shares[-1])
    middle = sum(shares) / 2.0
    interval = Interval(
        low=max(middle - math.hypot(*lows) / 2.0, 0.0),
        high=min(middle + math.hypot(*highs) / 2.0, 1.0),
        method="mover-wilson",
    )
    return middle, interval
