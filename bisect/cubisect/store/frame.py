"""The data frame of a campaign's finished trials: what `analysis` works on."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from sqlalchemy import Connection, select

from cubisect.features import FEATURES
from cubisect.space import AXES
from cubisect.store.models import TrialRow
from cubisect.store.records import Campaign

_ABOUT = (
    "number", "purpose", "origin", "parent", "seed", "method", "outcome", "cuda_error", "fail_index", "phase",
    "repetition_reached", "signature", "signature_title", "wall_s", "gpu", "lane", "tainted",
)  # fmt: skip

_NULLABLE_INTEGERS = ("parent", "cuda_error", "fail_index", "repetition_reached", "lane")


def frame_of(connection: Connection, campaign: Campaign) -> pd.DataFrame:
    """Return one row per finished trial, by number; `attrs` names campaign and driver, and tells what is simulated."""
    names = [*AXES, *_ABOUT, "features"]
    query = (
        select(*(getattr(TrialRow, name) for name in names))
        .where(TrialRow.campaign_id == campaign.id, TrialRow.state == "done")
        .order_by(TrialRow.number)
    )
    rows = connection.execute(query).all()
    frame = pd.DataFrame.from_records([row[:-1] for row in rows], columns=names[:-1])
    features = pd.DataFrame.from_records(
        [[(row[-1] or {}).get(name) for name in FEATURES] for row in rows], columns=list(FEATURES)
    ).astype("float64")
    frame = frame.astype(dict.fromkeys(_NULLABLE_INTEGERS, "Int64"))
    frame = pd.concat([frame, features], axis=1)
    frame.attrs.update(campaign=campaign.name, driver=campaign.driver, simulated=campaign.simulated)
    return frame


def columns_of(connection: Connection, campaign: Campaign, names: Sequence[str]) -> pd.DataFrame:
    """Return the named columns alone, as the database has them (truth in SQLite is 0 or 1).

    A few columns of 100,000 trials take half a second, the whole frame takes five.
    """
    query = (
        select(*(_selected(name) for name in names))
        .where(TrialRow.campaign_id == campaign.id, TrialRow.state == "done")
        .order_by(TrialRow.number)
    )
    rows = connection.execute(query).cursor.fetchall()  # tuples: making Row objects takes longer than reading
    values = zip(*rows, strict=True) if rows else [()] * len(names)
    return pd.DataFrame({name: list(column) for name, column in zip(names, values, strict=True)})


def _selected(name: str) -> Any:
    """Return what is selected for a column; a feature is taken out of its JSON by the database."""
    return TrialRow.features[name].as_float() if name in FEATURES else getattr(TrialRow, name)
