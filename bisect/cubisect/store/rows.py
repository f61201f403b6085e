"""Between rows and records: the statements that a running campaign repeats, and what is made of the rows they return.

The statements are plain SQL of SQLAlchemy's core, built once: the unit of work of its ORM costs a trial more than the
database does.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Integer,
    Select,
    Table,
    bindparam,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from cubisect.batch import Descriptors
from cubisect.outcome import Outcome
from cubisect.space import Point, Space
from cubisect.store import codec
from cubisect.store.models import BatchRow, CampaignRow, EnvironmentRow, TrialRow
from cubisect.store.records import REPLAYS, Campaign, CampaignSummary, Plan, Result, TrialRecord
from cubisect.trial import BUDGETED, Method, Origin, Purpose, TrialSpec

RUNNING, DONE, LOST = "running", "done", "lost"


def _table(row: Any) -> Table:
    table: Table = row.__table__
    return table


BATCHES, CAMPAIGNS, ENVIRONMENTS, TRIALS = map(_table, (BatchRow, CampaignRow, EnvironmentRow, TrialRow))

LONG_COLUMNS = frozenset({"evidence", "features"})
"""The JSON of a trial, which is most of its row; left out where nobody needs it."""

_SHORT = [column for column in TRIALS.c if column.name not in LONG_COLUMNS]

# Each write locks the campaign's row before a trial's, so that two processes never wait for each other in a circle.

CLAIM = (
    update(CAMPAIGNS)
    .where(
        CAMPAIGNS.c.id == bindparam("campaign"),
        or_(CAMPAIGNS.c.claimed < CAMPAIGNS.c.budget, bindparam("counts", type_=Integer) == 0),
    )
    .values(claimed=CAMPAIGNS.c.claimed + bindparam("counts", type_=Integer), next_number=CAMPAIGNS.c.next_number + 1)
    .returning(CAMPAIGNS.c.next_number)
)
"""Take the next trial number, and one trial of the budget where it `counts`; no row comes back when it is spent."""

BEGIN = insert(TRIALS)

COUNT_FINISHED = (
    update(CAMPAIGNS)
    .where(CAMPAIGNS.c.id == bindparam("campaign"))
    .values(finished=CAMPAIGNS.c.finished + bindparam("by", type_=Integer))
    .returning(CAMPAIGNS.c.finished)
)
"""Count a finished trial (`by` 1), or take that back (-1); the count is its place in the order of finishing."""

GIVE_BUDGET_BACK = (
    update(CAMPAIGNS)
    .where(CAMPAIGNS.c.id == bindparam("campaign"))
    .values(claimed=CAMPAIGNS.c.claimed - bindparam("count", type_=Integer))
)

FINISH = (
    update(TRIALS)
    .where(
        TRIALS.c.campaign_id == bindparam("campaign"),
        TRIALS.c.number == bindparam("of_number"),
        TRIALS.c.state == RUNNING,
    )
    .values(
        {
            name: bindparam(name, type_=TRIALS.c[name].type)
            for name in (
                "state", "finished", "ended_at", "lease_expires_at", "outcome", "reason", "cuda_error",
                "cuda_error_name", "fail_index", "phase", "repetition_reached", "signature", "signature_title",
                "wall_s", "gpu", "lane", "tainted", "environment_id", *sorted(LONG_COLUMNS),
            )
        }
    )
    .returning(*_SHORT)
)  # fmt: skip
"""Complete a trial that is running; no row comes back when it is not."""


FINISHED_AFTER = (
    select(*_SHORT)
    .where(TRIALS.c.campaign_id == bindparam("of_campaign"), TRIALS.c.finished > bindparam("after"))
    .order_by(TRIALS.c.finished)
)


def begun_values(campaign: Campaign, plan: Plan, number: int) -> dict[str, Any]:
    """Return the columns of a trial that is about to start, but for its owner and times."""
    spec = plan.spec
    return {
        **spec.values(), "campaign_id": campaign.id, "number": number, "state": RUNNING,
        "simulated": campaign.simulated, "purpose": str(plan.purpose),
        "origin": None if plan.origin is None else str(plan.origin), "parent": plan.parent,
        "method": str(spec.method), "seed": spec.seed, "run_seed": spec.run_seed, "tainted": False,
    }  # fmt: skip


def finished_values(result: Result, finished: int, now: datetime, environment: int | None = None) -> dict[str, Any]:
    """Return the columns that the end of a trial fills in."""
    verdict, signature, evidence = result.verdict, result.signature, result.evidence
    return {
        "state": DONE, "finished": finished, "ended_at": now, "lease_expires_at": None,
        "outcome": str(verdict.outcome), "reason": verdict.reason, "cuda_error": verdict.cuda_error,
        "cuda_error_name": verdict.cuda_error_name, "fail_index": verdict.fail_index,
        "phase": evidence.phase.label, "repetition_reached": evidence.repetition,
        "signature": None if signature is None else signature.key,
        "signature_title": None if signature is None else signature.title,
        "wall_s": evidence.wall_s, "gpu": result.gpu, "lane": result.lane, "tainted": result.tainted,
        "environment_id": environment, "features": dict(result.features), "evidence": codec.evidence_to_json(evidence),
    }  # fmt: skip


def counts(purpose: str, method: str) -> bool:
    """Tell whether a trial counts against its campaign's budget."""
    return Purpose(purpose) in BUDGETED and Method(method) is Method.BATCH


def counted() -> Sequence[ColumnElement[bool]]:
    """Return the conditions under which `counts` is true of a row, or it is a replay in a campaign of replays alone."""
    replays = select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.sampler == REPLAYS)
    return (
        TRIALS.c.method == str(Method.BATCH),
        or_(
            TRIALS.c.purpose.in_(sorted(BUDGETED)),
            (TRIALS.c.purpose == str(Purpose.REPLAY)) & TRIALS.c.campaign_id.in_(replays),
        ),
    )


def lock(connection: Connection, campaign: Campaign) -> Mapping[str, Any]:
    """Return the campaign's row, locked until the transaction ends (SQLite locks the whole file by itself)."""
    query = select(CAMPAIGNS).where(CAMPAIGNS.c.id == campaign.id).with_for_update()
    return found_by(connection, query)[0]


def found_by(connection: Connection, query: Executable, **parameters: Any) -> list[dict[str, Any]]:
    """Return the rows that a query finds, each by the names of its columns."""
    result = connection.execute(query, parameters)
    names = list(result.keys())
    return [dict(zip(names, row, strict=True)) for row in result]  # `RowMapping` finds a column more slowly


def select_trials(campaign: Campaign) -> Select[Any]:
    """Return a query for the campaign's trials."""
    return select(TRIALS).where(TRIALS.c.campaign_id == campaign.id)


# -- what is kept once ---------------------------------------------------------------------------------------------


def environment_id(connection: Connection, fingerprint: Mapping[str, Any]) -> int:
    """Return the row of an environment, which is made where there is none."""
    text = json.dumps(fingerprint, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    _insert_once(connection, ENVIRONMENTS, digest=digest, fingerprint=json.loads(text))
    return int(connection.execute(select(ENVIRONMENTS.c.id).where(ENVIRONMENTS.c.digest == digest)).scalar_one())


def batch_digest(connection: Connection, descriptors: Descriptors | None) -> str | None:
    """Return the key of explicit descriptors, which are written where they are new; None for a drawn batch."""
    if descriptors is None:
        return None
    packed = descriptors.pack()
    digest = hashlib.sha256(packed.encode()).hexdigest()
    _insert_once(connection, BATCHES, digest=digest, packed=packed)
    return digest


def _insert_once(connection: Connection, table: Table, **values: Any) -> None:
    """Insert a row unless there is one with its digest; another process may insert it at the same moment."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).values(**values).on_conflict_do_nothing(index_elements=["digest"]))


def descriptors_of(connection: Connection, digests: Iterable[str | None]) -> dict[str | None, Descriptors]:
    """Return the explicit descriptors of these keys."""
    wanted = {digest for digest in digests if digest is not None}
    if not wanted:
        return {}
    rows = connection.execute(select(BATCHES).where(BATCHES.c.digest.in_(wanted)))
    return {row.digest: Descriptors.unpack(row.packed) for row in rows}


# -- records -----------------------------------------------------------------------------------------------------------


def campaign_of(row: Mapping[str, Any], environment: Mapping[str, Any]) -> Campaign:
    """Return the record of a campaign's row."""
    return Campaign(
        id=row["id"], name=row["name"], driver=row["driver"], simulated=row["simulated"], seed=row["seed"],
        space=Space.from_json(row["space"]), sampler=row["sampler"], budget=row["budget"], settings=row["settings"],
        environment=environment, created_at=row["created_at"],
    )  # fmt: skip


def summary_of(row: Mapping[str, Any], outcomes: Mapping[Outcome, int], running: int) -> CampaignSummary:
    """Return the summary of a campaign's row, with its trials counted by outcome."""
    done = sum(count for outcome, count in outcomes.items() if outcome is not Outcome.INCONCLUSIVE)
    budget = max(done, 1) if row["sampler"] == REPLAYS else row["budget"]
    return CampaignSummary(
        name=row["name"], driver=row["driver"], simulated=row["simulated"], sampler=row["sampler"],
        budget=budget, done=done, running=running, outcomes=outcomes, created_at=row["created_at"],
    )  # fmt: skip


_SAME_NAMED = tuple(
    f.name for f in fields(TrialRecord)
    if f.name in TRIALS.c and f.name not in {"purpose", "origin", "outcome", "wall_s", "features", "tainted"}
)  # fmt: skip


def record_of(row: Mapping[str, Any], campaign: Campaign, descriptors: Descriptors | None) -> TrialRecord:
    """Return the record of a trial's row; columns that the row has not are as those of a trial that runs."""
    spec = TrialSpec(
        **{name: row[name] for name in Point.AXIS_NAMES}, number=row["number"], seed=row["seed"],
        run_seed=row["run_seed"], method=Method(row["method"]), descriptors=descriptors,
    )  # fmt: skip
    origin, outcome = row["origin"], row.get("outcome")
    same: dict[str, Any] = {name: row.get(name) for name in _SAME_NAMED}
    return TrialRecord(
        **same,
        campaign=campaign.name,
        driver=campaign.driver,
        spec=spec,
        purpose=Purpose(row["purpose"]),
        origin=None if origin is None else Origin(origin),
        outcome=None if outcome is None else Outcome(outcome),
        wall_s=row.get("wall_s") or 0.0,
        tainted=bool(row.get("tainted")),
        features=row.get("features") or {},
        evidence_json=row.get("evidence"),
    )


def records_of(connection: Connection, campaign: Campaign, query: Select[Any], **parameters: Any) -> list[TrialRecord]:
    """Return the records of the trials that a query finds."""
    rows = found_by(connection, query, **parameters)
    explicit = descriptors_of(connection, (row["batch_digest"] for row in rows))
    return [record_of(row, campaign, explicit.get(row["batch_digest"])) for row in rows]
