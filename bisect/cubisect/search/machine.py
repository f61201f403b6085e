"""Where trials run: the lanes of this machine, and which driver is under test."""

from dataclasses import dataclass
from pathlib import Path

from cubisect.engines.local import LocalEngine
from cubisect.isolation import LaneOptions
from cubisect.isolation.gpu_core import GpuCores
from cubisect.isolation.resolve import Resolved, resolve_driver
from cubisect.space import Range, Space
from cubisect.store import Campaign, Store


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and how trials run; none of it changes which trials are asked for."""

    lanes: int | None = None
    gpus: tuple[int, ...] | None = None
    share_gpus: bool = False
    timeout_s: float | None = None
    spares: int | None = None
    memory_limit_bytes: int | None = None
    controls: bool = True
    canaries: bool = True
    gpu_core_folder: Path | None = None


def local_engine(campaign: Campaign, machine: Machine, store: Store) -> LocalEngine:
    """Return lanes on this machine: by default one per GPU, or one per core on a simulated driver.

    What the store knows of calibrations is used, and what is measured goes there.
    """
    return LocalEngine(
        campaign.driver,
        lanes=machine.lanes,
        gpus=machine.gpus,
        ranks=_most_ranks(campaign.space),
        share_gpus=machine.share_gpus,
        timeout_s=machine.timeout_s,
        canaries=machine.canaries,
        options=LaneOptions(
            spares=machine.spares,
            memory_limit_bytes=machine.memory_limit_bytes,
            gpu_cores=GpuCores(machine.gpu_core_folder) if machine.gpu_core_folder else None,
        ),
        book=store,
    )


def _most_ranks(space: Space) -> int:
    domain = space.varied.get("ranks", (space.base.ranks,))
    return int(domain.high if isinstance(domain, Range) else max(int(ranks) for ranks in domain))


def resolve(driver: str) -> Resolved:
    """Return which driver will be used, and what it runs on; `auto` takes CUDA where there is a device."""
    return resolve_driver(driver)
