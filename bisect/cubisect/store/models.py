"""The schema. A change here needs a revision in `migrations/versions`."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from cubisect.space import AXES, Axis, CategoricalAxis

RowId = BigInteger().with_variant(Integer, "sqlite")
"""SQLite makes only a plain INTEGER primary key its row id."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment, always in UTC; SQLite keeps no time zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the moment in UTC, without its zone."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the moment with its zone."""
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Base of every table."""


class EnvironmentRow(Base):
    """A fingerprint of GPU, driver, host and packages; equal ones are one row, found by `digest`."""

    __tablename__ = "environments"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    fingerprint: Mapped[dict[str, Any]] = mapped_column(JSON)


class CampaignRow(Base):
    """A campaign and its counters, which are only changed while the row is locked.

    `claimed` counts trials that run or have run against the budget, `next_number` is the next trial's number,
    `finished` counts finished trials.
    """

    __tablename__ = "campaigns"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    driver: Mapped[str] = mapped_column(String(200))
    simulated: Mapped[bool] = mapped_column(Boolean)
    seed: Mapped[int] = mapped_column(BigInteger)
    space: Mapped[dict[str, Any]] = mapped_column(JSON)
    sampler: Mapped[str] = mapped_column(String(50))
    budget: Mapped[int] = mapped_column(Integer)
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    environment_id: Mapped[int] = mapped_column(ForeignKey("environments.id"))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    claimed: Mapped[int] = mapped_column(Integer, default=0)
    next_number: Mapped[int] = mapped_column(Integer, default=1)
    finished: Mapped[int] = mapped_column(Integer, default=0)


class BatchRow(Base):
    """Explicit descriptors, packed by `Descriptors.pack`; equal ones are one row, found by `digest`."""

    __tablename__ = "batches"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    packed: Mapped[str] = mapped_column(Text)


class TrialRow(Base):
    """One trial. Beside these columns there is one per axis of the space, under the axis's name.

    `state` is ``running``, ``done``, or ``lost`` when the process that ran it is gone. `environment_id` is None where
    it ran in the campaign's own environment.
    """

    __tablename__ = "trials"
    __table_args__ = (
        UniqueConstraint("campaign_id", "number"),
        Index("ix_trials_finished", "campaign_id", "finished"),
        Index("ix_trials_state", "campaign_id", "state"),
        Index("ix_trials_outcome", "campaign_id", "outcome"),
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id"))
    number: Mapped[int] = mapped_column(Integer)
    state: Mapped[str] = mapped_column(String(10))
    simulated: Mapped[bool] = mapped_column(Boolean)
    purpose: Mapped[str] = mapped_column(String(20))
    origin: Mapped[str | None] = mapped_column(String(20))
    parent: Mapped[int | None] = mapped_column(Integer)
    method: Mapped[str] = mapped_column(String(10))
    seed: Mapped[int] = mapped_column(BigInteger)
    run_seed: Mapped[int] = mapped_column(BigInteger)
    batch_digest: Mapped[str | None] = mapped_column(ForeignKey("batches.digest"))
    owner: Mapped[str] = mapped_column(String(100))
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished: Mapped[int | None] = mapped_column(Integer)
    outcome: Mapped[str | None] = mapped_column(String(20))
    reason: Mapped[str | None] = mapped_column(Text)
    cuda_error: Mapped[int | None] = mapped_column(Integer)
    cuda_error_name: Mapped[str | None] = mapped_column(String(100))
    fail_index: Mapped[int | None] = mapped_column(BigInteger)
    phase: Mapped[str | None] = mapped_column(String(10))
    repetition_reached: Mapped[int | None] = mapped_column(Integer)
    signature: Mapped[str | None] = mapped_column(String(12))
    signature_title: Mapped[str | None] = mapped_column(Text)
    wall_s: Mapped[float | None] = mapped_column(Float)
    gpu: Mapped[str | None] = mapped_column(String(100))
    lane: Mapped[int | None] = mapped_column(Integer)
    tainted: Mapped[bool] = mapped_column(Boolean, default=False)
    environment_id: Mapped[int | None] = mapped_column(ForeignKey("environments.id"))
    features: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    evidence: Mapped[dict[str, Any] | None] = mapped_column(JSON)


class CalibrationRow(Base):
    """A measured constant of one driver on one GPU, for predicting how long a trial takes."""

    __tablename__ = "calibration"

    driver: Mapped[str] = mapped_column(String(200), primary_key=True)
    gpu: Mapped[str] = mapped_column(String(100), primary_key=True)
    name: Mapped[str] = mapped_column(String(50), primary_key=True)
    value: Mapped[float] = mapped_column(Float)


def _type_of(axis: Axis) -> Any:
    if isinstance(axis, CategoricalAxis):
        kinds = {type(value) for value in axis.values}
        return Boolean() if kinds == {bool} else Integer() if kinds == {int} else String(50)
    return BigInteger() if axis.integer else Float()


for _axis in AXES.values():
    setattr(TrialRow, _axis.name, mapped_column(_axis.name, _type_of(_axis), nullable=False))
