"""The harness's side of a fork server: start it, have it fork, hear of deaths, replace it when it is lost."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from cubisect.errors import InputError
from cubisect.isolation import wire
from cubisect.isolation.page import ProgressPage
from cubisect.outcome import ResultState

BOOT_LIMIT_S = 60.0
"""Importing takes 0.2 s; a cold disk on a loaded machine takes much longer."""

ANSWER_LIMIT_S = 10.0
"""A fork takes a millisecond; a fork server that needs longer than this is stopped or wedged."""

END_LIMIT_S = 2.0

OUTPUT_BYTES = 64 << 10
OUTPUT_TAIL_BYTES = 8 << 10
STACKS_BYTES = 64 << 10

MARK = "CUBISECT_LANE"
"""Environment variable that everything a fork server starts inherits, so that it can be found if the server dies."""

_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class ServerLostError(Exception):
    """The fork server died, stopped answering or could not start: trouble of ours, not of any trial."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The kernel's word on a death. `status` is a wait status; `strays` counts processes that were left behind."""

    status: int
    cpu_s: float
    max_rss_bytes: int
    strays: int
    at: float

    @property
    def signal(self) -> int | None:
        """The signal that ended the process, None when it exited."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None

    @property
    def exit_code(self) -> int | None:
        """The exit status, None when a signal ended the process."""
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else None


class Child:
    """One forked process as the harness sees it. Its files outlive it, whatever happens to it."""

    def __init__(self, number: int, gpu: int) -> None:
        self.number, self.gpu = number, gpu
        self.pid = 0
        self.ended: Ended | None = None
        self._pidfd = -1
        self._mail, self.their_mail = socket.socketpair()
        self._page_file = ProgressPage.new_file()
        self.page = ProgressPage(self._page_file)
        self._output = wire.memory_file("output", OUTPUT_BYTES, fixed=True)
        self._stacks = wire.memory_file("stacks")

    def descriptors(self) -> list[int]:
        """Return what the process gets, in the order of `child.Birth`."""
        return [self.their_mail.fileno(), self._page_file, self._output, self._stacks]

    def born(self, pid: int, pidfd: int) -> None:
        """Take note of the process; our copies of what is its own are closed."""
        self.pid, self._pidfd = pid, pidfd
        self.their_mail.close()
        os.close(self._page_file)
        self._page_file = -1

    def assign(self, request: Mapping[str, Any], *files: int) -> None:
        """Tell the process what to do; it may be dead already, which its end will show."""
        letter = wire.memory_file("request")
        try:
            wire.write_all(letter, wire.json_bytes(request))
            with suppress(ConnectionError):
                socket.send_fds(self._mail, [b"!"], [letter, *files])
        finally:
            os.close(letter)

    def signal(self, number: int) -> None:
        """Send a signal to exactly this process, or to nobody when it is gone."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """End the process; the fork server reaps it and everything it started."""
        self.signal(signal.SIGKILL)

    def result(self) -> tuple[ResultState, Any]:
        """Return what arrived on the private socket. To be asked after the end; never waits for anybody to close it."""
        data = b""
        with suppress(BlockingIOError, ConnectionError):
            while len(data) <= 2 * wire.MAX_RESULT_BYTES:
                piece = self._mail.recv(wire.MAX_RESULT_BYTES, socket.MSG_DONTWAIT)
                if not piece:
                    break
                data += piece
        return wire.decode(data)

    def output_tail(self) -> str:
        """Return the end of what was kept of standard output and error (the first 64 KiB are kept)."""
        written = min(os.lseek(self._output, 0, os.SEEK_CUR), OUTPUT_BYTES)
        start = max(written - OUTPUT_TAIL_BYTES, 0)
        return os.pread(self._output, written - start, start).decode(errors="replace")

    def python_stacks(self) -> str:
        """Return the Python stacks that faulthandler wrote, empty when it wrote none."""
        return os.pread(self._stacks, STACKS_BYTES, 0).decode(errors="replace")

    def close(self) -> None:
        """Close every descriptor."""
        self.page.close()
        self._mail.close()
        self.their_mail.close()
        for fd in (self._page_file, self._pidfd, self._output, self._stacks):
            if fd >= 0:
                os.close(fd)
        self._page_file = self._pidfd = self._output = self._stacks = -1


class ForkServer:
    """A running fork server, with `environment` beside the harness's own. Used by one thread.

    Raises:
        InputError: the driver cannot be loaded.
        ServerLostError: it did not start. Every method may raise it too.
    """

    def __init__(
        self,
        driver: str,
        *,
        memory_limit_bytes: int | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory, self._clock = memory_limit_bytes, clock
        self._children: dict[int, Child] = {}
        self._next = 0
        self._mark = f"{os.getpid()}-{os.urandom(8).hex()}"
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cubisect.isolation.zygote", str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, **_ONE_THREAD, **environment, MARK: self._mark},
            )
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        try:
            self._boot(driver)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process id of the fork server."""
        return self._process.pid

    def fork(self, gpu: int) -> Child:
        """Return a new process that warms up on `gpu` and then waits to be told what to do.

        It may be told at once; `await_birth` before it is looked at or signalled.
        """
        self._next += 1
        child = Child(self._next, gpu)
        self._children[child.number] = child
        try:
            self._send({"fork": child.number, "gpu": gpu, "memory": self._memory}, child.descriptors())
        except ServerLostError:
            child.close()
            raise
        return child

    def await_birth(self, child: Child) -> None:
        """Return when the process is known; raise `ServerLostError` when the fork server does not answer."""
        until = self._clock() + ANSWER_LIMIT_S
        while not child.pid:
            if not self.pump(until - self._clock()):
                raise ServerLostError("the fork server does not answer")

    def pump(self, timeout_s: float) -> bool:
        """Wait for one message and act on it; False when none came in time."""
        if not self._poll.poll(max(timeout_s, 0.0) * 1000):
            return False
        message, descriptors = wire.receive(self._control)
        if message is None:
            raise ServerLostError(f"the fork server is gone{self._last_words()}")
        if "forked" in message:
            self._children[message["forked"]].born(message["pid"], descriptors[0])
        elif "ended" in message:
            self._children.pop(message["ended"]).ended = Ended(
                status=message["status"],
                cpu_s=message["cpu_s"],
                max_rss_bytes=message["rss"],
                strays=message["strays"],
                at=self._clock(),
            )
        return True

    def interrupt(self) -> None:
        """Have the fork server end everything, and whoever waits in `pump` hear of it; for any thread to call."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the fork server and with it every process that it started."""
        self.interrupt()
        self._control.close()
        try:
            self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()
        if self._process.returncode != 0:
            self._end_marked()

    def _boot(self, driver: str) -> None:
        self._send({"driver": driver, "path": [entry for entry in sys.path if entry]})
        if not self._poll.poll(BOOT_LIMIT_S * 1000):
            raise ServerLostError(f"the fork server did not start within {BOOT_LIMIT_S:.0f} s")
        message, _ = wire.receive(self._control)
        if message is None:
            raise ServerLostError(f"the fork server did not start{self._last_words()}")
        if "failed" in message:
            raise InputError(message["failed"])

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        try:
            wire.send(self._control, message, descriptors or ())
        except OSError as error:
            raise ServerLostError(f"the fork server is gone{self._last_words()}") from error

    def _last_words(self) -> str:
        """Return how a fork server ended, for a message about it."""
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(END_LIMIT_S)
            assert self._process.stderr is not None
            os.set_blocking(self._process.stderr.fileno(), False)
            lines = (self._process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
            return f" (status {status}{': ' + lines[-1] if lines else ''})"
        return ""

    def _end_marked(self) -> None:
        """Kill what a fork server that did not end in order left behind: its children die with it, daemons do not."""
        needle = f"{MARK}={self._mark}\0".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if needle in (entry / "environ").read_bytes():
                        os.kill(int(entry.name), signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
