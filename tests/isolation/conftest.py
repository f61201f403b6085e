"""Lanes with the faulty driver, and a look for processes that should be gone."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubisect.isolation import Lane, LaneOptions
from support.faulty import Faulty

QUICK = LaneOptions(native_stacks=False)


@pytest.fixture
def make_lane() -> Iterator[Callable[..., Lane]]:
    """Make lanes that are closed at the end."""
    lanes: list[Lane] = []

    def make(driver: str = Faulty.name, options: LaneOptions = QUICK) -> Lane:
        lanes.append(Lane(driver, options=options))
        return lanes[-1]

    yield make
    for lane in lanes:
        lane.close()


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    """One lane for the tests of a module: each trial must find it clean, whatever the one before has done."""
    with Lane(Faulty.name, options=QUICK) as shared:
        yield shared


def marked_processes(mark: str) -> list[int]:
    """Return every process whose environment has `mark`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Return whether `condition` came true in time."""
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def open_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
