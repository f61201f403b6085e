"""Where the model may look next: everywhere, and around known failures."""

import numpy as np

from cubisect.search.boundary.encoding import Encoding, Float, Rows
from cubisect.search.boundary.history import History, Int
from cubisect.search.boundary.sobol import uniform_rows

UNIFORM = 2000
REDRAWN = 400
MOST_REDRAWN_AXES = 3
ROUNDED_SHARE = 0.1
"""Share of redrawn candidates whose count or bytes become a multiple of a power of two: alignment looks like a coin
flip on a log axis, and round values hardly ever occur there by chance."""

NEIGHBOURHOOD = 0.15
"""Length, as a fraction of the axes' ranges, over which failing trials count as neighbours of one another."""

MOST_COMPARED = 192
"""Failing trials compared with one another; more would cost time and say nothing new about their density."""


def candidate_rows(history: History, code: int, rng: np.random.Generator) -> Rows:
    """Return feasible rows to choose among: uniform ones, and failures of a kind with one to three axes redrawn."""
    encoding = history.encoding
    uniform = uniform_rows(encoding, rng, UNIFORM)
    redrawn = redraw(encoding, draw_failures(history, code, REDRAWN, rng), rng)
    return np.concatenate([uniform, redrawn[encoding.feasible(redrawn)]])


def moved_failure(history: History, code: int, rng: np.random.Generator) -> Float:
    """Return a feasible row that differs from a failure of a kind in one to three axes, drawn at random."""
    encoding = history.encoding
    while True:
        rows = redraw(encoding, draw_failures(history, code, 16, rng), rng)
        good = rows[encoding.feasible(rows)]
        if len(good):
            return np.asarray(good[0])


def redraw(encoding: Encoding, rows: Rows, rng: np.random.Generator) -> Rows:
    """Return copies of rows in which one to three axes are drawn anew, a few of them rounded to powers of two."""
    count, width = rows.shape
    fresh = encoding.from_unit(rng.random((count, width)))
    ranks = rng.random((count, width)).argsort(axis=1).argsort(axis=1)
    changed = ranks < rng.integers(1, min(MOST_REDRAWN_AXES, width) + 1, size=count)[:, None]
    moved = np.where(changed, fresh, rows)
    return _rounded(encoding, moved, rng)


def _rounded(encoding: Encoding, rows: Rows, rng: np.random.Generator) -> Rows:
    columns = encoding.round_columns
    if not columns:
        return rows
    chosen = np.flatnonzero(rng.random(len(rows)) < ROUNDED_SHARE)
    for column in columns:
        values = np.exp2(rows[chosen, column])
        unit = np.exp2(rng.integers(1, 13, size=len(chosen)))
        rows[chosen, column] = np.log2(np.maximum(np.rint(values / unit), 1.0) * unit)
    return encoding.canonical(rows)


def draw_failures(history: History, code: int, count: int, rng: np.random.Generator) -> Rows:
    """Return `count` failing rows of a kind, drawn with replacement, rarer where they lie dense."""
    entries = sample(np.array(history.failures[code]), MOST_COMPARED, rng)
    weights = sparsity(history, entries, entries)
    return np.asarray(history.rows[rng.choice(entries, size=count, p=weights / weights.sum())])


def sparsity(history: History, entries: Int, among: Int) -> Float:
    """Return one over the number of `among` that lie around each of `entries`."""
    gaps = history.encoding.distances(history.rows[entries], history.rows[among])
    return np.asarray(1.0 / np.maximum(np.exp(-((gaps / NEIGHBOURHOOD) ** 2)).sum(axis=1), 1e-9))


def sample(entries: Int, most: int, rng: np.random.Generator) -> Int:
    """Return `entries`, or `most` of them drawn without replacement."""
    return entries if len(entries) <= most else rng.choice(entries, size=most, replace=False)
