"""What a search knows: finished trials in the order of their results, and those still running."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cubisect.search.boundary.encoding import Encoding, Float, Rows
from cubisect.trial import Origin, Purpose

OK = 0
"""Code of a trial that passed; failures of different kinds are 1, 2, … in the order of their first occurrence."""

Int = NDArray[np.int64]
LineKey = tuple[int, bytes]
"""Identifies the line through a row along one column: the column, and the row without it."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A trial to be run: the row, who chose it and why; `parent` is the number of the trial to be repeated."""

    row: Float
    origin: Origin
    purpose: Purpose = Purpose.SEARCH
    parent: int | None = None


@dataclass(frozen=True)
class Line:
    """Everything known along one column through a row: positions, kinds and origins; running trials apart."""

    positions: Float
    entries: Int
    pending: Float


@dataclass
class History:
    """Finished trials as growing arrays, with the indices that the rules of the search ask for.

    An *entry* is the position of a finished trial in the order of results; a *number* is the caller's name for it.
    """

    encoding: Encoding
    pending: dict[int, Proposal] = field(default_factory=dict)
    origins: Counter[Origin] = field(default_factory=Counter)
    kinds: list[str] = field(default_factory=list)
    failures: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    repeats: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    started: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    entry_of: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._capacity = 256
        self._count = 0
        self._rows = np.empty((self._capacity, self.encoding.width))
        self._codes = np.empty(self._capacity, dtype=np.int64)
        self._costs = np.empty(self._capacity)
        self._features = np.empty((0, 0), dtype=np.float32)
        self._proposals: list[Proposal] = []
        self._numbers: list[int] = []
        self._lines: dict[LineKey, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Rows:
        """Rows of the finished trials."""
        return self._rows[: self._count]

    @property
    def codes(self) -> Int:
        """Kinds of the finished trials: `OK` or the code of a failure."""
        return self._codes[: self._count]

    @property
    def features(self) -> NDArray[np.float32]:
        """What a tree sees of the finished trials."""
        return self._features[: self._count]

    def number(self, entry: int) -> int:
        """Return the caller's name of a finished trial."""
        return self._numbers[entry]

    def proposal(self, entry: int) -> Proposal:
        """Return how a finished trial came about."""
        return self._proposals[entry]

    def asked(self, number: int, proposal: Proposal) -> None:
        """Note a trial that is about to run."""
        self.pending[number] = proposal
        self.origins[proposal.origin] += 1

    def dropped(self, number: int, proposal: Proposal) -> None:
        """Note a trial that ended without saying anything."""
        if self.pending.pop(number, None) is None:
            self.origins[proposal.origin] += 1

    def told(self, number: int, proposal: Proposal, kind: str | None, cost_s: float) -> None:
        """Add a finished trial; `kind` names the failure, None is a pass."""
        if self.pending.pop(number, None) is None:
            self.origins[proposal.origin] += 1
        entry, code = self._append(proposal.row, kind, cost_s)
        self._numbers.append(number)
        self._proposals.append(proposal)
        self.entry_of[number] = entry
        if proposal.parent is not None:
            self.repeats[proposal.parent].append(entry)
        elif code != OK:
            self.failures[code].append(entry)
        if proposal.purpose is Purpose.SEARCH:
            self._index(entry, proposal)

    def line(self, row: Float, column: int) -> Line:
        """Return what is known along `column` through `row`."""
        key = line_key(row, column)
        entries = np.array(self._lines.get(key, ()), dtype=np.int64)
        running = [p.row[column] for p in self.pending.values() if line_key(p.row, column) == key]
        return Line(self.rows[entries, column], entries, np.array(running, dtype=np.float64))

    def mean_costs(self) -> Float:
        """Return the mean cost in seconds of a pass and of every kind of failure, never 0."""
        count = len(self.kinds) + 1
        total = np.bincount(self.codes, weights=self._costs[: self._count], minlength=count)
        seen = np.bincount(self.codes, minlength=count)
        return np.asarray(np.maximum(total / np.maximum(seen, 1), 1e-3))

    def _index(self, entry: int, proposal: Proposal) -> None:
        """Put a trial on the lines through it; a probe starts the failures that lie on its lines."""
        for column in range(self.encoding.width):
            line = self._lines[line_key(proposal.row, column)]
            if proposal.origin is Origin.AXIS:
                for other in line:
                    self._start(other)
            line.append(entry)

    def _start(self, entry: int) -> None:
        started = self.started[int(self._codes[entry])]
        if self._codes[entry] != OK and self._proposals[entry].origin is not Origin.AXIS and entry not in started:
            started.append(entry)

    def _append(self, row: Float, kind: str | None, cost_s: float) -> tuple[int, int]:
        entry = self._count
        features = self.encoding.features(row[None, :])
        if entry == 0:
            self._features = np.empty((self._capacity, features.shape[1]), dtype=np.float32)
        if entry == self._capacity:
            self._grow()
        if kind is not None and kind not in self.kinds:
            self.kinds.append(kind)
        code = OK if kind is None else self.kinds.index(kind) + 1
        self._rows[entry], self._features[entry] = row, features[0]
        self._codes[entry], self._costs[entry] = code, cost_s
        self._count += 1
        return entry, code

    def _grow(self) -> None:
        self._capacity *= 2
        self._rows, self._features = _doubled(self._rows), _doubled(self._features)
        self._codes, self._costs = _doubled(self._codes), _doubled(self._costs)


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, np.empty_like(array)])


def line_key(row: Float, column: int) -> LineKey:
    """Return the key of the line through `row` along `column`."""
    return column, np.delete(row, column).tobytes()
