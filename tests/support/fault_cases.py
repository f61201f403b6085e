"""What must be seen of each fault of `support.faulty` that strikes while the batch is submitted."""

import signal
from dataclasses import dataclass

from cubisect.outcome import Evidence, HangKind, Outcome, ResultState, classify
from support.faulty import Fault

DEADLINE_S = 5.0
HANG_DEADLINE_S = 0.25


@dataclass(frozen=True)
class Case:
    """What must be seen of a fault that strikes during submission; `strays` None: it depends on the moment."""

    fault: Fault
    outcome: Outcome
    signal: int | None = None
    exit_code: int | None = None
    result: ResultState = ResultState.MISSING
    hang: HangKind | None = None
    strays: int | None = 0
    infrastructure: bool = False

    @property
    def deadline_s(self) -> float:
        return DEADLINE_S if self.hang is None else HANG_DEADLINE_S

    def check(self, seen: Evidence) -> None:
        """Assert that the evidence is exactly what it must be."""
        verdict = classify(seen)
        assert verdict.outcome is self.outcome, verdict.reason
        assert (seen.infrastructure is not None) == self.infrastructure, seen.infrastructure
        assert (seen.hang and seen.hang.kind) == self.hang
        if self.infrastructure:
            return
        assert seen.signal == (signal.SIGKILL if self.hang else self.signal)
        assert seen.exit_code == self.exit_code
        assert seen.result_state is self.result
        assert self.strays in {seen.stray_processes, None}
        assert seen.timed_out == seen.killed_by_us == (self.hang is not None)


CASES = [
    Case(Fault.NONE, Outcome.OK, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.ERROR, Outcome.ERROR, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.SEGFAULT, Outcome.SEGFAULT, signal=signal.SIGSEGV),
    Case(Fault.BAD_READ, Outcome.SEGFAULT, signal=signal.SIGSEGV),
    Case(Fault.BAD_JUMP, Outcome.SEGFAULT, signal=signal.SIGSEGV),
    Case(Fault.SENT_SEGFAULT, Outcome.SEGFAULT, signal=signal.SIGSEGV),
    Case(Fault.BUS_ERROR, Outcome.CRASH, signal=signal.SIGBUS),
    Case(Fault.ABORT, Outcome.CRASH, signal=signal.SIGABRT),
    Case(Fault.ILLEGAL, Outcome.CRASH, signal=signal.SIGILL),
    Case(Fault.FLOATING_POINT, Outcome.CRASH, signal=signal.SIGFPE),
    Case(Fault.STACK_OVERFLOW, Outcome.SEGFAULT, signal=signal.SIGSEGV),
    Case(Fault.TERMINATED, Outcome.INCONCLUSIVE, signal=signal.SIGTERM),
    Case(Fault.OUTSIDE_KILL, Outcome.INCONCLUSIVE, signal=signal.SIGKILL, strays=None),
    Case(Fault.EXIT_0, Outcome.CRASH, exit_code=0),
    Case(Fault.EXIT_3, Outcome.CRASH, exit_code=3),
    Case(Fault.EXIT_255, Outcome.CRASH, exit_code=255),
    Case(Fault.SYSTEM_EXIT, Outcome.INCONCLUSIVE, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.RAISE, Outcome.INCONCLUSIVE, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.SETUP_ERROR, Outcome.INCONCLUSIVE, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.OUT_OF_MEMORY, Outcome.INCONCLUSIVE, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.SPIN, Outcome.HANG, hang=HangKind.SPINNING),
    Case(Fault.PYTHON_SPIN, Outcome.HANG, hang=HangKind.SPINNING),
    Case(Fault.SIGNALS_BLOCKED, Outcome.HANG, hang=HangKind.SPINNING),
    Case(Fault.SLEEP, Outcome.HANG, hang=HangKind.BLOCKED),
    Case(Fault.LOCK, Outcome.HANG, hang=HangKind.BLOCKED),
    Case(Fault.POLL, Outcome.HANG, hang=HangKind.POLLING),
    Case(Fault.STOP, Outcome.INCONCLUSIVE, hang=HangKind.STOPPED),
    Case(Fault.ORPHAN, Outcome.OK, exit_code=0, result=ResultState.COMPLETE, strays=1),
    Case(Fault.DAEMON, Outcome.OK, exit_code=0, result=ResultState.COMPLETE, strays=1),
    Case(Fault.SEGFAULT_WITH_DAEMON, Outcome.SEGFAULT, signal=signal.SIGSEGV, strays=1),
    Case(Fault.FLOOD, Outcome.OK, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.PRINT_FLOOD, Outcome.OK, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.CLOSE_ALL, Outcome.CRASH, exit_code=0),
    Case(Fault.CLOSE_THEN_OK, Outcome.INCONCLUSIVE, exit_code=98),
    Case(Fault.TRUNCATED, Outcome.CRASH, exit_code=0, result=ResultState.PARTIAL),
    Case(Fault.GARBAGE, Outcome.CRASH, exit_code=0, result=ResultState.CORRUPT),
    Case(Fault.WRONG_CHECKSUM, Outcome.CRASH, exit_code=0, result=ResultState.CORRUPT),
    Case(Fault.NOT_A_REPORT, Outcome.CRASH, exit_code=0, result=ResultState.CORRUPT),
    Case(Fault.HUGE_LENGTH, Outcome.CRASH, exit_code=0, result=ResultState.CORRUPT),
    Case(Fault.MAIL_FLOOD, Outcome.CRASH, exit_code=0, result=ResultState.CORRUPT),
    Case(Fault.MAIL_GRANDCHILD, Outcome.INCONCLUSIVE, exit_code=0, result=ResultState.CORRUPT),
    Case(Fault.REPORT_THEN_SEGFAULT, Outcome.INCONCLUSIVE, signal=signal.SIGSEGV, result=ResultState.COMPLETE),
    Case(Fault.THREAD, Outcome.OK, exit_code=0, result=ResultState.COMPLETE),
    Case(Fault.SERVER_DEATH, Outcome.INCONCLUSIVE, infrastructure=True),
]
