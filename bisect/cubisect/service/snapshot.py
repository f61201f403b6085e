"""The finished trials of a campaign, held in memory as long as they are current."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cubisect.outcome import FAILURES, Outcome
from cubisect.service.failure_map import CODES, DEFAULT_X, DEFAULT_Y, QUANTITIES, Points, Quantity, View
from cubisect.store import Campaign, Store
from cubisect.trial import BUDGETED, Purpose

MAX_SNAPSHOTS = 8
"""Campaigns held at a time; 100,000 trials take some 30 MB."""

PATIENCE = 5.0
"""A snapshot is reread at the earliest after so many times the time that reading it took: pages of a large campaign
that grows are a little behind rather than slow."""

_COLUMNS = ("number", "purpose", "outcome", "parent", "signature_title", "method", "tainted")
_FIRST_SIDES = (QUANTITIES[DEFAULT_X], QUANTITIES[DEFAULT_Y])


class Snapshot:
    """What the pages ask of all trials at once; sides of the map other than the usual ones are read when asked for."""

    def __init__(self, store: Store, campaign: Campaign) -> None:
        self._store, self._campaign = store, campaign
        frame = store.columns(campaign, (*_COLUMNS, *(side.name for side in _FIRST_SIDES)))
        self._frame = frame
        self._sides = {side.name: side.coordinates(frame[side.name].to_numpy()) for side in _FIRST_SIDES}
        codes = frame["outcome"].map({str(outcome): code for outcome, code in CODES.items()})
        self._outcome = np.asarray(codes.fillna(CODES[Outcome.INCONCLUSIVE]), dtype=np.int64)
        self._number = frame["number"].to_numpy(dtype=np.int64)
        counts = frame["purpose"].isin([str(purpose) for purpose in BUDGETED]) & (frame["method"] == "batch")
        self._mapped = np.flatnonzero(counts & ~frame["tainted"].astype(bool))
        self._failing = np.isin(self._outcome, [CODES[outcome] for outcome in FAILURES])

    @property
    def simulated(self) -> bool:
        """Whether the trials are those of a fault model."""
        return self._campaign.simulated

    def points(self, x: Quantity, y: Quantity) -> Points:
        """Return the trials that map the space, with their coordinates."""
        mapped = self._mapped
        return Points(
            number=self._number[mapped],
            outcome=self._outcome[mapped],
            x=self._side(x)[mapped],
            y=self._side(y)[mapped],
        )

    def latest(self, points: Points, view: View | None, *, only_failing: bool, limit: int) -> tuple[list[int], int]:
        """Return the numbers of the latest `limit` mapped trials in a view, latest first, and how many there are."""
        chosen = self._mapped if view is None else self._mapped[points.inside(view)]
        if only_failing:
            chosen = chosen[self._failing[chosen]]
        return self._number[chosen][::-1][:limit].tolist(), len(chosen)

    def of_parent(self, number: int, purpose: Purpose) -> dict[str, int]:
        """Return how the trials ended that were run because of trial `number`, for one purpose."""
        return self._counts((self._frame["parent"] == number) & (self._frame["purpose"] == str(purpose)))

    def children(self, number: int) -> dict[Purpose, list[int]]:
        """Return the numbers of the trials that were run because of trial `number`, by purpose."""
        children = self._frame[self._frame["parent"] == number]
        return {Purpose(str(purpose)): list(rows) for purpose, rows in children.groupby("purpose")["number"]}

    def controls(self) -> dict[str, int]:
        """Return how the per-descriptor runs ended."""
        return self._counts(self._frame["purpose"] == str(Purpose.CONTROL))

    def signatures(self) -> dict[str, int]:
        """Return how often each signature was seen, the commonest first."""
        return {str(title): int(n) for title, n in self._frame["signature_title"].dropna().value_counts().items()}

    def _counts(self, rows: object) -> dict[str, int]:
        outcomes = self._frame.loc[rows, "outcome"]  # type: ignore[index]
        return {str(outcome): int(count) for outcome, count in outcomes.value_counts().items()}

    def _side(self, quantity: Quantity) -> NDArray[np.float64]:
        """Return a quantity's coordinate for every trial; trials that finished since the snapshot are passed over."""
        if quantity.name not in self._sides:
            read = self._store.columns(self._campaign, ("number", quantity.name))
            rows = np.searchsorted(read["number"].to_numpy(), self._number)
            values = read[quantity.name].to_numpy()[rows]
            self._sides[quantity.name] = quantity.coordinates(values)
        return self._sides[quantity.name]


@dataclass(frozen=True)
class _Held:
    snapshot: Snapshot
    version: object
    read_at: float
    read_s: float


class Snapshots:
    """The latest snapshots by campaign. Used from several threads."""

    def __init__(self, read: Callable[[str], Snapshot], clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read, clock
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, version: object) -> Snapshot:
        """Return the snapshot of a campaign; reread when `version` has changed and the last reading is old enough."""
        with self._lock:
            held = self._held.get(name)
            if held is None or (held.version != version and self._clock() - held.read_at > PATIENCE * held.read_s):
                held = self._held[name] = self._read_now(name, version)
            self._held.move_to_end(name)
            if len(self._held) > MAX_SNAPSHOTS:
                self._held.popitem(last=False)
            return held.snapshot

    def _read_now(self, name: str, version: object) -> _Held:
        started = self._clock()
        snapshot = self._read(name)
        now = self._clock()
        return _Held(snapshot, version, now, now - started)
