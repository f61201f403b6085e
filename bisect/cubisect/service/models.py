"""What the HTTP API answers with."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """Base of all answers: read from the attributes of records, never changed."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class ProgressModel(Model):
    """Where a campaign stands; also what the event stream sends."""

    name: str
    driver: str
    simulated: bool = Field(description="the driver is a fault model: nothing here is a finding about CUDA")
    sampler: str
    budget: int
    done: int = Field(description="trials that count against the budget")
    running: int = Field(description="trials running now, in any process")
    running_here: bool = Field(description="this server runs the campaign")
    complete: bool
    outcomes: dict[str, int] = Field(description="how many trials ended in which outcome")
    message: str | None = Field(None, description="why the campaign ended early, when this server ran it")
    created_at: datetime


class CampaignModel(ProgressModel):
    """One campaign, with what was asked and where it ran."""

    seed: int
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
    wall_s: float
    gpu: str | None
    tainted: bool
    seed: int
    point: dict[str, Any]


class TrialDetailModel(TrialModel):
    """One trial with its evidence, and how the same batch ended as per-descriptor copies."""

    evidence: dict[str, Any] | None
    features: dict[str, Any]
    controls: dict[str, int]
    replicates: dict[str, int]
    environment: dict[str, Any] = Field(description="where the trial ran")
    replay: str


class ViewModel(Model):
    """A part of the map's plane, in coordinates (log2 of the value on a log side)."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float


class CellModel(Model):
    """The trials of one cell, by outcome; row 0 is at the bottom.

    `only` is the trial's number when it is alone, `one_point` says that zooming in would not part the trials.
    """

    column: int
    row: int
    counts: dict[str, int]
    total: int
    failing: int
    worst: str
    only: int | None
    one_point: bool


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
