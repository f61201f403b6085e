"""Which driver will be under test, and the environment that makes two campaigns comparable.

CUDA is only ever initialised in a child process: the parent forks trials for hours and must stay clean.
"""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cubisect import __version__, drivers
from cubisect.errors import UnfitEnvironmentError

PROBE_TIMEOUT_S = 60.0
"""A healthy machine answers within a second or two; a wedged GPU may never answer."""

PACKAGES = ("cubisect", "cuda-bindings", "numpy", "optuna", "scikit-learn", "scipy", "sqlalchemy")


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """The driver to use. `note` is a line that the user must see, empty when there is nothing to say."""

    name: str
    simulated: bool
    environment: Mapping[str, Any]
    note: str = ""


def resolve_driver(name: str) -> Resolved:
    """Return what `auto`, `cuda` or `sim:…` means on this machine.

    Raises:
        InputError: the name is none of these, or names no fault model.
        UnfitEnvironmentError: `cuda` was asked for and cannot be used.
    """
    if name == "cuda":
        return _cuda(usable_cuda())
    if name == "auto":
        probe = probe_cuda()
        if not probe.get("error"):
            return _cuda(probe)
        simulated = resolve_driver(drivers.DEFAULT_SIMULATED)
        return replace(simulated, note=f"SIMULATED: no usable GPU here ({probe['error']}); using {simulated.name}")
    driver = drivers.load(name)
    note = f"SIMULATED: {driver.name} is a model of a driver; nothing here was measured on a GPU"
    return Resolved(name=name, simulated=driver.simulated, environment=environment(driver.environment()), note=note)


def usable_cuda() -> dict[str, Any]:
    """Return what `probe_cuda` found.

    Raises:
        UnfitEnvironmentError: CUDA cannot be used here.
    """
    probe = probe_cuda()
    if probe.get("error"):
        raise UnfitEnvironmentError(
            f"--driver cuda: {probe['error']}; type `bisect doctor`, or use --driver {drivers.DEFAULT_SIMULATED}"
        )
    return probe


def probe_cuda() -> dict[str, Any]:
    """Return what a child process found when it initialised CUDA; the key ``error`` says why it could not."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cubisect.drivers.probe"],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"the CUDA driver did not answer within {PROBE_TIMEOUT_S:.0f} s"}
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"error": f"probing CUDA ended with status {done.returncode}: {last[0]}"}
    return found


def environment_here(driver: str, probe: Mapping[str, Any]) -> dict[str, Any]:
    """Return this machine's environment for a driver; `probe` is what `probe_cuda` found, for `cuda`.

    Raises:
        InputError: the name is of no driver.
    """
    return environment(probe if driver == "cuda" else drivers.load(driver).environment())


def environment(driver: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fingerprint: what the driver says of itself, this machine without its name, package versions.

    It is as JSON gives it back, so that one which was recorded is equal to one which was not.
    """
    found = {
        "driver": dict(driver),
        "host": {
            "system": platform.system(),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
        },
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }
    plain: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return plain


def _cuda(probe: Mapping[str, Any]) -> Resolved:
    device = probe["devices"][0]["name"] if probe.get("devices") else "unknown device"
    note = f"real driver {probe.get('driver_version', '?')} on {device}"
    return Resolved(name="cuda", simulated=False, environment=environment(probe), note=note)


def _version(package: str) -> str | None:
    if package == "cubisect":
        return __version__
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
