"""A trial, fully specified: what travels to the process that runs it, and why it was run."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cubisect.batch import Batch, Descriptors, batch_sizes, build_batch, explicit_batch
from cubisect.space import Point


class Method(StrEnum):
    """How the descriptors are submitted: in one batch call, or one copy call each (the control)."""

    BATCH = "batch"
    PERCOPY = "percopy"


class Purpose(StrEnum):
    """Why a trial was run."""

    SEARCH = "search"
    REPLICATE = "replicate"
    RESAMPLE = "resample"
    CONTROL = "control"
    SHRINK = "shrink"
    REPLAY = "replay"
    CANARY = "canary"
    TEST = "test"
    ISOLATE = "isolate"


BUDGETED = frozenset({Purpose.SEARCH, Purpose.REPLICATE, Purpose.RESAMPLE})
"""The purposes that count against a campaign's budget."""


class Origin(StrEnum):
    """Who chose the point of a search trial. Rates and marginal curves are sound on `EXPLORE` only."""

    EXPLORE = "explore"
    REPLICATE = "replicate"
    RESAMPLE = "resample"
    AXIS = "axis"
    MODEL = "model"
    ENQUEUED = "enqueued"


@dataclass(frozen=True, kw_only=True)
class TrialSpec(Point):
    """A point made concrete: with its seed (or explicit descriptors) it determines the batch byte for byte.

    `seed` draws the batch, `run_seed` the chance of one run (only a simulated driver can honour it), `gpu` is the
    device ordinal. With `descriptors` given, they are the batch and the size axes are only a description.
    """

    number: int = 0
    seed: int = 0
    run_seed: int = 0
    method: Method = Method.BATCH
    gpu: int = 0
    descriptors: Descriptors | None = None

    @classmethod
    def at(cls, point: Point, **rest: Any) -> "TrialSpec":
        """Return the trial of `point` with the other fields given."""
        return cls(**point.values(), **rest)

    @property
    def point(self) -> Point:
        """The point alone."""
        return Point(**self.values())

    @cached_property
    def batch(self) -> Batch:
        """The concrete descriptors."""
        if self.descriptors is not None:
            return explicit_batch(self.descriptors, self, self.seed)
        return build_batch(self.point, self.seed)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Descriptor sizes in bytes, in the order of submission; where they can be drawn, nothing else is built."""
        drawn = self.descriptors is None and self.workload == "none" and "batch" not in self.__dict__
        return batch_sizes(self.point, self.seed) if drawn else self.batch.sizes

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_json` builds an equal trial."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "descriptors"}
        packed = None if self.descriptors is None else self.descriptors.pack()
        return {**own, "method": self.method.value, "descriptors": packed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TrialSpec":
        """Return the trial that `to_json` described."""
        packed = data.get("descriptors")
        descriptors = None if packed is None else Descriptors.unpack(packed)
        return cls(**{**data, "method": Method(data["method"]), "descriptors": descriptors})


def derive_seed(*parts: object) -> int:
    """Return a 63-bit seed that depends on every part and on nothing else, the same on every machine."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
