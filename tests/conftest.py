"""What every room's tests may use: a stand-in `libcuda.so.1`, so that the CUDA path runs without a GPU."""

import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "fakecuda" / "libcuda.c"

FakeCuda = Callable[..., dict[str, str]]

collect_ignore_glob = [] if importlib.util.find_spec("uvicorn") else ["service/*"]
"""Without the extra `service` the rest can still be tested, as on a machine that has a GPU and little else."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background by a shell: the commands under test would inherit that Ctrl-C means nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory: pytest.TempPathFactory) -> FakeCuda:
    """Build the stand-in; return a function that gives the environment in which a *child process* finds it.

    ``fake_cuda(fault="segfault:100", version=12040)`` sets `FAKECUDA_FAULT` and so on; libcuda.c lists them.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler, "the tests of the CUDA driver need gcc"
    folder = tmp_path_factory.mktemp("fakecuda")
    command = [compiler, "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", folder / "libcuda.so.1", SOURCE, "-lpthread"], check=True)

    def environment(**settings: object) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("FAKECUDA_")}
        own = {f"FAKECUDA_{name.upper()}": str(value) for name, value in settings.items()}
        return {**inherited, **own, "LD_LIBRARY_PATH": str(folder)}

    return environment
