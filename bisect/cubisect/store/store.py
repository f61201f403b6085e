"""The store: campaigns and trials, recorded so that nothing finished is ever lost and nothing counts twice.

A trial's row is written before it starts and completed when it ends; each is one short transaction that first locks
the campaign's row, so that several processes share one budget exactly.
"""

import difflib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
from sqlalchemy import Select, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.outcome import CrashEvidence, Outcome
from cubisect.space import Point, Space
from cubisect.store import codec
from cubisect.store.database import open_engine
from cubisect.store.frame import columns_of, frame_of
from cubisect.store.models import BatchRow, CalibrationRow, CampaignRow, EnvironmentRow, TrialRow
from cubisect.store.owner import is_gone, this_process
from cubisect.store.records import Campaign, CampaignSummary, NewCampaign, Plan, Result, TrialRecord
from cubisect.trial import BUDGETED, Method, Origin, Purpose, TrialSpec

LEASE = timedelta(seconds=120)
"""How long a silent process keeps its running trials, when it cannot be seen to be gone."""

HEARTBEAT_S = 15.0
"""Seconds between renewals of the lease."""

MOST_DIGITS = 9
"""A trial's number has no more: it is a 32-bit integer."""

RUNNING, DONE, LOST = "running", "done", "lost"


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """One open database. `now` gives the time in UTC; `owner` names the process that runs trials.

    `engine` is for this room alone.
    """

    def __init__(self, url: str, *, create: bool, now: Callable[[], datetime], owner: str) -> None:
        self.url, self.owner, self._now = url, owner, now
        self.engine = open_engine(url, create=create)
        self._writing = self.engine.execution_options(writes=True)
        self._beat_at = time.monotonic()

    @classmethod
    def open(
        cls, url: str, *, create: bool = False, now: Callable[[], datetime] = _now, owner: str | None = None
    ) -> "Store":
        """Open a database by URL or path, migrating an older one.

        Raises:
            StoreError: it cannot be opened, is foreign, is newer than this program, or is missing and not to be made.
        """
        return cls(url, create=create, now=now, owner=owner or this_process())

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    # -- campaigns -----------------------------------------------------------------------------------------------------

    def create_campaign(self, new: NewCampaign) -> Campaign:
        """Record a campaign.

        Raises:
            InputError: the name is taken or empty.
        """
        if not new.name or "/" in new.name or new.name.isdigit():
            raise InputError(f"campaign name {new.name!r}: use letters, digits and dashes, not digits alone, no slash")
        try:
            with self._write() as session:
                row = CampaignRow(
                    name=new.name, driver=new.driver, simulated=new.simulated, seed=new.seed,
                    space=new.space.to_json(), sampler=new.sampler, budget=new.budget, settings=dict(new.settings),
                    environment_id=_environment_id(session, new.environment), created_at=self._now(),
                    claimed=0, next_number=1, finished=0,
                )  # fmt: skip
                session.add(row)
                session.flush()
                return _campaign(row, new.environment)
        except IntegrityError as error:
            raise InputError(
                f"campaign {new.name!r} exists; go on with it by `bisect explore --resume {new.name}`, or give another "
                "--name"
            ) from error

    def campaign(self, name: str | None = None) -> Campaign:
        """Return a campaign by name, the latest when no name is given.

        Raises:
            InputError: there is no such campaign.
        """
        with self._read() as session:
            query = select(CampaignRow, EnvironmentRow).join(EnvironmentRow)
            query = query.where(CampaignRow.name == name) if name else query.order_by(CampaignRow.id.desc()).limit(1)
            found = session.execute(query).first()
            if found is None:
                names = list(session.scalars(select(CampaignRow.name).order_by(CampaignRow.id.desc())))
                raise InputError(_unknown_campaign(name, names))
            return _campaign(found[0], found[1].fingerprint)

    def campaigns(self) -> list[CampaignSummary]:
        """Return every campaign with its outcome counts, the latest first."""
        budgeted = [str(purpose) for purpose in BUDGETED]
        with self._read() as session:
            counts: dict[int, dict[Outcome, int]] = {}
            grouped = (
                select(TrialRow.campaign_id, TrialRow.outcome, func.count())
                .where(TrialRow.state == DONE, TrialRow.purpose.in_(budgeted), TrialRow.tainted.is_(False))
                .group_by(TrialRow.campaign_id, TrialRow.outcome)
            )
            for campaign_id, outcome, count in session.execute(grouped):
                counts.setdefault(campaign_id, {})[Outcome(outcome or Outcome.INCONCLUSIVE)] = count
            live = select(TrialRow.campaign_id, func.count()).where(TrialRow.state == RUNNING)
            running = dict(session.execute(live.group_by(TrialRow.campaign_id)).all())
            rows = session.scalars(select(CampaignRow).order_by(CampaignRow.id.desc())).all()
            return [_summary(row, counts.get(row.id, {}), running.get(row.id, 0)) for row in rows]

    def extend_budget(self, campaign: Campaign, budget: int) -> Campaign:
        """Change the budget and return the campaign with the new one.

        Raises:
            InputError: more trials than that are recorded already.
        """
        with self._write() as session:
            row = _locked(session, campaign)
            if budget < row.claimed:
                raise InputError(f"--budget {budget}: {campaign.name} has {row.claimed} trials already; give more")
            row.budget = budget
        return self.campaign(campaign.name)

    # -- running trials ------------------------------------------------------------------------------------------------

    def budget_left(self, campaign: Campaign) -> int:
        """Return how many more trials the budget allows, those that are running counted as spent."""
        with self._read() as session:
            row = session.get_one(CampaignRow, campaign.id)
            return max(row.budget - row.claimed, 0)

    def begin_trial(self, campaign: Campaign, plan: Plan) -> TrialRecord | None:
        """Record a trial that is about to start, and return it; None when the budget is spent."""
        with self._write() as session:
            owner = _locked(session, campaign)
            if _counts(plan.purpose, plan.spec.method):
                if owner.claimed >= owner.budget:
                    return None
                owner.claimed += 1
            row = TrialRow(
                campaign_id=campaign.id, number=owner.next_number, state=RUNNING, simulated=campaign.simulated,
                purpose=str(plan.purpose), origin=None if plan.origin is None else str(plan.origin),
                parent=plan.parent, method=str(plan.spec.method), seed=plan.spec.seed, run_seed=plan.spec.run_seed,
                batch_digest=_batch_digest(session, plan.spec.descriptors), owner=self.owner,
                lease_expires_at=self._now() + LEASE, started_at=self._now(), tainted=False,
                **plan.spec.values(),
            )  # fmt: skip
            owner.next_number += 1
            session.add(row)
            session.flush()
            return _record(row, campaign, plan.spec.descriptors)

    def finish_trial(self, campaign: Campaign, number: int, result: Result) -> TrialRecord:
        """Complete a running trial and return it. A trial that was taken for lost stays lost."""
        verdict, signature, evidence = result.verdict, result.signature, result.evidence
        with self._write() as session:
            owner = _locked(session, campaign)
            row = session.scalars(_one(campaign, number)).one()
            if row.state != RUNNING:
                return _record(row, campaign, _descriptors(session, row))
            owner.finished += 1
            row.state, row.finished, row.ended_at, row.lease_expires_at = DONE, owner.finished, self._now(), None
            row.outcome, row.reason = str(verdict.outcome), verdict.reason
            row.cuda_error, row.cuda_error_name = verdict.cuda_error, verdict.cuda_error_name
            row.fail_index = verdict.fail_index
            row.phase, row.repetition_reached = evidence.phase.label, evidence.repetition
            row.signature = None if signature is None else signature.key
            row.signature_title = None if signature is None else signature.title
            row.wall_s, row.gpu, row.lane, row.tainted = evidence.wall_s, result.gpu, result.lane, result.tainted
            row.features, row.evidence = dict(result.features), codec.evidence_to_json(evidence)
            spoiled = verdict.outcome is Outcome.INCONCLUSIVE or result.tainted
            if spoiled and _counts(Purpose(row.purpose), Method(row.method)):
                owner.claimed -= 1
            session.flush()
            return _record(row, campaign, _descriptors(session, row))

    def set_frames(self, campaign: Campaign, number: int, frames: Sequence[str]) -> None:
        """Record where a trial failed, as module + offset, innermost first.

        The signature stays as it is: trials that nobody has diagnosed must still count as the same fault.
        """
        with self._write() as session:
            row = session.scalars(_one(campaign, number)).one()
            evidence = codec.evidence_from_json(row.evidence or {})
            crash = replace(evidence.crash or CrashEvidence(), frames=tuple(frames))
            row.evidence = codec.evidence_to_json(replace(evidence, crash=crash))

    def taint(self, campaign: Campaign, numbers: Iterable[int]) -> int:
        """Mark finished trials as told by an unfit GPU, so that they count no more; return how many were marked."""
        with self._write() as session:
            owner = _locked(session, campaign)
            query = select(TrialRow).where(TrialRow.campaign_id == campaign.id, TrialRow.number.in_(list(numbers)))
            rows = list(session.scalars(query.where(TrialRow.state == DONE, TrialRow.tainted.is_(False))))
            for row in rows:
                row.tainted = True
                counted = row.outcome != Outcome.INCONCLUSIVE and _counts(Purpose(row.purpose), Method(row.method))
                owner.claimed -= counted
            return len(rows)

    def heartbeat(self, campaign: Campaign) -> None:
        """Renew the lease on this process's running trials, at most every `HEARTBEAT_S`."""
        if time.monotonic() - self._beat_at < HEARTBEAT_S:
            return
        self._beat_at = time.monotonic()
        with self._write() as session:
            session.execute(
                update(TrialRow)
                .where(*_running_of(campaign), TrialRow.owner == self.owner)
                .values(lease_expires_at=self._now() + LEASE)
            )

    def others_running(self, campaign: Campaign) -> int:
        """Return how many trials other processes are running."""
        query = select(func.count()).where(*_running_of(campaign), TrialRow.owner != self.owner)
        with self._read() as session:
            return session.scalar(query) or 0

    def release_lost(self, campaign: Campaign) -> int:
        """Mark running trials of processes that are gone, or silent for too long, as lost; return how many."""
        now = self._now()
        return self._lose(
            campaign, lambda row: is_gone(row.owner) or row.lease_expires_at is None or row.lease_expires_at < now
        )

    def give_back(self, campaign: Campaign) -> int:
        """Mark this process's running trials as lost, since it will not finish them; return how many."""
        return self._lose(campaign, lambda row: row.owner == self.owner)

    def _lose(self, campaign: Campaign, is_lost: Callable[[TrialRow], bool]) -> int:
        with self._write() as session:
            owner = _locked(session, campaign)
            rows = [row for row in session.scalars(select(TrialRow).where(*_running_of(campaign))) if is_lost(row)]
            for row in rows:
                row.state, row.lease_expires_at, row.ended_at = LOST, None, self._now()
                owner.claimed -= _counts(Purpose(row.purpose), Method(row.method))
            return len(rows)

    # -- reading -------------------------------------------------------------------------------------------------------

    def trial(self, ref: str) -> TrialRecord:
        """Return the trial ``CAMPAIGN/NUMBER``, or ``NUMBER`` within the latest campaign.

        Raises:
            InputError: it is written otherwise, or there is no such trial.
        """
        name, _, digits = ref.rpartition("/")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS) or "/" in name:
            raise InputError(f"trial {ref!r}: write CAMPAIGN/NUMBER, or a number within the latest campaign")
        campaign = self.campaign(name or None)
        with self._read() as session:
            row = session.scalars(_one(campaign, int(digits))).one_or_none()
            if row is None:
                last = session.get_one(CampaignRow, campaign.id).next_number - 1
                raise InputError(f"trial {digits}: campaign {campaign.name} has trials 1 to {last}")
            return _record(row, campaign, _descriptors(session, row))

    def trials(
        self,
        campaign: Campaign,
        *,
        outcomes: Iterable[Outcome] | None = None,
        purposes: Iterable[Purpose] | None = None,
        numbers: Iterable[int] | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[TrialRecord]:
        """Return trials in the order of their numbers; with `limit` the first (or the newest) so many."""
        query = select(TrialRow).where(TrialRow.campaign_id == campaign.id, TrialRow.state != LOST)
        if outcomes is not None:
            query = query.where(TrialRow.outcome.in_([str(outcome) for outcome in outcomes]))
        if purposes is not None:
            query = query.where(TrialRow.purpose.in_([str(purpose) for purpose in purposes]))
        if numbers is not None:
            query = query.where(TrialRow.number.in_(list(numbers)))
        query = query.order_by(TrialRow.number.desc() if newest_first else TrialRow.number).limit(limit)
        return self._records(campaign, query)

    def finished_after(self, campaign: Campaign, finished: int) -> list[TrialRecord]:
        """Return the trials that finished after the campaign's `finished`-th, in that order."""
        query = select(TrialRow).where(TrialRow.campaign_id == campaign.id, TrialRow.finished > finished)
        return self._records(campaign, query.order_by(TrialRow.finished))

    def frame(self, campaign: Campaign) -> pd.DataFrame:
        """Return every finished trial as a row; the columns are told in ``docs/architecture.md``."""
        with self.engine.connect() as connection:
            return frame_of(connection, campaign)

    def columns(self, campaign: Campaign, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns of `frame`, axes and features among them, in a fraction of the time."""
        with self.engine.connect() as connection:
            return columns_of(connection, campaign, names)

    def _records(self, campaign: Campaign, query: Select[TrialRow]) -> list[TrialRecord]:
        with self._read() as session:
            return [_record(row, campaign, _descriptors(session, row)) for row in session.scalars(query)]

    # -- calibration ---------------------------------------------------------------------------------------------------

    def calibration(self, driver: str, gpu: str) -> dict[str, float]:
        """Return the measured constants of a driver on a GPU, empty when there are none."""
        with self._read() as session:
            query = select(CalibrationRow).where(CalibrationRow.driver == driver, CalibrationRow.gpu == gpu)
            return {row.name: row.value for row in session.scalars(query)}

    def save_calibration(self, driver: str, gpu: str, constants: Mapping[str, float]) -> None:
        """Record measured constants, replacing older ones of the same names."""
        with self._write() as session:
            for name, value in constants.items():
                session.merge(CalibrationRow(driver=driver, gpu=gpu, name=name, value=value))

    @contextmanager
    def _read(self) -> Iterator[Session]:
        with Session(self.engine) as session:
            yield session

    @contextmanager
    def _write(self) -> Iterator[Session]:
        with Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session


# -- rows and records ---------------------------------------------------------------------------------------------


def _counts(purpose: Purpose, method: Method) -> bool:
    return purpose in BUDGETED and method is Method.BATCH


def _locked(session: Session, campaign: Campaign) -> CampaignRow:
    """Return the campaign's row, locked until the transaction ends (SQLite locks the whole file by itself)."""
    return session.scalars(select(CampaignRow).where(CampaignRow.id == campaign.id).with_for_update()).one()


def _one(campaign: Campaign, number: int) -> Select[TrialRow]:
    return select(TrialRow).where(TrialRow.campaign_id == campaign.id, TrialRow.number == number)


def _running_of(campaign: Campaign) -> Sequence[Any]:
    return TrialRow.campaign_id == campaign.id, TrialRow.state == RUNNING


def _environment_id(session: Session, fingerprint: Mapping[str, Any]) -> int:
    text = json.dumps(fingerprint, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    row = session.scalars(select(EnvironmentRow).where(EnvironmentRow.digest == digest)).one_or_none()
    if row is None:
        row = EnvironmentRow(digest=digest, fingerprint=json.loads(text))
        session.add(row)
        session.flush()
    return row.id


def _batch_digest(session: Session, descriptors: Descriptors | None) -> str | None:
    if descriptors is None:
        return None
    packed = descriptors.pack()
    digest = hashlib.sha256(packed.encode()).hexdigest()
    if session.get(BatchRow, digest) is None:
        session.add(BatchRow(digest=digest, packed=packed))
        session.flush()
    return digest


def _descriptors(session: Session, row: TrialRow) -> Descriptors | None:
    return None if row.batch_digest is None else Descriptors.unpack(session.get_one(BatchRow, row.batch_digest).packed)


def _campaign(row: CampaignRow, environment: Mapping[str, Any]) -> Campaign:
    return Campaign(
        id=row.id, name=row.name, driver=row.driver, simulated=row.simulated, seed=row.seed,
        space=Space.from_json(row.space), sampler=row.sampler, budget=row.budget, settings=row.settings,
        environment=environment, created_at=row.created_at,
    )  # fmt: skip


def _summary(row: CampaignRow, outcomes: Mapping[Outcome, int], running: int) -> CampaignSummary:
    done = sum(count for outcome, count in outcomes.items() if outcome is not Outcome.INCONCLUSIVE)
    return CampaignSummary(
        name=row.name, driver=row.driver, simulated=row.simulated, sampler=row.sampler, budget=row.budget,
        done=done, running=running, outcomes=outcomes, created_at=row.created_at,
    )  # fmt: skip


_SAME_NAMED = tuple(
    f.name for f in fields(TrialRecord)
    if hasattr(TrialRow, f.name) and f.name not in {"purpose", "origin", "outcome", "wall_s", "features", "simulated"}
)  # fmt: skip


def _record(row: TrialRow, campaign: Campaign, descriptors: Descriptors | None) -> TrialRecord:
    point = {name: getattr(row, name) for name in Point.AXIS_NAMES}
    spec = TrialSpec(
        **point, number=row.number, seed=row.seed, run_seed=row.run_seed, method=Method(row.method),
        descriptors=descriptors,
    )  # fmt: skip
    return TrialRecord(
        **{name: getattr(row, name) for name in _SAME_NAMED},
        campaign=campaign.name,
        driver=campaign.driver,
        simulated=row.simulated,
        spec=spec,
        purpose=Purpose(row.purpose),
        origin=None if row.origin is None else Origin(row.origin),
        outcome=None if row.outcome is None else Outcome(row.outcome),
        wall_s=row.wall_s or 0.0,
        features=row.features or {},
        evidence_json=row.evidence,
    )


def _unknown_campaign(name: str | None, names: Sequence[str]) -> str:
    if not names:
        return "no campaign is recorded yet; type `bisect explore` to run one"
    near = difflib.get_close_matches(name or "", names, n=3) or list(names[:5])
    return f"no campaign {name!r}; there are {', '.join(near)}{', …' if len(names) > len(near) else ''}"
