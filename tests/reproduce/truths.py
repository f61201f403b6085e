"""Known truths to shrink against, and an oracle that draws from them without processes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cubisect.drivers.fault_models import FaultModel
from cubisect.drivers.fault_models.shapes import Accumulation, Band, Flaky, Island, Threshold
from cubisect.outcome import Outcome
from cubisect.reproduce.oracle import Oracle, TrialOutcome
from cubisect.space import GIB, MIB, Point
from cubisect.trial import TrialSpec

SIGNATURE = "the fault"


class TwoSizes:
    """Segfault, always, with 200 or more copies below 4 KiB and 100 or more of 16 KiB or larger in one batch."""

    name = "two-sizes"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        small, large = (trial.sizes < 4096).sum(), (trial.sizes >= 16384).sum()
        return {Outcome.SEGFAULT: 1.0} if small >= 200 and large >= 100 else {}


class ThisBatch:
    """Segfault, always, where two neighbours have the sizes that two have in one batch: other batches pass."""

    name = "this-batch"

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        sizes = trial.sizes
        hit = ((sizes[:-1] == self.first) & (sizes[1:] == self.second)).any()
        return {Outcome.SEGFAULT: 1.0} if hit else {}


@dataclass(frozen=True)
class Truth:
    """A model, a point at which it fails, and the axes at their known minimum."""

    model: FaultModel
    start: Point
    minimum: Mapping[str, float]


TRUTHS: Mapping[str, Truth] = {
    "threshold": Truth(
        Threshold(),
        Point.of({"descriptor_count": 300_000, "total_bytes": GIB, "repetition": 9, "size_mix": "pareto",
                  "size_spread": 0.7, "direction": "d2h", "neighbours": 3, "gap": 100}),
        {"descriptor_count": 40_000, "total_bytes": 40_000, "repetition": 1, "size_spread": 0.0},
    ),
    "flaky": Truth(
        Flaky(),
        Point.of({"descriptor_count": 200_000, "total_bytes": GIB, "repetition": 7, "size_mix": "lognormal",
                  "size_spread": 0.9}),
        {"descriptor_count": 12_400, "total_bytes": 12_400, "repetition": 1, "size_spread": 0.45},
    ),
    "band": Truth(
        Band(),
        Point.of({"descriptor_count": 60_000, "total_bytes": 512 * MIB, "repetition": 5, "size_mix": "lognormal",
                  "size_spread": 0.6}),
        {"descriptor_count": 2_400, "total_bytes": 2_400 * 3072, "repetition": 1, "size_spread": 0.25},
    ),
    "island": Truth(
        Island(),
        Point.of({"descriptor_count": 20_000, "total_bytes": 300 * MIB, "repetition": 5, "size_mix": "bimodal",
                  "size_spread": 0.65}),
        {"repetition": 1},
    ),
    "accumulation": Truth(
        Accumulation(),
        Point.of({"descriptor_count": 400_000, "total_bytes": GIB, "repetition": 60, "size_mix": "pareto",
                  "size_spread": 0.9}),
        {"size_spread": 0.0},
    ),
    "two-sizes": Truth(
        TwoSizes(),
        Point.of({"descriptor_count": 20_000, "total_bytes": 200 * MIB, "size_mix": "lognormal", "size_spread": 0.9,
                  "repetition": 3}),
        {"descriptor_count": 300, "repetition": 1},
    ),
}  # fmt: skip


def drawing(model: FaultModel, seed: int, *, on_run: Callable[[TrialSpec], None] = lambda _: None) -> Oracle:
    """Return an oracle that draws every run from the model's hazards."""
    generator = np.random.default_rng(seed)

    def oracle(spec: TrialSpec, times: int) -> Sequence[TrialOutcome]:
        on_run(spec)
        (outcome, hazard) = next(iter(model.hazards(spec).items()), (Outcome.OK, 0.0))
        failing = generator.random(times) < hazard
        return [TrialOutcome(outcome, SIGNATURE) if fails else TrialOutcome(Outcome.OK) for fails in failing]

    return oracle
