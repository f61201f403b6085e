"""The store: campaigns and trials, recorded so that nothing finished is ever lost and nothing counts twice.

A trial's row is written before it starts and completed when it ends; each is one short transaction that first locks
the campaign's row, so that several processes share one budget exactly.
"""

import difflib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cubisect.errors import InputError
from cubisect.outcome import CrashEvidence, Outcome
from cubisect.store import codec, rows
from cubisect.store.database import open_engine, reading, telling_trouble, wait_for_disk
from cubisect.store.interrupts import uninterrupted
from cubisect.store.models import CalibrationRow
from cubisect.store.owner import is_gone, this_process
from cubisect.store.records import REPLAYS, Campaign, CampaignSummary, NewCampaign, Plan, Result, TrialRecord
from cubisect.store.rows import CAMPAIGNS, DONE, ENVIRONMENTS, LOST, RUNNING, TRIALS
from cubisect.trial import Purpose

if TYPE_CHECKING:
    import pandas as pd

LEASE = timedelta(seconds=120)
"""How long a silent process keeps its running trials, when it cannot be seen to be gone."""

HEARTBEAT_S = 15.0
"""Seconds between renewals of the lease."""

MOST_DIGITS = 9
"""A trial's number has no more: it is a 32-bit integer."""

LEAD = "lead"
"""Where a campaign's settings say which process draws with the campaign's own seed, and since when."""


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """One open database. `now` gives the time in UTC, `clock` seconds; `owner` names the process that runs trials.

    Every method raises `StoreError` when the database fails it: a full disk, a server that is gone. `engine` is for
    this room alone.
    """

    def __init__(
        self, url: str, *, create: bool, now: Callable[[], datetime], clock: Callable[[], float], owner: str
    ) -> None:
        self.url, self.owner, self._now, self._clock = url, owner, now, clock
        self.engine = open_engine(url, create=create)
        self._writing = self.engine.execution_options(writes=True)
        self._reading = reading(self.engine)
        self._beat_at = clock()

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = False,
        now: Callable[[], datetime] = _now,
        clock: Callable[[], float] = time.monotonic,
        owner: str | None = None,
    ) -> "Store":
        """Open a database by URL or path, migrating an older one.

        Raises:
            StoreError: it cannot be opened, is foreign, is newer than this program, or is missing and not to be made.
        """
        return cls(url, create=create, now=now, clock=clock, owner=owner or this_process())

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
            with self._write() as connection:
                wait_for_disk(connection)
                values = {
                    "name": new.name, "driver": new.driver, "simulated": new.simulated, "seed": new.seed,
                    "space": new.space.to_json(), "sampler": new.sampler, "budget": new.budget,
                    "settings": dict(new.settings), "created_at": self._now(), "claimed": 0, "next_number": 1,
                    "finished": 0, "environment_id": rows.environment_id(connection, new.environment),
                }  # fmt: skip
                made = insert(CAMPAIGNS).values(values).returning(CAMPAIGNS)
                return rows.campaign_of(rows.found_by(connection, made)[0], new.environment)
        except IntegrityError as error:
            raise InputError(
                f"campaign {new.name!r} exists; go on with it by `bisect explore --resume {new.name}`, or give another "
                "--name"
            ) from error

    def campaign(self, name: str | None = None) -> Campaign:
        """Return a campaign by name; when no name is given the latest, of replays alone only where there is no other.

        Raises:
            InputError: there is no such campaign.
        """
        query = select(CAMPAIGNS, ENVIRONMENTS.c.fingerprint).join(ENVIRONMENTS)
        latest = CAMPAIGNS.c.sampler == REPLAYS, CAMPAIGNS.c.id.desc()
        query = query.where(CAMPAIGNS.c.name == name) if name else query.order_by(*latest).limit(1)
        with self._read() as connection:
            found = rows.found_by(connection, query)
            if not found:
                names = connection.execute(select(CAMPAIGNS.c.name).order_by(CAMPAIGNS.c.id.desc())).scalars().all()
                raise InputError(_unknown_campaign(name, names))
            return rows.campaign_of(found[0], found[0]["fingerprint"])

    def campaigns(self) -> list[CampaignSummary]:
        """Return every campaign, the latest first, with its trials of the batch call that count, by outcome."""
        grouped = (
            select(TRIALS.c.campaign_id, TRIALS.c.outcome, func.count())
            .where(TRIALS.c.state == DONE, *rows.counted(), TRIALS.c.tainted.is_(False))
            .group_by(TRIALS.c.campaign_id, TRIALS.c.outcome)
        )
        live = select(TRIALS.c.campaign_id, TRIALS.c.owner, TRIALS.c.lease_expires_at).where(TRIALS.c.state == RUNNING)
        counts: dict[int, dict[Outcome, int]] = {}
        with self._read() as connection:
            for campaign_id, outcome, count in connection.execute(grouped):
                counts.setdefault(campaign_id, {})[Outcome(outcome or Outcome.INCONCLUSIVE)] = count
            running = Counter(r["campaign_id"] for r in rows.found_by(connection, live) if not self._is_lost(r))
            found = rows.found_by(connection, select(CAMPAIGNS).order_by(CAMPAIGNS.c.id.desc()))
        return [rows.summary_of(row, counts.get(row["id"], {}), running[row["id"]]) for row in found]

    def extend_budget(self, campaign: Campaign, budget: int) -> Campaign:
        """Change the budget and return the campaign with the new one.

        Raises:
            InputError: more trials than that are recorded already.
        """
        with self._write() as connection:
            wait_for_disk(connection)
            claimed = rows.lock(connection, campaign)["claimed"]
            if budget < claimed:
                raise InputError(f"--budget {budget}: {campaign.name} has {claimed} trials already; give more")
            connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.id == campaign.id).values(budget=budget))
        return replace(campaign, budget=budget)

    # -- running trials ------------------------------------------------------------------------------------------------

    def take_lead(self, campaign: Campaign) -> bool:
        """Tell whether this process may draw with the campaign's own seed: of those that have joined, one does.

        It leads until it gives its trials back. Another may take over when it is gone, or silent for a lease.
        """
        with self._write() as connection:
            settings = rows.lock(connection, campaign)["settings"]
            lead, since = settings.get(LEAD) or (self.owner, 0.0)
            silent = since < (self._now() - LEASE).timestamp()
            if lead != self.owner and not (silent or is_gone(lead)):
                return False
            self._set_lead(connection, campaign, settings)
            return True

    def budget_left(self, campaign: Campaign) -> int:
        """Return how many more trials the budget allows, those that are running counted as spent."""
        query = select(CAMPAIGNS.c.budget - CAMPAIGNS.c.claimed).where(CAMPAIGNS.c.id == campaign.id)
        with self._read() as connection:
            return max(int(connection.execute(query).scalar_one()), 0)

    def begin_trial(self, campaign: Campaign, plan: Plan) -> TrialRecord | None:
        """Record a trial that is about to start, and return it; None when the budget is spent."""
        now = self._now()
        claim = {"campaign": campaign.id, "counts": int(rows.counts(plan.purpose, plan.spec.method))}
        with self._write() as connection:
            next_number = connection.execute(rows.CLAIM, claim).scalar()
            if next_number is None:
                return None
            values = {
                **rows.begun_values(campaign, plan, next_number - 1), "owner": self.owner, "started_at": now,
                "lease_expires_at": now + LEASE, "batch_digest": rows.batch_digest(connection, plan.spec.descriptors),
            }  # fmt: skip
            connection.execute(rows.BEGIN, values)
        return rows.record_of(values, campaign, plan.spec.descriptors)

    def finish_trial(self, campaign: Campaign, number: int, result: Result) -> TrialRecord:
        """Complete a running trial and return it. A trial that was taken for lost stays lost."""
        of = {"campaign": campaign.id}
        with self._write() as connection:
            finished = connection.execute(rows.COUNT_FINISHED, {**of, "by": 1}).scalar_one()
            values = rows.finished_values(result, finished, self._now(), _elsewhere(connection, campaign, result))
            row = connection.execute(rows.FINISH, {**values, **of, "of_number": number}).mappings().one_or_none()
            if row is None:
                connection.execute(rows.COUNT_FINISHED, {**of, "by": -1})
                query = rows.select_trials(campaign).where(TRIALS.c.number == number)
                return rows.records_of(connection, campaign, query)[0]
            spoiled = result.verdict.outcome is Outcome.INCONCLUSIVE or result.tainted
            if spoiled and rows.counts(row["purpose"], row["method"]):
                connection.execute(rows.GIVE_BUDGET_BACK, {**of, "count": 1})
            explicit = rows.descriptors_of(connection, [row["batch_digest"]])
        return rows.record_of({**row, **values}, campaign, explicit.get(row["batch_digest"]))

    def set_frames(self, campaign: Campaign, number: int, frames: Sequence[str]) -> None:
        """Record where a trial failed, as module + offset, innermost first.

        The signature stays as it is: trials that nobody has diagnosed must still count as the same fault.
        """
        of_trial = TRIALS.c.campaign_id == campaign.id, TRIALS.c.number == number
        with self._write() as connection:
            wait_for_disk(connection)
            rows.lock(connection, campaign)
            found = connection.execute(select(TRIALS.c.evidence).where(*of_trial)).scalar_one()
            evidence = codec.evidence_from_json(found or {})
            crash = replace(evidence.crash or CrashEvidence(), frames=tuple(frames))
            changed = codec.evidence_to_json(replace(evidence, crash=crash))
            connection.execute(update(TRIALS).where(*of_trial).values(evidence=changed))

    def taint(self, campaign: Campaign, numbers: Iterable[int]) -> int:
        """Mark finished trials as told by an unfit GPU, so that they count no more; return how many were marked."""
        chosen = (
            TRIALS.c.campaign_id == campaign.id, TRIALS.c.number.in_(list(numbers)), TRIALS.c.state == DONE,
            TRIALS.c.tainted.is_(False),
        )  # fmt: skip
        marked = update(TRIALS).where(*chosen).values(tainted=True)
        with self._write() as connection:
            wait_for_disk(connection)
            rows.lock(connection, campaign)
            found = connection.execute(marked.returning(TRIALS.c.purpose, TRIALS.c.method, TRIALS.c.outcome)).all()
            told = [row for row in found if row.outcome != Outcome.INCONCLUSIVE]
            _give_back(connection, campaign, sum(rows.counts(row.purpose, row.method) for row in told))
            return len(found)

    def heartbeat(self, campaign: Campaign) -> None:
        """Renew the lease on this process's running trials, at most every `HEARTBEAT_S`."""
        if self._clock() - self._beat_at < HEARTBEAT_S:
            return
        self._beat_at = self._clock()
        mine = (*_running_of(campaign), TRIALS.c.owner == self.owner)
        with self._write() as connection:
            settings = rows.lock(connection, campaign)["settings"]
            if self._leads(settings):
                self._set_lead(connection, campaign, settings)
            connection.execute(update(TRIALS).where(*mine).values(lease_expires_at=self._now() + LEASE))

    def others_running(self, campaign: Campaign) -> int:
        """Return how many trials other processes are running."""
        query = select(func.count()).where(*_running_of(campaign), TRIALS.c.owner != self.owner)
        with self._read() as connection:
            return connection.execute(query).scalar_one()

    def release_lost(self, campaign: Campaign) -> int:
        """Mark running trials of processes that are gone, or silent for too long, as lost; return how many."""
        return self._lose(campaign, self._is_lost)

    def _is_lost(self, row: Mapping[str, Any]) -> bool:
        return is_gone(row["owner"]) or row["lease_expires_at"] is None or row["lease_expires_at"] < self._now()

    def give_back(self, campaign: Campaign) -> int:
        """Mark this process's running trials as lost, since it will not finish them; return how many.

        It leads the campaign no more either.
        """
        given_back = self._lose(campaign, lambda row: row["owner"] == self.owner)
        with self._write() as connection:
            settings = rows.lock(connection, campaign)["settings"]
            if self._leads(settings):
                rest = {name: value for name, value in settings.items() if name != LEAD}
                connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.id == campaign.id).values(settings=rest))
        return given_back

    def _leads(self, settings: Mapping[str, Any]) -> bool:
        return bool(settings.get(LEAD)) and settings[LEAD][0] == self.owner

    def _set_lead(self, connection: Connection, campaign: Campaign, settings: Mapping[str, Any]) -> None:
        changed = {**settings, LEAD: [self.owner, self._now().timestamp()]}
        connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.id == campaign.id).values(settings=changed))

    def _lose(self, campaign: Campaign, is_lost: Callable[[Mapping[str, Any]], bool]) -> int:
        running = select(
            TRIALS.c.number, TRIALS.c.owner, TRIALS.c.lease_expires_at, TRIALS.c.purpose, TRIALS.c.method
        ).where(*_running_of(campaign))
        with self._read() as connection:  # mostly nothing is lost, and nothing need be locked
            if not any(map(is_lost, rows.found_by(connection, running))):
                return 0
        with self._write() as connection:
            rows.lock(connection, campaign)
            lost = [row for row in rows.found_by(connection, running) if is_lost(row)]
            numbers = [row["number"] for row in lost]
            connection.execute(
                update(TRIALS)
                .where(TRIALS.c.campaign_id == campaign.id, TRIALS.c.number.in_(numbers))
                .values(state=LOST, lease_expires_at=None, ended_at=self._now())
            )
            _give_back(connection, campaign, sum(rows.counts(row["purpose"], row["method"]) for row in lost))
            return len(lost)

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
        with self._read() as connection:
            query = rows.select_trials(campaign).where(TRIALS.c.number == int(digits))
            found = rows.records_of(connection, campaign, query)
            if not found:
                last = select(CAMPAIGNS.c.next_number - 1).where(CAMPAIGNS.c.id == campaign.id)
                count = connection.execute(last).scalar_one()
                of_another = "" if name else f"; write CAMPAIGN/{digits} for another's, see `bisect campaigns`"
                raise InputError(f"trial {digits}: {_latest(name)} {campaign.name} has {_numbers(count)}{of_another}")
            return found[0]

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
        query = rows.select_trials(campaign).where(TRIALS.c.state != LOST)
        if outcomes is not None:
            query = query.where(TRIALS.c.outcome.in_([str(outcome) for outcome in outcomes]))
        if purposes is not None:
            query = query.where(TRIALS.c.purpose.in_([str(purpose) for purpose in purposes]))
        if numbers is not None:
            query = query.where(TRIALS.c.number.in_(list(numbers)))
        query = query.order_by(TRIALS.c.number.desc() if newest_first else TRIALS.c.number).limit(limit)
        with self._read() as connection:
            return rows.records_of(connection, campaign, query)

    def finished_after(self, campaign: Campaign, finished: int) -> list[TrialRecord]:
        """Return the trials that finished after the campaign's `finished`-th, in that order.

        Their evidence and features are left out: a search reads every trial of the campaign here.
        """
        with self._read() as connection:
            return rows.records_of(connection, campaign, rows.FINISHED_AFTER, of_campaign=campaign.id, after=finished)

    def environment_of(self, record: TrialRecord) -> Mapping[str, Any]:
        """Return the environment in which a trial ran."""
        if record.environment_id is None:
            return self.campaign(record.campaign).environment
        query = select(ENVIRONMENTS.c.fingerprint).where(ENVIRONMENTS.c.id == record.environment_id)
        with self._read() as connection:
            found: Mapping[str, Any] = connection.execute(query).scalar_one()
            return found

    def frame(self, campaign: Campaign) -> "pd.DataFrame":
        """Return every finished trial as a row; the columns are told in ``docs/architecture.md``."""
        from cubisect.store.frame import frame_of  # noqa: PLC0415  (pandas, which most commands can do without)

        with self._read() as connection:
            return frame_of(connection, campaign)

    def columns(self, campaign: Campaign, names: Sequence[str]) -> "pd.DataFrame":
        """Return some columns of `frame`, axes and features among them, in a fraction of the time."""
        from cubisect.store.frame import columns_of  # noqa: PLC0415  (as above)

        with self._read() as connection:
            return columns_of(connection, campaign, names)

    # -- calibration ---------------------------------------------------------------------------------------------------

    def calibration(self, driver: str, gpu: str) -> dict[str, float]:
        """Return the measured constants of a driver on a GPU, empty when there are none."""
        query = select(CalibrationRow.name, CalibrationRow.value)
        query = query.where(CalibrationRow.driver == driver, CalibrationRow.gpu == gpu)
        with self._read() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def save_calibration(self, driver: str, gpu: str, constants: Mapping[str, float]) -> None:
        """Record measured constants, replacing older ones of the same names."""
        with self._write() as connection, Session(connection) as session:
            for name, value in constants.items():
                session.merge(CalibrationRow(driver=driver, gpu=gpu, name=name, value=value))
            session.flush()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with telling_trouble(self.engine, "read"), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with uninterrupted(), telling_trouble(self.engine, "written"), self._writing.begin() as connection:
            yield connection


def _running_of(campaign: Campaign) -> Sequence[ColumnElement[bool]]:
    return TRIALS.c.campaign_id == campaign.id, TRIALS.c.state == RUNNING


def _elsewhere(connection: Connection, campaign: Campaign, result: Result) -> int | None:
    """Return the row of the environment in which a trial ran, None for the campaign's own."""
    if result.environment is None or result.environment == campaign.environment:
        return None
    return rows.environment_id(connection, result.environment)


def _give_back(connection: Connection, campaign: Campaign, count: int) -> None:
    """Return `count` trials to the budget of a campaign."""
    connection.execute(rows.GIVE_BUDGET_BACK, {"campaign": campaign.id, "count": count})


def _latest(name: str) -> str:
    return "campaign" if name else "the latest campaign"


def _numbers(count: int) -> str:
    return f"trials 1 to {count}" if count else "no trial yet"


def _unknown_campaign(name: str | None, names: Sequence[str]) -> str:
    if not names:
        return "no campaign is recorded yet; type `bisect explore` to run one"
    near = difflib.get_close_matches(name or "", names, n=3) or list(names[:5])
    return f"no campaign {name!r}; there are {', '.join(near)}{', …' if len(names) > len(near) else ''}"
