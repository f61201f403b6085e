"""Nothing is left behind: after hundreds of deaths, after thousands of trials, after the harness itself is killed."""

import gc
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cubisect.isolation import Lane, LaneOptions
from support.fault_cases import CASES, Case
from support.faulty import Fault, Faulty, trial
from support.processes import marked, wait_until

GONE_LIMIT_S = 2.0
"""How long after the harness's death anything of it may live."""

HARNESS = """
import random, sys
from cubisect.engines.base import Job
from cubisect.engines.local import LocalEngine
from cubisect.isolation import LaneOptions
from support.faulty import Fault, trial
engine = LocalEngine("driver:support.faulty:Faulty", lanes=2, timeout_s=0.3, options=LaneOptions(spares=1))
chance = random.Random(int(sys.argv[1]))
faults = [Fault.NONE, Fault.SEGFAULT, Fault.SPIN, Fault.SLEEP, Fault.DAEMON, Fault.SIGNALS_BLOCKED, Fault.ORPHAN]
for key in range(2):
    engine.submit(Job(key=key, spec=trial(Fault.NONE)))
print("running", flush=True)
for key in range(2, 100000):
    while engine.next_result(1.0) is None:
        pass
    engine.submit(Job(key=key, spec=trial(chance.choice(faults), neighbours=chance.choice([0, 0, 1]))))
"""


def kill_a_harness_at_random(seed: int) -> None:
    """Start a harness of two lanes, kill it at a random instant, and assert that nothing of it lives on."""
    mark = f"SOAK_MARK={os.getpid()}-{seed}"
    environment = {**os.environ, **dict([mark.split("=")]), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", HARNESS, str(seed)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "running\n"
        time.sleep(random.Random(seed).uniform(0.0, 1.5))
        harness.kill()
        harness.wait()
        assert wait_until(lambda: not marked(mark), GONE_LIMIT_S), marked(mark)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_outlives_a_killed_harness(seed: int) -> None:
    kill_a_harness_at_random(seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_nothing_outlives_a_hundred_killed_harnesses() -> None:
    for seed in range(100, 200):
        kill_a_harness_at_random(seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_six_hundred_deaths_are_each_seen_for_what_they_are() -> None:
    """Every kind of fault in random order on one lane; after each, an ok trial must find the lane clean."""
    chance = random.Random(20261201)
    deadly = [case for case in CASES if case.fault not in {Fault.NONE, Fault.ERROR, Fault.THREAD}]
    wrong: list[str] = []
    with Lane(Faulty.name, options=LaneOptions(native_stacks=False)) as lane:
        for _ in range(600):
            case = chance.choice(deadly)
            wrong += _misclassified(lane, case)
            wrong += _misclassified(lane, CASES[0])
        assert lane._server is not None
        mark = lane._server._mark
    assert not wrong
    assert not marked(mark)


def _misclassified(lane: Lane, case: Case) -> list[str]:
    seen = lane.run(trial(case.fault), case.deadline_s)
    try:
        case.check(seen)
    except AssertionError as error:
        return [f"{case.fault.name}: {error!r} {seen}"]
    return []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_thousand_trials_leak_nothing() -> None:
    """No descriptor, and no memory: the parent's resident size stays flat after the first hundred trials."""
    faults = [Fault.NONE, Fault.NONE, Fault.SEGFAULT, Fault.EXIT_3, Fault.GARBAGE, Fault.DAEMON]
    with Lane(Faulty.name, options=LaneOptions(spares=1, native_stacks=False)) as lane:
        sizes = []
        for number in range(2000):
            lane.run(trial(faults[number % len(faults)]), 5.0)
            if number in {100, 1999}:
                gc.collect()
                sizes.append((len(list(Path("/proc/self/fd").iterdir())), _resident_bytes()))
    (descriptors, resident), (descriptors_then, resident_then) = sizes
    assert descriptors_then == descriptors
    assert resident_then - resident < 4 << 20


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
