"""Is the GPU still fit? A canary after every outcome that is not ok, and what NVML saw change.

A canary is a small, known-good trial in a fresh process: ordered per-descriptor copies, so that it asks after the
GPU and not after the batch call.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from cubisect.errors import UnfitEnvironmentError
from cubisect.isolation.calibration import Calibration
from cubisect.isolation.deadline import Costs, calibrated, deadline_of
from cubisect.isolation.lane import Lane
from cubisect.isolation.nvml import GpuReading, Nvml
from cubisect.outcome import Outcome, Verdict, classify
from cubisect.space import KIB, Point
from cubisect.trial import Method, TrialSpec

CANARY_POINT = Point(descriptor_count=16, total_bytes=64 * KIB)

CANARY_TRIES = 3
"""A GPU may need a moment after a process has died on it with gigabytes pinned."""

CANARY_PAUSE_S = 1.0

CALIBRATION_CANARIES = 3


class UnfitGpuError(UnfitEnvironmentError):
    """The GPU failed its canaries. `tainted` are the keys of the trials that were run on it since it last passed."""

    def __init__(self, message: str, tainted: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.tainted = tuple(tainted)


def canary_trial(gpu: int, seed: int = 0) -> TrialSpec:
    """Return the canary."""
    return TrialSpec.at(CANARY_POINT, seed=seed, run_seed=seed, method=Method.PERCOPY, gpu=gpu)


@dataclass
class GpuHealth:
    """What is known of one GPU; shared by its lanes. `unfit` says why it is set aside, None while it is fit."""

    gpu: int
    nvml: Nvml = field(default_factory=Nvml)
    sleep: Callable[[float], None] = time.sleep
    unfit: str | None = field(default=None, init=False)
    _since_good: list[int] = field(default_factory=list, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _before: GpuReading = field(default_factory=GpuReading, init=False)

    def __post_init__(self) -> None:
        """Read the GPU before the first trial."""
        self._before = self.nvml.reading(self.gpu)

    @property
    def at_start(self) -> GpuReading:
        """The reading before the first trial."""
        return self._before

    def ran(self, key: int) -> None:
        """Note a trial that is only as good as the next canary."""
        with self._lock:
            self._since_good.append(key)

    def check(self, lane: Lane, costs: Costs) -> bool:
        """Run canaries until one passes; False, and the GPU is set aside, when none does."""
        verdict: Verdict | None = None
        for attempt in range(CANARY_TRIES):
            if attempt:
                self.sleep(CANARY_PAUSE_S)
            spec = canary_trial(self.gpu, attempt)
            deadline = deadline_of(spec, costs)
            verdict = classify(lane.run(spec, deadline.final_s, deadline.allowance))
            if verdict.outcome is Outcome.OK:
                with self._lock:
                    self._since_good.clear()
                return True
        assert verdict is not None
        self.set_aside(f"{CANARY_TRIES} canary trials in a row did not pass, the last because: {verdict.reason}")
        return False

    def set_aside(self, why: str) -> None:
        """Run nothing on this GPU any more."""
        with self._lock:
            self.unfit = self.unfit or why

    def error(self) -> UnfitGpuError:
        """Return the error that pauses the campaign."""
        with self._lock:
            return UnfitGpuError(
                f"GPU {self.gpu} is set aside: {self.unfit}; nothing is lost: look at it with `nvidia-smi` and "
                f"`bisect doctor`, reset it, then go on with `bisect explore --resume NAME`",
                self._since_good,
            )

    def calibrate(self, lane: Lane, costs: Costs) -> Calibration | None:
        """Return what canaries cost on this machine, None when none passed."""
        spec = canary_trial(self.gpu)
        deadline = deadline_of(spec, costs)
        seen = [lane.run(spec, deadline.final_s, deadline.allowance) for _ in range(CALIBRATION_CANARIES)]
        passed = [evidence.wall_s for evidence in seen if classify(evidence).outcome is Outcome.OK]
        if not passed:
            return None
        return Calibration(canary_s=median(passed), costs=calibrated(costs, spec, median(passed)))

    def changes(self) -> list[str]:
        """Return remarks on what NVML saw change since the last question."""
        with self._lock:
            now = self.nvml.reading(self.gpu)
            before, self._before = self._before, now
            remarks = [f"Xid {number}" for number in self.nvml.new_xids()]
        if now.ecc_uncorrected is not None and now.ecc_uncorrected > (before.ecc_uncorrected or 0):
            remarks.append(f"uncorrected ECC errors rose to {now.ecc_uncorrected}")
        return remarks
