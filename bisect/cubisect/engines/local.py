"""Lanes of this machine: each a thread that owns one lane and takes jobs from a common queue."""

import os
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cubisect.engines.base import Completed, Job
from cubisect.errors import InputError
from cubisect.isolation import Lane, LaneOptions
from cubisect.isolation.attendant import Attendant
from cubisect.isolation.calibration import Calibration, CalibrationBook, place_of
from cubisect.isolation.hang import OBSERVE_LIMIT_S
from cubisect.isolation.health import GpuHealth
from cubisect.isolation.lane import DYING_LIMIT_S
from cubisect.isolation.nvml import Nvml
from cubisect.isolation.resolve import environment, environment_here, usable_cuda

CLOSE_LIMIT_S = OBSERVE_LIMIT_S + DYING_LIMIT_S
"""A lane that is told to end may be looking at a hang, or waiting for a process to die; mostly it ends at once."""

_STOP = None


@dataclass(frozen=True)
class _Measured:
    """A lane has calibrated itself; for the book, which only the thread that takes the results may write."""

    place: str
    calibration: Calibration


class LocalEngine:
    """Runs up to `lanes` jobs at a time; see `engines.base.Engine`.

    `gpus` are device ordinals: by default all on `cuda`, device 0 on a simulated driver. By default there is one lane
    per GPU on `cuda` and one per core otherwise; more lanes than GPUs share them, which their evidence notes. The ranks
    of one trial, at most `ranks` of them, are spread over `gpus`, so that there is one lane for so many GPUs; with
    fewer GPUs they share, where `share_gpus` allows it, and their evidence notes it. A `book` spares the canaries where
    calibrations are known, and keeps new ones; it is only used in the thread that uses the engine.

    Raises:
        InputError: a lane or GPU number that cannot be, fewer GPUs than ranks, or the driver cannot be loaded.
        UnfitEnvironmentError: CUDA cannot be used here.
    """

    def __init__(
        self,
        driver: str,
        *,
        lanes: int | None = None,
        gpus: tuple[int, ...] | None = None,
        ranks: int = 1,
        share_gpus: bool = False,
        timeout_s: float | None = None,
        canaries: bool = True,
        options: LaneOptions | None = None,
        book: CalibrationBook | None = None,
    ) -> None:
        probe = usable_cuda() if driver == "cuda" else {}
        uuids = devices_of(probe)
        self._most_ranks, self._gpus = None, usable_gpus(driver, uuids, gpus, ranks=ranks, share_gpus=share_gpus)
        if driver == "cuda" and not share_gpus:
            self._most_ranks = len(self._gpus)
        cores = len(os.sched_getaffinity(0))
        self.lanes = _checked_lanes(lanes, max(len(self._gpus) // ranks, 1) if driver == "cuda" else cores)
        nvml = Nvml(uuids)
        options = replace(options or LaneOptions(), gpus=self._gpus, gpu_utilisation=nvml.utilisation)
        self._uuids = uuids
        self._driver, self._book = driver, book
        self._environment = environment_here(driver, probe)
        self._places = {gpu: place_of(self._name_of(gpu), environment(probe)) for gpu in self._gpus}
        known = {gpu: self._known_calibration(gpu) for gpu in self._gpus}
        self._measured: dict[str, Calibration] = {}
        self._healths = {gpu: GpuHealth(gpu, nvml) for gpu in self._gpus}
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Completed | _Measured | BaseException] = queue.SimpleQueue()
        self._closing = False
        self._attendants = []
        for number in range(self.lanes):
            own = number * ranks % len(self._gpus)
            gpu = self._gpus[own]
            sharing = sum(other * ranks % len(self._gpus) == own for other in range(self.lanes)) - 1
            self._attendants.append(
                Attendant(
                    lane=Lane(driver, gpu, options),
                    health=self._healths[gpu],
                    timeout_s=timeout_s,
                    canaries=canaries,
                    sharing=sharing if driver == "cuda" else 0,
                    calibration=known[gpu],
                )
            )
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name=f"lane-{number}", daemon=True)
            for number in range(self.lanes)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        """Start the job when a lane is free; returns at once.

        Raises:
            InputError: it has more ranks than there are GPUs, and they may not share.
        """
        if self._most_ranks is not None:
            _check_ranks(job.spec.ranks, self._most_ranks)
        self._jobs.put(job)

    def next_result(self, timeout_s: float) -> Completed | None:
        """Return the next completed job; None when none completes in time.

        Raises:
            UnfitEnvironmentError: a GPU failed its canary (`UnfitGpuError`, which names the tainted trials).
        """
        try:
            while isinstance(result := self._results.get(timeout=timeout_s), _Measured):
                self._keep(result)
        except queue.Empty:
            return None
        if isinstance(result, BaseException):
            raise result
        return result

    def calibrations(self) -> Mapping[str, Any]:
        """Return, by lane, how long a canary took and the costs from which deadlines are predicted."""
        return {
            str(number): {"gpu": attendant.lane.gpu, **attendant.calibration.constants()}
            for number, attendant in enumerate(self._attendants)
            if attendant.calibration is not None
        }

    def readings(self) -> Mapping[int, Mapping[str, Any]]:
        """Return, by GPU, what NVML said before the first trial: errors, memory, foreign processes."""
        return {gpu: vars(health.at_start) for gpu, health in self._healths.items()}

    def close(self) -> None:
        """End every process that the engine started; running jobs are given up."""
        self._closing = True
        for attendant in self._attendants:
            attendant.lane.interrupt()
            self._jobs.put(_STOP)
        for thread in self._threads:
            thread.join(CLOSE_LIMIT_S)

    def _name_of(self, gpu: int) -> str:
        return self._uuids.get(gpu, str(gpu))

    def _known_calibration(self, gpu: int) -> Calibration | None:
        return None if self._book is None else Calibration.of(self._book.calibration(self._driver, self._places[gpu]))

    def _keep(self, new: _Measured) -> None:
        """Write a calibration into the book; of several lanes on one GPU, the slowest one's."""
        known = self._measured.get(new.place)
        if known is None or known.canary_s < new.calibration.canary_s:
            self._measured[new.place] = new.calibration
            if self._book is not None:
                self._book.save_calibration(self._driver, new.place, new.calibration.constants())

    # -- in the lanes' threads -----------------------------------------------------------------------------------------

    def _serve(self, number: int) -> None:
        attendant = self._attendants[number]
        try:
            while (job := self._jobs.get()) is not _STOP and not self._closing:
                self._run(number, attendant, job)
        except BaseException as error:  # noqa: BLE001  (it is raised where the results are taken)
            self._results.put(error)
        finally:
            attendant.lane.close()

    def _run(self, number: int, attendant: Attendant, job: Job) -> None:
        health = attendant.health
        if health.unfit is not None:
            raise health.error()
        known = attendant.calibration
        attended = attendant.run(job.key, job.spec)
        if attendant.calibration is not None and attendant.calibration is not known:
            self._results.put(_Measured(self._places[health.gpu], attendant.calibration))
        self._results.put(
            Completed(
                key=job.key,
                spec=job.spec,
                evidence=attended.evidence,
                lane=number,
                gpu=self._name_of(health.gpu),
                tainted=attended.tainted,
                environment=self._environment,
            )
        )
        if not attended.tainted:
            return
        raise health.error()


def devices_of(probe: Mapping[str, Any]) -> dict[int, str]:
    """Return the UUIDs of the CUDA devices by ordinal."""
    return {int(device["index"]): str(device["uuid"]) for device in probe.get("devices") or []}


def usable_gpus(
    driver: str, devices: Mapping[int, str], asked: tuple[int, ...] | None, *, ranks: int, share_gpus: bool
) -> tuple[int, ...]:
    """Return the ordinals of the GPUs to use, all of them where none is `asked` for; `devices` are from `devices_of`.

    Raises:
        InputError: there is no such GPU, one is named twice, or there are fewer than ranks.
    """
    gpus = _checked_gpus(asked, devices)
    if driver == "cuda" and not share_gpus:
        _check_ranks(ranks, len(gpus))
    return gpus


def _checked_gpus(gpus: tuple[int, ...] | None, uuids: Mapping[int, str]) -> tuple[int, ...]:
    chosen = gpus or tuple(uuids) or (0,)
    if len(set(chosen)) != len(chosen) or min(chosen) < 0:
        raise InputError(f"--gpus {','.join(map(str, chosen))}: name each GPU once, counting from 0")
    unknown = [gpu for gpu in chosen if uuids and gpu not in uuids]
    if unknown:
        raise InputError(f"--gpus {unknown[0]}: there is no such GPU; there are {', '.join(map(str, uuids))}")
    return chosen


def _check_ranks(ranks: int, gpus: int) -> None:
    if ranks > gpus:
        raise InputError(
            f"ranks {ranks}: there {_are(gpus)}; add --share-gpus to let several ranks use one GPU, or "
            f"--fix ranks={gpus}"
        )


def _are(gpus: int) -> str:
    return "is 1 GPU" if gpus == 1 else f"are {gpus} GPUs"


def _checked_lanes(lanes: int | None, default: int) -> int:
    if lanes is None:
        return default
    if lanes < 1:
        raise InputError(f"--lanes {lanes}: at least one lane is needed; leave it out for {default}")
    return lanes
