"""The samplers of `bisect explore`, as ordinary Optuna samplers over the distributions of a space.

Each knows its space from the start, for Optuna asks a sampler before it says which distributions it wants. None can
propose an infeasible point: candidates are drawn until one is feasible.
"""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from cubisect.errors import InputError, choices
from cubisect.outcome import FAILURES, Outcome
from cubisect.search.boundary.encoding import Encoding, Float
from cubisect.search.boundary.history import Proposal
from cubisect.search.boundary.planner import Planner, Rules
from cubisect.search.boundary.sobol import Explorer, uniform_rows
from cubisect.search.distributions import distributions
from cubisect.search.plan import COST, FIXED_PARAMS, KIND, OUTCOME, TrialPlan, plan_of, write_plan
from cubisect.space import Space
from cubisect.trial import Origin

FINISHED = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)


class SpaceSampler(BaseSampler):  # type: ignore[misc]  # Optuna is not typed
    """What all samplers over a space share: the whole point is drawn at once, and its plan is written down."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._distributions = distributions(space)

    def infer_relative_search_space(
        self,
        study: optuna.Study,  # noqa: ARG002
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        """Return every varied axis."""
        return self._distributions

    def sample_relative(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the coordinates of the next point; nothing for an enqueued trial, which has its own."""
        if FIXED_PARAMS in trial.system_attrs:
            write_plan(study, trial, TrialPlan(origin=Origin.ENQUEUED))
            return {}
        params, plan = self.choose(study, trial)
        write_plan(study, trial, plan)
        return params

    def sample_independent(
        self,
        study: optuna.Study,  # noqa: ARG002
        trial: FrozenTrial,  # noqa: ARG002
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Refuse: a parameter that is not an axis of the space, or over another range, is a mistake of the caller."""
        expected = self._distributions.get(param_name, "no axis that is varied")
        raise InputError(
            f"{param_name}: the study asks for {param_distribution}, the space has {expected}; "
            "ask with study.ask(distributions(space))"
        )

    def choose(self, study: optuna.Study, trial: FrozenTrial) -> tuple[dict[str, Any], TrialPlan]:
        """Return coordinates and plan of the next point."""
        raise NotImplementedError


class ExploreSampler(SpaceSampler):
    """Points uniform over the feasible space: a scrambled Sobol sequence, or independent draws."""

    def __init__(self, space: Space, seed: int, *, sobol: bool = True) -> None:
        super().__init__(space)
        self._seed, self._sobol = seed, sobol
        self._encoding = Encoding(space)
        self._explorer = Explorer(self._encoding, seed)
        self._counted: dict[str, tuple[int, int]] = {}  # study: trials looked at, and explored among them

    def choose(self, study: optuna.Study, trial: FrozenTrial) -> tuple[dict[str, Any], TrialPlan]:
        """Return the next point of the sequence: as many as were explored before it, enqueued trials not counted."""
        row = self._explorer.point(self._explored(study, trial)) if self._sobol else self._random(trial.number)
        return self._encoding.coordinates(row), TrialPlan(origin=Origin.EXPLORE)

    def _explored(self, study: optuna.Study, trial: FrozenTrial) -> int:
        """Return how many trials before this one were explored."""
        seen, explored = self._counted.get(study.study_name, (0, 0))
        earlier = study.get_trials(deepcopy=False)[seen : trial.number]
        explored += sum(plan_of(t).origin is Origin.EXPLORE for t in earlier)
        self._counted[study.study_name] = (trial.number, explored)
        return explored

    def _random(self, number: int) -> Float:
        return random_row(self._encoding, np.random.default_rng([self._seed, number]))


def random_row(encoding: Encoding, rng: np.random.Generator) -> Float:
    """Return one uniform feasible row."""
    for _ in range(10_000):
        rows = uniform_rows(encoding, rng, 64)
        if len(rows):
            return np.asarray(rows[0])
    raise InputError("hardly any point of this space is feasible; widen an axis with --vary AXIS=LO:HI")


class FeasibleTPESampler(SpaceSampler):
    """Optuna's TPE on the severity of outcomes: it climbs to failures and stays there; for comparison.

    An infeasible proposal is drawn again. The generator is seeded anew for every trial, so that a resumed study goes
    on as it would have.
    """

    STARTUP = 20
    ATTEMPTS = 64

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space)
        self._seed = seed
        self._encoding = Encoding(space)

    def choose(self, study: optuna.Study, trial: FrozenTrial) -> tuple[dict[str, Any], TrialPlan]:
        """Return a feasible proposal of TPE; a uniform point while there is nothing to model, or none is feasible."""
        rng = np.random.default_rng([self._seed, trial.number])
        for _ in range(self.ATTEMPTS):
            inner = TPESampler(n_startup_trials=self.STARTUP, multivariate=True, seed=int(rng.integers(1 << 31)))
            params = inner.sample_relative(study, trial, self._distributions)
            if not params:
                break
            row = self._encoding.row(params)
            if self._encoding.feasible(row[None, :])[0]:
                return self._encoding.coordinates(row), TrialPlan(origin=Origin.MODEL)
        return self._encoding.coordinates(random_row(self._encoding, rng)), TrialPlan(origin=Origin.EXPLORE)


class BoundarySampler(SpaceSampler):
    """Maps failure regions: spends trials where outcomes change, and goes on exploring.

    Args:
        space: what is searched; the study must be asked with its `distributions`.
        seed: with the order of results it determines every proposal.
        stream: tells joined processes apart that search one space with one seed, so that no two explore the same
            points; a resumed process keeps its own.
        rules: switches parts off, for measurements.

    Trials tell what happened in the user attributes of `plan.tell_outcome`; without them a value other than 0 is a
    failure. Trials of other processes take part once they are in the study. FAIL trials are ignored.
    """

    def __init__(self, space: Space, seed: int = 0, *, stream: int = 0, rules: Rules | None = None) -> None:
        super().__init__(space)
        self._seed, self._rules = seed if not stream else hash_pair(seed, stream), rules
        self._lock = threading.Lock()
        self._begin("")

    def choose(self, study: optuna.Study, trial: FrozenTrial) -> tuple[dict[str, Any], TrialPlan]:
        """Return what the planner proposes after all that the study has been told."""
        with self._lock:
            if study.study_name != self._study_name:
                self._begin(study.study_name)
            self._learn(study)
            proposal = self._planner.propose(trial.number)
        plan = TrialPlan(origin=proposal.origin, purpose=proposal.purpose, parent=proposal.parent)
        return self._planner.encoding.coordinates(proposal.row), plan

    def _begin(self, study_name: str) -> None:
        self._study_name = study_name
        self._planner = Planner(self.space, self._seed, self._rules)
        self._unfinished: set[int] = set()
        self._seen = 0

    def _learn(self, study: optuna.Study) -> None:
        """Pass every trial that ended since the last time to the planner, in the order in which they ended."""
        trials = study.get_trials(deepcopy=False)
        self._unfinished.update(range(self._seen, len(trials)))
        self._seen = len(trials)
        ended = [trials[number] for number in self._unfinished if trials[number].state in FINISHED]
        for trial in sorted(ended, key=lambda t: (t.datetime_complete, t.number)):
            self._unfinished.discard(trial.number)
            self._learn_one(trial)

    def _learn_one(self, trial: FrozenTrial) -> None:
        history = self._planner.history
        plan = plan_of(trial)
        known = history.pending.get(trial.number)
        if known is None and set(trial.params) != set(self._distributions):
            return  # ended before its point was known
        row = known.row if known is not None else self._planner.encoding.row(trial.params)
        proposal = Proposal(row, plan.origin, plan.purpose, plan.parent)
        if trial.state is TrialState.COMPLETE:
            history.told(trial.number, proposal, failure_kind(trial), float(trial.user_attrs.get(COST, 0.0)))
        else:
            history.dropped(trial.number, proposal)


def hash_pair(seed: int, stream: int) -> int:
    """Return a seed for one of several streams."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def failure_kind(trial: FrozenTrial) -> str | None:
    """Return what distinguishes a completed trial's failure; None when it passed."""
    outcome = trial.user_attrs.get(OUTCOME)
    if outcome is None:
        return "failed" if any(trial.values) else None
    return str(trial.user_attrs.get(KIND, outcome)) if Outcome(outcome) in FAILURES else None


SAMPLERS: Mapping[str, Callable[[Space, int], BaseSampler]] = MappingProxyType(
    {
        "boundary": BoundarySampler,
        "sobol": ExploreSampler,
        "tpe": FeasibleTPESampler,
        "random": lambda space, seed: ExploreSampler(space, seed, sobol=False),
    }
)
"""Every sampler by its name on the command line."""


def make_sampler(name: str, space: Space, seed: int) -> BaseSampler:
    """Return the sampler called `name`; raise `InputError` that lists the names."""
    if name not in SAMPLERS:
        raise InputError(f"--sampler {name}: unknown; allowed are {choices(SAMPLERS)}")
    return SAMPLERS[name](space, seed)
