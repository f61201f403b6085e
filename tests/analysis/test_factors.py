from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pytest

from cubisect.analysis.factors import BATCH, Isolated, Isolation
from cubisect.analysis.levels import Role
from cubisect.outcome import Outcome
from cubisect.space import MIB, Point, Range
from cubisect.trial import TrialSpec


class TwoSided:
    """Fails from 10,000 to 40,000 descriptors and again from 300,000, from pinned memory, with a given rate."""

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        inside = 10_000 <= trial.descriptor_count <= 40_000 or trial.descriptor_count >= 300_000
        return {Outcome.SEGFAULT: self.rate} if inside and trial.host_memory == "pinned" else {}


class WorseWithNeighbours:
    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        return {Outcome.HANG: 1.0 if trial.neighbours >= 4 else 0.2}


POINT = Point(descriptor_count=20_000, total_bytes=64 * MIB)


class Truth(Protocol):
    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]: ...


def isolate(truth: Truth, point: Point = POINT, *, lanes: int = 3, seed: int = 0, budget: int = 4000) -> Isolated:
    rng = np.random.default_rng(seed)
    isolation = Isolation(point, budget=budget, domains={"ranks": Range(low=1, high=1)})
    while not isolation.done:
        probes = isolation.next_probes(lanes)
        assert probes, "not done, nothing pending, and nothing asked for"
        for probe in probes:
            isolation.update(probe, drawn(truth.hazards(TrialSpec.at(probe.point)), rng))
    return isolation.result()


def drawn(hazards: Mapping[Outcome, float], rng: np.random.Generator) -> Outcome:
    chance = rng.random()
    for outcome, rate in hazards.items():
        if chance < rate:
            return outcome
        chance -= rate
    return Outcome.OK


def test_needed_factors_are_found_and_no_others() -> None:
    found = isolate(TwoSided())
    assert found.named(Role.NEEDED) == ["descriptor_count", "host_memory"]
    assert {"direction", "layout", "total_bytes", "abi", "stream_state", BATCH} <= set(found.named(Role.IRRELEVANT))
    assert not found.named(Role.AGGRAVATES)
    assert "needed: descriptor_count, host_memory" in found.answer


def test_every_transition_of_an_axis_is_found_and_brackets_the_truth() -> None:
    found = isolate(TwoSided())
    [count] = [factor for factor in found.factors if factor.name == "descriptor_count"]
    edges = sorted((min(pair), max(pair)) for pair in count.transitions)
    assert len(edges) == 3
    for (low, high), truth in zip(edges, (10_000, 40_000, 300_000), strict=True):
        assert low <= truth <= high
        assert np.log2(high / low) < 0.5


def test_a_flaky_failure_is_isolated_too() -> None:
    found = isolate(TwoSided(rate=0.5), seed=2)
    assert {"descriptor_count", "host_memory"} <= set(found.named(Role.NEEDED))
    assert not set(found.named(Role.NEEDED)) & {"direction", "layout", "abi", "neighbours"}


def test_a_factor_that_makes_it_worse_aggravates() -> None:
    found = isolate(WorseWithNeighbours(), budget=20_000)
    assert found.named(Role.AGGRAVATES) == ["neighbours"]
    assert not found.named(Role.NEEDED)


def test_a_trial_that_passes_now_is_not_isolated_and_costs_the_baseline_only() -> None:
    found = isolate(TwoSided(), Point(descriptor_count=100))
    assert (found.trials, found.baseline.failures) == (8, 0)
    assert "did not fail again" in found.answer


def test_axes_without_effect_are_not_tried_and_say_why() -> None:
    found = isolate(TwoSided())
    reasons = {factor.name: factor.reason for factor in found.factors if factor.role is Role.NOT_TRIED}
    assert reasons["neighbour_kind"] == "there are no neighbours"
    assert "refused as documented" in reasons["invalid"]
    assert {"in_flight", "sync_between", "workload", "scale", "ranks"} <= set(reasons)


def test_when_the_batch_itself_matters_the_axes_that_redraw_it_stay_undecided() -> None:
    isolation = Isolation(POINT, budget=3000)
    while not isolation.done:
        for probe in isolation.next_probes():
            isolation.update(probe, Outcome.OK if probe.new_batch else Outcome.SEGFAULT)
    found = isolation.result()
    assert BATCH in found.named(Role.NEEDED)
    assert {"descriptor_count", "total_bytes"} <= set(found.named(Role.UNDECIDED))
    assert {"direction", "host_memory"} <= set(found.named(Role.IRRELEVANT))


def test_the_budget_is_never_exceeded_and_what_is_left_open_is_undecided() -> None:
    found = isolate(TwoSided(), budget=30)
    assert found.trials == 30
    assert len(found.named(Role.UNDECIDED)) > 10


def test_inconclusive_runs_are_neither_failures_nor_passes() -> None:
    isolation = Isolation(POINT, budget=2000)
    while not isolation.done:
        for probe in isolation.next_probes():
            spoiled = probe.factor == "host_memory"
            isolation.update(probe, Outcome.INCONCLUSIVE if spoiled else Outcome.SEGFAULT)
    [memory] = [factor for factor in isolation.result().factors if factor.name == "host_memory"]
    assert memory.role is Role.UNDECIDED
    assert all(tried.rate.trials == 0 for tried in memory.tried)


@pytest.mark.slow
def test_false_verdicts_are_rarer_than_stated() -> None:
    wrong = 0
    for seed in range(40):
        found = isolate(TwoSided(rate=0.6), seed=seed)
        false_needed = set(found.named(Role.NEEDED)) - {"descriptor_count", "host_memory"}
        missed = {"descriptor_count", "host_memory"} & set(found.named(Role.IRRELEVANT))
        wrong += bool(false_needed or missed or found.named(Role.AGGRAVATES))
    assert wrong <= 5
