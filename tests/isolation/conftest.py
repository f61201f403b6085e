"""Lanes with the faulty driver."""

from collections.abc import Callable, Iterator

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
