"""A campaign described in TOML, so that it can be kept, reviewed and run again.

[campaign]
name = "cliff"
driver = "cuda"
budget = 300

[fix]
direction = "h2d"

[vary]
size_spread = true               # the whole axis
total_bytes = "1MiB:1GiB"        # part of it
flags = [0, 1]                   # some values

[caps]
max_submitted_bytes = "64GiB"

[[enqueue]]
descriptor_count = 51828
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cubisect.errors import InputError, choices
from cubisect.space import AXES, Point, Range, Space, Value, axis_named, parse_domain, parse_number

Domain = Range | tuple[Value, ...] | None

DEFAULT_CAPS: Mapping[str, int] = {"max_submitted_descriptors": 1 << 22, "max_submitted_bytes": 64 << 30}
"""Work of one trial when a campaign says nothing: seconds on an H200, where the whole space would take minutes."""

_SECTIONS = ("campaign", "fix", "vary", "caps", "enqueue")
_CAMPAIGN_KEYS: Mapping[str, type] = {"name": str, "driver": str, "budget": int, "seed": int, "sampler": str}
_CAPS = ("max_submitted_descriptors", "max_submitted_bytes")


@dataclass(frozen=True, kw_only=True)
class CampaignFile:
    """What a campaign file says; every part may be absent."""

    name: str | None = None
    driver: str | None = None
    budget: int | None = None
    seed: int | None = None
    sampler: str | None = None
    fix: Mapping[str, Value] = field(default_factory=dict)
    vary: Mapping[str, Domain] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)
    enqueue: tuple[Mapping[str, Value], ...] = ()


def read_campaign_file(path: Path) -> CampaignFile:
    """Return what the file says.

    Raises:
        InputError: the file cannot be read, is not TOML, or names something unknown; the message says where.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give the path of a campaign file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    try:
        return _campaign(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _campaign(data: Mapping[str, Any]) -> CampaignFile:
    _known(data, _SECTIONS, "section")
    head = _table(data, "campaign")
    _known(head, _CAMPAIGN_KEYS, "key of [campaign]")
    for key, value in head.items():
        if not isinstance(value, _CAMPAIGN_KEYS[key]) or isinstance(value, bool):
            raise InputError(f"[campaign] {key}: {value!r} is not {_CAMPAIGN_KEYS[key].__name__}")
    caps = _table(data, "caps")
    _known(caps, _CAPS, "key of [caps]")
    rows = data.get("enqueue", [])
    if not isinstance(rows, list):
        raise InputError("[enqueue]: write it as a list of tables, [[enqueue]]")
    return CampaignFile(
        **head,
        fix={name: _value(name, value) for name, value in _table(data, "fix").items()},
        vary={name: _domain(name, value) for name, value in _table(data, "vary").items()},
        caps={name: _count(name, value) for name, value in caps.items()},
        enqueue=tuple({name: _value(name, value) for name, value in row.items()} for row in rows),
    )


def enqueued_points(space: Space, rows: tuple[Mapping[str, Value], ...]) -> list[Point]:
    """Return the rows as points of the space; what a row leaves open comes from the space's base.

    Raises:
        InputError: a row lies outside the space.
    """
    points = []
    for row in rows:
        point = Point.of({**space.base.values(), **row})
        if not space.contains(point):
            outside = [name for name in row if name not in space.varied]
            hint = f"; {choices(outside)} is not varied" if outside else ""
            raise InputError(f"[[enqueue]] {dict(row)} lies outside the space of this campaign{hint}")
        points.append(point)
    return points


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{name}: write it as a table, [{name}]")
    return table


def _known(data: Mapping[str, Any], allowed: Any, what: str) -> None:
    for key in data:
        if key not in allowed:
            raise InputError(f"unknown {what} {key!r}; allowed are {choices(allowed)}")


def _value(name: str, value: Any) -> Value:
    axis = axis_named(name)
    return axis.parse(value) if isinstance(value, str) else axis.check(value)


def _domain(name: str, value: Any) -> Domain:
    axis_named(name)
    if value is True:
        return None
    if isinstance(value, str):
        return parse_domain(name, value)
    if isinstance(value, list):
        return tuple(AXES[name].check(item) for item in value)
    raise InputError(f"[vary] {name}: write true, a range as text, or a list of values")


def _count(name: str, value: Any) -> int:
    parsed = parse_number(value) if isinstance(value, str) else value
    if isinstance(parsed, bool) or not isinstance(parsed, int) or parsed < 1:
        raise InputError(f"[caps] {name}: {value!r} is not a whole number above 0")
    return parsed
