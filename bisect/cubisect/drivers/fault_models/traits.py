"""What fault models look at in a trial, and in what manner a failure shows."""

from dataclasses import dataclass

from cubisect.outcome import HangKind
from cubisect.trial import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a simulated failure shows.

    `repetition` is the submission, from 1, in which it strikes (a later one than the last means the last).
    `fail_index` is the descriptor that an `error` names; None lets the run's own chance choose one. `hang` is
    SPINNING or BLOCKED.
    """

    repetition: int = 1
    fail_index: int | None = None
    hang: HangKind = HangKind.SPINNING


def described(trial: TrialSpec) -> bool:
    """Tell whether the size axes determine the batch; explicit descriptors and workloads bring their own sizes."""
    return trial.descriptors is None and trial.workload == "none"


def count_of(trial: TrialSpec) -> int:
    """Return the number of descriptors; builds no batch unless the trial brings its own sizes."""
    return trial.descriptor_count if described(trial) else len(trial.sizes)


def bytes_of(trial: TrialSpec) -> int:
    """Return the sum of all sizes; builds no batch unless the trial brings its own sizes."""
    return trial.total_bytes if described(trial) else int(trial.sizes.sum())


def count_per_call(trial: TrialSpec) -> int:
    """Return the most descriptors in one call: all of them, unless the axis `chunk` cuts the batch."""
    return min(count_of(trial), trial.chunk)
