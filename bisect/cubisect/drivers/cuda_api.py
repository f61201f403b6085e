"""Calls to the CUDA driver: through cuda-python, but for the two copy calls under test.

The batch call goes through the pointer that `cuGetProcAddress` gives at an explicit ABI, on arrays: cuda-python's
wrapper takes lists of pointer objects and offers only the newer signature, which has no `failIdx`. Calling one ABI
through the other's signature segfaults, so the pointer and its signature are made together, here.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda.bindings import driver as cu
from numpy.typing import NDArray

from cubisect.drivers.base import SetupError

Words = NDArray[np.uint64]
"""Addresses or sizes in bytes, as the driver takes them."""

BATCH_ABI_FAIL_INDEX, BATCH_ABI_CUDA_13 = 12080, 13000
COPY_ABI = 4000

NOT_WRITTEN = 0xFEED_FACE_0BAD_CAFE
"""What failIdx holds before the call: neither a descriptor nor SIZE_MAX, so that "not written" can be told."""

NO_DESCRIPTOR = (1 << 64) - 1

ATTRIBUTES = np.dtype(
    [("src_access_order", "<u4"), ("src_location", "<u4", 2), ("dst_location", "<u4", 2), ("flags", "<u4")]
)
"""The struct CUmemcpyAttributes (24 bytes); the zero location is "no hint"."""


class CudaError(Exception):
    """A call to the driver that did not return CUDA_SUCCESS."""

    def __init__(self, api: str, number: int) -> None:
        self.api, self.number = api, number
        super().__init__(f"{api} returned {error_name(number)} ({number})")


def error_name(number: int) -> str:
    """Return ``CUDA_ERROR_LAUNCH_FAILED`` for 719, and for an unknown number ``CUresult 12345``."""
    try:
        return str(cu.CUresult(number).name)
    except ValueError:
        return f"CUresult {number}"


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of cuda-python; return its value, a tuple of several, or None.

    Raises:
        CudaError: the driver did not return CUDA_SUCCESS.
    """
    result, *values = function(*arguments)
    if int(result) != 0:
        raise CudaError(function.__name__, int(result))
    return values[0] if len(values) == 1 else tuple(values) or None


def initialise() -> int:
    """Call `cuInit` and return the CUDA version that the driver supports (12080 is 12.8).

    Raises:
        SetupError: no driver, no device, or a driver without the batch call.
    """
    try:
        call(cu.cuInit, 0)
        version = int(call(cu.cuDriverGetVersion))
    except CudaError as error:
        raise SetupError(f"no usable CUDA device: {error}") from error
    except RuntimeError as error:  # cuda-python could not load libcuda.so.1
        raise SetupError(f"no CUDA driver on this machine: {error}") from error
    if version < BATCH_ABI_FAIL_INDEX or not _address("cuMemcpyBatchAsync", BATCH_ABI_FAIL_INDEX):
        raise SetupError(
            f"this driver supports CUDA {version // 1000}.{version % 1000 // 10} and has no cuMemcpyBatchAsync, which "
            "came with CUDA 12.8; update to driver 570 or newer, or use --driver sim:vllm-49276"
        )
    return version


def _address(symbol: str, version: int) -> int:
    """Return the address of a driver function at one ABI, 0 when this driver has none."""
    result, address, *_ = cu.cuGetProcAddress(symbol.encode(), version, 0)
    return int(address or 0) if int(result) == 0 else 0


def _function(symbol: str, version: int, *types: Any) -> Callable[..., int]:
    address = _address(symbol, version)
    if not address:
        raise SetupError(f"this driver has no {symbol} with the ABI of CUDA {version // 1000}.{version % 1000 // 10}")
    function: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)
    return function


class BatchCall:
    """The function `cuMemcpyBatchAsync` at one ABI."""

    def __init__(self, abi: int) -> None:
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        fail_index = [pointer] if abi == BATCH_ABI_FAIL_INDEX else []
        arrays = [pointer, pointer, pointer, size, pointer, pointer, size]
        self._call = _function("cuMemcpyBatchAsync", abi, *arrays, *fail_index, pointer)
        self._fail_index = np.full(1, NOT_WRITTEN, dtype=np.uint64)
        self._tail = [self._fail_index.ctypes.data] if fail_index else []

    def bind(
        self, dsts: Words, srcs: Words, sizes: Words, attributes: NDArray[Any], attribute_index: Words, stream: int
    ) -> Callable[[], int]:
        """Return the call with these arguments, ready to be made any number of times.

        `dsts` and `srcs` are addresses, `sizes` bytes, all of one length; `attributes` is of type `ATTRIBUTES` and its
        length is what the driver is told, `attribute_index` may be longer.
        """
        kept = (dsts, srcs, sizes, attributes, attribute_index)
        arguments = (
            dsts.ctypes.data, srcs.ctypes.data, sizes.ctypes.data, len(sizes), attributes.ctypes.data,
            attribute_index.ctypes.data, len(attributes), *self._tail, stream,
        )  # fmt: skip

        def submit(_kept: Any = kept) -> int:
            self._fail_index[0] = NOT_WRITTEN
            return self._call(*arguments)

        return submit

    def fail_index(self) -> tuple[int | None, bool]:
        """Return what the last call wrote to failIdx (None: no descriptor) and whether it wrote at all."""
        value = int(self._fail_index[0])
        if value == NOT_WRITTEN:
            return None, False
        return (None if value == NO_DESCRIPTOR else value), True


def copy_function() -> Callable[[int, int, int, int], int]:
    """Return `cuMemcpyAsync` (destination, source, bytes, stream), the control's call."""
    return _function("cuMemcpyAsync", COPY_ABI, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
