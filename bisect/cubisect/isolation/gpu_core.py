"""The GPU's side of a hang: CUDA's user-triggered core dump, for those who ask for it.

With these variables set before `cuInit`, the driver of each process listens on a named pipe and writes a core file of
the GPU (for cuda-gdb) when something is written to it; see "GPU core dump support" in NVIDIA's CUDA-GDB manual. It is
opt-in: a core may be as large as the GPU's memory, so it is asked to leave memory out.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

CORE_LIMIT_S = 10.0
"""A core without memory is written within a second, if the driver still listens."""

NAP_S = 0.05


@dataclass(frozen=True)
class GpuCores:
    """Cores are written to `folder`, one per process that hangs."""

    folder: Path

    def environment(self) -> Mapping[str, str]:
        """Return the variables that a process needs before it first uses CUDA."""
        return {
            "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "1",
            "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP": "1",
            "CUDA_COREDUMP_PIPE": str(self.folder / "trigger.%p"),
            "CUDA_COREDUMP_FILE": str(self.folder / "gpu.%p.core"),
        }

    def trigger(self, pid: int, clock: Callable[[], float] = time.monotonic) -> Path | None:
        """Return the core of the GPU work of a process, None when its driver does not write one in time."""
        pipe, core = self.folder / f"trigger.{pid}", self.folder / f"gpu.{pid}.core"
        try:
            fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # fails where nobody listens
        except OSError:
            return None
        try:
            os.write(fd, b"core")
        finally:
            os.close(fd)
        return core if _is_complete(core, clock() + CORE_LIMIT_S, clock) else None

    def forget(self, pid: int) -> None:
        """Remove the trigger of a process that is gone."""
        (self.folder / f"trigger.{pid}").unlink(missing_ok=True)


def _is_complete(file: Path, until: float, clock: Callable[[], float]) -> bool:
    """Wait until the file is there and has stopped growing."""
    size = -1
    while clock() < until:
        now = file.stat().st_size if file.exists() else -1
        if 0 < now == size:
            return True
        size = now
        time.sleep(NAP_S)
    return False
