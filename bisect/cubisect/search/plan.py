"""What a trial of an Optuna study is for, and how its outcome is told.

Optuna knows parameters and values. A campaign also needs to know who chose a point and whether an old batch or an old
point is to be run again; the sampler writes that into the trial's system attributes when the trial is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from cubisect.errors import InputError
from cubisect.outcome import SEVERITY, Outcome, Verdict
from cubisect.search.distributions import distributions
from cubisect.space import Coordinate, Space
from cubisect.trial import Origin, Purpose

OUTCOME, KIND, COST = "outcome", "kind", "cost_s"
"""User attributes of a told trial: `Outcome`, what distinguishes it among failures, and its wall time in seconds."""

PLAN = "cubisect:plan"
FIXED_PARAMS = "fixed_params"
"""Where Optuna keeps the parameters of an enqueued trial."""


@dataclass(frozen=True, kw_only=True)
class TrialPlan:
    """Who chose a trial's point, and why it is run.

    `parent` is the number of the study's trial whose batch is repeated (replicate: same point and seed) or whose point
    is drawn anew (resample: same point, new seed); None for every other trial.
    """

    origin: Origin
    purpose: Purpose = Purpose.SEARCH
    parent: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able description."""
        return {"origin": self.origin.value, "purpose": self.purpose.value, "parent": self.parent}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TrialPlan":
        """Return the plan that `to_json` described."""
        return cls(origin=Origin(data["origin"]), purpose=Purpose(data["purpose"]), parent=data["parent"])


def plan_of(trial: optuna.Trial | FrozenTrial) -> TrialPlan:
    """Return the plan of an asked or recorded trial; one that another sampler chose was chosen by a model."""
    frozen = trial if isinstance(trial, FrozenTrial) else trial.study.get_trials(deepcopy=False)[trial.number]
    attributes = frozen.system_attrs
    if PLAN in attributes:
        return TrialPlan.from_json(attributes[PLAN])
    return TrialPlan(origin=Origin.ENQUEUED if FIXED_PARAMS in attributes else Origin.MODEL)


def write_plan(study: optuna.Study, trial: FrozenTrial, plan: TrialPlan) -> None:
    """Attach the plan to a trial that is being created.

    Optuna has no public way to do so from within a sampler; its own samplers reach for the storage as well.
    """
    study._storage.set_trial_system_attr(trial._trial_id, PLAN, plan.to_json())  # noqa: SLF001


def tell_outcome(
    study: optuna.Study,
    trial: optuna.Trial,
    result: Outcome | Verdict,
    *,
    cost_s: float = 0.0,
    kind: str | None = None,
) -> None:
    """Tell how a trial ended, after `cost_s` seconds; an inconclusive one is FAIL and teaches a sampler nothing.

    `kind` tells failures apart where the outcome alone does not; by default a verdict's CUDA error does so. The value
    told is the severity, in the direction in which the study looks for failures.
    """
    outcome = result.outcome if isinstance(result, Verdict) else result
    trial.set_user_attr(OUTCOME, outcome.value)
    trial.set_user_attr(KIND, kind or kind_of(outcome, result.cuda_error if isinstance(result, Verdict) else None))
    trial.set_user_attr(COST, cost_s)
    if outcome is Outcome.INCONCLUSIVE:
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, _value(study.directions, outcome))


def recorded_trial(
    space: Space,
    params: Mapping[str, Coordinate],
    outcome: Outcome,
    *,
    origin: Origin,
    purpose: Purpose = Purpose.SEARCH,
    parent: int | None = None,
    cost_s: float = 0.0,
    kind: str | None = None,
    direction: StudyDirection = StudyDirection.MINIMIZE,
) -> FrozenTrial:
    """Return a finished trial for ``study.add_trial``; `params` are coordinates of the varied axes.

    A study to which the trials are added in the order in which they ended makes the same proposals as the one that
    asked for them.
    """
    conclusive = outcome is not Outcome.INCONCLUSIVE
    return create_trial(
        state=TrialState.COMPLETE if conclusive else TrialState.FAIL,
        values=[_value([direction], outcome)] if conclusive else None,
        params=dict(params),
        distributions=distributions(space),
        user_attrs={OUTCOME: outcome.value, KIND: kind or outcome.value, COST: cost_s},
        system_attrs={PLAN: TrialPlan(origin=origin, purpose=purpose, parent=parent).to_json()},
    )


def kind_of(outcome: Outcome, cuda_error: int | None) -> str:
    """Return what tells failures apart: the outcome, and the CUDA error where there is one."""
    return outcome.value if cuda_error is None else f"{outcome.value} {cuda_error}"


def _value(directions: list[StudyDirection], outcome: Outcome) -> float:
    if len(directions) != 1:
        raise InputError(f"a study with {len(directions)} objectives cannot be told outcomes; create it with one")
    severity = float(SEVERITY[outcome])
    return severity if directions[0] is StudyDirection.MAXIMIZE else -severity
