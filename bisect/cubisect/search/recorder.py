"""Runs planned trials on an engine and records them: every trial that any command runs goes through here."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from cubisect.engines.base import Completed, Engine, Job
from cubisect.features import batch_features
from cubisect.isolation.health import UnfitGpuError
from cubisect.outcome import classify, signature_of
from cubisect.store import Campaign, Plan, Result, Store, TrialRecord

RETRIES = 2
"""How often a trial is run again after trouble that is not its own (a lost process, a tainted GPU)."""

POLL_S = 0.5
"""Longest wait for a result before heartbeats and listeners are looked after."""


@dataclass(frozen=True)
class _Running:
    plan: Plan
    tag: int | None
    attempt: int = 0
    features: Mapping[str, int | float] = field(default_factory=dict)


class Recorder:
    """Starts trials, records how they ended, and runs those again that say nothing.

    `tag` is the caller's name for a planned trial; it comes back with the record.
    """

    def __init__(self, store: Store, campaign: Campaign, engine: Engine) -> None:
        self._store, self._campaign, self._engine = store, campaign, engine
        self._running: dict[int, _Running] = {}
        self._again: deque[_Running] = deque()

    def has_room(self) -> bool:
        """Tell whether another trial can start now."""
        return len(self._running) + len(self._again) < self._engine.lanes

    def busy(self) -> bool:
        """Tell whether a trial is running or waits to run again."""
        return bool(self._running or self._again)

    def start(self, plan: Plan, tag: int | None = None) -> bool:
        """Record and start a trial; False when the campaign's budget is spent."""
        return self._begin(_Running(plan, tag))

    def poll(self, timeout_s: float = POLL_S) -> tuple[TrialRecord, int | None] | None:
        """Return the next trial that is finished for good, with its tag; None when there is none in time.

        Raises:
            UnfitGpuError: the GPU failed its canary; the trials since its last good one are marked tainted.
        """
        while self._again and len(self._running) < self._engine.lanes:
            self._begin(self._again.popleft())
        try:
            completed = self._engine.next_result(timeout_s)
        except UnfitGpuError as error:  # what it ran since its last good canary says nothing
            self._store.taint(self._campaign, error.tainted)
            raise
        self._store.heartbeat(self._campaign)
        if completed is None:
            return None
        running = self._running.pop(completed.key)
        record = self._record(completed, running.features)
        if (completed.tainted or completed.evidence.infrastructure is not None) and running.attempt < RETRIES:
            self._again.append(replace(running, attempt=running.attempt + 1))
            return None
        return record, running.tag

    def close(self) -> None:
        """End what runs; trials that had not finished are given back to the store and count as never run."""
        self._engine.close()
        self._store.give_back(self._campaign)

    def _begin(self, running: _Running) -> bool:
        record = self._store.begin_trial(self._campaign, running.plan)
        if record is None:
            return False
        spec = replace(running.plan.spec, number=record.number)
        self._engine.submit(Job(key=record.number, spec=spec))
        # Building the batch takes as long as a small trial: it is done while the trial runs, in its own process.
        self._running[record.number] = replace(running, features=batch_features(spec.batch, spec))
        return True

    def _record(self, completed: Completed, features: Mapping[str, int | float]) -> TrialRecord:
        verdict = classify(completed.evidence)
        return self._store.finish_trial(
            self._campaign,
            completed.key,
            Result(
                evidence=completed.evidence,
                verdict=verdict,
                signature=signature_of(completed.evidence, verdict),
                features=features,
                lane=completed.lane,
                gpu=completed.gpu,
                tainted=completed.tainted,
            ),
        )


def run_plans(
    recorder: Recorder, plans: Iterable[Plan], on_record: Callable[[TrialRecord], None] | None = None
) -> list[TrialRecord]:
    """Run every plan, as many at a time as there are lanes, and return the records in the order of the plans."""
    waiting = deque(enumerate(plans))
    records: dict[int, TrialRecord] = {}
    while waiting or recorder.busy():
        while waiting and recorder.has_room():
            tag, plan = waiting.popleft()
            recorder.start(plan, tag)
        finished = recorder.poll()
        if finished is None:
            continue
        record, tag_or_none = finished
        records[tag_or_none or 0] = record
        if on_record is not None:
            on_record(record)
    return [records[tag] for tag in sorted(records)]
