"""The real driver's code in forked processes, on the stand-in libcuda: warm spares, real deaths inside the call."""

import platform
from collections.abc import Callable

import pytest

from cubisect.isolation import Lane, LaneOptions
from cubisect.outcome import HangKind, Outcome, Phase, classify
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec

Environment = Callable[..., dict[str, str]]

SMALL = TrialSpec.at(Point(descriptor_count=64, total_bytes=4096))


@pytest.fixture
def cuda(fake_cuda: Environment, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put the stand-in where the next fork server finds it."""

    def use(**settings: object) -> None:
        for name, value in fake_cuda(**settings).items():
            monkeypatch.setenv(name, value)

    return use


def test_spares_wait_with_a_context(cuda: Callable[..., None]) -> None:
    cuda()
    with Lane("cuda", options=LaneOptions(spares=2)) as lane:
        outcomes = [classify(lane.run(SMALL, 20.0)).outcome for _ in range(6)]
    assert outcomes == [Outcome.OK] * 6


def test_a_segfault_inside_the_call_is_found_and_the_control_passes(cuda: Callable[..., None]) -> None:
    cuda(fault="segfault:50")
    with Lane("cuda", options=LaneOptions(spares=1)) as lane:
        seen = lane.run(SMALL, 20.0)
        control = lane.run(TrialSpec.at(SMALL.point, method=Method.PERCOPY), 20.0)
    assert (classify(seen).outcome, seen.phase) == (Outcome.SEGFAULT, Phase.SUBMIT)
    assert seen.crash is not None
    if platform.machine() == "x86_64":  # the library was loaded after the fork: the process itself told where it is
        assert (seen.crash.instruction or "").startswith("libcuda.so")
        assert (seen.crash.fault_address, seen.crash.access) == (0, "write")
    assert classify(control).outcome is Outcome.OK


def test_a_spin_inside_the_call_is_found(cuda: Callable[..., None]) -> None:
    cuda(fault="spin:50")
    with Lane("cuda", options=LaneOptions(spares=0)) as lane:
        seen = lane.run(SMALL, 1.0)
    assert classify(seen).outcome is Outcome.HANG
    assert seen.hang is not None
    assert seen.hang.kind is HangKind.SPINNING
    assert "libcuda" in (seen.hang.native_stack or "libcuda: neither py-spy nor gdb is installed")


def test_no_device_is_no_finding(cuda: Callable[..., None]) -> None:
    cuda(devices=0)
    with Lane("cuda") as lane:
        verdict = classify(lane.run(SMALL, 20.0))
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_busy_neighbours_and_ranks(cuda: Callable[..., None]) -> None:
    cuda()
    with Lane("cuda", options=LaneOptions(spares=0)) as lane:
        spec = TrialSpec.at(SMALL.point.moved(neighbours=1, ranks=2, repetition=3))
        seen = lane.run(spec, 20.0)
    assert classify(seen).outcome is Outcome.OK
    assert [rank.repetition for rank in seen.ranks] == [3, 3]
