"""Runs searches on simple truths, for the tests of the samplers."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import optuna

from cubisect.outcome import Outcome
from cubisect.search.distributions import distributions
from cubisect.search.plan import TrialPlan, plan_of, recorded_trial, tell_outcome
from cubisect.search.samplers import make_sampler
from cubisect.space import Coordinate, Point, Space

Truth = Callable[[Point, int], Outcome]
"""What happens at a point in the n-th trial."""


@dataclass
class Search:
    """A study that is asked and told; keeps what it was asked for and what happened."""

    space: Space
    sampler: optuna.samplers.BaseSampler
    study: optuna.Study = field(init=False)
    params: list[dict[str, Coordinate]] = field(default_factory=list)
    plans: list[TrialPlan] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.study = optuna.create_study(sampler=self.sampler)

    def ask(self) -> optuna.Trial:
        trial = self.study.ask(distributions(self.space))
        self.params.append(dict(trial.params))
        self.plans.append(plan_of(trial))
        return trial

    def run(self, truth: Truth, count: int) -> "Search":
        for _ in range(count):
            trial = self.ask()
            outcome = truth(self.space.point(trial.params), trial.number)
            self.outcomes.append(outcome)
            tell_outcome(self.study, trial, outcome, cost_s=0.25)
        return self

    def resumed(self, sampler: optuna.samplers.BaseSampler) -> "Search":
        """Return a search rebuilt from the record of this one."""
        other = Search(self.space, sampler)
        for params, plan, outcome in zip(self.params, self.plans, self.outcomes, strict=True):
            recorded = self.space.coordinates(self.space.point(params))  # what is left of it in a database
            other.study.add_trial(
                recorded_trial(
                    self.space, recorded, outcome, origin=plan.origin, purpose=plan.purpose, parent=plan.parent,
                    cost_s=0.25,
                )
            )  # fmt: skip
        return other


def search(name: str, space: Space, seed: int = 0) -> Search:
    return Search(space, make_sampler(name, space, seed))


def band(point: Point, number: int) -> Outcome:
    mean = point.total_bytes / point.descriptor_count
    inside = 2_000 < mean < 40_000 and point.descriptor_count > 1_000 and point.size_spread > 0.2
    return Outcome.SEGFAULT if inside else Outcome.OK


def two_kinds(point: Point, number: int) -> Outcome:
    if point.descriptor_count * point.repetition > 3_000_000:
        return Outcome.HANG
    return band(point, number)


def flaky(point: Point, number: int) -> Outcome:
    fails = point.descriptor_count > 4_000 and np.random.default_rng([7, number]).random() < 0.3
    return Outcome.SEGFAULT if fails else Outcome.OK


def nothing(point: Point, number: int) -> Outcome:
    return Outcome.OK


def unclear(point: Point, number: int) -> Outcome:
    return Outcome.INCONCLUSIVE
