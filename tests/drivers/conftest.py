"""What the tests of drivers share: a progress page in memory, and trials in processes that may die."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cubisect import drivers
from cubisect.outcome import DriverReport, Phase
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
    """A barrier that notes every wait among the steps."""

    steps: list[tuple[str, int]] = field(default_factory=list)

    def wait(self) -> None:
        self.steps.append(("wait", 0))


CHILD = """
import json, sys
from dataclasses import asdict
from cubisect import drivers
from cubisect.drivers.base import SetupError
from cubisect.trial import TrialSpec
class Steps:
    def enter(self, phase, repetition=0):
        print("step", phase.label, repetition, flush=True)
class Line:
    def wait(self):
        print("step wait 0", flush=True)
driver = drivers.load(sys.argv[1])
barrier = sys.argv[2] == "barrier"
for packed in json.load(sys.stdin):
    spec = TrialSpec.from_json(packed)
    try:
        driver.warm_up(spec.gpu)
        print("report", json.dumps(asdict(driver.run(spec, Steps(), Line() if barrier else None))), flush=True)
    except SetupError as error:
        print("unfit", error, flush=True)
"""


@dataclass
class Ended:
    """How trials in a process of their own ended.

    `returncode` None means that it had not ended; `state` is then the kernel's letter: R running, S sleeping.
    """

    returncode: int | None = None
    steps: list[tuple[str, int]] = field(default_factory=list)
    reports: list[DriverReport] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)
    state: str | None = None

    @property
    def report(self) -> DriverReport:
        """The only report."""
        assert len(self.reports) == 1, (self.returncode, self.unfit)
        return self.reports[0]


HANG_S = 0.5
"""How long a process must stay where it is to count as hanging; its start does not count."""


def run_in_child(
    driver: str,
    specs: TrialSpec | Sequence[TrialSpec],
    *,
    hangs_in: str | None = None,
    env: Mapping[str, str] | None = None,
    barrier: bool = False,
) -> Ended:
    """Run trials, one after the other, in a fresh process; waits at a barrier are steps called ``wait``.

    With `hangs_in`, a step such as ``submit 3``, the process is killed half a second after it, if it still runs.
    """
    chosen = [specs] if isinstance(specs, TrialSpec) else specs
    ended = Ended()
    packed = json.dumps([spec.to_json() for spec in chosen])
    command = [sys.executable, "-c", CHILD, driver, "barrier" if barrier else "alone"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(packed)
        process.stdin.close()
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if hangs_in is not None and lines[-1] == f"step {hangs_in}":
                time.sleep(HANG_S)
                ended.state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
                ended.returncode = process.poll()
                process.kill()
    if hangs_in is None:
        ended.returncode = process.returncode
    for kind, _, rest in (line.partition(" ") for line in lines):
        match kind:
            case "step":
                label, number = rest.split()
                ended.steps.append((label, int(number)))
            case "report":
                ended.reports.append(DriverReport(**json.loads(rest)))
            case "unfit":
                ended.unfit.append(rest)
    return ended


def run_here(driver: str, specs: TrialSpec | Sequence[TrialSpec], *, barrier: bool = False) -> Ended:
    """Run trials that end well in this process, with a simulated driver."""
    loaded = drivers.load(driver)
    ended = Ended(returncode=0)
    for spec in [specs] if isinstance(specs, TrialSpec) else specs:
        loaded.warm_up(spec.gpu)
        line = Line(ended.steps) if barrier else None
        ended.reports.append(loaded.run(spec, Steps(ended.steps), line))
    return ended


def trial_at(*, seed: int = 1, run_seed: int = 1, method: str = "batch", **values: Any) -> TrialSpec:
    """Return the trial at a point that differs from the default as told."""
    return TrialSpec.at(Point.of(values), seed=seed, run_seed=run_seed, method=Method(method))


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture(scope="session")
def trial() -> Callable[..., TrialSpec]:
    return trial_at


@pytest.fixture(scope="session")
def in_child() -> Callable[..., Ended]:
    return run_in_child


@pytest.fixture(scope="session")
def here() -> Callable[..., Ended]:
    return run_here
