"""What a forked process does: warm up, wait for its trial, run it, report, end. It never returns to the fork server.

Descriptors: 0 is /dev/null, 1 and 2 go to a file that cannot grow, 3 is the private socket to the harness, 4 takes
Python stacks. Everything else that the fork server had open is closed.
"""

import array
import faulthandler
import fcntl
import io
import json
import os
import random
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from cubisect.drivers.base import Driver, Neighbourly, SetupError
from cubisect.isolation import wire
from cubisect.isolation.kernel import allow_debuggers, die_with_parent
from cubisect.isolation.page import ProgressPage, RankBarrier
from cubisect.outcome import DriverReport, Phase
from cubisect.trial import TrialSpec

OUTPUT, MAIL, STACKS = 1, 3, 4

EXIT_REPORTED, EXIT_ORPHAN, EXIT_BROKEN = 0, 97, 98


@dataclass(frozen=True)
class Birth:
    """What a new process is given; the descriptors are its own copies."""

    gpu: int
    memory_limit_bytes: int | None
    mail: int
    page: int
    output: int
    stacks: int


def live(driver: Driver, birth: Birth, server: int, output: io.TextIOWrapper) -> NoReturn:
    """Be a trial process or a neighbour, from birth to death. `server` is the process id of the fork server.

    `output` is the `bounded_output`.
    """
    code = EXIT_BROKEN
    try:
        if not die_with_parent(server, signal.SIGKILL):
            os._exit(EXIT_ORPHAN)
        page = _settle(birth, output)
        code = _work(driver, birth.gpu, page)
    except BaseException:  # noqa: BLE001  (nothing may unwind into the loop of the fork server)
        _complain()
    finally:
        os._exit(code)


def bounded_output() -> io.TextIOWrapper:
    """Return what `print` writes to in a trial process; made before the fork, where it is needed once."""
    return io.TextIOWrapper(_Bounded(), errors="replace", write_through=True)


def _settle(birth: Birth, output: io.TextIOWrapper) -> ProgressPage:
    """Become a session of our own, with only our own descriptors, limits and crash handlers."""
    os.setsid()
    page = ProgressPage(birth.page)
    page.begin()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, STACKS + 1) for fd in (birth.output, birth.mail, birth.stacks)]
    for fd, target in ((high[0], 1), (high[0], 2), (high[1], MAIL), (high[2], STACKS)):
        os.dup2(fd, target)
    os.closerange(STACKS + 1, os.sysconf("SC_OPEN_MAX"))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if birth.memory_limit_bytes is not None:
        # Not RLIMIT_AS: CUDA reserves far more address space than it uses.
        resource.setrlimit(resource.RLIMIT_DATA, (birth.memory_limit_bytes, birth.memory_limit_bytes))
    allow_debuggers()
    faulthandler.enable(file=STACKS, all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=STACKS, all_threads=True, chain=False)
    page.lend_stack()
    sys.stdout = sys.stderr = output  # standard input is /dev/null, as in the fork server
    return page


class _Bounded(io.RawIOBase):
    """Standard output that is silently full: printing too much is no error of a trial."""

    name = "<output>"

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with suppress(OSError):
            os.write(OUTPUT, data)
        return len(data)


def _work(driver: Driver, gpu: int, page: ProgressPage) -> int:
    setup_failed = _warm_up(driver, gpu)
    if not driver.simulated:
        page.list_modules()  # the real driver is loaded by now; a simulated one was before the fork
    request, descriptors = _await_request()
    if request is None:
        return EXIT_ORPHAN
    page.take()
    if setup_failed is not None:
        return _report(DriverReport(setup_failed=setup_failed))
    if request["role"] == "neighbour":
        return _be_neighbour(driver, request["kind"], gpu, page.tick)
    spec = TrialSpec.from_json(request["spec"])
    barrier = None
    if request["ranks"] > 1:
        barrier = RankBarrier(descriptors[1], request["rank"], request["ranks"], page)
    random.seed(spec.run_seed)  # forked processes share the generators' states: a model that uses them must vary
    np.random.seed(spec.run_seed % 2**32)  # noqa: NPY002  (the global generator is what is seeded)
    report = _run(driver, spec, page, barrier)
    if not report.cuda_error and report.setup_failed is None:
        page.enter(Phase.DONE, spec.repetition)
    return _report(report)


def _warm_up(driver: Driver, gpu: int) -> str | None:
    """Return why the device cannot be used, None when it can."""
    try:
        driver.warm_up(gpu)
    except SetupError as error:
        return str(error)
    return None


def _await_request() -> tuple[dict[str, Any] | None, Sequence[int]]:
    """Wait for a trial; None when the harness is gone."""
    with _mail() as mail:
        size = array.array("i").itemsize
        data, ancillary, _, _ = mail.recvmsg(1, socket.CMSG_SPACE(2 * size), socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None, ()
    descriptors = array.array("i")
    for _, _, raw in ancillary:
        descriptors.frombytes(raw)
    request: dict[str, Any] = json.loads(wire.read_all(descriptors[0]))
    return request, list(descriptors)


def _mail() -> socket.socket:
    """Return the private socket; told what it is, Python need not ask the kernel."""
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=os.dup(MAIL))


def _run(driver: Driver, spec: TrialSpec, page: ProgressPage, barrier: RankBarrier | None) -> DriverReport:
    """Return the driver's report. An exception is trouble of our code or of a fault model, never a finding."""
    try:
        return driver.run(spec, page, barrier)
    except SetupError as error:
        return DriverReport(setup_failed=str(error))
    except BaseException as error:  # noqa: BLE001  (SystemExit too: C code that exits does not pass here)
        _complain()
        return DriverReport(setup_failed=f"the driver raised {type(error).__name__}: {error}")


def _be_neighbour(driver: Driver, kind: str, gpu: int, tick: Callable[[], None]) -> int:
    if not isinstance(driver, Neighbourly):
        return _report(DriverReport(setup_failed=f"driver {driver.name} cannot keep a GPU busy"))
    try:
        driver.neighbour(kind, gpu, tick)
    except SetupError as error:
        return _report(DriverReport(setup_failed=str(error)))
    return EXIT_BROKEN


def _report(report: DriverReport) -> int:
    with _mail() as mail:
        mail.send(wire.encode(vars(report)), socket.MSG_DONTWAIT)
    return EXIT_REPORTED


def _complain() -> None:
    text = traceback.format_exc()
    with suppress(OSError):
        os.write(OUTPUT, text.encode(errors="replace"))
