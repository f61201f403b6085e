"""What a person may ask the server to run, checked field by field, and the command line it becomes."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from cubisect.drivers.fault_models import MODELS
from cubisect.errors import InputError, choices
from cubisect.search.samplers import SAMPLERS
from cubisect.space import AXES, Range, axis_named, parse_domain
from cubisect.workloads import WORKLOADS

DRIVERS = ("auto", "cuda", *(f"sim:{name}" for name in MODELS))
"""Drivers that a page may ask for. Fault models of one's own are loaded from the command line only: a request must not
choose what code is imported."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, description="letters, digits, dot, dash and underscore")]
Budget = Annotated[int, Field(ge=1, le=10_000_000, description="trials that run the batch call")]
Axes = Annotated[dict[str, str], Field(max_length=len(AXES), json_schema_extra={"propertyNames": {"enum": list(AXES)}})]


def _choice(values: Iterable[str]) -> Any:
    """Return a field whose description lists what is allowed; a validator says it to whoever errs."""
    return Field(json_schema_extra={"enum": [*values]})


class StartRequest(BaseModel):
    """A campaign to start. `fix` and `vary` are written as on the command line; an empty domain is the whole axis."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    driver: Annotated[str, _choice(DRIVERS)] = "auto"
    budget: Budget = 500
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] | None = None
    sampler: Annotated[str, _choice(SAMPLERS)] = "boundary"
    preset: Annotated[str, _choice(WORKLOADS)] | None = None
    lanes: Annotated[int, Field(ge=1, le=256)] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] | None = None
    fix: Axes = Field(default_factory=dict, examples=[{"direction": "h2d"}])
    vary: Axes = Field(default_factory=dict, examples=[{"total_bytes": "1MiB:64MiB", "flags": ""}])

    @field_validator("driver")
    @classmethod
    def _known_driver(cls, value: str) -> str:
        return _one_of("driver", value, DRIVERS)

    @field_validator("sampler")
    @classmethod
    def _known_sampler(cls, value: str) -> str:
        return _one_of("sampler", value, SAMPLERS)

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, value: str | None) -> str | None:
        return None if value is None else _one_of("preset", value, WORKLOADS)

    @field_validator("fix")
    @classmethod
    def _canonical_values(cls, values: Mapping[str, str]) -> dict[str, str]:
        return {name: _canonical_value(name, text) for name, text in values.items()}

    @field_validator("vary")
    @classmethod
    def _canonical_domains(cls, domains: Mapping[str, str]) -> dict[str, str]:
        return {name: _canonical_domain(name, text) for name, text in domains.items()}

    @model_validator(mode="after")
    def _not_both(self) -> "StartRequest":
        both = sorted(set(self.fix) & set(self.vary))
        if both:
            raise ValueError(f"{both[0]} is both fixed and varied; drop one")
        return self

    def named(self, now: datetime) -> "StartRequest":
        """Return this request with a name, made of driver and time where none was given."""
        if self.name is not None:
            return self
        return self.model_copy(update={"name": f"{self.driver.removeprefix('sim:')}-{now:%Y%m%d-%H%M%S}"})

    def arguments(self) -> list[str]:
        """Return the arguments of `bisect` that start this campaign."""
        assert self.name is not None
        options: dict[str, Any] = {
            "name": self.name,
            "driver": self.driver,
            "budget": self.budget,
            "seed": self.seed,
            "sampler": self.sampler,
            "preset": self.preset,
            "lanes": self.lanes,
            "timeout": self.timeout_s,
        }
        return [
            "explore",
            *(f"--{option}={value}" for option, value in options.items() if value is not None),
            *(f"--fix={axis}={value}" for axis, value in self.fix.items()),
            *(f"--vary={axis}={domain}" if domain else f"--vary={axis}" for axis, domain in self.vary.items()),
        ]


class ResumeRequest(BaseModel):
    """Go on with a campaign, its budget raised where one is given."""

    model_config = ConfigDict(extra="forbid")

    budget: Budget | None = None

    def arguments(self, name: str) -> list[str]:
        """Return the arguments of `bisect` that resume the campaign called `name`."""
        budget = [] if self.budget is None else [f"--budget={self.budget}"]
        return ["explore", f"--resume={name}", *budget]


def start_request_of_form(form: Mapping[str, str]) -> StartRequest:
    """Return the request of a submitted form; `fix` and `vary` hold one ``AXIS=VALUE`` a line.

    Raises:
        pydantic.ValidationError: a field is not allowed.
    """
    plain = {key: value.strip() for key, value in form.items() if value.strip()}
    lines = {key: _axis_lines(plain.pop(key, "")) for key in ("fix", "vary")}
    return StartRequest.model_validate({**plain, **lines})


def _axis_lines(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in re.split(r"[\n;]", text) if line.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _one_of(what: str, value: str, allowed: Any) -> str:
    if value not in allowed:
        raise ValueError(f"{what} {value!r} is not allowed; allowed are {choices(allowed)}")
    return value


def _canonical_value(name: str, text: str) -> str:
    try:
        return str(axis_named(name).parse(text))
    except InputError as error:
        raise ValueError(str(error)) from error


def _canonical_domain(name: str, text: str) -> str:
    try:
        domain = parse_domain(name, text or None)
    except InputError as error:
        raise ValueError(str(error)) from error
    if isinstance(domain, Range):
        return f"{domain.low}:{domain.high}"
    return "" if domain is None else ",".join(str(value) for value in domain)
