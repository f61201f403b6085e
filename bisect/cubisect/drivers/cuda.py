"""The real driver: `cuMemcpyBatchAsync`, or ordered copies of the same descriptors, on an NVIDIA GPU."""

import importlib.metadata
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver as cu
from numpy.typing import NDArray

from cubisect.batch import Batch, Mismatch, verify
from cubisect.drivers.base import Barrier, Progress, SetupError, verified_report
from cubisect.drivers.cuda_api import CudaError, call, error_name, initialise
from cubisect.drivers.cuda_memory import STAGING_BYTES, Buffer, Memory, uncut_offsets
from cubisect.drivers.cuda_neighbours import busy
from cubisect.drivers.cuda_stream import Queue
from cubisect.drivers.cuda_submit import Failure, Submission
from cubisect.errors import InputError
from cubisect.outcome import DriverReport, Phase
from cubisect.trial import Method, TrialSpec

OVERWRITTEN = 0x5A
"""What replaces every source byte after an `access_order` during_api_call submission returned."""

LATER_S = 0.5
"""How long after the synchronisation a destination with wrong bytes is compared once more."""


class CudaDriver:
    """Runs trials on a GPU, through cuda-python. `clock` gives seconds."""

    name = "cuda"
    simulated = False

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    def warm_up(self, gpu: int) -> None:
        """Call `cuInit` and make the device's primary context current; see `Driver.warm_up`."""
        initialise()
        try:
            device = call(cu.cuDeviceGet, gpu)
            call(cu.cuCtxSetCurrent, call(cu.cuDevicePrimaryCtxRetain, device))
        except CudaError as error:
            raise SetupError(f"GPU {gpu} cannot be used: {error}") from error

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        """Set up, submit, synchronise and verify one trial; see `Driver.run`."""
        seconds = dict.fromkeys(("setup", "submit", "sync", "verify"), 0.0)
        progress.enter(Phase.SETUP)
        with self._timed(seconds, "setup"):
            try:
                trial = _Trial(spec)
            except (CudaError, InputError, MemoryError) as error:
                raise SetupError(f"the trial could not be set up: {error or 'out of host memory'}") from error
        return _Run(trial, progress, barrier, lambda phase: self._timed(seconds, phase)).report(seconds)

    def neighbour(self, kind: str, gpu: int, tick: Callable[[], None]) -> None:  # noqa: ARG002  (its context is current)
        """Keep the GPU busy until killed; see `Neighbourly.neighbour`."""
        try:
            busy(kind, tick)
        except CudaError as error:
            raise SetupError(f"a neighbour doing {kind} failed: {error}") from error

    def environment(self) -> Mapping[str, Any]:
        """Return `environment()`; calls `cuInit`, so never in a process that forks trials."""
        return environment()

    @contextmanager
    def _timed(self, seconds: dict[str, float], phase: str) -> Iterator[None]:
        start = self._clock()
        yield
        seconds[phase] += self._clock() - start


class _Trial:
    """Everything a trial needs before the first submission: buffers, stream, arguments of the calls.

    Raises:
        CudaError, SetupError: it cannot be had.
    """

    def __init__(self, spec: TrialSpec) -> None:
        self.spec, self.batch = spec, spec.batch
        _check_invalid(spec)
        self.memory = Memory(max(self.batch.source_extent, self.batch.destination_extent))
        from_host, to_host = spec.direction[0] == "h", spec.direction[2] == "h"
        self.source = self._buffer(self.batch.source, self.batch.source_extent, on_host=from_host)
        self.destination = self._buffer(self.batch.destination, self.batch.destination_extent, on_host=to_host)
        self.memory.fill(self.source, spec.seed)
        self.memory.poison(self.destination)
        self.queue = Queue(spec.stream, spec.stream_state, self.memory)
        self.submission = Submission(
            spec,
            self.destination.addresses(self.batch.destination),
            self.source.addresses(self.batch.source),
            self.batch,
            self.queue.handle,
        )

    def _buffer(self, starts: NDArray[np.int64], extent: int, *, on_host: bool) -> Buffer:
        if not on_host:
            return self.memory.device(extent)

        def cuts(spacing: int) -> list[int]:
            return uncut_offsets(starts, self.batch.sizes, spacing)

        return self.memory.host(self.spec.host_memory, extent, cuts)

    def overwrite_source(self) -> None:
        """Spoil the source, where the driver must be done with it once a submission has returned.

        That is so for host memory with the access order during_api_call; ordered copies promise nothing of the kind.
        """
        if self.spec.access_order != "during_api_call" or self.spec.method is not Method.BATCH:
            return
        for segment in self.source.segments:
            if segment.view is not None:
                segment.view.fill(OVERWRITTEN)

    def expected(self) -> Batch:
        """Return the batch that must have arrived: without the descriptor that was wrong on purpose."""
        batch = self.batch
        if batch.invalid_index is None or self.spec.invalid == "wrong_attributes":
            return batch
        rest = batch.take(np.delete(np.arange(len(batch)), batch.invalid_index))
        return Batch(rest.source, rest.destination, rest.sizes, batch.source_extent, batch.destination_extent)

    def close(self) -> None:
        """Give everything back."""
        self.queue.close()
        self.memory.close()


@dataclass
class _Run:
    """The submissions of one trial, in order, and what came of them."""

    trial: _Trial
    progress: Progress
    barrier: Barrier | None
    timed: Callable[[str], Any]

    def report(self, seconds: Mapping[str, float]) -> DriverReport:
        """Run to the end or to the first failure. After a failure nothing is given back: that could hang."""
        spec = self.trial.spec
        failure = self._submissions() or self._synchronised(spec.repetition)
        api = "cuMemcpyAsync" if spec.method is Method.PERCOPY else "cuMemcpyBatchAsync"
        expected = self.trial.submission.expected_fail_index
        if failure is not None:
            return DriverReport(
                api=failure.api, cuda_error=failure.number, cuda_error_name=error_name(failure.number),
                fail_index=failure.fail_index, fail_index_written=failure.fail_index_written,
                expected_fail_index=expected, seconds=seconds,
            )  # fmt: skip
        self.progress.enter(Phase.VERIFY, spec.repetition)
        try:
            with self.timed("verify"):
                wrong, late = self._compared()
                self.trial.close()
        except CudaError as error:  # the work of the trial failed after all, and only now is it told
            return DriverReport(
                api=error.api, cuda_error=error.number, cuda_error_name=error_name(error.number), seconds=seconds
            )
        return verified_report(api, wrong, late, expected_fail_index=expected, seconds=seconds)

    def _compared(self) -> tuple[Mismatch, Mismatch | None]:
        """Return what is wrong at the destination, and if anything is, what still is a moment later.

        Data that comes late was copied after the synchronisation had returned; data that never comes was not copied.
        """
        expected, seed = self.trial.expected(), self.trial.spec.seed
        wrong = verify(expected, seed, self._read, window=STAGING_BYTES)
        if not wrong.bytes:
            return wrong, None
        time.sleep(LATER_S)
        return wrong, verify(expected, seed, self._read, window=STAGING_BYTES)

    def _submissions(self) -> Failure | None:
        spec = self.trial.spec
        window = 1 if spec.sync_between else spec.in_flight
        for repetition in range(1, spec.repetition + 1):
            if (repetition - 1) % window == 0:
                failure = self._prepared(repetition)
                if failure is not None:
                    return failure
            if self.barrier is not None:
                self.barrier.wait()
            with self.timed("submit"):
                self.progress.enter(Phase.SUBMIT, repetition)
                failure = self.trial.submission.submit()
            if failure is not None:
                return failure
            if repetition == spec.repetition:
                self.trial.overwrite_source()
        return None

    def _prepared(self, repetition: int) -> Failure | None:
        """Wait until nothing is in flight, then put the stream into the state in which it is submitted to."""
        failure = self._synchronised(repetition - 1) if repetition > 1 else None
        if failure is not None:
            return failure
        try:
            self.trial.queue.prepare()
        except CudaError as error:
            if repetition == 1:
                raise SetupError(f"the stream could not be prepared: {error}") from error
            return Failure(error.api, error.number)
        return None

    def _synchronised(self, repetition: int) -> Failure | None:
        with self.timed("sync"):
            self.progress.enter(Phase.SYNC, repetition)
            try:
                self.trial.queue.synchronise()
            except CudaError as error:
                return Failure(error.api, error.number)
        return None

    def _read(self, start: int, stop: int) -> NDArray[np.uint8]:
        return self.trial.memory.read(self.trial.destination, start, stop)


def _check_invalid(spec: TrialSpec) -> None:
    """Raise `SetupError` for a wrong descriptor that nobody could notice and that would read foreign memory."""
    if spec.invalid == "out_of_bounds" and spec.direction == "h2h" and spec.host_memory == "pageable":
        raise SetupError(
            "invalid=out_of_bounds needs memory that CUDA knows the bounds of; use another host_memory or direction"
        )


# -- environment -------------------------------------------------------------------------------------------------------

_PROC = Path("/proc/driver/nvidia")


def environment() -> dict[str, Any]:
    """Return driver, CUDA and package versions and every device; calls `cuInit`.

    Raises:
        SetupError: there is no usable device or no batch call.
    """
    cuda_version = initialise()
    try:
        devices = [_device(index) for index in range(call(cu.cuDeviceGetCount))]
    except CudaError as error:
        raise SetupError(f"the devices cannot be listed: {error}") from error
    if not devices:
        raise SetupError("the CUDA driver finds no device; check CUDA_VISIBLE_DEVICES")
    return {
        "driver": "cuda",
        "simulated": False,
        "driver_version": _found(_PROC / "version", r"Kernel Module.*?\s(\d+\.\d+[\d.]*)\s"),
        "cuda_version": cuda_version,
        "devices": devices,
        "packages": {name: importlib.metadata.version(name) for name in ("cuda-bindings", "numpy")},
    }


def _device(index: int) -> dict[str, Any]:
    device = call(cu.cuDeviceGet, index)
    attribute = cu.CUdevice_attribute
    major, minor = (
        call(cu.cuDeviceGetAttribute, getattr(attribute, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"), device)
        for part in ("MAJOR", "MINOR")
    )
    pci = _text(call(cu.cuDeviceGetPCIBusId, 32, device)).lower()
    digits = bytes(call(cu.cuDeviceGetUuid, device).bytes).hex()
    uuid = "-".join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    return {
        "index": index,
        "name": _text(call(cu.cuDeviceGetName, 128, device)),
        "uuid": f"GPU-{uuid}",
        "pci_bus_id": pci,
        "memory_bytes": int(call(cu.cuDeviceTotalMem, device)),
        "compute_capability": f"{major}.{minor}",
        "vbios": _found(_PROC / "gpus" / pci / "information", r"Video BIOS:\s+(\S+)"),
    }


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode()


def _found(file: Path, expression: str) -> str | None:
    """Return the first group of the expression in a file of the kernel module; None where there is none."""
    try:
        match = re.search(expression, file.read_text(encoding="utf-8"))
    except OSError:
        return None
    return match.group(1) if match else None
