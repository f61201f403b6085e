"""Deadlines: generous, monotone, and the user's own word is final."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.isolation.deadline import (
    CUDA,
    LARGEST_FACTOR,
    SIMULATED,
    Allowance,
    calibrated,
    costs_of,
    deadline_of,
    predicted_s,
)
from cubisect.outcome import Phase
from cubisect.space import GIB, MIB, Point
from cubisect.trial import Method, TrialSpec


def at(**values: object) -> TrialSpec:
    """Return the trial at a point."""
    return TrialSpec.at(Point(**values))  # type: ignore[arg-type]


def test_known_trials_fit_well() -> None:
    """Measured on an H200: 10^6 descriptors 0.93 s, filling and pinning 2 GB about 1 s."""
    assert 0.9 < predicted_s(at(descriptor_count=1_000_000, total_bytes=1_000_000), CUDA) < 4.0
    assert 1.0 < predicted_s(at(total_bytes=2 * GIB), CUDA) < 20.0


def test_small_trials_get_the_floor() -> None:
    assert deadline_of(at(), CUDA).expected_s == CUDA.floor_s
    assert deadline_of(at(), SIMULATED).allowance == Allowance.even(4 * SIMULATED.floor_s)


@given(st.sampled_from(["descriptor_count", "total_bytes", "repetition", "neighbours", "ranks"]), st.integers(1, 8))
def test_more_of_anything_never_shortens_a_deadline(axis: str, value: int) -> None:
    base = {"descriptor_count": 100_000, "total_bytes": 100 * MIB, "repetition": 50}
    for costs in (CUDA, SIMULATED):
        less = deadline_of(at(**base), costs)
        more = deadline_of(at(**{**base, axis: base.get(axis, 0) + value}), costs)
        assert more.expected_s >= less.expected_s
        assert more.final_s > more.expected_s


def test_the_control_is_slower_per_descriptor() -> None:
    batch = at(descriptor_count=1_000_000, total_bytes=1_000_000)
    control = TrialSpec.at(batch.point, method=Method.PERCOPY)
    assert predicted_s(control, CUDA) > predicted_s(batch, CUDA)


def test_a_timeout_of_the_user_is_final() -> None:
    assert deadline_of(at(total_bytes=2 * GIB), CUDA, timeout_s=0.5).allowance == Allowance.even(0.5)
    assert deadline_of(at(), CUDA, timeout_s=600.0).allowance == Allowance.even(600.0)


def test_bytes_lengthen_set_up_and_verification_and_repetitions_only_the_submissions() -> None:
    small = deadline_of(at(total_bytes=GIB), CUDA).allowance
    repeated = deadline_of(at(total_bytes=GIB, repetition=256), CUDA).allowance
    assert (repeated.setup_s, repeated.verify_s) == (small.setup_s, small.verify_s)
    assert repeated.submit_s > small.submit_s
    large = deadline_of(at(total_bytes=4 * GIB), CUDA).allowance
    assert large.setup_s > small.setup_s
    assert large.verify_s > small.verify_s


ALLOWED = Allowance(setup_s=10.0, submit_s=2.0, verify_s=5.0)


@pytest.mark.parametrize(
    ("phase", "phase_s", "since_start_s", "left_s"),
    [
        (Phase.START, {"start": 900.0}, 1.0, 9.0),  # started ahead, it waited for its trial
        (Phase.SETUP, {"start": 900.0, "setup": 8.0}, 9.0, 1.0),
        (Phase.SUBMIT, {"setup": 9.0, "submit": 0.5}, 9.5, 1.5),  # a slow set-up is not held against it
        (Phase.SYNC, {"setup": 1.0, "submit": 1.0, "sync": 1.5}, 3.5, -0.5),
        (Phase.VERIFY, {"setup": 1.0, "submit": 2.0, "verify": 1.0}, 4.0, 4.0),
        (Phase.DONE, {"setup": 1.0, "verify": 4.0, "done": 1.0}, 6.0, 0.0),
    ],
)
def test_each_part_has_its_own_time(
    phase: Phase, phase_s: dict[str, float], since_start_s: float, left_s: float
) -> None:
    assert ALLOWED.left_s(phase, phase_s, since_start_s) == pytest.approx(left_s)


def test_a_workload_counts_its_own_descriptors() -> None:
    big = TrialSpec.at(Point(workload="canonical-fragments", scale=4096, repetition=64))
    assert predicted_s(big, CUDA) > predicted_s(at(repetition=64), CUDA)


@pytest.mark.parametrize(("measured_s", "factor"), [(0.001, 1.0), (1.0, None), (1e6, LARGEST_FACTOR)])
def test_calibration_only_ever_slows(measured_s: float, factor: float | None) -> None:
    spec = at(descriptor_count=16)
    costs = calibrated(CUDA, spec, measured_s)
    expected = measured_s / predicted_s(spec, CUDA) if factor is None else factor
    assert costs.start_s == pytest.approx(CUDA.start_s * expected)
    assert costs.floor_s == CUDA.floor_s


def test_each_driver_has_its_costs() -> None:
    assert costs_of("cuda") is CUDA
    assert costs_of("sim:null") is SIMULATED
