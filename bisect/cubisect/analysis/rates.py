"""How often do trials fail? Binomial rates with intervals, and of which sample each is.

Intervals are Wilson's (1927); where no trial failed, or every one did, Clopper and Pearson's (1934), which cover
with at least the stated confidence. Both come from `scipy.stats.binomtest`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from cubisect.analysis.frame import conclusive, explored, failed, is_in
from cubisect.analysis.result import Result, percent, plural
from cubisect.outcome import FAILURES
from cubisect.trial import Purpose

CONFIDENCE = 0.95


class Sample(StrEnum):
    """Which trials a rate is of, and so which chance it measures."""

    EXPLORED = "explored points, one new batch each"
    REPLICATES = "the same batches again: chance of the run"
    RESAMPLES = "new batches at the same points: chance of the batch"
    GIVEN = "trials chosen for another reason: no rate of the space"


@dataclass(frozen=True, kw_only=True)
class Interval(Result):
    """A confidence interval. `method` names how it was made."""

    low: float
    high: float
    confidence: float = CONFIDENCE
    method: str = "wilson"

    @property
    def answer(self) -> str:
        """``2.1 % to 4.4 %``."""
        return f"{percent(self.low)} to {percent(self.high)}"

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def proportion(
    count: int,
    trials: int,
    *,
    method: Literal["wilson", "exact"] = "wilson",
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the interval of a proportion; exact where `count` is 0 or `trials`; (0, 1) without trials."""
    if trials == 0:
        return Interval(low=0.0, high=1.0, confidence=confidence, method="no trials")
    chosen = "exact" if count in (0, trials) else method
    ci = binomtest(count, trials).proportion_ci(confidence_level=confidence, method=chosen)
    return Interval(low=float(ci.low), high=float(ci.high), confidence=confidence, method=chosen)


@dataclass(frozen=True, kw_only=True)
class Rate(Result):
    """A failure rate: `failures` of `trials`, with its interval and the sample it is of. `what` is what is counted."""

    what: str
    failures: int
    trials: int
    interval: Interval
    sample: Sample

    @classmethod
    def of(
        cls,
        what: str,
        failures: int,
        trials: int,
        sample: Sample,
        *,
        method: Literal["wilson", "exact"] = "wilson",
        confidence: float = CONFIDENCE,
    ) -> "Rate":
        """Return the rate with its interval."""
        interval = proportion(failures, trials, method=method, confidence=confidence)
        return cls(what=what, failures=failures, trials=trials, interval=interval, sample=sample)

    @property
    def rate(self) -> float:
        """The share of failing trials; NaN without trials."""
        return self.failures / self.trials if self.trials else float("nan")

    @property
    def answer(self) -> str:
        """The rate as a sentence; zero failures give the upper bound, not "safe"."""
        if not self.trials:
            return f"{self.what}: no rate, for there are none of these trials ({self.sample})."
        sure = percent(self.interval.confidence)
        if not self.failures:
            return (
                f"{self.what}: 0 of {plural(self.trials, 'trial')}, so a rate of at most "
                f"{percent(self.interval.high)} ({sure}); {self.sample}."
            )
        return (
            f"{self.what}: {self.failures:,} of {plural(self.trials, 'trial')}, {percent(self.rate)} "
            f"({sure}: {self.interval.answer}); {self.sample}."
        )


@dataclass(frozen=True, kw_only=True)
class Rates(Result):
    """Every failure rate of a campaign.

    `overall`, `by_outcome` and `by_signature` are of explored trials only. `elsewhere` counts failures of other trials
    per signature title: they exist, but say nothing about how often.
    """

    overall: Rate
    by_outcome: tuple[Rate, ...]
    by_signature: tuple[Rate, ...]
    replicates: Rate
    resamples: Rate
    elsewhere: dict[str, int]
    inconclusive: int

    @property
    def answer(self) -> str:
        """The overall rate."""
        return self.overall.answer


def failure_rates(frame: pd.DataFrame, *, confidence: float = CONFIDENCE) -> Rates:
    """Return the rates of a frame of trials."""
    even, every = explored(frame), conclusive(frame)
    kinds = sorted(str(kind) for kind in FAILURES)
    titles = every.loc[failed(every), "signature_title"].dropna().astype(str)
    rest = every[~every.index.isin(even.index)]
    rest_titles = rest.loc[failed(rest), "signature_title"].dropna().astype(str)

    def explored_rate(what: str, hits: int) -> Rate:
        return Rate.of(what, hits, len(even), Sample.EXPLORED, confidence=confidence)

    return Rates(
        overall=explored_rate("any failure", int(failed(even).sum())),
        by_outcome=tuple(explored_rate(kind, int(is_in(even["outcome"], [kind]).sum())) for kind in kinds),
        by_signature=tuple(
            explored_rate(title, int(is_in(even["signature_title"], [title]).sum()))
            for title in titles.value_counts().index
        ),
        replicates=_of_purpose(every, Purpose.REPLICATE, Sample.REPLICATES, confidence),
        resamples=_of_purpose(every, Purpose.RESAMPLE, Sample.RESAMPLES, confidence),
        elsewhere={str(title): int(count) for title, count in rest_titles.value_counts().items()},
        inconclusive=int(np.count_nonzero(is_in(frame["outcome"], ["inconclusive"]))),
    )


def _of_purpose(every: pd.DataFrame, purpose: Purpose, sample: Sample, confidence: float) -> Rate:
    rows = every[is_in(every["purpose"], [purpose])]
    return Rate.of(f"{purpose}s that fail", int(failed(rows).sum()), len(rows), sample, confidence=confidence)
