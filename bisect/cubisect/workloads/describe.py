"""What a batch looks like, in a few numbers: for `bisect presets` and for a user who checks a batch file."""

from dataclasses import dataclass

import numpy as np

from cubisect.batch import Descriptors


@dataclass(frozen=True, kw_only=True)
class SizeCount:
    """How many descriptors have this size; `share` is of the descriptors, 0 to 1."""

    size: int
    count: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Description:
    """A batch in a few numbers. `runs` counts the stretches of equal sizes in the order of submission."""

    descriptors: int
    total_bytes: int
    smallest: int
    largest: int
    distinct_sizes: int
    runs: int
    common: tuple[SizeCount, ...]
    others: int


def describe(descriptors: Descriptors, *, most: int = 8) -> Description:
    """Return the figures of a batch, with its `most` commonest sizes (commonest first) and the count of the others."""
    sizes = descriptors.sizes
    values, counts = np.unique(sizes, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:most]
    return Description(
        descriptors=len(sizes),
        total_bytes=int(sizes.sum()),
        smallest=int(values[0]),
        largest=int(values[-1]),
        distinct_sizes=len(values),
        runs=int(np.count_nonzero(np.diff(sizes))) + 1,
        common=tuple(
            SizeCount(size=int(values[i]), count=int(counts[i]), share=int(counts[i]) / len(sizes)) for i in common
        ),
        others=len(sizes) - int(counts[common].sum()),
    )
