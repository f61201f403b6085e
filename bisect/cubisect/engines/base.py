"""What every engine offers to the campaign: jobs in, completed trials out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cubisect.outcome import Evidence
from cubisect.trial import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Job:
    """One trial to run; `key` is the caller's own name for it."""

    key: int
    spec: TrialSpec


@dataclass(frozen=True, kw_only=True)
class Completed:
    """One trial that ran.

    `tainted` says that the GPU failed its canary afterwards, so that it must be run again. `environment` is where it
    ran, None where that is not known.
    """

    key: int
    spec: TrialSpec
    evidence: Evidence
    lane: int = 0
    gpu: str | None = None
    tainted: bool = False
    environment: Mapping[str, Any] | None = None


class Engine(Protocol):
    """Runs up to `lanes` jobs at a time, each in its own process. Used from one thread.

    Lanes may be lost, and come back, while it runs.
    """

    lanes: int

    def submit(self, job: Job) -> None:
        """Start the job as soon as a lane is free, in the order of submission; returns at once."""

    def next_result(self, timeout_s: float) -> Completed | None:
        """Return the next completed job, in the order of completion; None when none completes in time.

        Raises:
            UnfitEnvironmentError: the GPU failed its canary and the campaign must pause.
        """

    def close(self) -> None:
        """End every process that the engine started."""
