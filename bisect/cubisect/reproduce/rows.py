"""Smaller and plainer lists of explicit descriptors."""

from collections.abc import Callable, Iterator

import numpy as np

from cubisect.batch import Descriptors, Int64

MOST_PIECES = 32
"""A list is cut into so many pieces at most: whatever is left can lose less than a thirty-second, or nothing."""


def without_pieces(rows: Descriptors, still_fails: Callable[[Descriptors], bool]) -> Descriptors:
    """Return a sublist that still fails and from which no piece can be left out.

    Delta debugging by complements (A. Zeller and R. Hildebrandt, *Simplifying and isolating failure-inducing input*,
    2002): cut into pieces, leave out each in turn, cut finer when none can go. Pieces are first tried alone, which
    finds a small core in a long list at once.
    """
    pieces = 2
    while len(rows) > 1:
        parts = np.array_split(np.arange(len(rows)), min(pieces, len(rows)))
        core = next((part for part in parts if still_fails(rows.take(part))), None) if pieces <= 4 else None
        if core is not None:
            rows, pieces = rows.take(core), 2
            continue
        rows, shorter = _left_out(rows, parts, still_fails)
        if shorter:
            pieces = max(pieces - 1, 2)
        elif pieces >= min(len(rows), MOST_PIECES):
            break
        else:
            pieces = min(2 * pieces, len(rows), MOST_PIECES)
    return rows


def _left_out(
    rows: Descriptors, parts: list[Int64], still_fails: Callable[[Descriptors], bool]
) -> tuple[Descriptors, bool]:
    """Leave out every part that can go, one after the other; return the rest and whether it is shorter."""
    kept = np.ones(len(rows), dtype=np.bool_)
    for part in parts:
        kept[part] = False
        if not kept.any() or not still_fails(rows.take(np.flatnonzero(kept))):
            kept[part] = True
    return rows.take(np.flatnonzero(kept)), not bool(kept.all())


def plainer(rows: Descriptors) -> Iterator[tuple[str, Descriptors]]:
    """Yield plainer lists of as many descriptors, the plainest first, each with what is plainer in it."""
    sizes = rows.sizes
    mean = max(int(sizes.sum()) // len(sizes), 1)
    yield "all sizes equal", contiguous(np.full(len(sizes), _power_of_two(mean)))
    small, large = _power_of_two(int(sizes.min())), _power_of_two(int(sizes.max()))
    two = np.where(sizes * sizes > int(sizes.min()) * int(sizes.max()), large, small)
    yield "two sizes, small ones first", contiguous(np.sort(two))
    yield "two sizes", contiguous(two)
    rounded = np.array([_power_of_two(int(size)) for size in sizes], dtype=np.int64)
    yield "powers of two, ascending", contiguous(np.sort(rounded))
    yield "powers of two", contiguous(rounded)
    yield "contiguous", contiguous(sizes)
    yield "powers of two in place", Descriptors(rows.source, rows.destination, np.minimum(rounded, sizes))


def contiguous(sizes: Int64) -> Descriptors:
    """Return descriptors of these sizes, one after the other in both buffers."""
    sizes = np.asarray(sizes, dtype=np.int64)
    offsets = np.cumsum(sizes) - sizes
    return Descriptors(offsets, offsets, sizes)


def _power_of_two(size: int) -> int:
    """Return the power of two nearest to a size on a logarithmic scale."""
    return 1 << max(round(float(np.log2(size))), 0)
