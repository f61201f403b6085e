"""The arithmetic of buffers: addresses, pieces, and where a buffer may be cut. No driver is called."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.drivers.cuda_memory import Buffer, Segment, uncut_offsets

COPIES = st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 300)), min_size=1, max_size=60)


@given(COPIES, st.integers(1, 2000))
def test_a_buffer_is_never_cut_within_a_copy(copies: list[tuple[int, int]], spacing: int) -> None:
    starts, sizes = (np.array(column, dtype=np.int64) for column in zip(*copies, strict=True))
    cuts = uncut_offsets(starts, sizes, spacing)
    for cut in cuts:
        assert not ((starts < cut) & (cut < starts + sizes)).any()
        assert cut in starts
    assert all(b - a >= spacing for a, b in zip([0, *cuts], cuts, strict=False))


def test_contiguous_copies_are_cut_about_where_asked() -> None:
    sizes = np.full(1000, 10, dtype=np.int64)
    assert uncut_offsets(np.cumsum(sizes) - sizes, sizes, 2505) == [2510, 5020, 7530]


@st.composite
def buffers(draw: st.DrawFn) -> Buffer:
    """A few segments, far apart and in any order, each with a view of its own on one array."""
    lengths = draw(st.lists(st.integers(1, 50), min_size=1, max_size=6))
    bases = draw(st.permutations([1000 * (i + 1) for i in range(len(lengths))]))
    memory = np.arange(8000, dtype=np.int64).astype(np.uint8)
    starts = np.cumsum([0, *lengths]).tolist()
    return Buffer(
        tuple(
            Segment(start, start + length, base, memory[base : base + length])
            for start, length, base in zip(starts, lengths, bases, strict=False)
        )
    )


@given(buffers(), st.data())
def test_addresses_and_pieces_agree(buffer: Buffer, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, buffer.extent - 1))
    stop = data.draw(st.integers(start + 1, buffer.extent))
    pieces = list(buffer.pieces(start, stop))
    assert [(pieces[0].start, pieces[-1].stop)] == [(start, stop)]
    assert all(a.stop == b.start for a, b in pairwise(pieces))
    addresses: list[int] = []
    seen: list[Any] = []
    for piece in pieces:
        addresses += range(piece.address, piece.address + piece.stop - piece.start)
        assert piece.view is not None
        seen += piece.view.tolist()
    assert buffer.addresses(np.arange(start, stop, dtype=np.int64)).tolist() == addresses
    assert seen == [address % 256 for address in addresses]


def test_addresses_are_what_the_driver_takes() -> None:
    high = (1 << 63) - 4096
    addresses = Buffer((Segment(0, 4096, high),)).addresses(np.array([0, 4095], dtype=np.int64))
    assert addresses.dtype == np.uint64
    assert addresses.tolist() == [high, high + 4095]


@pytest.mark.parametrize("spacing", [1, 10_000])
def test_a_single_copy_leaves_nothing_to_cut(spacing: int) -> None:
    assert uncut_offsets(np.array([0]), np.array([5000]), spacing) == []
