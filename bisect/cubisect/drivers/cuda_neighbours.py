"""What a busy neighbour does: endless work on the same GPU, in a process of its own."""

from collections.abc import Callable

import numpy as np
from cuda.bindings import driver as cu

from cubisect.drivers.cuda_api import ATTRIBUTES, BATCH_ABI_FAIL_INDEX, BatchCall, CudaError, call
from cubisect.drivers.cuda_memory import Memory
from cubisect.space import KIB, MIB

COPY_BYTES = 32 * MIB
MEMSET_BYTES = 256 * MIB
BATCH_COPIES, BATCH_COPY_BYTES = 64, 64 * KIB
PER_TICK = 8
"""Pieces of work in flight; a tick follows each such group."""


def busy(kind: str, tick: Callable[[], None]) -> None:
    """Work until killed: `kind` is copies, memsets or batches, as on the axis `neighbour_kind`.

    Raises:
        CudaError: the GPU did not do it.
    """
    stream = call(cu.cuStreamCreate, int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
    work = {"copies": _copies, "memsets": _memsets, "batches": _batches}[kind](Memory(0), int(stream))
    while True:
        for _ in range(PER_TICK):
            work()
        call(cu.cuStreamSynchronize, stream)
        tick()


def _copies(memory: Memory, stream: int) -> Callable[[], None]:
    host = memory.host("pinned", COPY_BYTES, lambda _: []).segments[0].address
    device = memory.device(COPY_BYTES).segments[0].address
    return lambda: call(cu.cuMemcpyHtoDAsync, device, host, COPY_BYTES, stream)


def _memsets(memory: Memory, stream: int) -> Callable[[], None]:
    device = memory.device(MEMSET_BYTES).segments[0].address
    return lambda: call(cu.cuMemsetD8Async, device, 0, MEMSET_BYTES, stream)


def _batches(memory: Memory, stream: int) -> Callable[[], None]:
    offsets = np.arange(BATCH_COPIES, dtype=np.int64) * BATCH_COPY_BYTES
    extent = BATCH_COPIES * BATCH_COPY_BYTES
    attributes = np.zeros(1, dtype=ATTRIBUTES)
    attributes["src_access_order"] = 1
    submit = BatchCall(BATCH_ABI_FAIL_INDEX).bind(
        memory.device(extent).addresses(offsets),
        memory.host("pinned", extent, lambda _: []).addresses(offsets),
        np.full(BATCH_COPIES, BATCH_COPY_BYTES, dtype=np.uint64),
        attributes,
        np.zeros(1, dtype=np.uint64),
        stream,
    )

    def work() -> None:
        number = submit()
        if number:
            raise CudaError("cuMemcpyBatchAsync", number)

    return work
