"""Fingerprints of where trials ran, side by side."""

from collections.abc import Mapping
from typing import Any


def flat(found: Any, where: str = "") -> dict[str, Any]:
    """Return what a nested record tells, by the path to it: ``driver devices 0 name``."""
    if not isinstance(found, Mapping | list):
        return {} if found is None else {where: found}
    items = found.items() if isinstance(found, Mapping) else enumerate(found)
    return {path: value for name, inner in items for path, value in flat(inner, f"{where} {name}".strip()).items()}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return what of two fingerprints differs: the path to it, and what it is in each."""
    before, after = flat(before), flat(after)
    names = sorted({**before, **after})
    pairs = [(name, before.get(name, "–"), after.get(name, "–")) for name in names]
    return [(name, old, new) for name, old, new in pairs if old != new]
