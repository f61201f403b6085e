"""A driver whose faults are known: it draws from a fault model and enacts what it drew for real.

A segfault is a null pointer written to by native code, a hang never returns to the interpreter: the process
boundary, the deadline and the classification are exercised as on hardware.
"""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cubisect.batch import POISON, Batch, Lane, pattern, raw_words, unit_uniform, verify
from cubisect.drivers import enact
from cubisect.drivers.base import Barrier, Progress, SetupError, verified_report
from cubisect.drivers.fault_models import DetailedFaultModel, FaultModel, checked_hazards
from cubisect.drivers.fault_models.traits import Manner, bytes_of, count_of, count_per_call
from cubisect.errors import InputError
from cubisect.outcome import DriverReport, HangKind, Outcome, Phase
from cubisect.space import KIB
from cubisect.trial import Method, TrialSpec

SAMPLE_BYTES, SAMPLE_DESCRIPTORS = 8 * KIB, 64
"""Most bytes and descriptors that a simulated trial really copies: a point of 4 GiB costs no more than 8 KiB. More of
them would only cost page faults, half a millisecond of each trial with 64 KiB."""

NEIGHBOUR_PAUSE_S = 0.01
"""A simulated neighbour has no GPU to load; it only lives, and says so this often."""

INVALID_VALUE = (1, "CUDA_ERROR_INVALID_VALUE")
LAUNCH_FAILED = (719, "CUDA_ERROR_LAUNCH_FAILED")


class SimulatedDriver:
    """Runs trials against a fault model instead of a GPU."""

    simulated = True

    def __init__(self, model: FaultModel, name: str) -> None:
        self.model = model
        self.name = f"sim:{name}"

    def warm_up(self, gpu: int) -> None:
        """Do nothing: there is no context to create."""

    def environment(self) -> Mapping[str, Any]:
        """Return the name and the description of the fault model."""
        return {"driver": self.name, "simulated": True, "fault_model": inspect.getdoc(self.model) or ""}

    def neighbour(self, kind: str, gpu: int, tick: Callable[[], None]) -> None:  # noqa: ARG002  (nothing to load)
        """Live until killed, telling `tick` so."""
        while True:
            tick()
            time.sleep(NEIGHBOUR_PAUSE_S)

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        """Draw how the trial ends, then let it end that way; see `Driver.run`."""
        progress.enter(Phase.SETUP)
        refused = _refusal(spec)
        outcome = Outcome.OK if refused or spec.method is Method.PERCOPY else self._draw(spec)
        strike = self._manner(spec, outcome)
        copy = _SampleCopy(spec)
        for repetition in range(1, spec.repetition + 1):
            if barrier is not None:
                barrier.wait()
            progress.enter(Phase.SUBMIT, repetition)
            if refused:
                return refused
            if outcome is not Outcome.OK and repetition == strike.repetition:
                report = _strike(spec, outcome, strike, progress, copy)
                if report is not None:
                    return report
            copy.submit()
            if spec.sync_between:
                progress.enter(Phase.SYNC, repetition)
        progress.enter(Phase.SYNC, spec.repetition)
        progress.enter(Phase.VERIFY, spec.repetition)
        return copy.verified(spec)

    def _draw(self, spec: TrialSpec) -> Outcome:
        """Return the outcome that chance, seeded by `run_seed` alone, picks from the hazards."""
        try:
            hazards = checked_hazards(self.model, spec)
        except InputError as error:
            raise SetupError(str(error)) from error
        mark = float(unit_uniform(raw_words(spec.run_seed, Lane.RUN, 1))[0])
        for outcome, probability in hazards.items():
            if mark < probability:
                return outcome
            mark -= probability
        return Outcome.OK

    def _manner(self, spec: TrialSpec, outcome: Outcome) -> Manner:
        """Return how `outcome` shows, its submission within those that there are and its index within the batch."""
        if outcome is Outcome.OK:
            return Manner()
        told = self.model.manner(spec, outcome) if isinstance(self.model, DetailedFaultModel) else Manner()
        count = count_of(spec)
        index = told.fail_index
        if index is None:
            index = int(raw_words(spec.run_seed, Lane.RUN, 2)[1] % np.uint64(count))
        return replace(told, repetition=min(told.repetition, spec.repetition), fail_index=min(index, count - 1))


def _refusal(spec: TrialSpec) -> DriverReport | None:
    """Return the answer of a truthful driver to a call that is wrong on purpose, None when nothing is wrong."""
    if spec.method is Method.PERCOPY:
        if spec.invalid in {"none", "zero_size", "wrong_attributes"}:
            return None
        index = spec.batch.invalid_index
        return _error("cuMemcpyAsync", INVALID_VALUE, fail_index=index, expected=index)
    if spec.invalid in {"none", "wrong_attributes"}:
        # An entry for each copy is increasing, as it must be, only with one attribute or one for each copy.
        per_copy = spec.attrs_layout == "per_copy" and 1 < spec.attribute_count < count_per_call(spec)
        wrong = spec.stream == "legacy" or per_copy or spec.invalid == "wrong_attributes"
        return _error("cuMemcpyBatchAsync", INVALID_VALUE) if wrong else None
    index = spec.batch.invalid_index
    told = index if spec.abi == 12080 else None
    return _error("cuMemcpyBatchAsync", INVALID_VALUE, fail_index=told, expected=told)


def _error(
    api: str, error: tuple[int, str], *, fail_index: int | None = None, expected: int | None = None
) -> DriverReport:
    number, name = error
    return DriverReport(
        api=api, cuda_error=number, cuda_error_name=name, fail_index=fail_index,
        fail_index_written=fail_index is not None, expected_fail_index=expected,
    )  # fmt: skip


def _strike(
    spec: TrialSpec, outcome: Outcome, manner: Manner, progress: Progress, copy: "_SampleCopy"
) -> DriverReport | None:
    """Enact `outcome`: never return, return the driver's answer, or (corrupt) spoil the copy and let it go on."""
    match outcome:
        case Outcome.SEGFAULT:
            enact.null_dereference()
        case Outcome.CRASH:
            enact.abort()
        case Outcome.HANG if manner.hang is HangKind.BLOCKED:
            enact.sleep_forever()
        case Outcome.HANG:
            enact.spin_forever()
        case Outcome.CORRUPT:
            copy.spoiled = True
            return None
        case Outcome.ASYNC_ERROR:
            progress.enter(Phase.SYNC, manner.repetition)
            return _error("cuStreamSynchronize", LAUNCH_FAILED)
    told = manner.fail_index if spec.abi == 12080 else None
    return _error("cuMemcpyBatchAsync", INVALID_VALUE, fail_index=told)


class _SampleCopy:
    """The bounded host copy of a simulated trial: the trial's first descriptors, made small, with equal sizes."""

    def __init__(self, spec: TrialSpec) -> None:
        count = min(count_of(spec), SAMPLE_DESCRIPTORS)
        size = max(min(bytes_of(spec), SAMPLE_BYTES) // count, 1)
        offsets = np.arange(count, dtype=np.int64) * size
        self.batch = Batch(offsets, offsets, np.full(count, size, dtype=np.int64), count * size, count * size)
        self.source = pattern(spec.seed, count * size)
        self.destination = np.full(count * size, POISON, dtype=np.uint8)
        self.spoiled = False

    def submit(self) -> None:
        """Copy every descriptor."""
        np.copyto(self.destination, self.source)
        if self.spoiled:
            self.destination[len(self.destination) // 2] ^= 0xFF

    def verified(self, spec: TrialSpec) -> DriverReport:
        """Return the report of a trial whose calls all succeeded, after comparing every byte."""

        def read(start: int, stop: int) -> NDArray[np.uint8]:
            return self.destination[start:stop]

        wrong = verify(self.batch, spec.seed, read)
        api = "cuMemcpyAsync" if spec.method is Method.PERCOPY else "cuMemcpyBatchAsync"
        return verified_report(api, wrong)
