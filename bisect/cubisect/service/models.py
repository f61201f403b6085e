"""What the HTTP API answers with."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """Base of all answers: read from the attributes of records, never changed."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class ProgressModel(Model):
    """Where a campaign stands; also what the event stream sends.

    `done` counts conclusive trials against the budget; `running_here` says that this server runs it.
    """

    name: str
    budget: int
    done: int
    running: int = Field(description="trials running now, in any process")
    running_here: bool
    complete: bool
    outcomes: dict[str, int]
    controls: dict[str, int]
    message: str | None = Field(None, description="why the campaign ended early, when this server ran it")


class CampaignModel(ProgressModel):
    """One campaign."""

    driver: str
    simulated: bool = Field(description="the driver is a fault model: nothing here is a finding about CUDA")
    seed: int
    sampler: str
    created_at: datetime | None
    environment: dict[str, Any]
    space: dict[str, Any]


class TrialModel(Model):
    """One trial."""

    trial: str
    number: int
    simulated: bool
    purpose: str
    origin: str | None
    parent: int | None
    method: str
    outcome: str | None
    reason: str | None
    cuda_error: int | None
    fail_index: int | None
    phase: str | None
    repetition_reached: int | None
    signature: str | None
    signature_title: str | None
    wall_s: float | None
    gpu: str | None
    tainted: bool | None
    seed: int
    point: dict[str, Any]


class TrialDetailModel(TrialModel):
    """One trial with its evidence, and how the same batch ended as per-descriptor copies."""

    evidence: dict[str, Any] | None
    features: dict[str, Any]
    controls: dict[str, int]
    replicates: dict[str, int]
    replay: str


class ViewModel(Model):
    """A part of the map's plane, in coordinates (log2 of the value on a log side)."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float


class CellModel(Model):
    """The trials of one cell: by outcome; row 0 is at the bottom. `only` is the trial's number when it is alone."""

    column: int
    row: int
    counts: dict[str, int]
    total: int
    failing: int
    worst: str
    only: int | None


class MapModel(Model):
    """The failure map over a view."""

    simulated: bool
    x: str
    y: str
    view: ViewModel
    columns: int
    rows: int
    trials: int
    outside: int
    cells: list[CellModel]


class ProblemModel(Model):
    """What went wrong, and what to do, in one line."""

    detail: str
