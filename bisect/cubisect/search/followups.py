"""Fresh trials that a recorded campaign calls for: the witness test, matched controls, one factor at a time."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from cubisect.analysis.control import ControlPlan, plan_control
from cubisect.analysis.factors import Isolated, Isolation, Probe
from cubisect.analysis.witness import WitnessPair, plan_witness_test
from cubisect.errors import InputError
from cubisect.search.machine import Machine, engine_for
from cubisect.search.recorder import Recorder, told_by
from cubisect.search.replays import run_on_machine
from cubisect.space import AXES, NumericAxis, Point, Range, Value
from cubisect.store import Campaign, Plan, Store, TrialRecord
from cubisect.trial import Method, Purpose, TrialSpec, derive_seed

Domain = Range | tuple[Value, ...]
OnRecord = Callable[[TrialRecord], None]


def run_witness_test(
    store: Store, campaign: Campaign, budget: int, machine: Machine, on_record: OnRecord | None = None
) -> list[TrialRecord]:
    """Spend `budget` fresh trials on whether more of an axis can make failures go away; return the records.

    Raises:
        InputError: nothing in the campaign fails, so there is nothing to test.
    """
    frame = store.frame(campaign)
    pairs = plan_witness_test(frame, campaign.space, budget, seed=campaign.seed)
    if not pairs:
        raise InputError(
            f"{campaign.name}: no failing trial to test from; type `bisect explore --resume {campaign.name}`"
        )
    return run_on_machine(
        store,
        campaign,
        _witness_plans(campaign, pairs, tested=int((frame["purpose"] == Purpose.TEST).sum())),
        machine,
        on_record,
    )


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


def run_isolation(
    store: Store,
    campaign: Campaign,
    trial: TrialRecord,
    machine: Machine,
    isolation: Isolation,
    on_record: OnRecord | None = None,
) -> Isolated:
    """Run what `isolation` asks for around a failing trial until it is done, and return what the failure needs."""
    recorder = Recorder(store, campaign, engine_for(campaign, machine, store))
    running: dict[int, Probe] = {}
    asked = 0
    try:
        while not isolation.done:
            while recorder.has_room() and (probes := isolation.next_probes()):
                asked += 1
                running[asked] = probes[0]
                recorder.start(_probe_plan(trial, probes[0], asked), asked)
            finished = recorder.poll()
            if finished is None:
                continue
            record, tag = finished
            isolation.update(running.pop(tag or 0), told_by(record))
            if on_record is not None:
                on_record(record)
    finally:
        recorder.close()
    return isolation.result()


def isolation_domains(point: Point, only: Mapping[str, Domain | None]) -> dict[str, Domain]:
    """Return what `isolate` may try: the axes of `only` (None: all of the axis); with none named, every axis but ranks.

    Ranks need as many GPUs, or sharing, so they are tried when they are named.
    """
    held = [name for name in AXES if name not in only] if only else ["ranks"]
    domains: dict[str, Domain] = {name: domain for name, domain in only.items() if domain is not None}
    for name in held:
        own = getattr(point, name)
        domains[name] = Range(low=own, high=own) if isinstance(AXES[name], NumericAxis) else (own,)
    return domains


def _probe_plan(trial: TrialRecord, probe: Probe, run: int) -> Plan:
    own = trial.spec
    seed = derive_seed(own.seed, "isolate", trial.number, run) if probe.new_batch else own.seed
    keeps_batch = own.descriptors is not None and not probe.new_batch
    spec = TrialSpec.at(
        probe.point,
        seed=seed,
        run_seed=derive_seed(own.run_seed, "isolate", trial.number, run),
        descriptors=own.descriptors if keeps_batch else None,
    )
    return Plan(spec=spec, purpose=Purpose.ISOLATE, origin=None, parent=trial.number)


def _witness_plans(campaign: Campaign, pairs: list[WitnessPair], *, tested: int) -> list[Plan]:
    """Return the runs of every pair, both sides in turn, a new batch each time; `tested` such trials are recorded."""

    def plan(pair: WitnessPair, point: Point, run: int, side: str) -> Plan:
        seed = derive_seed(campaign.seed, "witness", pair.parent, pair.axis, side, tested + run)
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
