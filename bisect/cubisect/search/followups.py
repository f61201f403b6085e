"""Fresh trials that a recorded campaign calls for: the witness test of monotonicity, and matched controls."""

from collections.abc import Callable
from dataclasses import replace

from cubisect.analysis.control import ControlPlan, plan_control
from cubisect.analysis.witness import WitnessPair, plan_witness_test
from cubisect.errors import InputError
from cubisect.search.explore import Machine
from cubisect.search.replays import run_on_machine
from cubisect.space import Point
from cubisect.store import Campaign, Plan, Store, TrialRecord
from cubisect.trial import Method, Purpose, TrialSpec, derive_seed

OnRecord = Callable[[TrialRecord], None]


def run_witness_test(
    store: Store, campaign: Campaign, budget: int, machine: Machine, on_record: OnRecord | None = None
) -> list[TrialRecord]:
    """Spend `budget` fresh trials on whether more of an axis can make failures go away; return the records.

    Raises:
        InputError: nothing in the campaign fails, so there is nothing to test.
    """
    pairs = plan_witness_test(store.frame(campaign), campaign.space, budget, seed=campaign.seed)
    if not pairs:
        raise InputError(
            f"{campaign.name}: no failing trial to test from; type `bisect explore --resume {campaign.name}`"
        )
    return run_on_machine(store, campaign, _witness_plans(campaign, pairs), machine, on_record)


def run_controls(
    store: Store,
    campaign: Campaign,
    machine: Machine,
    *,
    budget: int,
    trial: TrialRecord | None = None,
    on_record: OnRecord | None = None,
) -> list[TrialRecord]:
    """Run failing batches both ways, as one call and as one copy per descriptor, in turn; return the records.

    Raises:
        InputError: nothing in the campaign fails.
    """
    if trial is not None:
        chosen = [ControlPlan(parent=trial.number, runs=max(budget // 2, 1))]
    else:
        chosen = plan_control(store.frame(campaign), budget)
    if not chosen:
        raise InputError(
            f"{campaign.name}: no failing trial to control; type `bisect explore --resume {campaign.name}`"
        )
    plans = [plan for control in chosen for plan in _control_plans(store, campaign, control)]
    return run_on_machine(store, campaign, plans, machine, on_record)


def _witness_plans(campaign: Campaign, pairs: list[WitnessPair]) -> list[Plan]:
    """Return the runs of every pair, both sides in turn, a new batch each time."""

    def plan(pair: WitnessPair, point: Point, run: int, side: str) -> Plan:
        seed = derive_seed(campaign.seed, "witness", pair.parent, pair.axis, side, run)
        spec = TrialSpec.at(point, seed=seed, run_seed=derive_seed(seed, "run"))
        return Plan(spec=spec, purpose=Purpose.TEST, origin=None, parent=pair.parent)

    return [
        plan(pair, point, run, side)
        for pair in pairs
        for run in range(pair.runs)
        for side, point in (("low", pair.low), ("high", pair.high))
    ]


def _control_plans(store: Store, campaign: Campaign, control: ControlPlan) -> list[Plan]:
    spec = store.trial(f"{campaign.name}/{control.parent}").spec
    return [
        Plan(
            spec=replace(spec, method=method, run_seed=derive_seed(spec.run_seed, "paired", method, run)),
            purpose=Purpose.CONTROL,
            origin=None,
            parent=control.parent,
        )
        for run in range(control.runs)
        for method in (Method.BATCH, Method.PERCOPY)
    ]
