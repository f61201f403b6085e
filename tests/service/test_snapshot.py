"""Snapshots: reread when there is news, but no more often than reading is worth."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from cubisect.service.failure_map import QUANTITIES
from cubisect.service.snapshot import MAX_SNAPSHOTS, PATIENCE, Snapshot, Snapshots
from cubisect.store import Store
from cubisect.trial import Purpose
from service.recorded import record_campaign


@dataclass
class Reading:
    """A store that takes a second to read from, on a clock of its own."""

    now: float = 0.0
    read: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> Snapshot:
        self.read.append(name)
        self.now += 1.0
        return cast("Snapshot", object())


def test_a_snapshot_is_kept_while_nothing_is_new() -> None:
    reading = Reading()
    snapshots = Snapshots(reading, lambda: reading.now)
    first = snapshots.get("a", 1)
    reading.now += 1000
    assert snapshots.get("a", 1) is first
    assert snapshots.get("a", 2) is not first
    assert reading.read == ["a", "a"]


def test_a_growing_campaign_is_reread_only_after_a_while() -> None:
    reading = Reading()
    snapshots = Snapshots(reading, lambda: reading.now)
    first = snapshots.get("a", 1)
    reading.now += PATIENCE * 0.9
    assert snapshots.get("a", 2) is first
    reading.now += PATIENCE * 0.2
    assert snapshots.get("a", 3) is not first


def test_few_campaigns_are_held() -> None:
    reading = Reading()
    snapshots = Snapshots(reading, lambda: reading.now)
    for k in range(MAX_SNAPSHOTS + 1):
        snapshots.get(str(k), 1)
    snapshots.get("1", 1)
    assert len(reading.read) == MAX_SNAPSHOTS + 1
    snapshots.get("0", 1)
    assert len(reading.read) == MAX_SNAPSHOTS + 2


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    campaign = record_campaign(tmp_path / "a.sqlite", trials=50)
    store = Store.open(str(tmp_path / "a.sqlite"))
    yield Snapshot(store, campaign), store.frame(campaign)
    store.close()


@pytest.mark.parametrize("name", ["descriptor_count", "mean_size", "direction", "size_spread"])
def test_sides_are_those_of_the_frame(opened: Any, name: str) -> None:
    snapshot, frame = opened
    quantity = QUANTITIES[name]
    points = snapshot.points(quantity, QUANTITIES["total_bytes"])
    assert points.number.tolist() == frame["number"].tolist()
    np.testing.assert_allclose(points.x, quantity.coordinates(frame[name].to_numpy()))


def test_latest_failing_trials_first(opened: Any) -> None:
    snapshot, frame = opened
    points = snapshot.points(QUANTITIES["descriptor_count"], QUANTITIES["total_bytes"])
    failing = frame.loc[frame["outcome"] != "ok", "number"].tolist()
    numbers, total = snapshot.latest(points, None, only_failing=True, limit=3)
    assert (numbers, total) == (failing[::-1][:3], len(failing))
    view = points.whole().moved(10.0, 0.0)
    assert snapshot.latest(points, view, only_failing=False, limit=3) == ([], 0)


def test_counts(opened: Any) -> None:
    snapshot, frame = opened
    assert snapshot.controls() == snapshot.of_parent(1, Purpose.CONTROL) == {}
    assert snapshot.signatures() == frame["signature_title"].dropna().value_counts().to_dict()
    assert snapshot.simulated
