"""Every way in which a trial may end, for real: what is seen of it, what it is called, and that nothing is left."""

import pytest

from cubisect.isolation import Lane
from cubisect.outcome import Outcome, Phase, classify
from support.fault_cases import CASES, DEADLINE_S, HANG_DEADLINE_S, Case
from support.faulty import Fault, trial


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault.name.lower())
def test_each_fault_is_seen_for_what_it_is(lane: Lane, case: Case) -> None:
    case.check(lane.run(trial(case.fault), case.deadline_s))


def test_phase_and_repetition_survive_a_segfault(lane: Lane) -> None:
    seen = lane.run(trial(Fault.SEGFAULT, Phase.SYNC, repetition=3), DEADLINE_S)
    assert (seen.phase, seen.repetition) == (Phase.SYNC, 3)
    assert seen.phase_s["submit"] > 0.0


@pytest.mark.parametrize("phase", [Phase.SETUP, Phase.VERIFY])
@pytest.mark.parametrize("fault", [Fault.SEGFAULT, Fault.EXIT_3, Fault.SPIN])
def test_a_death_outside_the_call_is_no_finding(lane: Lane, phase: Phase, fault: Fault) -> None:
    seen = lane.run(trial(fault, phase), HANG_DEADLINE_S if fault is Fault.SPIN else DEADLINE_S)
    assert seen.phase is phase
    assert classify(seen).outcome is Outcome.INCONCLUSIVE
