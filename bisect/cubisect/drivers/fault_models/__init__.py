"""Fault models: the known truth of a simulated driver.

A fault model is any class that can be made without arguments and has a `name` and `hazards`; ``sim:module:Class``
finds yours. It speaks of the batch call only: the per-descriptor control never fails in a simulation.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from cubisect.drivers.fault_models.report import Vllm49276
from cubisect.drivers.fault_models.shapes import Accumulation, Band, EveryOutcome, Flaky, Island, Null, Threshold
from cubisect.drivers.fault_models.traits import Manner
from cubisect.errors import InputError, choices
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import Point
from cubisect.trial import TrialSpec


class FaultModel(Protocol):
    """Ground truth of a simulated driver."""

    name: str

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return the probability of each failing outcome of this trial; they sum to at most 1, the rest is ok.

        `trial` has every axis as an attribute and `sizes`, an int64 array of descriptor sizes in bytes. The batch is
        built when `sizes` is read, and only then.
        """


@runtime_checkable
class DetailedFaultModel(Protocol):
    """A fault model that also says in which submission and in what manner a failure shows."""

    def manner(self, trial: TrialSpec, outcome: Outcome) -> Manner:
        """Return the details of a failing `outcome` that was drawn for this trial."""


MODELS: Mapping[str, Callable[[], FaultModel]] = MappingProxyType(
    {
        model.name: model
        for model in (Vllm49276, Threshold, Band, Island, Accumulation, Flaky, EveryOutcome, Null)
    }
)  # fmt: skip
"""Every model that comes with the product, by the name used in ``sim:NAME``."""


def checked_hazards(model: FaultModel, trial: TrialSpec) -> dict[Outcome, float]:
    """Return what `model` says of `trial`, by outcome in a fixed order.

    Raises:
        InputError: the model raised, named an outcome that is no failure, or gave numbers that are no probabilities.
    """
    where = f"fault model {model.name!r} at {trial.point.departures() or 'the default point'}"
    try:
        raw: Any = model.hazards(trial)
        given = {str(outcome): probability for outcome, probability in raw.items()}
    except Exception as error:
        raise InputError(f"{where} raised {type(error).__name__}: {error}; correct its hazards()") from error
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
    allowed = sorted(failure.value for failure in FAILURES)
    for name, value in given.items():
        if name not in allowed:
            raise InputError(f"{where} names {name!r}; a hazard is one of {choices(allowed)}")
        if not _is_probability(value):
            raise InputError(f"{where} returned {shown}; each must be a number from 0 to 1")
    if math.fsum(given.values()) > 1.0 + 1e-9:
        raise InputError(f"{where} returned {shown}; together that is over 1")
    return {outcome: float(given[outcome]) for outcome in Outcome if outcome in given}


def _is_probability(value: Any) -> bool:
    try:
        return 0.0 <= float(value) <= 1.0
    except (TypeError, ValueError):
        return False


_SMALL, _LARGE = 1 << 10, 1 << 28


@dataclass(frozen=True)
class _Corner:
    """A few values of the primary axes at which every model must have a sound answer."""

    count: int
    bytes: int
    repetition: int
    spread: float


_CORNERS = (
    _Corner(1, _SMALL, 1, 0.0), _Corner(1, _LARGE, 256, 0.0), _Corner(1024, _SMALL, 1, 0.0),
    _Corner(1024, 1 << 20, 1, 0.5), _Corner(19_634, _LARGE, 3, 0.5), _Corner(51_828, _LARGE, 1, 0.5),
    _Corner(1 << 17, _LARGE, 256, 1.0),
)  # fmt: skip


def check_model(model: FaultModel) -> None:
    """Ask `model` about a few points far apart, so that a broken one is found before anything is recorded.

    Raises:
        InputError: as `checked_hazards`.
    """
    for corner in _CORNERS:
        point = Point(
            descriptor_count=corner.count, total_bytes=corner.bytes, repetition=corner.repetition,
            size_spread=corner.spread, size_mix="lognormal",
        )  # fmt: skip
        checked_hazards(model, TrialSpec.at(point))
