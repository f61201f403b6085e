"""One fresh process per trial: what each way costs, side by side in one run.

    python benchmarks/isolation.py [--seconds 6] [--driver sim:null] [--ways lane "cold python"] [--json FILE]

Every way runs the same trial and hands the same report back. Ways: a cold ``python`` per trial with the same imports,
multiprocessing's forkserver with the same modules preloaded, pebble with one task per process and loky with one
executor per trial (where they are installed: ``pip install pebble loky``), and the product's lanes without and with one
spare. Figures: trials per second, median and 99th percentile of a trial's time as the caller sees it, and CPU time of
the calling process per trial. Which faults each way tells truthfully: ``benchmarks/isolation_faults.py``.
"""

import argparse
import importlib
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cubisect import drivers
from cubisect.isolation import Lane, LaneOptions
from cubisect.outcome import Phase
from cubisect.space import Point
from cubisect.trial import TrialSpec

DEADLINE_S = 30.0
WARM_UP_TRIALS = 5

RunOne = Callable[[TrialSpec], None]
"""Runs one trial in a fresh process and raises when it is not ok."""


class NoProgress:
    """A progress page that nobody reads."""

    def enter(self, phase: Phase, repetition: int = 0) -> None:
        """Forget it."""


def trial_body(driver: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Run one trial in this process and return its report."""
    loaded, trial = drivers.load(driver), TrialSpec.from_json(spec)
    loaded.warm_up(trial.gpu)
    return asdict(loaded.run(trial, NoProgress()))


# -- the ways ----------------------------------------------------------------------------------------------------------


@contextmanager
def cold(driver: str) -> Iterator[RunOne]:
    """Start a Python interpreter per trial."""

    def run_one(spec: TrialSpec) -> None:
        request = json.dumps([driver, spec.to_json()])
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--cold-child"]
        done = subprocess.run(
            command, input=request, env=environment, capture_output=True, text=True, check=True, timeout=DEADLINE_S
        )
        _check(json.loads(done.stdout))

    yield run_one


@contextmanager
def forkserver(driver: str) -> Iterator[RunOne]:
    """Start one `multiprocessing` process per trial; a lock keeps threads from reaping each other's children."""
    context = multiprocessing.get_context("forkserver")

    def run_one(spec: TrialSpec) -> None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_send_report, args=(theirs, driver, spec.to_json()))
        with _FORKSERVER_LOCK:
            process.start()
        theirs.close()
        if not ours.poll(DEADLINE_S):
            raise TimeoutError
        _check(ours.recv())
        with _FORKSERVER_LOCK:
            process.join()
        if process.exitcode != 0:
            raise RuntimeError(f"exit code {process.exitcode}")
        process.close()
        ours.close()

    yield run_one


_FORKSERVER_LOCK = threading.Lock()


def _send_report(pipe: Any, driver: str, spec: dict[str, Any]) -> None:
    pipe.send(trial_body(driver, spec))


@contextmanager
def pebble(driver: str) -> Iterator[RunOne]:
    """Use a pebble pool of one worker that is replaced after each task."""
    process_pool = importlib.import_module("pebble").ProcessPool  # optional

    with process_pool(max_workers=1, max_tasks=1, context=multiprocessing.get_context("forkserver")) as pool:
        yield lambda spec: _check(pool.schedule(trial_body, args=[driver, spec.to_json()], timeout=DEADLINE_S).result())


@contextmanager
def loky(driver: str) -> Iterator[RunOne]:
    """Use a loky executor of one worker per trial: it has no other way to give each task a process of its own."""
    executor_of = importlib.import_module("loky").ProcessPoolExecutor  # optional

    def run_one(spec: TrialSpec) -> None:
        with executor_of(max_workers=1) as executor:
            _check(executor.submit(trial_body, driver, spec.to_json()).result(DEADLINE_S))

    yield run_one


def lane_with(spares: int) -> Callable[[str], Any]:
    """Return the way of the product, with so many processes ahead."""

    @contextmanager
    def way(driver: str) -> Iterator[RunOne]:
        with Lane(driver, options=LaneOptions(spares=spares)) as lane:

            def run_one(spec: TrialSpec) -> None:
                evidence = lane.run(spec, DEADLINE_S)
                if evidence.report is None or evidence.exit_code != 0:
                    raise RuntimeError(str(evidence))
                _check(asdict(evidence.report))

            yield run_one

    return way


def _check(report: dict[str, Any]) -> None:
    if report["setup_failed"] or report["cuda_error"]:
        raise RuntimeError(str(report))


WAYS: dict[str, Callable[[str], Any]] = {
    "cold python": cold,
    "mp forkserver": forkserver,
    "pebble": pebble,
    "loky": loky,
    "lane": lane_with(0),
    "lane, 1 spare": lane_with(1),
}


# -- measuring ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one way came to."""

    way: str
    lanes: int
    trials: int
    per_second: float
    median_ms: float
    p99_ms: float
    parent_cpu_ms: float


def measure(name: str, driver: str, lanes: int, seconds: float) -> Figures:
    """Run one way on so many lanes for so many seconds."""
    times: list[float] = []
    ready, go = threading.Barrier(lanes + 1), threading.Event()

    def serve(number: int) -> None:
        with WAYS[name](driver) as run_one:
            for warm in range(WARM_UP_TRIALS):
                run_one(TrialSpec.at(Point(), run_seed=warm))
            ready.wait()
            go.wait()
            until = time.perf_counter() + seconds
            while (began := time.perf_counter()) < until:
                run_one(TrialSpec.at(Point(), run_seed=number))
                times.append(time.perf_counter() - began)

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(lanes)]
    for thread in threads:
        thread.start()
    ready.wait()
    cpu, began = time.process_time(), time.perf_counter()
    go.set()
    for thread in threads:
        thread.join()
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    ordered = sorted(times)
    return Figures(
        way=name,
        lanes=lanes,
        trials=len(ordered),
        per_second=len(ordered) / elapsed,
        median_ms=ordered[len(ordered) // 2] * 1e3,
        p99_ms=ordered[int(len(ordered) * 0.99)] * 1e3,
        parent_cpu_ms=cpu / len(ordered) * 1e3,
    )


def main() -> None:
    """Measure every way on one lane and on two, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=6.0, help="time per way and number of lanes")
    parser.add_argument("--driver", default="sim:null")
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), metavar="WAY")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--cold-child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold_child:
        json.dump(trial_body(*json.load(sys.stdin)), sys.stdout)
        return
    multiprocessing.get_context("forkserver").set_forkserver_preload(["cubisect.isolation.zygote", __name__])
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores; driver {options.driver}")
    print(f"{'way':<15}{'lanes':>6}{'trials':>8}{'trials/s':>10}{'median ms':>11}{'p99 ms':>9}{'parent CPU ms':>15}")
    found = []
    for name in options.ways:
        if name in {"pebble", "loky"} and importlib.util.find_spec(name) is None:
            print(f"{name:<15}(not installed)")
            continue
        for lanes in options.lanes:
            f = measure(name, options.driver, lanes, options.seconds)
            found.append(asdict(f))
            print(
                f"{f.way:<15}{f.lanes:>6}{f.trials:>8}{f.per_second:>10.1f}{f.median_ms:>11.2f}{f.p99_ms:>9.2f}"
                f"{f.parent_cpu_ms:>15.2f}"
            )
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
