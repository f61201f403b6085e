"""Handing records on: one campaign into another database, and the trials of a campaign as a table."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from cubisect.errors import InputError
from cubisect.store.database import open_engine
from cubisect.store.models import BatchRow, CampaignRow, EnvironmentRow, TrialRow
from cubisect.store.records import Campaign
from cubisect.store.store import Store

_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s\"':,()/]+/)+")
"""The folders of an absolute path; the file's name stays, for it says which code was running."""


def copy_campaign(store: Store, campaign: Campaign, url: str) -> int:
    """Copy a campaign with all its trials into another database, made where it is missing; return the trials copied.

    What names a machine stays behind: folders in stacks, and the process that ran a trial.

    Raises:
        InputError: the other database has a campaign of this name.
    """
    target = open_engine(url, create=True)
    with Session(store.engine) as source, Session(target.execution_options(writes=True)) as sink, sink.begin():
        row = source.get_one(CampaignRow, campaign.id)
        if sink.scalars(select(CampaignRow).where(CampaignRow.name == row.name)).first() is not None:
            raise InputError(f"{url} has a campaign {row.name!r} already; copy it into another database")
        trials = source.scalars(select(TrialRow).where(TrialRow.campaign_id == row.id).order_by(TrialRow.number)).all()
        elsewhere = {trial.environment_id for trial in trials if trial.environment_id is not None}
        environments = {id_: _copied_environment(source, sink, id_) for id_ in {row.environment_id, *elsewhere}}
        copied = CampaignRow(**{**_values(row, without={"id"}), "environment_id": environments[row.environment_id]})
        sink.add(copied)
        sink.flush()
        for digest in {trial.batch_digest for trial in trials if trial.batch_digest is not None}:
            sink.merge(BatchRow(**_values(source.get_one(BatchRow, digest))))
        for trial in trials:
            values = {**_values(trial, without={"id"}), "campaign_id": copied.id, "owner": "copied:0:0"}
            where = None if trial.environment_id is None else environments[trial.environment_id]
            sink.add(TrialRow(**{**values, "environment_id": where, "evidence": without_folders(trial.evidence)}))
    if target.dialect.name == "sqlite":
        with target.connect() as connection:
            raw: Any = connection.connection.driver_connection
            connection.rollback()
            raw.execute("PRAGMA journal_mode=DELETE")  # one file, which can be read where nothing may be written
    target.dispose()
    return len(trials)


def _copied_environment(source: Session, sink: Session, id_: int) -> int:
    """Return the row of an environment in the other database, made where it is missing."""
    environment = source.get_one(EnvironmentRow, id_)
    known = sink.scalars(select(EnvironmentRow).where(EnvironmentRow.digest == environment.digest)).one_or_none()
    row = known or EnvironmentRow(**_values(environment, without={"id"}))
    sink.add(row)
    sink.flush()
    return row.id


def export_parquet(store: Store, campaign: Campaign, path: Path) -> None:
    """Write every finished trial as a row of a Parquet file (extra `parquet`).

    Raises:
        InputError: pyarrow is not installed, or the file cannot be written.
    """
    try:
        store.frame(campaign).to_parquet(path, index=False)
    except ImportError as error:
        raise InputError("Parquet needs pyarrow; type pip install 'cubisect[parquet]', or use --csv") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a file in a folder that exists") from error


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
