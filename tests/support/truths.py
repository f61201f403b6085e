"""Fault models with known truths, small enough for quick tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cubisect.outcome import Outcome
from cubisect.trial import TrialSpec


@dataclass(frozen=True)
class Where:
    """Fails with `rate` and `outcome` wherever `inside` says so."""

    inside: Callable[[TrialSpec], bool]
    rate: float = 1.0
    outcome: Outcome = Outcome.SEGFAULT

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        return {self.outcome: self.rate} if self.inside(trial) else {}


@dataclass(frozen=True)
class Either:
    """The first of several truths that applies."""

    truths: tuple[Where, ...]

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        return next((found for truth in self.truths if (found := truth.hazards(trial))), {})


NOTHING = Where(lambda _: False)
LIMIT = Where(lambda t: t.descriptor_count >= 1000)
SUBMITTED = Where(lambda t: t.descriptor_count * t.repetition > 20_000, outcome=Outcome.HANG)
BAND = Where(lambda t: 64 <= t.descriptor_count <= 1024 and 0.2 < t.size_spread < 0.8, rate=0.95)
CHANCY_LIMIT = Where(lambda t: t.descriptor_count >= 1000, rate=0.4)
FLAKY = Where(lambda t: t.descriptor_count >= 64 and t.size_spread > 0.3, rate=0.4)
BY_BATCH = Where(lambda t: t.descriptor_count >= 64 and t.seed % 3 == 0)
TWO = Either(
    (
        Where(lambda t: t.descriptor_count >= 2000),
        Where(lambda t: t.descriptor_count <= 32 and t.total_bytes >= 1 << 24, outcome=Outcome.ERROR),
    )
)
