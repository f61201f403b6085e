"""What every result of the analysis is: a frozen record with one sentence for people and a form for JSON."""

import math
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from cubisect.space import AXES, GIB, KIB, MIB


class Result:
    """Base of the result dataclasses; a subclass is frozen and says what it found in `answer`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def answer(self) -> str:
        """One sentence for people, with numbers."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return every field, and the answer, in types that JSON knows (NaN and infinities become None)."""
        return {"answer": self.answer, **{f.name: plain(getattr(self, f.name)) for f in fields(self)}}


def plain(value: Any) -> Any:
    """Return `value` in types that JSON knows."""
    if isinstance(value, Result):
        return value.to_json()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    return str(value)


def percent(share: float) -> str:
    """Return a share as people read it: ``0.74 %``, ``12 %``, ``100 %``; never rounded to 0 or 100 from within."""
    value = 100.0 * share
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    if value < 10.0:
        return f"{value:.2g} %"
    return f"{value:.0f} %" if value < 99.0 else f"{min(value, 99.99):.4g} %"


def number(value: float) -> str:
    """Return a number as people read it: ``0.25``, ``51,828``, ``2,956,000``: four digits count above a million."""
    if not math.isfinite(value):
        return "unbounded"
    if abs(value) >= 1e12:
        return f"{value:.4g}"
    if abs(value) >= 1e6:
        value = float(f"{value:.4g}")
    return f"{value:,.0f}" if abs(value) >= 1000.0 or value == int(value) else f"{value:.3g}"


def unit_of(name: str, value: float) -> tuple[int, str]:
    """Return the unit in which people read a value of an axis or derived quantity: its size and its name."""
    if not _in_bytes(name):
        return 1, ""
    units = ((GIB, " GiB"), (MIB, " MiB"), (KIB, " KiB"))
    return next((unit for unit in units if abs(value) >= unit[0]), (1, " B"))


def _in_bytes(name: str) -> bool:
    axis = AXES.get(name)
    if axis is not None:
        return getattr(axis, "unit", "") == "bytes"
    return name.startswith("bytes_") or name in {"mean_size", "smallest_size", "largest_size", "submitted_bytes"}


def amount(name: str, value: float) -> str:
    """Return a value of an axis or derived quantity with its unit: ``40,592``, ``57.2 MiB``."""
    size, unit = unit_of(name, value)
    return f"{value / size:.4g}{unit}" if unit else number(value)


def plural(count: int, noun: str) -> str:
    """Return ``1 trial`` or ``1,234 trials``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
