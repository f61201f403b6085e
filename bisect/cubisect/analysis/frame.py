"""Which rows of a frame of trials may be used for what.

The frame is the one of docs/architecture.md: one row per finished trial. A model of *where* trials fail may use all of
them; a rate or a marginal curve only the explored ones, for a sampler that looks for boundaries visits them more often
than chance would.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cubisect.features import FEATURES
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import AXES, NumericAxis, Point
from cubisect.trial import Method, Origin, Purpose

Mask = NDArray[np.bool_]

_MAPPING = (Purpose.SEARCH, Purpose.REPLICATE, Purpose.RESAMPLE)


def conclusive(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of the batch call that say something about it.

    Left out are inconclusive trials, tainted GPUs, per-descriptor controls, and look-alikes of the fault: deliberately
    wrong descriptors and the legacy stream, which the driver refuses as documented.
    """
    tainted = frame["tainted"].astype("boolean").fillna(value=False).to_numpy(dtype=np.bool_)
    says_something = is_in(frame["outcome"], [o for o in Outcome if o is not Outcome.INCONCLUSIVE])
    look_alike = ~is_in(frame["invalid"], ["none"]) | is_in(frame["stream"], ["legacy"])
    good = says_something & is_in(frame["method"], [Method.BATCH]) & ~tainted & ~look_alike
    return _as_submitted(frame[good])


def _as_submitted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the count and bytes of the real batch, where a workload or a given batch brought its own."""
    repetition = rows["repetition"].to_numpy(dtype=np.float64)
    changed = {}
    for axis, feature in (("descriptor_count", "submitted_descriptors"), ("total_bytes", "submitted_bytes")):
        recorded = rows[axis].to_numpy(dtype=np.float64)
        real = rows[feature].to_numpy(dtype=np.float64) / repetition
        real = np.where(np.isfinite(real), np.round(real), recorded)
        if not np.array_equal(real, recorded):
            changed[axis] = real.astype(np.int64)
    return rows.assign(**changed) if changed else rows


def mapping(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the conclusive trials that map the space: search, replicates and resamples."""
    rows = conclusive(frame)
    return rows[is_in(rows["purpose"], _MAPPING)]


def new_batches(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the conclusive trials with a batch of their own: search and resamples, without replicates."""
    rows = conclusive(frame)
    return rows[is_in(rows["purpose"], [Purpose.SEARCH, Purpose.RESAMPLE])]


def explored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the conclusive trials whose points were drawn evenly, the only sound sample for rates."""
    rows = conclusive(frame)
    return rows[is_in(rows["purpose"], [Purpose.SEARCH]) & is_in(rows["origin"], [Origin.EXPLORE])]


def fresh_replicates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the replicates of batches that failed; the failing trials themselves, chosen for failing, are left out."""
    rows = mapping(frame)
    bad = set(rows.loc[failed(rows), "number"].tolist())
    return rows[is_in(rows["purpose"], [Purpose.REPLICATE]) & is_in(rows["parent"], bad)]


def failed(frame: pd.DataFrame) -> Mask:
    """Tell for every row whether its outcome is a finding about the API."""
    return is_in(frame["outcome"], FAILURES)


def with_features(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose derived quantities are recorded."""
    names = [name for name in FEATURES if name in rows]
    return rows[rows[names].notna().all(axis=1)]


def is_in(column: "pd.Series[Any]", values: Iterable[object]) -> Mask:
    """Tell for every entry whether it equals one of the values; a missing entry equals none."""
    return np.array(column.isin([str(v) if isinstance(v, str) else v for v in values]), dtype=np.bool_)


def failing_kinds(frame: pd.DataFrame) -> list[Outcome]:
    """Return the failing outcomes that occur, the most frequent first."""
    counts = frame.loc[failed(frame), "outcome"].astype(str).value_counts()
    return [Outcome(kind) for kind in sorted(counts.index, key=lambda kind: (-counts[kind], kind))]


def varied_axes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the axes that take more than one value in the frame."""
    return tuple(name for name in AXES if name in frame and varies(frame[name]))


def varies(column: "pd.Series[Any]") -> bool:
    """Tell whether a column has more than one value; much faster than counting them."""
    values = column.to_numpy()
    return len(values) > 0 and bool((values != values[0]).any())


def numeric_axes(names: Iterable[str]) -> list[NumericAxis]:
    """Return those of the named axes that are numeric."""
    return [axis for axis in (AXES[name] for name in names) if isinstance(axis, NumericAxis)]


def categorical_names(names: Iterable[str]) -> list[str]:
    """Return those of the names that belong to categorical axes."""
    return [name for name in names if not isinstance(AXES[name], NumericAxis)]


def coordinates(frame: pd.DataFrame, axis: NumericAxis) -> NDArray[np.float64]:
    """Return an axis' column as coordinates: log2 on a log axis."""
    values = frame[axis.name].to_numpy(dtype=np.float64)
    return np.log2(values) if axis.scale == "log2" else values


def point_of(row: "pd.Series[Any]") -> Point:
    """Return the point of one trial, in Python's own types."""
    values = {name: row[name] for name in AXES}
    return Point(**{name: v.item() if isinstance(v, np.generic) else v for name, v in values.items()})


def batch_key(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return a number per row that is equal for trials of the same batch: the trial replicated, or the row itself."""
    own = frame["number"].to_numpy(dtype=np.int64)
    replicate = is_in(frame["purpose"], [Purpose.REPLICATE])
    parent = frame["parent"].astype("Float64").fillna(-1).to_numpy(dtype=np.float64).astype(np.int64)
    return np.where(replicate & (parent >= 0), parent, own)
