"""Runs trials on one lane with everything around them: deadline, calibration, canary, remarks."""

from dataclasses import dataclass, replace

from cubisect.isolation.calibration import Calibration
from cubisect.isolation.deadline import Costs, Deadline, costs_of, deadline_of
from cubisect.isolation.health import GpuHealth
from cubisect.isolation.lane import Lane
from cubisect.outcome import Evidence, Outcome, classify
from cubisect.trial import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Attended:
    """What a trial came to. `tainted` says that the GPU failed its canary afterwards."""

    evidence: Evidence
    tainted: bool = False


@dataclass
class Attendant:
    """Looks after one lane. `canaries` False leaves the GPU's health to the user; `timeout_s` overrides deadlines.

    A `calibration` that is known spares its canaries; without one it is measured before the first trial.
    """

    lane: Lane
    health: GpuHealth
    timeout_s: float | None = None
    canaries: bool = True
    sharing: int = 0
    calibration: Calibration | None = None
    costs: Costs | None = None

    def run(self, key: int, spec: TrialSpec) -> Attended:
        """Run one trial, called `key` by its owner, and see whether the GPU has survived it.

        Raises:
            InputError: the driver cannot be loaded.
        """
        deadline = deadline_of(spec, self._calibrated_costs(), self.timeout_s)
        evidence = self.lane.run(spec, deadline.final_s, deadline.allowance)
        self.health.ran(key)
        fit = self._fit_after(evidence)
        return Attended(evidence=self._remarked(evidence, deadline), tainted=not fit)

    def _calibrated_costs(self) -> Costs:
        if self.costs is None:
            assumed = costs_of(self.lane.driver)
            if self.calibration is None and self.canaries:
                self.calibration = self.health.calibrate(self.lane, assumed)
            self.costs = self.calibration.costs if self.calibration else assumed
        return self.costs

    def _fit_after(self, evidence: Evidence) -> bool:
        if self.lane.unkillable:
            pids = ", ".join(map(str, self.lane.unkillable))
            self.health.set_aside(f"process {pids} cannot be killed")
            return False
        if not self.canaries or self.lane.interrupted or classify(evidence).outcome is Outcome.OK:
            return True
        assert self.costs is not None
        return self.health.check(self.lane, self.costs)

    def _remarked(self, evidence: Evidence, deadline: Deadline) -> Evidence:
        """Return the evidence with remarks for a person."""
        notes = list(evidence.notes)
        if not evidence.timed_out and evidence.wall_s > deadline.expected_s:
            notes.append(f"slow: {evidence.wall_s:.3g} s where at most {deadline.expected_s:.3g} s were expected")
        if self.sharing:
            notes.append(f"{self.sharing} other lanes share this GPU")
        gpus = len(self.lane.options.gpus or (self.lane.gpu,))
        if len(evidence.ranks) > gpus:
            notes.append(f"{len(evidence.ranks)} ranks share {gpus} GPU{'s' * (gpus > 1)}")
        if classify(evidence).outcome is not Outcome.OK:
            notes += self.health.changes()
        return replace(evidence, notes=tuple(notes))
