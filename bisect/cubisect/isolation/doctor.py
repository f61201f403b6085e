"""What this machine can and cannot do, and why: the facts behind `bisect doctor`."""

import importlib.util
import os
import platform
import resource
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cubisect.isolation.resolve import probe_cuda


class State(StrEnum):
    """How a check ended; the word itself is printed, so that colour is never the only signal."""

    OK = "ok"
    MISSING = "missing"
    LIMITED = "limited"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing looked at: what was found, and what to do when something is wanting."""

    name: str
    state: State
    found: str
    hint: str = ""


_TOOLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    # name: (any of these programs, what is lost without them)
    "C compiler": (("gcc", "cc", "nvcc"), "install gcc to build the reproducers that `bisect reproduce` writes"),
    "debugger": (("gdb", "cuda-gdb"), "install gdb for `bisect diagnose` and native stacks of hangs"),
    "py-spy": (("py-spy",), "optional: `pip install py-spy` gives native stacks of hangs quickly"),
}

_EXTRAS: Mapping[str, str] = {"psycopg": "postgres", "ray": "ray", "fastapi": "service", "pyarrow": "parquet"}


def examine() -> list[Check]:
    """Return every check, the ones that decide about real trials first."""
    probe = probe_cuda()
    return [*_gpu(probe), *_processes(), *_tools(), *_extras()]


def _gpu(probe: Mapping[str, Any]) -> Iterator[Check]:
    if probe.get("error"):
        hint = "real trials need an NVIDIA GPU with driver 570 (CUDA 12.8) or newer; simulated ones run anyway"
        yield Check(name="CUDA driver", state=State.MISSING, found=str(probe["error"]), hint=hint)
        return
    yield Check(name="CUDA driver", state=State.OK, found=f"{probe.get('driver_version')}, {_cuda_version(probe)}")
    for device in probe.get("devices", []):
        text = f"{device.get('name')}, {device.get('memory_bytes', 0) >> 30} GiB, {device.get('pci_bus_id', '')}"
        yield Check(name=f"GPU {device.get('index', 0)}", state=State.OK, found=text)
    for abi, there in probe.get("abis", {}).items():
        yield Check(
            name=f"batch call, ABI {abi}",
            state=State.OK if there else State.MISSING,
            found="served" if there else "not served",
            hint="" if there else "the driver is older than this ABI; --fix abi to one that is served",
        )


def _cuda_version(probe: Mapping[str, Any]) -> str:
    version = int(probe.get("cuda_version") or 0)
    return f"CUDA {version // 1000}.{version % 1000 // 10}"


def _processes() -> Iterator[Check]:
    pidfd = hasattr(os, "pidfd_open")
    yield Check(
        name="process supervision",
        state=State.OK if pidfd else State.MISSING,
        found=f"Linux {platform.release()}" + ("" if pidfd else " without pidfd_open"),
        hint="" if pidfd else "trials need Linux 5.3 or newer",
    )
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    limited = soft != resource.RLIM_INFINITY and os.geteuid() != 0
    yield Check(
        name="locked memory",
        state=State.LIMITED if limited else State.OK,
        found="unlimited" if soft == resource.RLIM_INFINITY else f"{soft >> 10} KiB",
        hint="pinned host memory may be refused; raise it with `ulimit -l unlimited`" if limited else "",
    )
    yield Check(name="processors", state=State.OK, found=str(len(os.sched_getaffinity(0))))


def _tools() -> Iterator[Check]:
    for name, (programs, hint) in _TOOLS.items():
        found = [program for program in programs if shutil.which(program)]
        yield Check(
            name=name,
            state=State.OK if found else State.MISSING,
            found=", ".join(found) or "none of " + ", ".join(programs),
            hint="" if found else hint,
        )


def _extras() -> Iterator[Check]:
    for module, extra in _EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        yield Check(
            name=f"extra {extra}",
            state=State.OK if there else State.MISSING,
            found="installed" if there else "not installed",
            hint="" if there else f"optional: pip install 'cubisect[{extra}]'",
        )
