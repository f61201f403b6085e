"""Running chosen batches outside a search: replays, controls, and the probes of `isolate`, `shrink` and `analyze`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cubisect.search.machine import Machine, engine_for, resolve
from cubisect.search.recorder import Recorder, run_plans
from cubisect.space import Space
from cubisect.store import REPLAYS, Campaign, NewCampaign, Plan, Store, TrialRecord
from cubisect.trial import Method, Purpose, TrialSpec, derive_seed


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A batch to run again. A recorded `parent` gets the runs into its own campaign.

    With `resample` every run draws another batch of the same point; with `control` every batch is run as ordered copies
    of its descriptors too.
    """

    spec: TrialSpec
    driver: str = "auto"
    parent: TrialRecord | None = None
    resample: bool = False
    control: bool = False


def replay_batch(
    store: Store,
    request: Replay,
    *,
    times: int,
    machine: Machine,
    on_note: Callable[[str], None],
    on_record: Callable[[TrialRecord], None],
) -> list[TrialRecord]:
    """Run the batch `times` times, each in a fresh process, and return the records; controls are in between."""
    campaign = _campaign(store, request, machine, on_note)
    parent = request.parent if request.parent and request.parent.campaign == campaign.name else None
    plans = list(_plans(request, times, parent))
    return run_on_machine(store, campaign, plans, machine, on_record)


def run_on_machine(
    store: Store,
    campaign: Campaign,
    plans: Sequence[Plan],
    machine: Machine,
    on_record: Callable[[TrialRecord], None] | None = None,
) -> list[TrialRecord]:
    """Run planned trials of a campaign on this machine and return the records in the order of the plans."""
    recorder = Recorder(store, campaign, engine_for(campaign, machine, store))
    try:
        return run_plans(recorder, plans, on_record)
    finally:
        recorder.close()


def _plans(request: Replay, times: int, parent: TrialRecord | None) -> Iterator[Plan]:
    """Yield the runs; each has its own chance."""
    start = datetime.now(UTC).isoformat()
    number = None if parent is None else parent.number
    for run in range(times):
        spec = replace(request.spec, run_seed=derive_seed(request.spec.seed, Purpose.REPLAY, start, run))
        if request.resample:
            spec = replace(spec, seed=derive_seed(spec.seed, "resample", start, run), descriptors=None)
        yield Plan(spec=spec, purpose=Purpose.REPLAY, parent=number)
        if request.control:
            control = replace(spec, method=Method.PERCOPY)
            yield Plan(spec=control, purpose=Purpose.REPLAY, parent=number)


def _campaign(store: Store, request: Replay, machine: Machine, on_note: Callable[[str], None]) -> Campaign:
    """Return the parent's campaign, or a new one for a batch that has none or is run on another driver."""
    resolved = resolve(request.driver, machine)
    if resolved.note:
        on_note(resolved.note)
    if request.parent is not None and request.driver == request.parent.driver:
        return store.campaign(request.parent.campaign)
    made = store.create_campaign(
        NewCampaign(
            name=f"replay-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}",
            driver=resolved.name,
            simulated=resolved.simulated,
            seed=request.spec.seed,
            space=replace(Space.default(), base=request.spec.point),
            sampler=REPLAYS,
            budget=1,
            settings={},
            environment=resolved.environment,
        )
    )
    on_note(f"recorded as campaign {made.name}: `bisect trials {made.name}`")
    return made
