"""What the tests of drivers share: a progress page in memory, and trials in processes that may die."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cubisect.outcome import Phase
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec


@dataclass
class Steps:
    """A progress page that remembers every step."""

    steps: list[tuple[str, int]] = field(default_factory=list)

    def enter(self, phase: Phase, repetition: int = 0) -> None:
        assert isinstance(phase, Phase)
        self.steps.append((phase.label, repetition))


@dataclass
class Line:
    """A barrier that counts."""

    waits: int = 0

    def wait(self) -> None:
        self.waits += 1


CHILD = """
import json, sys
from dataclasses import asdict
from cubisect import drivers
from cubisect.trial import Method, TrialSpec
class Steps:
    def enter(self, phase, repetition=0):
        print(phase.label, repetition, flush=True)
driver = drivers.load(sys.argv[1])
spec = TrialSpec.from_json(json.loads(sys.argv[2]))
driver.warm_up(spec.gpu)
print("report", json.dumps(asdict(driver.run(spec, Steps()))))
"""


@dataclass(frozen=True)
class Ended:
    """How a trial in a process of its own ended."""

    returncode: int | None
    steps: list[tuple[str, int]]
    report: dict[str, Any] | None
    stderr: str
    cpu_s: float


def run_in_child(driver: str, spec: TrialSpec, timeout_s: float = 30.0, env: Mapping[str, str] | None = None) -> Ended:
    """Run one trial in a fresh process; `returncode` None means that it was still running after `timeout_s`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", CHILD, driver, json.dumps(spec.to_json())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = out.splitlines()
    report = next((json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("report ")), None)
    steps = [(a, int(b)) for a, b in (line.split() for line in lines if not line.startswith("report "))]
    return Ended(code, steps, report, err, after.ru_utime - before.ru_utime)


def trial_at(*, seed: int = 1, run_seed: int = 1, method: str = "batch", **values: Any) -> TrialSpec:
    """Return the trial at a point that differs from the default as told."""
    return TrialSpec.at(Point.of(values), seed=seed, run_seed=run_seed, method=Method(method))


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def trial() -> Callable[..., TrialSpec]:
    return trial_at


@pytest.fixture
def in_child() -> Callable[..., Ended]:
    return run_in_child
