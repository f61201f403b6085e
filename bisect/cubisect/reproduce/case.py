"""``case.json``: a failing trial with everything that is needed to run it again, and what is known of it.

The file holds no host name, no path and no serial number, so that it can be attached to a public report.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cubisect import __version__
from cubisect.errors import InputError, choices
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec

if TYPE_CHECKING:  # cold.py reads cases under a debugger, where statistics and a database take many seconds to load
    from cubisect.analysis.rates import Rate
    from cubisect.store import TrialRecord

FORMAT, VERSION = "bisect-case", 1


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many conclusive runs of one batch failed."""

    failures: int
    trials: int

    @classmethod
    def of(cls, outcomes: Iterable[Outcome | None]) -> "Tally":
        """Return the tally of these outcomes; those that say nothing are left out."""
        told = [outcome for outcome in outcomes if outcome not in (None, Outcome.INCONCLUSIVE)]
        return cls(failures=sum(outcome in FAILURES for outcome in told), trials=len(told))

    def rate(self, what: str) -> "Rate":
        """Return the rate with its interval."""
        from cubisect.analysis.rates import Rate, Sample  # noqa: PLC0415  (see above)

        return Rate.of(what, self.failures, self.trials, Sample.REPLICATES)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One exported trial. `batch_runs` and `control_runs` are of the very batch; None where none were made.

    `environment` is what `public_environment` leaves of a campaign's.
    """

    spec: TrialSpec
    driver: str
    simulated: bool
    outcome: Outcome
    reason: str = ""
    signature: str | None = None
    signature_title: str | None = None
    cuda_error: int | None = None
    cuda_error_name: str | None = None
    fail_index: int | None = None
    batch_runs: Tally | None = None
    control_runs: Tally | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        record: "TrialRecord",
        *,
        environment: Mapping[str, Any],
        batch_runs: Tally | None = None,
        control_runs: Tally | None = None,
    ) -> "Case":
        """Return the case of a finished trial.

        Raises:
            InputError: the trial has not finished.
        """
        if record.outcome is None:
            raise InputError(f"trial {record.ref} has not finished; type `bisect trials --outcome segfault,hang`")
        own = {f.name: getattr(record, f.name) for f in fields(cls) if f.name != "spec" and hasattr(record, f.name)}
        return cls(
            **{**own, "spec": replace(record.spec, number=0, gpu=0), "reason": record.reason or ""},
            environment=public_environment(environment),
            batch_runs=batch_runs,
            control_runs=control_runs,
        )

    @property
    def title(self) -> str:
        """One line: what happens."""
        mark = f"SIMULATED by {self.driver}: " if self.simulated else ""
        call = "cuMemcpyAsync" if self.spec.method is Method.PERCOPY else "cuMemcpyBatchAsync"
        return f"{mark}{call}: {self.signature_title or self.outcome}"

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``case.json``."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        runs = {name: None if data[name] is None else vars(data[name]) for name in ("batch_runs", "control_runs")}
        return {
            "format": FORMAT, "version": VERSION, "bisect": __version__, **data, **runs,
            "spec": self.spec.to_json(), "batch": batch_summary(self.spec),
        }  # fmt: skip


def batch_summary(spec: TrialSpec) -> dict[str, Any]:
    """Return count, bytes and a digest of the descriptors, by which a changed batch is noticed."""
    batch = spec.batch
    rows = np.stack([batch.source, batch.destination, batch.sizes]).astype("<i8")
    return {"count": len(batch), "bytes": int(batch.sizes.sum()), "sha256": hashlib.sha256(rows.tobytes()).hexdigest()}


def read_case(path: Path) -> Case:
    """Return the case in a file.

    Raises:
        InputError: there is no such file, it is no case, is newer than this program, or its batch is not the one that
            was exported.
    """
    data = _parsed(path)
    if data.get("format") != FORMAT:
        raise InputError(f'{path} is no case file: "format" must be {FORMAT!r}; make one by `bisect reproduce TRIAL`')
    if data.get("version") != VERSION:
        raise InputError(f"{path} has version {data.get('version')!r}; this program reads {VERSION}; update bisect")
    try:
        case = _case(data)
    except (KeyError, TypeError, ValueError, InputError) as error:
        text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} cannot be used: {text}; export it again by `bisect reproduce TRIAL`") from error
    if "batch" in data and data["batch"] != batch_summary(case.spec):
        raise InputError(f"{path}: point and seed give another batch than the exported one; was the file edited?")
    return case


def _parsed(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}; give the case.json of `bisect reproduce`"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}; write the file that `bisect reproduce` made") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} is no case file: it must hold one JSON object")
    return data


def _case(data: Mapping[str, Any]) -> Case:
    known = {f.name for f in fields(Case)}
    values = {name: value for name, value in data.items() if name in known}
    runs = {n: None if values.get(n) is None else Tally(**values[n]) for n in ("batch_runs", "control_runs")}
    return Case(**{**values, **runs, "spec": _spec(data["spec"]), "outcome": Outcome(data["outcome"])})


def _spec(data: Mapping[str, Any]) -> TrialSpec:
    unknown = sorted(set(data) - set(TrialSpec.__dataclass_fields__))
    if unknown:
        raise InputError(f"spec has {choices(unknown)}, which this program does not know")
    if data.get("descriptors") is None:
        Point.of({name: data[name] for name in Point.AXIS_NAMES if name in data})
    return TrialSpec.from_json(data)


_PUBLIC = {
    "driver": ("driver", "driver_version", "cuda_version", "devices", "fault_model", "packages"),
    "host": ("system", "kernel", "machine", "python"),
}
_PUBLIC_OF_DEVICE = ("name", "memory_bytes", "compute_capability", "vbios")


def public_environment(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a campaign's environment may be published: versions and models, nothing that names a machine."""
    kept: dict[str, Any] = {}
    for part, names in _PUBLIC.items():
        whole = environment.get(part) or {}
        kept[part] = {name: whole[name] for name in names if name in whole}
    devices = kept["driver"].get("devices")
    if devices is not None:
        kept["driver"]["devices"] = [{n: device[n] for n in _PUBLIC_OF_DEVICE if n in device} for device in devices]
    kept["packages"] = dict(environment.get("packages") or {})
    return kept
