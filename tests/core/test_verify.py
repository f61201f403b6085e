"""Verification: every destination byte, gaps included, against a plain model of what the batch does."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubisect.batch import (
    BLOCK,
    PATTERN_PERIOD,
    POISON,
    Batch,
    Descriptors,
    Mismatch,
    build_batch,
    explicit_batch,
    pattern,
    verify,
)
from cubisect.space import KIB, MIB, Point


def destination(batch: Batch, seed: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Do what the batch says, one descriptor at a time."""
    source = np.resize(pattern(seed), batch.source_extent)
    result = np.full(batch.destination_extent, POISON, dtype=np.uint8)
    for src, dst, size in zip(batch.source, batch.destination, batch.sizes, strict=True):
        result[dst : dst + size] = source[src : src + size]
    return result


def owner(batch: Batch, byte: int) -> tuple[tuple[int, int], ...]:
    """Return the descriptor to which a destination byte belongs, as a run; nothing for a byte in a gap."""
    hit = np.flatnonzero((batch.destination <= byte) & (byte < batch.destination + batch.sizes))
    return tuple((int(index), int(index)) for index in hit)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    count = draw(st.integers(1, 60))
    values = {
        "descriptor_count": count,
        "total_bytes": draw(st.integers(KIB, 40_000)),
        "size_mix": draw(st.sampled_from(("uniform", "lognormal", "pareto"))),
        "size_spread": draw(st.sampled_from((0.0, 0.5, 1.0))),
        "layout": draw(st.sampled_from(("contiguous", "shuffled_source", "shuffled_both"))),
        "gap": draw(st.sampled_from((0, 1, 100))),
        "alignment": draw(st.sampled_from((1, 16, 4096))),
    }
    return build_batch(Point.of(values), draw(st.integers(0, 1 << 40)))


@settings(max_examples=150)
@given(batches(), st.integers(0, 5), st.integers(1, 50_000))
def test_what_the_batch_does_is_accepted_in_any_window(batch: Batch, seed: int, window: int) -> None:
    data = destination(batch, seed)
    wrong = verify(batch, seed, lambda start, stop: data[start:stop], window=max(window, len(data) // 50 + 1))
    assert wrong == Mismatch(0)


@settings(max_examples=150)
@given(batches(), st.data())
def test_any_single_wrong_byte_is_found_and_attributed(batch: Batch, data: st.DataObject) -> None:
    actual = destination(batch, 1)
    at = data.draw(st.integers(0, len(actual) - 1))
    actual[at] ^= data.draw(st.integers(1, 255))
    wrong = verify(batch, 1, lambda start, stop: actual[start:stop], window=data.draw(st.integers(2_000, 100_000)))
    assert (wrong.bytes, wrong.runs) == (1, owner(batch, at))


@given(batches())
def test_another_seeds_data_is_not_accepted(batch: Batch) -> None:
    actual = destination(batch, 1)
    assert verify(batch, 2, lambda start, stop: actual[start:stop]).bytes > int(batch.sizes.sum()) // 2


@pytest.mark.parametrize("count", [3, 900, 200_000], ids=["sliced", "sliced small", "looked up"])
@pytest.mark.parametrize("gap", [0, 5])
def test_large_scattered_batches(count: int, gap: int) -> None:
    """Beyond one period and one block, by both ways of working out what is expected."""
    point = Point.of({
        "descriptor_count": count, "total_bytes": 3 * MIB + 77, "size_mix": "uniform", "size_spread": 0.9,
        "layout": "shuffled_both", "gap": gap,
    })  # fmt: skip
    batch = build_batch(point, 5)
    assert batch.destination_extent > 2 * PATTERN_PERIOD > BLOCK
    actual = destination(batch, 9)
    assert verify(batch, 9, lambda start, stop: actual[start:stop], window=1_000_000).bytes == 0
    for at in (0, BLOCK - 1, BLOCK, PATTERN_PERIOD, len(actual) - 1 - gap, len(actual) // 2):
        actual[at] ^= 0x40
        wrong = verify(batch, 9, lambda start, stop: actual[start:stop], window=1_000_000)
        assert (wrong.bytes, wrong.runs) == (1, owner(batch, at))
        actual[at] ^= 0x40


def test_a_shift_by_any_power_of_two_is_seen() -> None:
    """A copy from a wrong page or block must not look right: no such distance is a period of the pattern."""
    words = np.resize(pattern(3), 64 * MIB)
    for octave in range(24):
        assert np.count_nonzero(words[: 1 << 16] == words[1 << octave : (1 << octave) + (1 << 16)]) < 1000


def test_the_pattern_is_not_the_poison() -> None:
    assert np.count_nonzero(pattern(1) == POISON) / PATTERN_PERIOD == pytest.approx(1 / 256, rel=0.1)


def test_wrong_bytes_in_a_gap_only_name_no_descriptor() -> None:
    batch = build_batch(Point.of({"descriptor_count": 4, "total_bytes": KIB, "gap": 10}), 1)
    actual = destination(batch, 1)
    actual[int(batch.destination[1] + batch.sizes[1])] ^= 1
    wrong = verify(batch, 1, lambda start, stop: actual[start:stop])
    assert (wrong.bytes, wrong.runs) == (1, ())


def test_copies_that_never_happened_are_told_from_wrong_data() -> None:
    batch = build_batch(Point.of({"descriptor_count": 20, "total_bytes": 64 * KIB}), 1)
    actual = destination(batch, 1)
    for index in (3, 4, 5, 9):
        at, size = batch.destination[index], batch.sizes[index]
        actual[at : at + size] = POISON if index != 9 else actual[at : at + size] ^ 0xFF
    wrong = verify(batch, 1, lambda start, stop: actual[start:stop])
    assert (wrong.runs, wrong.descriptors) == (((3, 5), (9, 9)), 4)
    assert wrong.untouched == pytest.approx(wrong.bytes * 3 / 4, rel=0.02)


def test_explicit_descriptors_with_room_before_and_shared_sources() -> None:
    rows = np.array([[5, 1000, 64], [5, 0x900, 64], [0, 1064, 100]], dtype=np.int64)
    batch = explicit_batch(Descriptors(*rows.T.copy()), Point())
    actual = destination(batch, 4)
    assert verify(batch, 4, lambda start, stop: actual[start:stop]).bytes == 0
    actual[0] = 0
    assert verify(batch, 4, lambda start, stop: actual[start:stop]).bytes == 1


def test_without_any_copy_everything_must_have_stayed() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    batch = Batch(nothing, nothing, nothing, 100, 100)
    actual = np.full(100, POISON, dtype=np.uint8)
    assert verify(batch, 1, lambda start, stop: actual[start:stop]).bytes == 0
    actual[50] = 1
    assert verify(batch, 1, lambda start, stop: actual[start:stop]).bytes == 1
