"""Which factors does this failure need? One axis at a time around a failing trial: what to run, and the verdicts.

`Isolation` is a state machine without I/O: ask it for `next_probes`, run them, tell it the outcomes with `update`,
until it is `done`; `result` may be read at any time. It first measures how often the trial fails as it is, then tests
other values of every axis against that (`levels`). On numeric axes it goes on between values that disagree, down to a
resolution, and once between values that agree, so that no single boundary is taken for granted. The batch itself is a
factor, too: new seeds at the same point.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from cubisect.analysis.alternatives import BATCH_SHAPING, alternatives, between, feasible_at, moved
from cubisect.analysis.levels import Level, Role, Tried
from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.result import Result, amount, percent, plural
from cubisect.outcome import Outcome
from cubisect.space import AXES, NumericAxis, Point, Range, Scale, Value

BATCH = "batch"
"""Name of the factor that is the batch itself: other descriptors at the same point."""
BASELINE, LONG_BASELINE = 8, 24
"""Runs of the trial as it is: so many, and so many where they do not all end alike."""
MAX_LEVELS = 160
"""Values tried at most; the stated error is shared out over so many tests."""
MAX_PENDING = 4
"""Runs of one value at a time: with more, lanes run trials that a decided test no longer needs."""
RESOLUTION = {Scale.LOG2: 0.125, Scale.LINEAR: 0.02}
"""A boundary is narrowed down to this: an eighth of an octave, or 2 % of a linear axis."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One trial to run: `point`, with the failing trial's own seed, or with a new one where `new_batch`.

    `factor` and `value` say what it differs in; `factor` is empty for the trial as it is.
    """

    point: Point
    new_batch: bool
    factor: str = ""
    value: Value = ""


@dataclass(frozen=True, kw_only=True)
class Factor(Result):
    """One factor, the failing trial's `own` value of it, and its role.

    `transitions` are pairs (value with which trials fail, neighbouring value with which they do not) on a numeric axis.
    `reason` says why a factor was not tried or is left undecided.
    """

    name: str
    own: Value
    role: Role
    tried: tuple[Tried, ...] = ()
    transitions: tuple[tuple[float, float], ...] = ()
    reason: str = ""

    @property
    def answer(self) -> str:
        """The role, with what it rests on."""
        head = f"{self.name} = {self.own}: {self.role}"
        changes = [
            f"between {amount(self.name, min(pair))} and {amount(self.name, max(pair))}" for pair in self.transitions
        ]
        parts = [self.reason, *(tried.answer for tried in self.tried)]
        if changes:
            parts.append(f"the outcome changes {' and '.join(changes)}")
        return f"{head} ({'; '.join(part for part in parts if part)})"


@dataclass(frozen=True, kw_only=True)
class Isolated(Result):
    """All factors of one failing trial. `error` bounds the probability that any verdict is wrong."""

    baseline: Rate
    factors: tuple[Factor, ...]
    error: float
    trials: int

    def named(self, role: Role) -> list[str]:
        """Return the names of the factors with this role."""
        return [factor.name for factor in self.factors if factor.role is role]

    @property
    def answer(self) -> str:
        """What the failure needs."""
        if not self.baseline.failures:
            return f"Not isolated: the trial did not fail again. {self.baseline.answer}"
        roles = [role for role in Role if role is not Role.NOT_TRIED and self.named(role)]
        found = "; ".join(f"{role}: {', '.join(self.named(role))}" for role in roles)
        return f"{self.baseline.answer} {found} ({plural(self.trials, 'trial')}, error at most {percent(self.error)})."


class Isolation:
    """Plans the trials that isolate the factors of one failing trial, and judges them."""

    def __init__(
        self,
        point: Point,
        *,
        domains: Mapping[str, Range | tuple[Value, ...]] | None = None,
        error: float = 0.05,
        cap: int = 60,
        budget: int = 1500,
    ) -> None:
        """Start at the failing trial's `point`.

        `domains` narrows axes as `Space.varied` does (`ranks` to the GPUs that there are); `cap` bounds the runs of one
        value, `budget` those of all.
        """
        self._point, self._error, self._cap, self._left = point, error, cap, budget
        self._plans = alternatives(point, domains)
        self._baseline: Counter[str] = Counter()
        self._baseline_pending = 0
        self._levels: dict[str, list[Level]] = {}
        self._compared: set[tuple[str, Value, Value]] = set()

    # -- asking and telling --------------------------------------------------------------------------------------------

    def next_probes(self, count: int = 1) -> list[Probe]:
        """Return up to `count` trials to run next; none while all of them wait for results, or when `done`."""
        probes: list[Probe] = []
        while len(probes) < count and self._left > 0:
            probe = self._baseline_probe() if not self._levels else self._level_probe()
            if probe is None:
                break
            self._left -= 1
            probes.append(probe)
        return probes

    def update(self, probe: Probe, outcome: Outcome) -> None:
        """Tell how a probe that was asked for ended."""
        if not probe.factor:
            self._baseline_pending -= 1
            self._baseline[str(outcome)] += 1
            if not self._baseline_missing() and not self._baseline_pending and self._baseline_rate().failures:
                self._start()
            return
        level = next(level for level in self._levels[probe.factor] if level.value == probe.value)
        level.update(outcome)
        if not self._open() and not self._waiting():
            self._refine()

    @property
    def done(self) -> bool:
        """Whether no more trials will be asked for and all are told."""
        if self._baseline_pending or self._waiting():
            return False
        if self._left <= 0:
            return True
        return not self._open() if self._levels else not self._baseline_missing()

    def _baseline_probe(self) -> Probe | None:
        if self._baseline_missing() <= self._baseline_pending:
            return None
        self._baseline_pending += 1
        return Probe(point=self._point, new_batch=False)

    def _level_probe(self) -> Probe | None:
        """Return a run of the first open level that can use one, whether trials still fail before whether more do.

        Value after value, so that verdicts come early.
        """
        for name, level in sorted(self._open(), key=lambda entry: not entry[1].undecided):
            if level.pending < MAX_PENDING:
                level.pending += 1
                new_batch = name == BATCH or name in BATCH_SHAPING
                return Probe(point=level.point, new_batch=new_batch, factor=name, value=level.value)
        return None

    def _open(self) -> list[tuple[str, Level]]:
        return [(name, level) for name, levels in self._levels.items() for level in levels if level.open]

    def _waiting(self) -> bool:
        return any(level.pending for levels in self._levels.values() for level in levels)

    def _baseline_missing(self) -> int:
        rate = self._baseline_rate()
        wanted = LONG_BASELINE if 0 < rate.failures < rate.trials else BASELINE
        return max(wanted - self._baseline.total(), 0)

    def _baseline_rate(self) -> Rate:
        trials = self._baseline.total() - self._baseline[Outcome.INCONCLUSIVE]
        failures = trials - self._baseline[Outcome.OK]
        return Rate.of("the trial as it is", failures, trials, Sample.REPLICATES)

    # -- what to try ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._levels[BATCH] = [self._level(BATCH, "new seed")]
        for plan in self._plans:
            if plan.values:
                self._levels[plan.axis.name] = [self._level(plan.axis.name, value) for value in plan.values]

    def _level(self, name: str, value: Value) -> Level:
        point = self._point if name == BATCH else moved(self._point, name, value)
        return Level.at(value, point, baseline=self._baseline_rate(), error=self._error / MAX_LEVELS, cap=self._cap)

    def _refine(self) -> None:
        """Add the value between every two neighbours that disagree; where none is left, between those that agree."""
        if not self._add_between(agreeing=False):
            self._add_between(agreeing=True)

    def _add_between(self, *, agreeing: bool) -> bool:
        added = False
        for axis in (plan.axis for plan in self._plans if plan.axis.name in self._levels):
            if not isinstance(axis, NumericAxis):
                continue
            for low, high in self._neighbours(axis.name):
                middle = between(axis, low[0], high[0])
                alike = low[1] == high[1]
                if middle is None or alike is not agreeing or not self._worth_a_look(axis, low, high):
                    continue
                if agreeing:
                    self._compared |= {(axis.name, low[0], middle), (axis.name, middle, high[0])}
                if self._room() and feasible_at(self._point, axis.name, middle):
                    self._levels[axis.name].append(self._level(axis.name, middle))
                    added = True
        return added

    def _neighbours(self, name: str) -> list[tuple["_Known", "_Known"]]:
        """Return neighbouring values whose outcome is known, as pairs of (value, whether trials fail there)."""
        own: _Known = (getattr(self._point, name), True)
        known = sorted([own, *((level.value, level.still_fails) for level in self._levels[name])])
        return [(a, b) for a, b in pairwise(known) if None not in (a[1], b[1])]

    def _worth_a_look(self, axis: NumericAxis, low: "_Known", high: "_Known") -> bool:
        if low[1] == high[1]:
            return (axis.name, low[0], high[0]) not in self._compared
        gap = axis.to_coordinate(high[0]) - axis.to_coordinate(low[0])
        whole = 1.0 if axis.scale is Scale.LOG2 else axis.high - axis.low
        return gap > RESOLUTION[axis.scale] * whole

    def _room(self) -> bool:
        return sum(len(levels) for levels in self._levels.values()) < MAX_LEVELS

    # -- the verdicts --------------------------------------------------------------------------------------------------

    def result(self) -> Isolated:
        """Return what is known so far."""
        baseline = self._baseline_rate()
        spent = self._baseline.total() + sum(
            level.outcomes.total() + level.inconclusive for levels in self._levels.values() for level in levels
        )
        factors = [self._factor(plan.axis.name, plan.reason) for plan in self._plans]
        batch = Factor(name=BATCH, own="own seed", role=Role.NOT_TRIED, reason="the baseline is not done")
        if BATCH in self._levels:
            batch = self._judged(BATCH, "own seed")
        if batch.role is not Role.IRRELEVANT:
            factors = [_doubted(factor, batch.role) for factor in factors]
        return Isolated(baseline=baseline, factors=(batch, *factors), error=self._error, trials=spent)

    def _factor(self, name: str, reason: str) -> Factor:
        own = getattr(self._point, name)
        if name not in self._levels:
            return Factor(name=name, own=own, role=Role.NOT_TRIED, reason=reason or "the baseline is not done")
        return self._judged(name, own)

    def _judged(self, name: str, own: Value) -> Factor:
        levels = self._levels[name]
        roles = {level.role for level in levels}
        leading = [role for role in (Role.NEEDED, Role.AGGRAVATES, Role.UNDECIDED) if role in roles]
        transitions: list[tuple[float, float]] = []
        if isinstance(AXES.get(name), NumericAxis):
            levels = sorted(levels, key=lambda level: float(level.value))
            apart = [(a, b) for a, b in self._neighbours(name) if a[1] != b[1]]
            transitions = [(a[0], b[0]) if a[1] else (b[0], a[0]) for a, b in apart]
        return Factor(
            name=name,
            own=own,
            role=leading[0] if leading else Role.IRRELEVANT,
            tried=tuple(level.tried() for level in levels),
            transitions=tuple(transitions),
        )


_Known = tuple[Any, bool | None]


def _doubted(factor: Factor, batch: Role) -> Factor:
    """Return a batch-shaping factor that seems needed as undecided: its values were tried with other batches."""
    if factor.name not in BATCH_SHAPING or factor.role is not Role.NEEDED:
        return factor
    return replace(factor, role=Role.UNDECIDED, reason=f"tried with new batches, and the batch itself is {batch}")
