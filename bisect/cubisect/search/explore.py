"""From what a person asks for to a running campaign: `bisect explore` as a function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cubisect.engines.base import Engine
from cubisect.errors import InputError
from cubisect.isolation.resolve import Resolved
from cubisect.search.campaign import CampaignLoop, Listener, Progress
from cubisect.search.machine import Machine, engine_for
from cubisect.search.recorder import Recorder
from cubisect.search.reported import reported_points
from cubisect.search.samplers import SAMPLERS, make_sampler
from cubisect.space import Point, Space
from cubisect.store import REPLAYS, Campaign, NewCampaign, Store
from cubisect.trial import derive_seed


@dataclass(frozen=True, kw_only=True)
class NewRequest:
    """A campaign to be created."""

    space: Space
    driver: str = "auto"
    budget: int = 500
    seed: int = 0
    sampler: str = "boundary"
    name: str | None = None
    enqueue: Sequence[Point] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `InputError` unless budget and sampler are allowed."""
        check_budget(self.budget)
        if self.sampler not in SAMPLERS:
            raise InputError(f"--sampler {self.sampler}: unknown; allowed are {', '.join(SAMPLERS)}")


def new_campaign(store: Store, request: NewRequest, resolved: Resolved, *, now: datetime | None = None) -> Campaign:
    """Record a new campaign and return it.

    Raises:
        InputError: the name is taken.
    """
    reported = [point for point in reported_points(request.space) if point not in request.enqueue]
    enqueued = [*request.enqueue, *reported]
    return store.create_campaign(
        NewCampaign(
            name=request.name or _default_name(resolved.name, now or datetime.now(UTC)),
            driver=resolved.name,
            simulated=resolved.simulated,
            seed=request.seed,
            space=request.space,
            sampler=request.sampler,
            budget=request.budget,
            settings={**request.settings, "enqueue": [point.values() for point in enqueued]},
            environment=resolved.environment,
        )
    )


def resume_campaign(store: Store, name: str, *, budget: int | None = None) -> Campaign:
    """Return a recorded campaign, its budget extended where one is given.

    Raises:
        InputError: there is no such campaign, it holds replays alone, or the budget is smaller than what is already
            recorded.
    """
    campaign = store.campaign(name)
    if campaign.sampler == REPLAYS:
        raise InputError(f"campaign {name} holds replays and searches for nothing; type `bisect replay {name}/1`")
    if budget is not None and budget != campaign.budget:
        check_budget(budget)
        campaign = store.extend_budget(campaign, budget)
    return campaign


def run_campaign(store: Store, campaign: Campaign, machine: Machine, listener: Listener | None = None) -> Progress:
    """Run the campaign on this machine until its budget is spent."""
    return run_on(store, campaign, engine_for(campaign, machine, store), machine, listener)


def run_on(
    store: Store, campaign: Campaign, engine: Engine, machine: Machine, listener: Listener | None = None
) -> Progress:
    """Run the campaign on an engine, which is closed at the end."""
    store.release_lost(campaign)
    joined = not store.take_lead(campaign)
    seed = derive_seed(campaign.seed, "joined", store.owner) if joined else campaign.seed
    enqueued = [] if joined else campaign.settings.get("enqueue", [])
    loop = CampaignLoop(
        store,
        campaign,
        Recorder(store, campaign, engine),
        make_sampler(campaign.sampler, campaign.space, seed),
        seed=seed,
        enqueue=[Point(**values) for values in enqueued],
        controls=machine.controls,
        listener=listener,
    )
    return loop.run()


def check_budget(budget: int) -> None:
    """Raise `InputError` unless the budget is a positive number of trials."""
    if budget < 1:
        raise InputError(f"--budget {budget}: a budget is at least 1 trial; try --budget 500")


def _default_name(driver: str, now: datetime) -> str:
    slug = "".join(c if c.isalnum() else "-" for c in driver.removeprefix("sim:"))
    return f"{slug}-{now:%Y%m%d-%H%M%S}"
