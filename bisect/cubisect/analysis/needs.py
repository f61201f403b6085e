"""What does every failure need? Conditions without which no trial failed, checked on trials that never chose them.

A region says where failures are common. What a caller needs first is the other side: a bound under which nothing fails,
although not everything above it does. Half of the batches give, for every axis and derived quantity, the lowest and the
highest value of a failing trial; the bound that leaves the most passing batches outside is taken, then the next among
those still inside, as long as each leaves out a good share. The other half says how many trials outside do fail.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from cubisect.analysis.frame import batch_key, failed, mapping, numeric_axes, varied_axes, varies, with_features
from cubisect.analysis.multiple import holm
from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.result import Result
from cubisect.analysis.rules import Condition, round_between
from cubisect.features import FEATURES

MIN_FAILING = 10
"""Failing batches in the half that chooses, without which their extremes say little."""
MIN_SHARE = 0.1
"""A condition that leaves out a smaller share of the passing batches is not worth a line, and may be chance."""
MOST = 3
SIGNIFICANT = 0.05

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Need(Result):
    """One condition, judged among held-out trials that meet the conditions before it.

    `outside` is the failure rate of those that do not meet it, `inside` of those that do. `confirmed` says that the
    latter fail more often (Fisher's exact test, Holm-corrected over the conditions).
    """

    condition: Condition
    outside: Rate
    inside: Rate
    confirmed: bool

    @property
    def answer(self) -> str:
        """The condition, and what the held-out trials say of it."""
        without, within = self.outside, self.inside
        sure = "" if self.confirmed else " (not confirmed)"
        bound = f"{without.failures} of {without.trials:,} (at most {100 * without.interval.high:.2g} %)"
        return (
            f"{self.condition.answer}: of held-out trials without it {bound} failed, with it {within.failures} of "
            f"{within.trials:,}{sure}"
        )


@dataclass(frozen=True, kw_only=True)
class Needs(Result):
    """The conditions, in the order in which they were found."""

    needs: tuple[Need, ...]

    @property
    def confirmed(self) -> tuple[Need, ...]:
        """Those that held-out trials confirm."""
        return tuple(need for need in self.needs if need.confirmed)

    @property
    def answer(self) -> str:
        """The confirmed conditions in one sentence each."""
        if not self.confirmed:
            return "What failures need: nothing that held-out trials confirm."
        return "Failures need " + "; and ".join(need.answer for need in self.confirmed) + "."


def needs(frame: pd.DataFrame, *, seed: int = 0) -> Needs:
    """Return what every failure of a frame of trials needs; the same for the same frame and seed."""
    rows = with_features(mapping(frame))
    chooses = _half(rows, seed)
    conditions = list(_conditions(rows[chooses]))
    return Needs(needs=_judged(conditions, rows[~chooses]))


def _half(rows: pd.DataFrame, seed: int) -> Mask:
    """Tell which rows choose the conditions; all trials of one batch go together."""
    keys, index = np.unique(batch_key(rows), return_inverse=True)
    chosen = np.random.default_rng(seed).permutation(len(keys)) % 2 == 0
    return np.asarray(chosen[index], dtype=np.bool_)


def _conditions(rows: pd.DataFrame) -> Iterator[Condition]:
    names = [axis.name for axis in numeric_axes(varied_axes(rows))]
    names += [name for name in FEATURES if name not in names and varies(rows[name])]
    bad, batch = failed(rows), batch_key(rows)
    passing = len(set(batch[~bad]) - set(batch[bad]))
    inside = np.ones(len(rows), dtype=np.bool_)
    for _ in range(MOST):
        if len(set(batch[bad])) < MIN_FAILING:
            return
        found = max(
            (cut for name in names for cut in _cuts(name, rows[name].to_numpy(dtype=np.float64), bad, batch, inside)),
            key=lambda cut: cut[0],
            default=(0, None),
        )
        left_out, condition = found
        if condition is None or left_out < MIN_SHARE * passing:
            return
        yield condition
        inside &= condition.holds(rows)


def _cuts(
    name: str, values: Floats, bad: Mask, batch: NDArray[np.int64], inside: Mask
) -> Iterator[tuple[int, Condition]]:
    """Yield the lower and the upper bound that no failing trial crosses, with how many passing batches each leaves out.

    A bound lies at the roundest number between the last failing trial and the first passing one beyond it.
    """
    least, most = float(values[bad].min()), float(values[bad].max())
    below, above = inside & (values < least), inside & (values > most)
    if below.any():
        low = round_between(float(values[below].max()), least)
        yield len(set(batch[below])), Condition(name=name, low=low)
    if above.any():
        high = -round_between(-float(values[above].min()), -most)
        yield len(set(batch[above])), Condition(name=name, high=high)


def _judged(conditions: list[Condition], rows: pd.DataFrame) -> tuple[Need, ...]:
    inside, bad = np.ones(len(rows), dtype=np.bool_), failed(rows)
    rates, chances = [], []
    for condition in conditions:
        holds = condition.holds(rows)
        without = _rate(f"without {condition.answer}", bad[inside & ~holds])
        inside &= holds
        within = _rate(f"with {condition.answer}", bad[inside])
        rates.append((condition, without, within))
        table = np.array([[r.failures, r.trials - r.failures] for r in (within, without)])
        chances.append(float(fisher_exact(table, alternative="greater").pvalue))
    return tuple(
        Need(condition=condition, outside=without, inside=within, confirmed=p <= SIGNIFICANT)
        for (condition, without, within), p in zip(rates, holm(chances), strict=True)
    )


def _rate(what: str, bad: Mask) -> Rate:
    return Rate.of(what, int(bad.sum()), len(bad), Sample.GIVEN, method="exact")
