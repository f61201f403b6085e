"""What every driver must do, the simulated ones included: the rest of the house relies on it."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from cubisect import drivers
from cubisect.batch import Descriptors
from cubisect.drivers.base import Driver, Neighbourly
from cubisect.outcome import DriverReport, Phase
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec

EVERY_DRIVER = drivers.names()

RunTrial = Callable[..., Any]
InChild = Callable[..., Any]
MakeTrial = Callable[..., TrialSpec]


@pytest.fixture(params=EVERY_DRIVER)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(name: str, in_child: InChild, here: InChild, fake_cuda: Callable[..., Mapping[str, str]]) -> RunTrial:
    """Run harmless trials of one driver; `cuda` in a process of its own, where it finds the stand-in."""

    def run_trial(specs: Any, **options: Any) -> Any:
        return in_child(name, specs, env=fake_cuda(), **options) if name == "cuda" else here(name, specs, **options)

    return run_trial


def test_it_keeps_the_protocol(name: str) -> None:
    driver = drivers.load(name)
    assert isinstance(driver, Driver)
    assert isinstance(driver, Neighbourly)
    assert driver.name == name
    assert driver.simulated == name.startswith("sim:")


def test_a_harmless_trial_goes_through_every_phase_in_order(run: RunTrial, trial: MakeTrial) -> None:
    ended = run(trial(descriptor_count=20, repetition=3))
    assert ended.returncode == 0
    assert ended.steps == [("setup", 0), ("submit", 1), ("submit", 2), ("submit", 3), ("sync", 3), ("verify", 3)]
    report = ended.report
    assert isinstance(report, DriverReport)
    assert (report.cuda_error, report.mismatched_bytes, report.setup_failed) == (0, 0, None)
    assert report.api == "cuMemcpyBatchAsync"


def test_done_is_entered_by_whoever_runs_the_driver(run: RunTrial, trial: MakeTrial) -> None:
    labels = {label for label, _ in run(trial(descriptor_count=20)).steps}
    assert labels.isdisjoint({Phase.DONE.label, Phase.START.label})


def test_ranks_wait_for_each_other_before_every_submission(run: RunTrial, trial: MakeTrial) -> None:
    labels = [label for label, _ in run(trial(descriptor_count=20, repetition=2), barrier=True).steps]
    assert labels.count("wait") == 2
    assert all(labels[i + 1] == "submit" for i, label in enumerate(labels) if label == "wait")


def test_the_control_copies_the_same_batch(run: RunTrial, trial: MakeTrial) -> None:
    report = run(trial(method="percopy", descriptor_count=2048)).report
    assert (report.api, report.cuda_error, report.mismatched_bytes) == ("cuMemcpyAsync", 0, 0)


def test_explicit_descriptors_are_what_is_submitted(run: RunTrial) -> None:
    rows = np.array([[64, 0, 10], [0, 10, 64], [200, 500, 1]], dtype=np.int64)
    spec = TrialSpec.at(Point(), descriptors=Descriptors(*rows.T.copy()), method=Method.BATCH)
    report = run(spec).report
    assert (report.cuda_error, report.mismatched_bytes) == (0, 0)


def test_an_invalid_descriptor_is_told_with_its_index(run: RunTrial, trial: MakeTrial) -> None:
    spec = trial(invalid="null_source", seed=4, descriptor_count=20)
    report = run(spec).report
    assert (report.cuda_error, report.fail_index) == (1, spec.batch.invalid_index)


def test_the_legacy_stream_is_refused(run: RunTrial, trial: MakeTrial) -> None:
    report = run(trial(stream="legacy", descriptor_count=20)).report
    assert (report.cuda_error, report.fail_index_written) == (1, False)


@pytest.mark.parametrize(("attributes", "refused"), [(1, False), (7, True), (20, False)])
def test_an_entry_for_each_copy_is_refused_unless_it_is_increasing(
    attributes: int, refused: object, run: RunTrial, trial: MakeTrial
) -> None:
    report = run(trial(descriptor_count=20, attrs_layout="per_copy", attribute_count=attributes)).report
    assert bool(report.cuda_error) is refused


def test_several_trials_in_one_process_do_not_disturb_each_other(run: RunTrial, trial: MakeTrial) -> None:
    reports = run([trial(seed=seed, descriptor_count=20) for seed in (1, 2, 1)]).reports
    assert [(r.cuda_error, r.mismatched_bytes) for r in reports] == [(0, 0)] * 3


def test_a_trial_that_brings_a_workload(run: RunTrial, trial: MakeTrial) -> None:
    report = run(trial(workload="decode-step", scale=4)).report
    assert (report.cuda_error, report.mismatched_bytes) == (0, 0)


def test_the_environment_names_the_driver(name: str, fake_cuda: Callable[..., Mapping[str, str]]) -> None:
    program = "import json; from cubisect import drivers; print(json.dumps(dict(drivers.load('cuda').environment())))"
    if name == "cuda":
        command = [sys.executable, "-c", program]
        found = json.loads(subprocess.run(command, env=fake_cuda(), capture_output=True, text=True, check=True).stdout)
    else:
        found = json.loads(json.dumps(dict(drivers.load(name).environment())))
    assert (found["driver"], found["simulated"]) == (name, name.startswith("sim:"))
