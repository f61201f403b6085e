"""Does this smaller trial still fail in the same way? Answered by sequential tests on fresh runs, never by one run."""

import hashlib
import json
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace

from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.sequential import SequentialTest, SequentialVerdict
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import AXES, Axis, NumericAxis
from cubisect.store import TrialRecord
from cubisect.trial import TrialSpec


@dataclass(frozen=True)
class TrialOutcome:
    """How one run ended: its outcome, and the key of its signature where it failed."""

    outcome: Outcome
    signature: str | None = None


Oracle = Callable[[TrialSpec, int], Sequence[TrialOutcome]]
"""Runs a trial so many times, each in a fresh process and with a chance of its own, and tells how each run ended."""

Known = MutableMapping[str, list[TrialOutcome]]
"""Outcomes so far by `spec_key`: filled from the store to go on where an earlier shrinking stopped."""

BASELINE, LONG_BASELINE = 8, 24
"""Runs of the trial as it is: so many, and so many where not all of them fail (it did fail once)."""

CEILING, KEPT_SHARE, ODDS = 0.8, 0.8, 5.0
"""A smaller trial counts as failing at `KEPT_SHARE` of the first trial's rate (at most `CEILING`), and as passing at
`ODDS` times less: it need not fail quite as often, but may not become a rarity."""

INCONCLUSIVE_LIMIT = 5
"""So many runs in a row that say nothing end a test: this machine cannot run that trial."""


class BudgetSpentError(Exception):
    """No trials are left; what is known so far stands."""


def spec_key(spec: TrialSpec) -> str:
    """Return a digest of everything that a run depends on but its chance."""
    fields = replace(spec, number=0, run_seed=0, gpu=0, descriptors=None).to_json()
    linear = {name: float(fields[name]) for name, axis in AXES.items() if _is_real(axis)}  # 0 is 0.0
    digest = hashlib.sha256(json.dumps({**fields, **linear}, sort_keys=True).encode())
    if spec.descriptors is not None:
        for column in (spec.descriptors.source, spec.descriptors.destination, spec.descriptors.sizes):
            digest.update(column.astype("<i8").tobytes())
    return digest.hexdigest()[:24]


def _is_real(axis: Axis) -> bool:
    return isinstance(axis, NumericAxis) and not axis.integer


def known_from(records: Iterable[TrialRecord]) -> Known:
    """Return what recorded trials tell, so that shrinking goes on where it stopped; running and tainted ones do not."""
    known: Known = {}
    for record in records:
        if record.outcome is not None and not record.tainted:
            known.setdefault(spec_key(record.spec), []).append(TrialOutcome(record.outcome, record.signature))
    return known


@dataclass(frozen=True)
class Answer:
    """What the runs of one trial say."""

    verdict: SequentialVerdict
    same: int
    trials: int

    @property
    def fails(self) -> bool:
        """Whether it fails in the same way, and often enough."""
        return self.verdict is SequentialVerdict.FAILS

    @property
    def text(self) -> str:
        """``passes: 0 of 4 runs``."""
        return f"{self.verdict}: {self.same} of {self.trials} runs fail in the same way"


class Judge:
    """Runs trials and judges them against one signature, or any failure (None).

    `spent` counts the runs made, `known` those of before too.
    """

    def __init__(
        self, oracle: Oracle, signature: str | None, *, known: Known, budget: int, parallel: int, error: float, cap: int
    ) -> None:
        self._oracle, self._signature, self._known = oracle, signature, known
        self._budget, self._parallel, self._error, self._cap = budget, parallel, error, cap
        self.spent = 0
        self._rate = CEILING

    def baseline(self, spec: TrialSpec) -> Rate:
        """Measure how often the trial fails as it is, and judge smaller ones by that from now on."""
        rate = self.rate(spec, BASELINE)
        if rate.failures < rate.trials:
            rate = self.rate(spec, LONG_BASELINE)
        if rate.failures:
            self._rate = min(CEILING, KEPT_SHARE * rate.rate)
        return rate

    def allow(self, runs: int) -> None:
        """Add so many runs to the budget."""
        self._budget += runs

    def rate(self, spec: TrialSpec, runs: int, *, fresh: bool = False) -> Rate:
        """Return the rate of the signature in `runs` conclusive runs; `fresh` ones were chosen by no test."""
        outcomes = [] if fresh else self._known.setdefault(spec_key(spec), [])
        silent = 0
        while self._count(outcomes)[1] < runs and silent < INCONCLUSIVE_LIMIT:
            new = self._run(spec, runs - self._count(outcomes)[1])
            outcomes += new
            silent = silent + len(new) if self._count(new)[1] == 0 else 0
        same, trials = self._count(outcomes)
        return Rate.of("runs with the same signature", same, trials, Sample.REPLICATES)

    def ask(self, spec: TrialSpec) -> Answer:
        """Return whether the trial still fails in the same way, by as few runs as that takes."""
        test = SequentialTest(p0=self._rate / ODDS, p1=self._rate, alpha=self._error, beta=self._error, cap=self._cap)
        outcomes = self._known.setdefault(spec_key(spec), [])
        told = silent = 0
        while True:
            while told < len(outcomes):
                run = outcomes[told]
                told += 1
                silent = silent + 1 if run.outcome is Outcome.INCONCLUSIVE else 0
                if run.outcome is not Outcome.INCONCLUSIVE:
                    test.update(fails=self._same(run))
            if test.verdict is not SequentialVerdict.CONTINUE or silent >= INCONCLUSIVE_LIMIT:
                break
            outcomes += self._run(spec, min(self._parallel, test.most_needed()))
        verdict = test.verdict if test.verdict is not SequentialVerdict.CONTINUE else SequentialVerdict.UNDECIDED
        return Answer(verdict, test.fails, test.trials)

    def _run(self, spec: TrialSpec, times: int) -> Sequence[TrialOutcome]:
        left = self._budget - self.spent
        if left <= 0:
            raise BudgetSpentError
        outcomes = self._oracle(spec, min(times, left))
        self.spent += len(outcomes)
        return outcomes

    def _count(self, outcomes: Sequence[TrialOutcome]) -> tuple[int, int]:
        told = [run for run in outcomes if run.outcome is not Outcome.INCONCLUSIVE]
        return sum(self._same(run) for run in told), len(told)

    def _same(self, run: TrialOutcome) -> bool:
        return run.outcome in FAILURES if self._signature is None else run.signature == self._signature
