"""One axis at a time from a known failure: the far ends first, then bisection; every other named value once.

What is still to be probed is read off the trials that lie on the lines through the failure, so nothing needs to be
remembered, a resumed search goes on where it was, and running probes are seen: a bracket has one probe at a time.
"""

from collections.abc import Iterator

import numpy as np

from cubisect.search.boundary.candidates import sample, sparsity
from cubisect.search.boundary.encoding import Float
from cubisect.search.boundary.history import History, Line
from cubisect.trial import Origin

OCTAVES = 0.25
"""A bracket on a log axis this narrow is not halved again."""

FRACTION = 1 / 64
"""The same for a linear axis, as a fraction of its range."""

GRID = 129
"""Positions tested for feasibility along a line."""

MOST_STARTED = 12
"""Failures started last that are looked at for unfinished lines: more than one only when probes run side by side."""

MOST_ANCHORS = 32
"""Failures considered as the next one to start from."""


def next_probe(history: History, code: int, rng: np.random.Generator) -> Float | None:
    """Return the next row to probe for failures of a kind; None when no known failure has anything left to probe."""
    for entry in [*history.started[code][-MOST_STARTED:], *_fresh_anchors(history, code, rng)]:
        probe = next(probes(history, entry), None)
        if probe is not None:
            return probe
    return None


def _fresh_anchors(history: History, code: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield failures from which no line was probed yet, those first that lie alone; no probe is a start itself."""
    started = set(history.started[code])
    failures = np.array(history.failures[code])
    anchors = [e for e in failures if e not in started and history.proposal(e).origin is not Origin.AXIS]
    if anchors:
        some = sample(np.array(anchors), MOST_ANCHORS, rng)
        weights = sparsity(history, some, sample(failures, 8 * MOST_ANCHORS, rng))
        yield from rng.choice(some, size=len(some), replace=False, p=weights / weights.sum()).tolist()


def probes(history: History, entry: int) -> Iterator[Float]:
    """Yield the rows that may be probed now on the lines through a failing entry."""
    row = history.rows[entry]
    width = history.encoding.width
    for step in range(width):
        column = (entry + step) % width  # no axis is always the last one
        line = history.line(row, column)
        at = _named_values if column in history.encoding.categories else _positions
        for position in at(history, entry, column, line):
            probe = row.copy()
            probe[column] = position
            yield probe


def _named_values(history: History, entry: int, column: int, line: Line) -> Iterator[float]:
    """Yield the values of a categorical axis that were not tried on this line."""
    known = {*line.positions, *line.pending}
    row = history.rows[entry]
    for value in range(len(history.encoding.categories[column])):
        probe = row.copy()
        probe[column] = value
        if value not in known and history.encoding.feasible(probe[None, :])[0]:
            yield float(value)


def _positions(history: History, entry: int, column: int, line: Line) -> Iterator[float]:
    """Yield a far end that was not tried, or the middle of a bracket; at most one in each direction."""
    here = history.rows[entry, column]
    same = history.codes[line.entries] == history.codes[entry]
    for sign in (-1.0, 1.0):
        beyond = sign * (line.positions - here) > 0
        if (sign * (line.pending - here) > 0).any():
            continue  # a probe in this direction is running
        if not beyond.any():
            end = _feasible_end(history, entry, column, sign)
            if end != here:
                yield end
        elif not same[beyond].all():
            yield from _middle(history, column, here, sign, line.positions[beyond], same[beyond])


def _middle(
    history: History, column: int, here: float, sign: float, positions: Float, same: np.ndarray
) -> Iterator[float]:
    """Yield the middle between the nearest position that differs and the last one before it that does not."""
    distance = sign * (positions - here)
    nearest = distance[~same].min()
    inside = max((float(d) for d in distance[same] if d < nearest), default=0.0)
    wide = OCTAVES if history.encoding.is_log(column) else FRACTION * history.encoding.span[column]
    middle = history.encoding.canonical_at(column, here + sign * (inside + nearest) / 2)
    if nearest - inside > wide and inside < sign * (middle - here) < nearest:
        yield middle


def _feasible_end(history: History, entry: int, column: int, sign: float) -> float:
    """Return the furthest position of a column, up (1) or down (-1), that is reached through feasible ones only."""
    encoding = history.encoding
    here = history.rows[entry, column]
    end = encoding.high[column] if sign > 0 else encoding.low[column]
    grid = np.repeat(history.rows[entry][None, :], GRID, axis=0)
    grid[:, column] = np.linspace(here, end, GRID)
    grid = encoding.canonical(grid)
    bad = np.flatnonzero(~encoding.feasible(grid))
    return float(grid[bad[0] - 1 if len(bad) else -1, column]) if not len(bad) or bad[0] else float(here)
