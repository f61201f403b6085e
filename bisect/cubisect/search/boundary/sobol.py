"""The space-filling sequence: scrambled Sobol points, the infeasible ones left out.

Leaving out keeps the points uniform over the feasible part, so that rates estimated on them are sound.
"""

import numpy as np
from scipy.stats import qmc

from cubisect.errors import InputError
from cubisect.search.boundary.encoding import Encoding, Float, Rows

BLOCK = 256
"""Points drawn at a time; a power of two keeps the sequence balanced."""

MOST_POINTS = 1 << 20
"""A space of which not one point in so many is feasible cannot be searched."""


class Explorer:
    """The i-th feasible point of a scrambled Sobol sequence, for any i; every categorical axis is stratified."""

    def __init__(self, encoding: Encoding, seed: int) -> None:
        self._encoding = encoding
        self._sequence = qmc.Sobol(encoding.width, scramble=True, rng=np.random.default_rng([seed, 0x50B01]), bits=30)
        self._rows: list[Float] = []
        self._drawn = 0

    def point(self, index: int) -> Float:
        """Return the row of the `index`-th feasible point, counted from 0."""
        while len(self._rows) <= index:
            if self._drawn - BLOCK > MOST_POINTS * (len(self._rows) + 1):
                raise InputError("hardly any point of this space is feasible; widen an axis with --vary AXIS=LO:HI")
            rows = self._encoding.from_unit(self._sequence.random(BLOCK))
            self._drawn += BLOCK
            self._rows.extend(rows[self._encoding.feasible(rows)])
        return self._rows[index]


def uniform_rows(encoding: Encoding, rng: np.random.Generator, count: int) -> Rows:
    """Return those of `count` uniform rows that are feasible."""
    rows = encoding.from_unit(rng.random((count, encoding.width)))
    return np.asarray(rows[encoding.feasible(rows)])
