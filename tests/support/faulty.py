"""A driver that does exactly the fault that a trial names, for tests of isolation: ``driver:support.faulty:Faulty``.

The trial's `run_seed` is the number of the fault, its `seed` the phase in which it strikes, at the last repetition.
"""

import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum, auto
from pathlib import Path
from typing import Any

from cubisect.drivers import enact
from cubisect.drivers.base import Barrier, Progress, SetupError
from cubisect.outcome import DriverReport, Phase
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec

MAIL = 3
"""The descriptor of a trial's private socket."""


class Fault(IntEnum):
    """What may happen in a trial."""

    NONE = 0
    SEGFAULT = auto()
    BUS_ERROR = auto()
    ABORT = auto()
    ILLEGAL = auto()
    FLOATING_POINT = auto()
    STACK_OVERFLOW = auto()
    OUTSIDE_KILL = auto()
    TERMINATED = auto()
    EXIT_0 = auto()
    EXIT_3 = auto()
    EXIT_255 = auto()
    SYSTEM_EXIT = auto()
    RAISE = auto()
    SETUP_ERROR = auto()
    OUT_OF_MEMORY = auto()
    SPIN = auto()
    PYTHON_SPIN = auto()
    SLEEP = auto()
    POLL = auto()
    LOCK = auto()
    STOP = auto()
    SIGNALS_BLOCKED = auto()
    ORPHAN = auto()
    DAEMON = auto()
    SEGFAULT_WITH_DAEMON = auto()
    FLOOD = auto()
    PRINT_FLOOD = auto()
    CLOSE_ALL = auto()
    CLOSE_THEN_OK = auto()
    TRUNCATED = auto()
    GARBAGE = auto()
    WRONG_CHECKSUM = auto()
    NOT_A_REPORT = auto()
    HUGE_LENGTH = auto()
    MAIL_FLOOD = auto()
    THREAD = auto()
    SERVER_DEATH = auto()
    SERVER_STOP = auto()
    MAIL_GRANDCHILD = auto()
    ERROR = auto()
    REPORT_THEN_SEGFAULT = auto()
    DAEMON_THEN_SLEEP = auto()
    BAD_READ = auto()
    BAD_JUMP = auto()
    SENT_SEGFAULT = auto()
    SEGFAULT_AFTER_DEEP_CALLS = auto()
    UNKILLABLE = auto()


def trial(fault: Fault, phase: Phase = Phase.SUBMIT, **axes: Any) -> TrialSpec:
    """Return the trial that does `fault` in `phase`."""
    return TrialSpec.at(Point(**axes), run_seed=int(fault), seed=int(phase))


def _do(fault: Fault) -> DriverReport | None:
    """Do the fault; what returns lets the trial go on, with the report where there is one."""
    action: Callable[[], Any] = _ACTIONS.get(fault, lambda: None)
    report = action()
    return report if isinstance(report, DriverReport) else None


BAD_READ_AT, BAD_JUMP_AT = 0xDEAD000, 0x40
"""Addresses at which no process has memory."""


class Faulty:
    """Does what the trial names. `warm_up` fails where the environment says so."""

    name = "driver:support.faulty:Faulty"
    simulated = True

    def warm_up(self, gpu: int) -> None:
        if gpu == 7:
            raise SetupError("GPU 7 is out of order")
        if gpu == 6:
            enact.null_dereference()

    def environment(self) -> Mapping[str, Any]:
        return {}

    def neighbour(self, kind: str, gpu: int, tick: Callable[[], None]) -> None:
        if kind == "memsets":
            os._exit(5)
        for beat in range(1 << 40):
            if kind == "batches" and beat == 20:
                os.abort()
            tick()
            time.sleep(0.002)

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        fault = Fault(spec.run_seed) if spec.method is Method.BATCH else Fault.NONE
        strikes_here = barrier is None or spec.gpu == spec.ranks - 1
        for repetition in range(1, spec.repetition + 1):
            for phase in (Phase.SETUP, Phase.SUBMIT, Phase.SYNC, Phase.VERIFY):
                if phase is Phase.SUBMIT and barrier is not None:
                    barrier.wait()
                progress.enter(phase, repetition if phase > Phase.SETUP else 0)
                if strikes_here and phase == spec.seed and repetition == _strikes_at(spec):
                    report = _do(fault)
                    if report is not None:
                        return report
        return DriverReport(seconds={"submit": 0.001})


class BrokenGpu(Faulty):
    """Cannot do even plain copies: its canaries die."""

    name = "driver:support.faulty:BrokenGpu"

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        if spec.method is Method.PERCOPY:
            enact.null_dereference()
        return super().run(spec, progress, barrier)


class Hanging(Faulty):
    """Hangs in every other batch call."""

    name = "driver:support.faulty:Hanging"

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        hangs = spec.method is Method.BATCH and spec.number % 2
        return super().run(replace(spec, run_seed=Fault.SLEEP if hangs else Fault.NONE, seed=2), progress, barrier)


class Unkillable(Faulty):
    """Ends up in uninterruptible sleep in every batch call."""

    name = "driver:support.faulty:Unkillable"

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        fault = Fault.UNKILLABLE if spec.method is Method.BATCH else Fault.NONE
        return super().run(replace(spec, run_seed=fault, seed=2), progress, barrier)


class DumpsGpuCores(Faulty):
    """Hangs in every batch call, and writes a core when it is asked to, as a real driver does."""

    name = "driver:support.faulty:DumpsGpuCores"

    def run(self, spec: TrialSpec, progress: Progress, barrier: Barrier | None = None) -> DriverReport:
        if spec.method is Method.PERCOPY:
            return super().run(spec, progress, barrier)
        pipe, core = (
            os.environ[name].replace("%p", str(os.getpid())) for name in ("CUDA_COREDUMP_PIPE", "CUDA_COREDUMP_FILE")
        )
        os.mkfifo(pipe)
        listening = os.open(pipe, os.O_RDWR)
        threading.Thread(target=lambda: os.read(listening, 16) and Path(core).write_bytes(b"\x7fELF")).start()
        progress.enter(Phase.SUBMIT, 1)
        time.sleep(60)
        raise AssertionError("nobody ended a hang")


def _strikes_at(spec: TrialSpec) -> int:
    """Return the submission in which a fault strikes: the last one, but the last but one of several ranks."""
    return spec.repetition if spec.ranks == 1 else max(spec.repetition - 1, 1)


def _bus_error() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        file.truncate(0)
        memory[0] = 1


def _stack_overflow() -> None:
    libc = ctypes.PyDLL(None)
    compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    sys.setrecursionlimit(1 << 30)
    data = (ctypes.c_int * 4)(3, 2, 1, 0)

    def recurse(a: int, b: int) -> int:
        libc.qsort(data, 4, 4, compare)
        return 0

    compare = compare_type(recurse)
    libc.qsort(data, 4, 4, compare)


def _unkillable() -> None:
    """Ask a file system that never answers: where it is, the test has put into the environment."""
    Path(os.environ["DEAF_FILES"], "question").stat()


def _deep(calls: int) -> None:
    if calls:
        _deep(calls - 1)
    enact.null_dereference()


def _outside_kill() -> None:
    subprocess.Popen(["/bin/sh", "-c", f"kill -9 {os.getpid()}"])
    time.sleep(30)


def _out_of_memory() -> None:
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    bytearray(limit if limit > 0 else 1 << 46)


def _lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def _poll() -> None:
    while True:
        time.sleep(0.001)


def _python_spin() -> None:
    while True:
        pass


def _signals_blocked() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    enact.spin_forever()


def _leave_orphan() -> None:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)


def _leave_daemon() -> None:
    """Leave a grandchild in a session of its own, with all descriptors open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    os.wait()


def _daemon_then_sleep() -> None:
    _leave_daemon()
    enact.sleep_forever()


def _segfault_with_daemon() -> None:
    _leave_daemon()
    enact.null_dereference()


def _flood() -> None:
    chunk = b"x" * (1 << 20)
    for _ in range(1 << 10):
        with suppress(OSError):
            os.write(1, chunk)


def _print_flood() -> None:
    for _ in range(2000):
        sys.stdout.write("y" * 1000 + "\n")


def _close_all() -> None:
    os.closerange(0, 256)
    os._exit(0)


def _mail(data: bytes) -> None:
    os.write(MAIL, data)
    os._exit(0)


def _mail_flood() -> None:
    sock = socket.socket(fileno=MAIL)
    sock.settimeout(0)
    try:
        while True:
            sock.send(b"z" * 4096)
    except BlockingIOError:
        os._exit(0)


def _frame(payload: Any, *, crc: int | None = None, length: int | None = None) -> bytes:
    body = json.dumps(payload).encode()
    checksum = zlib.crc32(body) if crc is None else crc
    return struct.pack("<4sHxxII", b"CUBI", 1, len(body) if length is None else length, checksum) + body


def _report_then_segfault() -> None:
    os.write(MAIL, _frame({"api": "cuMemcpyBatchAsync"}))
    enact.null_dereference()


def _setup_error() -> None:
    raise SetupError("no room for the buffers")


def _thread() -> None:
    threading.Thread(target=time.sleep, args=(60,)).start()


def _mail_grandchild() -> None:
    if os.fork() == 0:
        os.write(MAIL, _frame({"api": "not mine"}))
        os._exit(0)
    os.wait()


def _server_death() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(30)


def _server_stop() -> None:
    os.kill(os.getppid(), signal.SIGSTOP)


_ACTIONS: Mapping[Fault, Callable[[], Any]] = {
    Fault.SEGFAULT: enact.null_dereference,
    Fault.UNKILLABLE: _unkillable,
    Fault.BAD_READ: lambda: ctypes.string_at(BAD_READ_AT),
    Fault.BAD_JUMP: ctypes.CFUNCTYPE(None)(BAD_JUMP_AT),
    Fault.SENT_SEGFAULT: lambda: os.kill(os.getpid(), signal.SIGSEGV),
    Fault.SEGFAULT_AFTER_DEEP_CALLS: lambda: _deep(200),
    Fault.BUS_ERROR: _bus_error,
    Fault.ABORT: enact.abort,
    Fault.ILLEGAL: lambda: os.kill(os.getpid(), signal.SIGILL),
    Fault.FLOATING_POINT: lambda: os.kill(os.getpid(), signal.SIGFPE),
    Fault.STACK_OVERFLOW: _stack_overflow,
    Fault.OUTSIDE_KILL: _outside_kill,
    Fault.TERMINATED: lambda: os.kill(os.getpid(), signal.SIGTERM),
    Fault.EXIT_0: lambda: os._exit(0),
    Fault.EXIT_3: lambda: os._exit(3),
    Fault.EXIT_255: lambda: os._exit(255),
    Fault.SYSTEM_EXIT: lambda: sys.exit(3),
    Fault.RAISE: lambda: 1 / 0,
    Fault.REPORT_THEN_SEGFAULT: _report_then_segfault,
    Fault.SETUP_ERROR: _setup_error,
    Fault.OUT_OF_MEMORY: _out_of_memory,
    Fault.SPIN: enact.spin_forever,
    Fault.PYTHON_SPIN: _python_spin,
    Fault.SLEEP: enact.sleep_forever,
    Fault.POLL: _poll,
    Fault.LOCK: _lock,
    Fault.STOP: lambda: os.kill(os.getpid(), signal.SIGSTOP),
    Fault.SIGNALS_BLOCKED: _signals_blocked,
    Fault.ORPHAN: _leave_orphan,
    Fault.DAEMON: _leave_daemon,
    Fault.SEGFAULT_WITH_DAEMON: _segfault_with_daemon,
    Fault.DAEMON_THEN_SLEEP: _daemon_then_sleep,
    Fault.FLOOD: _flood,
    Fault.PRINT_FLOOD: _print_flood,
    Fault.CLOSE_ALL: _close_all,
    Fault.CLOSE_THEN_OK: lambda: os.close(MAIL),
    Fault.TRUNCATED: lambda: _mail(_frame({"api": "cut short"}, length=500)),
    Fault.GARBAGE: lambda: _mail(b"\xff\xfe not a frame at all"),
    Fault.WRONG_CHECKSUM: lambda: _mail(_frame({"api": "x"}, crc=1)),
    Fault.NOT_A_REPORT: lambda: _mail(_frame({"no": "report"})),
    Fault.HUGE_LENGTH: lambda: _mail(_frame({}, length=2**32 - 1)),
    Fault.MAIL_FLOOD: _mail_flood,
    Fault.THREAD: _thread,
    Fault.SERVER_DEATH: _server_death,
    Fault.SERVER_STOP: _server_stop,
    Fault.MAIL_GRANDCHILD: _mail_grandchild,
    Fault.ERROR: lambda: DriverReport(cuda_error=1, cuda_error_name="CUDA_ERROR_INVALID_VALUE", fail_index=3),
}
