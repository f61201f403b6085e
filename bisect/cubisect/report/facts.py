"""The tables of a report: environment, what was asked, outcomes; as (name, text) rows that HTML and Markdown share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cubisect.analysis.frame import conclusive, failed
from cubisect.analysis.rates import Rate, Rates
from cubisect.analysis.result import unit_of
from cubisect.outcome import Evidence
from cubisect.report.terminal import evidence_rows
from cubisect.space import AXES, NumericAxis, Space, Value
from cubisect.store import Campaign

Rows = list[tuple[str, str]]


def environment_rows(campaign: Campaign) -> Rows:
    """Return what makes two campaigns comparable; what is not known is left out."""
    driver = campaign.environment.get("driver", {})
    cuda = driver.get("cuda_version")
    found = [
        ("driver under test", campaign.driver + (" (SIMULATED)" if campaign.simulated else "")),
        ("GPU", _gpus(driver.get("devices") or [])),
        ("VBIOS", ", ".join(dict.fromkeys(d["vbios"] for d in driver.get("devices") or [] if d.get("vbios")))),
        ("driver version", driver.get("driver_version")),
        ("CUDA version", cuda and f"{cuda // 1000}.{cuda % 1000 // 10}"),
        ("kernel", campaign.environment.get("host", {}).get("kernel")),
        ("campaign", f"{campaign.name}, seed {campaign.seed}, sampler {campaign.sampler}"),
    ]
    return [(name, str(value)) for name, value in found if value]


def _gpus(devices: Sequence[Mapping[str, Any]]) -> str:
    names = [device.get("name", "?") for device in devices]
    kinds = {name: names.count(name) for name in names}
    return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in kinds.items())


def asked_rows(space: Space) -> Rows:
    """Return the range of every varied axis, the others that were set, and in one row all that stayed at a default."""
    rows = []
    for name, domain in space.varied.items():
        if isinstance(domain, tuple):
            text = ", ".join(map(str, domain))
        else:
            text = f"{value_text(name, domain.low)} to {value_text(name, domain.high)}"
        rows.append((name, text))
    held = {name: value for name, value in space.base.departures().items() if name not in space.varied}
    rows += [(f"{name} (held)", value_text(name, value)) for name, value in held.items()]
    others = [name for name in AXES if name not in space.varied and name not in held]
    defaults = ", ".join(f"{name} {value_text(name, getattr(space.base, name))}" for name in others)
    return [*rows, ("held at the default", defaults)]


def value_text(name: str, value: Value) -> str:
    """Return the value of an axis, with its unit where it has one: nothing that was set is rounded."""
    axis = AXES[name]
    if not isinstance(axis, NumericAxis) or isinstance(value, str):
        return str(value)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:g}"
    size, unit = unit_of(name, value)
    return f"{int(value):,} B" if value % size else f"{int(value // size):,}{unit}"


_PRIVATE = frozenset({"took", "cost", "GPU core", "Python stack", "notes", "output"})
"""What a trial's own machine and files show through, or what says nothing to a vendor."""


def seen_rows(evidence: Evidence) -> Rows:
    """Return what was seen of a trial that may be published: files are named without their folders."""
    return [(name, re.sub(r"/\S*/", "", text)) for name, text in evidence_rows(evidence) if name not in _PRIVATE]


@dataclass(frozen=True)
class OutcomeRow:
    """A failure: its rate among explored trials, and how often any trial at all showed it."""

    rate: Rate
    anywhere: int


@dataclass(frozen=True)
class Outcomes:
    """Every failure that was seen, all of them together first; `trials` counts the conclusive ones of any purpose."""

    rows: Sequence[OutcomeRow]
    trials: int


def outcomes_of(rates: Rates, frame: pd.DataFrame) -> Outcomes:
    """Return the outcome table of a campaign."""
    every = conclusive(frame)
    rows = [OutcomeRow(rate, rate.failures + rates.elsewhere.get(rate.what, 0)) for rate in rates.by_signature]
    return Outcomes([OutcomeRow(rates.overall, int(failed(every).sum())), *rows], len(every))
