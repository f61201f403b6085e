"""The ways in which a point can become plainer, each as a scale from the plainest value to the present one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cubisect.errors import InputError
from cubisect.space import AXES, NumericAxis, Point, Scale, Value

SIZE_AXES = ("descriptor_count", "total_bytes", "repetition", "size_spread")
"""The axes that make a program large, the most important first."""

UNTOUCHED = ("workload", "scale", "invalid")
"""What makes the trial another trial: without its workload, or without its wrong descriptor, it is none to shrink."""

RESOLUTION = {Scale.LOG2: 0.3, Scale.LINEAR: 0.04}
"""A value is narrowed down to this: three tenths of an octave (a factor 1.23), or 4 % of a linear axis."""


@dataclass(frozen=True)
class Move:
    """A family of points: `at(length)` is the present one, `at(0)` the plainest; None where none is feasible."""

    name: str
    length: float
    resolution: float
    at: Callable[[float], Point | None]


def moves(point: Point) -> Iterator[Move]:
    """Yield the moves that a point allows, those of the sizes first."""
    if point.workload == "none":
        together = _together(point)
        if together is not None:
            yield together
        for name in SIZE_AXES:
            yield from _towards(point, name, _plainest(point, name))
    else:
        yield from _towards(point, "repetition", 1)
        yield from _towards(point, "scale", 1)
    for name, axis in AXES.items():
        if isinstance(axis, NumericAxis) and name not in (*SIZE_AXES, *UNTOUCHED):
            yield from _towards(point, name, axis.default)


def plain_values(point: Point) -> Iterator[tuple[str, Value]]:
    """Yield every axis that is not at its plainest value and could be, with that value."""
    for name, axis in AXES.items():
        if name not in (*SIZE_AXES, *UNTOUCHED) and getattr(point, name) != axis.default:
            yield name, axis.default


def moved(point: Point, **values: Value) -> Point | None:
    """Return the point with some axes changed, None where that is not feasible."""
    try:
        return point.moved(**values)
    except InputError:
        return None


def _plainest(point: Point, name: str) -> float:
    axis = AXES[name]
    assert isinstance(axis, NumericAxis)
    if name == "descriptor_count":
        return max(point.attribute_count, -(-point.total_bytes // point.size_cap))
    if name == "total_bytes":
        return max(axis.low, point.descriptor_count * point.size_floor)
    return axis.low


def _towards(point: Point, name: str, plainest: float) -> Iterator[Move]:
    axis = AXES[name]
    assert isinstance(axis, NumericAxis)
    here, goal = axis.to_coordinate(getattr(point, name)), axis.to_coordinate(plainest)
    if here == goal:
        return
    sign = 1.0 if here > goal else -1.0

    def at(distance: float) -> Point | None:
        return moved(point, **{name: axis.from_coordinate(goal + sign * distance)})

    whole = 1.0 if axis.scale is Scale.LOG2 else axis.high - axis.low
    yield Move(name, abs(here - goal), RESOLUTION[axis.scale] * whole, at)


def _together(point: Point) -> Move | None:
    """Return fewer descriptors of the same sizes."""
    count, total = AXES["descriptor_count"], AXES["total_bytes"]
    here, octets = count.to_coordinate(point.descriptor_count), total.to_coordinate(point.total_bytes)
    assert isinstance(here, float)
    assert isinstance(octets, float)
    length = min(here, octets - 10.0)
    if length <= 0.0:
        return None

    def at(distance: float) -> Point | None:
        return moved(
            point,
            descriptor_count=count.from_coordinate(here - length + distance),
            total_bytes=total.from_coordinate(octets - length + distance),
        )

    return Move("descriptor_count with total_bytes", length, RESOLUTION[Scale.LOG2], at)
