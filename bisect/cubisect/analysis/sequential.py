"""Does this trial still fail? A sequential test with stated error rates and a cap on its cost.

Wald's sequential probability ratio test of two failure rates (A. Wald, *Sequential Analysis*, 1947), with the boundary
``1/alpha`` and ``beta`` instead of Wald's approximations: by Ville's inequality the error rates then hold exactly, at
every cap and for every failure rate on either side, at the price of a few trials.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from cubisect.errors import InputError


class SequentialVerdict(StrEnum):
    """What a sequential test says so far."""

    CONTINUE = "continue"
    FAILS = "fails"
    PASSES = "passes"
    UNDECIDED = "undecided"


@dataclass(kw_only=True)
class SequentialTest:
    """Decides between "fails with rate `p1` or more" and "fails with rate `p0` or less".

    Attributes:
        p0: Highest failure rate that counts as passing.
        p1: Lowest failure rate that counts as failing.
        alpha: Probability of the verdict `fails` is at most this wherever the rate is `p0` or less.
        beta: Probability of the verdict `passes` is at most this wherever the rate is `p1` or more.
        cap: Conclusive trials after which the test ends `undecided`.
        fails: Failing trials so far.
        passes: Passing trials so far.

    A trial that said nothing (`inconclusive`) is not told to the test. Between `p0` and `p1` any verdict may come.
    """

    p0: float = 0.05
    p1: float = 0.5
    alpha: float = 0.05
    beta: float = 0.05
    cap: int = 20
    fails: int = 0
    passes: int = 0

    def __post_init__(self) -> None:
        """Check that the two rates and the error rates make a test."""
        if not 0.0 < self.p0 < self.p1 < 1.0:
            raise InputError(f"rates p0={self.p0}, p1={self.p1} are not allowed; allowed is 0 < p0 < p1 < 1")
        if not (0.0 < self.alpha < 0.5 and 0.0 < self.beta < 0.5):
            raise InputError(f"error rates {self.alpha}, {self.beta} are not allowed; allowed is between 0 and 0.5")
        if self.cap < 1:
            raise InputError(f"cap {self.cap} is not allowed; allowed is 1 or more trials")

    @property
    def trials(self) -> int:
        """Conclusive trials so far."""
        return self.fails + self.passes

    @property
    def log_ratio(self) -> float:
        """Natural logarithm of the likelihood of `p1` over that of `p0`."""
        per_fail = math.log(self.p1 / self.p0)
        per_pass = math.log((1.0 - self.p1) / (1.0 - self.p0))
        return self.fails * per_fail + self.passes * per_pass

    @property
    def verdict(self) -> SequentialVerdict:
        """What the trials so far say; `CONTINUE` asks for one more."""
        if self.log_ratio >= -math.log(self.alpha):
            return SequentialVerdict.FAILS
        if self.log_ratio <= math.log(self.beta):
            return SequentialVerdict.PASSES
        return SequentialVerdict.UNDECIDED if self.trials >= self.cap else SequentialVerdict.CONTINUE

    def update(self, *, fails: bool) -> SequentialVerdict:
        """Add one conclusive trial and return the verdict; trials after a verdict change nothing."""
        if self.verdict is SequentialVerdict.CONTINUE:
            if fails:
                self.fails += 1
            else:
                self.passes += 1
        return self.verdict

    def most_needed(self) -> int:
        """Return the trials that are needed at most before the test ends, however they end."""
        return max(self.cap - self.trials, 0) if self.verdict is SequentialVerdict.CONTINUE else 0
