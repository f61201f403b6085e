"""What canaries cost on a machine, kept so that a campaign that is resumed need not measure it again."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from cubisect.isolation.deadline import Costs


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The seconds that a canary took, and the costs of every trial that follow from it."""

    canary_s: float
    costs: Costs

    def constants(self) -> dict[str, float]:
        """Return it as named numbers."""
        return {"canary_s": self.canary_s, **asdict(self.costs)}

    @classmethod
    def of(cls, constants: Mapping[str, float]) -> "Calibration | None":
        """Return what `constants` told, None when one is missing or unknown: then it is measured again."""
        rest = dict(constants)
        canary_s = rest.pop("canary_s", None)
        if canary_s is None or rest.keys() != Costs.__dataclass_fields__.keys():
            return None
        return cls(canary_s=canary_s, costs=Costs(**rest))


class CalibrationBook(Protocol):
    """Where calibrations are kept, by driver and place: the store."""

    def calibration(self, driver: str, gpu: str) -> Mapping[str, float]:
        """Return what was measured, empty when nothing was."""

    def save_calibration(self, driver: str, gpu: str, constants: Mapping[str, float]) -> None:
        """Keep what was measured, in place of what was kept before."""


def place_of(gpu: str, environment: Mapping[str, Any]) -> str:
    """Return the name of a GPU in an environment (`isolation.resolve`), under which its calibration is kept.

    Another driver version, kernel, interpreter or package makes another place: what was measured in one says nothing
    of the other.
    """
    versions = {key: environment.get("driver", {}).get(key) for key in ("driver_version", "cuda_version")}
    text = json.dumps([versions, environment.get("host"), environment.get("packages")], sort_keys=True)
    return f"{gpu}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"
