"""Which faults of a trial each process pool tells truthfully and cleans up after.

    python benchmarks/isolation_faults.py [--json FILE]

Every case runs in a harness of its own: one pool, one task that commits the fault, then a task that is fine. Asked is,
of each fault: did the pool tell how the process ended (the words in `FAULTS`) within `PATIENCE_S` after its deadline,
did the next task run, and is no process left 2 s after the harness closed the pool. ``orphans`` kills the harness
itself in the middle of a task. Needs ``pip install pebble loky``.
"""

import argparse
import ctypes
import importlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

DEADLINE_S = 2.0
PATIENCE_S = 5.0
GONE_S = 2.0
CASE_LIMIT_S = 25.0
MARK = "ISOLATION_FAULT_CASE"

# -- the faults --------------------------------------------------------------------------------------------------------


def _spin() -> None:
    """Burn CPU in native code that holds the interpreter's lock."""
    from cubisect.drivers.enact import spin_forever  # noqa: PLC0415  (the same fault for everybody)

    spin_forever()


def _leave_daemon() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(120)
        os._exit(0)
    os.wait()


def _segfault_with_daemon() -> None:
    _leave_daemon()
    ctypes.memset(0, 0, 1)


def _block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    time.sleep(120)


@dataclass(frozen=True)
class Fault:
    """What a task does, and the words of which one must be in what the pool says of it."""

    do: Callable[[], Any]
    told_as: tuple[str, ...]


HANG = ("timeout", "hang")
FAULTS: Mapping[str, Fault] = {
    "segfault": Fault(lambda: ctypes.memset(0, 0, 1), ("sigsegv", "-11", "signal 11")),
    "abort": Fault(os.abort, ("sigabrt", "-6", "signal 6")),
    "killed": Fault(lambda: os.kill(os.getpid(), signal.SIGKILL), ("sigkill", "-9", "signal 9")),
    "exit 0": Fault(lambda: os._exit(0), ("exit 0", "exit code 0", "exit_code 0", "exit(0)", "status 0")),
    "exit 3": Fault(lambda: os._exit(3), ("exit 3", "exit code 3", "exit(3)", "status 3")),
    "sys.exit": Fault(lambda: sys.exit(3), ("systemexit", "exit code 3")),
    "spin": Fault(_spin, HANG),
    "sleep": Fault(lambda: time.sleep(120), HANG),
    "stopped": Fault(lambda: os.kill(os.getpid(), signal.SIGSTOP), (*HANG, "stopped")),
    "signals blocked": Fault(_block_signals, HANG),
    "daemon left": Fault(_leave_daemon, ("ok",)),
    "segfault, daemon left": Fault(_segfault_with_daemon, ("sigsegv", "-11", "signal 11")),
    "thread left": Fault(lambda: threading.Thread(target=time.sleep, args=(120,)).start(), ("ok",)),
    "orphans": Fault(lambda: time.sleep(120), ()),
}


def task(name: str) -> str:
    """Commit the fault called `name`; what does not is fine."""
    if name in FAULTS:
        FAULTS[name].do()
    return "ok"


# -- the pools: each runs one task at a time in a process of its own and says how it ended -----------------------------


class Pebble:
    """One worker that is replaced after each task."""

    def __init__(self) -> None:
        process_pool = importlib.import_module("pebble").ProcessPool  # optional
        context = multiprocessing.get_context("forkserver")
        self._pool = process_pool(max_workers=1, max_tasks=1, context=context)

    def run(self, name: str) -> str:
        """Return how the task ended."""
        return str(self._pool.schedule(task, args=[name], timeout=DEADLINE_S).result(CASE_LIMIT_S))

    def close(self) -> None:
        """End the pool."""
        self._pool.stop()
        self._pool.join()


class Loky:
    """An executor of one worker per task; it cannot end one task."""

    def run(self, name: str) -> str:
        """Return how the task ended."""
        executor = importlib.import_module("loky").ProcessPoolExecutor(max_workers=1)  # optional
        try:
            return str(executor.submit(task, name).result(DEADLINE_S))
        finally:
            executor.shutdown(wait=True, kill_workers=True)

    def close(self) -> None:
        """Do nothing: every executor is closed."""


class Futures:
    """The standard library's executor, one task per process; it cannot end one task."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        self._new = lambda: ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1)
        self._executor = self._new()

    def run(self, name: str) -> str:
        """Return how the task ended."""
        try:
            return str(self._executor.submit(task, name).result(DEADLINE_S))
        except BaseException:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = self._new()
            raise

    def close(self) -> None:
        """End the pool."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class ForkServer:
    """A `multiprocessing` process per task, started by the standard library's fork server."""

    def run(self, name: str) -> str:
        """Return how the task ended."""
        context = multiprocessing.get_context("forkserver")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(theirs, name))
        process.start()
        theirs.close()
        said = "timeout"
        if wait([ours, process.sentinel], DEADLINE_S):
            process.join(0.5)
            said = f"exit code {process.exitcode}"
        if ours.poll():
            with suppress(EOFError):
                said = str(ours.recv())
        if process.exitcode is None:
            process.kill()
            process.join()
        return said

    def close(self) -> None:
        """Do nothing: every process has ended."""


def _send(pipe: Any, name: str) -> None:
    pipe.send(task(name))


class Product:
    """A lane."""

    def __init__(self) -> None:
        from cubisect.isolation import Lane, LaneOptions  # noqa: PLC0415  (a pool like the others)

        self._lane = Lane(f"driver:{Path(__file__).stem}:TaskDriver", options=LaneOptions(native_stacks=False))

    def run(self, name: str) -> str:
        """Return how the task ended."""
        from cubisect.outcome import classify  # noqa: PLC0415
        from cubisect.space import Point  # noqa: PLC0415
        from cubisect.trial import TrialSpec  # noqa: PLC0415

        number = list(FAULTS).index(name) + 1 if name in FAULTS else 0
        seen = self._lane.run(TrialSpec.at(Point(), run_seed=number), DEADLINE_S)
        verdict = classify(seen)
        return f"{verdict.outcome}: {verdict.reason}"

    def close(self) -> None:
        """End the lane."""
        self._lane.close()


class TaskDriver:
    """Commits the fault whose number is the trial's `run_seed`."""

    name = "task"
    simulated = True

    def warm_up(self, gpu: int) -> None:
        """Do nothing."""

    def environment(self) -> Mapping[str, Any]:
        """Return nothing."""
        return {}

    def run(self, spec: Any, progress: Any, barrier: Any = None) -> Any:  # noqa: ARG002
        """Commit the fault."""
        from cubisect.outcome import DriverReport, Phase  # noqa: PLC0415

        progress.enter(Phase.SUBMIT, 1)
        if spec.run_seed:
            task(list(FAULTS)[spec.run_seed - 1])
        return DriverReport()


POOLS: Mapping[str, Callable[[], Any]] = {
    "pebble": Pebble,
    "loky": Loky,
    "concurrent.futures": Futures,
    "mp forkserver": ForkServer,
    "lane": Product,
}


ENDS_THE_HARNESS = "raised in the harness:"

# -- one case, in a harness of its own ---------------------------------------------------------------------------------


def harness(pool_name: str, fault: str) -> None:
    """Run one case and print what was seen as JSON."""
    pool = POOLS[pool_name]()
    _told(pool, "fine")  # the pool has started
    if fault == "orphans":
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
    began = time.monotonic()
    said = _told(pool, fault)
    seconds = time.monotonic() - began
    sys.stdout.write(json.dumps({"said": said, "seconds": seconds, "next": _told(pool, "fine")}) + "\n")
    sys.stdout.flush()
    with suppress(Exception):
        pool.close()
    os._exit(0)


def _told(pool: Any, name: str) -> str:
    try:
        return str(pool.run(name))
    except Exception as error:  # noqa: BLE001  (whatever the pool raises is its answer)
        code = getattr(error, "exitcode", None)
        return f"{type(error).__name__}: {error}" + ("" if code is None else f" (exit code {code})")
    except BaseException as error:  # noqa: BLE001
        return f"{ENDS_THE_HARNESS} {type(error).__name__}"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of one case; `faults` are the ways in which the pool failed, empty when it passed."""

    pool: str
    fault: str
    said: str
    faults: tuple[str, ...]


def run_case(pool: str, fault: str) -> Seen:
    """Start a harness for one case and judge what it says and leaves behind."""
    mark = f"{os.getpid()}-{pool}-{fault}"
    folder = str(Path(__file__).parent)
    environment = {**os.environ, MARK: mark, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": folder}
    with subprocess.Popen(
        [sys.executable, __file__, "--case", pool, fault],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        answer: list[str] = []
        reader = threading.Thread(target=lambda: answer.append(process.stdout.readline() if process.stdout else ""))
        reader.start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(CASE_LIMIT_S)
        left = _left_behind(mark)
        reader.join(5.0)
    told = json.loads(answer[0]) if answer and answer[0].strip() else None
    return Seen(pool=pool, fault=fault, said=_said(told, fault), faults=tuple(_failures(fault, told, left)))


def _said(told: Mapping[str, Any] | None, fault: str) -> str:
    if told is None:
        return "killed" if fault == "orphans" else "no answer"
    return " ".join(str(told["said"]).split())[:100]


def _failures(fault: str, told: Mapping[str, Any] | None, left: int) -> list[str]:
    found = []
    if fault != "orphans":
        if told is None:
            found.append("never answered")
        elif not any(word in told["said"].lower() for word in FAULTS[fault].told_as):
            found.append("not told")
        elif told["said"].startswith(ENDS_THE_HARNESS):
            found.append("ends a harness that does not expect it")
        elif told["seconds"] > DEADLINE_S + PATIENCE_S:
            found.append(f"told after {told['seconds']:.0f} s")
        if told is not None and "ok" not in told["next"].lower():
            found.append("the next task failed")
    if left:
        found.append(f"{left} processes left")
    return found


def _left_behind(mark: str) -> int:
    """Return how many processes carry the mark `GONE_S` after the harness's end, and kill them."""
    until = time.monotonic() + GONE_S
    while (left := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(left)


def _marked(mark: str) -> list[int]:
    needle, found = f"{MARK}={mark}\0".encode(), []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and needle in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def main() -> None:
    """Run every case and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", nargs="+", default=list(POOLS))
    parser.add_argument("--faults", nargs="+", default=list(FAULTS))
    parser.add_argument("--json", type=Path, help="write what was seen to this file too")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        harness(*options.case)
    seen = []
    for pool in options.pools:
        for fault in options.faults:
            case = run_case(pool, fault)
            seen.append(vars(case))
            print(f"{pool:<20}{fault:<23}{'; '.join(case.faults) or 'passes':<40}{case.said}", flush=True)
        failed = sum(bool(case["faults"]) for case in seen if case["pool"] == pool)
        print(f"{pool}: fails {failed} of {len(options.faults)}")
    if options.json is not None:
        options.json.write_text(json.dumps(seen, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
