"""Campaigns as child processes of the server: started, stopped and resumed through the command line.

The server never runs a trial itself: a campaign outlives a hanging page, and a crash of the server leaves a campaign
that can be resumed. The argument list is built from checked values alone; there is no shell.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from cubisect.errors import InputError

STOP_GRACE_S = 15.0
"""How long a campaign may take to save what runs before it is killed; what it had finished is saved in any case."""

MESSAGE_BYTES = 4096
"""How much of the end of what a child said is kept for the page."""


@dataclass
class _Child:
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    def message(self) -> str:
        """Return the last line that the child wrote."""
        size = self.output.seek(0, os.SEEK_END)
        self.output.seek(max(size - MESSAGE_BYTES, 0))
        lines = self.output.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"ended with status {self.process.returncode}"


class Launcher:
    """The campaigns that this server runs, by name. May be used from several threads.

    `command` is what the arguments of `bisect` are appended to; the database travels in the environment, so that a
    password in it is not seen in the list of processes.
    """

    def __init__(self, store_url: str, command: Sequence[str] = (sys.executable, "-m", "cubisect.cli")) -> None:
        self._command = tuple(command)
        self._environment = {**os.environ, "BISECT_DB": store_url, "NO_COLOR": "1", "TERM": "dumb"}
        self._children: dict[str, _Child] = {}
        self._lock = threading.Lock()

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Start `bisect ARGUMENTS` as the campaign called `name`.

        Raises:
            InputError: this server runs that campaign already.
        """
        with self._lock:
            if self._alive(name):
                raise InputError(f"campaign {name} is running; stop it first")
            if name in self._children:
                self._children.pop(name).output.close()
            output = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the child)
            process = subprocess.Popen(
                [*self._command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C meant for the server is passed on by `close`, once
            )
            self._children[name] = _Child(process, output)

    def stop(self, name: str) -> None:
        """Interrupt a campaign and wait until it has saved what it has.

        Raises:
            InputError: this server does not run it.
        """
        with self._lock:
            if not self._alive(name):
                raise InputError(f"campaign {name} is not run by this server; stop it where it was started")
            child = self._children[name]
        _end(child.process)

    def running(self, name: str) -> bool:
        """Tell whether this server runs the campaign."""
        with self._lock:
            return self._alive(name)

    def failure(self, name: str) -> str | None:
        """Return what a campaign said when it ended otherwise than by finishing or being stopped; None otherwise."""
        with self._lock:
            child = self._children.get(name)
            if child is None or child.process.poll() in (None, 0, 130):
                return None
            return child.message()

    def close(self) -> None:
        """Stop every campaign, all at the same time."""
        with self._lock:
            children = list(self._children.values())
            self._children.clear()
        threads = [threading.Thread(target=_end, args=(child.process,)) for child in children]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for child in children:
            child.output.close()

    def _alive(self, name: str) -> bool:
        child = self._children.get(name)
        return child is not None and child.process.poll() is None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a process, and kill it when it does not end."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
