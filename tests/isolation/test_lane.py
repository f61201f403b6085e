"""What a lane promises beyond telling faults apart: bounds, spares, its fork server's death, and leaving nothing."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.isolation import Lane, LaneOptions, server
from cubisect.isolation.deadline import Allowance
from cubisect.isolation.hang import ProcessState
from cubisect.outcome import HangKind, Outcome, Phase, classify
from cubisect.space import Point
from cubisect.trial import TrialSpec
from support.faulty import Fault, trial
from support.processes import marked, wait_until

MakeLane = Callable[..., Lane]


def server_pid(lane: Lane) -> int:
    """Return the process id of the lane's fork server."""
    assert lane._server is not None
    return lane._server.pid


def test_a_lane_runs_the_simulated_driver_as_it_is(make_lane: MakeLane) -> None:
    lane = make_lane("sim:vllm-49276")
    fine = lane.run(TrialSpec.at(Point(descriptor_count=20_000, total_bytes=20_000 * 128)), 5.0)
    broken = lane.run(TrialSpec.at(Point(descriptor_count=51_828, total_bytes=1 << 30)), 5.0)
    assert classify(fine).outcome is Outcome.OK
    assert classify(broken).outcome is Outcome.SEGFAULT
    assert broken.crash is not None
    assert "null_dereference" in (broken.crash.python_stack or "")


def test_output_is_kept_up_to_a_bound(lane: Lane) -> None:
    began = time.monotonic()
    seen = lane.run(trial(Fault.FLOOD), 20.0)
    assert classify(seen).outcome is Outcome.OK
    assert len(seen.output_tail) == server.OUTPUT_TAIL_BYTES
    assert set(seen.output_tail) == {"x"}
    assert time.monotonic() - began < 5.0


def test_an_exception_in_the_driver_says_where(lane: Lane) -> None:
    seen = lane.run(trial(Fault.RAISE), 5.0)
    assert "ZeroDivisionError" in classify(seen).reason
    assert "Traceback" in seen.output_tail


def test_megabytes_of_descriptors_travel(lane: Lane) -> None:
    ramp = np.arange(200_000, dtype=np.int64) * 7919 % 1_000_003
    spec = TrialSpec.at(Point(), descriptors=Descriptors(ramp, ramp[::-1].copy(), ramp + 1))
    assert classify(lane.run(spec, 20.0)).outcome is Outcome.OK


def test_a_trial_leaves_no_descriptor_behind(lane: Lane) -> None:
    lane.run(trial(Fault.NONE), 5.0)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for fault in (Fault.NONE, Fault.SEGFAULT, Fault.EXIT_3, Fault.DAEMON, Fault.GARBAGE):
        lane.run(trial(fault), 5.0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_memory_limit_is_kept(make_lane: MakeLane) -> None:
    lane = make_lane(options=LaneOptions(memory_limit_bytes=256 << 20))
    seen = lane.run(trial(Fault.OUT_OF_MEMORY), 5.0)
    assert "MemoryError" in classify(seen).reason


def test_a_driver_that_cannot_be_loaded_is_an_input_error(make_lane: MakeLane) -> None:
    with pytest.raises(InputError, match="unknown fault model"):
        make_lane("sim:nonsense").run(TrialSpec.at(Point()), 5.0)


def test_hang_evidence_tells_where_python_is(make_lane: MakeLane) -> None:
    lane = make_lane(options=LaneOptions())
    seen = lane.run(trial(Fault.LOCK, repetition=2), 0.3)
    assert seen.hang is not None
    assert seen.hang.kind is HangKind.BLOCKED
    assert seen.hang.cpu_share < 0.2
    assert "_lock" in (seen.hang.python_stack or "")
    assert "futex" in (seen.hang.wait_channel or "futex")
    assert (seen.phase, seen.repetition) == (Phase.SUBMIT, 2)
    assert seen.wall_s < 10.0


def test_a_process_that_is_dying_at_its_deadline_does_not_hang(
    make_lane: MakeLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cubisect.isolation.lane.process_state", lambda _: ProcessState("D", 0x4))
    seen = make_lane().run(trial(Fault.SPIN), 0.1)
    assert (seen.timed_out, seen.killed_by_us, seen.hang) == (False, False, None)


def test_a_process_that_cannot_be_killed_is_recorded(make_lane: MakeLane, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = make_lane()
    with monkeypatch.context() as deaf:
        deaf.setattr(server.Child, "kill", lambda _: None)
        deaf.setattr("cubisect.isolation.lane.DYING_LIMIT_S", 0.2)
        seen = lane.run(trial(Fault.SPIN), 0.2)
    assert seen.hang is not None
    assert seen.hang.kind is HangKind.UNINTERRUPTIBLE
    assert classify(seen).outcome is Outcome.HANG
    assert len(lane.unkillable) == 1
    assert classify(lane.run(trial(Fault.NONE), 5.0)).outcome is Outcome.OK


# -- the fork server ---------------------------------------------------------------------------------------------------


def test_a_killed_fork_server_is_replaced(make_lane: MakeLane) -> None:
    lane = make_lane()
    lane.run(trial(Fault.NONE), 5.0)
    first = server_pid(lane)
    os.kill(first, signal.SIGKILL)
    lost = lane.run(trial(Fault.NONE), 5.0)
    again = lane.run(trial(Fault.NONE), 5.0)
    assert "fork server" in (lost.infrastructure or "")
    assert classify(again).outcome is Outcome.OK
    assert server_pid(lane) != first


def test_a_stopped_fork_server_is_replaced(make_lane: MakeLane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ANSWER_LIMIT_S", 0.5)
    monkeypatch.setattr("cubisect.isolation.lane.ANSWER_LIMIT_S", 0.5)
    lane = make_lane()
    lost = lane.run(trial(Fault.SERVER_STOP), 0.5)
    again = lane.run(trial(Fault.NONE), 5.0)
    assert "fork server" in (lost.infrastructure or "")
    assert not lane.unkillable
    assert classify(again).outcome is Outcome.OK


def test_a_daemon_does_not_outlive_its_killed_fork_server(make_lane: MakeLane) -> None:
    lane = make_lane()
    lane.run(trial(Fault.NONE), 5.0)
    assert lane._server is not None
    mark = lane._server._mark
    child = lane._server.fork(0)
    child.assign({"role": "trial", "spec": trial(Fault.DAEMON_THEN_SLEEP).to_json(), "rank": 0, "ranks": 1})
    assert wait_until(lambda: len(marked(mark)) == 3, 5.0)
    os.kill(server_pid(lane), signal.SIGKILL)
    lane.close()
    child.close()
    assert wait_until(lambda: not marked(mark), 2.0)


def test_fork_servers_are_replaced_now_and_then(make_lane: MakeLane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cubisect.isolation.lane.TRIALS_PER_SERVER", 2)
    lane = make_lane()
    pids = []
    for _ in range(4):
        lane.run(trial(Fault.NONE), 5.0)
        pids.append(server_pid(lane))
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_closing_ends_everything(make_lane: MakeLane) -> None:
    lane = make_lane(options=LaneOptions(spares=2))
    lane.run(trial(Fault.NONE), 5.0)
    assert lane._server is not None
    mark = lane._server._mark
    assert wait_until(lambda: len(marked(mark)) >= 3, 2.0)  # a trial may end before its spares have begun
    lane.close()
    assert not marked(mark)


# -- spares ------------------------------------------------------------------------------------------------------------


def test_each_spare_is_used_once(make_lane: MakeLane) -> None:
    lane = make_lane(options=LaneOptions(spares=2))
    lane.run(trial(Fault.NONE), 5.0)
    for _ in range(3):
        ahead = list(lane._spares)  # a fork server tells the process id later than it forks
        assert len(ahead) == 2
        assert classify(lane.run(trial(Fault.NONE), 5.0)).outcome is Outcome.OK
        assert lane._spares[0] is ahead[1]
        assert ahead[0].pid > 0
        assert not Path(f"/proc/{ahead[0].pid}").exists()


def test_a_dead_spare_is_passed_over(make_lane: MakeLane) -> None:
    lane = make_lane(options=LaneOptions(spares=1))
    lane.run(trial(Fault.NONE), 5.0)
    lane._spares[0].kill()
    time.sleep(0.1)
    assert classify(lane.run(trial(Fault.NONE), 5.0)).outcome is Outcome.OK


def test_strays_are_found_beside_spares(make_lane: MakeLane) -> None:
    lane = make_lane(options=LaneOptions(spares=2, native_stacks=False))
    seen = lane.run(trial(Fault.SEGFAULT_WITH_DAEMON), 5.0)
    assert (seen.stray_processes, classify(seen).outcome) == (1, Outcome.SEGFAULT)


def test_a_device_that_cannot_be_used_is_no_finding() -> None:
    with Lane("driver:support.faulty:Faulty", gpu=7) as lane:
        assert "out of order" in classify(lane.run(trial(Fault.NONE), 5.0)).reason


def test_dying_while_warming_up_is_our_trouble() -> None:
    with Lane("driver:support.faulty:Faulty", gpu=6) as lane:
        assert "warming up" in (lane.run(trial(Fault.NONE), 5.0).infrastructure or "")


# -- neighbours --------------------------------------------------------------------------------------------------------


def test_neighbours_stay_between_trials_that_want_them(make_lane: MakeLane) -> None:
    lane = make_lane()
    seen = lane.run(trial(Fault.NONE, neighbours=2), 5.0)
    assert classify(seen).outcome is Outcome.OK
    assert lane._neighbours is not None
    first = [child.pid for child in lane._neighbours._children]
    assert len(first) == 2
    lane.run(trial(Fault.NONE, neighbours=2), 5.0)
    assert [child.pid for child in lane._neighbours._children] == first
    lane.run(trial(Fault.NONE), 5.0)
    assert not any(Path(f"/proc/{pid}").exists() for pid in first)


def test_neighbours_are_restarted_after_a_failure(make_lane: MakeLane) -> None:
    lane = make_lane()
    lane.run(trial(Fault.SEGFAULT, neighbours=1), 5.0)
    assert lane._neighbours is not None
    assert not lane._neighbours._children


@pytest.mark.parametrize(("kind", "fault"), [("memsets", Fault.NONE), ("batches", Fault.SLEEP)])
def test_a_dead_neighbour_spoils_the_trial(make_lane: MakeLane, kind: str, fault: Fault) -> None:
    lane = make_lane()
    seen = lane.run(trial(fault, neighbours=1, neighbour_kind=kind), 5.0)
    assert "neighbour" in (seen.infrastructure or "")
    assert seen.wall_s < 3.0


# -- ranks -------------------------------------------------------------------------------------------------------------

FOUR = LaneOptions(gpus=(0, 1, 2, 3), native_stacks=False)


def test_ranks_start_together_on_their_own_gpus(make_lane: MakeLane) -> None:
    seen = make_lane(options=FOUR).run(trial(Fault.NONE, ranks=4, repetition=5), 10.0)
    assert classify(seen).outcome is Outcome.OK
    assert [rank.repetition for rank in seen.ranks] == [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(Fault.SLEEP, Outcome.HANG), (Fault.SEGFAULT, Outcome.SEGFAULT), (Fault.ERROR, Outcome.ERROR)],
)
def test_only_the_rank_that_failed_is_blamed(make_lane: MakeLane, fault: Fault, outcome: Outcome) -> None:
    """The last of four ranks fails in its second of three submissions; the others wait for it in vain."""
    lane = make_lane(options=FOUR)
    lane.run(trial(Fault.NONE), 10.0)
    deadline_s = 1.5
    spec = trial(fault, ranks=4, repetition=3)
    seen = lane.run(spec, deadline_s)
    verdict = classify(seen)
    assert (verdict.outcome, verdict.rank) == (outcome, 3)
    assert [classify(rank).outcome for rank in seen.ranks[:3]].count(outcome) == 0
    assert seen.wall_s < deadline_s + 1.0
    assert len(seen.ranks) == 4


def test_ranks_share_when_there_are_fewer_gpus(make_lane: MakeLane) -> None:
    seen = make_lane("sim:null", LaneOptions()).run(TrialSpec.at(Point(ranks=3)), 10.0)
    assert classify(seen).outcome is Outcome.OK
    assert len(seen.ranks) == 3


@pytest.mark.parametrize(
    ("phase", "outcome", "part"),
    [
        (Phase.SETUP, Outcome.INCONCLUSIVE, "set-up"),
        (Phase.SUBMIT, Outcome.HANG, "submission"),
        (Phase.SYNC, Outcome.HANG, "submission"),
        (Phase.VERIFY, Outcome.INCONCLUSIVE, "verification"),
    ],
)
def test_a_hang_is_told_from_a_slow_set_up(lane: Lane, phase: Phase, outcome: Outcome, part: str) -> None:
    """Only the part that is late has little time here, so it is its own time that is up."""
    allowed = {"setup_s": 20.0, "submit_s": 20.0, "verify_s": 20.0} | {_FIELD[part]: 0.25}
    allowance = Allowance(**allowed)
    seen = lane.run(trial(Fault.SLEEP, phase), allowance.total_s, allowance)
    verdict = classify(seen)
    assert verdict.outcome is outcome
    assert verdict.reason.startswith(f"{part} not finished in the 0.25 s allowed for it, blocked, in phase")
    assert seen.allowed_s == allowance.by_part()
    assert seen.wall_s < 5.0


_FIELD = {"set-up": "setup_s", "submission": "submit_s", "verification": "verify_s"}


def test_a_rank_that_waits_for_a_slow_one_uses_up_no_time_of_its_own(make_lane: MakeLane) -> None:
    allowance = Allowance(setup_s=0.3, submit_s=20.0, verify_s=20.0)
    seen = make_lane(options=FOUR).run(trial(Fault.SLEEP, Phase.SETUP, ranks=2), allowance.total_s, allowance)
    assert [rank.timed_out for rank in seen.ranks] == [False, True]
    assert classify(seen).outcome is Outcome.INCONCLUSIVE
