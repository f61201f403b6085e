"""How small, and at what cost: shrinking against known truths over many seeds, as a Markdown table.

Run it from the top of the repository: ``PYTHONPATH=tests python benchmarks/shrink.py --seeds 10``.
"""

import argparse
import statistics
import time

from cubisect.reproduce.shrink import ShrinkResult, shrink
from cubisect.trial import TrialSpec
from reproduce.truths import SIGNATURE, TRUTHS, Truth, drawing


def worst_ratio(truth: Truth, result: ShrinkResult) -> float:
    """Return the largest of final size over known minimum; an axis whose minimum is 0 counts when it is not at 0."""
    final = {
        "descriptor_count": result.after.descriptors, "total_bytes": result.after.bytes,
        "repetition": result.after.repetition, "size_spread": result.spec.size_spread,
    }  # fmt: skip
    return max(final[name] / least if least else 1.0 + final[name] for name, least in truth.minimum.items())


def main() -> None:
    """Print a row per truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    print(
        "| truth | same signature | descriptors before → after | largest final ÷ minimum | trials, median (range) | s |"
    )
    print("|---|---|---|---|---|---|")
    for name, truth in TRUTHS.items():
        start = time.perf_counter()
        results = [
            shrink(TrialSpec.at(truth.start, seed=seed), SIGNATURE, drawing(truth.model, seed)) for seed in range(seeds)
        ]
        kept = sum(bool(truth.model.hazards(result.spec)) for result in results)
        counts = [result.after.descriptors for result in results]
        trials = [result.trials for result in results]
        ratio = max(worst_ratio(truth, result) for result in results)
        seconds = (time.perf_counter() - start) / seeds
        print(
            f"| {name} | {kept} of {seeds} | {results[0].before.descriptors:,} → {min(counts):,} to {max(counts):,} "
            f"| {ratio:.2f} | {statistics.median(trials):.0f} ({min(trials)} to {max(trials)}) | {seconds:.1f} |"
        )


if __name__ == "__main__":
    main()
