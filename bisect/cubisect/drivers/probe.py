"""Ask what CUDA devices there are, in a process of its own: ``python -m cubisect.drivers.probe``.

`cuInit` must never be called in a process that forks trials, so the parent starts this one and reads one line of
JSON: ``{"error": null, "driver_version": "580.159.04", "cuda_version": 13000, "devices": [...]}``. The exit status is
0 when a device can run the batch call and 3 when none can; `error` then says why, for a person.
"""

import json
import sys
from typing import Any

from cubisect.drivers.base import SetupError
from cubisect.errors import ExitCode


def probe() -> dict[str, Any]:
    """Return what this process finds; calls `cuInit`. `error` is None when the batch call can be tried."""
    nothing: dict[str, Any] = {"driver_version": None, "cuda_version": None, "devices": []}
    try:
        from cubisect.drivers.cuda import environment  # noqa: PLC0415  (a missing cuda-python is an answer here)

        return {"error": None, **environment()}
    except (SetupError, ImportError) as error:
        return {"error": str(error), **nothing}


def cuda_available() -> bool:
    """Tell whether the batch call can be tried here; calls `cuInit`, so only ever in a process of its own."""
    return probe()["error"] is None


def main() -> int:
    """Print what is found; return the exit status."""
    found = probe()
    sys.stdout.write(json.dumps(found) + "\n")
    return ExitCode.DONE if found["error"] is None else ExitCode.BAD_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
