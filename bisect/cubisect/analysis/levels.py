"""One value of one factor, tried at a failing trial: the tests on it and the role that they give the factor."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.result import Result
from cubisect.analysis.sequential import SequentialTest, SequentialVerdict
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import Point, Value

STILL, GONE = 0.7, 0.1
"""Shares of the baseline rate: a rate at which trials still fail, and one at which the failure is gone. A value between
the two may be given either role."""
OFTEN = 0.65
"""Where the baseline may fail more often than this, nothing is tested for aggravating: it would take too many runs."""
GIVE_UP = 3
"""Inconclusive runs of one value after which it is left undecided."""


class Role(StrEnum):
    """What a factor is to the failure."""

    NEEDED = "needed"
    AGGRAVATES = "aggravates"
    IRRELEVANT = "irrelevant"
    UNDECIDED = "undecided"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, kw_only=True)
class Tried(Result):
    """One value of a factor, how often trials fail with it, with which outcomes, and the role that this shows."""

    value: Value
    role: Role
    rate: Rate
    outcomes: dict[str, int]

    @property
    def answer(self) -> str:
        """``d2h fails 0 of 11``."""
        return f"{self.value} fails {self.rate.failures} of {self.rate.trials}"


@dataclass(kw_only=True)
class Level:
    """The running test of one value.

    `gone` decides whether trials still fail; `worse` whether they fail more often than the baseline, None where the
    baseline fails too often for that. `pending` are runs asked for and not yet told.
    """

    value: Value
    point: Point
    gone: SequentialTest
    worse: SequentialTest | None
    outcomes: Counter[str] = field(default_factory=Counter)
    pending: int = 0
    inconclusive: int = 0

    @classmethod
    def at(cls, value: Value, point: Point, *, baseline: Rate, error: float, cap: int) -> "Level":
        """Return the untried level against the `baseline` rate; each test errs with at most `error`."""
        rate = min((baseline.failures + 0.5) / (baseline.trials + 1.0), 0.98)
        most = baseline.interval.high
        worse = None
        if most < OFTEN:
            worse = SequentialTest(p0=most, p1=(1.0 + most) / 2.0, alpha=error, beta=error, cap=cap)
        gone = SequentialTest(p0=GONE * rate, p1=STILL * rate, alpha=error, beta=error, cap=cap)
        return cls(value=value, point=point, gone=gone, worse=worse)

    @property
    def role(self) -> Role:
        """The role of the factor, judged by this value alone."""
        if self.worse is not None and self.worse.verdict is SequentialVerdict.FAILS:
            return Role.AGGRAVATES
        if self.gone.verdict is SequentialVerdict.PASSES:
            return Role.NEEDED
        return Role.IRRELEVANT if self.gone.verdict is SequentialVerdict.FAILS else Role.UNDECIDED

    @property
    def open(self) -> bool:
        """Whether another run can change the role."""
        return self.inconclusive < GIVE_UP and (self.undecided or self._may_be_worse())

    @property
    def undecided(self) -> bool:
        """Whether another run can tell if trials still fail."""
        return self.gone.verdict is SequentialVerdict.CONTINUE

    def _may_be_worse(self) -> bool:
        still = self.gone.verdict is SequentialVerdict.FAILS
        return still and self.worse is not None and self.worse.verdict is SequentialVerdict.CONTINUE

    @property
    def still_fails(self) -> bool | None:
        """Whether trials fail with this value, None while undecided."""
        known = {Role.NEEDED: False, Role.IRRELEVANT: True, Role.AGGRAVATES: True}
        return known.get(self.role)

    def update(self, outcome: Outcome) -> None:
        """Add the outcome of one run that was asked for."""
        self.pending -= 1
        if outcome is Outcome.INCONCLUSIVE:
            self.inconclusive += 1
            return
        self.outcomes[str(outcome)] += 1
        for test in (self.gone, self.worse):
            if test is not None:
                test.update(fails=outcome in FAILURES)

    def tried(self) -> Tried:
        """Return what is known of this value."""
        trials = self.outcomes.total()
        failures = trials - self.outcomes[Outcome.OK]
        rate = Rate.of(f"{self.value}", failures, trials, Sample.GIVEN)
        return Tried(value=self.value, role=self.role, rate=rate, outcomes=dict(self.outcomes))
