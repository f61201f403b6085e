"""Frames of faults and hangs, seen by a real debugger on simulated faults that are enacted for real."""

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from cubisect.errors import UnfitEnvironmentError
from cubisect.isolation.neighbours import NeighbourLostError
from cubisect.outcome import Outcome
from cubisect.reproduce.backtrace import parse
from cubisect.reproduce.case import Case
from cubisect.reproduce.diagnose import _beside, diagnose, find_debugger, outcome_seen
from cubisect.space import Point
from cubisect.trial import TrialSpec

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")


def case(driver: str, **values: Any) -> Case:
    spec = TrialSpec.at(Point.of(values))
    return Case(spec=spec, driver=driver, simulated=True, outcome=Outcome.SEGFAULT)


@needs_gdb
def test_segfault_is_located() -> None:
    found = diagnose(case("sim:threshold", descriptor_count=50_000))
    assert outcome_seen(found) is Outcome.SEGFAULT
    assert found.frames, found.output
    assert found.frames[0].startswith("libc")
    assert "SIGSEGV in libc" in found.answer


@needs_gdb
@pytest.mark.slow  # a debugger takes several seconds to load Python
def test_hang_is_interrupted_and_located() -> None:
    before = {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)}
    many = {"descriptor_count": 100_000, "repetition": 40}
    found = diagnose(case("sim:accumulation", **many), timeout_s=3.0)
    assert outcome_seen(found) is Outcome.HANG
    assert found.frames[0].startswith("libc")
    assert found.backtraces.signal == "SIGINT"
    assert {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)} <= before


@needs_gdb
@pytest.mark.slow  # a debugger takes several seconds to load Python
def test_passing_trial_says_so() -> None:
    found = diagnose(case("sim:null"))
    assert outcome_seen(found) is None
    assert found.frames == ()
    assert "did not fail" in found.answer


@needs_gdb
@pytest.mark.slow
def test_driver_that_cannot_start() -> None:
    with pytest.raises(UnfitEnvironmentError, match="unknown fault model"):
        diagnose(case("sim:nothing-like-it"))


def test_neighbours_are_busy_under_the_debugger_and_end_with_it(tmp_path: Path) -> None:
    """The debugger here is a script that counts its siblings: the neighbours and the fork server of `diagnose`."""
    debugger = tmp_path / "gdb"
    debugger.write_text(
        f"#!{sys.executable}\nimport psutil\n"
        "family = psutil.Process(psutil.Process().ppid()).children(recursive=True)\n"
        "print('phase setup')\nprint('phase submit')\n"
        "commands = [p.as_dict(['cmdline'])['cmdline'] or () for p in family]  # one may just have ended\n"
        "print('neighbours', sum('zygote' in ' '.join(command) for command in commands) - 1)\n"
    )
    debugger.chmod(0o755)
    before = {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)}
    found = diagnose(case("sim:null", neighbours=2), debugger=str(debugger))
    assert "neighbours 2" in found.output
    assert {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)} <= before


def test_neighbours_that_cannot_run_are_no_finding() -> None:
    with pytest.raises(UnfitEnvironmentError, match="neighbours 1: "), _beside(case("sim:null", neighbours=1)):
        raise NeighbourLostError("a neighbour process was killed by SIGKILL")


def test_without_a_debugger_the_message_says_what_to_install() -> None:
    with pytest.raises(UnfitEnvironmentError, match="apt-get install gdb"):
        find_debugger(lambda _: None)


OUTPUT = """
Thread 1 "python" received signal SIGSEGV, Segmentation fault.
          Start Addr           End Addr       Size     Offset  Perms  objfile
            0x400000           0x500000   0x100000        0x0  r-xp   /usr/bin/python3.11
      0x7f0000000000     0x7f0000100000   0x100000        0x0  r--p   /usr/lib/libcuda.so.580.1
      0x7f0000100000     0x7f0000200000   0x100000   0x100000  r-xp   /usr/lib/libcuda.so.580.1

Thread 2 (Thread 0x1 (LWP 5) "cuda"):
$1 = (void (*)(void)) 0x7f0000000abc

Thread 1 (Thread 0x2 (LWP 4) "python"):
$2 = (void (*)(void)) 0x7f0000123456 <inner>

Thread 2 (Thread 0x1 (LWP 5) "cuda"):
#0  poll () at poll.c:5

Thread 1 (Thread 0x2 (LWP 4) "python"):
#0  inner (...) at x.c:1
#1  inlined (...)
#2  0x00007f0000100010 in ?? () from /usr/lib/libcuda.so.580.1
#3  0x0000000000401000 in main ()
#4  0x0000000000401001 in ?? ()
"""


def test_parsing() -> None:
    found = parse(OUTPUT)
    assert found.signal == signal.SIGSEGV.name
    assert found.faulting() == ("libcuda.so.580.1+0x123456", "libcuda.so.580.1+0x100010")
    assert [frame.place for frame in found.threads[2]] == ["libcuda.so.580.1+0xabc"]
    assert found.threads[1][0].function == "inner"
