"""Drivers under test: the real one (`cuda`) and simulated ones (`sim:<fault model>`)."""

import importlib
import sys
from pathlib import Path
from typing import Any

from cubisect.drivers.base import Driver
from cubisect.drivers.fault_models import MODELS, check_model
from cubisect.errors import InputError, UnfitEnvironmentError, choices

DEFAULT_SIMULATED = "sim:vllm-49276"
"""What ``--driver auto`` takes on a machine without a usable GPU."""


def names() -> list[str]:
    """Return the drivers that come with the product."""
    return ["cuda", *(f"sim:{name}" for name in MODELS)]


def load(name: str) -> Driver:
    """Return the driver called `name`: ``cuda``, ``sim:MODEL``, ``sim:package.module:Class`` or ``driver:…:Class``.

    Loading never touches the GPU, so that the process may still fork. ``auto`` is no driver: whoever starts
    processes asks ``python -m cubisect.drivers.probe`` whether CUDA is there, and falls back to `DEFAULT_SIMULATED`.

    Raises:
        InputError: no such driver, or its fault model is broken.
        UnfitEnvironmentError: cuda-python cannot be imported.
    """
    kind, _, rest = name.partition(":")
    if name == "cuda":
        return _cuda()
    if kind == "sim" and rest:
        return _simulated(rest)
    if kind == "driver" and ":" in rest:
        driver = _instance(rest)
        if isinstance(driver, Driver):
            return driver
        raise InputError(f"{name} is no driver: it lacks name, simulated, warm_up, run or environment")
    raise InputError(f"unknown driver {name!r}; allowed are auto, {choices(names())}, sim:package.module:Class")


def _cuda() -> Driver:
    try:
        from cubisect.drivers.cuda import CudaDriver  # noqa: PLC0415  (cuda-python is imported only when asked for)
    except ImportError as error:
        raise UnfitEnvironmentError(
            f"driver cuda needs cuda-python 13: {error}; type `pip install 'cuda-python>=13'`, or use --driver "
            f"{DEFAULT_SIMULATED}"
        ) from error
    driver: Driver = CudaDriver()
    return driver


def _simulated(name: str) -> Driver:
    from cubisect.drivers.simulated import SimulatedDriver  # noqa: PLC0415  (imports this package)

    if name in MODELS:
        return SimulatedDriver(MODELS[name](), name)
    if ":" not in name:
        raise InputError(f"unknown fault model {name!r}; allowed are {choices(MODELS)}, or package.module:Class")
    model = _instance(name)
    if not callable(getattr(model, "hazards", None)):
        raise InputError(f"{name} is no fault model: it has no method hazards(trial)")
    if not isinstance(getattr(model, "name", None), str):
        model.name = name
    check_model(model)
    return SimulatedDriver(model, name)


def _instance(path: str) -> Any:
    """Return an instance of the class at ``package.module:Class``; modules in the working directory are found too."""
    module_name, _, class_name = path.partition(":")
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        return getattr(importlib.import_module(module_name), class_name)()
    except Exception as error:  # (somebody else's code: whatever it raises is for its author to read)
        raise InputError(
            f"cannot make {path!r}: {type(error).__name__}: {error}; write package.module:Class, a class that needs no "
            f"arguments, in a module that Python finds from {here}"
        ) from error
    finally:
        sys.path.remove(here)
