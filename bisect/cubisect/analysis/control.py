"""Is it the batch call? The same batches as ordered per-descriptor copies, paired, with an exact test.

A pair is one fresh run of a batch in one call and one as per-descriptor copies. A trial that was chosen because it
failed is no fresh run: with it, a fault of either method that comes by chance would look like the batch call's. Given
the pairs that end differently, each way round is equally likely if the method does not matter (McNemar's exact test),
whatever the batches' own failure rates are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from cubisect.analysis.frame import batch_key, failed, is_in
from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.result import Result, plural
from cubisect.analysis.stump import Mask
from cubisect.analysis.threshold import Finding
from cubisect.outcome import Outcome
from cubisect.trial import Method, Purpose

SIGNIFICANT = 0.05
NEEDED_PAIRS = 6
"""Six pairs that all end the same way round give p = 0.03; fewer can never be significant."""


@dataclass(frozen=True, kw_only=True)
class ControlPlan:
    """Run the batch of trial `parent` so many times each way, as purpose `control` with this parent."""

    parent: int
    runs: int


@dataclass(frozen=True, kw_only=True)
class Control(Result):
    """What paired runs say. `only_batch` and `only_copies` count the pairs in which one method alone failed."""

    finding: Finding
    pairs: int
    only_batch: int
    only_copies: int
    p_value: float
    batch: Rate
    copies: Rate

    @property
    def answer(self) -> str:
        """Whether the batch call is to blame."""
        if not self.pairs:
            return "Undecided whether it is the batch call: no batch was run both ways; run `bisect control`."
        counts = (
            f"{self.batch.failures} of {self.batch.trials} fresh batch calls and {self.copies.failures} of "
            f"{self.copies.trials} per-descriptor runs of the same batches failed"
        )
        test = f"{plural(self.pairs, 'pair')}, McNemar's exact p = {self.p_value:.2g}"
        if self.finding is Finding.YES:
            return f"It is the batch call: {counts} ({test})."
        if self.finding is Finding.NO:
            return f"It is not the batch call alone: {counts} ({test})."
        return f"Undecided whether it is the batch call: {counts} ({test}); run `bisect control`."


def control_effect(frame: pd.DataFrame) -> Control:
    """Return what the recorded controls say."""
    rows = _usable(frame)
    batch, copies, both = _paired(rows)
    only_batch, only_copies = int((both[:, 0] & ~both[:, 1]).sum()), int((~both[:, 0] & both[:, 1]).sum())
    apart = only_batch + only_copies
    p_value = float(binomtest(only_batch, apart).pvalue) if apart else 1.0
    return Control(
        finding=_finding(p_value, only_batch, only_copies, copies.failures),
        pairs=len(both),
        only_batch=only_batch,
        only_copies=only_copies,
        p_value=p_value,
        batch=batch,
        copies=copies,
    )


def _usable(frame: pd.DataFrame) -> pd.DataFrame:
    tainted = frame["tainted"].astype("boolean").fillna(value=False).to_numpy(dtype=np.bool_)
    good = ~is_in(frame["outcome"], [Outcome.INCONCLUSIVE]) & ~tainted
    return frame[good & is_in(frame["purpose"], [Purpose.CONTROL, Purpose.REPLICATE]) & frame["parent"].notna()]


def _paired(rows: pd.DataFrame) -> tuple[Rate, Rate, Mask]:
    """Return both rates over the batches run both ways, and the pairs (batch failed, copies failed)."""
    copied = rows.loc[is_in(rows["method"], [Method.PERCOPY]), "parent"]
    rows = rows[is_in(rows["parent"], copied)]
    fails = pd.Series(failed(rows), index=rows.index)
    one_call = is_in(rows["method"], [Method.BATCH])
    batch, copies, pairs = [], [], []
    for _, group in fails.groupby(rows["parent"].astype("Int64")):
        mine = one_call[rows.index.get_indexer(group.index)]
        a, b = group[mine].to_numpy(), group[~mine].to_numpy()
        if not len(b):
            continue
        batch.append(a)
        copies.append(b)
        pairs.append(np.stack([a[: len(b)], b[: len(a)]], axis=1))
    both = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.bool_)
    return _rate("batch calls", batch), _rate("per-descriptor runs", copies), both


def _rate(what: str, groups: Sequence[Mask]) -> Rate:
    hits = np.concatenate(groups) if groups else np.empty(0, dtype=np.bool_)
    return Rate.of(what, int(hits.sum()), len(hits), Sample.REPLICATES)


def _finding(p_value: float, only_batch: int, only_copies: int, copies_failed: int) -> Finding:
    if p_value <= SIGNIFICANT and only_batch > only_copies:
        return Finding.YES
    return Finding.NO if copies_failed and only_copies >= only_batch else Finding.UNDECIDED


def plan_control(frame: pd.DataFrame, budget: int) -> list[ControlPlan]:
    """Return which failing batches to run both ways with `budget` trials: each signature once, the latest failure.

    Each plan costs twice its `runs`.
    """
    failing = frame[failed(frame) & is_in(frame["method"], [Method.BATCH]) & is_in(frame["purpose"], [Purpose.SEARCH])]
    chosen = failing.assign(batch=batch_key(failing)).drop_duplicates("signature", keep="last")
    chosen = chosen.head(max(budget // (2 * NEEDED_PAIRS), 1))
    runs = budget // (2 * len(chosen)) if len(chosen) else 0
    return [ControlPlan(parent=int(number), runs=runs) for number in chosen["batch"]] if runs else []
