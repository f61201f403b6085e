"""How long does `analyze` take, and how much memory? On recorded trials of three kinds of failure.

    python benchmarks/analysis.py --trials 100000

The frame is made from formulas (sizes near their mean), for building 100,000 real batches takes an hour; the columns
and their number are those of a recorded campaign, numeric columns have no ties, and a third of the trials fail.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from cubisect.analysis.chance import chance
from cubisect.analysis.control import control_effect
from cubisect.analysis.envelope import safe_envelope
from cubisect.analysis.monotone import monotonicity
from cubisect.analysis.rates import failure_rates
from cubisect.analysis.regions import regions
from cubisect.analysis.summary import analyze
from cubisect.analysis.threshold import thresholds
from cubisect.analysis.witness import plan_witness_test
from cubisect.features import SIZE_CUTS
from cubisect.space import KIB, Point, Space

PARTS: Sequence[Callable[[pd.DataFrame], object]] = (
    failure_rates, chance, thresholds, monotonicity, regions, safe_envelope, control_effect,
)  # fmt: skip


def made_up_frame(trials: int, seed: int = 0) -> pd.DataFrame:
    """Return a frame of `trials` trials with thresholds, a band and an oblique region, chancy in part."""
    rng = np.random.default_rng(seed)
    count = np.floor(2.0 ** rng.uniform(0, 20, trials))
    total = np.floor(np.maximum(2.0 ** rng.uniform(10, 32, trials), count))
    repetition = np.floor(2.0 ** rng.uniform(0, 8, trials))
    spread = rng.uniform(0, 1, trials)
    frame = pd.DataFrame({name: np.full(trials, value) for name, value in Point().values().items()})
    frame["descriptor_count"], frame["total_bytes"], frame["repetition"] = count, total, repetition
    frame["size_spread"] = spread
    frame["size_mix"] = rng.choice(["uniform", "lognormal", "pareto", "bimodal", "page_spans"], trials)
    frame["direction"] = rng.choice(["h2d", "d2h"], trials)
    frame = pd.concat([frame, _features(count, total, repetition, rng)], axis=1)
    frame["outcome"] = _outcomes(frame, rng)
    return _recorded(frame, rng)


def _features(count: np.ndarray, total: np.ndarray, repetition: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    mean = total / count
    columns = {
        "mean_size": mean,
        "smallest_size": mean * rng.uniform(0.1, 1, len(count)),
        "largest_size": mean * rng.uniform(1, 10, len(count)),
        "distinct_sizes": np.ceil(count * rng.uniform(0, 1, len(count))),
        "size_changes": np.ceil(count * rng.uniform(0.9, 1, len(count))),
        "submitted_descriptors": count * repetition,
        "submitted_bytes": total * repetition,
    }
    for cut in SIZE_CUTS:
        share = 1.0 / (1.0 + (mean / cut) ** 2)
        columns[f"count_below_{cut // KIB}k"] = np.ceil(count * share)
        columns[f"bytes_below_{cut // KIB}k"] = np.ceil(total * share / 2.0)
        columns[f"crossings_{cut // KIB}k"] = np.ceil(count * share * (1.0 - share))
    return pd.DataFrame(columns)


def _outcomes(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    band = frame["mean_size"].between(3_000, 33_000) & frame["size_spread"].between(0.25, 0.75)
    chance = rng.uniform(0, 1, len(frame))
    return np.select(
        [frame["descriptor_count"] > 200_000, band & (chance < 0.9), frame["submitted_bytes"] > 2.0**36],
        ["segfault", "hang", "async_error"],
        "ok",
    )


def _recorded(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    trials = len(frame)
    number = np.arange(trials)
    purpose = rng.choice(["search", "replicate", "resample"], trials, p=[0.8, 0.15, 0.05])
    again = purpose != "search"
    again[0] = False
    parent = np.where(again, rng.integers(0, number + 1), -1)
    origin = np.where(again, purpose, rng.choice(["explore", "axis", "model"], trials))
    purpose = np.where(again, purpose, "search")
    fails = frame["outcome"] != "ok"
    extra = {
        "number": number, "purpose": purpose, "origin": origin,
        "parent": pd.array(np.where(again, parent, 0), dtype="Int64"), "seed": number, "method": "batch",
        "cuda_error": None, "fail_index": None, "phase": "submit", "repetition_reached": 1,
        "signature": frame["outcome"].where(fails), "signature_title": frame["outcome"].where(fails),
        "wall_s": 0.2, "gpu": "GPU-0", "lane": 0, "tainted": False,
    }  # fmt: skip
    frame = frame.assign(**extra)
    frame.loc[~again, "parent"] = pd.NA
    frame.attrs.update(campaign="made up", driver="sim:benchmark", simulated=True)
    return frame


def main() -> None:
    """Time the whole and its parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    options = parser.parse_args()
    frame = made_up_frame(options.trials)
    print(f"{options.trials:,} trials, {(frame['outcome'] != 'ok').mean():.0%} fail")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started, worked = time.perf_counter(), time.process_time()
    analyze(frame)
    took, worked = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"analyze {took:.1f} s, {worked:.1f} s of processor time")
    print(f"peak memory {peak:.0f} MiB, {before:.0f} MiB before it")
    for part in PARTS:
        started = time.perf_counter()
        part(frame)
        print(f"    {part.__name__:20s} {time.perf_counter() - started:6.2f} s")
    started = time.perf_counter()
    plan_witness_test(frame, Space.default(), 72)
    print(f"    {'plan_witness_test':20s} {time.perf_counter() - started:6.2f} s (not part of analyze)")


if __name__ == "__main__":
    main()
