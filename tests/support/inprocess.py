"""An engine without processes: outcomes are drawn from a fault model, so that loops can be tested in milliseconds."""

from collections import deque
from collections.abc import Callable
from typing import Any

from cubisect.batch import Lane, raw_words, unit_uniform
from cubisect.drivers.fault_models import FaultModel
from cubisect.engines.base import Completed, Job
from cubisect.outcome import (
    DriverReport,
    Evidence,
    HangEvidence,
    HangKind,
    Outcome,
    Phase,
    ResultState,
)
from cubisect.search.campaign import AHEAD
from cubisect.trial import Method, TrialSpec


class InProcessEngine:
    """Completes jobs in the order of submission; `disturb` may replace what a job comes to."""

    def __init__(
        self,
        model: FaultModel,
        *,
        lanes: int = 1,
        disturb: Callable[[Completed], Completed] = lambda completed: completed,
    ) -> None:
        self.lanes = lanes
        self.closed = False
        self.specs: list[TrialSpec] = []
        self._model, self._disturb = model, disturb
        self._jobs: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        assert len(self._jobs) < self.lanes + AHEAD, "more jobs than may wait"
        self._jobs.append(job)

    def next_result(self, timeout_s: float) -> Completed | None:
        if not self._jobs:
            return None
        job = self._jobs.popleft()
        self.specs.append(job.spec)
        return self._disturb(Completed(key=job.key, spec=job.spec, evidence=enacted(draw(self._model, job.spec))))

    def close(self) -> None:
        self.closed = True


def draw(model: FaultModel, spec: TrialSpec) -> Outcome:
    """Return the outcome that the model's hazards and the trial's own chance give."""
    if spec.method is Method.PERCOPY:
        return Outcome.OK
    mark = float(unit_uniform(raw_words(spec.run_seed, Lane.RUN, 1))[0])
    for outcome, probability in model.hazards(spec).items():
        if mark < probability:
            return outcome
        mark -= probability
    return Outcome.OK


def enacted(outcome: Outcome) -> Evidence:
    """Return evidence that classifies as `outcome`."""
    done: dict[str, Any] = {"exit_code": 0, "result_state": ResultState.COMPLETE, "wall_s": 0.01}
    invalid = DriverReport(cuda_error=1, cuda_error_name="CUDA_ERROR_INVALID_VALUE", fail_index=0)
    launch = DriverReport(cuda_error=719, cuda_error_name="CUDA_ERROR_LAUNCH_FAILED", api="cuStreamSynchronize")
    hang = HangEvidence(kind=HangKind.SPINNING, cpu_share=1.0)
    cases = {
        Outcome.OK: Evidence(**done, phase=Phase.DONE, repetition=1, report=DriverReport()),
        Outcome.ERROR: Evidence(**done, phase=Phase.SUBMIT, repetition=1, report=invalid),
        Outcome.ASYNC_ERROR: Evidence(**done, phase=Phase.SYNC, repetition=1, report=launch),
        Outcome.CORRUPT: Evidence(**done, phase=Phase.DONE, repetition=1, report=DriverReport(mismatched_bytes=3)),
        Outcome.SEGFAULT: Evidence(signal=11, phase=Phase.SUBMIT, repetition=1, wall_s=0.01),
        Outcome.CRASH: Evidence(signal=6, phase=Phase.SUBMIT, repetition=1, wall_s=0.01),
        Outcome.HANG: Evidence(timed_out=True, deadline_s=2.0, hang=hang, phase=Phase.SUBMIT, repetition=1, wall_s=2.0),
        Outcome.INCONCLUSIVE: Evidence(infrastructure="pulled the plug", wall_s=0.01),
    }
    return cases[outcome]
