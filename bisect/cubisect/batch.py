"""From a point and a seed to the concrete descriptors, byte for byte the same on every machine.

Only raw Philox4x64-10 output, integer arithmetic and single IEEE-754 operations are used: NumPy's distributions may
change between versions, and `exp`, `log` and `sum` of floats may differ between processors in the last bit.
"""

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cubisect.errors import InputError
from cubisect.space import MAX_DESCRIPTORS, Point

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Lane(IntEnum):
    """Independent random streams of one seed; the number is part of the generator's key and never changes."""

    SIZES = 1
    ORDER = 2
    SOURCE = 3
    DESTINATION = 4
    INVALID = 5
    DATA = 6
    WORKLOAD = 7
    RUN = 8


@dataclass(frozen=True, eq=False)
class Descriptors:
    """Explicit copies: int64 arrays of equal length, in bytes, in the order of submission. Equal by content."""

    source: Int64
    destination: Int64
    sizes: Int64

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descriptors) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("source", "destination", "sizes")
        )

    def __hash__(self) -> int:
        return hash((len(self), self.sizes.tobytes()))

    def pack(self) -> str:
        """Return the arrays as text (base64 of zlib of little-endian int64) for JSON and the database."""
        stacked = np.stack([self.source, self.destination, self.sizes]).astype("<i8")
        return base64.b64encode(zlib.compress(stacked.tobytes(), 6)).decode("ascii")

    @classmethod
    def unpack(cls, text: str) -> "Descriptors":
        """Return the descriptors that `pack` wrote; raise `InputError` for anything else."""
        try:
            stream = zlib.decompressobj()
            unpacked = stream.decompress(base64.b64decode(text, validate=True), 24 * MAX_DESCRIPTORS)
            if not stream.eof:
                raise ValueError(f"cut short, or more than {MAX_DESCRIPTORS} descriptors")  # noqa: TRY301
            source, destination, sizes = np.frombuffer(unpacked, dtype="<i8").astype(np.int64).reshape(3, -1)
        except (ValueError, zlib.error) as error:
            raise InputError(f"packed descriptors cannot be read ({error}); take them from an exported case") from error
        return cls(source, destination, sizes)

    def take(self, index: Int64) -> "Descriptors":
        """Return the descriptors at `index`, in that order."""
        return Descriptors(self.source[index], self.destination[index], self.sizes[index])

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class Batch(Descriptors):
    """Descriptors together with the extent in bytes of the two buffers that they address.

    `invalid_index` is the descriptor that the point's `invalid` axis spoils, drawn by the seed; None for a valid one.
    """

    source_extent: int = 0
    destination_extent: int = 0
    invalid_index: int | None = None

    @property
    def descriptors(self) -> Descriptors:
        """The copies alone."""
        return Descriptors(self.source, self.destination, self.sizes)


def raw_words(seed: int, lane: Lane, count: int) -> NDArray[np.uint64]:
    """Return `count` uniform 64-bit words of the stream (seed, lane): Philox4x64-10 from counter 0."""
    generator = np.random.Philox(key=np.array([seed % (1 << 64), lane], dtype=np.uint64))
    return np.asarray(generator.random_raw(count), dtype=np.uint64)


def unit_uniform(words: NDArray[np.uint64]) -> Float64:
    """Return doubles in (0, 1): the upper 53 bits, shifted by half a step so that 0 never occurs."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def permutation(seed: int, lane: Lane, count: int) -> Int64:
    """Return a uniform permutation of `range(count)`: the stable order of random words."""
    return np.argsort(raw_words(seed, lane, count), kind="stable").astype(np.int64)


def build_batch(point: Point, seed: int) -> Batch:
    """Return the batch of a feasible point. The sizes sum to exactly `total_bytes` and each is in [floor, cap]."""
    if point.workload != "none":
        from cubisect.workloads import workload_descriptors  # noqa: PLC0415  (workloads build on this module)

        return explicit_batch(workload_descriptors(point, seed), point, seed)
    sizes = batch_sizes(point, seed)
    source, source_extent = _placed(sizes, point, seed, Lane.SOURCE, shuffle=point.layout != "contiguous")
    target, target_extent = _placed(sizes, point, seed, Lane.DESTINATION, shuffle=point.layout == "shuffled_both")
    return Batch(source, target, sizes, source_extent, target_extent, _invalid_index(point, seed, len(sizes)))


def batch_sizes(point: Point, seed: int) -> Int64:
    """Return the sizes alone of the batch of a point without a workload."""
    return _ordered(draw_sizes(point, seed), point.size_order, seed)


def explicit_batch(descriptors: Descriptors, point: Point, seed: int = 0) -> Batch:
    """Return explicit descriptors as a batch whose buffers are just large enough."""
    return Batch(
        descriptors.source,
        descriptors.destination,
        descriptors.sizes,
        int((descriptors.source + descriptors.sizes).max()),
        int((descriptors.destination + descriptors.sizes).max()),
        _invalid_index(point, seed, len(descriptors)),
    )


def check_descriptors(descriptors: Descriptors) -> None:
    """Raise `InputError` naming the first descriptor that is empty, negative, or overlaps another destination."""
    if not len(descriptors):
        raise InputError("the batch is empty; give at least one (source offset, destination offset, size) row")
    for name, values, least in (("size", descriptors.sizes, 1), ("source offset", descriptors.source, 0),
                                ("destination offset", descriptors.destination, 0)):  # fmt: skip
        bad = np.flatnonzero(values < least)
        if len(bad):
            raise InputError(f"descriptor {bad[0]}: {name} is {values[bad[0]]}; it must be at least {least}")
    order = np.argsort(descriptors.destination, kind="stable")
    ends = (descriptors.destination + descriptors.sizes)[order]
    overlap = np.flatnonzero(descriptors.destination[order][1:] < ends[:-1])
    if len(overlap):
        first, second = sorted((int(order[overlap[0]]), int(order[overlap[0] + 1])))
        raise InputError(
            f"descriptors {first} and {second} overlap at the destination; the result of such a batch is undefined"
        )


def draw_sizes(point: Point, seed: int) -> Int64:
    """Return the sizes before ordering: the mix's relative shape scaled to an exact total."""
    count = point.descriptor_count
    spread = point.size_spread
    weights = _MIXES[point.size_mix](spread, seed, count) if spread else np.ones(count)
    cap = min(point.size_cap, point.total_bytes)
    return scale_to_total(weights, point.total_bytes, floor=point.size_floor, cap=cap)


# -- the mixes: relative weights from a spread in (0, 1] ---------------------------------------------------------------


def _uniform(spread: float, seed: int, count: int) -> Float64:
    """Evenly from 1 - spread to 1 + spread times the mean."""
    return 1.0 + spread * (2.0 * unit_uniform(raw_words(seed, Lane.SIZES, count)) - 1.0)


def _lognormal(spread: float, seed: int, count: int) -> Float64:
    """Bell-shaped in the logarithm; the standard deviation is 3 octaves × spread."""
    return exp2(3.0 * spread * _bell(raw_words(seed, Lane.SIZES, 3 * count)))


def _pareto(spread: float, seed: int, count: int) -> Float64:
    """A heavy tail with index 1.1 / spread: many small, few very large."""
    octaves = log2(unit_uniform(raw_words(seed, Lane.SIZES, count))) * (-spread / 1.1)
    return exp2(np.minimum(octaves, 40.0))  # so that no sum of weights overflows, however lucky the draw


def _bimodal(spread: float, seed: int, count: int) -> Float64:
    """Small or large by a fair coin; large is 2^(8 × spread) times small."""
    large = raw_words(seed, Lane.SIZES, count) >> np.uint64(63)
    ratio = float(exp2(np.full(1, 8.0 * spread))[0])
    return np.where(large == 1, ratio, 1.0)


def _page_spans(spread: float, seed: int, count: int) -> Float64:
    """Whole pages: 1 to 1 + 63 × spread of them, short spans more often than long ones."""
    uniform = unit_uniform(raw_words(seed, Lane.SIZES, count))
    return 1.0 + np.floor(uniform * uniform * (63.0 * spread + 1.0))


_MIXES: Mapping[str, Callable[[float, int, int], Float64]] = {
    "uniform": _uniform,
    "lognormal": _lognormal,
    "pareto": _pareto,
    "bimodal": _bimodal,
    "page_spans": _page_spans,
}


def _bell(words: NDArray[np.uint64]) -> Float64:
    """Return the Irwin-Hall approximation of a standard normal: twelve 16-bit uniforms, less six (three words each)."""
    lanes = words.view(np.uint16).reshape(-1, 12).astype(np.int64)
    total: Float64 = lanes.sum(axis=1).astype(np.float64)
    return total * 2.0**-16 - (6.0 - 12.0 * 2.0**-17)


def exp2(x: Float64) -> Float64:
    """Return 2**x to about 1e-9, from single IEEE operations only (Taylor series of the fractional part)."""
    whole = np.floor(x)
    t = (x - whole) * 0.6931471805599453
    result = np.ones_like(t)
    for k in range(12, 0, -1):
        result = result * t / k + 1.0
    return np.asarray(np.ldexp(result, whole.astype(np.int32)), dtype=np.float64)


def log2(x: Float64) -> Float64:
    """Return the base-2 logarithm of positive numbers to about 1e-9, from single IEEE operations only."""
    mantissa, exponent = np.frexp(x)
    z = (mantissa - 0.7071067811865476) / (mantissa + 0.7071067811865476)
    square = z * z
    series = np.zeros_like(z)
    for k in range(15, 0, -2):  # atanh(z) / z
        series = series * square + 1.0 / k
    return np.asarray(exponent + (z * series) * 2.8853900817779268 - 0.5, dtype=np.float64)


def scale_to_total(weights: Float64, total: int, *, floor: int, cap: int) -> Int64:
    """Return integer sizes proportional to `weights`, clipped to [floor, cap], that sum to exactly `total`.

    Where a bound binds, the scale is found by bisection on the sum of the clipped sizes (water filling); what rounding
    leaves over goes, one byte each, to descriptors at even distances. Needs ``count × floor <= total <= count × cap``.
    """
    count = len(weights)
    if not count * floor <= total <= count * cap:
        raise InputError(f"{count} sizes within {floor} and {cap} bytes cannot sum to {total}")

    def sizes_at(scale: float) -> Int64:
        return np.clip(np.floor(np.minimum(weights * scale, float(cap))).astype(np.int64), floor, cap)

    mean_weight = max(int(np.ldexp(weights, 20).astype(np.int64).sum()), 1) * 2.0**-20 / count
    low, high = 0.0, total / count / mean_weight
    sizes = sizes_at(high)
    if abs(total - int(sizes.sum())) > count:  # a bound binds
        while int(sizes_at(high).sum()) < total and high < 2.0**80:
            low, high = high, high * 2.0
        sizes = _bisected(sizes_at, low, high, total, slack=count)
    return _exact(sizes, total, floor=floor, cap=cap)


def _bisected(sizes_at: Callable[[float], Int64], low: float, high: float, total: int, *, slack: int) -> Int64:
    """Return the sizes of the largest scale found whose sum is at most `total`, close enough for `_exact`."""
    sizes = sizes_at(low)
    for _ in range(70):
        middle = low + (high - low) * 0.5
        trial = sizes_at(middle)
        if int(trial.sum()) > total:
            high = middle
        else:
            low, sizes = middle, trial
            if total - int(trial.sum()) <= slack:
                break
    return sizes


def _exact(sizes: Int64, total: int, *, floor: int, cap: int) -> Int64:
    """Return `sizes` changed as evenly as possible, within the bounds, so that they sum to `total`."""
    missing = total - int(sizes.sum())
    step = 1 if missing > 0 else -1
    while missing:
        room = (cap - sizes) if step > 0 else (sizes - floor)
        movable = np.flatnonzero(room > 0)
        share = max(abs(missing) // len(movable), 1)
        if abs(missing) < len(movable):
            movable = movable[np.arange(abs(missing)) * len(movable) // abs(missing)]
        change = np.minimum(room[movable], share)
        sizes[movable] += step * change
        missing -= step * int(change.sum())
    return sizes


# -- order and placement -----------------------------------------------------------------------------------------------

RUN_COUNT = 64
"""Most runs into which the order `runs` cuts the sorted sizes."""


def _ordered(sizes: Int64, order: str, seed: int) -> Int64:
    """Return the sizes in the order in which they are submitted; `shuffled` is as drawn."""
    if order == "shuffled":
        return sizes  # drawn independently of one another, so in random order already
    ascending = np.sort(sizes, kind="stable")
    if order == "ascending":
        return ascending
    if order == "alternating":
        half = (len(sizes) + 1) // 2
        mixed = np.empty_like(ascending)
        mixed[0::2], mixed[1::2] = ascending[:half], ascending[half:][::-1]
        return mixed
    pieces = np.array_split(ascending, min(RUN_COUNT, len(sizes)))
    return np.concatenate([pieces[i] for i in permutation(seed, Lane.ORDER, len(pieces))])


def _placed(sizes: Int64, point: Point, seed: int, lane: Lane, *, shuffle: bool) -> tuple[Int64, int]:
    """Return offsets of non-overlapping slots in one buffer, and the buffer's extent in bytes."""
    slots = -(-(sizes + point.gap) // point.alignment) * point.alignment
    order = permutation(seed, lane, len(sizes)) if shuffle else np.arange(len(sizes))
    offsets = np.empty_like(sizes)
    offsets[order] = np.cumsum(slots[order]) - slots[order]
    return offsets, int(slots.sum())


def _invalid_index(point: Point, seed: int, count: int) -> int | None:
    if point.invalid == "none":
        return None
    return int(raw_words(seed, Lane.INVALID, 1)[0] % np.uint64(count))


# -- what is in the buffers --------------------------------------------------------------------------------------------

PATTERN_PERIOD = 1_048_573
"""A prime, so that no copy from a wrong page or block (a multiple of a power of two away) looks right."""

POISON = 0xA5
"""Every destination byte before the first submission; bytes in gaps must keep it."""


def pattern(seed: int, length: int = PATTERN_PERIOD) -> NDArray[np.uint8]:
    """Return the first `length` bytes of the source: `PATTERN_PERIOD` random ones, over and over."""
    period = min(length, PATTERN_PERIOD)
    words = raw_words(seed, Lane.DATA, -(-period // 8))
    random = words.astype("<u8", copy=False).view(np.uint8)[:period]
    if length == period:
        return random
    repeated = np.empty(length, dtype=np.uint8)
    for start in range(0, length, period):
        repeated[start : start + period] = random[: length - start]
    return repeated


class Reader(Protocol):
    """Reads part of the destination buffer."""

    def __call__(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return the bytes [start, stop)."""


@dataclass(frozen=True)
class Mismatch:
    """Which bytes of a destination differ from what the batch must have put there.

    `bytes` of them in all, `untouched` of which still hold `POISON`: nothing was ever written there. `runs` are the
    descriptors that have wrong bytes, as (first, last) of each run of consecutive ones, ascending; with none, only gaps
    between the copies were written to.
    """

    bytes: int
    untouched: int = 0
    runs: Sequence[tuple[int, int]] = ()

    @property
    def descriptors(self) -> int:
        """How many descriptors have wrong bytes."""
        return sum(last - first + 1 for first, last in self.runs)


def verify(batch: Batch, seed: int, read: Reader, *, window: int = 1 << 24) -> Mismatch:
    """Compare every destination byte, gaps included, with what the batch must have put there.

    Reads the destination in windows of `window` bytes. Cost, by ``python benchmarks/batch.py`` on two shared cores:
    0.15 to 0.35 ns per byte where the data is contiguous or the copies are 16 KiB or larger, 0.8 to 1.2 ns per byte for
    scattered copies of 1 KiB, 2 to 2.5 ns per byte (0.7 µs per copy) for scattered ones of 256 B.
    """
    return _Verifier(batch, seed).run(read, window)


BLOCK = 1 << 18
"""Bytes compared at a time: what is derived of them stays in the processor's cache."""

GAP = -1
"""Stands for the descriptor of a byte that belongs to none."""

SLICE_WORTH_BYTES = 450
"""Writing one slice from Python costs as much as looking up about this many bytes one by one."""


class _Verifier:
    """The destination as a sequence of segments (copies and gaps), each with where its bytes come from.

    A byte at offset x of the destination comes from the table at ``x % PATTERN_PERIOD + shift`` of its segment; the
    shift of gaps leads to a part of the table that is all `POISON`.
    """

    def __init__(self, batch: Batch, seed: int) -> None:
        order = np.argsort(batch.destination, kind="stable")
        starts, sizes = batch.destination[order], batch.sizes[order]
        # Gap, copy, gap, copy, …, gap; then without the empty ones.
        edges = np.concatenate([[0], np.stack([starts, starts + sizes], axis=1).ravel(), [batch.destination_extent]])
        owners = np.full(2 * len(order) + 1, GAP, dtype=np.int64)
        owners[1::2] = order
        shifts = np.zeros(2 * len(order) + 1, dtype=np.int32)
        shifts[1::2] = (batch.source[order] - starts) % PATTERN_PERIOD
        # The table is no longer than phase, shift and block can reach.
        longest = min(batch.destination_extent, PATTERN_PERIOD) + min(batch.destination_extent, BLOCK)
        shifts[::2] = reach = longest + int(shifts.max())
        kept = np.flatnonzero(np.diff(edges))
        self.bounds = np.append(edges[kept], batch.destination_extent)
        self.owners, self.shifts = owners[kept], shifts[kept]
        self.uniform = bool((self.shifts == self.shifts[0]).all())
        self.table = np.concatenate([pattern(seed, reach), np.full(longest, POISON, dtype=np.uint8)])

    def run(self, read: Reader, window: int) -> Mismatch:
        total = untouched = 0
        hit: set[int] = set()
        for start in range(0, int(self.bounds[-1]), window):
            stop = min(start + window, int(self.bounds[-1]))
            actual = read(start, stop)
            for low in range(start, stop, BLOCK):
                high = min(low + BLOCK, stop)
                block = actual[low - start : high - start]
                wrong = np.flatnonzero(self.expected(low, high) != block)
                if len(wrong):
                    total += len(wrong)
                    untouched += int((block[wrong] == POISON).sum())
                    hit.update(self._owners(low + wrong))
        return Mismatch(total, untouched, tuple(_runs(sorted(hit))))

    def expected(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return what the bytes [start, stop) of the destination must be; at most `BLOCK` of them."""
        phase = start % PATTERN_PERIOD
        if self.uniform:
            begin = phase + int(self.shifts[0])
            return self.table[begin : begin + stop - start]
        begin = int(np.searchsorted(self.bounds, start, side="right")) - 1
        end = int(np.searchsorted(self.bounds, stop, side="left"))
        edges = np.clip(self.bounds[begin : end + 1], start, stop) - start
        shifts = self.shifts[begin:end]
        if (end - begin) * SLICE_WORTH_BYTES < stop - start:
            return self._sliced(edges, edges[:-1] + (phase + shifts))
        index = np.repeat(shifts, np.diff(edges))
        index += np.arange(phase, phase + stop - start, dtype=np.int32)
        return self.table.take(index)

    def _sliced(self, edges: Int64, origins: Int64) -> NDArray[np.uint8]:
        """Return the bytes of segments between `edges`, each copied from the table at its origin."""
        out = np.empty(int(edges[-1]), dtype=np.uint8)
        bounds = edges.tolist()
        for low, high, origin in zip(bounds, bounds[1:], origins.tolist(), strict=False):
            out[low:high] = self.table[origin : origin + high - low]
        return out

    def _owners(self, wrong: Int64) -> list[int]:
        """Return the descriptors to which the bytes at the ascending offsets `wrong` belong."""
        segments = np.unique(np.searchsorted(self.bounds, wrong, side="right") - 1)
        owners = self.owners[segments]
        return [int(owner) for owner in owners[owners != GAP]]


def _runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of consecutive numbers among ascending ones."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs
