"""The contract that every sampler keeps."""

from collections import Counter

import optuna
import pytest

from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.search.distributions import distributions
from cubisect.search.plan import plan_of, tell_outcome
from cubisect.search.reported import reported_points
from cubisect.search.samplers import SAMPLERS, BoundarySampler, make_sampler
from cubisect.space import KIB, MIB, Range, Space
from cubisect.trial import Origin, Purpose
from search.searching import Search, Truth, flaky, nothing, search, two_kinds, unclear

WIDE = Space.of(
    vary={
        "direction": ("h2d", "d2h"), "neighbours": Range(low=0, high=2), "alignment": None, "sync_between": None,
        "size_floor": Range(low=1, high=64), "size_cap": Range(low=KIB, high=64 * MIB),
        "attribute_count": Range(low=1, high=1024),
    },
    max_submitted_descriptors=1 << 22,
)  # fmt: skip
PRIMARY = Space.default()
every_sampler = pytest.mark.parametrize("name", SAMPLERS)


@pytest.fixture(autouse=True)
def quiet_optuna() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@every_sampler
@pytest.mark.parametrize("space", [PRIMARY, WIDE], ids=["primary", "wide"])
def test_every_proposal_is_feasible(name: str, space: Space) -> None:
    asked = search(name, space).run(two_kinds, 90)
    assert all(space.contains(space.point(params)) for params in asked.params)
    assert all(set(params) == set(space.varied) for params in asked.params)


@every_sampler
def test_the_same_seed_and_results_give_the_same_trials(name: str) -> None:
    one, other = search(name, PRIMARY, 3).run(two_kinds, 80), search(name, PRIMARY, 3).run(two_kinds, 80)
    assert one.params == other.params
    assert one.plans == other.plans
    assert search(name, PRIMARY, 4).run(two_kinds, 80).params != one.params


@every_sampler
@pytest.mark.parametrize("count", [25, 80])
def test_a_resumed_search_goes_on_as_it_would_have(name: str, count: int) -> None:
    whole = search(name, PRIMARY, 5).run(two_kinds, count)
    resumed = whole.resumed(make_sampler(name, PRIMARY, 5))
    whole.params.clear()
    whole.plans.clear()
    assert whole.run(two_kinds, 20).params == resumed.run(two_kinds, 20).params
    assert whole.plans == resumed.plans


def test_a_resumed_flaky_search_goes_on_as_it_would_have() -> None:
    whole = search("boundary", PRIMARY, 1).run(flaky, 60)
    resumed = whole.resumed(make_sampler("boundary", PRIMARY, 1))
    whole.params.clear()
    assert whole.run(flaky, 15).params == resumed.run(flaky, 15).params


@every_sampler
def test_enqueued_points_come_first_and_displace_nothing(name: str) -> None:
    plain, with_reports = search(name, PRIMARY, 2), search(name, PRIMARY, 2)
    points = reported_points(PRIMARY)
    for point in points:
        with_reports.study.enqueue_trial(dict(PRIMARY.coordinates(point)))
    with_reports.run(nothing, len(points) + 10)
    assert [PRIMARY.point(params) for params in with_reports.params[: len(points)]] == points
    assert [plan.origin for plan in with_reports.plans[: len(points)]] == [Origin.ENQUEUED] * len(points)
    if name in {"boundary", "sobol"}:
        assert with_reports.params[len(points) :] == plain.run(nothing, 10).params


@every_sampler
def test_trials_asked_for_side_by_side_differ(name: str) -> None:
    asked = search(name, PRIMARY, 1).run(two_kinds, 60)
    trials = [asked.ask() for _ in range(16)]
    points = [tuple(trial.params.values()) for trial in trials if plan_of(trial).purpose is Purpose.SEARCH]
    assert len(set(points)) == len(points)
    for trial in reversed(trials):  # results come in any order
        tell_outcome(asked.study, trial, two_kinds(PRIMARY.point(trial.params), trial.number))
    asked.ask()


@every_sampler
def test_inconclusive_trials_teach_nothing_and_are_told_as_failed(name: str) -> None:
    asked = search(name, PRIMARY).run(unclear, 30)
    assert {trial.state for trial in asked.study.trials} == {optuna.trial.TrialState.FAIL}
    assert all(plan.purpose is Purpose.SEARCH for plan in asked.plans)
    assert len({tuple(params.values()) for params in asked.params}) == len(asked.params)


@pytest.mark.parametrize("truth", [two_kinds, flaky, nothing])
def test_at_least_three_in_ten_stay_exploring(truth: Truth) -> None:
    plans = search("boundary", PRIMARY, 8).run(truth, 150).plans
    for count in range(1, len(plans) + 1):
        assert sum(plan.origin is Origin.EXPLORE for plan in plans[:count]) >= 0.3 * count


def test_explored_points_do_not_depend_on_the_results() -> None:
    found = [
        [p for p, plan in zip(s.params, s.plans, strict=True) if plan.origin is Origin.EXPLORE]
        for s in (search("boundary", PRIMARY, 8).run(truth, 100) for truth in (two_kinds, nothing))
    ]
    assert found[0] == found[1][: len(found[0])]


def test_without_failures_the_search_fills_the_space_as_sobol_does() -> None:
    assert search("boundary", PRIMARY, 6).run(nothing, 60).params == search("sobol", PRIMARY, 6).run(nothing, 60).params


def test_replicates_and_resamples_are_planned_apart_for_both_kinds() -> None:
    asked = search("boundary", PRIMARY, 0).run(two_kinds, 150)
    counts = Counter(plan.purpose for plan in asked.plans)
    assert counts[Purpose.REPLICATE] == counts[Purpose.RESAMPLE] == 6
    for params, plan in zip(asked.params, asked.plans, strict=True):
        assert (plan.parent is None) == (plan.purpose is Purpose.SEARCH)
        if plan.parent is not None:
            assert plan.origin.value == plan.purpose.value
            assert params == asked.params[plan.parent]
            assert asked.outcomes[plan.parent] is not Outcome.OK


def test_disagreeing_repeats_are_asked_for_until_a_rate_is_known() -> None:
    asked = search("boundary", PRIMARY, 0).run(flaky, 150)
    repeats = Counter(plan.parent for plan in asked.plans if plan.parent is not None)
    assert max(repeats.values()) > 6
    assert sum(repeats.values()) <= 28


def test_two_streams_of_one_seed_explore_different_points() -> None:
    first, second = (Search(PRIMARY, BoundarySampler(PRIMARY, 3, stream=stream)).run(nothing, 20) for stream in (0, 1))
    assert not {tuple(p.values()) for p in first.params} & {tuple(p.values()) for p in second.params}


def test_a_hang_that_costs_its_deadline_gets_fewer_turns() -> None:
    def run(hang_s: float) -> int:
        asked = search("boundary", PRIMARY, 0)
        for _ in range(110):
            trial = asked.ask()
            outcome = two_kinds(PRIMARY.point(trial.params), trial.number)
            asked.outcomes.append(outcome)
            tell_outcome(asked.study, trial, outcome, cost_s=hang_s if outcome is Outcome.HANG else 0.1)
        return asked.outcomes.count(Outcome.HANG)

    assert run(20.0) < run(0.1)


def test_a_foreign_parameter_is_refused_instead_of_drawn_in_silence() -> None:
    study = optuna.create_study(sampler=make_sampler("boundary", PRIMARY, 0))
    with pytest.raises(InputError, match=r"ask with study\.ask"):
        study.ask({"descriptor_count": optuna.distributions.FloatDistribution(30, 99)})
    with pytest.raises(InputError, match="no axis that is varied"):
        study.ask({"bogus": optuna.distributions.FloatDistribution(0, 1)})


def test_an_unknown_sampler_is_refused_with_the_names() -> None:
    with pytest.raises(InputError, match="boundary, sobol, tpe, random"):
        make_sampler("bogus", PRIMARY, 0)


def test_it_is_an_ordinary_sampler_of_an_ordinary_study() -> None:
    names = distributions(PRIMARY)

    def objective(trial: optuna.Trial) -> float:
        values = {
            name: trial.suggest_categorical(name, d.choices)
            if hasattr(d, "choices")
            else trial.suggest_float(name, d.low, d.high)
            for name, d in names.items()
        }
        return float(values["descriptor_count"] > 14)

    study = optuna.create_study(sampler=BoundarySampler(PRIMARY, 0))
    study.optimize(objective, n_trials=60)
    assert sum(value == 1.0 for value in (trial.value for trial in study.trials)) > 12
