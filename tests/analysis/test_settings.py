"""Settings that a campaign lists and tries several times: their outcomes, rates and controls."""

import pytest

from cubisect.analysis.settings import settings
from cubisect.space import Point
from cubisect.trial import Method, Origin, Purpose
from support.frames import SMALL_SPACE, Simulation, explore
from support.truths import CHANCY_LIMIT, LIMIT


def campaign(times: int, *, controls: int = 0) -> Simulation:
    simulation = Simulation(LIMIT, SMALL_SPACE, seed=3)
    for _ in range(times):
        for count, repetition in ((16, 1), (8192, 1), (8192, 2)):
            point = Point.of({"descriptor_count": count, "total_bytes": 1 << 20, "repetition": repetition})
            simulation.run(point, origin=Origin.ENQUEUED)
    for _ in range(controls):
        simulation.run(simulation.point(1), purpose=Purpose.CONTROL, parent=1, method=Method.PERCOPY)
    return simulation


def test_every_setting_has_its_outcomes_rate_and_controls() -> None:
    found = settings(campaign(10, controls=4).frame())
    rows = [(s.name, s.outcomes, s.rate.failures, s.controls, s.control_failures) for s in found.settings]
    assert rows == [
        ("descriptor_count 16, repetition 1", {"ok": 10}, 0, 0, 0),
        ("descriptor_count 8,192, repetition 1", {"segfault": 10}, 10, 4, 0),
        ("descriptor_count 8,192, repetition 2", {"segfault": 10}, 10, 0, 0),
    ]
    assert "2 of 3 settings fail" in found.answer


def test_a_setting_without_a_failure_has_an_upper_bound() -> None:
    found = settings(campaign(20).frame()).settings[0]
    assert found.rate.interval.high == pytest.approx(1 - (0.05 / 3 / 2) ** (1 / 20))
    assert "at most" in found.answer


def test_points_tried_now_and_then_are_no_settings() -> None:
    assert settings(campaign(4).frame()).settings == ()


def test_a_campaign_that_lists_nothing_has_no_settings() -> None:
    found = settings(explore(LIMIT, trials=50))
    assert (found.settings, found.answer) == ((), "No setting was tried several times on purpose.")


def test_the_intervals_hold_all_at_once() -> None:
    """Ten settings that fail alike: in most campaigns every interval holds the true rate."""
    held = 0
    for seed in range(40):
        simulation = Simulation(CHANCY_LIMIT, SMALL_SPACE, seed=seed)
        for repetition in range(1, 11):
            for _ in range(20):
                point = Point.of({"descriptor_count": 1000, "total_bytes": 64_000, "repetition": repetition})
                simulation.run(point, origin=Origin.ENQUEUED)
        held += all(0.4 in setting.rate.interval for setting in settings(simulation.frame()).settings)
    assert held >= 35  # of 40 at 95 % or more: fewer by chance in one seed of 70
