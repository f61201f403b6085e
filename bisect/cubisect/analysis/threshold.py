"""Is it one threshold? How well a single cut through one quantity separates failing from passing trials.

Every varied numeric axis and every derived quantity of `features.FEATURES` is a candidate. A candidate is a stump: it
says "fails" on one side of a cut. Its merit is the balanced accuracy on trials that it was not fitted to (10 folds),
with a MOVER interval on Wilson limits (Donner and Zou, *Stat. Methods Med. Res.* 21, 2012). A rival is told apart from
the best one by the trials of which only one of the two is right: were the rival the truth, each of these would be a
chance outcome, and how common those can be is bounded by the trials on which the two agree (exact binomial, Holm).

A wrong "yes" costs more than "undecided". "Yes" needs all of: enough trials on both sides, held-out balanced accuracy
of at least `YES_ACCURACY`, not one counterexample, and every rival told apart or the same number by another name.
Replicates are left out: they repeat a batch and would be counted as evidence twice. "No" is withheld while a threshold
above which trials fail *by chance* fits the explored trials and the replicates of failures (Fisher's exact test).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta, binom, fisher_exact

from cubisect.analysis.frame import (
    explored,
    failed,
    failing_kinds,
    fresh_replicates,
    is_in,
    new_batches,
    numeric_axes,
    varied_axes,
    varies,
    with_features,
)
from cubisect.analysis.multiple import holm
from cubisect.analysis.rates import Interval
from cubisect.analysis.result import Result, amount, percent, plural
from cubisect.analysis.stump import Floats, Mask, balanced_accuracy, fit, folds_of, held_out_right
from cubisect.features import FEATURES
from cubisect.outcome import Outcome
from cubisect.space import AXES

YES_ACCURACY = 0.98
NO_ACCURACY = 0.98
"""Below this, with its whole interval, a candidate is refuted."""
MIN_EACH_SIDE = 20
"""Failing and passing batches without which the question stays open."""
SAME_NUMBER_OCTAVES = 0.1
"""Two quantities that differ by less than this (7 %) on the trials near the cut are one by another name."""
SIGNIFICANT = 0.05
"""Level of every test here, after Holm's correction."""
MIN_REPLICATES = 8
MOST_NAMED = 3
ANY = "any failure"


class Finding(StrEnum):
    """An answer to a question that can be answered with yes or no."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Candidate(Result):
    """One quantity and its best single threshold.

    `side` says where trials fail: `above` or `below` the cut. `low` and `high` are the neighbouring trials between
    which the cut lies, in the quantity's own unit. `missed` are failing trials on the passing side, `spared` passing
    trials on the failing side, of all trials; together they are the counterexamples.
    """

    quantity: str
    meaning: str
    side: str
    cut: float
    low: float
    high: float
    accuracy: float
    interval: Interval
    missed: int
    spared: int

    @property
    def counterexamples(self) -> int:
        """Trials on the wrong side of the cut."""
        return self.missed + self.spared

    @property
    def answer(self) -> str:
        """Where the cut is and how well it separates."""
        return (
            f"{self.quantity} {self.side} {amount(self.quantity, self.cut)} (between "
            f"{amount(self.quantity, self.low)} and {amount(self.quantity, self.high)}): "
            f"held-out balanced accuracy {percent(self.accuracy)} ({self.interval.answer}), "
            f"{plural(self.counterexamples, 'counterexample')}"
        )


@dataclass(frozen=True, kw_only=True)
class ThresholdAnswer(Result):
    """Whether one threshold explains a kind of failure.

    `best` is the candidate that is named; `same` are other names for the same number within this space; `rivals` are
    different quantities that the trials do not tell apart from it; `candidates` are all, best first.
    """

    kind: str
    finding: Finding
    reason: str
    failures: int
    passes: int
    best: Candidate | None
    same: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    @property
    def answer(self) -> str:
        """The finding in one sentence."""
        if self.best is None:
            return f"{self.kind}: undecided: {self.reason}."
        also = f" (the same number here: {', '.join(self.same)})" if self.same else ""
        if self.finding is Finding.YES:
            return f"{self.kind}: one threshold explains it: {self.best.answer}{also}."
        if self.finding is Finding.NO:
            return f"{self.kind}: no single threshold explains this; the best is {self.best.answer}."
        return f"{self.kind}: undecided: {self.reason}; the best is {self.best.answer}{also}."


def thresholds(frame: pd.DataFrame, *, seed: int = 0) -> tuple[ThresholdAnswer, ...]:
    """Return the answer for any failure and, where several kinds occur, for each kind.

    For one kind, trials of another failing kind are left out: a segfault hides the hang that might have come.
    """
    rows = with_features(new_batches(frame))
    kinds = failing_kinds(rows)
    table = _Table.of(rows)
    answers = [_answer(ANY, table, seed)]
    if len(kinds) > 1:
        answers += [_answer(str(kind), table.only([kind, Outcome.OK]), seed) for kind in kinds]
    by_chance = chancy_thresholds(frame) if any(a.finding is Finding.NO for a in answers) else ()
    return tuple(_withheld(answer, by_chance) if answer.finding is Finding.NO else answer for answer in answers)


def _withheld(answer: ThresholdAnswer, by_chance: tuple[str, ...]) -> ThresholdAnswer:
    """Return the "no" as undecided while a threshold beyond which trials fail by chance is not excluded."""
    if not by_chance:
        return answer
    names = ", ".join(by_chance[:MOST_NAMED]) + (" and others" if len(by_chance) > MOST_NAMED else "")
    reason = f"no single threshold separates, but one beyond which trials fail by chance is not excluded ({names})"
    return replace(answer, finding=Finding.UNDECIDED, reason=reason)


@dataclass(frozen=True)
class _Table:
    """Trials, whether they fail, and every candidate quantity with the order in which it sorts them."""

    rows: pd.DataFrame
    fails: Mask
    values: dict[str, Floats]
    order: dict[str, NDArray[np.int64]]

    @classmethod
    def of(cls, rows: pd.DataFrame) -> "_Table":
        values = {name: rows[name].to_numpy(dtype=np.float64) for name in candidate_quantities(rows)}
        order = {name: np.argsort(column, kind="stable") for name, column in values.items()}
        return cls(rows, failed(rows), values, order)

    def only(self, outcomes: Sequence[Outcome]) -> "_Table":
        """Return the trials with these outcomes; sorting is what takes time, so the order is taken over."""
        keep = is_in(self.rows["outcome"], outcomes)
        place = np.cumsum(keep) - 1
        values = {name: column[keep] for name, column in self.values.items()}
        order = {name: place[places[keep[places]]] for name, places in self.order.items()}
        return _Table(self.rows[keep], self.fails[keep], values, order)


def candidate_quantities(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the varied numeric axes and the features that take more than one value."""
    axes = [axis.name for axis in numeric_axes(varied_axes(rows))]
    return (*axes, *(name for name in FEATURES if name in rows and varies(rows[name])))


def _answer(kind: str, table: _Table, seed: int) -> ThresholdAnswer:
    fails = table.fails
    failures, passes = int(fails.sum()), int((~fails).sum())
    if failures == 0 or passes == 0 or not table.values:
        reason = "no trial failed" if not failures else "every trial failed" if not passes else "nothing was varied"
        return ThresholdAnswer(kind=kind, finding=Finding.UNDECIDED, reason=reason, failures=failures, passes=passes,
                               best=None)  # fmt: skip
    folds = folds_of(fails, seed)
    scored = [_scored(name, values, table.order[name], fails, folds) for name, values in table.values.items()]
    scored.sort(key=lambda s: (-s.candidate.accuracy, s.candidate.counterexamples))
    return _judged(kind, table.rows, fails, scored)


@dataclass(frozen=True)
class _Scored:
    """A candidate, and for every trial whether the candidate's cut says that it fails."""

    candidate: Candidate
    says_fail: Mask


def _scored(name: str, values: Floats, order: NDArray[np.int64], fails: Mask, folds: NDArray[np.int8]) -> _Scored:
    x, y, fold = values[order], fails[order], folds[order]
    right = np.empty_like(fails)
    right[order] = held_out_right(x, y, fold)
    full = fit(x, y)
    said = full.says_fail(values)
    accuracy, interval = balanced_accuracy(right[fails], right[~fails])
    candidate = Candidate(
        quantity=name,
        meaning=FEATURES.get(name) or AXES[name].help,
        side="above" if full.above else "below",
        cut=full.cut,
        low=full.low,
        high=full.high,
        accuracy=accuracy,
        interval=interval,
        missed=int((~said & fails).sum()),
        spared=int((said & ~fails).sum()),
    )
    return _Scored(candidate, said)


# -- the verdict -------------------------------------------------------------------------------------------------------


def _judged(kind: str, rows: pd.DataFrame, fails: Mask, scored: Sequence[_Scored]) -> ThresholdAnswer:
    tied = _not_told_apart(scored, fails)
    best = _simplest(tied)
    others = [s.candidate.quantity for s in tied if s is not best]
    same = tuple(name for name in others if _same_number(rows, best.candidate, name))
    rivals = tuple(name for name in others if name not in same)
    finding, reason = _finding(scored, best.candidate, rivals, fails)
    return ThresholdAnswer(
        kind=kind,
        finding=finding,
        reason=reason,
        failures=int(fails.sum()),
        passes=int((~fails).sum()),
        best=best.candidate,
        same=same,
        rivals=rivals,
        candidates=tuple(s.candidate for s in scored),
    )


def _not_told_apart(scored: Sequence[_Scored], fails: Mask) -> list[_Scored]:
    """Return the best candidate, and every other that could be the truth in its place.

    The best is the most accurate one without a counterexample; where every one has some, the most accurate of all.
    """
    clean = [s for s in scored if not s.candidate.counterexamples and s.candidate.accuracy >= YES_ACCURACY]
    leader = clean[0] if clean else scored[0]
    others = [s for s in scored if s is not leader]
    values = holm([_chance_of_rival(leader.says_fail, other.says_fail, fails) for other in others])
    return [leader, *(s for s, p in zip(others, values, strict=True) if p > SIGNIFICANT)]


def _chance_of_rival(leader: Mask, rival: Mask, fails: Mask) -> float:
    """Return how likely the leader would be right so often where the two disagree, were the rival the truth.

    Each such trial then ended against the truth, by chance. How often that happens is at most what the trials on which
    both agree allow: the upper 95 % bound, on the side where it is larger.
    """
    agree = leader == rival
    against = max(_upper_bound(fails[agree & ~leader]), _upper_bound(~fails[agree & leader]))
    right = int((~agree & (leader == fails)).sum())
    return float(binom.sf(right - 1, int((~agree).sum()), against))


def _upper_bound(hits: Mask) -> float:
    """Return the one-sided 95 % Clopper-Pearson bound of the share of hits."""
    count, trials = int(hits.sum()), len(hits)
    return 1.0 if count == trials else float(beta.ppf(0.95, count + 1, trials - count))


def _simplest(tied: Sequence[_Scored]) -> _Scored:
    """Return the leader, or of several without a counterexample an axis before a derived quantity."""
    names = [*AXES, *FEATURES]
    clean = [s for s in tied if not s.candidate.counterexamples]
    return min(clean, key=lambda s: names.index(s.candidate.quantity)) if clean else tied[0]


def _same_number(rows: pd.DataFrame, best: Candidate, other: str) -> bool:
    """Tell whether two quantities agree on the trials within an octave of the cut, so that both say the same there."""
    values = rows[best.quantity].to_numpy(dtype=np.float64)
    rival = rows[other].to_numpy(dtype=np.float64)
    if best.cut <= 0.0:
        return bool(np.array_equal(values, rival))
    near = (values > best.cut / 2.0) & (values < best.cut * 2.0)
    if not near.any() or (rival[near] <= 0.0).any():
        return False
    apart = np.abs(np.log2(rival[near] / values[near]))
    return bool(np.quantile(apart, 0.9) <= SAME_NUMBER_OCTAVES)


def _finding(scored: Sequence[_Scored], best: Candidate, rivals: Sequence[str], fails: Mask) -> tuple[Finding, str]:
    failures, passes = int(fails.sum()), int((~fails).sum())
    if min(failures, passes) < MIN_EACH_SIDE:
        return Finding.UNDECIDED, (
            f"{failures} failing and {passes} passing batches are too few; {MIN_EACH_SIDE} of each are needed"
        )
    clean = any(not s.candidate.counterexamples for s in scored)
    if max(s.candidate.interval.high for s in scored) < NO_ACCURACY and not clean:
        return Finding.NO, "the whole interval of every candidate is below what a single threshold would reach"
    if best.accuracy >= YES_ACCURACY and best.counterexamples == 0:
        if not rivals:
            return Finding.YES, "no counterexample, and every rival is told apart"
        return Finding.UNDECIDED, f"not told apart from {', '.join(rivals)}"
    return Finding.UNDECIDED, f"{plural(best.counterexamples, 'counterexample')} to the best candidate"


# -- a threshold above which trials fail by chance ---------------------------------------------------------------------


def chancy_thresholds(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the quantities of which a threshold with a constant chance of failing beyond it fits the trials.

    Beyond the outermost failure, explored trials must fail as often as the replicates of failing trials do. Empty
    where fewer than `MIN_REPLICATES` replicates were run, for then nothing is known of chance.
    """
    rows, even = with_features(new_batches(frame)), with_features(explored(frame))
    again = fresh_replicates(frame)
    failures = int(failed(again).sum())
    if len(again) < MIN_REPLICATES or failures == len(again):
        return ()
    fails, even_fails = failed(rows), failed(even)
    fitting = []
    for name in candidate_quantities(rows):
        values, even_values = rows[name].to_numpy(dtype=np.float64), even[name].to_numpy(dtype=np.float64)
        for beyond in (even_values >= values[fails].min(), even_values <= values[fails].max()):
            hits, trials = int(even_fails[beyond].sum()), int(beyond.sum())
            table = [[hits, trials - hits], [failures, len(again) - failures]]
            if fisher_exact(np.array(table)).pvalue > SIGNIFICANT:
                fitting.append(name)
    return tuple(dict.fromkeys(fitting))
