"""How often does each setting fail that was asked for by name, and several times over?

A campaign may list points to be tried first, each so many times (`[[enqueue]]` with `times`): a preset by one, two and
four ranks, a transfer in calls of several lengths. Such a comparison was planned before any outcome was known, so its
rates are sound, each for its own setting. The intervals hold all at once (Bonferroni).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from cubisect.analysis.frame import conclusive, failed, is_in, varied_axes
from cubisect.analysis.rates import CONFIDENCE, Rate, Sample
from cubisect.analysis.result import Result, amount
from cubisect.outcome import FAILURES
from cubisect.space import Value
from cubisect.trial import Method, Origin

ENOUGH_TRIALS = 5
"""A setting that was tried less often than this is a point of the search, not a comparison."""


@dataclass(frozen=True, kw_only=True)
class Setting(Result):
    """One setting: the axes in which it differs from the others, its outcomes, and its controls.

    `controls` counts runs of its batches as one copy per descriptor, `control_failures` those of them that failed.
    """

    axes: dict[str, Value]
    outcomes: dict[str, int]
    rate: Rate
    controls: int
    control_failures: int

    @property
    def name(self) -> str:
        """``ranks 4, neighbours 1``."""
        shown = (amount(n, v) if isinstance(v, int | float) else str(v) for n, v in self.axes.items())
        return ", ".join(f"{name} {value}" for name, value in zip(self.axes, shown, strict=True))

    @property
    def answer(self) -> str:
        """The setting with its rate."""
        return f"{self.name}: {self.rate.answer}"


@dataclass(frozen=True, kw_only=True)
class Settings(Result):
    """Every setting that was tried often enough, in the order in which they were first tried."""

    settings: tuple[Setting, ...]

    @property
    def answer(self) -> str:
        """How many settings fail, and which fails most."""
        if not self.settings:
            return "No setting was tried several times on purpose."
        failing = [setting for setting in self.settings if setting.rate.failures]
        if not failing:
            return f"None of {len(self.settings)} settings failed."
        worst = max(failing, key=lambda setting: setting.rate.rate)
        return f"{len(failing)} of {len(self.settings)} settings fail; most often {worst.answer}"


def settings(frame: pd.DataFrame, *, confidence: float = CONFIDENCE) -> Settings:
    """Return the settings of a frame of trials, those that differ by an axis and were listed `ENOUGH_TRIALS` times."""
    listed = frame.loc[conclusive(frame).index]  # with the axes as asked for, not as a workload then turned out
    listed = listed[is_in(listed["origin"], [Origin.ENQUEUED])]
    axes = list(varied_axes(listed))
    groups = list(_groups(listed, axes))
    level = 1.0 - (1.0 - confidence) / max(len(groups), 1)
    return Settings(settings=tuple(_setting(frame, axes, group, level) for group in groups))


def _groups(listed: pd.DataFrame, axes: list[str]) -> Iterator[pd.DataFrame]:
    if listed.empty:
        return
    parts = (part for _, part in listed.groupby(axes, sort=False)) if axes else iter([listed])
    yield from (part for part in parts if len(part) >= ENOUGH_TRIALS)


def _setting(frame: pd.DataFrame, axes: list[str], group: pd.DataFrame, confidence: float) -> Setting:
    first = group.iloc[0]
    values = {name: first[name].item() if hasattr(first[name], "item") else first[name] for name in axes}
    counts = group["outcome"].astype(str).value_counts()
    own = is_in(frame["parent"], group["number"].tolist()) & is_in(frame["method"], [Method.PERCOPY])
    controls = frame[own & ~is_in(frame["outcome"], ["inconclusive"])]
    return Setting(
        axes=values,
        outcomes={str(outcome): int(count) for outcome, count in counts.items()},
        rate=Rate.of("any failure", int(failed(group).sum()), len(group), Sample.RESAMPLES, confidence=confidence),
        controls=len(controls),
        control_failures=int(is_in(controls["outcome"], FAILURES).sum()),
    )
