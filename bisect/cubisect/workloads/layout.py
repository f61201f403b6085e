"""Where the copies of a paged KV cache lie, and where they are cut.

A transfer moves `blocks` blocks. Each block has one *slice* per layer and kind of cache; on the device every slice has
a pool of its own with one slot per block, on the host the slices of a block follow each other. Blocks lie in both
pools in an order that the seed draws, as they do after a server has run for a while.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cubisect.batch import Descriptors, Int64, Lane, permutation, raw_words, unit_uniform
from cubisect.space import MAX_DESCRIPTORS

IntOrArray = TypeVar("IntOrArray", int, Int64)

DEVICE_SLOT_BYTES = 64
"""Device slots are multiples of this."""

HOST_ALIGNMENT_BYTES = 16
"""Host addresses, and the places where copies are cut, are multiples of this."""


@dataclass(frozen=True)
class Group:
    """`slices` slices of `size` bytes each in every block."""

    size: int
    slices: int


@dataclass(frozen=True)
class Copies:
    """Copies between the host and the device: int64 arrays of equal length, in bytes, in the order of submission."""

    host: Int64
    device: Int64
    sizes: Int64

    def descriptors(self, direction: str) -> Descriptors:
        """Return them as descriptors; every direction but d2h reads from where the host's blocks lie."""
        if direction == "d2h":
            return Descriptors(self.device, self.host, self.sizes)
        return Descriptors(self.host, self.device, self.sizes)

    def take(self, index: Int64) -> "Copies":
        """Return the copies at `index`, in that order."""
        return Copies(self.host[index], self.device[index], self.sizes[index])


def paged(
    groups: Sequence[Group], blocks: int, seed: int, *, host_block_bytes: int | None = None, block_major: bool = False
) -> Copies:
    """Return the copies of `blocks` blocks: group, slice, block, so that equal sizes follow each other in long runs.

    Host offsets count the blocks in the order of submission: pass them through `scatter_blocks` or `scatter_pages`.
    `host_block_bytes` is the distance of two blocks on the host; by default a block's bytes, aligned. `block_major`
    submits block by block instead.
    """
    sizes = np.repeat([g.size for g in groups], [g.slices for g in groups]).astype(np.int64)[:, None]
    stride = host_block_bytes or aligned(int(sizes.sum()), HOST_ALIGNMENT_BYTES)
    within_block = np.cumsum(sizes, axis=0) - sizes
    slots = aligned(sizes, DEVICE_SLOT_BYTES)
    pools = (np.cumsum(slots, axis=0) - slots) * blocks
    host = np.arange(blocks, dtype=np.int64) * stride + within_block
    device = permutation(seed, Lane.DESTINATION, blocks) * slots + pools
    grids = (host, device, np.broadcast_to(sizes, host.shape))
    return Copies(*(np.ascontiguousarray(grid.T if block_major else grid).ravel() for grid in grids))


def scatter_blocks(copies: Copies, host_block_bytes: int, seed: int) -> Copies:
    """Return the copies with the host's blocks in an order drawn by the seed."""
    block, within = np.divmod(copies.host, host_block_bytes)
    places = permutation(seed, Lane.SOURCE, int(block.max()) + 1)
    return Copies(places[block] * host_block_bytes + within, copies.device, copies.sizes)


def scatter_pages(copies: Copies, page_bytes: int, pages_per_block: int, fragmentation: float, seed: int) -> Copies:
    """Return the copies with the host's pages scattered, each copy cut where its run of pages breaks.

    A run of pages always ends with its block; within a block it breaks after any page with probability
    `fragmentation`. No copy may be longer than a page, so that it is cut once at most.
    """
    pages = (int(copies.host.max()) // page_bytes // pages_per_block + 1) * pages_per_block
    breaks = unit_uniform(raw_words(seed, Lane.WORKLOAD, pages)) < fragmentation  # before page i
    breaks[::pages_per_block] = True
    last_page = (copies.host + copies.sizes - 1) // page_bytes
    crosses = (copies.host // page_bytes != last_page) & breaks[last_page]
    pieces = split(copies, np.where(crosses, last_page * page_bytes - copies.host, 0))
    page, within = np.divmod(pieces.host, page_bytes)
    return Copies(_page_places(breaks, seed)[page] * page_bytes + within, pieces.device, pieces.sizes)


def _page_places(breaks: np.ndarray[tuple[int], np.dtype[np.bool_]], seed: int) -> Int64:
    """Return the place of every page when runs of pages, which begin where `breaks` says, are shuffled."""
    starts = np.flatnonzero(breaks)
    lengths = np.diff(np.append(starts, len(breaks)))
    order = permutation(seed, Lane.SOURCE, len(starts))
    places = np.empty_like(lengths)
    places[order] = np.cumsum(lengths[order]) - lengths[order]
    return np.asarray(np.repeat(places - starts, lengths) + np.arange(len(breaks)), dtype=np.int64)


def cut_at_random(copies: Copies, fragmentation: float, seed: int) -> Copies:
    """Return the copies, each cut in two with probability `fragmentation` at a multiple of 16 bytes.

    The second piece lies elsewhere on the host. Copies below 32 bytes stay whole.
    """
    words = raw_words(seed, Lane.WORKLOAD, 2 * len(copies.sizes)).reshape(2, -1)
    places = np.maximum(copies.sizes // HOST_ALIGNMENT_BYTES - 1, 0)
    chosen = (unit_uniform(words[0]) < fragmentation) & (places > 0)
    nth = (words[1] % np.maximum(places, 1).astype(np.uint64)).astype(np.int64) + 1
    at = np.where(chosen, nth * HOST_ALIGNMENT_BYTES, 0)
    pieces = split(copies, at)
    tails = _second_pieces(at)
    lengths = aligned(pieces.sizes[tails], HOST_ALIGNMENT_BYTES)
    host = pieces.host.copy()
    beyond = aligned(int((copies.host + copies.sizes).max()), HOST_ALIGNMENT_BYTES)
    host[tails] = beyond + np.cumsum(lengths) - lengths
    return Copies(host, pieces.device, pieces.sizes)


def cut_at_boundaries(copies: Copies, boundary_bytes: int) -> Copies:
    """Return the copies cut where they cross a multiple of `boundary_bytes` on the host; none may cross two."""
    last = (copies.host + copies.sizes - 1) // boundary_bytes
    crosses = copies.host // boundary_bytes != last
    return split(copies, np.where(crosses, last * boundary_bytes - copies.host, 0))


def split(copies: Copies, at: Int64) -> Copies:
    """Return the copies, copy i in two pieces, the first of `at[i]` bytes, where that is not 0.

    Cuts beyond `MAX_DESCRIPTORS` pieces in all are left out, from the last copy on; `at` is changed to say so.
    """
    at[np.flatnonzero(at)[max(MAX_DESCRIPTORS - len(at), 0) :]] = 0
    index = np.repeat(np.arange(len(at)), 1 + (at > 0))
    whole, first = copies.take(index), at[index]
    second = np.zeros(len(index), dtype=np.bool_)
    second[_second_pieces(at)] = True
    start = np.where(second, first, 0)
    length = np.where(second | (first == 0), whole.sizes - first, first)
    return Copies(whole.host + start, whole.device + start, length)


def _second_pieces(at: Int64) -> Int64:
    """Return where in the result of `split` the second pieces are."""
    return np.asarray((np.cumsum(1 + (at > 0)) - 1)[at > 0], dtype=np.int64)


def aligned(value: IntOrArray, alignment: int) -> IntOrArray:
    """Return `value` rounded up to a multiple of `alignment`."""
    return -(-value // alignment) * alignment
