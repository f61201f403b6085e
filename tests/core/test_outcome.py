"""What evidence means: a table of cases, then the laws that hold for any evidence."""

import signal
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.outcome import (
    FAILURES,
    SEVERITY,
    CrashEvidence,
    DriverReport,
    Evidence,
    HangEvidence,
    HangKind,
    Outcome,
    Phase,
    ResultState,
    Signature,
    Verdict,
    classify,
    signal_name,
    signature_of,
)

ERROR: dict[str, Any] = {"cuda_error": 1, "cuda_error_name": "CUDA_ERROR_INVALID_VALUE"}
LAUNCH_FAILED: dict[str, Any] = {"cuda_error": 719, "cuda_error_name": "CUDA_ERROR_LAUNCH_FAILED"}


def told(phase: Phase = Phase.DONE, exit_code: int = 0, **report: Any) -> Evidence:
    """Return the evidence of a trial that handed in a complete report."""
    return Evidence(
        exit_code=exit_code, phase=phase, repetition=1, result_state=ResultState.COMPLETE, report=DriverReport(**report)
    )


def died(number: int, phase: Phase = Phase.SUBMIT, **rest: Any) -> Evidence:
    return Evidence(signal=number, phase=phase, repetition=1, **rest)


def late(phase: Phase = Phase.SUBMIT, kind: HangKind = HangKind.SPINNING, **rest: Any) -> Evidence:
    return Evidence(
        signal=signal.SIGKILL, killed_by_us=True, timed_out=True, deadline_s=2.0, phase=phase, repetition=3,
        hang=HangEvidence(kind=kind), **rest,
    )  # fmt: skip


CASES: list[tuple[str, Evidence, Outcome, str]] = [
    ("ok", told(), Outcome.OK, "every byte arrived"),
    ("error", told(Phase.SUBMIT, **ERROR), Outcome.ERROR, "CUDA_ERROR_INVALID_VALUE (1)"),
    ("error with index", told(Phase.SUBMIT, fail_index=7, **ERROR), Outcome.ERROR, "at descriptor 7"),
    ("error with the right index", told(Phase.SUBMIT, fail_index=7, expected_fail_index=7, **ERROR), Outcome.ERROR,
     "(1) at descriptor 7"),
    ("error with a wrong index", told(Phase.SUBMIT, fail_index=7, expected_fail_index=9, **ERROR), Outcome.ERROR,
     "at descriptor 7; descriptor 9 is the invalid one"),
    ("error without the index", told(Phase.SUBMIT, expected_fail_index=9, **ERROR), Outcome.ERROR,
     "without naming a descriptor; descriptor 9"),
    ("invalid accepted", told(expected_fail_index=9), Outcome.OK, "descriptor 9, invalid, was accepted"),
    ("async error", told(Phase.SYNC, api="cuStreamSynchronize", **LAUNCH_FAILED), Outcome.ASYNC_ERROR,
     "cuStreamSynchronize returned CUDA_ERROR_LAUNCH_FAILED (719)"),
    ("error found while verifying", told(Phase.VERIFY, **LAUNCH_FAILED), Outcome.ASYNC_ERROR, "719"),
    ("execution error told by a later submission", replace(told(Phase.SUBMIT, **LAUNCH_FAILED), repetition=2),
     Outcome.ASYNC_ERROR, "719"),
    ("execution error told by the first submission", told(Phase.SUBMIT, **LAUNCH_FAILED), Outcome.ERROR, "719"),
    ("invalid value told by a later submission", replace(told(Phase.SUBMIT, **ERROR), repetition=2), Outcome.ERROR,
     "(1)"),
    ("corrupt", told(mismatched_bytes=3, mismatched_descriptors=2, mismatched_runs=((5, 6),), late_bytes=0),
     Outcome.CORRUPT, "3 bytes differ in 2 descriptors, the first of them 5; right when read again later"),
    ("corrupt, never written", told(mismatched_bytes=3, untouched_bytes=2, late_bytes=3), Outcome.CORRUPT,
     "2 of them never written; 3 wrong later too"),
    ("corrupt in a gap", told(mismatched_bytes=3), Outcome.CORRUPT, "all in gaps"),
    ("corrupt, then a bad exit", told(Phase.VERIFY, exit_code=1, mismatched_bytes=3), Outcome.CORRUPT, "3 bytes"),
    ("set-up failed", told(Phase.SETUP, setup_failed="out of memory"), Outcome.INCONCLUSIVE, "out of memory"),
    ("success, then a bad exit", told(exit_code=1), Outcome.INCONCLUSIVE, "success, then exited with status 1"),
    ("success, but not done", told(Phase.VERIFY), Outcome.INCONCLUSIVE, "reported success"),
    ("success, then a signal", replace(told(), exit_code=None, signal=signal.SIGSEGV), Outcome.INCONCLUSIVE,
     "reported success, then was killed by SIGSEGV"),
    ("error, then a signal", replace(told(Phase.SUBMIT, **ERROR), exit_code=None, signal=signal.SIGABRT),
     Outcome.ERROR, "CUDA_ERROR_INVALID_VALUE"),
    ("error, then no end", replace(told(Phase.SUBMIT, **ERROR), timed_out=True, signal=signal.SIGKILL), Outcome.ERROR,
     "CUDA_ERROR_INVALID_VALUE"),
    ("segfault", died(signal.SIGSEGV), Outcome.SEGFAULT, "killed by SIGSEGV in phase submit, submission 1"),
    ("segfault in the synchronisation", died(signal.SIGSEGV, Phase.SYNC), Outcome.SEGFAULT, "phase sync"),
    ("segfault in the set-up", died(signal.SIGSEGV, Phase.SETUP), Outcome.INCONCLUSIVE, "not the batch call"),
    ("segfault while verifying", died(signal.SIGSEGV, Phase.VERIFY), Outcome.INCONCLUSIVE, "not the batch call"),
    ("segfault at the start", died(signal.SIGSEGV, Phase.START), Outcome.INCONCLUSIVE, "not the batch call"),
    ("abort", died(signal.SIGABRT), Outcome.CRASH, "SIGABRT"),
    ("bus error", died(signal.SIGBUS), Outcome.CRASH, "SIGBUS"),
    ("out of memory", died(signal.SIGKILL), Outcome.INCONCLUSIVE, "from outside (out of memory?)"),
    ("terminated by somebody", died(signal.SIGTERM), Outcome.INCONCLUSIVE, "from outside"),
    ("interrupted", died(signal.SIGINT), Outcome.INCONCLUSIVE, "from outside"),
    ("ended by us", died(signal.SIGABRT, killed_by_us=True), Outcome.INCONCLUSIVE, "by us and before its deadline"),
    ("hang, spinning", late(), Outcome.HANG, "not finished after 2 s, spinning, in phase submit, submission 3"),
    ("hang, blocked", late(Phase.SYNC, HangKind.BLOCKED), Outcome.HANG, "blocked, in phase sync"),
    ("hang of unknown kind", replace(late(), hang=None), Outcome.HANG, "in an unknown state"),
    ("stopped by somebody", late(kind=HangKind.STOPPED), Outcome.INCONCLUSIVE, "stopped"),
    ("slow set-up", late(Phase.SETUP), Outcome.INCONCLUSIVE, "phase setup"),
    ("slow verification", late(Phase.VERIFY), Outcome.INCONCLUSIVE, "phase verify"),
    ("exit within the call", Evidence(exit_code=3, phase=Phase.SUBMIT), Outcome.CRASH, "exited with status 3"),
    ("exit 0 within the call", Evidence(exit_code=0, phase=Phase.SYNC), Outcome.CRASH, "missing result"),
    ("exit in the set-up", Evidence(exit_code=3, phase=Phase.SETUP), Outcome.INCONCLUSIVE, "exited with status 3"),
    ("garbage on the pipe", Evidence(exit_code=0, phase=Phase.DONE, result_state=ResultState.CORRUPT),
     Outcome.INCONCLUSIVE, "corrupt result"),
    ("trouble of the harness", replace(told(), infrastructure="neighbour died"), Outcome.INCONCLUSIVE,
     "neighbour died"),
]  # fmt: skip


@pytest.mark.parametrize(("evidence", "outcome", "reason"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_evidence_means(evidence: Evidence, outcome: Outcome, reason: str) -> None:
    verdict = classify(evidence)
    assert verdict.outcome is outcome
    assert reason in verdict.reason


def ranked(*evidences: Evidence) -> Evidence:
    return Evidence(ranks=[replace(evidence, rank=i) for i, evidence in enumerate(evidences)])


@pytest.mark.parametrize(
    ("evidence", "outcome", "rank"),
    [
        (ranked(told(), told()), Outcome.OK, 0),
        (ranked(told(), late()), Outcome.HANG, 1),
        (ranked(late(), died(signal.SIGSEGV)), Outcome.SEGFAULT, 1),
        (ranked(told(), told(Phase.SUBMIT, **ERROR), told()), Outcome.ERROR, 1),
        (ranked(died(signal.SIGSEGV), told(Phase.SETUP, setup_failed="no device")), Outcome.INCONCLUSIVE, 1),
        (ranked(died(signal.SIGKILL, killed_by_us=True), died(signal.SIGSEGV)), Outcome.SEGFAULT, 1),
        (ranked(*[died(signal.SIGKILL, killed_by_us=True)] * 2), Outcome.INCONCLUSIVE, 0),
    ],
)
def test_the_worst_rank_decides(evidence: Evidence, outcome: Outcome, rank: int) -> None:
    verdict = classify(evidence)
    assert (verdict.outcome, verdict.rank) == (outcome, rank)


reports = st.builds(
    DriverReport,
    cuda_error=st.sampled_from((0, 0, 1, 719)),
    fail_index=st.none() | st.integers(0, 9),
    mismatched_bytes=st.sampled_from((0, 0, 5)),
    setup_failed=st.sampled_from((None, None, "no memory")),
)
evidences = st.builds(
    Evidence,
    exit_code=st.none() | st.integers(0, 3),
    signal=st.none() | st.integers(1, 64),
    killed_by_us=st.booleans(),
    phase=st.sampled_from(Phase),
    repetition=st.integers(0, 5),
    result_state=st.sampled_from(ResultState),
    report=st.none() | reports,
    timed_out=st.booleans(),
    hang=st.none() | st.builds(HangEvidence, kind=st.sampled_from(HangKind)),
)


@given(evidences)
def test_any_evidence_has_one_meaning_and_a_reason_of_one_line(evidence: Evidence) -> None:
    verdict = classify(evidence)
    assert verdict.reason
    assert "\n" not in verdict.reason
    assert (verdict.cuda_error is not None) == (verdict.outcome in {Outcome.ERROR, Outcome.ASYNC_ERROR})


@given(evidences)
def test_ok_needs_every_sign_of_success(evidence: Evidence) -> None:
    verdict = classify(evidence)
    if verdict.outcome is Outcome.OK:
        assert evidence.report is not None
        assert (evidence.exit_code, evidence.signal, evidence.phase) == (0, None, Phase.DONE)
        assert evidence.result_state is ResultState.COMPLETE
        assert not evidence.report.cuda_error
        assert not evidence.report.mismatched_bytes


@given(evidences)
def test_a_death_or_a_hang_outside_of_the_drivers_phases_is_never_a_finding(evidence: Evidence) -> None:
    verdict = classify(replace(evidence, report=None))
    if evidence.phase not in {Phase.SUBMIT, Phase.SYNC}:
        assert verdict.outcome is Outcome.INCONCLUSIVE


@given(evidences)
def test_trouble_of_the_harness_is_never_a_finding_nor_ok(evidence: Evidence) -> None:
    assert classify(replace(evidence, infrastructure="a fork server was lost")).outcome is Outcome.INCONCLUSIVE


@given(evidences)
def test_exactly_the_failures_have_a_signature(evidence: Evidence) -> None:
    verdict = classify(evidence)
    assert (signature_of(evidence, verdict) is not None) == (verdict.outcome in FAILURES)


def test_severities_order_every_outcome() -> None:
    assert set(SEVERITY) == set(Outcome)
    assert len(set(SEVERITY.values())) == len(Outcome)
    assert max(SEVERITY, key=lambda outcome: SEVERITY[outcome]) is Outcome.INCONCLUSIVE
    assert set(Outcome) - {Outcome.OK, Outcome.INCONCLUSIVE} == FAILURES


def test_the_same_fault_has_the_same_key_everywhere() -> None:
    frames = ("libcuda.so.1+0x1b2c3", "libcuda.so.1+0x4d5e6")
    signature = Signature(outcome=Outcome.SEGFAULT, frames=frames)
    assert signature.title == "segfault in submit at libcuda.so.1+0x1b2c3"
    assert signature.key == Signature(outcome=Outcome.SEGFAULT, frames=list(frames)).key == "962f28d4e846"


def test_what_makes_two_faults_differ() -> None:
    base = Signature(outcome=Outcome.ERROR, cuda_error=1)
    others = [
        base,
        replace(base, outcome=Outcome.ASYNC_ERROR),
        replace(base, cuda_error=700),
        replace(base, phase=Phase.SYNC),
        replace(base, detail="spinning"),
        replace(base, frames=("libcuda.so.1+0x1",)),
    ]
    assert len({signature.key for signature in others}) == len(others)


def test_a_signature_is_that_of_the_rank_to_blame() -> None:
    crash = CrashEvidence(frames=("libcuda.so.1+0x10",))
    evidence = ranked(told(), died(signal.SIGSEGV, Phase.SYNC, crash=crash))
    signature = signature_of(evidence, classify(evidence))
    assert signature is not None
    assert signature.title == "segfault in sync at libcuda.so.1+0x10"


def test_hangs_and_crashes_say_what_kind_they_are() -> None:
    hang, abort = late(kind=HangKind.POLLING), died(signal.SIGABRT)
    titles = [s.title for s in (signature_of(e, classify(e)) for e in (hang, abort)) if s is not None]
    assert titles == ["hang in submit, polling", "crash in submit, SIGABRT"]


def test_what_the_last_check_found_is_in_no_phase() -> None:
    evidence = told(mismatched_bytes=1, mismatched_descriptors=1, mismatched_runs=((3, 1),))
    signature = signature_of(evidence, classify(evidence))
    assert signature is not None
    assert signature.title == "corrupt"
    assert signature.key != replace(signature, phase=Phase.VERIFY).key


def test_signal_names() -> None:
    assert [signal_name(number) for number in (11, 6, 99)] == ["SIGSEGV", "SIGABRT", "signal 99"]


def test_a_verdict_without_blame() -> None:
    assert signature_of(Evidence(), Verdict(outcome=Outcome.OK, reason="")) is None
