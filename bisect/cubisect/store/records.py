"""What goes into the store and what comes out of it: plain records, no database objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from cubisect.outcome import Evidence, Outcome, Signature, Verdict
from cubisect.space import Space
from cubisect.store import codec
from cubisect.trial import Origin, Purpose, TrialSpec

REPLAYS = "none"
"""The sampler of a campaign that holds replays alone: nothing is searched for, and what ran is its budget."""


@dataclass(frozen=True, kw_only=True)
class NewCampaign:
    """A campaign to be recorded. `settings` and `environment` are JSON-able."""

    name: str
    driver: str
    simulated: bool
    seed: int
    space: Space
    sampler: str
    budget: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Campaign(NewCampaign):
    """A recorded campaign."""

    id: int
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class CampaignSummary:
    """A campaign in a list: its budget, how many trials count against it, how they ended, and how many run now.

    One of replays alone counts its replays, which are all its budget.
    """

    name: str
    driver: str
    simulated: bool
    sampler: str
    budget: int
    done: int
    running: int
    outcomes: Mapping[Outcome, int]
    created_at: datetime

    @property
    def replays_alone(self) -> bool:
        """Whether it holds what `bisect replay` ran of a batch that belongs to no campaign."""
        return self.sampler == REPLAYS


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A trial that is about to start."""

    spec: TrialSpec
    purpose: Purpose
    origin: Origin | None = None
    parent: int | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a trial ended. `environment` is where it ran, None for the campaign's own."""

    evidence: Evidence
    verdict: Verdict
    signature: Signature | None = None
    features: Mapping[str, int | float] = field(default_factory=dict)
    lane: int = 0
    gpu: str | None = None
    tainted: bool = False
    environment: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A recorded trial. Everything about its end is None (or 0) while it is running.

    `parent` is the number of the trial that this one repeats or controls, `finished` counts the campaign's finished
    trials up to this one, `owner` is the process that ran it. `environment_id` is None where it ran in the campaign's
    own environment; `Store.environment_of` tells either.
    """

    campaign: str
    driver: str
    simulated: bool
    number: int
    state: str
    spec: TrialSpec
    purpose: Purpose
    origin: Origin | None
    parent: int | None
    owner: str
    finished: int | None = None
    outcome: Outcome | None = None
    reason: str | None = None
    cuda_error: int | None = None
    cuda_error_name: str | None = None
    fail_index: int | None = None
    phase: str | None = None
    repetition_reached: int | None = None
    signature: str | None = None
    signature_title: str | None = None
    wall_s: float = 0.0
    gpu: str | None = None
    lane: int | None = None
    tainted: bool = False
    environment_id: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    features: Mapping[str, int | float] = field(default_factory=dict)
    evidence_json: Mapping[str, Any] | None = None

    @property
    def ref(self) -> str:
        """The trial's name on the command line: ``CAMPAIGN/NUMBER``."""
        return f"{self.campaign}/{self.number}"

    @property
    def batch_size(self) -> tuple[int, int]:
        """Descriptors and bytes of the batch as submitted; as planned while a workload's are not known yet."""
        count = int(self.features.get("submitted_descriptors", 0)) // self.spec.repetition
        octets = int(self.features.get("submitted_bytes", 0)) // self.spec.repetition
        return count or self.spec.descriptor_count, octets or self.spec.total_bytes

    @cached_property
    def evidence(self) -> Evidence | None:
        """What was seen, None while the trial is running."""
        return None if self.evidence_json is None else codec.evidence_from_json(self.evidence_json)
