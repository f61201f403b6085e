"""How a trial ended: the evidence that was seen, and what it means.

Evidence is what the parent observed, without interpretation. `classify` turns it into a `Verdict`; it is a pure
function, so every rule about what counts as a finding is in this file and can be tested as a table of cases.
"""

import hashlib
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Outcome(StrEnum):
    """How a trial ended. Only the members of `FAILURES` are findings about the API."""

    OK = "ok"
    ERROR = "error"
    SEGFAULT = "segfault"
    HANG = "hang"
    ASYNC_ERROR = "async_error"
    CORRUPT = "corrupt"
    CRASH = "crash"
    INCONCLUSIVE = "inconclusive"


FAILURES = frozenset(
    {Outcome.ERROR, Outcome.SEGFAULT, Outcome.HANG, Outcome.ASYNC_ERROR, Outcome.CORRUPT, Outcome.CRASH}
)

SEVERITY: Mapping[Outcome, int] = {
    # The outcome of a trial of several ranks is its worst rank's; infrastructure trouble spoils the whole trial.
    Outcome.OK: 0,
    Outcome.ERROR: 1,
    Outcome.ASYNC_ERROR: 2,
    Outcome.CORRUPT: 3,
    Outcome.HANG: 4,
    Outcome.CRASH: 5,
    Outcome.SEGFAULT: 6,
    Outcome.INCONCLUSIVE: 7,
}


class Part(StrEnum):
    """What a trial spends its time on; each part has its own allowance of it."""

    SETUP = "set-up"
    SUBMIT = "submission"
    VERIFY = "verification"

    def follows(self, other: "Part") -> bool:
        """Tell whether this part comes after the other."""
        order = tuple(Part)
        return order.index(self) > order.index(other)


class Phase(IntEnum):
    """How far a trial process got. The numbers are written to the shared progress page."""

    START = 0
    SETUP = 1
    SUBMIT = 2
    SYNC = 3
    VERIFY = 4
    DONE = 5

    @property
    def label(self) -> str:
        """The name used in the database and in reports: ``submit``, ``sync`` and so on."""
        return self.name.lower()

    @property
    def part(self) -> Part:
        """The part of the trial that this phase belongs to."""
        if self < Phase.SUBMIT:
            return Part.SETUP
        return Part.SUBMIT if self < Phase.VERIFY else Part.VERIFY


class ResultState(StrEnum):
    """What arrived on the private result pipe of a trial process."""

    COMPLETE = "complete"
    MISSING = "missing"
    PARTIAL = "partial"
    CORRUPT = "corrupt"


class HangKind(StrEnum):
    """What the process did when its deadline passed, judged by its CPU time over a short window."""

    SPINNING = "spinning"
    POLLING = "polling"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    UNINTERRUPTIBLE = "uninterruptible"


MISMATCHED_RUNS = 16
"""Runs of wrong descriptors that a report lists; it must stay small."""


@dataclass(frozen=True, kw_only=True)
class DriverReport:
    """What the driver under test answered, told by the trial process itself.

    `cuda_error` is the CUresult of the call named `api`, 0 for success. `fail_index` is the index that the driver
    wrote, None when it wrote none or wrote SIZE_MAX ("no descriptor"); `fail_index_written` tells the two apart.
    `setup_failed` is the reason why the batch call could not be tried at all; such a trial says nothing about it.

    After success every byte is compared: `mismatched_bytes` differ, in `mismatched_descriptors`, whose runs of
    consecutive indices `mismatched_runs` lists, at most `MISMATCHED_RUNS` of them; `untouched_bytes` of the wrong ones
    still hold what the destination held before. `late_bytes` differ still when read again half a second later, None
    when nobody looked.
    """

    api: str = "cuMemcpyBatchAsync"
    cuda_error: int = 0
    cuda_error_name: str = "CUDA_SUCCESS"
    fail_index: int | None = None
    fail_index_written: bool = False
    expected_fail_index: int | None = None
    mismatched_bytes: int = 0
    mismatched_descriptors: int = 0
    mismatched_runs: Sequence[Sequence[int]] = ()
    untouched_bytes: int = 0
    late_bytes: int | None = None
    setup_failed: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HangEvidence:
    """What a process was doing when its deadline passed. `cpu_share` is CPU time over wall time in a short window.

    `gpu_utilisation` is the busy share of the GPU, 0 to 1; `gpu_core` the file of a core dump of its work.
    """

    kind: HangKind
    cpu_share: float = 0.0
    wait_channel: str | None = None
    python_stack: str | None = None
    native_stack: str | None = None
    gpu_utilisation: float | None = None
    gpu_core: str | None = None


@dataclass(frozen=True, kw_only=True)
class CrashEvidence:
    """What is known of a death by signal: Python's view, and module + offset of the native frames, innermost first.

    `fault_address` is the memory that could not be accessed, `access` how it was tried (read, write, execute),
    `instruction` the module + offset of the code that tried. It is no part of the signature: one fault may strike in
    several instructions (a copy loop has one for each size). `frames` are what a debugger saw.
    """

    fault_address: int | None = None
    access: str | None = None
    instruction: str | None = None
    python_stack: str | None = None
    frames: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was seen of one trial process. Times in seconds, memory in bytes.

    `deadline_s` is the longest that the trial could have taken; where `allowed_s` is not empty, each of its parts had
    its own time, and a trial that `timed_out` is late in the part of its `phase`.
    `phase` and `repetition` come from the shared progress page and survive any death; `repetition` counts the
    submissions begun. `exit_code` and `signal` are the kernel's word; `killed_by_us` says that the signal was ours.
    `infrastructure` names trouble of the harness (a fork server lost, a neighbour dead): the trial then says nothing.
    `notes` are remarks for a person (slow, other lanes on the GPU, an ECC error) that no rule depends on.
    `ranks` are those of a trial of several; one that was only reaped because of another has `killed_by_us` without
    `timed_out`, and is not blamed.
    """

    exit_code: int | None = None
    signal: int | None = None
    killed_by_us: bool = False
    phase: Phase = Phase.START
    repetition: int = 0
    result_state: ResultState = ResultState.MISSING
    report: DriverReport | None = None
    timed_out: bool = False
    deadline_s: float | None = None
    allowed_s: Mapping[str, float] = field(default_factory=dict)
    hang: HangEvidence | None = None
    crash: CrashEvidence | None = None
    wall_s: float = 0.0
    phase_s: Mapping[str, float] = field(default_factory=dict)
    cpu_s: float = 0.0
    max_rss_bytes: int = 0
    stray_processes: int = 0
    output_tail: str = ""
    notes: Sequence[str] = ()
    infrastructure: str | None = None
    rank: int = 0
    ranks: Sequence["Evidence"] = ()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the evidence means. `reason` is one sentence for a person; `rank` is the one to blame."""

    outcome: Outcome
    reason: str
    cuda_error: int | None = None
    cuda_error_name: str | None = None
    fail_index: int | None = None
    rank: int = 0


# Phases in which a death is the driver's doing; elsewhere it is ours, and no finding.
_DRIVER_PHASES = frozenset({Phase.SUBMIT, Phase.SYNC})

# Signals that people, shells and the kernel's memory management send; no library raises them in its own process.
_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})

# CUDA errors of work that is being executed: a call that returns one tells of work submitted before it.
_EXECUTION_ERRORS = frozenset({214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719})


def classify(evidence: Evidence) -> Verdict:
    """Return what the evidence of a trial means; of several ranks, the worst rank's verdict."""
    if evidence.infrastructure is not None:
        return _inconclusive(evidence.infrastructure)
    if evidence.ranks:
        own_doing = [rank for rank in evidence.ranks if rank.timed_out or not rank.killed_by_us]
        if not own_doing:
            return _inconclusive("every rank waited for the others when the deadline passed")
        return max((classify(rank) for rank in own_doing), key=lambda v: SEVERITY[v.outcome])
    verdict = _classify_one(evidence)
    return Verdict(**{**verdict.__dict__, "rank": evidence.rank})


def _classify_one(evidence: Evidence) -> Verdict:
    where = f"in phase {evidence.phase.label}, submission {evidence.repetition}"
    if evidence.result_state is ResultState.COMPLETE and evidence.report is not None:
        return _of_report(evidence.report, evidence)
    if evidence.timed_out:
        return _of_deadline(evidence, where)
    if evidence.signal is not None:
        return _of_signal(evidence, where)
    message = f"exited with status {evidence.exit_code} and a {evidence.result_state} result {where}"
    if evidence.phase in _DRIVER_PHASES:
        return Verdict(outcome=Outcome.CRASH, reason=message)
    return _inconclusive(message)


def _of_deadline(evidence: Evidence, where: str) -> Verdict:
    doing = evidence.hang.kind if evidence.hang else "in an unknown state"
    message = f"{_late(evidence)}, {doing}, {where}"
    if evidence.phase in _DRIVER_PHASES and not _stopped(evidence):
        return Verdict(outcome=Outcome.HANG, reason=message)
    return _inconclusive(message)


def _late(evidence: Evidence) -> str:
    """Return whose time was up."""
    part = evidence.phase.part
    if part in evidence.allowed_s:
        return f"{part} not finished in the {evidence.allowed_s[part]:.3g} s allowed for it"
    return f"not finished after {evidence.deadline_s or evidence.wall_s:.3g} s"


def _stopped(evidence: Evidence) -> bool:
    return evidence.hang is not None and evidence.hang.kind is HangKind.STOPPED


def _of_signal(evidence: Evidence, where: str) -> Verdict:
    assert evidence.signal is not None
    name = signal_name(evidence.signal)
    message = f"killed by {name} {where}"
    if evidence.killed_by_us:
        return _inconclusive(f"{message}, by us and before its deadline")
    if evidence.signal in _FROM_OUTSIDE:
        hint = " (out of memory?)" if evidence.signal == signal.SIGKILL else ""
        return _inconclusive(f"{message}, from outside{hint}")
    if evidence.phase not in _DRIVER_PHASES:
        return _inconclusive(f"{message}: this is our code or the set-up, not the batch call")
    outcome = Outcome.SEGFAULT if evidence.signal == signal.SIGSEGV else Outcome.CRASH
    return Verdict(outcome=outcome, reason=message)


def _of_report(report: DriverReport, evidence: Evidence) -> Verdict:
    """Return what the driver's own answer means; whatever happened to the process after it, it was given."""
    if report.setup_failed is not None:
        return _inconclusive(report.setup_failed)
    if report.cuda_error:
        return Verdict(
            outcome=Outcome.ASYNC_ERROR if _asynchronous(report, evidence) else Outcome.ERROR,
            reason=f"{report.api} returned {report.cuda_error_name} ({report.cuda_error}){_named(report)}",
            cuda_error=report.cuda_error,
            cuda_error_name=report.cuda_error_name,
            fail_index=report.fail_index,
        )
    if report.mismatched_bytes:
        return Verdict(outcome=Outcome.CORRUPT, reason=_differing(report))
    if evidence.signal is not None:
        return _inconclusive(f"reported success, then was killed by {signal_name(evidence.signal)}")
    if evidence.exit_code != 0 or evidence.phase is not Phase.DONE:
        return _inconclusive(f"reported success, then exited with status {evidence.exit_code}")
    if report.expected_fail_index is not None:
        return Verdict(outcome=Outcome.OK, reason=f"descriptor {report.expected_fail_index}, invalid, was accepted")
    return Verdict(outcome=Outcome.OK, reason="every byte arrived")


def _asynchronous(report: DriverReport, evidence: Evidence) -> bool:
    """Tell whether the error is that of work submitted earlier, by this call's phase or by its kind."""
    told_later = report.cuda_error in _EXECUTION_ERRORS and evidence.repetition > 1
    return evidence.phase >= Phase.SYNC or told_later


def _differing(report: DriverReport) -> str:
    """Return how much differs, where it starts, and whether it was never written or came late."""
    parts = [f"{report.mismatched_bytes:,} bytes differ"]
    if report.mismatched_runs:
        first = report.mismatched_runs[0][0]
        parts = [f"{parts[0]} in {report.mismatched_descriptors:,} descriptors, the first of them {first}"]
    else:
        parts = [f"{parts[0]}, all in gaps between the copies"]
    if report.untouched_bytes:
        parts.append(f"{report.untouched_bytes:,} of them never written")
    if report.late_bytes is not None:
        late = report.late_bytes
        parts.append(f"{late:,} wrong later too" if late else "right when read again later")
    return "; ".join(parts)


def _named(report: DriverReport) -> str:
    """Return which descriptor the driver named, and whether that is the one that was wrong on purpose."""
    at = "" if report.fail_index is None else f" at descriptor {report.fail_index}"
    if report.expected_fail_index in {None, report.fail_index}:
        return at
    return f"{at or ' without naming a descriptor'}; descriptor {report.expected_fail_index} is the invalid one"


def _inconclusive(reason: str) -> Verdict:
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)


def signal_name(number: int) -> str:
    """Return ``SIGSEGV`` for 11; real-time and unknown signals as ``signal 42``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The key that makes two failures the same fault."""

    outcome: Outcome
    cuda_error: int | None = None
    phase: Phase = Phase.SUBMIT
    detail: str = ""
    frames: Sequence[str] = ()

    @property
    def title(self) -> str:
        """One line for people: ``segfault in submit at libcuda.so.1+0x1b2c3``; without a phase once all are done."""
        error = "" if self.cuda_error is None else f" {self.cuda_error}"
        detail = f", {self.detail}" if self.detail else ""
        at = f" at {self.frames[0]}" if self.frames else ""
        where = "" if self.phase is Phase.DONE else f" in {self.phase.label}"
        return f"{self.outcome}{error}{where}{detail}{at}"

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits, equal for equal signatures on every machine."""
        text = "|".join([self.outcome, str(self.cuda_error), self.phase.label, self.detail, *self.frames])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def signature_of(evidence: Evidence, verdict: Verdict) -> Signature | None:
    """Return the signature of a failing trial, None for `ok` and `inconclusive`."""
    if verdict.outcome not in FAILURES:
        return None
    blamed = next((e for e in evidence.ranks if e.rank == verdict.rank), evidence)
    detail = ""
    if verdict.outcome is Outcome.HANG and blamed.hang is not None:
        detail = blamed.hang.kind.value
    if verdict.outcome is Outcome.CRASH:
        detail = signal_name(blamed.signal) if blamed.signal is not None else f"exit {blamed.exit_code}"
    return Signature(
        outcome=verdict.outcome,
        cuda_error=verdict.cuda_error,
        phase=blamed.phase,
        detail=detail,
        frames=tuple(blamed.crash.frames) if blamed.crash else (),
    )
