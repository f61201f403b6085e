"""Does more always fail at least as often? What the recorded trials show, descriptively.

A *witness* against it is a pair: one trial fails, another has at least as much on every varied numeric axis and
everything else equal, yet passes. The least number of labels to flip so that no witness is left is a minimum vertex
cover of the graph of witnesses, which by König's theorem is as large as a maximum matching (Hopcroft and Karp, in
`scipy.sparse.csgraph`).

Neither number is a verdict: chance makes witnesses, too. The verdict is the witness test's (`witness`). The rate curves
compare, per axis, explored trials' free rates with the best monotone ones (Barlow et al., *Statistical Inference under
Order Restrictions*, 1972), with a parametric bootstrap from the monotone fit, for the chi-square limit does not hold.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.special import xlogy

from cubisect.analysis.frame import (
    categorical_names,
    coordinates,
    explored,
    failed,
    mapping,
    numeric_axes,
    varied_axes,
)
from cubisect.analysis.multiple import holm
from cubisect.analysis.result import Result, plural
from cubisect.space import NumericAxis, Space

MAX_PAIRS = 3_000_000
"""Witness pairs in the graph; at most 60 MB and 2 s. Beyond it, the flips are counted on a sample of the trials."""
SHOWN = 20
BINS = 12
BOOTSTRAPS = 199
BLOCK = 256
MIN_EXPLORED_FAILURES = 5


@dataclass(frozen=True, kw_only=True)
class Witness(Result):
    """A failing trial and one that passes with at least as much of everything; `raised` are the axes with more."""

    failing: int
    passing: int
    outcome: str
    raised: dict[str, tuple[float, float]]

    @property
    def answer(self) -> str:
        """The pair in one line."""
        more = ", ".join(f"{name} {low:g} → {high:g}" for name, (low, high) in self.raised.items())
        return f"trial {self.failing} ({self.outcome}) fails, trial {self.passing} passes with {more}"


@dataclass(frozen=True, kw_only=True)
class RateCurve(Result):
    """The failure rate along one axis over explored trials, in bins of equal numbers of trials.

    `edges` are the bins' ends in the axis' unit, `p_value` is Holm-corrected over the axes; None where it was not
    tested, for the reason given.
    """

    axis: str
    edges: tuple[float, ...]
    trials: tuple[int, ...]
    failures: tuple[int, ...]
    monotone_rates: tuple[float, ...]
    p_value: float | None
    reason: str = ""

    @property
    def answer(self) -> str:
        """Whether the free curve is better than the best monotone one."""
        if self.p_value is None:
            return f"{self.axis}: rate curve not tested: {self.reason}"
        word = "falls somewhere" if self.p_value <= 0.05 else "may rise all the way"
        return f"{self.axis}: the explored failure rate {word} (corrected p = {self.p_value:.2g})"


@dataclass(frozen=True, kw_only=True)
class Monotonicity(Result):
    """Witnesses and flips; descriptive. `pairs` and `flips` are of `counted` of the `trials`; `flips` is the least."""

    axes: tuple[str, ...]
    pairs: int
    flips: int
    counted: int
    trials: int
    witnesses: tuple[Witness, ...]
    curves: tuple[RateCurve, ...]

    @property
    def answer(self) -> str:
        """The counts, without a verdict."""
        if not self.axes:
            return "Monotonicity: no numeric axis was varied."
        sampled = "" if self.counted == self.trials else f", at least, from {self.counted:,} of {self.trials:,} trials"
        return (
            f"Monotonicity on {', '.join(self.axes)}: {plural(self.pairs, 'pair')} where more passes, and "
            f"{plural(self.flips, 'label')} to flip before none is left{sampled}; chance makes such pairs too."
        )


def monotonicity(frame: pd.DataFrame, space: Space | None = None, *, seed: int = 0) -> Monotonicity:
    """Return witnesses, flips and rate curves of the recorded trials."""
    rows = mapping(frame)
    names = varied_axes(rows)
    axes = numeric_axes(names)
    order = np.random.default_rng(seed).permutation(len(rows))
    edges, counted = _bounded_pairs(rows.iloc[order], axes, categorical_names(names))
    edges = order[edges]
    return Monotonicity(
        axes=tuple(axis.name for axis in axes),
        pairs=len(edges),
        flips=minimum_flips(edges),
        counted=counted,
        trials=len(rows),
        witnesses=_shown(rows, edges, axes),
        curves=rate_curves(frame, space, seed=seed),
    )


# -- witnesses and flips -----------------------------------------------------------------------------------------------


def _bounded_pairs(rows: pd.DataFrame, axes: list[NumericAxis], categories: list[str]) -> tuple[NDArray[np.int64], int]:
    """Return the witness pairs (failing, passing) of as many leading rows as give at most `MAX_PAIRS`, and how many."""
    counted = min(len(rows), 20_000)
    while True:
        part = rows.iloc[:counted]
        found, total = [], 0
        for pairs in _pairs(part, axes, categories):
            found.append(pairs)
            total += len(pairs)
            if total > MAX_PAIRS:
                break
        else:
            return (np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)), counted
        counted //= 2


def _pairs(rows: pd.DataFrame, axes: list[NumericAxis], categories: list[str]) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of index pairs (failing, passing) where the passing trial has at least as much on every axis."""
    if not axes or rows.empty:
        return
    values = np.stack([coordinates(rows, axis) for axis in axes], axis=1).astype(np.float32)
    total = values.sum(axis=1, dtype=np.float64)
    fails = failed(rows)
    group = rows.groupby(categories, sort=False).ngroup().to_numpy() if categories else np.zeros(len(rows), np.int64)
    for label in np.unique(group):
        bad = np.flatnonzero(fails & (group == label))
        good = np.flatnonzero(~fails & (group == label))
        if not len(bad) or not len(good):
            continue
        for start in range(0, len(bad), BLOCK):
            block = bad[start : start + BLOCK]
            above = total[good][None, :] > total[block][:, None]  # so never the same point: that would be chance
            for column in range(len(axes)):
                above &= values[good, column][None, :] >= values[block, column][:, None]
            left, right = np.nonzero(above)
            yield np.stack([block[left], good[right]], axis=1)


def minimum_flips(edges: NDArray[np.int64]) -> int:
    """Return the size of a minimum vertex cover of bipartite `edges`, shape (n, 2), by König's theorem."""
    if not len(edges):
        return 0
    left, rows = np.unique(edges[:, 0], return_inverse=True)
    right, columns = np.unique(edges[:, 1], return_inverse=True)
    ones = np.ones(len(edges), dtype=np.int8)
    graph = csr_array(coo_array((ones, (rows, columns)), shape=(len(left), len(right))))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def _shown(rows: pd.DataFrame, edges: NDArray[np.int64], axes: list[NumericAxis]) -> tuple[Witness, ...]:
    """Return the witnesses with the fewest raised axes, then the largest step, each failing trial once."""
    if not len(edges):
        return ()
    values = np.stack([coordinates(rows, axis) for axis in axes], axis=1)
    steps = values[edges[:, 1]] - values[edges[:, 0]]
    order = np.lexsort([-steps.max(axis=1), (steps > 0.0).sum(axis=1)])
    _, first = np.unique(edges[order, 0], return_index=True)
    chosen = edges[order[np.sort(first)[:SHOWN]]]
    return tuple(_witness(rows.iloc[bad], rows.iloc[good], axes) for bad, good in chosen)


def _witness(bad: "pd.Series[Any]", good: "pd.Series[Any]", axes: list[NumericAxis]) -> Witness:
    raised = {a.name: (float(bad[a.name]), float(good[a.name])) for a in axes if good[a.name] > bad[a.name]}
    return Witness(failing=int(bad["number"]), passing=int(good["number"]), outcome=str(bad["outcome"]), raised=raised)


# -- rate curves -------------------------------------------------------------------------------------------------------


def rate_curves(frame: pd.DataFrame, space: Space | None = None, *, seed: int = 0) -> tuple[RateCurve, ...]:
    """Return the curve of every varied numeric axis over explored trials."""
    rows = explored(frame)
    axes = numeric_axes(varied_axes(rows))
    rng = np.random.default_rng(seed)
    reason = _untestable(rows, space)
    curves = [_curve(rows, axis, rng, reason) for axis in axes]
    tested = [i for i, curve in enumerate(curves) if curve.p_value is not None]
    for i, p in zip(tested, holm([curves[i].p_value or 0.0 for i in tested]), strict=True):
        curves[i] = replace(curves[i], p_value=p)
    return tuple(curves)


def _untestable(rows: pd.DataFrame, space: Space | None) -> str:
    if space is not None and (space.max_submitted_bytes or space.max_submitted_descriptors):
        return "the cap on submitted work makes large values of one axis come with small ones of another"
    failures = int(failed(rows).sum())
    if failures < MIN_EXPLORED_FAILURES:
        return f"{failures} explored failures are too few; {MIN_EXPLORED_FAILURES} are needed"
    return ""


def _curve(rows: pd.DataFrame, axis: NumericAxis, rng: np.random.Generator, reason: str) -> RateCurve:
    x, fails = coordinates(rows, axis), failed(rows)
    ends = np.unique(np.quantile(x, np.linspace(0.0, 1.0, BINS + 1)))
    bins = np.clip(np.searchsorted(ends, x, side="right") - 1, 0, max(len(ends) - 2, 0))
    trials = np.bincount(bins, minlength=max(len(ends) - 1, 1))
    failures = np.bincount(bins, weights=fails, minlength=len(trials)).astype(np.int64)
    keep = trials > 0
    monotone = _isotonic(failures[keep], trials[keep])
    p_value = None if reason else _p_value(failures[keep], trials[keep], monotone, rng)
    return RateCurve(
        axis=axis.name,
        edges=tuple(float(axis.from_coordinate(float(end))) for end in ends),
        trials=tuple(trials.tolist()),
        failures=tuple(failures.tolist()),
        monotone_rates=tuple(float(rate) for rate in monotone),
        p_value=p_value,
        reason=reason,
    )


def _isotonic(failures: NDArray[np.int64], trials: NDArray[np.int64]) -> NDArray[np.float64]:
    fit = isotonic_regression(failures / trials, weights=trials.astype(np.float64))
    return np.asarray(np.clip(fit.x, 0.0, 1.0), dtype=np.float64)


def _log_likelihood(failures: NDArray[np.int64], trials: NDArray[np.int64], rates: NDArray[np.float64]) -> float:
    return float((xlogy(failures, rates) + xlogy(trials - failures, 1.0 - rates)).sum())


def _p_value(
    failures: NDArray[np.int64], trials: NDArray[np.int64], monotone: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Return the bootstrap p-value of the likelihood ratio of the free against the monotone rates."""

    def ratio(count: NDArray[np.int64], fit: NDArray[np.float64]) -> float:
        return _log_likelihood(count, trials, count / trials) - _log_likelihood(count, trials, fit)

    seen = ratio(failures, monotone)
    draws = rng.binomial(trials, monotone, size=(BOOTSTRAPS, len(trials)))
    as_large = sum(ratio(draw, _isotonic(draw, trials)) >= seen - 1e-12 for draw in draws)
    return (1 + as_large) / (BOOTSTRAPS + 1)
