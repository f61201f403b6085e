"""What every driver offers to the process that runs a trial."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from cubisect.batch import Mismatch
from cubisect.outcome import MISMATCHED_RUNS, DriverReport, Phase
from cubisect.trial import TrialSpec


class SetupError(Exception):
    """The batch call could not be tried at all (out of memory, no device): the trial is inconclusive."""


class Progress(Protocol):
    """How far the trial got, kept where it survives the death of the process."""

    def enter(self, phase: Phase, repetition: int = 0) -> None:
        """Record that `phase` begins; in SUBMIT and SYNC, `repetition` counts submissions begun, from 1."""


class Barrier(Protocol):
    """The line from which the ranks of one trial start together."""

    def wait(self) -> None:
        """Return when every rank is here."""


@runtime_checkable
class Driver(Protocol):
    """One driver, used by one trial in one process."""

    name: str
    simulated: bool

    def warm_up(self, gpu: int) -> None:
        """Do what needs no knowledge of the trial (create the context), so that a spare can do it ahead.

        Raises:
            SetupError: the device cannot be used.
        """

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        """Submit the batch `spec.repetition` times and verify every byte; `warm_up(spec.gpu)` has been called.

        `barrier`, where given, is waited for before each submission.

        Raises:
            SetupError: the batch call could not be tried.
        """

    def environment(self) -> Mapping[str, Any]:
        """Return the fingerprint of what is under test: driver version, GPUs, CUDA version."""


@runtime_checkable
class Neighbourly(Protocol):
    """A driver that can also keep a GPU busy; needed only where a point has `neighbours`."""

    def neighbour(self, kind: str, gpu: int, tick: Callable[[], None]) -> None:
        """Keep `gpu` busy with `kind` (an axis value of `neighbour_kind`) for ever, in a process of its own.

        `warm_up(gpu)` has been called. `tick` is called as each piece of work completes: it is how isolation
        verifies that the neighbour is busy before a trial starts.

        Raises:
            SetupError: the neighbour could not be set up, or its work failed.
        """


def verified_report(api: str, wrong: Mismatch, late: Mismatch | None = None, **more: Any) -> DriverReport:
    """Return the report of a trial whose calls of `api` all succeeded, after its destination was compared.

    `late` is what a second, later comparison found; `more` are further fields of the report.
    """
    return DriverReport(
        api=api,
        mismatched_bytes=wrong.bytes,
        mismatched_descriptors=wrong.descriptors,
        mismatched_runs=tuple(wrong.runs[:MISMATCHED_RUNS]),
        untouched_bytes=wrong.untouched,
        late_bytes=None if late is None else late.bytes,
        **more,
    )
