"""Frames of simulated trials: points of a space, the truth of a fault model, and the features of the real batches.

`simulate` is a rough likeness of a campaign: Sobol points, replicates of the first failures, bisection along the axes
from failing points, and redraws near failures. It runs in this process and needs neither store nor sampler.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.stats import qmc

from cubisect.analysis.witness import WitnessPair
from cubisect.batch import build_batch
from cubisect.features import batch_features
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import Point, Range, Space
from cubisect.trial import Method, Origin, Purpose, TrialSpec, derive_seed

SMALL_SPACE = Space.of(
    vary={"descriptor_count": Range(low=1, high=1 << 13), "total_bytes": Range(low=1024, high=1 << 28)}
)
"""A space whose batches are small enough for tests that need many trials."""


class Truth(Protocol):
    """What a simulated driver would do; the protocol of the product's fault models."""

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]: ...


class Simulation:
    """Runs trials on a truth and keeps their rows."""

    def __init__(self, truth: Truth, space: Space, seed: int) -> None:
        self.truth, self.space, self.seed = truth, space, seed
        self.rng = np.random.default_rng(seed)
        self.rows: list[dict[str, Any]] = []

    def run(
        self,
        point: Point,
        *,
        origin: Origin | None = None,
        purpose: Purpose = Purpose.SEARCH,
        parent: int | None = None,
        method: Method = Method.BATCH,
    ) -> dict[str, Any]:
        """Run one trial; a replicate or control has its parent's batch."""
        number = len(self.rows)
        same = parent is not None and purpose in {Purpose.REPLICATE, Purpose.CONTROL}
        seed = self.rows[parent]["seed"] if same and parent is not None else derive_seed(self.seed, "batch", number)
        outcome = Outcome.OK
        if method is Method.BATCH:
            hazards = self.truth.hazards(TrialSpec.at(point, seed=seed))
            outcome = _drawn(hazards, self.rng.random())
        fails = outcome in FAILURES
        row = {
            **point.values(),
            "number": number,
            "purpose": str(purpose),
            "origin": None if origin is None else str(origin),
            "parent": parent,
            "seed": seed,
            "method": str(method),
            "outcome": str(outcome),
            "cuda_error": None,
            "fail_index": None,
            "phase": "submit" if fails else "done",
            "repetition_reached": point.repetition,
            "signature": str(outcome) if fails else None,
            "signature_title": f"{outcome} in submit" if fails else None,
            "wall_s": 0.2,
            "gpu": "GPU-0",
            "lane": 0,
            "tainted": False,
        }
        self.rows.append(row)
        return row

    def expected_rate(self, trials: int) -> float:
        """Return the true failure rate over the space, from `trials` Sobol points."""
        points = self.sobol()
        hazards = (self.truth.hazards(TrialSpec.at(next(points))) for _ in range(trials))
        return sum(sum(hazard.values()) for hazard in hazards) / trials

    def sobol(self) -> Iterator[Point]:
        """Yield feasible points of a scrambled Sobol sequence, for ever."""
        return sobol_points(self.space, self.seed)

    def point(self, number: int) -> Point:
        """Return the point of a trial."""
        return _point(self.rows[number])

    def frame(self) -> pd.DataFrame:
        """Return the trials as the store's frame would hold them, features included."""
        features = [_features(_point(row), row["seed"]) for row in self.rows]
        frame = pd.DataFrame([{**row, **more} for row, more in zip(self.rows, features, strict=True)])
        frame["parent"] = frame["parent"].astype("Int64")
        frame.attrs.update(campaign="simulated", driver="sim:test", simulated=True)
        return frame


def sobol_points(space: Space, seed: int) -> Iterator[Point]:
    """Yield feasible points of a scrambled Sobol sequence over the varied axes."""
    names = list(space.varied)
    generator = qmc.Sobol(len(names), rng=np.random.default_rng(seed))
    while True:
        for row in generator.random(1024):
            point = space.point(_coordinates(space, dict(zip(names, row, strict=True))))
            if space.contains(point):
                yield point


def _coordinates(space: Space, unit: Mapping[str, float]) -> dict[str, Any]:
    values: dict[str, Any] = {axis.name: low + unit[axis.name] * (high - low) for axis, low, high in space.numeric()}
    for axis, allowed in space.categorical():
        values[axis.name] = allowed[min(int(unit[axis.name] * len(allowed)), len(allowed) - 1)]
    return values


@lru_cache(maxsize=20_000)
def _features(point: Point, seed: int) -> dict[str, int | float]:
    return batch_features(build_batch(point, seed), point)


def _drawn(hazards: Mapping[Outcome, float], chance: float) -> Outcome:
    for outcome, probability in hazards.items():
        if chance < probability:
            return outcome
        chance -= probability
    return Outcome.OK


def explore(truth: Truth, space: Space = SMALL_SPACE, *, trials: int = 300, seed: int = 0) -> pd.DataFrame:
    """Return a frame of explored trials only."""
    simulation = Simulation(truth, space, seed)
    points = simulation.sobol()
    for _ in range(trials):
        simulation.run(next(points), origin=Origin.EXPLORE)
    return simulation.frame()


def simulate(truth: Truth, space: Space = SMALL_SPACE, *, trials: int = 500, seed: int = 0) -> pd.DataFrame:
    """Return the frame of a campaign of `trials` trials that seeks boundaries."""
    return simulate_campaign(truth, space, trials=trials, seed=seed).frame()


def simulate_campaign(truth: Truth, space: Space = SMALL_SPACE, *, trials: int = 500, seed: int = 0) -> Simulation:
    """Return a campaign of `trials` trials that seeks boundaries, to which more trials can be added."""
    seeker = _Seeker(Simulation(truth, space, seed))
    while len(seeker.simulation.rows) < trials:
        seeker.step()
    return seeker.simulation


def run_witness_test(simulation: Simulation, pair: WitnessPair) -> None:
    """Run both sides of a pair afresh, each run with a new batch."""
    for point in (pair.low, pair.high):
        for _ in range(pair.runs):
            simulation.run(point, purpose=Purpose.TEST, parent=pair.parent)


class _Seeker:
    """Explores, replicates the first failures, bisects along axes from failures, and redraws coordinates near them."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.rng = simulation, simulation.rng
        self.points = simulation.sobol()
        self.failures: list[dict[str, Any]] = []
        self.again = 0
        self.brackets: dict[tuple[int, str], list[float]] = {}

    def step(self) -> None:
        if not self.failures or self.rng.random() < 0.3:
            self._ran(self.simulation.run(next(self.points), origin=Origin.EXPLORE))
            return
        if self.again < 2 * min(len(self.failures), 8):
            anchor = self.failures[self.again // 2]
            self.again += 1
            self.simulation.run(
                _point(anchor), origin=Origin.REPLICATE, purpose=Purpose.REPLICATE, parent=anchor["number"]
            )
        elif self.again < 24 and len(self.failures) > 8:
            self.again += 1
            anchor = self.failures[self.again % 8]
            self.simulation.run(
                _point(anchor), origin=Origin.RESAMPLE, purpose=Purpose.RESAMPLE, parent=anchor["number"]
            )
        elif self.rng.random() < 0.5:
            self._bisect()
        else:
            self._redraw()

    def _ran(self, row: dict[str, Any]) -> None:
        if row["outcome"] != "ok":
            self.failures.append(row)

    def _bisect(self) -> None:
        anchor = self.failures[self.rng.integers(len(self.failures))]
        axes = list(self.simulation.space.numeric())
        axis, low, high = axes[self.rng.integers(len(axes))]
        here = axis.to_coordinate(anchor[axis.name])
        key = (anchor["number"], axis.name)
        bracket = self.brackets.setdefault(key, [here, low if self.rng.random() < 0.5 else high])
        fresh = len(bracket) == 2
        target = bracket[1] if fresh else (bracket[0] + bracket[1]) / 2
        point = self._moved(anchor, {axis.name: target})
        if point is None:
            self._redraw()
            return
        row = self.simulation.run(point, origin=Origin.AXIS)
        self._ran(row)
        if fresh:
            bracket.append(0.0)
        else:
            bracket[0 if row["outcome"] != "ok" else 1] = target

    def _redraw(self) -> None:
        anchor = self.failures[self.rng.integers(len(self.failures))]
        names = list(self.simulation.space.varied)
        chosen = self.rng.choice(names, size=self.rng.integers(1, 3), replace=False)
        other = self.simulation.space.coordinates(next(self.points))
        point = self._moved(anchor, {name: other[name] for name in chosen})
        if point is not None:
            self._ran(self.simulation.run(point, origin=Origin.MODEL))

    def _moved(self, anchor: dict[str, Any], changes: Mapping[str, Any]) -> Point | None:
        space = self.simulation.space
        point = space.point({**space.coordinates(_point(anchor)), **changes})
        return point if space.contains(point) else None


def _point(row: Mapping[str, Any]) -> Point:
    return Point(**{name: row[name] for name in Point.AXIS_NAMES})
