"""A campaign described in TOML, so that it can be kept, reviewed and run again.

[campaign]
name = "cliff"
driver = "cuda"
budget = 300
preset = "vllm-49276-tp4"        # start from a real transfer; may be absent

[fix]
direction = "h2d"

[vary]
size_spread = true               # the whole axis
total_bytes = "1MiB:1GiB"        # part of it
flags = [0, 1]                   # some values

[caps]
max_submitted_bytes = "64GiB"

[[enqueue]]                      # tried first
descriptor_count = 51828
flags = [0, 1]                   # a list: one point for each value, and with several lists for each combination
times = 20                       # so many trials of each, every one with a new batch
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from cubisect.errors import InputError, choices
from cubisect.search.explore import NewRequest
from cubisect.space import AXES, Point, Range, Space, Value, axis_named, parse_domain, parse_number
from cubisect.workloads import preset_point

Domain = Range | tuple[Value, ...] | None

DEFAULT_CAPS: Mapping[str, int] = {"max_submitted_descriptors": 1 << 22, "max_submitted_bytes": 64 << 30}
"""Work of one trial when a campaign says nothing: seconds on an H200, where the whole space would take minutes."""

_SECTIONS = ("campaign", "fix", "vary", "caps", "enqueue")
_CAMPAIGN_KEYS: Mapping[str, type] = {
    "name": str,
    "driver": str,
    "budget": int,
    "seed": int,
    "sampler": str,
    "preset": str,
}
_CAPS = ("max_submitted_descriptors", "max_submitted_bytes")
_UNSAID: tuple[Any, ...] = (None, {}, ())


@dataclass(frozen=True, kw_only=True)
class CampaignFile:
    """What a campaign file says; every part may be absent. `enqueue` has one entry for each trial."""

    name: str | None = None
    driver: str | None = None
    budget: int | None = None
    seed: int | None = None
    sampler: str | None = None
    preset: str | None = None
    fix: Mapping[str, Value] = field(default_factory=dict)
    vary: Mapping[str, Domain] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)
    enqueue: tuple[Mapping[str, Value], ...] = ()

    def changed_by(self, options: "CampaignFile") -> "CampaignFile":
        """Return this file with whatever `options` say instead; axes and caps are merged one by one."""
        said = {f.name: value for f in fields(self) if (value := getattr(options, f.name)) not in _UNSAID}
        merged = {name: {**getattr(self, name), **said.get(name, {})} for name in ("fix", "vary", "caps")}
        return replace(self, **{**said, **merged})


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
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("[enqueue]: write it as a list of tables, [[enqueue]]")
    return CampaignFile(
        **head,
        fix={name: _value(name, value) for name, value in _table(data, "fix").items()},
        vary={name: _domain(name, value) for name, value in _table(data, "vary").items()},
        caps={name: _count(name, value, "[caps]") for name, value in caps.items()},
        enqueue=tuple(point for row in rows for point in _points(row)),
    )


def _points(row: Mapping[str, Any]) -> Iterator[Mapping[str, Value]]:
    """Yield the points of one [[enqueue]] table: every combination of its lists, and all of them `times` times."""
    times = _count("times", row.get("times", 1), "[[enqueue]]")
    axes = {name: value if isinstance(value, list) else [value] for name, value in row.items() if name != "times"}
    for _ in range(times):  # in rounds, so that an interrupted campaign has tried all of them equally often
        for values in product(*axes.values()):
            yield {name: _value(name, value) for name, value in zip(axes, values, strict=True)}


def campaign_request(file: CampaignFile, *, drawn_seed: int) -> NewRequest:
    """Return the campaign that a file describes; `drawn_seed` is its seed when it names none.

    Raises:
        InputError: an axis, a preset or a point does not fit the others.
    """
    base = preset_point(file.preset) if file.preset else None
    space = _space(file, base)
    return NewRequest(
        space=space,
        driver=file.driver or "auto",
        budget=500 if file.budget is None else file.budget,
        seed=drawn_seed if file.seed is None else file.seed,
        sampler=file.sampler or "boundary",
        name=file.name,
        enqueue=_enqueued(space, file.enqueue) or ([base] if base else []),
        settings={"preset": file.preset},
    )


def _space(file: CampaignFile, base: Point | None) -> Space:
    """Return the default space, or around a preset the space of scale, fragmentation and repetition."""
    caps = {**DEFAULT_CAPS, **file.caps}
    if base is None:
        return Space.of(fix=file.fix, vary=file.vary, **caps)
    around: dict[str, Domain] = {
        axis: None for axis in ("scale", "fragmentation", "repetition") if axis not in file.fix
    }
    around.update(file.vary)
    held = {name: value for name, value in {**base.values(), **file.fix}.items() if name not in around}
    return replace(Space.of(fix=held, vary=around, **caps), base=base.moved(**file.fix))


def _enqueued(space: Space, rows: tuple[Mapping[str, Value], ...]) -> list[Point]:
    """Return the rows as points of the space; what a row leaves open comes from the space's base."""
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


def _count(name: str, value: Any, where: str) -> int:
    parsed = parse_number(value) if isinstance(value, str) else value
    if isinstance(parsed, bool) or not isinstance(parsed, int) or parsed < 1:
        raise InputError(f"{where} {name}: {value!r} is not a whole number above 0")
    return parsed
