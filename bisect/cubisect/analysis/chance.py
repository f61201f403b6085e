"""Two kinds of chance: the batch that the seed drew, and the run of one batch.

Take a trial that ended in some way. A *replicate* (the same batch again) agrees with it with probability *a*, a
*resample* (a new batch at the same point) with probability *b*. With p the failure probability of a batch, drawn at a
point, *a* is E[p²]/E[p] for a trial that failed and *b* is E[p], so

    (a − b) / (1 − b)  =  Var(p) / (E[p](1 − E[p])),

the share of the variance at the point that is the batch's: the intraclass correlation of two runs of one batch. It is
not biased by the trial having been chosen *because* it failed, which the plain variance of replicates would be. The
interval is a percentile bootstrap over the trials repeated (Efron and Tibshirani, 1993).
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from cubisect.analysis.frame import failed, is_in, mapping
from cubisect.analysis.rates import Interval, Rate, Sample
from cubisect.analysis.result import Result, percent, plural
from cubisect.analysis.stump import Floats
from cubisect.trial import Purpose

MIN_GROUPS = 5
"""Trials with both replicates and resamples without which the split stays open."""
BOOTSTRAPS = 2000


class Source(StrEnum):
    """Where the chance in outcomes comes from."""

    RUN = "mostly the run"
    BATCH = "mostly the batch"
    BOTH = "both, or not told apart"
    NONE = "none seen"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Chance(Result):
    """How the chance at a point splits.

    `run` counts replicates that ended differently from the trial that they repeat, `batch` resamples that did.
    `batch_share` is the batch's share of the variance, with `interval`; None where it cannot be said. `groups` is the
    number of trials that have both kinds of repeats.
    """

    source: Source
    run: Rate
    batch: Rate
    groups: int
    batch_share: float | None
    interval: Interval | None

    @property
    def answer(self) -> str:
        """Where the chance comes from, with numbers."""
        runs = f"{self.run.failures} of {plural(self.run.trials, 'replicate')} ended differently"
        batches = f"{self.batch.failures} of {plural(self.batch.trials, 'resample')}"
        if self.source is Source.UNDECIDED:
            return (
                f"Run and batch cannot be told apart yet: {runs} and {batches}, on {plural(self.groups, 'trial')} with "
                f"both; {MIN_GROUPS} are needed."
            )
        if self.source is Source.NONE or self.batch_share is None or self.interval is None:
            return (
                f"No chance seen: {runs} (at most {percent(self.run.interval.high)}) and {batches} "
                f"(at most {percent(self.batch.interval.high)})."
            )
        return (
            f"Chance: {self.source}: {percent(self.batch_share)} of the variance at a point is the batch's "
            f"(95 %: {self.interval.answer}); {runs}, {batches}."
        )


def chance(frame: pd.DataFrame, *, seed: int = 0) -> Chance:
    """Return how replicates and resamples split the chance at a point."""
    groups = _agreements(frame)
    run = _disagreement("replicates that ended differently", groups, "replicate", Sample.REPLICATES)
    batch = _disagreement("resamples that ended differently", groups, "resample", Sample.RESAMPLES)
    both = groups[(groups["replicate_trials"] > 0) & (groups["resample_trials"] > 0)]
    share, interval = _batch_share(both, seed)
    return Chance(
        source=_source(run, batch, len(both), interval),
        run=run,
        batch=batch,
        groups=len(both),
        batch_share=share,
        interval=interval,
    )


def _agreements(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per repeated trial: how many of its replicates and resamples there are, and how many agree."""
    rows = mapping(frame)
    outcome = pd.Series(failed(rows), index=rows["number"].to_numpy())
    repeats = rows[rows["parent"].isin(outcome.index)]
    parents = repeats["parent"].to_numpy(dtype=np.int64)
    agrees = failed(repeats) == outcome.loc[parents].to_numpy()
    counts = {}
    for purpose in (Purpose.REPLICATE, Purpose.RESAMPLE):
        own = is_in(repeats["purpose"], [purpose])
        counts[f"{purpose}_trials"] = pd.Series(own.astype(np.int64)).groupby(parents).sum()
        counts[f"{purpose}_agree"] = pd.Series((own & agrees).astype(np.int64)).groupby(parents).sum()
    return pd.DataFrame(counts)


def _disagreement(what: str, groups: pd.DataFrame, kind: str, sample: Sample) -> Rate:
    trials = int(groups[f"{kind}_trials"].sum())
    return Rate.of(what, trials - int(groups[f"{kind}_agree"].sum()), trials, sample)


def _batch_share(both: pd.DataFrame, seed: int) -> tuple[float | None, Interval | None]:
    """Return the intraclass correlation and its bootstrap interval, None where nothing varied or there are too few."""
    if len(both) < MIN_GROUPS:
        return None, None
    same = (both["replicate_agree"] / both["replicate_trials"]).to_numpy()
    other = (both["resample_agree"] / both["resample_trials"]).to_numpy()
    if same.mean() == 1.0 and other.mean() == 1.0:
        return None, None
    picks = np.random.default_rng(seed).integers(len(both), size=(BOOTSTRAPS, len(both)))
    a, b = same[picks].mean(axis=1), other[picks].mean(axis=1)
    shares = _shares(a[b < 1.0], b[b < 1.0])
    if not len(shares) or other.mean() == 1.0:
        return 0.0, Interval(low=0.0, high=1.0, method="bootstrap over trials")
    low, high = np.quantile(shares, [0.025, 0.975])
    interval = Interval(low=float(low), high=float(high), method="bootstrap over trials")
    return float(_shares(same.mean(keepdims=True), other.mean(keepdims=True))[0]), interval


def _shares(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.clip((a - b) / (1.0 - b), 0.0, 1.0), dtype=np.float64)


def _source(run: Rate, batch: Rate, groups: int, interval: Interval | None) -> Source:
    if groups < MIN_GROUPS:
        return Source.UNDECIDED
    if interval is None or (run.failures == 0 and batch.failures == 0):
        return Source.NONE
    if interval.low > 0.5:
        return Source.BATCH
    return Source.RUN if interval.high < 0.5 else Source.BOTH
