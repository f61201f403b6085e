"""What a campaign spends outside of its trials: search, store and display, on trials that do nothing.

    python benchmarks/overhead.py [--budget 500] [--driver sim:null] [--json FILE]

One lane runs a whole campaign. Its time is shared out: *idle*, while the lane has no trial because the search, the
store or the display has not handed it the next one; *around*, while it forks the trial's process, gathers what was
seen of its end and reports it; *trial*, the time recorded with each trial. The rest is the first trial's wait.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from cubisect.cli.display import Display
from cubisect.engines.base import Job
from cubisect.engines.local import LocalEngine
from cubisect.isolation.attendant import Attendant
from cubisect.search.explore import NewRequest, new_campaign, run_on
from cubisect.search.machine import Machine, resolve
from cubisect.space import Space
from cubisect.store import Store


class TimedEngine(LocalEngine):
    """One lane that knows how long it had nothing to do."""

    idle_s = busy_s = 0.0
    _free_since: float | None = None

    def _run(self, number: int, attendant: Attendant, job: Job) -> None:
        start = time.perf_counter()
        if self._free_since is not None:
            self.idle_s += start - self._free_since
        super()._run(number, attendant, job)
        self._free_since = time.perf_counter()
        self.busy_s += self._free_since - start


def measure(url: str, driver: str, budget: int) -> dict[str, Any]:
    """Run one campaign and return where its seconds went."""
    store = Store.open(url, create=True)
    request = NewRequest(space=Space.default(), driver=driver, budget=budget, seed=1, name="overhead")
    campaign = new_campaign(store, request, resolve(driver))
    engine = TimedEngine(driver, lanes=1)
    with Display(Console(stderr=True), label="overhead") as display:
        start = time.perf_counter()
        run_on(store, campaign, engine, Machine(lanes=1), display.update)
        wall = time.perf_counter() - start
    trial = sum(record.wall_s or 0.0 for record in store.trials(campaign))
    store.close()
    shares = {"idle": engine.idle_s, "around": engine.busy_s - trial, "trial": trial}
    return {
        "driver": driver,
        "trials": budget,
        "wall_s": round(wall, 2),
        **{f"{name}_s": round(seconds, 2) for name, seconds in shares.items()},
        **{f"{name}_share": round(seconds / wall, 3) for name, seconds in shares.items()},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--driver", default="sim:null")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(str(Path(folder, "trials.sqlite")), options.driver, options.budget)
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
