"""The two buffers of a trial, on the device or in one of the kinds of host memory."""

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from cuda.bindings import driver as cu
from numpy.typing import NDArray

from cubisect.batch import PATTERN_PERIOD, POISON, Int64, pattern
from cubisect.drivers.base import SetupError
from cubisect.drivers.cuda_api import call
from cubisect.space import MIB

Bytes = NDArray[np.uint8]

STAGING_BYTES = 16 * MIB
"""Size of the pinned window through which device memory is filled and read."""

REGISTRATION_BYTES = 64 * MIB
"""Largest single registration of `registered_chunks`, as a real cache server registers its memory."""

REGISTRATIONS = 8
"""A small buffer is still cut into this many registrations, at most."""

MANAGED_SHARE = 0.25
"""Most managed memory, as a share of free device memory: over-subscribing it can hang the whole GPU."""

SPARE_HOST_BYTES = 256 * MIB
"""Host memory left to everybody else; running into the kernel's out-of-memory killer would tell nothing."""


_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
"""As `malloc` gets large blocks; the default of Python's `mmap` would be shared memory."""


@dataclass(frozen=True)
class Segment:
    """The offsets [start, stop) of a buffer, at `address`; `view` is the memory itself, None on the device."""

    start: int
    stop: int
    address: int
    view: Bytes | None = None


@dataclass(frozen=True)
class Buffer:
    """A range of offsets, in one segment or several in order."""

    segments: tuple[Segment, ...]

    @property
    def extent(self) -> int:
        """Bytes in all."""
        return self.segments[-1].stop

    def addresses(self, offsets: Int64) -> NDArray[np.uint64]:
        """Return the address of every offset."""
        starts = np.array([segment.start for segment in self.segments], dtype=np.int64)
        shifts = np.array([segment.address - segment.start for segment in self.segments], dtype=np.int64)
        return (offsets + shifts[np.searchsorted(starts, offsets, side="right") - 1]).astype(np.uint64)

    def pieces(self, start: int, stop: int) -> Iterator[Segment]:
        """Yield the parts of [start, stop) that lie in one segment each."""
        for segment in self.segments:
            low, high = max(start, segment.start), min(stop, segment.stop)
            if low < high:
                shift = low - segment.start
                view = None if segment.view is None else segment.view[shift : shift + high - low]
                yield Segment(low, high, segment.address + shift, view)


class Memory:
    """Allocates, fills and reads buffers; `close` gives everything back, in reverse order.

    `largest` is the extent in bytes of the largest buffer that is filled or read.
    """

    def __init__(self, largest: int) -> None:
        self._undo = ExitStack()
        self._window = min(max(largest, 1), STAGING_BYTES)
        self._staging = self._pinned(self._window)

    def close(self) -> None:
        """Free, unregister and unmap all of it."""
        self._undo.close()

    def device(self, extent: int) -> Buffer:
        """Return device memory."""
        address = int(call(cu.cuMemAlloc, extent))
        self._undo.callback(call, cu.cuMemFree, address)
        return Buffer((Segment(0, extent, address),))

    def host(self, kind: str, extent: int, cuts: Callable[[int], list[int]]) -> Buffer:
        """Return host memory of a kind of the axis `host_memory`.

        `cuts(spacing)` tells at which offsets, `spacing` bytes apart or more, no copy is cut; only there may a buffer
        of several registrations be divided, since a copy across two of them is a user error.
        """
        _check_host_memory(extent)
        match kind:
            case "pinned":
                return Buffer((self._pinned(extent),))
            case "managed":
                return Buffer((self._managed(extent),))
            case "pageable":
                return Buffer((self._mapped(0, extent),))
            case "registered":
                return Buffer((self._registered(0, extent),))
        spacing = min(REGISTRATION_BYTES, -(-extent // REGISTRATIONS))
        bounds = [0, *cuts(spacing), extent]
        return Buffer(tuple(self._registered(a, b) for a, b in pairwise(bounds)))

    def _pinned(self, extent: int) -> Segment:
        address = int(call(cu.cuMemHostAlloc, extent, 0))
        self._undo.callback(call, cu.cuMemFreeHost, address)
        return Segment(0, extent, address, _view(address, extent))

    def _managed(self, extent: int) -> Segment:
        free, _ = call(cu.cuMemGetInfo)
        if extent > MANAGED_SHARE * free:
            raise SetupError(
                f"managed memory of {extent} bytes is more than a quarter of the {free} bytes that the GPU has free; "
                "lower total_bytes"
            )
        flags = int(cu.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)
        address = int(call(cu.cuMemAllocManaged, extent, flags))
        self._undo.callback(call, cu.cuMemFree, address)
        return Segment(0, extent, address, _view(address, extent))

    def _mapped(self, start: int, stop: int) -> Segment:
        view = np.frombuffer(mmap.mmap(-1, stop - start, _PRIVATE), dtype=np.uint8)  # freed with the last view of it
        return Segment(start, stop, view.ctypes.data, view)

    def _registered(self, start: int, stop: int) -> Segment:
        segment = self._mapped(start, stop)
        call(cu.cuMemHostRegister, segment.address, stop - start, 0)
        self._undo.callback(call, cu.cuMemHostUnregister, segment.address)
        return segment

    def fill(self, buffer: Buffer, seed: int) -> None:
        """Fill a source with the pattern of the seed, over and over."""
        period = pattern(seed, PATTERN_PERIOD + self._window)
        for low in range(0, buffer.extent, self._window):
            for piece in buffer.pieces(low, min(low + self._window, buffer.extent)):
                phase = piece.start % PATTERN_PERIOD
                self._write(piece, period[phase : phase + piece.stop - piece.start])

    def poison(self, buffer: Buffer) -> None:
        """Fill a destination with `POISON`."""
        for segment in buffer.segments:
            if segment.view is None:
                call(cu.cuMemsetD8, segment.address, POISON, segment.stop - segment.start)
            else:
                segment.view.fill(POISON)
        call(cu.cuCtxSynchronize)

    def read(self, buffer: Buffer, start: int, stop: int) -> Bytes:
        """Return the bytes [start, stop); at most `STAGING_BYTES`. Valid until the next read."""
        parts = [self._read(piece) for piece in buffer.pieces(start, stop)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _write(self, piece: Segment, data: Bytes) -> None:
        if piece.view is not None:
            piece.view[:] = data
            return
        assert self._staging.view is not None
        self._staging.view[: len(data)] = data
        call(cu.cuMemcpyHtoD, piece.address, self._staging.address, len(data))

    def _read(self, piece: Segment) -> Bytes:
        if piece.view is not None:
            return piece.view
        assert self._staging.view is not None
        size = piece.stop - piece.start
        call(cu.cuMemcpyDtoH, self._staging.address, piece.address, size)
        return self._staging.view[:size]


def _view(address: int, extent: int) -> Bytes:
    return np.ctypeslib.as_array((ctypes.c_uint8 * extent).from_address(address))


def _check_host_memory(extent: int) -> None:
    """Raise `SetupError` when so much host memory would call the kernel's out-of-memory killer."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
            if extent > available - SPARE_HOST_BYTES:
                raise SetupError(f"{extent} bytes of host memory asked for, {available} available; lower total_bytes")


def uncut_offsets(starts: Int64, sizes: Int64, spacing: int) -> list[int]:
    """Return offsets, ascending and at least `spacing` apart, at which a copy starts and none goes across."""
    order = np.argsort(starts, kind="stable")
    begins, reach = starts[order], np.maximum.accumulate((starts + sizes)[order])
    free = begins[1:][reach[:-1] <= begins[1:]]
    chosen: list[int] = []
    last = 0
    while len(free) and (i := int(np.searchsorted(free, last + spacing))) < len(free):
        last = int(free[i])
        chosen.append(last)
    return chosen
