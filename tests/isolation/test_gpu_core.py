"""The protocol of CUDA's user-triggered core dump, against a stand-in for the driver's side of it."""

import os
import threading
from pathlib import Path

from cubisect.isolation import Lane, LaneOptions
from cubisect.isolation.gpu_core import GpuCores
from cubisect.outcome import Outcome, classify
from cubisect.space import Point
from cubisect.trial import TrialSpec
from support.faulty import DumpsGpuCores

PID = 4711


def listen(pipe: Path, core: Path) -> threading.Thread:
    """Wait for the trigger as the driver does, then write the core."""
    fd = os.open(pipe, os.O_RDWR)  # with a writer, so that reading waits

    def serve() -> None:
        if os.read(fd, 16):
            core.write_bytes(b"\x7fELF")
        os.close(fd)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_core_is_had_on_request(tmp_path: Path) -> None:
    cores = GpuCores(tmp_path)
    pipe, core = (
        Path(cores.environment()[name].replace("%p", str(PID))) for name in ("CUDA_COREDUMP_PIPE", "CUDA_COREDUMP_FILE")
    )
    os.mkfifo(pipe)
    thread = listen(pipe, core)
    assert cores.trigger(PID) == core
    thread.join()
    cores.forget(PID)
    assert not pipe.exists()


def test_a_process_whose_driver_does_not_listen_has_none(tmp_path: Path) -> None:
    cores = GpuCores(tmp_path)
    assert cores.trigger(PID) is None
    os.mkfifo(tmp_path / f"trigger.{PID}")
    assert cores.trigger(PID) is None


def test_a_hang_on_a_lane_brings_its_core_and_leaves_no_pipe(tmp_path: Path) -> None:
    options = LaneOptions(native_stacks=False, gpu_cores=GpuCores(tmp_path))
    with Lane(DumpsGpuCores.name, options=options) as lane:
        seen = lane.run(TrialSpec.at(Point()), 0.3)
    assert classify(seen).outcome is Outcome.HANG
    assert seen.hang is not None
    assert Path(seen.hang.gpu_core or "").read_bytes() == b"\x7fELF"
    assert list(tmp_path.iterdir()) == [Path(seen.hang.gpu_core or "")]
