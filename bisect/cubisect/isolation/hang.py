"""What a process is doing when its deadline has passed: read from the kernel, from Python and from a debugger.

Everything here is bounded: `observe` never takes longer than `OBSERVE_LIMIT_S`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cubisect.isolation.gpu_core import CORE_LIMIT_S, GpuCores
from cubisect.isolation.server import Child
from cubisect.outcome import HangEvidence, HangKind

WINDOW_S = 0.05
"""Two samples this far apart tell spinning from waiting."""

SPINNING_SHARE, POLLING_SLEEPS = 0.3, 3
"""A thread that goes to sleep so often within the window polls; one that does not, and was on a CPU or in line for one
for so much of it, spins. Waiting in line counts, for a spinning process on a loaded machine may get little of a CPU;
that is also why the share alone cannot tell a poller (it waits in line after every nap) from a spinner."""

PYTHON_STACK_S = 0.1
"""faulthandler answers within 0.2 ms, unless the process is stopped."""

NATIVE_STACK_S = 5.0
"""A debugger takes 0.05 to 0.5 s, and for ever on a process in uninterruptible sleep."""

OBSERVE_LIMIT_S = WINDOW_S + PYTHON_STACK_S + 2 * NATIVE_STACK_S + CORE_LIMIT_S + 1.0

_EXITING = 0x4
"""PF_EXITING of the kernel's process flags."""

NATIVE_STACK_CHARACTERS = 16 << 10

GpuUtilisation = Callable[[int], float | None]
"""Share of the last moments in which the GPU was busy, 0 to 1; None where nobody knows."""


@dataclass(frozen=True)
class ProcessState:
    """State letter and flags of a process, as the kernel tells them."""

    letter: str
    flags: int

    @property
    def exiting(self) -> bool:
        """Whether it is on its way out: dying takes seconds with gigabytes of pinned memory, and is no hang."""
        return bool(self.flags & _EXITING) or self.letter in "ZX"


def process_state(pid: int) -> ProcessState:
    """Return the state of a process; a vanished one is exiting."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ProcessState("X", _EXITING)
    rest = text[text.rindex(")") + 2 :].split()
    return ProcessState(rest[0], int(rest[6]))


def observe(
    child: Child, gpu_utilisation: GpuUtilisation, *, native_stacks: bool = True, gpu_cores: GpuCores | None = None
) -> HangEvidence:
    """Return what the process is doing. It goes on doing it: nothing is ended here."""
    activity = activity_of(child.pid)
    state = process_state(child.pid)
    utilisation = gpu_utilisation(child.gpu)
    core = gpu_cores.trigger(child.pid) if gpu_cores is not None else None
    kind = hang_kind(state.letter, activity)
    return HangEvidence(
        kind=kind,
        cpu_share=round(max((thread.share for thread in activity), default=0.0), 3),
        wait_channel=_wait_channel(child.pid),
        python_stack=_python_stack(child),
        native_stack=native_stack(child.pid) if native_stacks and kind is not HangKind.UNINTERRUPTIBLE else None,
        gpu_utilisation=utilisation,
        gpu_core=None if core is None else str(core),
    )


@dataclass(frozen=True)
class Activity:
    """What a thread did in a short window: the share of it on a CPU or in line for one, and how often it slept."""

    share: float
    sleeps: int


def hang_kind(letter: str, threads: Sequence[Activity]) -> HangKind:
    """Return what the state letter of the process and the activity of its threads mean."""
    if letter in "Tt":
        return HangKind.STOPPED
    if any(thread.share >= SPINNING_SHARE and thread.sleeps < POLLING_SLEEPS for thread in threads):
        return HangKind.SPINNING
    if any(thread.sleeps >= POLLING_SLEEPS for thread in threads):
        return HangKind.POLLING
    return HangKind.UNINTERRUPTIBLE if letter == "D" else HangKind.BLOCKED


def activity_of(pid: int, window_s: float = WINDOW_S) -> list[Activity]:
    """Return what each thread of the process does in a short window from now."""
    before, start = _scheduled(pid), time.monotonic()
    time.sleep(window_s)
    after, elapsed_ns = _scheduled(pid), (time.monotonic() - start) * 1e9
    return [
        Activity(min((now[0] - before[thread][0]) / elapsed_ns, 1.0), now[1] - before[thread][1])
        for thread, now in after.items()
        if thread in before
    ]


def _scheduled(pid: int) -> dict[str, tuple[int, int]]:
    """Return, by thread: nanoseconds on a CPU or in line for one, and voluntary context switches, since it began."""
    found = {}
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, ValueError):
                running, waiting, _ = (task / "schedstat").read_text(encoding="ascii").split()
                sleeps = re.search(rb"(?m)^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_bytes())
                found[task.name] = (int(running) + int(waiting), int(sleeps.group(1)) if sleeps else 0)
    return found


def _wait_channel(pid: int) -> str | None:
    """Return the kernel function in which the main thread sleeps, None when it does not sleep."""
    with suppress(OSError):
        name = Path(f"/proc/{pid}/wchan").read_text(encoding="ascii").strip()
        return None if name in {"", "0"} else name
    return None


def _python_stack(child: Child) -> str | None:
    """Ask faulthandler, inside the process, where Python is; it answers even while native code holds the lock."""
    before = child.python_stacks()
    child.signal(signal.SIGUSR1)
    until = time.monotonic() + PYTHON_STACK_S
    while time.monotonic() < until:
        time.sleep(0.002)
        text = child.python_stacks()[len(before) :]
        if text.endswith("\n"):
            return text
    return None


def native_stack(pid: int) -> str | None:
    """Return the native stacks of all threads from py-spy, else gdb; None where neither is installed or answers."""
    py_spy = shutil.which("py-spy", path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))
    if py_spy is not None:
        text = _output([py_spy, "dump", "--native", "--pid", str(pid)])
        if text:
            return text
    gdb = shutil.which("gdb")
    if gdb is None:
        return None
    text = _output([gdb, "-nx", "-batch", "-iex", "set auto-load off", "-p", str(pid), "-ex", "thread apply all bt"])
    return re.sub(r"(?m)^(\[New LWP|warning:|Download failed).*\n", "", text) or None


def _output(command: list[str]) -> str:
    """Return what a tool prints, empty when it fails or takes too long."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=NATIVE_STACK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")[:NATIVE_STACK_CHARACTERS] if done.returncode == 0 else ""
