import numpy as np
import pytest

from cubisect.analysis.compare import Change, compare, newcombe
from support.frames import explore, simulate
from support.truths import BAND, LIMIT, NOTHING, Where


def test_a_fault_that_is_gone_is_fixed_and_the_other_way_round_new() -> None:
    broken, sound = simulate(LIMIT, trials=300), explore(NOTHING, trials=300)
    [fixed] = compare(broken, sound).changes
    [new] = compare(sound, broken).changes
    assert (fixed.change, new.change) == (Change.FIXED, Change.NEW)
    assert fixed.difference.high < 0.0 < new.difference.low
    assert not compare(broken, sound).any_new
    assert "fixed: segfault where" in compare(broken, sound).answer
    assert compare(sound, broken).any_new


def test_the_same_fault_twice_is_unchanged() -> None:
    found = compare(simulate(LIMIT, trials=400, seed=1), simulate(LIMIT, trials=400, seed=2))
    assert {change.change for change in found.changes} == {Change.UNCHANGED}
    assert not found.any_new


def test_two_faults_at_different_places_are_one_fixed_and_one_new() -> None:
    low = Where(lambda t: t.descriptor_count <= 30)
    found = compare(simulate(LIMIT, trials=300), simulate(low, trials=300))
    assert {change.change for change in found.changes} == {Change.FIXED, Change.NEW}


def test_few_trials_are_not_enough_data_and_never_unchanged() -> None:
    found = compare(simulate(LIMIT, trials=300), explore(LIMIT, trials=12, seed=5))
    assert found.changes[0].change in {Change.NOT_ENOUGH, Change.UNCHANGED}
    assert all(c.change is not Change.UNCHANGED or c.after.trials > 15 for c in found.changes)


def test_fewer_failures_are_not_called_fixed() -> None:
    often, seldom = Where(LIMIT.inside, rate=0.9), Where(LIMIT.inside, rate=0.3)
    found = compare(simulate(often, trials=400), simulate(seldom, trials=400))
    assert found.changes[0].change is Change.LESS


def test_false_alarms_between_equal_campaigns_are_rare() -> None:
    alarms = sum(
        compare(simulate(BAND, trials=200, seed=s), simulate(BAND, trials=200, seed=100 + s)).any_new for s in range(5)
    )
    assert alarms <= 1


def test_overall_rates_of_different_spaces_are_not_compared() -> None:
    found = compare(explore(NOTHING, trials=200), explore(Where(lambda _: True, rate=0.02), trials=200))
    other = compare(
        explore(NOTHING, trials=200), explore(Where(lambda _: True, rate=0.2), trials=200), same_space=False
    )
    assert found.overall.region == "all explored points"
    assert other.overall.change is Change.NOT_ENOUGH
    assert other.overall.p_value < 0.05


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.3), (0.95, 0.5), (0.0, 0.0)])
def test_newcombes_interval_covers(a: float, b: float) -> None:
    rng = np.random.default_rng(0)
    hits = sum((b - a) in newcombe(rng.binomial(50, a), 50, rng.binomial(60, b), 60) for _ in range(300))
    assert hits / 300 > 0.92
    assert newcombe(0, 0, 1, 2).method == "no trials"
