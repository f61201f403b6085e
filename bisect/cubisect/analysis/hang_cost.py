"""What hangs cost: a trial that hangs is waited for until its deadline, and everything else soon takes less time."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cubisect.analysis.frame import is_in
from cubisect.analysis.result import Result, percent
from cubisect.outcome import Outcome

ROOM = 5.0
"""A shorter deadline must leave the slowest trial that ended so much room, for a busier moment than those seen."""

WORTH_IT = 2.0
"""A deadline that is not shorter by this factor is not worth a word."""


@dataclass(frozen=True, kw_only=True)
class HangCost(Result):
    """Seconds spent waiting for hangs, and the share of the time in all trials.

    `slowest_other_s` is the longest trial that ended by itself, None without one. `timeout_s` is a deadline for every
    trial that would have sufficed for it, None where it is hardly shorter than what hangs took; `saved_s` is what it
    would have saved.
    """

    hangs: int
    waited_s: float
    share: float
    slowest_other_s: float | None
    timeout_s: float | None
    saved_s: float

    @property
    def answer(self) -> str:
        """One sentence for people, with numbers."""
        if not self.hangs:
            return "No trial hung."
        plural = "hangs were" if self.hangs > 1 else "hang was"
        text = f"{self.hangs} {plural} waited for {self.waited_s:.3g} s, {percent(self.share)} of the time in trials."
        if self.timeout_s is None:
            return text
        return (
            f"{text} No other trial took longer than {self.slowest_other_s:.2g} s: --timeout {self.timeout_s:g} would "
            f"have saved {self.saved_s:.3g} s."
        )


def hang_cost(frame: pd.DataFrame) -> HangCost:
    """Return what the hangs among the trials of `frame` cost (columns `outcome`, `wall_s`)."""
    seconds = np.asarray(frame["wall_s"].astype("Float64").fillna(0.0), dtype=np.float64)
    hung = is_in(frame["outcome"], [Outcome.HANG])
    ended = ~hung & ~is_in(frame["outcome"], [Outcome.INCONCLUSIVE])
    slowest = float(seconds[ended].max()) if ended.any() else None
    timeout = _timeout_for(slowest, seconds[hung])
    return HangCost(
        hangs=int(hung.sum()),
        waited_s=float(seconds[hung].sum()),
        share=float(seconds[hung].sum() / seconds.sum()) if seconds.any() else 0.0,
        slowest_other_s=slowest,
        timeout_s=timeout,
        saved_s=0.0 if timeout is None else float(np.maximum(seconds[hung] - timeout, 0.0).sum()),
    )


def _timeout_for(slowest_s: float | None, hangs_s: NDArray[np.float64]) -> float | None:
    if slowest_s is None or len(hangs_s) == 0:
        return None
    timeout = round_up(max(ROOM * slowest_s, 0.1))
    return timeout if WORTH_IT * timeout <= float(hangs_s.mean()) else None


def round_up(seconds: float) -> float:
    """Return the next number of the series 1, 2, 5, 10, 20, …: easy to type."""
    decade = 10.0 ** np.floor(np.log10(seconds))
    step = next(step for step in (1.0, 2.0, 5.0, 10.0) if step * decade >= seconds * (1 - 1e-9))
    return float(round(step * decade, 9))
