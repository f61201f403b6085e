"""Who runs a trial: one process on one machine, told apart from any other by an identifier that names neither."""

import hashlib
import os
from pathlib import Path


def this_process() -> str:
    """Return ``BOOT:PID:START``: a digest of this boot's random id, the process id and its start time in ticks."""
    return f"{_boot()}:{os.getpid()}:{_start_ticks(os.getpid())}"


def is_gone(owner: str) -> bool:
    """Tell whether the owner certainly runs no more: a process of this boot of this machine that has ended.

    An owner elsewhere is never certainly gone; its lease must run out.
    """
    boot, pid, start = owner.split(":")
    return boot == _boot() and _start_ticks(int(pid)) != start


def _boot() -> str:
    """Return a digest of what process ids are counted in: this boot, and this container's own process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        boot += str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot = "unknown"
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def _start_ticks(pid: int) -> str:
    """Return field 22 of /proc/PID/stat, "-" when there is no such process or it is only waiting to be reaped."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return "-"
    return "-" if after_name[0] in {"Z", "X"} else after_name[19]
