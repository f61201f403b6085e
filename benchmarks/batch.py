"""What it costs to build a batch and to verify one: ``python benchmarks/batch.py``.

Prints one line for each case, the best of three runs. Needs no GPU: the destination is in host memory, so that the
figures are those of the comparison alone.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cubisect.batch import BLOCK, Batch, build_batch, verify
from cubisect.batch import _Verifier as Verifier
from cubisect.space import GIB, KIB, MIB, Point

REPEATS = 3


def best_s(work: Callable[[], Any]) -> float:
    """Return the shortest of several runs in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def build(count: int) -> None:
    """Time `build_batch` for every mix, in the cheapest and in the dearest layout."""
    print(f"build_batch, {count:,} descriptors, 4 GiB")
    for mix in ("uniform", "lognormal", "pareto", "bimodal", "page_spans"):
        for layout in ("contiguous", "shuffled_both"):
            point = Point(descriptor_count=count, total_bytes=4 * GIB, size_mix=mix, size_spread=1.0, layout=layout)
            print(f"  {mix:<11} {layout:<14} {best_s(lambda point=point: build_batch(point, 1)):6.3f} s")


def arrived(batch: Batch) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the destination as a faultless driver leaves it."""
    verifier, extent = Verifier(batch, 1), batch.destination_extent
    return np.concatenate([verifier.expected(a, min(a + BLOCK, extent)) for a in range(0, extent, BLOCK)])


def check(total: int) -> None:
    """Time `verify` by the mean size of the copies."""
    print(f"verify, {total // MIB} MiB, log-normal sizes")
    for mean in (256 * KIB, 16 * KIB, KIB, 256):
        for layout in ("contiguous", "shuffled_both"):
            for gap in (0, 64):
                point = Point(
                    descriptor_count=total // mean, total_bytes=total, size_mix="lognormal", size_spread=0.8,
                    layout=layout, gap=gap,
                )  # fmt: skip
                batch = build_batch(point, 1)
                data = arrived(batch)
                seconds = best_s(lambda b=batch, d=data: verify(b, 1, lambda start, stop: d[start:stop]))
                print(
                    f"  mean {mean:>7,} B  {layout:<14} gap {gap:>2}  {seconds:6.3f} s"
                    f"  {seconds / batch.destination_extent * 1e9:5.2f} ns/B"
                    f"  {seconds / len(batch) * 1e6:7.2f} us/descriptor"
                )


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="descriptors to build")
    parser.add_argument("--mib", type=int, default=256, help="MiB to verify")
    options = parser.parse_args()
    build(options.count)
    check(options.mib * MIB)


if __name__ == "__main__":
    main()
