"""One submission of a trial: a batch call, several (`chunk`), or one copy call for each descriptor (the control)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cubisect.batch import Batch
from cubisect.drivers.cuda_api import ATTRIBUTES, BATCH_ABI_FAIL_INDEX, BatchCall, Words, copy_function
from cubisect.space import MIB
from cubisect.trial import Method, TrialSpec

ACCESS_ORDERS = {"stream": 1, "during_api_call": 2, "any": 3}
WRONG_ACCESS_ORDER = 9


@dataclass(frozen=True)
class Failure:
    """A call that did not succeed."""

    api: str
    number: int
    fail_index: int | None = None
    fail_index_written: bool = False


class Submission:
    """All calls of one submission, prepared, so that `submit` does nothing but make them.

    `dsts` and `srcs` are the addresses of the batch's copies. `expected_fail_index` is the descriptor that a truthful
    driver names; None when it names none.
    """

    def __init__(self, spec: TrialSpec, dsts: Words, srcs: Words, batch: Batch, stream: int) -> None:
        sizes = batch.sizes.astype(np.uint64)
        _spoil(spec.invalid, batch, dsts, srcs, sizes)
        percopy = spec.method is Method.PERCOPY
        names_descriptor = percopy or spec.abi == BATCH_ABI_FAIL_INDEX
        by_descriptor = spec.invalid not in ({"zero_size", "wrong_attributes"} if percopy else {"wrong_attributes"})
        self.expected_fail_index = batch.invalid_index if names_descriptor and by_descriptor else None
        self._submit = _copies(dsts, srcs, sizes, stream) if percopy else _batches(spec, dsts, srcs, sizes, stream)

    def submit(self) -> Failure | None:
        """Make the calls; return the first that fails."""
        return self._submit()


def _spoil(invalid: str, batch: Batch, dsts: Words, srcs: Words, sizes: Words) -> None:
    """Make the descriptor `batch.invalid_index` wrong in the way that the axis `invalid` says."""
    i = batch.invalid_index
    if i is None:
        return
    match invalid:
        case "null_source":
            srcs[i] = 0
        case "null_destination":
            dsts[i] = 0
        case "zero_size":
            sizes[i] = 0
        case "out_of_bounds":  # far beyond the end of either allocation, however the driver rounds them up
            sizes[i] = 2 * max(batch.source_extent, batch.destination_extent) + 64 * MIB


def _copies(dsts: Words, srcs: Words, sizes: Words, stream: int) -> Callable[[], Failure | None]:
    copy = copy_function()
    rows = list(zip(dsts.tolist(), srcs.tolist(), sizes.tolist(), strict=True))

    def submit() -> Failure | None:
        for index, (dst, src, size) in enumerate(rows):
            number = copy(dst, src, size, stream)
            if number:
                return Failure("cuMemcpyAsync", number, index, fail_index_written=True)
        return None

    return submit


def _batches(spec: TrialSpec, dsts: Words, srcs: Words, sizes: Words, stream: int) -> Callable[[], Failure | None]:
    batch_call = BatchCall(spec.abi)
    calls = []
    for start in range(0, len(sizes), spec.chunk):
        part = slice(start, start + spec.chunk)
        attributes, index = _attributes(spec, len(sizes[part]))
        calls.append((start, batch_call.bind(dsts[part], srcs[part], sizes[part], attributes, index, stream)))

    def submit() -> Failure | None:
        for start, call in calls:
            number = call()
            if number:
                index, written = batch_call.fail_index()
                return Failure("cuMemcpyBatchAsync", number, None if index is None else start + index, written)
        return None

    return submit


def _attributes(spec: TrialSpec, count: int) -> tuple[NDArray[Any], Words]:
    """Return attrs and attrsIdxs for a call of `count` copies.

    `run_starts` is as documented: an entry for each attribute, the first copy of its run. `per_copy` is what some
    callers pass: an entry for each copy, the number of its run.
    """
    attributes = np.zeros(min(spec.attribute_count, count), dtype=ATTRIBUTES)
    wrong = spec.invalid == "wrong_attributes"
    attributes["src_access_order"] = WRONG_ACCESS_ORDER if wrong else ACCESS_ORDERS[spec.access_order]
    attributes["flags"] = spec.flags
    starts = (np.arange(len(attributes), dtype=np.uint64) * np.uint64(count)) // np.uint64(len(attributes))
    if spec.attrs_layout == "run_starts":
        return attributes, starts
    runs = np.searchsorted(starts, np.arange(count, dtype=np.uint64), side="right") - 1
    return attributes, runs.astype(np.uint64)
