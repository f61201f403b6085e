"""Joined explorers on one database: what several `bisect explore` processes do together, beside one alone.

    python benchmarks/joined.py [--explorers 1,2,4,8] [--seconds 12] [--trial 0.05] [--sampler boundary] [--sqlite]
                                [--json FILE]

A trial is simulated and sleeps, so that the explorers need not share out the processor; what they share is the database
and its campaign. A real server is started for the run, with its own settings but for listening on no port; with
--sqlite a file takes its place. Rates are measured while all explorers run: from the last one's first trial to the last
trial's start. In the end 8 explorers run, half of them are killed (SIGKILL) in the middle, and the others finish; then
once more, with the killed ones' names in the record changed to those of another machine, so that nobody can see that
they are gone, and the lease must expire.

What is checked every time: trial numbers without a gap or a double, exactly the budget recorded, nothing left running,
no batch run twice but by a replicate.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, select, update

from cubisect.search.explore import NewRequest, new_campaign
from cubisect.search.machine import resolve
from cubisect.space import Space
from cubisect.store import Campaign, Store
from cubisect.store.models import CampaignRow, TrialRow

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from joined_model import SECONDS  # noqa: E402

from support.postgres import running_server  # noqa: E402

DRIVER = "sim:joined_model:Sleeping"
ELSEWHERE = "0000000000000000:1:1"
"""An owner on no machine that is known here."""

WORK_S = 0.02
"""What a trial takes beside its sleep, for choosing a budget that lasts."""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """What came of one campaign."""

    explorers: int
    budget: int
    trials_per_s: float
    against_one: float | None
    by_explorer: tuple[int, ...]
    exact: bool
    wall_s: float
    lost: int = 0
    killed: int = 0
    elsewhere: bool = False
    waited_s: float | None = None


@dataclass(kw_only=True)
class Bench:
    """A running server and how trials are made."""

    url: str
    trial_s: float
    sampler: str

    def campaign(self, name: str, budget: int) -> Campaign:
        """Record a new campaign."""
        store = Store.open(self.url, create=True)
        request = NewRequest(space=Space.default(), driver=DRIVER, budget=budget, sampler=self.sampler, name=name)
        made = new_campaign(store, request, resolve(DRIVER))
        store.close()
        return made

    def explorer(self, campaign: Campaign) -> "subprocess.Popen[bytes]":
        """Start a process that joins the campaign with one lane."""
        command = [sys.executable, "-m", "cubisect.cli", "explore", "--resume", campaign.name, "--db", self.url]
        environment = {**os.environ, "PYTHONPATH": str(HERE), SECONDS: str(self.trial_s), "OMP_NUM_THREADS": "1"}
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": str(HERE)}
        return subprocess.Popen([*command, "--lanes", "1"], env=environment, **quiet)

    def rows(self, campaign: Campaign) -> list[Any]:
        """Return what is recorded of every trial."""
        engine = create_engine(self.url)
        query = select(
            TrialRow.number, TrialRow.state, TrialRow.owner, TrialRow.started_at, TrialRow.ended_at, TrialRow.seed,
            TrialRow.purpose, TrialRow.descriptor_count, TrialRow.total_bytes,
        ).where(TrialRow.campaign_id == campaign.id).order_by(TrialRow.number)  # fmt: skip
        with engine.connect() as connection:
            found = list(connection.execute(query))
        engine.dispose()
        return found

    def finished(self, campaign: Campaign) -> int:
        """Return how many trials have finished."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            count = connection.execute(select(CampaignRow.finished).where(CampaignRow.id == campaign.id)).scalar_one()
        engine.dispose()
        return count

    def move_elsewhere(self, campaign: Campaign, pids: list[int]) -> None:
        """Write another machine's name over the owners of these processes' running trials."""
        engine = create_engine(self.url)
        with engine.begin() as connection:
            for pid in pids:
                mine = TrialRow.campaign_id == campaign.id, TrialRow.owner.contains(f":{pid}:")
                connection.execute(update(TrialRow).where(*mine, TrialRow.state == "running").values(owner=ELSEWHERE))
        engine.dispose()

    def running(self, campaign: Campaign) -> int:
        """Return how many trials are recorded as running."""
        return sum(row.state == "running" for row in self.rows(campaign))


def join(bench: Bench, explorers: int, budget: int, one: float | None) -> Joined:
    """Run one campaign with so many explorers."""
    campaign = bench.campaign(f"joined-{explorers}", budget)
    began = time.monotonic()
    _wait([bench.explorer(campaign) for _ in range(explorers)])
    return _judged(bench, campaign, explorers, time.monotonic() - began, one)


def join_and_kill(bench: Bench, explorers: int, budget: int, one: float | None, *, elsewhere: bool) -> Joined:
    """Run one campaign and kill half of the explorers when a third of it is done."""
    campaign = bench.campaign(f"killed-{'elsewhere' if elsewhere else 'here'}", budget)
    began = time.monotonic()
    processes = [bench.explorer(campaign) for _ in range(explorers)]
    while bench.finished(campaign) < budget // 3:
        time.sleep(0.2)
    victims, others = processes[::2], processes[1::2]
    for victim in victims:
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    killed_at = time.monotonic()
    if elsewhere:
        bench.move_elsewhere(campaign, [victim.pid for victim in victims])
    _wait(others)
    now = time.monotonic()
    judged = _judged(bench, campaign, explorers, now - began, one)
    return Joined(**{**asdict(judged), "killed": len(victims), "elsewhere": elsewhere, "waited_s": now - killed_at})


def _wait(processes: list["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        _, complaint = process.communicate()
        if process.returncode:
            raise SystemExit(f"an explorer ended with {process.returncode}: {complaint.decode()[-2000:]}")


def _judged(bench: Bench, campaign: Campaign, explorers: int, wall_s: float, one: float | None) -> Joined:
    rows = bench.rows(campaign)
    done = [row for row in rows if row.state == "done"]
    first = {owner: min(row.started_at for row in done if row.owner == owner) for owner in {r.owner for r in done}}
    all_run, last = max(first.values()), max(row.started_at for row in done)
    within = sum(row.started_at >= all_run for row in done) - 1
    rate = within / (last - all_run).total_seconds()
    batches = Counter((row.seed, row.descriptor_count, row.total_bytes) for row in done if row.purpose != "replicate")
    exact = (
        [row.number for row in rows] == list(range(1, len(rows) + 1))
        and len(done) == campaign.budget
        and not any(row.state == "running" for row in rows)
        and max(batches.values()) == 1
    )
    return Joined(
        explorers=explorers, budget=campaign.budget, trials_per_s=round(rate, 1),
        against_one=None if one is None else round(rate / one, 2),
        by_explorer=tuple(sorted(Counter(row.owner for row in done).values(), reverse=True)), exact=exact,
        wall_s=round(wall_s, 1), lost=sum(row.state == "lost" for row in rows),
    )  # fmt: skip


@contextmanager
def _database(folder: Path, *, sqlite: bool) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if sqlite:
        yield f"sqlite:///{folder / 'joined.sqlite'}"
        return
    with running_server(folder / "server", ()) as server:
        yield server.create("joined")


def main() -> None:
    """Run everything and print a line for each campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--explorers", default="1,2,4,8")
    parser.add_argument("--seconds", type=float, default=12.0, help="how long a campaign is to last")
    parser.add_argument("--trial", type=float, default=0.05, help="seconds that a trial sleeps")
    parser.add_argument("--sampler", default="boundary")
    parser.add_argument("--kill", choices=["none", "here", "both"], default="both")
    parser.add_argument("--sqlite", action="store_true", help="a SQLite file instead of a PostgreSQL server")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.append(str(HERE))
    results: list[Joined] = []
    with tempfile.TemporaryDirectory() as folder, _database(Path(folder), sqlite=options.sqlite) as url:
        bench = Bench(url=url, trial_s=options.trial, sampler=options.sampler)
        alone = 1.0 / (options.trial + WORK_S)
        one: float | None = None
        for explorers in map(int, options.explorers.split(",")):
            results.append(join(bench, explorers, int(options.seconds * alone * explorers), one))
            one = one or results[-1].trials_per_s
            print(results[-1], flush=True)
        for elsewhere in {"none": (), "here": (False,), "both": (False, True)}[options.kill]:
            results.append(join_and_kill(bench, 8, int(options.seconds * alone * 6), one, elsewhere=elsewhere))
            print(results[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    if not all(result.exact for result in results):
        raise SystemExit("a campaign was not recorded exactly")


if __name__ == "__main__":
    main()
