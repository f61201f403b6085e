"""The fork server: one small process per lane that forks trial processes and tells the truth about their deaths.

It has imported and exercised what a trial needs, has one thread, has never touched CUDA and never runs a trial
itself. It ends, with everything it started, when the harness ends.

Started as ``python -m cubisect.isolation.zygote FD PARENT``; speaks the messages of `wire` over FD:

| from the harness | answer |
|---|---|
| ``{"driver", "path"}`` first | ``{"ready": true}`` or ``{"failed": why}`` |
| ``{"fork": id, "gpu", "memory"}`` + mail, page, output, stacks | ``{"forked": id, "pid"}`` + pidfd |
| – | ``{"ended": id, "status", "cpu_s", "rss", "strays"}`` when it died and everything it left behind is gone |
"""

import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cubisect import drivers
from cubisect.batch import POISON, pattern, verify
from cubisect.drivers.base import Driver
from cubisect.errors import BisectError
from cubisect.isolation import wire
from cubisect.isolation.child import Birth, bounded_output, live
from cubisect.isolation.kernel import adopt_orphans
from cubisect.isolation.page import ProgressPage
from cubisect.outcome import DriverReport, Phase
from cubisect.space import KIB, Point
from cubisect.trial import TrialSpec

STRAYS_LIMIT_S = 2.0
"""Longest wait for killed strays to be gone; one in uninterruptible sleep may stay longer and is told about."""
NAP_S = 0.0005


@dataclass(frozen=True)
class _Known:
    id: int
    pid: int
    pidfd: int


class Zygote:
    """The loop of the fork server. `control` is the socket to the harness."""

    def __init__(self, control: socket.socket, harness: int) -> None:
        self._control = control
        self._harness = os.pidfd_open(harness)
        self._pid = os.getpid()
        self._output = bounded_output()
        self._known: dict[int, _Known] = {}  # by pidfd
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._harness, select.POLLIN)  # the socket alone may be held open by others

    def run(self, driver: Driver) -> None:
        """Serve until the harness is gone, then end everything."""
        try:
            while True:
                for fd, _ in self._poll.poll():
                    if fd == self._harness:
                        return
                    if fd in self._known:
                        self._bury(self._known[fd])
                    elif fd == self._control.fileno() and not self._obey(driver):
                        return
        finally:
            self._end_all()

    def _obey(self, driver: Driver) -> bool:
        """Do what the next message asks for; False when there is nobody left to ask."""
        message, descriptors = wire.receive(self._control)
        if message is None:
            return False
        try:
            self._fork(driver, message, descriptors)
        except ConnectionError:
            return False
        finally:
            for fd in descriptors:
                os.close(fd)
        return True

    def _fork(self, driver: Driver, message: dict[str, Any], descriptors: list[int]) -> None:
        birth = Birth(message["gpu"], message["memory"], *descriptors)
        pid = os.fork()
        if pid == 0:
            live(driver, birth, self._pid, self._output)
        known = _Known(message["fork"], pid, os.pidfd_open(pid))
        self._known[known.pidfd] = known
        self._poll.register(known.pidfd, select.POLLIN)
        wire.send(self._control, {"forked": known.id, "pid": pid}, [known.pidfd])

    def _bury(self, dead: _Known) -> None:
        """Reap one process and whatever it left behind, and tell the harness."""
        with suppress(ProcessLookupError):
            os.killpg(dead.pid, signal.SIGKILL)  # while the leader is a zombie: its number cannot be anybody else's
        _, status, usage = os.wait4(dead.pid, 0)
        self._poll.unregister(dead.pidfd)
        os.close(dead.pidfd)
        del self._known[dead.pidfd]
        strays = self._end_strays()
        with suppress(ConnectionError):
            wire.send(
                self._control,
                {
                    "ended": dead.id,
                    "status": status,
                    "cpu_s": usage.ru_utime + usage.ru_stime,
                    "rss": usage.ru_maxrss * KIB,
                    "strays": strays,
                },
            )

    def _end_strays(self) -> int:
        """Kill and reap every process that is ours by adoption only; return how many were still running."""
        seen: set[int] = set()
        until = time.monotonic() + STRAYS_LIMIT_S
        while strays := self._strays():
            for pid in strays:
                done, status = os.waitpid(pid, os.WNOHANG)
                if not done:
                    os.kill(pid, signal.SIGKILL)
                if not done or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
                    seen.add(pid)
            if time.monotonic() > until:
                break
            time.sleep(NAP_S if seen else 0.0)
        return len(seen)

    def _strays(self) -> list[int]:
        if not self._known and _childless():
            return []
        mine = {known.pid for known in self._known.values()}
        return [pid for pid in _children_of(self._pid) if pid not in mine]

    def _end_all(self) -> None:
        for known in self._known.values():
            with suppress(ProcessLookupError):
                os.kill(known.pid, signal.SIGKILL)
        for known in list(self._known.values()):
            self._bury(known)
        self._end_strays()


def _childless() -> bool:
    """Tell whether the kernel says that we have no child at all: proof that nothing survived."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _children_of(parent: int) -> list[int]:
    """Return the processes whose parent is `parent`, by looking at all of them (about 1 ms)."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                stat = Path(entry.path, "stat").read_bytes()
                if int(stat[stat.rindex(b")") + 2 :].split()[1]) == parent:
                    found.append(int(entry.name))
    return found


def exercise() -> None:
    """Run the parts of a trial that import or initialise something on first use, so that forked processes have them."""
    spec = TrialSpec.at(Point(descriptor_count=8, total_bytes=KIB, layout="shuffled_both"))
    batch = TrialSpec.from_json(spec.to_json()).batch
    destination = np.full(batch.destination_extent, POISON, dtype=np.uint8)
    destination[:] = np.resize(pattern(spec.seed), len(destination))
    verify(batch, spec.seed, lambda start, stop: destination[start:stop])
    np.random.seed(0)  # noqa: NPY002
    _exercise_page()
    wire.decode(wire.encode(DriverReport().__dict__ | {"seconds": {}}))


def _exercise_page() -> None:
    fd = ProgressPage.new_file()
    page = ProgressPage(fd)
    page.enter(Phase.DONE)
    page.close()
    os.close(fd)


def _load(request: dict[str, Any]) -> Driver:
    sys.path.extend(entry for entry in request["path"] if entry not in sys.path)
    driver = drivers.load(request["driver"])
    exercise()
    threads = list(Path("/proc/self/task").iterdir())
    if len(threads) != 1:
        raise BisectError(f"loading {request['driver']} started {len(threads) - 1} threads; it must start none")
    gc.collect()
    gc.freeze()  # collections in forked processes need not look at, and so copy, what all of them share
    return driver


def main(control_fd: int, harness: int) -> None:
    """Load the driver, say so, serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    with socket.socket(fileno=control_fd) as control:
        request, _ = wire.receive(control)
        if request is None:
            return
        try:
            driver = _load(request)
        except BisectError as error:
            wire.send(control, {"failed": str(error)})
            return
        zygote = Zygote(control, harness)
        wire.send(control, {"ready": True})
        zygote.run(driver)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
