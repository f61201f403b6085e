"""Judging a hang: the table, and real processes."""

import subprocess
import sys

import pytest

from cubisect.isolation.hang import Activity, activity_of, hang_kind, process_state
from cubisect.outcome import HangKind
from support.processes import wait_until

IDLE = Activity(0.0, 0)

CASES = [
    ("R", [Activity(1.0, 0)], HangKind.SPINNING),
    ("R", [Activity(0.4, 0)], HangKind.SPINNING),  # one that hardly gets a CPU
    ("S", [IDLE, Activity(0.9, 1)], HangKind.SPINNING),
    ("S", [Activity(0.02, 40)], HangKind.POLLING),
    ("S", [Activity(0.9, 20)], HangKind.POLLING),  # one that waits for a CPU after every nap
    ("S", [Activity(0.02, 40), Activity(1.0, 0)], HangKind.SPINNING),
    ("S", [IDLE], HangKind.BLOCKED),
    ("S", [], HangKind.BLOCKED),
    ("S", [Activity(0.001, 2)], HangKind.BLOCKED),
    ("D", [IDLE], HangKind.UNINTERRUPTIBLE),
    ("T", [IDLE], HangKind.STOPPED),
    ("t", [IDLE], HangKind.STOPPED),
]


@pytest.mark.parametrize(("letter", "threads", "kind"), CASES)
def test_the_table(letter: str, threads: list[Activity], kind: HangKind) -> None:
    assert hang_kind(letter, threads) is kind


def test_a_process_that_is_gone_is_exiting_and_idle() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    assert process_state(process.pid).exiting
    assert activity_of(process.pid, 0.001) == []


def test_a_zombie_is_exiting_and_a_sleeper_is_not() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert not process_state(process.pid).exiting
        process.kill()
        assert wait_until(lambda: process_state(process.pid).letter == "Z", 5.0)
        assert process_state(process.pid).exiting
