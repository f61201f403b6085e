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
    return _fit(x, _ends(x), _weights(y, int(y.sum()), int((~y).sum())))


def _ends(x: Floats) -> NDArray[np.int64]:
    """Return the last index of every run of equal values but the last run: where a cut can be."""
    return np.flatnonzero(x[1:] > x[:-1])


def _weights(y: Mask, fails: int, passes: int) -> Floats:
    """Return what each trial adds to the passing less the failing share below a cut above it."""
    return np.where(y, -1.0 / max(fails, 1), 1.0 / max(passes, 1))


def _fit(x: Floats, ends: NDArray[np.int64], weights: Floats) -> Stump:
    """Return the best stump; a trial with weight 0 is not looked at, and a cut lies between trials that are."""
    if not len(ends):
        return Stump(float(x[0]), float(x[0]), above=True)
    gain = np.cumsum(weights)[ends]
    first = int(np.argmax(np.abs(gain)))
    changes = np.flatnonzero(gain[first:] != gain[first])
    last = first + int(changes[0]) - 1 if len(changes) else len(gain) - 1
    return Stump(float(x[ends[first]]), float(x[ends[last] + 1]), above=bool(gain[first] > 0.0))


def folds_of(fails: Mask, seed: int) -> NDArray[np.int8]:
    """Return the fold of every trial; failing and passing trials are spread over the folds separately."""
    rng = np.random.default_rng(seed)
    folds = np.empty(len(fails), dtype=np.int8)
    for group in (np.flatnonzero(fails), np.flatnonzero(~fails)):
        folds[rng.permutation(group)] = np.arange(len(group)) % FOLDS
    return folds


def held_out_right(x: Floats, y: Mask, fold: NDArray[np.int8]) -> Mask:
    """Tell for every trial, sorted by value, whether the stump fitted to the other folds is right about it."""
    right = np.zeros(len(x), dtype=np.bool_)
    ends = _ends(x)
    members = np.split(np.argsort(fold, kind="stable"), np.cumsum(np.bincount(fold, minlength=FOLDS))[:-1])
    fails, passes = int(y.sum()), int((~y).sum())
    for out in members:
        fails_out = int(y[out].sum())
        weights = _weights(y, fails - fails_out, passes - (len(out) - fails_out))
        weights[out] = 0.0
        right[out] = _fit(x, ends, weights).says_fail(x[out]) == y[out]
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
