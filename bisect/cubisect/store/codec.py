"""Evidence to and from JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cubisect.outcome import (
    CrashEvidence,
    DriverReport,
    Evidence,
    HangEvidence,
    HangKind,
    Phase,
    ResultState,
)


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Return a JSON-able description from which `evidence_from_json` builds equal evidence; phases by label."""
    data = asdict(evidence)
    data["phase"] = evidence.phase.label
    data["ranks"] = [evidence_to_json(rank) for rank in evidence.ranks]
    return data


def evidence_from_json(data: Mapping[str, Any]) -> Evidence:
    """Return the evidence that `evidence_to_json` described; what a newer program added is passed over."""
    values = {key: value for key, value in data.items() if key in Evidence.__dataclass_fields__}
    values["phase"] = Phase[data["phase"].upper()]
    values["result_state"] = ResultState(data["result_state"])
    values["notes"] = tuple(data.get("notes", ()))
    values["ranks"] = tuple(evidence_from_json(rank) for rank in data["ranks"])
    if data["report"] is not None:
        runs = tuple(tuple(run) for run in data["report"].get("mismatched_runs", ()))
        values["report"] = _known(DriverReport, {**data["report"], "mismatched_runs": runs})
    if data["hang"] is not None:
        values["hang"] = _known(HangEvidence, {**data["hang"], "kind": HangKind(data["hang"]["kind"])})
    if data["crash"] is not None:
        values["crash"] = _known(CrashEvidence, {**data["crash"], "frames": tuple(data["crash"]["frames"])})
    return Evidence(**values)


def _known(kind: Any, data: Mapping[str, Any]) -> Any:
    return kind(**{key: value for key, value in data.items() if key in kind.__dataclass_fields__})
