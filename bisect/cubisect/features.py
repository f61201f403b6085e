"""What a driver engineer would want to know of a batch: the derived quantities, from the real descriptors."""

from collections.abc import Mapping

import numpy as np

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
    sizes = batch.sizes
    total = int(sizes.sum())
    values: dict[str, int | float] = {
        "mean_size": total / len(sizes),
        "smallest_size": int(sizes.min()),
        "largest_size": int(sizes.max()),
        "distinct_sizes": len(np.unique(sizes)),
        "size_changes": int(np.count_nonzero(np.diff(sizes))),
        "submitted_descriptors": len(sizes) * point.repetition,
        "submitted_bytes": total * point.repetition,
    }
    for cut in SIZE_CUTS:
        small = sizes < cut
        name = f"{cut // KIB}k"
        values[f"count_below_{name}"] = int(small.sum())
        values[f"bytes_below_{name}"] = int(sizes[small].sum())
        values[f"crossings_{name}"] = int(np.count_nonzero(small[1:] != small[:-1]))
    return {name: values[name] for name in FEATURES}
