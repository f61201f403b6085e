"""Runs planned trials on an engine and records them: every trial that any command runs goes through here."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from cubisect.engines.base import Completed, Engine, Job
from cubisect.errors import StoreError
from cubisect.features import size_features
from cubisect.isolation.health import UnfitGpuError
from cubisect.outcome import Outcome, classify, signature_of
from cubisect.store import Campaign, Plan, Result, Store, TrialRecord
from cubisect.trial import TrialSpec

RETRIES = 2
"""How often a trial is run again after trouble that is not its own (a lost process, a tainted GPU)."""

POLL_S = 0.5
"""Longest wait for a result before heartbeats and listeners are looked after."""


@dataclass(frozen=True)
class _Running:
    plan: Plan
    tag: int | None
    attempt: int = 0
    features: Future[dict[str, int | float]] | None = None


def told_by(record: TrialRecord) -> Outcome:
    """Return what a trial says about the API: nothing when it is lost, or its GPU failed the canary afterwards."""
    return Outcome.INCONCLUSIVE if record.tainted or record.outcome is None else record.outcome


class Recorder:
    """Starts trials, records how they ended, and runs those again that say nothing.

    `tag` is the caller's name for a planned trial; it comes back with the record.
    """

    def __init__(self, store: Store, campaign: Campaign, engine: Engine) -> None:
        self._store, self._campaign, self._engine = store, campaign, engine
        self._running: dict[int, _Running] = {}
        self._again: deque[_Running] = deque()
        self._describing = ThreadPoolExecutor(1, thread_name_prefix="describing")

    def has_room(self, ahead: int = 0) -> bool:
        """Tell whether another trial can start now, or be the `ahead`-th that waits for a lane.

        Trials that must run again come first.
        """
        return len(self._running) + len(self._again) < self._engine.lanes + (0 if self._again else ahead)

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
        record = self._record(completed, {} if running.features is None else running.features.result())
        if (completed.tainted or completed.evidence.infrastructure is not None) and running.attempt < RETRIES:
            self._again.append(replace(running, attempt=running.attempt + 1))
            return None
        return record, running.tag

    def close(self) -> None:
        """End what runs; trials that had not finished are given back to the store and count as never run."""
        self._engine.close()
        self._describing.shutdown(wait=False, cancel_futures=True)
        with suppress(StoreError):  # where the database has failed, another process takes them up later
            self._store.give_back(self._campaign)

    def _begin(self, running: _Running) -> bool:
        record = self._store.begin_trial(self._campaign, running.plan)
        if record is None:
            return False
        spec = replace(running.plan.spec, number=record.number)
        self._engine.submit(Job(key=record.number, spec=spec))
        # Drawing the sizes takes as long as a small trial: it is done beside it, so that no lane waits.
        features = self._describing.submit(_features_of, spec)
        self._running[record.number] = replace(running, features=features)
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
                environment=completed.environment,
            ),
        )


def _features_of(spec: TrialSpec) -> dict[str, int | float]:
    return size_features(spec.sizes, spec)


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
