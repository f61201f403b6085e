"""The stream that a trial submits to, and what it is doing at that moment."""

import ctypes
import threading

import numpy as np
from cuda.bindings import driver as cu

from cubisect.drivers.cuda_api import call
from cubisect.drivers.cuda_memory import Memory
from cubisect.space import MIB

LEGACY_HANDLE, PER_THREAD_HANDLE = 1, 2

GATE_OPENS_S = 1.0
"""A blocked stream is released when everything is submitted, or after this long: a submission that itself has to wait
for the stream (its queue is full) would otherwise wait for ever, which would be our doing."""

BACKLOG_COPIES, BACKLOG_BYTES = 32, 32 * MIB
"""Copies queued ahead: about 20 ms of work at 50 GB/s, longer than most submissions."""


class Queue:
    """The stream under test. `handle` is what the copy calls are given."""

    def __init__(self, stream: str, state: str, memory: Memory) -> None:
        non_blocking = int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._own = call(cu.cuStreamCreate, non_blocking) if stream == "dedicated" else None
        shared = LEGACY_HANDLE if stream == "legacy" else PER_THREAD_HANDLE
        self.handle = int(self._own) if self._own is not None else shared
        self._gate = Gate(self.handle) if state == "blocked" else None
        self._backlog = Backlog(self.handle, memory) if state == "backlog" else None

    def prepare(self) -> None:
        """Put the stream, which has nothing in flight, into its state."""
        if self._gate is not None:
            self._gate.close_behind()
        if self._backlog is not None:
            self._backlog.queue()

    def synchronise(self) -> None:
        """Let the stream go on, and wait until it has done everything."""
        if self._gate is not None:
            self._gate.open()
        call(cu.cuStreamSynchronize, self.handle)

    def close(self) -> None:
        """Destroy what was created."""
        if self._gate is not None:
            self._gate.destroy()
        if self._own is not None:
            call(cu.cuStreamDestroy, self._own)


class Gate:
    """Blocks a stream behind an event of another stream, which waits until a word in host memory is written."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._gate_stream = call(cu.cuStreamCreate, int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self._event = call(cu.cuEventCreate, int(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        self._address = int(call(cu.cuMemHostAlloc, 4096, int(cu.CU_MEMHOSTALLOC_DEVICEMAP)))
        self._device_address = int(call(cu.cuMemHostGetDevicePointer, self._address, 0))
        self._word = np.ctypeslib.as_array((ctypes.c_uint32 * 1).from_address(self._address))
        self._word[0] = 0
        self._generation = 0
        self._timer: threading.Timer | None = None

    def close_behind(self) -> None:
        """Block the stream."""
        self._generation += 1
        at_least = int(cu.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ)
        call(cu.cuStreamWaitValue32, self._gate_stream, self._device_address, self._generation, at_least)
        call(cu.cuEventRecord, self._event, self._gate_stream)
        call(cu.cuStreamWaitEvent, self._stream, self._event, 0)
        self._timer = threading.Timer(GATE_OPENS_S, self._write)
        self._timer.daemon = True
        self._timer.start()

    def open(self) -> None:
        """Release the stream."""
        if self._timer is not None:
            self._timer.cancel()
        self._write()

    def _write(self) -> None:
        self._word[0] = self._generation

    def destroy(self) -> None:
        """Give everything back; the stream is released first."""
        self.open()
        call(cu.cuStreamSynchronize, self._gate_stream)
        call(cu.cuEventDestroy, self._event)
        call(cu.cuStreamDestroy, self._gate_stream)
        call(cu.cuMemFreeHost, self._address)


class Backlog:
    """Plain copies that occupy the stream while the trial submits."""

    def __init__(self, stream: int, memory: Memory) -> None:
        self._stream = stream
        self._host = memory.host("pinned", BACKLOG_BYTES, lambda _: []).segments[0].address
        self._device = memory.device(BACKLOG_BYTES).segments[0].address

    def queue(self) -> None:
        """Queue all of them."""
        for _ in range(BACKLOG_COPIES):
            call(cu.cuMemcpyHtoDAsync, self._device, self._host, BACKLOG_BYTES, self._stream)
