"""What runs on a node of a Ray cluster: one lane, through the same isolation as on this machine; no Ray in here."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from cubisect import __version__
from cubisect.engines.base import Completed, Job
from cubisect.engines.local import LocalEngine
from cubisect.errors import BisectError
from cubisect.isolation import LaneOptions
from cubisect.isolation.resolve import Resolved, resolve_driver

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Ray sets it for whoever is given GPUs of a node."""

RESULT_LIMIT_S = 24 * 3600.0
"""A lane ends every trial at its deadline; this is longer than any."""


@dataclass(frozen=True, kw_only=True)
class LanePlan:
    """How one lane runs trials; see `LocalEngine`."""

    driver: str
    ranks: int = 1
    share_gpus: bool = False
    timeout_s: float | None = None
    canaries: bool = True
    options: LaneOptions = field(default_factory=LaneOptions)


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A lane that is ready, or the `error` for which it never will be. `host` is for messages, and not recorded."""

    version: str
    host: str
    error: BisectError | None = None


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What one job came to. The `error` pauses the campaign; `calibrations` are new ones, by place."""

    completed: Completed | None = None
    error: BisectError | None = None
    calibrations: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class RemoteLane:
    """One lane on the node that Ray has put it on, with the GPUs that Ray has given it.

    Errors come back as values: an exception that crosses Ray becomes one of Ray's own.
    """

    def __init__(self, plan: LanePlan) -> None:
        self._plan = plan
        self._book = _Book()
        self._environment: Mapping[str, Any] = {}

    def open(self) -> Opened:
        """Look at the node and make the lane ready."""
        plan = self._plan
        try:
            self._environment = resolve_here(plan.driver).environment
            self._engine = LocalEngine(
                plan.driver,
                lanes=1,
                ranks=plan.ranks,
                share_gpus=plan.share_gpus,
                timeout_s=plan.timeout_s,
                canaries=plan.canaries,
                options=plan.options,
                book=self._book,
            )
        except BisectError as error:
            return Opened(version=__version__, host=socket.gethostname(), error=error)
        return Opened(version=__version__, host=socket.gethostname())

    def run(self, job: Job) -> Ran:
        """Run one job to its end."""
        completed = None
        try:
            self._engine.submit(job)
            completed = self._result()
            if completed.tainted:
                self._result()  # raises what pauses the campaign
        except BisectError as error:
            return Ran(completed=completed, error=error, calibrations=self._book.taken())
        return Ran(completed=completed, calibrations=self._book.taken())

    def _result(self) -> Completed:
        result = self._engine.next_result(RESULT_LIMIT_S)
        assert result is not None
        return replace(result, environment=self._environment)


class _Book:
    """Holds what this lane has measured until it is sent to the head, which keeps the record."""

    def __init__(self) -> None:
        self._new: dict[str, Mapping[str, float]] = {}

    def calibration(self, driver: str, gpu: str) -> Mapping[str, float]:  # noqa: ARG002  (a lane measures its own)
        return {}

    def save_calibration(self, driver: str, gpu: str, constants: Mapping[str, float]) -> None:  # noqa: ARG002
        self._new[gpu] = dict(constants)

    def taken(self) -> dict[str, Mapping[str, float]]:
        """Return what is new since the last question."""
        new, self._new = self._new, {}
        return new


def resolve_here(driver: str) -> Resolved:
    """Return what a driver's name means on this node, with all of its GPUs and not only those that Ray has lent.

    Raises:
        InputError: the name is of no driver.
        UnfitEnvironmentError: `cuda` was asked for and cannot be used here.
    """
    with _all_gpus_visible():
        return resolve_driver(driver)


@contextmanager
def _all_gpus_visible() -> Iterator[None]:
    lent = os.environ.pop(VISIBLE, None)
    try:
        yield
    finally:
        if lent is not None:
            os.environ[VISIBLE] = lent
