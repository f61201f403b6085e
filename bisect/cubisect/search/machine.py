"""Where trials run: the lanes of this machine, and which driver is under test."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubisect.engines.base import Engine
from cubisect.engines.local import LocalEngine, devices_of, usable_gpus
from cubisect.engines.ray import RayEngine
from cubisect.engines.ray_cluster import check_room, resolve_on
from cubisect.errors import InputError, choices
from cubisect.isolation import LaneOptions
from cubisect.isolation.gpu_core import GpuCores
from cubisect.isolation.resolve import Resolved, resolve_driver
from cubisect.space import Range, Space
from cubisect.store import Campaign, Store

ENGINES = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and how trials run; none of it changes which trials are asked for. `address` is of a Ray cluster."""

    lanes: int | None = None
    gpus: tuple[int, ...] | None = None
    share_gpus: bool = False
    timeout_s: float | None = None
    spares: int | None = None
    memory_limit_bytes: int | None = None
    controls: bool = True
    canaries: bool = True
    gpu_core_folder: Path | None = None
    engine: str = "local"
    address: str | None = None


def engine_for(campaign: Campaign, machine: Machine, store: Store) -> Engine:
    """Return lanes on this machine or on a Ray cluster: by default one per GPU, or one per core on a simulated driver.

    What the store knows of calibrations is used, and what is measured goes there.

    Raises:
        InputError: an engine, lane or GPU that cannot be.
        UnfitEnvironmentError: no Ray cluster answers.
    """
    check_engine(machine)
    common: dict[str, Any] = {
        "lanes": machine.lanes,
        "ranks": _most_ranks(campaign.space),
        "share_gpus": machine.share_gpus,
        "timeout_s": machine.timeout_s,
        "canaries": machine.canaries,
        "options": LaneOptions(
            spares=machine.spares,
            memory_limit_bytes=machine.memory_limit_bytes,
            gpu_cores=GpuCores(machine.gpu_core_folder) if machine.gpu_core_folder else None,
        ),
        "book": store,
    }
    if machine.engine == "ray":
        return RayEngine(campaign.driver, address=machine.address, **common)
    return LocalEngine(campaign.driver, gpus=machine.gpus, **common)


def check_engine(machine: Machine) -> None:
    """Raise `InputError` when an option does not go with the engine."""
    if machine.engine not in ENGINES:
        raise InputError(f"--engine {machine.engine}: unknown; allowed are {choices(ENGINES)}")
    if machine.engine == "local" and machine.address is not None:
        raise InputError(f"--address {machine.address}: this is for --engine ray; add it")
    if machine.engine == "ray" and machine.gpus is not None:
        raise InputError("--gpus: Ray shares out the GPUs; start its nodes with `ray start --num-gpus N` instead")
    if machine.engine == "ray" and machine.gpu_core_folder is not None:
        raise InputError("--gpu-core-dump: a folder of this machine is of no use on another; use --engine local")


def check_fits(machine: Machine, resolved: Resolved, space: Space) -> None:
    """See that the machine has what a new campaign asks of it, before the campaign is recorded.

    Raises:
        InputError: GPUs or lanes that there are not, or fewer GPUs than ranks.
        UnfitEnvironmentError: no Ray cluster answers.
    """
    ranks, share_gpus = _most_ranks(space), machine.share_gpus
    if machine.engine == "ray":
        check_room(machine.address, resolved.name, machine.lanes, ranks, share_gpus=share_gpus)
    else:
        devices = devices_of(resolved.environment.get("driver", {}))
        usable_gpus(resolved.name, devices, machine.gpus, ranks=ranks, share_gpus=share_gpus)


def _most_ranks(space: Space) -> int:
    domain = space.varied.get("ranks", (space.base.ranks,))
    return int(domain.high if isinstance(domain, Range) else max(int(ranks) for ranks in domain))


def resolve(driver: str, machine: Machine | None = None) -> Resolved:
    """Return which driver will be used, and what it runs on; `auto` takes CUDA where there is a device."""
    if machine is not None:
        check_engine(machine)
    if machine is not None and machine.engine == "ray":
        return resolve_on(machine.address, driver)
    return resolve_driver(driver)
