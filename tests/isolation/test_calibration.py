"""Calibrations as numbers and back, and the places where they hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.isolation.calibration import Calibration, place_of
from cubisect.isolation.deadline import CUDA, LARGEST_FACTOR

ENVIRONMENT: dict[str, Any] = {
    "driver": {"driver_version": "580.159.04", "cuda_version": 13000, "devices": [{"memory_bytes": 1}]},
    "host": {"kernel": "6.18", "cpus": 16},
    "packages": {"numpy": "2.4.6"},
}


@given(st.floats(1e-3, 1e3), st.floats(1.0, LARGEST_FACTOR))
def test_a_calibration_survives_being_numbers(canary_s: float, factor: float) -> None:
    calibration = Calibration(canary_s=canary_s, costs=CUDA.scaled(factor))
    assert Calibration.of(calibration.constants()) == calibration


@pytest.mark.parametrize("missing", ["canary_s", "start_s", "verify_per_byte_s"])
def test_what_an_older_program_measured_is_measured_again(missing: str) -> None:
    constants = Calibration(canary_s=0.2, costs=CUDA).constants()
    del constants[missing]
    assert Calibration.of(constants) is None
    assert Calibration.of({}) is None


def test_a_constant_that_nobody_knows_is_measured_again() -> None:
    assert Calibration.of({**Calibration(canary_s=0.2, costs=CUDA).constants(), "per_moon_s": 1.0}) is None


def test_a_place_is_a_gpu_in_an_environment() -> None:
    here = place_of("GPU-1", ENVIRONMENT)
    assert here.startswith("GPU-1@")
    assert place_of("GPU-1", {**ENVIRONMENT, "driver": {**ENVIRONMENT["driver"], "devices": []}}) == here
    newer = {**ENVIRONMENT["driver"], "driver_version": "590.1"}
    others = [
        place_of("GPU-2", ENVIRONMENT),
        place_of("GPU-1", {**ENVIRONMENT, "driver": newer}),
        place_of("GPU-1", {**ENVIRONMENT, "host": {"kernel": "6.19"}}),
        place_of("GPU-1", {**ENVIRONMENT, "packages": {}}),
    ]
    assert len({here, *others}) == 5
    assert max(map(len, others)) < 100
