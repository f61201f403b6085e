"""Shrinking a recorded trial: every run is a trial of purpose `shrink`, so that being stopped loses nothing."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cubisect.errors import InputError
from cubisect.outcome import FAILURES, Outcome
from cubisect.reproduce.oracle import TrialOutcome, known_from, spec_key
from cubisect.reproduce.shrink import DEFAULT_BUDGET, DEFAULT_ERROR, ShrinkEvent, ShrinkResult, shrink
from cubisect.store import Plan, Store, TrialRecord
from cubisect.trial import Purpose, TrialSpec, derive_seed

Run = Callable[[Sequence[Plan]], Sequence[TrialRecord]]
"""Runs planned trials of the campaign, each in a fresh process, records them, and returns the records."""


@dataclass(frozen=True, kw_only=True)
class ShrunkTrial:
    """The result, and a recorded trial that shows it: what `bisect reproduce` is to export."""

    result: ShrinkResult
    record: TrialRecord


def run_shrink(
    store: Store,
    record: TrialRecord,
    run: Run,
    *,
    budget: int = DEFAULT_BUDGET,
    parallel: int = 1,
    error: float = DEFAULT_ERROR,
    any_failure: bool = False,
    on_event: Callable[[ShrinkEvent], None] = lambda _: None,
) -> ShrunkTrial:
    """Shrink a failing trial; runs of an earlier shrinking of it are not repeated.

    `run` belongs to the trial's own campaign. `budget` counts the runs of this call, `parallel` those asked of `run`
    at a time, `error` the probability that one test errs. With `any_failure` a smaller trial counts that fails in
    another way: one fault of the driver can end as wrong data, an error or a segfault, as chance has it.

    Raises:
        InputError: the trial did not fail, or does not fail again.
    """
    if record.signature is None:
        raise InputError(
            f"trial {record.ref} did not fail ({record.outcome or 'running'}), so there is nothing to shrink; type "
            "`bisect trials --outcome segfault,hang` to see those that did"
        )
    earlier = shrink_trials(store, record)
    counts = Counter(spec_key(trial.spec) for trial in earlier)

    def oracle(spec: TrialSpec, times: int) -> list[TrialOutcome]:
        key = spec_key(spec)
        plans = [_plan(spec, record, derive_seed(key, counts[key] + i)) for i in range(times)]
        counts[key] += times
        return [_told(trial) for trial in run(plans)]

    result = shrink(
        record.spec, None if any_failure else record.signature, oracle, known=known_from(earlier), budget=budget,
        parallel=parallel, error=error, on_event=on_event,
    )  # fmt: skip
    return ShrunkTrial(result=result, record=_showing(store, record, result.spec, any_failure=any_failure))


def shrink_trials(store: Store, record: TrialRecord) -> list[TrialRecord]:
    """Return the recorded runs of all shrinkings of a trial so far."""
    trials = store.trials(store.campaign(record.campaign), purposes=[Purpose.SHRINK])
    return [trial for trial in trials if trial.parent == record.number]


def _plan(spec: TrialSpec, parent: TrialRecord, run_seed: int) -> Plan:
    return Plan(spec=replace(spec, run_seed=run_seed), purpose=Purpose.SHRINK, origin=None, parent=parent.number)


def _told(trial: TrialRecord) -> TrialOutcome:
    """Return what a run says: nothing, when the GPU turned out to be unfit."""
    if trial.outcome is None or trial.tainted:
        return TrialOutcome(Outcome.INCONCLUSIVE)
    return TrialOutcome(trial.outcome, trial.signature)


def _showing(store: Store, record: TrialRecord, spec: TrialSpec, *, any_failure: bool) -> TrialRecord:
    """Return the newest run of `spec` that failed as `record` did; `record` itself where nothing smaller was found."""

    def same(trial: TrialRecord) -> bool:
        return trial.outcome in FAILURES if any_failure else trial.signature == record.signature

    key = spec_key(spec)
    return next(
        (
            trial
            for trial in reversed(shrink_trials(store, record))
            if same(trial) and not trial.tainted and spec_key(trial.spec) == key
        ),
        record,
    )
