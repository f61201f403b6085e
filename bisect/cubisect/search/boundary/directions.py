"""Directions in which failures are thin, for trees that cut along single axes.

Source: SAVE, Cook, Weisberg, JASA 86 (1991) 328.
"""

import numpy as np
from numpy.typing import NDArray

from cubisect.search.boundary.encoding import Features, Float

MIN_FAILURES = 8
"""Fewer failures of a kind say nothing about its shape."""

MOST_DIRECTIONS = 6


def failure_directions(numeric: Float, codes: NDArray[np.int64]) -> Float:
    """Return directions in the numeric columns (one per output column) along which failures are spread least.

    A slab that is oblique in several axes is thin along its normal. SAVE finds it: whiten by all trials, then take the
    eigenvectors of the smallest variances of the failures of one kind.
    """
    width = numeric.shape[1]
    found: list[Float] = []
    if width < 2 or len(numeric) <= width + 1:
        return np.empty((width, 0))
    values, vectors = np.linalg.eigh(np.cov(numeric, rowvar=False) + 1e-6 * np.eye(width))
    whiten = vectors / np.sqrt(values)
    kinds, counts = np.unique(codes[codes > 0], return_counts=True)
    for kind in kinds[counts >= MIN_FAILURES]:
        failing = numeric[codes == kind] @ whiten
        _, axes = np.linalg.eigh(np.cov(failing, rowvar=False))
        found.extend((whiten @ axes[:, :2]).T)
    return np.array(found[:MOST_DIRECTIONS]).T if found else np.empty((width, 0))


def with_directions(features: Features, numeric: Float, directions: Float) -> Features:
    """Return features with a column more for the position of every row along each direction."""
    if not directions.shape[1]:
        return np.ascontiguousarray(features)
    return np.hstack([features, (numeric @ directions).astype(np.float32)])
