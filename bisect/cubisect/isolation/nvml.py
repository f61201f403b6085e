"""Readings of a GPU that need no CUDA context, from NVML; absent where there is none, which is fine."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

try:
    import pynvml
except ImportError:  # an optional look from outside
    pynvml = None


@dataclass(frozen=True, kw_only=True)
class GpuReading:
    """What NVML says of one GPU now; None is "it does not say". `others` are processes with memory on it."""

    ecc_uncorrected: int | None = None
    memory_used_bytes: int | None = None
    utilisation: float | None = None
    temperature_c: int | None = None
    others: tuple[int, ...] = ()


class Nvml:
    """NVML for the devices that CUDA numbers as in `uuids`. Every question may be asked; nothing raises."""

    def __init__(self, uuids: dict[int, str] | None = None) -> None:
        self._handles: dict[int, Any] = {}
        self._xids = None
        if pynvml is None or not uuids:
            return
        try:
            pynvml.nvmlInit()
            self._handles = {gpu: pynvml.nvmlDeviceGetHandleByUUID(uuid) for gpu, uuid in uuids.items()}
        except pynvml.NVMLError:
            self._handles = {}
        self._xids = self._watch_xids()

    def reading(self, gpu: int) -> GpuReading:
        """Return what is known of the GPU now."""
        handle = self._handles.get(gpu)
        if handle is None:
            return GpuReading()
        ecc = (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)
        processes = _asked(lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
        memory = _asked(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle))
        return GpuReading(
            ecc_uncorrected=_asked(lambda: int(pynvml.nvmlDeviceGetTotalEccErrors(handle, *ecc))),
            memory_used_bytes=None if memory is None else int(memory.used),
            utilisation=self.utilisation(gpu),
            temperature_c=_asked(lambda: int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))),
            others=tuple(int(process.pid) for process in processes),
        )

    def utilisation(self, gpu: int) -> float | None:
        """Return the share of the last moments in which a kernel or copy ran, 0 to 1."""
        handle = self._handles.get(gpu)
        if handle is None:
            return None
        share: float | None = _asked(lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
        return share

    def new_xids(self) -> list[int]:
        """Return the numbers of the Xid errors (driver messages about a GPU in trouble) since the last question."""
        found: list[int] = []
        while self._handles and self._xids is not None:
            event = _asked(lambda: pynvml.nvmlEventSetWait_v2(self._xids, 0))
            if event is None:
                break
            found.append(int(event.eventData))
        return found

    def _watch_xids(self) -> Any:
        if not self._handles:
            return None
        events = _asked(pynvml.nvmlEventSetCreate)
        kind = pynvml.nvmlEventTypeXidCriticalError
        for handle in self._handles.values():
            _asked(partial(pynvml.nvmlDeviceRegisterEvents, handle, kind, events))
        return events


def _asked(question: Callable[[], Any]) -> Any:
    """Return NVML's answer, None when it has none (not supported, no permission, timeout)."""
    try:
        return question()
    except pynvml.NVMLError:
        return None
