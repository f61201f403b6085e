"""The data frame of a campaign's finished trials: what `analysis` works on."""

import json
import math
from collections.abc import Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Boolean, ColumnElement, Connection, Text, case, cast, func, select

from cubisect.features import FEATURES
from cubisect.space import AXES
from cubisect.store.records import Campaign
from cubisect.store.rows import DONE, TRIALS

_ABOUT = (
    "number", "purpose", "origin", "parent", "seed", "method", "outcome", "cuda_error", "fail_index", "phase",
    "repetition_reached", "signature", "signature_title", "wall_s", "gpu", "lane", "tainted",
)  # fmt: skip

_NULLABLE_INTEGERS = ("parent", "cuda_error", "fail_index", "repetition_reached", "lane")


def frame_of(connection: Connection, campaign: Campaign) -> pd.DataFrame:
    """Return one row per finished trial, by number; `attrs` names campaign and driver, and tells what is simulated.

    `attrs` counts the environments too in which the trials ran.
    Most axes have one value in all of a campaign. They are filled in, and only the others are read.
    """
    held = _held(connection, campaign)
    names = [name for name in (*AXES, *_ABOUT) if name not in held]
    rows = _fetched(connection, campaign, [*(TRIALS.c[name] for name in names), cast(TRIALS.c.features, Text)])
    read = dict(zip([*names, "features"], zip(*rows, strict=True) if rows else repeat(()), strict=False))
    features = _features(read.pop("features"))
    columns = {name: pd.Series(list(values)) for name, values in read.items()}
    columns |= {name: pd.Series([value]).repeat(len(rows)).reset_index(drop=True) for name, value in held.items()}
    frame = pd.DataFrame({name: columns[name] for name in (*AXES, *_ABOUT)})
    frame = frame.astype({**dict.fromkeys(_NULLABLE_INTEGERS, "Int64"), **dict.fromkeys(_truths(), "bool")})
    frame = pd.concat([frame, features], axis=1)
    frame.attrs.update(campaign=campaign.name, driver=campaign.driver, simulated=campaign.simulated)
    frame.attrs["environments"] = _environments(connection, campaign)
    return frame


def _environments(connection: Connection, campaign: Campaign) -> int:
    """Return in how many environments the trials ran; those without one of their own ran in the campaign's."""
    found = connection.execute(select(TRIALS.c.environment_id).where(*_finished(campaign)).distinct())
    return len(found.all())


def _held(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the axes that the campaign holds, with their values, less those that some trial has left."""
    held = {name: value for name, value in campaign.space.base.values().items() if name not in campaign.space.varied}
    left = [func.max(case((TRIALS.c[name] != value, 1), else_=0)) for name, value in held.items()]
    found = connection.execute(select(*left).where(*_finished(campaign))).one()
    return {name: value for (name, value), moved in zip(held.items(), found, strict=True) if not moved}


def _truths() -> list[str]:
    """Return the columns that SQLite has as 0 and 1."""
    return [name for name in (*AXES, *_ABOUT) if isinstance(TRIALS.c[name].type, Boolean)]


def _features(texts: Sequence[str | None]) -> pd.DataFrame:
    """Return the features of trials from their JSON, all of it parsed at once."""
    parsed = json.loads(f"[{','.join(text or '{}' for text in texts)}]")
    wanted = itemgetter(*FEATURES)
    blank = dict.fromkeys(FEATURES, math.nan)
    rows = (wanted(features if len(features) == len(blank) else {**blank, **features}) for features in parsed)
    values = np.fromiter(chain.from_iterable(rows), np.float64, len(texts) * len(FEATURES))
    return pd.DataFrame(values.reshape(len(texts), len(FEATURES)), columns=list(FEATURES))


def _finished(campaign: Campaign) -> Sequence[ColumnElement[bool]]:
    return TRIALS.c.campaign_id == campaign.id, TRIALS.c.state == DONE


def _fetched(connection: Connection, campaign: Campaign, columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return columns of the finished trials, as the database has them (truth in SQLite is 0 or 1)."""
    result = connection.execute(select(*columns).where(*_finished(campaign)).order_by(TRIALS.c.number))
    return list(result.cursor.fetchall())  # making Row objects takes longer than reading


def columns_of(connection: Connection, campaign: Campaign, names: Sequence[str]) -> pd.DataFrame:
    """Return the named columns alone, as the database has them (truth in SQLite is 0 or 1)."""
    rows = _fetched(connection, campaign, [_selected(name) for name in names])
    values = zip(*rows, strict=True) if rows else [()] * len(names)
    return pd.DataFrame({name: list(column) for name, column in zip(names, values, strict=True)})


def _selected(name: str) -> Any:
    """Return what is selected for a column; a feature is taken out of its JSON by the database."""
    return TRIALS.c.features[name].as_float() if name in FEATURES else TRIALS.c[name]
