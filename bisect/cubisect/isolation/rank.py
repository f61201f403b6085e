"""One process of a trial: what it is told, how long it may take, and the evidence that is left of it."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from cubisect.isolation.crash import modules_of, place_of
from cubisect.isolation.deadline import Allowance
from cubisect.isolation.page import RankBarrier
from cubisect.isolation.server import Child, ForkServer
from cubisect.outcome import CrashEvidence, DriverReport, Evidence, HangEvidence, ResultState
from cubisect.trial import TrialSpec


@dataclass
class Rank:
    """One process of the trial that runs now, and what is known of it so far."""

    number: int
    child: Child
    timed_out: bool = False
    killed: bool = False
    hang: HangEvidence | None = None
    result: tuple[ResultState, DriverReport | None] = field(default=(ResultState.MISSING, None))

    @property
    def running(self) -> bool:
        """Whether its end has not been told yet."""
        return self.child.ended is None

    def ended_badly(self) -> bool:
        """Tell whether the others need not go on: it died, or it has reported a failure."""
        if self.child.ended is None:
            return False
        self.read_result()
        state, report = self.result
        fine = report is not None and not report.cuda_error and report.setup_failed is None
        return self.child.ended.status != 0 or state is not ResultState.COMPLETE or not fine

    def read_result(self) -> None:
        """Read what the process reported, once."""
        if self.result[0] is ResultState.MISSING:
            self.result = _report_of(*self.child.result())

    def evidence(self, limit: "Limit", server: ForkServer | None, now: float) -> Evidence:
        """Return what was seen of this process; `server` forked it, and is None where it was lost."""
        child, ended = self.child, self.child.ended
        self.read_result()
        at = ended.at if ended else now
        return Evidence(
            exit_code=ended.exit_code if ended else None,
            signal=ended.signal if ended else None,
            killed_by_us=self.killed,
            phase=child.page.phase,
            repetition=child.page.repetition,
            result_state=self.result[0],
            report=self.result[1],
            timed_out=self.timed_out,
            deadline_s=limit.deadline_s,
            allowed_s=limit.allowance.by_part() if limit.allowance else {},
            hang=self.hang,
            crash=_crash_of(child, server) if ended and ended.signal and not self.killed else None,
            wall_s=at - limit.started,
            phase_s=child.page.seconds(at),
            cpu_s=ended.cpu_s if ended else 0.0,
            max_rss_bytes=ended.max_rss_bytes if ended else 0,
            stray_processes=ended.strays if ended else 0,
            output_tail=child.output_tail(),
            infrastructure=_lost_before_its_trial(child),
            rank=self.number,
        )


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How long the trial that runs now may take: in all, and each part of it where that is told."""

    started: float
    deadline_s: float
    allowance: Allowance | None

    def left_s(self, rank: Rank, now: float) -> float:
        """Return what is left to a rank; waiting for the others uses up nothing but the whole trial's time."""
        page, since_start = rank.child.page, now - self.started
        left = self.deadline_s - since_start
        if self.allowance is None or page.waiting:
            return left
        return min(left, self.allowance.left_s(page.phase, page.seconds(now), since_start))

    def look_again_s(self, rank: Rank, now: float) -> float:
        """Return how long a rank that is not late now cannot be late."""
        left = self.left_s(rank, now)
        return left if self.allowance is None else min(left, self.allowance.shortest_after_s(rank.child.page.phase))


def assign(ranks: Sequence[Rank], spec: TrialSpec) -> None:
    """Tell each process what to do, and where the line is from which several start together."""
    barrier = [RankBarrier.new_file()] if len(ranks) > 1 else []
    for rank in ranks:
        own = replace(spec, gpu=rank.child.gpu).to_json()
        request = {"role": "trial", "spec": own, "rank": rank.number, "ranks": len(ranks)}
        rank.child.assign(request, *barrier)
    for fd in barrier:
        os.close(fd)


def together(seen: Sequence[Evidence], trouble: str | None, wall_s: float) -> Evidence:
    """Return the evidence of the trial: the only rank's own, or that of all, under the one that ended worst."""
    if len(seen) == 1:
        return replace(seen[0], infrastructure=trouble or seen[0].infrastructure)
    first = next((e for e in seen if e.timed_out), None) or min(seen, key=lambda e: (e.killed_by_us, e.phase))
    return replace(first, ranks=tuple(seen), wall_s=wall_s, infrastructure=trouble or first.infrastructure)


def _report_of(state: ResultState, payload: Any) -> tuple[ResultState, DriverReport | None]:
    """Return the report in a frame; a frame that holds something else is corrupt."""
    if state is not ResultState.COMPLETE:
        return state, None
    with suppress(TypeError):
        return state, DriverReport(**payload)
    return ResultState.CORRUPT, None


def _crash_of(child: Child, server: ForkServer | None) -> CrashEvidence:
    """Return what a death by signal left. Modules that the process did not list are where its fork server has them."""
    stack = child.python_stacks() or None
    trap = child.page.trap()
    if trap is None:
        return CrashEvidence(python_stack=stack)
    modules = child.page.modules() or (modules_of(server.pid) if server else [])
    return CrashEvidence(
        fault_address=trap.address,
        access=trap.access,
        instruction=place_of(trap.instruction, modules) or hex(trap.instruction),
        python_stack=stack,
    )


def _lost_before_its_trial(child: Child) -> str | None:
    """Return trouble of ours: the process died while it warmed up, before it had read what to do."""
    if child.ended is None or child.page.taken or child.ended.status == 0:
        return None
    how = f"signal {child.ended.signal}" if child.ended.signal else f"status {child.ended.exit_code}"
    return f"a process died while warming up, before its trial ({how})"
