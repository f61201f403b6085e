"""The space as Optuna distributions, and the points that reports name."""

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cubisect.search.distributions import distributions
from cubisect.search.reported import REPORTED_COUNTS, reported_points
from cubisect.space import GIB, KIB, Range, Space


def test_log_axes_are_floats_whole_numbers_are_integers_and_names_are_choices() -> None:
    space = Space.of(vary={"neighbours": Range(low=0, high=4), "direction": ("h2d", "d2h"), "sync_between": None})
    found = distributions(space)
    assert list(found) == list(space.varied)
    assert found["total_bytes"] == FloatDistribution(10.0, 32.0)
    assert found["neighbours"] == IntDistribution(0, 4)
    assert found["size_spread"] == FloatDistribution(0.0, 1.0)
    assert found["direction"] == CategoricalDistribution(("h2d", "d2h"))
    assert found["sync_between"] == CategoricalDistribution((False, True))


def test_the_reported_counts_are_feasible_points_and_can_be_enqueued() -> None:
    space = Space.of(vary={"direction": ("d2h",), "neighbours": Range(low=1, high=2)})
    points = reported_points(space)
    assert [point.descriptor_count for point in points] == list(REPORTED_COUNTS)
    study = optuna.create_study()
    for point in points:
        assert space.contains(point)
        study.enqueue_trial(dict(space.coordinates(point)))
        assert space.point(study.ask(distributions(space)).params) == point


def test_counts_outside_the_space_are_left_out() -> None:
    low = Space.of(vary={"descriptor_count": Range(low=1, high=10_000)})
    assert [point.descriptor_count for point in reported_points(low)] == [8192, 4096]
    assert reported_points(Space.of(fix={"descriptor_count": 51_828})) == []


def test_a_small_total_or_a_cap_moves_the_reported_point_within_the_space() -> None:
    tight = Space.of(vary={"total_bytes": Range(low=KIB, high=2 * 1024 * KIB)}, max_submitted_descriptors=60_000)
    points = reported_points(tight)
    assert points
    assert all(tight.contains(point) for point in points)
    large = Space.of(vary={"total_bytes": Range(low=GIB, high=4 * GIB)})
    assert all(large.contains(point) for point in reported_points(large))
    assert len(reported_points(large)) == len(REPORTED_COUNTS)
