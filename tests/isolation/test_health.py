"""Canaries, tainted trials and remarks, on a lane that is told what to return."""

from dataclasses import replace

from cubisect.isolation.attendant import Attendant
from cubisect.isolation.calibration import Calibration
from cubisect.isolation.deadline import SIMULATED, Allowance, costs_of
from cubisect.isolation.health import CANARY_TRIES, GpuHealth, UnfitGpuError, canary_trial
from cubisect.isolation.lane import Lane
from cubisect.isolation.nvml import GpuReading, Nvml
from cubisect.outcome import DriverReport, Evidence, Phase, ResultState
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec

OK = Evidence(exit_code=0, phase=Phase.DONE, result_state=ResultState.COMPLETE, report=DriverReport(), wall_s=0.01)
SEGFAULT = Evidence(signal=11, phase=Phase.SUBMIT)


class ScriptedLane(Lane):
    """Returns what it was given; canaries pass while `healthy`."""

    def __init__(self, *evidence: Evidence) -> None:
        super().__init__("sim:null")
        self.script, self.canaries_run, self.canaries_fail = list(evidence), 0, 0
        self.deadlines: list[float] = []

    def run(self, spec: TrialSpec, deadline_s: float, allowance: Allowance | None = None) -> Evidence:
        assert allowance is not None
        assert allowance.total_s == deadline_s
        self.deadlines.append(allowance.submit_s)
        if spec.method is not Method.PERCOPY:
            return self.script.pop(0)
        self.canaries_run += 1
        if self.canaries_fail:
            self.canaries_fail -= 1
            return SEGFAULT
        return OK


class ScriptedNvml(Nvml):
    """Returns one reading after the other."""

    def __init__(self, *readings: GpuReading) -> None:
        super().__init__()
        self.readings, self.xids = list(readings), [79]

    def reading(self, gpu: int) -> GpuReading:
        return self.readings.pop(0)

    def new_xids(self) -> list[int]:
        xids, self.xids = self.xids, []
        return xids


def attendant(lane: ScriptedLane, *, nvml: Nvml | None = None, timeout_s: float | None = None) -> Attendant:
    """Return one that is calibrated and never sleeps."""
    health = GpuHealth(0, nvml or Nvml(), sleep=lambda _: None)
    return Attendant(lane=lane, health=health, costs=SIMULATED, timeout_s=timeout_s)


def test_no_canary_after_ok_one_after_a_failure() -> None:
    lane = ScriptedLane(OK, SEGFAULT)
    tender = attendant(lane)
    assert not tender.run(1, TrialSpec.at(Point())).tainted
    assert lane.canaries_run == 0
    assert not tender.run(2, TrialSpec.at(Point())).tainted
    assert lane.canaries_run == 1


def test_one_bad_canary_is_forgiven() -> None:
    lane = ScriptedLane(SEGFAULT)
    lane.canaries_fail = CANARY_TRIES - 1
    assert not attendant(lane).run(1, TrialSpec.at(Point())).tainted
    assert lane.canaries_run == CANARY_TRIES


def test_a_gpu_that_fails_its_canaries_is_set_aside_with_its_trials() -> None:
    lane = ScriptedLane(OK, SEGFAULT, OK, OK, SEGFAULT)
    tender = attendant(lane)
    for key in range(4):
        tender.run(key, TrialSpec.at(Point()))
    lane.canaries_fail = CANARY_TRIES
    assert tender.run(4, TrialSpec.at(Point())).tainted
    error = tender.health.error()
    assert isinstance(error, UnfitGpuError)
    assert error.tainted == (2, 3, 4)
    assert "GPU 0 is set aside" in str(error)
    assert "--resume" in str(error)


def test_an_unkillable_process_sets_the_gpu_aside() -> None:
    lane = ScriptedLane(SEGFAULT)
    lane.unkillable.append(4711)
    tender = attendant(lane)
    assert tender.run(1, TrialSpec.at(Point())).tainted
    assert "4711 cannot be killed" in str(tender.health.error())


def test_a_slow_trial_is_noted_and_not_called_a_hang() -> None:
    lane = ScriptedLane(replace(OK, wall_s=1.2))
    attended = attendant(lane).run(1, TrialSpec.at(Point()))
    assert attended.evidence.notes[0].startswith("slow: 1.2 s")
    assert lane.deadlines == [2.0]


def test_a_timeout_of_the_user_is_the_deadline() -> None:
    lane = ScriptedLane(OK)
    attendant(lane, timeout_s=0.125).run(1, TrialSpec.at(Point()))
    assert lane.deadlines == [0.125]


def test_what_nvml_saw_change_is_noted() -> None:
    nvml = ScriptedNvml(GpuReading(ecc_uncorrected=0), GpuReading(ecc_uncorrected=2))
    attended = attendant(ScriptedLane(SEGFAULT), nvml=nvml).run(1, TrialSpec.at(Point()))
    assert attended.evidence.notes == ("Xid 79", "uncorrected ECC errors rose to 2")


def test_costs_are_calibrated_before_the_first_trial() -> None:
    lane = ScriptedLane(OK)
    tender = Attendant(lane=lane, health=GpuHealth(0))
    tender.run(1, TrialSpec.at(Point()))
    assert lane.canaries_run == 3
    assert tender.calibration == Calibration(canary_s=0.01, costs=costs_of("sim:null"))


def test_a_known_calibration_spares_the_canaries() -> None:
    lane, slow = ScriptedLane(replace(OK, wall_s=10.0)), SIMULATED.scaled(20.0)
    tender = Attendant(lane=lane, health=GpuHealth(0), calibration=Calibration(canary_s=0.4, costs=slow))
    attended = tender.run(1, TrialSpec.at(Point()))
    assert lane.canaries_run == 0
    assert attended.evidence.notes == ("slow: 10 s where at most 2.01 s were expected",)


def test_a_gpu_whose_canaries_fail_is_not_calibrated() -> None:
    lane = ScriptedLane(OK)
    lane.canaries_fail = 3
    tender = Attendant(lane=lane, health=GpuHealth(0))
    tender.run(1, TrialSpec.at(Point()))
    assert tender.calibration is None
    assert tender.costs == costs_of("sim:null")


def test_the_canary_asks_after_the_gpu_and_not_after_the_batch_call() -> None:
    assert canary_trial(0).method is Method.PERCOPY


def test_nvml_without_a_gpu_says_nothing() -> None:
    nvml = Nvml({0: "GPU-none"})
    assert nvml.reading(0) == GpuReading()
    assert nvml.new_xids() == []
