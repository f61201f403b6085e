"""The search space: its axes, points in it, and which points are feasible.

An axis knows its range, its default and its *coordinate*: the number a sampler works with (log2 of the value on a
log axis). Points are in values, samplers are in coordinates, and only this module converts between them.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cubisect.errors import InputError, choices

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

Value = int | float | str | bool
"""The value of one axis."""

Coordinate = float | str | int | bool
"""What a sampler sees of a value: a float on a numeric axis, the value itself on a categorical one."""


class Scale(StrEnum):
    """How a numeric axis maps a value to its coordinate."""

    LINEAR = "linear"
    LOG2 = "log2"


@dataclass(frozen=True, kw_only=True)
class NumericAxis:
    """An axis of numbers from `low` to `high`, both included. `unit` is shown to people."""

    name: str
    low: float
    high: float
    default: float
    help: str
    scale: Scale = Scale.LINEAR
    integer: bool = True
    unit: str = ""

    def parse(self, text: str) -> int | float:
        """Return the value written as ``51828``, ``64KiB``, ``2^20`` or ``0.5``; raise `InputError`."""
        value = parse_number(text)
        if value is None:
            hint = ", as 64KiB, 16MiB or 1GiB" if self.unit == "bytes" else ""
            raise InputError(f"{self.name}: {text!r} is not a number; write one from {self.range_text}{hint}")
        return self.check(value)

    def check(self, value: Any) -> int | float:
        """Return `value` as this axis stores it; raise `InputError` when it is outside the range."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise InputError(f"{self.name}: {value!r} is not allowed; allowed is {self.range_text}")
        if self.integer and value != int(value):
            raise InputError(f"{self.name}: {value!r} is not a whole number; allowed is {self.range_text}")
        return int(value) if self.integer else float(value)

    @property
    def range_text(self) -> str:
        """The allowed range as a person reads it."""
        return f"{_number(self.low)} to {_number(self.high)}{self.unit and ' ' + self.unit}"

    def to_coordinate(self, value: Value) -> float:
        """Return the coordinate of `value`."""
        return math.log2(float(value)) if self.scale is Scale.LOG2 else float(value)

    def from_coordinate(self, coordinate: Coordinate) -> int | float:
        """Return the nearest value of this axis to a coordinate; monotone, and clipped to the range."""
        value = float(self.values_at(np.array([coordinate], dtype=np.float64))[0])
        return int(value) if self.integer else value

    def values_at(self, coordinates: NDArray[Any]) -> NDArray[np.float64]:
        """Return what `from_coordinate` returns, for many coordinates at once."""
        plain = np.asarray(coordinates, dtype=np.float64)
        values = np.clip(np.exp2(plain) if self.scale is Scale.LOG2 else plain, self.low, self.high)
        return np.rint(values) if self.integer else values


@dataclass(frozen=True, kw_only=True)
class CategoricalAxis:
    """An axis of named values without an order. Its coordinate is the value itself."""

    name: str
    values: tuple[Value, ...]
    default: Value
    help: str

    def parse(self, text: str) -> Value:
        """Return the value written as `text`; raise `InputError` that lists the values."""
        for value in self.values:
            if text.lower() == str(value).lower():
                return value
        raise InputError(f"{self.name}: {text!r} is not allowed; allowed are {choices(self.values)}")

    def check(self, value: Any) -> Value:
        """Return `value`; raise `InputError` when it is not one of the values."""
        for allowed in self.values:
            if value == allowed and type(value) is type(allowed):
                return allowed
        raise InputError(f"{self.name}: {value!r} is not allowed; allowed are {choices(self.values)}")

    @property
    def range_text(self) -> str:
        """The allowed values as a person reads them."""
        return choices(self.values)

    def to_coordinate(self, value: Value) -> Coordinate:
        """Return `value`."""
        return value

    def from_coordinate(self, coordinate: Coordinate) -> Value:
        """Return the value that the coordinate is."""
        return self.check(coordinate)


Axis = NumericAxis | CategoricalAxis

MAX_DESCRIPTORS = 1 << 20
MAX_BYTES = 1 << 34
UNCHUNKED = MAX_DESCRIPTORS
"""Value of `chunk` that submits the batch in one call."""

MAX_SCALE: Mapping[str, int] = MappingProxyType(
    {
        "none": 1 << 16,
        "vllm-49276-tp2": 8192,
        "vllm-49276-tp4": 8192,
        "dsv4-agent-restore": 8192,
        "glm5-simple-offload": 2048,
        "llama8b-load": 4096,
        "llama70b-tp4-store": 4096,
        "canonical-fragments": 1 << 16,
        "sglang-page-first-direct": 4096,
        "lmcache-kimi": 1024,
        "trtllm-coldpage": 4096,
        "decode-step": 64,
    }
)
"""Every workload and its largest scale: as its callers reach, or at most 8 GiB."""

_LOG2, _LINEAR = Scale.LOG2, Scale.LINEAR

_AXES: tuple[Axis, ...] = (
    NumericAxis(name="descriptor_count", low=1, high=MAX_DESCRIPTORS, default=1024, scale=_LOG2,
                help="copies in one batch"),
    NumericAxis(name="total_bytes", low=KIB, high=4 * GIB, default=MIB, scale=_LOG2, unit="bytes",
                help="sum of all sizes, exactly"),
    NumericAxis(name="repetition", low=1, high=256, default=1, scale=_LOG2,
                help="submissions of the same batch in one process, on one stream"),
    CategoricalAxis(name="size_mix", values=("uniform", "lognormal", "pareto", "bimodal", "page_spans"),
                    default="uniform", help="relative shape of the sizes, scaled to total_bytes"),
    NumericAxis(name="size_spread", low=0.0, high=1.0, default=0.0, integer=False,
                help="0: all sizes equal; 1: the whole width of the mix"),
    CategoricalAxis(name="direction", values=("h2d", "d2h", "d2d", "h2h"), default="h2d",
                    help="host to device, device to host, within the device, within the host"),
    NumericAxis(name="size_floor", low=1, high=MAX_BYTES, default=1, scale=_LOG2, unit="bytes",
                help="no size is smaller"),
    NumericAxis(name="size_cap", low=1, high=MAX_BYTES, default=MAX_BYTES, scale=_LOG2, unit="bytes",
                help="no size is larger"),
    CategoricalAxis(name="size_order", values=("shuffled", "ascending", "runs", "alternating"), default="shuffled",
                    help="order of the sizes within the batch"),
    CategoricalAxis(name="layout", values=("contiguous", "shuffled_source", "shuffled_both"), default="contiguous",
                    help="where the copies lie in the two buffers"),
    NumericAxis(name="alignment", low=1, high=4096, default=1, scale=_LOG2, unit="bytes",
                help="every offset is a multiple of this"),
    NumericAxis(name="gap", low=0, high=64 * KIB, default=0, unit="bytes",
                help="unused bytes between neighbouring copies"),
    CategoricalAxis(name="host_memory",
                    values=("pinned", "registered", "registered_chunks", "pageable", "managed"), default="pinned",
                    help="how host memory is allocated"),
    CategoricalAxis(name="access_order", values=("stream", "during_api_call", "any"), default="stream",
                    help="when the driver may read the sources"),
    NumericAxis(name="attribute_count", low=1, high=MAX_DESCRIPTORS, default=1, scale=_LOG2,
                help="copy attributes passed with the batch"),
    CategoricalAxis(name="attrs_layout", values=("run_starts", "per_copy"), default="run_starts",
                    help="attrsIdxs holds run starts (as documented), or one entry per copy"),
    CategoricalAxis(name="flags", values=(0, 1), default=0, help="0, or 1: prefer overlap with compute"),
    CategoricalAxis(name="abi", values=(12080, 13000), default=12080,
                    help="signature of the call: 12080 reports failIdx, 13000 does not"),
    CategoricalAxis(name="stream", values=("dedicated", "per_thread", "legacy"), default="dedicated",
                    help="the stream submitted to; the legacy one must be refused"),
    CategoricalAxis(name="stream_state", values=("idle", "blocked", "backlog"), default="idle",
                    help="what the stream is doing: nothing, waiting for an event, other copies ahead"),
    CategoricalAxis(name="sync_between", values=(False, True), default=False,
                    help="synchronise after every submission"),
    NumericAxis(name="in_flight", low=1, high=256, default=256, scale=_LOG2,
                help="submissions that may be pending before the stream is synchronised"),
    NumericAxis(name="chunk", low=1, high=UNCHUNKED, default=UNCHUNKED, scale=_LOG2,
                help="most descriptors in one call; a larger batch is submitted in several"),
    NumericAxis(name="neighbours", low=0, high=8, default=0,
                help="other processes that keep the same GPU busy"),
    CategoricalAxis(name="neighbour_kind", values=("copies", "memsets", "batches"), default="copies",
                    help="what the neighbours do"),
    NumericAxis(name="ranks", low=1, high=8, default=1,
                help="processes of one trial that submit together, each on its own GPU"),
    CategoricalAxis(name="invalid",
                    values=("none", "null_source", "null_destination", "zero_size", "out_of_bounds",
                            "wrong_attributes"),
                    default="none", help="one deliberately wrong descriptor, to see that the answer is truthful"),
    CategoricalAxis(name="workload",
                    values=tuple(MAX_SCALE),
                    default="none", help="a real transfer; it sets count, bytes and sizes from scale"),
    NumericAxis(name="scale", low=1, high=1 << 16, default=1, scale=_LOG2,
                help="blocks (or pages, or calls) of the workload"),
    NumericAxis(name="fragmentation", low=0.0, high=1.0, default=0.0, integer=False,
                help="how broken up the workload's pages are"),
)  # fmt: skip

AXES: Mapping[str, Axis] = MappingProxyType({axis.name: axis for axis in _AXES})
"""Every axis by name, in the order in which they are shown."""

PRIMARY_AXES = ("descriptor_count", "total_bytes", "repetition", "size_mix", "size_spread")
"""The axes that `bisect explore` varies when nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A value for every axis. The fields are the axes of `AXES`, under the same names."""

    descriptor_count: int = 1024
    total_bytes: int = MIB
    repetition: int = 1
    size_mix: str = "uniform"
    size_spread: float = 0.0
    direction: str = "h2d"
    size_floor: int = 1
    size_cap: int = MAX_BYTES
    size_order: str = "shuffled"
    layout: str = "contiguous"
    alignment: int = 1
    gap: int = 0
    host_memory: str = "pinned"
    access_order: str = "stream"
    attribute_count: int = 1
    attrs_layout: str = "run_starts"
    flags: int = 0
    abi: int = 12080
    stream: str = "dedicated"
    stream_state: str = "idle"
    sync_between: bool = False
    in_flight: int = 256
    chunk: int = UNCHUNKED
    neighbours: int = 0
    neighbour_kind: str = "copies"
    ranks: int = 1
    invalid: str = "none"
    workload: str = "none"
    scale: int = 1
    fragmentation: float = 0.0

    AXIS_NAMES: ClassVar[tuple[str, ...]] = tuple(AXES)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Point":
        """Return the point with these values and defaults elsewhere; raise `InputError` unless it is feasible."""
        checked: dict[str, Any] = {name: axis_named(name).check(value) for name, value in values.items()}
        point = cls(**checked)
        reason = infeasible_reason(point)
        if reason is not None:
            raise InputError(reason)
        return point

    def values(self) -> dict[str, Any]:
        """Return the value of every axis by name."""
        return {name: getattr(self, name) for name in self.AXIS_NAMES}

    def moved(self, **values: Value) -> "Point":
        """Return this point with some axes changed; raise `InputError` unless the result is feasible."""
        return Point.of({**self.values(), **values})

    def departures(self) -> dict[str, Value]:
        """Return only the values that differ from the defaults, for short descriptions."""
        return {name: value for name, value in self.values().items() if value != AXES[name].default}


def axis_named(name: str) -> Axis:
    """Return the axis called `name`; raise `InputError` that lists all names."""
    if name not in AXES:
        raise InputError(f"unknown axis {name!r}; the axes are {choices(AXES)}")
    return AXES[name]


def infeasible_reason(point: Point) -> str | None:
    """Return why no batch exists at this point, None when one does.

    A workload brings its own sizes, so the rules about count and bytes do not concern it.
    """
    if point.workload != "none":
        return _oversized_reason(point)
    count, total = point.descriptor_count, point.total_bytes
    if total < count * point.size_floor:
        return (
            f"total_bytes {total} is less than descriptor_count {count} × size_floor {point.size_floor}: every "
            f"descriptor has at least size_floor bytes; raise total_bytes to {count * point.size_floor} or more"
        )
    if total > count * point.size_cap:
        return (
            f"total_bytes {total} is more than descriptor_count {count} × size_cap {point.size_cap}; "
            f"lower total_bytes to {count * point.size_cap} or less"
        )
    if point.attribute_count > count:
        return f"attribute_count {point.attribute_count} is more than descriptor_count {count}; lower it to {count}"
    return None


def _oversized_reason(point: Point) -> str | None:
    limit = MAX_SCALE[point.workload]
    if point.scale <= limit:
        return None
    return f"scale: {point.scale} is more than {limit}, the most of {point.workload}; allowed are 1 to {limit}"


@dataclass(frozen=True, kw_only=True)
class Range:
    """The part of a numeric axis that is varied, in values."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Space:
    """What a campaign varies and what it holds.

    `varied` maps an axis to its `Range` (numeric) or its values (categorical); every other axis has its value in
    `base`. `max_submitted_descriptors` caps descriptor_count × repetition and `max_submitted_bytes` caps
    total_bytes × repetition, which bounds the time of a trial.
    """

    varied: Mapping[str, Range | tuple[Value, ...]]
    base: Point = Point()
    max_submitted_descriptors: int | None = None
    max_submitted_bytes: int | None = None

    def __post_init__(self) -> None:
        """Check names, ranges and that at least one point is feasible."""
        for name, domain in self.varied.items():
            _check_domain(axis_named(name), domain)
        if not self.varied:
            raise InputError("nothing is varied; add --vary AXIS or drop a --fix")
        if not self._somewhere_feasible():
            raise InputError(
                "no point of this space is feasible: total_bytes cannot reach descriptor_count × size_floor, or a cap "
                "on the submitted work forbids every point; widen an axis with --vary AXIS=LO:HI, or raise [caps] in a "
                "campaign file"
            )

    @classmethod
    def default(cls) -> "Space":
        """Return the space of the four primary axes."""
        return cls.of()

    @classmethod
    def of(
        cls,
        *,
        fix: Mapping[str, Value] | None = None,
        vary: Mapping[str, Range | tuple[Value, ...] | None] | None = None,
        max_submitted_descriptors: int | None = None,
        max_submitted_bytes: int | None = None,
    ) -> "Space":
        """Return the default space with some axes fixed and others varied (None: over the whole axis)."""
        fix, vary = dict(fix or {}), dict(vary or {})
        both = sorted(set(fix) & set(vary))
        if both:
            raise InputError(f"{both[0]} is both fixed and varied; drop one of --fix {both[0]} and --vary {both[0]}")
        fixed: dict[str, Any] = {name: axis_named(name).check(value) for name, value in fix.items()}
        domains: dict[str, Range | tuple[Value, ...]] = {
            name: full_domain(axis_named(name)) for name in PRIMARY_AXES if name not in fix
        }
        for name, domain in vary.items():
            domains[name] = domain if domain is not None else full_domain(axis_named(name))
        return cls(
            varied={name: domains[name] for name in AXES if name in domains},
            base=Point(**fixed),
            max_submitted_descriptors=max_submitted_descriptors,
            max_submitted_bytes=max_submitted_bytes,
        )

    def numeric(self) -> Iterator[tuple[NumericAxis, float, float]]:
        """Yield every varied numeric axis with the lowest and the highest coordinate."""
        for name, domain in self.varied.items():
            axis = AXES[name]
            if isinstance(axis, NumericAxis) and isinstance(domain, Range):
                yield axis, axis.to_coordinate(domain.low), axis.to_coordinate(domain.high)

    def categorical(self) -> Iterator[tuple[CategoricalAxis, tuple[Value, ...]]]:
        """Yield every varied categorical axis with the values that are allowed here."""
        for name, domain in self.varied.items():
            axis = AXES[name]
            if isinstance(axis, CategoricalAxis) and isinstance(domain, tuple):
                yield axis, domain

    def point(self, coordinates: Mapping[str, Coordinate]) -> Point:
        """Return the point at these coordinates of the varied axes; the other axes come from `base`."""
        values: dict[str, Any] = {name: AXES[name].from_coordinate(coordinates[name]) for name in self.varied}
        return replace(self.base, **values)

    def coordinates(self, point: Point) -> dict[str, Coordinate]:
        """Return the coordinates of a point on the varied axes."""
        return {name: AXES[name].to_coordinate(getattr(point, name)) for name in self.varied}

    def contains(self, point: Point) -> bool:
        """Tell whether the point is feasible, within every varied domain, and at `base` elsewhere."""
        return self.within(point) and infeasible_reason(point) is None and not self._over_cap(point)

    def within(self, point: Point) -> bool:
        """Tell whether the point lies within every varied domain and at `base` elsewhere, feasible or not."""
        for name in AXES:
            value, domain = getattr(point, name), self.varied.get(name)
            if isinstance(domain, Range):
                if not domain.low <= value <= domain.high:
                    return False
            elif value not in (domain or (getattr(self.base, name),)):
                return False
        return True

    def feasible(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Tell for many points at once whether they are feasible.

        `columns` holds one array of *coordinates* per varied axis, all of one length. What is tested is the values
        to which they are rounded, so that the answer is that of `contains` for `point`.
        """

        def values(name: str) -> NDArray[np.float64] | float:
            axis = AXES[name]
            if name not in self.varied or not isinstance(axis, NumericAxis):
                return float(getattr(self.base, name))
            return axis.values_at(columns[name])

        size = len(next(iter(columns.values())))
        workload = np.asarray(columns["workload"] if "workload" in self.varied else [self.base.workload] * size)
        count, total = values("descriptor_count"), values("total_bytes")
        fits = (count * values("size_floor") <= total) & (total <= count * values("size_cap"))
        good = np.asarray((workload != "none") | (fits & (values("attribute_count") <= count)))
        good &= values("scale") <= np.array([MAX_SCALE.get(str(name), MAX_SCALE["none"]) for name in workload])
        if self.max_submitted_descriptors is not None:
            good &= count * values("repetition") <= self.max_submitted_descriptors
        if self.max_submitted_bytes is not None:
            good &= total * values("repetition") <= self.max_submitted_bytes
        return good

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_json` builds an equal space."""
        return {
            "varied": {n: asdict(d) if isinstance(d, Range) else list(d) for n, d in self.varied.items()},
            "base": self.base.values(),
            "max_submitted_descriptors": self.max_submitted_descriptors,
            "max_submitted_bytes": self.max_submitted_bytes,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Space":
        """Return the space that `to_json` described."""
        varied = {n: Range(**d) if isinstance(d, dict) else tuple(d) for n, d in data["varied"].items()}
        return cls(
            varied=varied,
            base=Point(**data["base"]),
            max_submitted_descriptors=data.get("max_submitted_descriptors"),
            max_submitted_bytes=data.get("max_submitted_bytes"),
        )

    def _over_cap(self, point: Point) -> bool:
        descriptors, octets = self.max_submitted_descriptors, self.max_submitted_bytes
        return (descriptors is not None and point.descriptor_count * point.repetition > descriptors) or (
            octets is not None and point.total_bytes * point.repetition > octets
        )

    def _somewhere_feasible(self) -> bool:
        """Tell whether any point is feasible; every bound is taken where it hinders least."""

        def ends(name: str) -> tuple[int, int]:
            domain = self.varied.get(name)
            fixed = getattr(self.base, name)
            return (int(domain.low), int(domain.high)) if isinstance(domain, Range) else (fixed, fixed)

        (count, most_count), (total, most_total) = ends("descriptor_count"), ends("total_bytes")
        repetition, floor, cap = ends("repetition")[0], ends("size_floor")[0], ends("size_cap")[1]
        if self.max_submitted_descriptors is not None:
            most_count = min(most_count, self.max_submitted_descriptors // repetition)
        if self.max_submitted_bytes is not None:
            most_total = min(most_total, self.max_submitted_bytes // repetition)
        if count > most_count or total > most_total:
            return False
        workloads = self.varied.get("workload", (self.base.workload,))
        assert isinstance(workloads, tuple)
        least = max(count, ends("attribute_count")[0], -(-total // cap))
        most = min(most_count, most_total // floor)
        return any(
            least <= most and floor <= cap if name == "none" else ends("scale")[0] <= MAX_SCALE[str(name)]
            for name in workloads
        )


def full_domain(axis: Axis) -> Range | tuple[Value, ...]:
    """Return the whole axis as a domain."""
    return Range(low=axis.low, high=axis.high) if isinstance(axis, NumericAxis) else axis.values


def parse_domain(name: str, text: str | None, option: str = "--vary") -> Range | tuple[Value, ...] | None:
    """Return the domain written as ``LO:HI`` (numeric) or ``a,b,c`` (categorical); None for the whole axis.

    An error says that it was meant for `option`.
    """
    axis = axis_named(name)
    if text is None:
        return None
    if isinstance(axis, CategoricalAxis):
        return tuple(axis.parse(part.strip()) for part in text.split(","))
    low, colon, high = text.partition(":")
    if not colon:
        raise InputError(f"{name}: {text!r} is not a range; write {option} {name}=LO:HI within {axis.range_text}")
    return Range(low=axis.parse(low), high=axis.parse(high))


def _check_domain(axis: Axis, domain: Range | tuple[Value, ...]) -> None:
    if isinstance(axis, CategoricalAxis):
        if not isinstance(domain, tuple) or not domain:
            raise InputError(f"{axis.name}: give values out of {axis.range_text}")
        for value in domain:
            axis.check(value)
        return
    if not isinstance(domain, Range):
        raise InputError(f"{axis.name}: give a range LO:HI within {axis.range_text}")
    if axis.check(domain.low) > axis.check(domain.high):
        raise InputError(f"{axis.name}: {_number(domain.low)} is above {_number(domain.high)}; write LO:HI")


_SUFFIXES = {"k": KIB, "kib": KIB, "m": MIB, "mib": MIB, "g": GIB, "gib": GIB, "b": 1}


def parse_number(text: str) -> int | float | None:
    """Return the number written as ``51828``, ``64KiB``, ``2^20`` or ``0.5``; None when it is none."""
    text = text.strip().lower().replace("_", "").replace(",", "")
    base, caret, exponent = text.partition("^")
    try:
        if caret:
            return int(base) ** min(int(exponent), 64) if int(exponent) >= 0 else None
        for suffix in sorted(_SUFFIXES, key=len, reverse=True):
            if text.endswith(suffix):
                scaled = float(text.removesuffix(suffix)) * _SUFFIXES[suffix]
                return int(scaled) if scaled == int(scaled) else None
        number = float(text)
        return int(number) if number.is_integer() else number
    except (ValueError, OverflowError):
        return None


def _number(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:g}"


assert tuple(f.name for f in fields(Point)) == tuple(AXES), "Point and AXES list the same axes in the same order"
