"""The simulated driver: what it draws, and that it enacts it for real."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from cubisect import drivers
from cubisect.drivers.base import SetupError
from cubisect.drivers.fault_models.traits import Manner
from cubisect.drivers.simulated import SAMPLE_BYTES, SimulatedDriver
from cubisect.outcome import Outcome
from cubisect.trial import TrialSpec

MakeTrial = Callable[..., TrialSpec]


class Fixed:
    """Fails as told, in the submission told."""

    name = "fixed"

    def __init__(self, hazards: Mapping[Outcome, float], manner: Manner) -> None:
        self._hazards, self._manner = hazards, manner

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        return self._hazards

    def manner(self, trial: TrialSpec, outcome: Outcome) -> Manner:
        return self._manner


def simulated(hazards: Mapping[str, float], **manner: Any) -> SimulatedDriver:
    typed = {Outcome(name): probability for name, probability in hazards.items()}
    return SimulatedDriver(Fixed(typed, Manner(**manner)), "fixed")


def test_ok_goes_through_every_phase_and_verifies(trial: MakeTrial, steps: Any, line: Any) -> None:
    report = drivers.load("sim:null").run(trial(repetition=3), steps, line)
    assert steps.steps == [("setup", 0), ("submit", 1), ("submit", 2), ("submit", 3), ("sync", 3), ("verify", 3)]
    assert line.steps == [("wait", 0)] * 3
    assert (report.cuda_error, report.mismatched_bytes, report.setup_failed) == (0, 0, None)


def test_sync_between_synchronises_every_submission(trial: MakeTrial, steps: Any) -> None:
    drivers.load("sim:null").run(trial(repetition=2, sync_between=True), steps)
    assert [label for label, _ in steps.steps] == ["setup", "submit", "sync", "submit", "sync", "sync", "verify"]


def test_error_names_the_descriptor_of_the_model(trial: MakeTrial, steps: Any) -> None:
    driver = simulated({"error": 1.0}, repetition=2, fail_index=17)
    report = driver.run(trial(repetition=5), steps)
    assert (report.cuda_error, report.fail_index, report.fail_index_written) == (1, 17, True)
    assert steps.steps[-1] == ("submit", 2)


def test_error_has_no_index_on_the_newer_abi(trial: MakeTrial, steps: Any) -> None:
    report = simulated({"error": 1.0}, fail_index=17).run(trial(abi=13000), steps)
    assert (report.cuda_error, report.fail_index, report.fail_index_written) == (1, None, False)


def test_error_index_without_a_models_word_is_a_descriptor_drawn_by_the_run(trial: MakeTrial, steps: Any) -> None:
    driver = simulated({"error": 1.0})
    told = {driver.run(trial(run_seed=seed, descriptor_count=100), steps).fail_index for seed in range(40)}
    assert len(told) > 10
    assert told <= set(range(100))


def test_async_error_comes_from_the_synchronisation(trial: MakeTrial, steps: Any) -> None:
    report = simulated({"async_error": 1.0}, repetition=2).run(trial(repetition=3), steps)
    assert (report.api, report.cuda_error) == ("cuStreamSynchronize", 719)
    assert steps.steps[-1] == ("sync", 2)


def test_corruption_is_found_by_the_real_verification(trial: MakeTrial, steps: Any) -> None:
    report = simulated({"corrupt": 1.0}).run(trial(descriptor_count=8, total_bytes=4096), steps)
    assert (report.cuda_error, report.mismatched_bytes, report.mismatched_runs) == (0, 1, ((4, 4),))


def test_the_control_does_not_meet_the_fault(trial: MakeTrial, steps: Any) -> None:
    driver = simulated({"segfault": 1.0})
    report = driver.run(trial(method="percopy"), steps)
    assert (report.api, report.cuda_error, report.mismatched_bytes) == ("cuMemcpyAsync", 0, 0)


@pytest.mark.parametrize("kind", ["null_source", "null_destination", "zero_size", "out_of_bounds"])
def test_an_invalid_descriptor_is_told_truthfully(kind: str, trial: MakeTrial, steps: Any) -> None:
    spec = trial(invalid=kind, seed=9)
    report = drivers.load("sim:null").run(spec, steps)
    assert report.cuda_error == 1
    assert report.fail_index == report.expected_fail_index == spec.batch.invalid_index


@pytest.mark.parametrize(
    "values",
    [{"stream": "legacy"}, {"invalid": "wrong_attributes"}, {"attrs_layout": "per_copy", "attribute_count": 2}],
)
def test_a_wrong_call_is_refused_without_an_index(values: dict[str, Any], trial: MakeTrial, steps: Any) -> None:
    report = drivers.load("sim:null").run(trial(**values), steps)
    assert (report.cuda_error, report.fail_index, report.fail_index_written) == (1, None, False)


def test_the_run_seed_alone_decides_a_coin_flip(trial: MakeTrial, steps: Any) -> None:
    driver = simulated({"error": 0.3})
    answers = [bool(driver.run(trial(run_seed=seed), steps).cuda_error) for seed in range(150)]
    assert answers == [bool(driver.run(trial(run_seed=seed, seed=5), steps).cuda_error) for seed in range(150)]
    assert np.mean(answers) == pytest.approx(0.3, abs=0.1)


def test_a_model_that_breaks_in_a_trial_is_a_failed_set_up(trial: MakeTrial, steps: Any) -> None:
    with pytest.raises(SetupError, match="fault model 'fixed'"):
        simulated({"segfault": 2.0}).run(trial(), steps)
    assert steps.steps == [("setup", 0)]


def test_a_point_of_4_gib_costs_no_more_than_a_small_one(
    trial: MakeTrial, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cubisect.trial.build_batch", lambda *_: pytest.fail("the batch was built"))
    copied: list[int] = []
    monkeypatch.setattr(np, "copyto", lambda target, _: copied.append(target.nbytes))
    drivers.load("sim:null").run(trial(descriptor_count=1 << 20, total_bytes=1 << 32), steps)
    assert 0 < sum(copied) <= SAMPLE_BYTES


def test_the_environment_says_that_it_is_simulated() -> None:
    environment = drivers.load("sim:vllm-49276").environment()
    assert environment["simulated"] is True
    assert "51,828" in environment["fault_model"]


@pytest.mark.parametrize(
    ("count", "number"), [(1024 << 5, signal.SIGSEGV), (1024 << 2, signal.SIGABRT)], ids=["segfault", "crash"]
)
def test_a_death_is_real(count: int, number: int, trial: MakeTrial, in_child: Callable[..., Any]) -> None:
    ended = in_child("sim:every-outcome", trial(descriptor_count=count, total_bytes=1 << 20))
    assert ended.returncode == -number
    assert ended.steps[-1] == ("submit", 1)
    assert not ended.reports


def test_a_spinning_hang_never_returns_and_burns_cpu(trial: MakeTrial, in_child: Callable[..., Any]) -> None:
    spec = trial(descriptor_count=1024 << 4, total_bytes=1 << 20)
    ended = in_child("sim:every-outcome", spec, hangs_in="submit 1")
    assert ended.returncode is None
    assert ended.steps[-1] == ("submit", 1)
    assert ended.state == "R"


def test_a_sleeping_hang_never_returns_and_burns_nothing(trial: MakeTrial, in_child: Callable[..., Any]) -> None:
    spec = trial(descriptor_count=1 << 20, total_bytes=1 << 20, repetition=4)
    ended = in_child("sim:accumulation", spec, hangs_in="submit 3")
    assert ended.returncode is None
    assert ended.steps[-1] == ("submit", 3)
    assert ended.state == "S"


def test_a_hang_holds_the_interpreter(trial: MakeTrial) -> None:
    """No other thread gets to run: what a watchdog inside the process could do about a hang is nothing."""
    program = """
import threading, time
from cubisect.drivers import enact
threading.Thread(target=lambda: (time.sleep(0.3), print("a thread ran", flush=True)), daemon=True).start()
print("spinning", flush=True)
enact.spin_forever()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "spinning\n"
        time.sleep(0.8)
        process.kill()
        assert process.stdout.read() == ""
