"""How each family of transfers builds its copies from a scale, a fragmentation and a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cubisect.batch import Lane, permutation
from cubisect.space import GIB, KIB, MIB
from cubisect.workloads.layout import (
    DEVICE_SLOT_BYTES,
    Copies,
    Group,
    aligned,
    cut_at_boundaries,
    cut_at_random,
    paged,
    scatter_blocks,
    scatter_pages,
)


class Generator(Protocol):
    """Builds the copies of one workload."""

    def copies(self, scale: int, fragmentation: float, seed: int) -> Copies:
        """Return the copies in the order of submission."""

    def size(self, scale: int) -> tuple[int, int]:
        """Return descriptors and bytes at `scale` without fragmentation."""


@dataclass(frozen=True)
class CompactBlocks:
    """Only the real bytes of each block, one after the other, in small host pages: a copy is cut where pages part.

    `missing` is how many copies of the last group a reported plan lacks against whole blocks; the last block of the
    last slices is left out.
    """

    groups: Sequence[Group]
    page_bytes: int
    missing: int = 0

    def copies(self, scale: int, fragmentation: float, seed: int) -> Copies:
        """Return the copies of `scale` blocks."""
        pages = -(-_block_bytes(self.groups) // self.page_bytes)
        whole = paged(self.groups, scale, seed, host_block_bytes=pages * self.page_bytes)
        last_of_slices = len(whole.sizes) - 1 - scale * np.arange(self.missing)
        reported = whole.take(np.delete(np.arange(len(whole.sizes)), last_of_slices))
        return scatter_pages(reported, self.page_bytes, pages, fragmentation, seed)

    def size(self, scale: int) -> tuple[int, int]:
        """Return descriptors and bytes of `scale` unfragmented blocks."""
        count, total = _block_count(self.groups) * scale, _block_bytes(self.groups) * scale
        return count - self.missing, total - self.missing * self.groups[-1].size


@dataclass(frozen=True)
class WholeBlocks:
    """Whole slices of whole blocks; `fragmentation` is the share of copies that are cut in two."""

    groups: Sequence[Group]
    block_major: bool = False

    def copies(self, scale: int, fragmentation: float, seed: int) -> Copies:
        """Return the copies of `scale` blocks."""
        stride = _block_bytes(self.groups)
        copies = paged(self.groups, scale, seed, host_block_bytes=stride, block_major=self.block_major)
        return cut_at_random(scatter_blocks(copies, stride, seed), fragmentation, seed)

    def size(self, scale: int) -> tuple[int, int]:
        """Return descriptors and bytes of `scale` unfragmented blocks."""
        return _block_count(self.groups) * scale, _block_bytes(self.groups) * scale


@dataclass(frozen=True)
class Calls:
    """`scale` calls of a few large copies each, cut where the host's memory was registered in chunks."""

    group: Group
    registered_bytes: int

    def copies(self, scale: int, fragmentation: float, seed: int) -> Copies:
        """Return the copies of all calls, call by call."""
        stride = self.group.size * self.group.slices
        copies = paged([self.group], scale, seed, block_major=True)
        cut = cut_at_boundaries(scatter_blocks(copies, stride, seed), self.registered_bytes)
        return cut_at_random(cut, fragmentation, seed)

    def size(self, scale: int) -> tuple[int, int]:
        """Return descriptors (boundaries within a copy add one each) and bytes of `scale` calls."""
        total = self.group.size * self.group.slices * scale
        boundaries = range(self.registered_bytes, total, self.registered_bytes)
        cuts = sum(boundary % self.group.size != 0 for boundary in boundaries)
        return self.group.slices * scale + cuts, total


@dataclass(frozen=True)
class PagesAndIndex:
    """`scale` pages and, last, one index of `index_bytes` per page.

    The page is the largest power of two from `smallest` to `largest` with which all pages stay within `total`.
    """

    smallest: int = 64 * KIB
    largest: int = 4 * MIB
    total: int = GIB
    index_bytes: int = 8

    def page_bytes(self, scale: int) -> int:
        """Return the size of a page when there are `scale` of them."""
        page = self.largest
        while page > self.smallest and page * scale > self.total:
            page //= 2
        return page

    def copies(self, scale: int, fragmentation: float, seed: int) -> Copies:
        """Return the copies of all pages, then of the index."""
        page = self.page_bytes(scale)
        pages = scatter_blocks(paged([Group(page, 1)], scale, seed), page, seed)
        end, index = page * scale, self.index_bytes * scale
        copies = Copies(*(np.append(a, b) for a, b in ((pages.host, end), (pages.device, end), (pages.sizes, index))))
        return cut_at_random(copies, fragmentation, seed)

    def size(self, scale: int) -> tuple[int, int]:
        """Return descriptors and bytes of `scale` uncut pages and their index."""
        return scale + 1, (self.page_bytes(scale) + self.index_bytes) * scale


@dataclass(frozen=True)
class SmallTensors:
    """`scale` tensors whose sizes go through the powers of two from 4 bytes to 64 KiB, in an order of the seed's."""

    log2_smallest: int = 2
    log2_largest: int = 16

    def copies(self, scale: int, fragmentation: float, seed: int) -> Copies:
        """Return the copies of all tensors, each in a slot of its own on both sides."""
        powers = np.arange(scale) % (self.log2_largest - self.log2_smallest + 1) + self.log2_smallest
        sizes = (np.int64(1) << powers)[permutation(seed, Lane.ORDER, scale)]
        slots = aligned(sizes, DEVICE_SLOT_BYTES)
        offsets = np.cumsum(slots) - slots
        return cut_at_random(Copies(offsets, offsets.copy(), sizes), fragmentation, seed)

    def size(self, scale: int) -> tuple[int, int]:
        """Return descriptors and bytes of `scale` uncut tensors."""
        full, rest = divmod(scale, self.log2_largest - self.log2_smallest + 1)
        smallest, all_of_them = 1 << self.log2_smallest, (2 << self.log2_largest) - (1 << self.log2_smallest)
        return scale, full * all_of_them + (smallest << rest) - smallest


def _block_count(groups: Sequence[Group]) -> int:
    return sum(group.slices for group in groups)


def _block_bytes(groups: Sequence[Group]) -> int:
    return sum(group.slices * group.size for group in groups)
