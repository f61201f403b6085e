"""What changed between two campaigns? Failure rates per region, with the interval of their difference.

Regions come from both campaigns. A region found in one campaign was chosen because that campaign fails there, so that
campaign answers with its held-out trials only; the other answers with all of its trials inside. The interval of the
difference is Newcombe's (*Statistics in Medicine* 17, 1998, method 10, from Wilson limits); the test is Fisher's exact,
Holm-corrected over the regions. "Unchanged" needs the whole interval within `EQUIVALENT`; no difference seen is not it.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from cubisect.analysis.frame import explored, failed, is_in, mapping
from cubisect.analysis.multiple import holm
from cubisect.analysis.rates import Interval, Rate, Sample, proportion
from cubisect.analysis.regions import regions
from cubisect.analysis.result import Result, percent
from cubisect.analysis.rules import Rule
from cubisect.analysis.stump import Mask
from cubisect.analysis.threshold import ANY

EQUIVALENT = 0.15
SIGNIFICANT = 0.05


class Change(StrEnum):
    """What happened to a region from the first campaign to the second."""

    FIXED = "fixed"
    NEW = "new"
    LESS = "fails less often"
    MORE = "fails more often"
    UNCHANGED = "unchanged"
    NOT_ENOUGH = "not enough data"


@dataclass(frozen=True, kw_only=True)
class RegionChange(Result):
    """One region in both campaigns. `difference` is of the second rate less the first, `p_value` is corrected."""

    region: str
    kind: str
    change: Change
    before: Rate
    after: Rate
    difference: Interval
    p_value: float

    @property
    def answer(self) -> str:
        """The change with both rates."""
        low, high = self.difference.low, self.difference.high
        return (
            f"{self.change}: {self.kind} where {self.region}: {self.before.failures} of {self.before.trials} before, "
            f"{self.after.failures} of {self.after.trials} after; difference {_signed(low)} to {_signed(high)} "
            f"(95 %, corrected p = {self.p_value:.2g})"
        )


@dataclass(frozen=True, kw_only=True)
class Comparison(Result):
    """Every region of either campaign, and the explored rates of the whole spaces."""

    overall: RegionChange
    changes: tuple[RegionChange, ...]

    @property
    def any_new(self) -> bool:
        """Whether a region fails in the second campaign that did not in the first, or fails more often."""
        return any(change.change in {Change.NEW, Change.MORE} for change in (self.overall, *self.changes))

    @property
    def answer(self) -> str:
        """All changes."""
        return "; ".join(change.answer for change in (self.overall, *self.changes)) + "."


def compare(before: pd.DataFrame, after: pd.DataFrame, *, same_space: bool = True, seed: int = 0) -> Comparison:
    """Return what changed from one campaign's frame to the other's.

    Say `same_space` false where the campaigns explored different spaces: their overall rates are then of different
    things, and only the regions are judged.
    """
    sides = [("before", rule) for rule in regions(before, seed=seed).rules]
    sides += [("after", rule) for rule in regions(after, seed=seed).rules]
    names = [("all explored points", ANY), *((rule.text, rule.kind) for _, rule in sides)]
    pairs = [(_explored(before), _explored(after)), *(_rates(rule, side, before, after) for side, rule in sides)]
    p_values = holm([_p_value(*pair) for pair in pairs])
    overall, *changes = [_change(*name, *pair, p) for name, pair, p in zip(names, pairs, p_values, strict=True)]
    if not same_space:
        overall = replace(overall, change=Change.NOT_ENOUGH, region="all explored points, of different spaces")
    return Comparison(overall=overall, changes=tuple(changes))


def _rates(rule: Rule, side: str, before: pd.DataFrame, after: pd.DataFrame) -> tuple[Rate, Rate]:
    other = after if side == "before" else before
    rows = mapping(other)
    rows = rows[_known(rule, rows) & rule.contains(rows)] if len(rows) else rows
    rate = Rate.of(rule.kind, int(is_in(rows["outcome"], [rule.kind]).sum()), len(rows), Sample.GIVEN)
    return (rule.rate, rate) if side == "before" else (rate, rule.rate)


def _known(rule: Rule, rows: pd.DataFrame) -> Mask:
    """Tell for which rows every quantity of the rule is recorded."""
    names = [condition.name for condition in rule.conditions]
    return np.asarray(rows[names].notna().all(axis=1), dtype=np.bool_)


def _explored(frame: pd.DataFrame) -> Rate:
    rows = explored(frame)
    return Rate.of(ANY, int(failed(rows).sum()), len(rows), Sample.EXPLORED)


def _p_value(before: Rate, after: Rate) -> float:
    table = [[r.failures, r.trials - r.failures] for r in (before, after)]
    return float(fisher_exact(np.array(table)).pvalue)


def _change(region: str, kind: str, before: Rate, after: Rate, p_value: float) -> RegionChange:
    difference = newcombe(before.failures, before.trials, after.failures, after.trials)
    return RegionChange(
        region=region,
        kind=kind,
        change=_verdict(before, after, difference, p_value),
        before=before,
        after=after,
        difference=difference,
        p_value=p_value,
    )


def newcombe(failures_a: int, trials_a: int, failures_b: int, trials_b: int) -> Interval:
    """Return the 95 % interval of the second rate less the first; (-1, 1) where one has no trials."""
    if not trials_a or not trials_b:
        return Interval(low=-1.0, high=1.0, method="no trials")
    a, b = failures_a / trials_a, failures_b / trials_b
    of_a, of_b = proportion(failures_a, trials_a), proportion(failures_b, trials_b)
    return Interval(
        low=max(b - a - math.hypot(b - of_b.low, of_a.high - a), -1.0),
        high=min(b - a + math.hypot(of_b.high - b, a - of_a.low), 1.0),
        method="newcombe",
    )


def _verdict(before: Rate, after: Rate, difference: Interval, p_value: float) -> Change:
    if p_value <= SIGNIFICANT:
        if after.rate < before.rate:
            return Change.LESS if after.failures else Change.FIXED
        return Change.MORE if before.failures else Change.NEW
    if difference.low >= -EQUIVALENT and difference.high <= EQUIVALENT:
        return Change.UNCHANGED
    return Change.NOT_ENOUGH


def _signed(value: float) -> str:
    return f"{'−' if value < 0.0 else '+'}{percent(abs(value))}"
