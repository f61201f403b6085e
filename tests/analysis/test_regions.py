import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.analysis.regions import regions
from cubisect.analysis.rules import Condition, inside, round_between
from support.frames import explore, simulate
from support.truths import BAND, LIMIT, NOTHING, TWO, Where


def test_a_limit_is_one_rule_with_a_round_number() -> None:
    found = regions(simulate(LIMIT, trials=400))
    [rule] = found.rules
    [condition] = rule.conditions
    assert condition.name == "descriptor_count"
    assert condition.high is None
    assert condition.low == pytest.approx(1000, rel=0.1)
    assert rule.confirmed
    assert rule.rate.rate == 1.0
    assert found.outside == {"segfault": 0}


def test_disjoint_regions_of_two_kinds_are_two_rules() -> None:
    found = regions(simulate(TWO, trials=600, seed=2))
    assert {rule.kind for rule in found.rules} == {"segfault", "error"}
    for rule in found.rules:
        assert rule.confirmed
        assert rule.rate.rate > 0.8


def test_a_band_has_both_ends() -> None:
    rules = regions(simulate(BAND, trials=600, seed=1)).rules
    ends = {condition.name: condition for condition in rules[0].conditions}
    assert ends["size_spread"].low == pytest.approx(0.2, abs=0.06)
    assert ends["size_spread"].high == pytest.approx(0.8, abs=0.06)
    assert ends["descriptor_count"].low is not None
    assert ends["descriptor_count"].high is not None


def test_a_mix_is_named() -> None:
    truth = Where(lambda t: t.size_mix == "pareto" and t.descriptor_count > 100)
    [rule] = regions(simulate(truth, trials=400, seed=1)).rules
    assert [c.values for c in rule.conditions if c.values] == [("pareto",)]


def test_nothing_fails_no_rule() -> None:
    found = regions(explore(NOTHING, trials=100))
    assert (found.rules, found.answer) == ((), "Regions: no trial failed.")


def test_failures_at_random_give_no_confirmed_rule() -> None:
    confirmed = 0
    for seed in range(6):
        frame = explore(Where(lambda _: True, rate=0.1), trials=250, seed=seed)
        confirmed += any(rule.confirmed for rule in regions(frame).rules)
    assert confirmed <= 1


def test_counts_are_of_the_trials_inside() -> None:
    frame = simulate(TWO, trials=400)
    for rule in regions(frame).rules:
        within = frame[rule.contains(frame)]
        assert rule.support == len(within)
        assert rule.hits == (within["outcome"] == rule.kind).sum()
        assert rule.rate.trials <= rule.support


@given(st.floats(1e-3, 1e12), st.floats(1e-6, 10.0))
def test_a_rounded_end_stays_between_its_neighbours(low: float, step: float) -> None:
    high = low * (1.0 + step)
    assert low < round_between(low, high) <= high


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_conditions_hold_where_they_say(low: float, high: float) -> None:
    frame = explore(NOTHING, trials=20)
    values = frame["size_spread"].to_numpy()
    mask = inside([Condition(name="size_spread", low=low, high=high)], frame)
    assert np.array_equal(mask, (values >= low) & (values <= high))
