"""A lane: the place where trials run one after the other, each in a fresh process.

`Lane.run` is the whole of isolation: it returns what was seen and never raises for anything that a trial did.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from cubisect.isolation.deadline import Allowance
from cubisect.isolation.gpu_core import GpuCores
from cubisect.isolation.hang import NATIVE_STACK_S, GpuUtilisation, observe, process_state
from cubisect.isolation.neighbours import NeighbourLostError, Neighbours
from cubisect.isolation.rank import Limit, Rank, assign, together
from cubisect.isolation.server import ANSWER_LIMIT_S, Child, ForkServer, ServerLostError
from cubisect.outcome import Evidence, HangEvidence, HangKind
from cubisect.trial import TrialSpec

RANK_GRACE_S = 0.25
"""After one rank has ended badly the others get this long to show that it happened to them too."""

DYING_LIMIT_S = 30.0
"""A process with gigabytes of pinned memory takes seconds to die; one that has not died by then never will."""

TRIALS_PER_SERVER = 1000
"""Forked trials share one address space layout and hash seed: a new fork server now and then varies them."""

DEFAULT_SPARES: Mapping[str, int] = {"cuda": 3}
"""Creating a CUDA context takes longer than a small trial; on the simulated driver there is nothing to do ahead."""


def _unknown_utilisation(gpu: int) -> float | None:  # noqa: ARG001
    return None


@dataclass(frozen=True, kw_only=True)
class LaneOptions:
    """How a lane runs trials. `gpus` are the devices over which ranks are spread, the lane's own alone by default.

    `spares` None takes what suits the driver. `gpu_cores` asks for a core dump of the GPU when a trial hangs.
    """

    spares: int | None = None
    memory_limit_bytes: int | None = None
    gpus: tuple[int, ...] = ()
    native_stacks: bool = True
    gpu_cores: GpuCores | None = None
    gpu_utilisation: GpuUtilisation = _unknown_utilisation


class Lane:
    """Runs trials of `driver` on `gpu`, one at a time. Used by one thread; starts its fork server when needed.

    Raises:
        InputError: from `run`, when the driver cannot be loaded.
    """

    def __init__(
        self,
        driver: str,
        gpu: int = 0,
        options: LaneOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.driver, self.gpu, self.options = driver, gpu, options or LaneOptions()
        self.unkillable: list[int] = []
        self.interrupted = False
        self._clock = clock
        kind = driver.partition(":")[0]
        self._spare_count = DEFAULT_SPARES.get(kind, 0) if self.options.spares is None else self.options.spares
        self._server: ForkServer | None = None
        self._spares: deque[Child] = deque()
        self._neighbours: Neighbours | None = None
        self._trials = 0

    def run(self, spec: TrialSpec, deadline_s: float, allowance: Allowance | None = None) -> Evidence:
        """Run one trial and return what was seen; at most `deadline_s` seconds, and what ending it takes.

        With an `allowance`, no part of the trial may take longer than its own time either.
        """
        asked = self._clock()
        try:
            ranks, started = self._start(replace(spec, gpu=self.gpu))
        except (ServerLostError, NeighbourLostError) as lost:
            self._abandon()
            return Evidence(infrastructure=str(lost), deadline_s=deadline_s, wall_s=self._clock() - asked)
        trouble, limit = None, Limit(started=started, deadline_s=deadline_s, allowance=allowance)
        try:
            self._attend(ranks, limit)
        except (ServerLostError, NeighbourLostError) as lost:
            trouble = str(lost)
            self._abandon()
        seen = [rank.evidence(limit, self._server, self._clock()) for rank in ranks]
        for rank in ranks:
            self._forget(rank.child)
        return together(seen, trouble, self._clock() - started)

    def interrupt(self) -> None:
        """Make `run` return at once, now and from now on, with `infrastructure` said; for any thread to call."""
        self.interrupted = True
        server = self._server
        if server is not None:
            server.interrupt()

    def close(self) -> None:
        """End every process of this lane."""
        self._abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- starting ------------------------------------------------------------------------------------------------------

    def _start(self, spec: TrialSpec) -> tuple[list[Rank], float]:
        """Return the processes of the trial, and when they were told what to do; neighbours are busy by then."""
        server = self._ready_server()
        gpus = self._rank_gpus(spec.ranks)
        assert self._neighbours is not None
        self._neighbours.provide(spec, sorted(set(gpus)))
        ranks: list[Rank] = []
        try:
            for number, gpu in enumerate(gpus):
                ranks.append(Rank(number, self._process(server, gpu)))
            assign(ranks, spec)
            started = self._clock()
            self._provide_spares(server)
            for rank in ranks:
                server.await_birth(rank.child)
        except ServerLostError:
            for rank in ranks:
                rank.child.close()
            raise
        return ranks, started

    def _ready_server(self) -> ForkServer:
        if self.interrupted:
            raise ServerLostError("interrupted")
        if self._server is not None and self._trials >= TRIALS_PER_SERVER:
            self._abandon()
        if self._server is None:
            self._server = ForkServer(
                self.driver,
                memory_limit_bytes=self.options.memory_limit_bytes,
                environment=self.options.gpu_cores.environment() if self.options.gpu_cores else {},
            )
            self._neighbours = Neighbours(self._server)
            self._trials = 0
            if self.interrupted:  # while it started
                raise ServerLostError("interrupted")
        self._trials += 1
        return self._server

    def _rank_gpus(self, ranks: int) -> list[int]:
        """Return the device of each rank: the lane's own, then the next ones, shared when there are too few."""
        gpus = self.options.gpus or (self.gpu,)
        first = gpus.index(self.gpu) if self.gpu in gpus else 0
        return [gpus[(first + rank) % len(gpus)] for rank in range(ranks)]

    def _process(self, server: ForkServer, gpu: int) -> Child:
        """Return a process for `gpu`: the oldest living spare, else a new one."""
        while server.pump(0.0):
            pass
        for spare in [s for s in self._spares if s.ended is not None]:
            self._spares.remove(spare)
            self._forget(spare)
        for spare in self._spares:
            if spare.gpu == gpu:
                self._spares.remove(spare)
                return spare
        return server.fork(gpu)

    def _provide_spares(self, server: ForkServer) -> None:
        """Start what is missing, so that it warms up while the trial runs."""
        while len(self._spares) < self._spare_count:
            self._spares.append(server.fork(self.gpu))

    # -- attending -----------------------------------------------------------------------------------------------------

    def _attend(self, ranks: Sequence[Rank], limit: Limit) -> None:
        """Wait until every rank has ended; when one is late, or has ended badly a while ago, end the others."""
        assert self._server is not None
        assert self._neighbours is not None
        grace_ends = math.inf
        while running := [rank for rank in ranks if rank.running]:
            now = self._clock()
            if grace_ends == math.inf and any(rank.ended_badly() for rank in ranks):
                grace_ends = now + RANK_GRACE_S
            late = min(limit.left_s(rank, now) for rank in running) <= 0.0
            if late:
                self._diagnose([rank for rank in running if limit.left_s(rank, now) <= RANK_GRACE_S])
            if late or now >= grace_ends:
                break
            self._server.pump(min(*(limit.look_again_s(rank, now) for rank in running), grace_ends - now))
            self._neighbours.check()
        self._end([rank for rank in ranks if rank.running])
        if self._neighbours is not None and any(rank.timed_out or rank.ended_badly() for rank in ranks):
            self._neighbours.stop()

    def _diagnose(self, late: Sequence[Rank]) -> None:
        """Look at what the late ones do. Waiting for the other ranks, and dying, are not their own doing."""
        began = self._clock()
        for rank in late:
            in_time = self._clock() < began + NATIVE_STACK_S
            if not rank.child.page.waiting and not process_state(rank.child.pid).exiting:
                rank.timed_out = True
                rank.hang = observe(
                    rank.child,
                    self.options.gpu_utilisation,
                    native_stacks=self.options.native_stacks and in_time,
                    gpu_cores=self.options.gpu_cores,
                )

    def _end(self, late: Sequence[Rank]) -> None:
        """Kill and reap. What does not die is left to the kernel, and this lane's fork server with it."""
        assert self._server is not None
        for rank in late:
            rank.killed = rank.timed_out or not process_state(rank.child.pid).exiting
            rank.child.kill()
        self._await_end(late)
        stuck = [rank for rank in late if rank.running]
        for rank in stuck:
            self.unkillable.append(rank.child.pid)
            rank.hang = replace(rank.hang or HangEvidence(kind=HangKind.BLOCKED), kind=HangKind.UNINTERRUPTIBLE)
        if stuck:
            self._abandon()

    def _await_end(self, late: Sequence[Rank]) -> None:
        """Wait until all have ended, but not for ever; raise `ServerLostError` when only their deaths go untold."""
        assert self._server is not None
        began = self._clock()
        while any(rank.running for rank in late):
            if self._server.pump(0.5):
                continue
            waited = self._clock() - began
            dead = all(process_state(rank.child.pid).letter in "ZX" for rank in late if rank.running)
            if dead and waited > ANSWER_LIMIT_S:
                raise ServerLostError("the fork server does not tell of deaths any more")
            if waited > DYING_LIMIT_S:
                return

    def _abandon(self) -> None:
        """End the fork server and with it all processes; the next trial starts another one."""
        if self._server is not None:
            self._server.close()
        self._server = None
        for spare in self._spares:
            self._forget(spare)
        self._spares.clear()
        if self._neighbours is not None:
            self._neighbours.forget()
            self._neighbours = None

    def _forget(self, child: Child) -> None:
        """Close what is left of a process, and remove the pipe that a driver which was killed leaves behind."""
        child.close()
        if self.options.gpu_cores is not None:
            self.options.gpu_cores.forget(child.pid)
