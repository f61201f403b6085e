"""Looking for processes that should be gone."""

import time
from collections.abc import Callable
from pathlib import Path


def marked(*marks: str) -> list[str]:
    """Return the processes whose environment has all `marks`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                if all(mark.encode() in environment for mark in marks):
                    found.append(entry.name)
            except OSError:
                continue
    return found


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Return whether `condition` came true in time."""
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
