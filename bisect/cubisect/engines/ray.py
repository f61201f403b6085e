"""Lanes on the nodes of a Ray cluster: each an actor that Ray places, with a thread here that feeds it."""

import queue
import threading
import time
from dataclasses import replace
from typing import Any

from cubisect import __version__
from cubisect.engines.base import Completed, Job
from cubisect.engines.ray_cluster import (
    PLACE_LIMIT_S,
    Head,
    LostHeadError,
    broken,
    connected,
    let_go,
    no_room,
    room,
)
from cubisect.engines.ray_lane import LanePlan, Ran, RemoteLane
from cubisect.errors import BisectError, InputError, UnfitEnvironmentError
from cubisect.isolation import LaneOptions
from cubisect.isolation.calibration import CalibrationBook
from cubisect.isolation.health import UnfitGpuError
from cubisect.outcome import Evidence

CLOSE_LIMIT_S = 10.0
"""How long a lane's thread may take to see that its actor is gone."""

LOOK_S = 1.0
"""How often a wait for results looks whether any lane is left."""

_STOP = None


class RayEngine:
    """Runs up to `lanes` jobs at a time on a cluster; see `engines.base.Engine`.

    Ray places the lanes: one per GPU on `cuda` (as many GPUs as a trial has ranks), one per core otherwise. A lane
    whose node is lost gives up its trial, which the evidence says, and is placed anew where there is room; `lanes`
    counts those that are ready. A `book` gets the calibrations, which every lane measures for itself.

    Raises:
        InputError: more lanes than the cluster can hold, fewer GPUs than ranks, Ray is not installed.
        UnfitEnvironmentError: no cluster answers, or it has no room.
    """

    def __init__(
        self,
        driver: str,
        *,
        address: str | None = None,
        lanes: int | None = None,
        ranks: int = 1,
        share_gpus: bool = False,
        timeout_s: float | None = None,
        canaries: bool = True,
        options: LaneOptions | None = None,
        book: CalibrationBook | None = None,
    ) -> None:
        with connected(address) as self._ray:
            free = room(self._ray, driver, ranks, share_gpus=share_gpus)
            wanted = free.lanes_of(lanes)
        self._head, self._head_lost = Head(self._ray.get_runtime_context().gcs_address), False
        self._driver, self._book = driver, book
        self._canary_s: dict[str, float] = {}
        self._most_ranks = None if share_gpus or driver != "cuda" else ranks
        plan = LanePlan(
            driver=driver, ranks=ranks, share_gpus=share_gpus, timeout_s=timeout_s, canaries=canaries,
            options=options or LaneOptions(),
        )  # fmt: skip
        place = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD", **free.resources}
        self._actor_class, self._plan = self._ray.remote(**place)(RemoteLane), plan
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Completed | Ran | BaseException | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._actors: dict[int, Any] = {}
        self._hosts: dict[int, str] = {}
        self._closing = False
        self.lanes, self._without_lanes_since = 0, time.monotonic()
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name=f"ray-lane-{number}", daemon=True)
            for number in range(wanted)
        ]
        for thread in self._threads:
            thread.start()
        try:
            self._await_first_lane()
        except BaseException:
            self.close()
            raise

    def submit(self, job: Job) -> None:
        """Start the job when a lane is free; returns at once.

        Raises:
            InputError: it has more ranks than a lane has GPUs, and they may not share.
        """
        if self._most_ranks is not None and job.spec.ranks > self._most_ranks:
            raise InputError(f"ranks {job.spec.ranks}: a lane has {self._most_ranks}; add --share-gpus")
        self._jobs.put(job)

    def next_result(self, timeout_s: float) -> Completed | None:
        """Return the next completed job; None when none completes in time.

        Raises:
            UnfitEnvironmentError: a GPU failed its canary (`UnfitGpuError`), or the cluster has no room or no
                head any more.
            InputError: the driver cannot be loaded.
        """
        until = time.monotonic() + timeout_s
        while True:
            self._check_head()
            try:
                result = self._results.get(timeout=max(min(until - time.monotonic(), LOOK_S), 0.0))
            except queue.Empty:
                self._check_lanes()
                if time.monotonic() >= until:
                    return None
                continue
            if isinstance(result, BaseException):
                raise result
            if isinstance(result, Ran):
                self._keep(result)
            elif result is not None:
                return result

    def close(self) -> None:
        """End every process that the engine started, on every node; running jobs are given up."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            actors = list(self._actors.values())
        if self._head_lost:
            let_go(self._ray)
            for thread in self._threads:
                thread.join(2 * LOOK_S)
            return
        for actor in actors:
            self._ray.kill(actor)  # whose fork server and trials die with it, see isolation
        for _ in self._threads:
            self._jobs.put(_STOP)
        for thread in self._threads:
            thread.join(CLOSE_LIMIT_S)
        self._ray.shutdown()

    def _await_first_lane(self) -> None:
        while not self.lanes:
            self._check_head()
            self._check_lanes()
            try:
                result = self._results.get(timeout=LOOK_S)
            except queue.Empty:
                continue
            if isinstance(result, BaseException):
                raise result

    def _check_head(self) -> None:
        try:
            self._head.check()
        except LostHeadError:
            self._head_lost = True
            raise

    def _check_lanes(self) -> None:
        with self._lock:
            if not self.lanes and time.monotonic() - self._without_lanes_since > PLACE_LIMIT_S:
                raise no_room()

    def _keep(self, ran: Ran) -> None:
        """Write calibrations into the book; of several lanes on one GPU, the slowest one's."""
        for place, constants in ran.calibrations.items():
            if self._book is not None and constants["canary_s"] > self._canary_s.get(place, 0.0):
                self._canary_s[place] = constants["canary_s"]
                self._book.save_calibration(self._driver, place, constants)

    # -- in the lanes' threads -----------------------------------------------------------------------------------------

    def _serve(self, number: int) -> None:
        """Have an actor placed and feed it; when it is lost, have another placed."""
        try:
            while not self._closing:
                if self._open(number):
                    self._feed(number)
        except BaseException as error:  # noqa: BLE001  (it is raised where the results are taken)
            if not self._closing:
                self._results.put(error)

    def _open(self, number: int) -> bool:
        """Return once the lane is ready, however long the cluster takes to find room; False when it was lost before."""
        with self._lock:
            if self._closing:
                return False
            actor = self._actors[number] = self._actor_class.remote(self._plan)
        try:
            opened = self._get(actor.open.remote())
        except self._ray.exceptions.RayActorError:
            time.sleep(LOOK_S)
            return False
        except self._ray.exceptions.RayError as error:
            raise broken(error) from error
        if opened.error is not None:
            raise _of_host(opened.error, opened.host)
        if opened.version != __version__:
            raise UnfitEnvironmentError(
                f"{opened.host} has cubisect {opened.version}, this machine has {__version__}; "
                "install the same on every node of the Ray cluster"
            )
        with self._lock:
            self.lanes, self._hosts[number] = self.lanes + 1, opened.host
        self._results.put(None)  # who waits for the first lane sees it at once
        return True

    def _feed(self, number: int) -> None:
        """Hand on jobs until the lane is lost, or told to end."""
        actor = self._actors[number]
        while (job := self._jobs.get()) is not _STOP and not self._closing:
            try:
                ran = self._get(actor.run.remote(job))
            except self._ray.exceptions.RayActorError:
                self._lost(actor, job)
                return
            except self._ray.exceptions.RayError as error:
                raise broken(error) from error
            self._tell(number, ran)

    def _get(self, asked: Any) -> Any:
        """Return what a lane answers; while the engine is closed nobody waits for it."""
        while True:
            try:
                return self._ray.get(asked, timeout=LOOK_S)
            except self._ray.exceptions.GetTimeoutError:
                if self._closing:
                    raise

    def _tell(self, number: int, ran: Ran) -> None:
        if ran.calibrations:
            self._results.put(ran)
        if ran.completed is not None:
            self._results.put(replace(ran.completed, lane=number))
        if ran.error is not None:
            raise _of_host(ran.error, self._hosts[number])

    def _lost(self, actor: Any, job: Job) -> None:
        """Give the trial up: nobody knows how far it came."""
        with self._lock:
            self.lanes -= 1
            self._without_lanes_since = time.monotonic()
        if not self._closing:
            self._ray.kill(actor)  # in case it is only out of reach: it shall not run trials that nobody waits for
            evidence = Evidence(infrastructure="the node of the Ray cluster that ran it was lost")
            self._results.put(Completed(key=job.key, spec=job.spec, evidence=evidence))


def _of_host(error: BisectError, host: str) -> BisectError:
    """Return the error with the name of the machine on which it happened."""
    told = f"on {host}: {error}"
    return UnfitGpuError(told, error.tainted) if isinstance(error, UnfitGpuError) else type(error)(told)
