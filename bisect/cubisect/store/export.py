"""Handing records on: one campaign into another database, and the trials of a campaign as a table."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, inspect, select
from sqlalchemy.orm import Session

from cubisect.errors import InputError, StoreError
from cubisect.store.database import open_engine, shown_url
from cubisect.store.models import BatchRow, CampaignRow, EnvironmentRow, TrialRow
from cubisect.store.records import Campaign
from cubisect.store.rows import TRIALS
from cubisect.store.store import LEAD, Store

if TYPE_CHECKING:
    import pandas as pd

_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s\"':,()/]+/)+")
"""The folders of an absolute path; the file's name stays, for it says which code was running."""

DIGITS = 12
"""So much of an environment's digest tells it from others."""

PART = 1000
"""So many trials are copied at a time: the evidence of a large campaign does not fit into memory."""


def copy_campaign(store: Store, campaign: Campaign, url: str) -> int:
    """Copy a campaign with all its trials into another database, made where it is missing; return the trials copied.

    What names a machine stays behind: folders in stacks, and the process that ran a trial.

    Raises:
        InputError: the other database has a campaign of this name.
        StoreError: it cannot be opened.
    """
    try:
        target = open_engine(url, create=True)
    except StoreError as error:  # which speaks of the option that names a database elsewhere
        raise StoreError(str(error).replace("--db", "-o")) from error
    there = shown_url(target.url)
    with Session(store.engine) as source, Session(target.execution_options(writes=True)) as sink, sink.begin():
        row = source.get_one(CampaignRow, campaign.id)
        if sink.scalars(select(CampaignRow).where(CampaignRow.name == row.name)).first() is not None:
            raise InputError(f"{there} has a campaign {row.name!r} already; copy it into another database")
        ids = {row.environment_id, *_found(source, row, TrialRow.environment_id)}
        environments = {id_: _copied_environment(source, sink, id_) for id_ in ids}
        settings = {name: value for name, value in row.settings.items() if name != LEAD}
        values = {**_values(row, without={"id"}), "settings": settings}
        copied = CampaignRow(**{**values, "environment_id": environments[row.environment_id]})
        sink.add(copied)
        sink.flush()
        for digest in _found(source, row, TrialRow.batch_digest):
            sink.merge(BatchRow(**_values(source.get_one(BatchRow, digest))))
        sink.flush()
        count = _copy_trials(source, sink, row, copied, environments)
    if target.dialect.name == "sqlite":
        with target.connect() as connection:
            raw: Any = connection.connection.driver_connection
            connection.rollback()
            raw.execute("PRAGMA journal_mode=DELETE")  # one file, which can be read where nothing may be written
    target.dispose()
    return count


def _found(source: Session, campaign: CampaignRow, column: Any) -> set[Any]:
    """Return what the campaign's trials have in a column."""
    return set(
        source.scalars(select(column).where(TrialRow.campaign_id == campaign.id, column.is_not(None)).distinct())
    )


def _copy_trials(
    source: Session, sink: Session, campaign: CampaignRow, copied: CampaignRow, environments: Mapping[int, int]
) -> int:
    """Copy the trials, some at a time, and return how many there were."""
    query = select(TRIALS).where(TRIALS.c.campaign_id == campaign.id).order_by(TRIALS.c.number)
    count = 0
    for part in source.execute(query.execution_options(yield_per=PART)).mappings().partitions():
        rows = [{name: value for name, value in row.items() if name != "id"} for row in part]
        for row in rows:
            row |= {"campaign_id": copied.id, "owner": "copied:0:0", "evidence": without_folders(row["evidence"])}
            row["environment_id"] = environments.get(row["environment_id"])
        sink.execute(insert(TRIALS), rows)
        count += len(rows)
    return count


def _copied_environment(source: Session, sink: Session, id_: int) -> int:
    """Return the row of an environment in the other database, made where it is missing."""
    environment = source.get_one(EnvironmentRow, id_)
    known = sink.scalars(select(EnvironmentRow).where(EnvironmentRow.digest == environment.digest)).one_or_none()
    row = known or EnvironmentRow(**_values(environment, without={"id"}))
    sink.add(row)
    sink.flush()
    return row.id


def trial_table(store: Store, campaign: Campaign) -> "pd.DataFrame":
    """Return `Store.frame` with what tells its rows from those of other campaigns, and measured from simulated.

    `environment` is short for the fingerprint of where a trial ran; equal ones are equal in every database.
    """
    import pandas as pd  # noqa: PLC0415  (which most commands can do without)

    frame = store.frame(campaign)
    where = store.columns(campaign, ["number", "environment_id"]).set_index("number")["environment_id"]
    with Session(store.engine) as session:
        own = session.get_one(CampaignRow, campaign.id).environment_id
        ids = {own, *map(int, where.dropna().unique())}
        digests = {id_: session.get_one(EnvironmentRow, id_).digest[:DIGITS] for id_ in ids}
    about: dict[str, Any] = {
        "campaign": campaign.name,
        "driver": campaign.driver,
        "simulated": campaign.simulated,
        "environment": frame["number"].map(where).fillna(own).map(digests),
    }
    return pd.concat([frame.assign(**about)[list(about)], frame], axis=1)


def write_csv(store: Store, campaign: Campaign, path: Path) -> int:
    """Write every finished trial as a line of a CSV file, and return how many; what is not known is empty.

    Raises:
        InputError: the file is there already, or cannot be written.
    """
    return _written(trial_table(store, campaign), path, lambda table, file: table.to_csv(file, index=False))


def write_parquet(store: Store, campaign: Campaign, path: Path) -> int:
    """Write every finished trial as a row of a Parquet file (extra `parquet`), and return how many.

    Raises:
        InputError: pyarrow is not installed, the file is there already, or it cannot be written.
    """
    try:
        return _written(trial_table(store, campaign), path, lambda table, file: table.to_parquet(file, index=False))
    except ImportError as error:
        raise InputError("Parquet needs pyarrow; type pip install 'cubisect[parquet]', or export to CSV") from error


def _written(table: "pd.DataFrame", path: Path, write: "Callable[[pd.DataFrame, Path], None]") -> int:
    """Write a file that appears when it is complete."""
    if path.exists():
        raise InputError(f"-o {path}: is there already; name a new file, or remove it")
    part = path.with_name(f"{path.name}.part")
    try:
        write(table, part)
        part.rename(path)
    except OSError as error:
        raise InputError(f"-o {path}: {error.strerror or error}; name a file in a folder that exists") from error
    finally:
        part.unlink(missing_ok=True)
    return len(table)


def without_folders(data: Any) -> Any:
    """Return JSON-able data with the folders cut from every absolute path in its texts."""
    if isinstance(data, str):
        return _FOLDERS.sub("", data)
    if isinstance(data, Mapping):
        return {key: without_folders(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_folders(item) for item in data]
    return data


def _values(row: Any, *, without: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    names = [attribute.key for attribute in inspect(type(row)).column_attrs]
    return {name: getattr(row, name) for name in names if name not in without}
