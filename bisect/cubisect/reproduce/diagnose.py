"""Run a failing trial again under a debugger: where exactly does it fault, and where does every thread hang?"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from cubisect.errors import UnfitEnvironmentError
from cubisect.isolation.neighbours import NeighbourLostError, Neighbours
from cubisect.isolation.server import ForkServer, ServerLostError
from cubisect.outcome import Outcome
from cubisect.reproduce.backtrace import Backtraces, parse
from cubisect.reproduce.case import Case

DEBUGGERS = ("gdb", "cuda-gdb")

CALLING = b"phase submit"
"""What the trial prints before its first submission: the deadline counts from here."""

START_S, POLL_S = 120.0, 0.05
"""Seconds that a debugger may take to load Python and its libraries; seconds between looks."""

ANSWER_S = 60.0
"""Seconds that the debugger has for its backtraces once the process has stopped."""

_COMMANDS = (
    "set confirm off", "set pagination off", "set debuginfod enabled off", "set print frame-arguments none",
    "set disable-randomization on", "run", "info proc mappings", "thread apply all p/x $pc", "thread apply all bt 40",
    "kill",
)  # fmt: skip


@dataclass(frozen=True)
class Diagnosis:
    """What the debugger saw. `frames` are those of the faulting (or the hanging, main) thread, without the caller."""

    hung: bool
    backtraces: Backtraces
    output: str

    @property
    def frames(self) -> tuple[str, ...]:
        """Module and offset, innermost first, as they go into a signature; empty when the trial did not fail."""
        return self.backtraces.faulting() if self.hung or self.backtraces.signal else ()

    @property
    def answer(self) -> str:
        """One sentence for people."""
        if not self.hung and self.backtraces.signal is None:
            return "It did not fail under the debugger this time; try again, or with --times 10."
        what = "hangs" if self.hung else f"is stopped by {self.backtraces.signal}"
        return f"It {what} in {' ← '.join(self.frames) or 'an unknown place'}."


def find_debugger(which: Callable[[str], str | None] = shutil.which) -> str:
    """Return the path of a debugger.

    Raises:
        UnfitEnvironmentError: there is none; the message says what to install.
    """
    for name in DEBUGGERS:
        path = which(name)
        if path is not None:
            return path
    raise UnfitEnvironmentError(
        "no debugger here: `bisect diagnose` needs gdb or cuda-gdb; type `apt-get install gdb` or `dnf install gdb`"
    )


def diagnose(case: Case, *, timeout_s: float = 60.0, debugger: str | None = None) -> Diagnosis:
    """Run the case once under the debugger; `timeout_s` after its first submission it counts as hanging.

    Raises:
        UnfitEnvironmentError: there is no debugger, it cannot start the process, or the trial's neighbours cannot run.
    """
    program = debugger or find_debugger()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"
        file.write_text(json.dumps(case.to_json()), encoding="utf-8")
        log = Path(folder) / "output"
        with _beside(case):
            hung = _debugged([*_debugger_command(program), *_trial_command(file)], timeout_s, log)
        output = log.read_text(encoding="utf-8", errors="replace")
    if "phase setup" not in output:
        raise UnfitEnvironmentError(f"the trial could not be run under {Path(program).name}: {_last_words(output)}")
    return Diagnosis(hung, parse(output), output)


@contextlib.contextmanager
def _beside(case: Case) -> Iterator[None]:
    """Keep the trial's neighbours busy meanwhile: many faults need them."""
    if not case.spec.neighbours:
        yield
        return
    try:
        with ForkServer(case.driver) as server:
            neighbours = Neighbours(server)
            try:
                neighbours.provide(case.spec, [case.spec.gpu])
                yield
            finally:
                neighbours.forget()  # they end with their fork server
    except (NeighbourLostError, ServerLostError) as lost:
        raise UnfitEnvironmentError(f"neighbours {case.spec.neighbours}: {lost}; see `bisect doctor`") from lost


def _last_words(output: str) -> str:
    """Return the last line that the trial, not the debugger, printed before it ended."""
    lines = [line for line in output.partition("[Inferior 1")[0].splitlines() if line.strip() and line[0] != "["]
    return lines[-1] if lines else "no output"


def outcome_seen(diagnosis: Diagnosis) -> Outcome | None:
    """Return the outcome that the debugger's view amounts to, None when it saw none."""
    if diagnosis.hung:
        return Outcome.HANG
    stopped = diagnosis.backtraces.signal
    return None if stopped is None else Outcome.SEGFAULT if stopped == "SIGSEGV" else Outcome.CRASH


def _debugger_command(program: str) -> list[str]:
    return [program, "-batch", "-nx", *(word for command in _COMMANDS for word in ("-ex", command)), "--args"]


def _trial_command(file: Path) -> list[str]:
    return [sys.executable, "-m", "cubisect.reproduce.cold", str(file)]


def _debugged(command: Sequence[str], timeout_s: float, output: Path) -> bool:
    """Run the debugger; return whether the trial had to be interrupted. Nothing is left running."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C"}
    with output.open("wb") as file, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            end = time.monotonic() + START_S
            while process.poll() is None and CALLING not in output.read_bytes() and time.monotonic() < end:
                time.sleep(POLL_S)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout_s)
                return False
            hung = CALLING in output.read_bytes() and _interrupt_children(process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ANSWER_S)
            return hung
        finally:
            if process.poll() is None:
                _kill_all(process.pid)


def _interrupt_children(debugger: int) -> bool:
    children = psutil.Process(debugger).children(recursive=True)
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.send_signal(signal.SIGINT)
    return bool(children)


def _kill_all(debugger: int) -> None:
    parent = psutil.Process(debugger)
    for process in (*parent.children(recursive=True), parent):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
