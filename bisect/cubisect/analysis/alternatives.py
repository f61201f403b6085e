"""One factor at a time: which other values of an axis are worth trying at a failing point, and why others are not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cubisect.space import AXES, Axis, CategoricalAxis, NumericAxis, Point, Range, Value, infeasible_reason

LADDER = 5
"""Values of a numeric axis tried first: both ends and evenly between, beside the failing trial's own."""

BATCH_SHAPING = frozenset(
    {"descriptor_count", "total_bytes", "size_mix", "size_spread", "size_floor", "size_cap", "size_order", "workload",
     "scale", "fragmentation"}
)  # fmt: skip
"""Axes that change the descriptors; moving one draws another batch, so that its own chance comes in."""

NEVER = MappingProxyType(
    {
        "invalid": "deliberately wrong descriptors are refused as documented",
        "workload": "another workload is another trial, not a factor of this one",
    }
)

WITHOUT_EFFECT: Mapping[str, tuple[Callable[[Point], bool], str]] = MappingProxyType(
    {
        "size_mix": (lambda p: p.size_spread == 0.0, "at size_spread 0 all mixes are the same"),
        "neighbour_kind": (lambda p: p.neighbours == 0, "there are no neighbours"),
        "sync_between": (lambda p: p.repetition == 1, "there is one submission"),
        "in_flight": (lambda p: p.repetition == 1, "there is one submission"),
        "attrs_layout": (lambda p: p.attribute_count == 1, "there is one attribute"),
        "scale": (lambda p: p.workload == "none", "there is no workload"),
        "fragmentation": (lambda p: p.workload == "none", "there is no workload"),
    }
)
"""Axes that say nothing at some points, and why."""

SIZES_FROM_WORKLOAD = frozenset(
    {"descriptor_count", "total_bytes", "size_mix", "size_spread", "size_floor", "size_cap"}
)


@dataclass(frozen=True)
class Alternatives:
    """Other values of one axis that are feasible at the point; where there are none, `reason` says why."""

    axis: Axis
    values: tuple[Value, ...]
    reason: str = ""


def alternatives(point: Point, domains: Mapping[str, Range | tuple[Value, ...]] | None = None) -> list[Alternatives]:
    """Return what to try for every axis; `domains` narrows axes, as `Space.varied` does (`ranks` to the GPUs)."""
    return [_for_axis(axis, point, (domains or {}).get(name)) for name, axis in AXES.items()]


def _for_axis(axis: Axis, point: Point, domain: Range | tuple[Value, ...] | None) -> Alternatives:
    reason = _reason(axis.name, point)
    if reason:
        return Alternatives(axis, (), reason)
    here = getattr(point, axis.name)
    wanted = [value for value in _values(axis, here, domain) if value != here and not _refused(axis.name, value)]
    possible = tuple(value for value in wanted if feasible_at(point, axis.name, value))
    return Alternatives(axis, possible, "" if possible else "no other value is feasible at this point")


def _reason(name: str, point: Point) -> str:
    if name in NEVER:
        return NEVER[name]
    if point.workload != "none" and name in SIZES_FROM_WORKLOAD:
        return "the workload sets the sizes"
    if name in WITHOUT_EFFECT:
        applies, why = WITHOUT_EFFECT[name]
        return why if applies(point) else ""
    return ""


def _refused(name: str, value: Value) -> bool:
    """Tell whether the driver refuses the value as documented: that would look like a failure and is none."""
    return name == "stream" and value == "legacy"


def _values(axis: Axis, here: Value, domain: Range | tuple[Value, ...] | None) -> list[Value]:
    if isinstance(axis, CategoricalAxis):
        return list(domain if isinstance(domain, tuple) else axis.values)
    low, high = (domain.low, domain.high) if isinstance(domain, Range) else (axis.low, axis.high)
    ends = np.linspace(axis.to_coordinate(low), axis.to_coordinate(high), LADDER)
    near = [between(axis, here, end) for end in (low, high)]
    return sorted({axis.from_coordinate(float(end)) for end in ends} | {value for value in near if value is not None})


def between(axis: NumericAxis, first: Value, second: Value) -> int | float | None:
    """Return the value halfway between two in the axis' coordinate, None where there is none."""
    low, high = sorted((float(first), float(second)))
    middle = axis.from_coordinate((axis.to_coordinate(low) + axis.to_coordinate(high)) / 2.0)
    return middle if low < middle < high else None


def moved(point: Point, name: str, value: Value) -> Point:
    """Return the point with one axis changed, feasible or not."""
    return Point(**{**point.values(), name: value})


def feasible_at(point: Point, name: str, value: Value) -> bool:
    """Tell whether a batch exists with this one axis changed."""
    return infeasible_reason(moved(point, name, value)) is None
