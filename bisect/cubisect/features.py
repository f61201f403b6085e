"""What a driver engineer would want to know of a batch: the derived quantities, from the real descriptors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cubisect.batch import Batch
from cubisect.space import KIB, Point

SIZE_CUTS = tuple(k * KIB for k in (1, 4, 8, 16, 24, 28, 32, 64, 256))
"""Sizes in bytes at which a driver may switch from one copy path to another."""

FEATURES: Mapping[str, str] = {
    "mean_size": "total bytes ÷ descriptors",
    "smallest_size": "bytes of the smallest copy",
    "largest_size": "bytes of the largest copy",
    "distinct_sizes": "number of different sizes",
    "size_changes": "neighbours in submission order whose sizes differ",
    "submitted_descriptors": "descriptors × repetition",
    "submitted_bytes": "bytes × repetition",
    **{f"count_below_{cut // KIB}k": f"descriptors smaller than {cut // KIB} KiB" for cut in SIZE_CUTS},
    **{f"bytes_below_{cut // KIB}k": f"bytes in descriptors smaller than {cut // KIB} KiB" for cut in SIZE_CUTS},
    **{f"crossings_{cut // KIB}k": f"neighbours on different sides of {cut // KIB} KiB" for cut in SIZE_CUTS},
}
"""Name and meaning of every derived quantity."""


def batch_features(batch: Batch, point: Point) -> dict[str, int | float]:
    """Return every quantity of `FEATURES` for one batch."""
    return size_features(batch.sizes, point)


def size_features(sizes: NDArray[np.int64], point: Point) -> dict[str, int | float]:
    """Return every quantity of `FEATURES` from the sizes in the order of submission, in one pass over all cuts."""
    total = int(sizes.sum())
    in_order = np.sort(sizes)  # faster than `np.unique`, but for the largest batches
    values: dict[str, int | float] = {
        "mean_size": total / len(sizes),
        "smallest_size": int(in_order[0]),
        "largest_size": int(in_order[-1]),
        "distinct_sizes": 1 + int(np.count_nonzero(in_order[1:] != in_order[:-1])),
        "size_changes": int(np.count_nonzero(sizes[1:] != sizes[:-1])),
        "submitted_descriptors": len(sizes) * point.repetition,
        "submitted_bytes": total * point.repetition,
    }
    slots = np.zeros(len(sizes), dtype=np.uint8)  # of a size, the first cut that it is below
    for cut in SIZE_CUTS:
        slots += sizes >= cut
    low, high = np.minimum(slots[1:], slots[:-1]), np.maximum(slots[1:], slots[:-1])
    counts = _below(slots)
    bytes_ = _below(slots, sizes)
    crossings = _below(low) - _below(high)  # between two neighbours lies every cut from `low` up to `high`
    for index, cut in enumerate(SIZE_CUTS):
        name = f"{cut // KIB}k"
        values[f"count_below_{name}"] = int(counts[index])
        values[f"bytes_below_{name}"] = int(bytes_[index])
        values[f"crossings_{name}"] = int(crossings[index])
    return {name: values[name] for name in FEATURES}


def _below(slots: NDArray[np.uint8], sizes: NDArray[np.int64] | None = None) -> NDArray[Any]:
    """Return, for every cut, how many slots are at most its own, or the bytes in them (exact up to 2^53)."""
    return np.cumsum(np.bincount(slots, weights=sizes, minlength=len(SIZE_CUTS)))[: len(SIZE_CUTS)]
