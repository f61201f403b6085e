"""The smallest trial that still fails in the same way.

First the axes go to their plainest values, then the explicit list of descriptors is cut down and made regular. On
every scale several points are tried from the plainest up, and the first that fails is taken: failures need not be
monotone, so a passing midpoint says nothing about what lies below it.

Moving an axis that shapes the batch draws another batch. Where other batches of the same point pass, the failure hangs
on this very list of descriptors: then no such axis is moved, and the list itself is cut down.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cubisect.analysis.rates import Rate
from cubisect.analysis.result import Result, plural
from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.reproduce.moves import Move, moved, moves, plain_values
from cubisect.reproduce.oracle import LONG_BASELINE, Answer, BudgetSpentError, Judge, Known, Oracle
from cubisect.reproduce.rows import plainer, without_pieces
from cubisect.space import AXES, Point, Value
from cubisect.trial import TrialSpec, derive_seed

RUNGS = 4
"""Points tried on a scale before the part between the last passing and the first failing one is looked at alone."""

ROUNDS = 6
"""All moves are tried again so often at most, for one may open the way for another."""

OTHER_BATCHES = 3
"""Where so many other batches of the same point pass, the failure hangs on the batch."""

FINAL_RUNS = 20
"""Fresh runs by which the rate of the result is measured."""

LEAST_BUDGET = FINAL_RUNS + LONG_BASELINE
"""Measuring the rate before and after takes so many runs."""

DEFAULT_BUDGET, DEFAULT_ERROR, DEFAULT_CAP = 3000, 0.02, 40
"""Runs in all; chance that one test errs, either way; most runs of one test."""


@dataclass(frozen=True, kw_only=True)
class Size(Result):
    """How large a trial is."""

    descriptors: int
    bytes: int
    repetition: int
    distinct_sizes: int
    departures: int

    @classmethod
    def of(cls, spec: TrialSpec) -> "Size":
        """Return the size of a trial; `departures` counts the axes that are not at their defaults."""
        sizes = spec.batch.sizes
        return cls(
            descriptors=len(sizes), bytes=int(sizes.sum()), repetition=spec.repetition,
            distinct_sizes=len(np.unique(sizes)), departures=len(_context(spec)),
        )  # fmt: skip

    @property
    def answer(self) -> str:
        """``40,960 descriptors of 1 size, 40,960 bytes, submitted 1 time, 0 other axes``."""
        return (
            f"{plural(self.descriptors, 'descriptor')} of {plural(self.distinct_sizes, 'size')}, {self.bytes:,} bytes, "
            f"submitted {plural(self.repetition, 'time')}, {self.departures} other axes not at their defaults"
        )


@dataclass(frozen=True, kw_only=True)
class Kept(Result):
    """Something that is left, and what happened when it was taken away."""

    what: str
    value: str
    reason: str

    @property
    def answer(self) -> str:
        """One line."""
        return f"{self.what} = {self.value}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class ShrinkResult(Result):
    """The smallest trial found. `rate` is of fresh runs of it; `complete` says that the budget sufficed."""

    spec: TrialSpec
    before: Size
    after: Size
    baseline: Rate
    rate: Rate
    trials: int
    kept: tuple[Kept, ...]
    complete: bool

    @property
    def answer(self) -> str:
        """Before, after, rate and cost."""
        cut = "" if self.complete else " (the budget ended it; run it again to go on)"
        return (
            f"{self.before.answer} → {self.after.answer}. {self.rate.answer} {plural(self.trials, 'trial')} spent{cut}."
        )


@dataclass(frozen=True, kw_only=True)
class ShrinkEvent:
    """One question answered: `step` is what was tried, `best` the smallest failing trial so far."""

    step: str
    answer: Answer
    best: TrialSpec
    trials: int


def shrink(
    spec: TrialSpec,
    signature: str | None,
    oracle: Oracle,
    *,
    known: Known | None = None,
    budget: int = DEFAULT_BUDGET,
    parallel: int = 1,
    error: float = DEFAULT_ERROR,
    cap: int = DEFAULT_CAP,
    on_event: Callable[[ShrinkEvent], None] = lambda _: None,
) -> ShrinkResult:
    """Return the smallest trial found that fails as `spec` does.

    Args:
        spec: The failing trial.
        signature: Key of the signature that must stay; None takes any failure of the API.
        oracle: Runs a trial so many times.
        known: Outcomes of earlier runs, added to in place; filled from the store, shrinking resumes.
        budget: Runs in all; the last `FINAL_RUNS` of them are kept for measuring the result.
        parallel: Runs asked of the oracle at a time.
        error: Probability that one test errs, either way.
        cap: Most runs of one test; what is undecided then is not taken away.
        on_event: Told of every question.

    Raises:
        InputError: the trial does not fail in this way again, so that there is nothing to shrink.
    """
    judge = Judge(
        oracle, signature, known={} if known is None else known, budget=budget - FINAL_RUNS, parallel=parallel,
        error=error, cap=cap,
    )  # fmt: skip
    if budget < LEAST_BUDGET:
        raise InputError(f"--budget {budget}: shrinking needs at least {LEAST_BUDGET} trials; try {DEFAULT_BUDGET}")
    baseline = judge.baseline(spec)
    if not baseline.failures:
        raise InputError(
            f"the trial did not fail in the same way in {plural(baseline.trials, 'run')}; find one that does by "
            "`bisect replay TRIAL --times 50`, or keep the GPU busy: --fix neighbours=2"
        )
    shrinker = _Shrinker(judge, spec, on_event)
    complete = shrinker.run()
    judge.allow(FINAL_RUNS)
    rate = shrinker.settled(baseline)
    return ShrinkResult(
        spec=shrinker.best, before=Size.of(spec), after=Size.of(shrinker.best), baseline=baseline, rate=rate,
        trials=judge.spent, kept=tuple(shrinker.kept()), complete=complete,
    )  # fmt: skip


class _Shrinker:
    def __init__(self, judge: Judge, spec: TrialSpec, on_event: Callable[[ShrinkEvent], None]) -> None:
        self._judge, self._on_event = judge, on_event
        self._history = [spec]
        self._refused: dict[str, str] = {}

    @property
    def best(self) -> TrialSpec:
        return self._history[-1]

    def run(self) -> bool:
        """Shrink as far as it goes; tell whether the budget sufficed."""
        try:
            if self.best.descriptors is None and not self._other_batches_fail():
                self._try_rows("descriptors", self.best.batch.descriptors, "the list itself, whatever drew it")
            self._shrink_axes()
            if self.best.descriptors is None:
                self._round_numbers()
            self._shrink_rows()
        except BudgetSpentError:
            return False
        return True

    def settled(self, baseline: Rate) -> Rate:
        """Return the rate of the best trial in fresh runs; one that turns out to be a rarity is given up."""
        while True:
            try:
                rate = self._judge.rate(self.best, FINAL_RUNS, fresh=True)
            except BudgetSpentError:
                return self._judge.rate(self.best, 0)
            if rate.interval.high >= baseline.rate / 2.0 or len(self._history) == 1:
                return rate
            self._history.pop()

    def kept(self) -> Iterator[Kept]:
        """Yield what is left with the reason why it could not go."""
        spec, sizes = self.best, len(np.unique(self.best.batch.sizes))
        left: dict[str, Value] = {"descriptor_count": len(spec.batch), "total_bytes": int(spec.sizes.sum())}
        if spec.repetition > 1:
            left["repetition"] = spec.repetition
        if spec.descriptors is not None and sizes > 1:
            left["sizes"] = sizes
        if spec.descriptors is None and spec.size_spread:
            left["size_spread"] = spec.size_spread
            if spec.size_mix != "uniform":
                left["size_mix"] = spec.size_mix
        for name, value in (left | _context(spec)).items():
            yield Kept(
                what=name, value=_short(value), reason=_least(left, name) or self._refused.get(name, "not tried")
            )

    # -- the axes ------------------------------------------------------------------------------------------------------

    def _other_batches_fail(self) -> bool:
        """Tell whether any of a few other batches of the same point fails like this one."""
        seeds = (derive_seed(self.best.seed, "other batch", k) for k in range(OTHER_BATCHES))
        return any(self._judge.ask(replace(self.best, seed=seed)).fails for seed in seeds)

    def _shrink_axes(self) -> None:
        for _ in range(ROUNDS):
            before = self.best
            self._plain_context()
            for name in [move.name for move in self._moves()]:
                move = next((m for m in self._moves() if m.name == name), None)
                if move is not None:
                    self._descend(move)
            if self.best == before:
                return

    def _moves(self) -> list[Move]:
        """Return the moves that are open: with a list of descriptors, those that leave it alone."""
        given = self.best.descriptors is not None
        return [move for move in moves(self.best.point) if not (given and move.name in _SHAPES_THE_BATCH)]

    def _plain_context(self) -> None:
        """Set all axes to their plainest values at once, or else one by one."""
        plain: dict[str, Value] = dict(plain_values(self.best.point))
        if len(plain) > 1 and self._try_point("all context axes", moved(self.best.point, **plain)):
            return
        for name, value in plain.items():
            self._try_point(name, moved(self.best.point, **{name: value}))

    def _descend(self, move: Move) -> None:
        """Take the plainest failing point of a scale, to within its resolution."""
        low, high, first = 0.0, move.length, True
        while high - low > move.resolution:
            rungs = [low + (high - low) * k / RUNGS for k in range(0 if first else 1, RUNGS)]
            first = False
            for rung in rungs:
                if self._try_point(move.name, move.at(rung)):
                    high = rung
                    break
                low = rung

    def _round_numbers(self) -> None:
        """Prefer a count and a total that a person can remember, up to a tenth larger."""
        if self.best.workload != "none":
            return
        for name in ("descriptor_count", "total_bytes"):
            value = getattr(self.best, name)
            for rounder in _rounder(value):
                if self._try_point(f"a round {name}", moved(self.best.point, **{name: rounder})):
                    break

    def _try_point(self, step: str, point: Point | None) -> bool:
        if point is None or point == self.best.point:
            return False
        changed = {name: value for name, value in point.values().items() if value != getattr(self.best, name)}
        return self._try(step, replace(self.best, **changed), ", ".join(f"{n} {_short(v)}" for n, v in changed.items()))

    # -- the list of descriptors ---------------------------------------------------------------------------------------

    def _shrink_rows(self) -> None:
        for _ in range(ROUNDS):
            without_pieces(self.best.batch.descriptors, lambda rows: self._try_rows("descriptor_count", rows))
            if len(np.unique(self.best.batch.sizes)) <= 2 or not self._plainer_rows():
                break
        self._halve_sizes()

    def _plainer_rows(self) -> bool:
        return any(self._try_rows("sizes", rows, what) for what, rows in plainer(self.best.batch.descriptors))

    def _halve_sizes(self) -> None:
        """Make every copy smaller, as long as there are only few sizes."""
        while self.best.descriptors is not None and int(self.best.sizes.max()) > 1:
            sizes = np.maximum(self.best.sizes // 4, 1)
            offsets = np.cumsum(sizes) - sizes
            if not self._try_rows("sizes", Descriptors(offsets, offsets, sizes), "all sizes a quarter"):
                return

    def _try_rows(self, step: str, rows: Descriptors, what: str = "") -> bool:
        text = what or f"{len(rows):,} of {len(self.best.batch):,} descriptors"
        return self._try(step, self._with_rows(rows), text)

    def _with_rows(self, rows: Descriptors) -> TrialSpec:
        """Return the best trial with other descriptors; the size axes then only describe them."""
        plain = {name: AXES[name].default for name in _DESCRIBED}
        described = {"descriptor_count": len(rows), "total_bytes": int(rows.sizes.sum())}
        attributes = min(self.best.attribute_count, len(rows))
        values: dict[str, Any] = {**plain, **described, "attribute_count": attributes, "descriptors": rows}
        return replace(self.best, **values)

    def _try(self, step: str, spec: TrialSpec, what: str) -> bool:
        answer = self._judge.ask(spec)
        if answer.fails:
            self._history.append(spec)
            self._refused.pop(step, None)
        else:
            self._refused[step] = f"{what}: {answer.text}"
        told = what if what.startswith(step) else f"{step}: {what}"
        self._on_event(ShrinkEvent(step=told, answer=answer, best=self.best, trials=self._judge.spent))
        return answer.fails


_SHAPES_THE_BATCH = frozenset(
    {"descriptor_count with total_bytes", "descriptor_count", "total_bytes", "size_spread", "size_floor", "size_cap",
     "alignment", "gap", "scale", "fragmentation"}
)  # fmt: skip
"""Moves that say nothing of a trial with a list of descriptors."""

_DESCRIBED = (
    "size_mix", "size_spread", "size_floor", "size_cap", "size_order", "layout", "alignment", "gap", "workload",
    "scale", "fragmentation",
)  # fmt: skip
"""Axes that a list of descriptors stands for."""


def _context(spec: TrialSpec) -> dict[str, Value]:
    """Return the axes not at their defaults, other than those that say how large the trial is."""
    sizes = {"descriptor_count", "total_bytes", "repetition", "size_mix", "size_spread"}
    return {name: value for name, value in spec.point.departures().items() if name not in sizes}


def _rounder(value: int) -> Iterator[int]:
    """Yield rounder numbers from `value` up to a tenth more: a power of two, two decimal digits."""
    power = 1 << (value - 1).bit_length()
    step = 10 ** max(len(str(value)) - 2, 0)
    for candidate in (power, -(-value // step) * step):
        if value < candidate <= 1.1 * value:
            yield candidate


def _short(value: Value) -> str:
    """Return a value as it is: what is kept must be what was submitted."""
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _least(left: Mapping[str, Value], name: str) -> str | None:
    """Return why a size cannot be any smaller, None where it could."""
    if name == "descriptor_count" and left[name] == 1:
        return "a batch has one copy at least"
    if name == "total_bytes" and left[name] == left["descriptor_count"]:
        return "one byte in each copy"
    return None
