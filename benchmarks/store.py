"""What the record costs: writing trials, reading a campaign as a frame, and taking it up again.

    python benchmarks/store.py [--trials 100000] [--db URL] [--json FILE]

Writing is measured through the store, as a campaign writes, on the first thousand trials; the rest is copied from these
by the database itself, for that is not what is measured. `frame` is what every analysis starts with. `resume` is the
time until a campaign can go on: all trials are read and added to a study.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import create_engine, insert, literal, select, update

from cubisect.engines.base import Completed, Job
from cubisect.features import batch_features
from cubisect.outcome import DriverReport, Evidence, Phase, ResultState, classify
from cubisect.search.boundary.encoding import Encoding
from cubisect.search.campaign import CampaignLoop
from cubisect.search.recorder import Recorder
from cubisect.search.samplers import make_sampler, random_row
from cubisect.space import Space
from cubisect.store import Campaign, NewCampaign, Plan, Result, Store
from cubisect.store.models import CampaignRow, TrialRow
from cubisect.trial import Origin, Purpose, TrialSpec

WRITTEN = 1_000
EVIDENCE = Evidence(
    exit_code=0, result_state=ResultState.COMPLETE, wall_s=0.01, phase=Phase.DONE, repetition=1, report=DriverReport()
)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Milliseconds a trial for writing, seconds for reading."""

    trials: int
    begin_ms: float
    finish_ms: float
    frame_s: float
    columns_s: float
    trials_s: float
    resume_s: float


class NoEngine:
    """Runs nothing."""

    lanes = 1

    def submit(self, job: Job) -> None:
        """Forget the job."""

    def next_result(self, timeout_s: float) -> Completed | None:
        """Return nothing."""

    def close(self) -> None:
        """Do nothing."""


def seconds(work: Callable[[], Any]) -> float:
    """Return how long the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def write(store: Store, campaign: Campaign) -> tuple[float, float]:
    """Write trials all over the space, and return the milliseconds that beginning and finishing one takes."""
    encoding, rng = Encoding(campaign.space), np.random.default_rng(1)
    verdict, begin_s, finish_s = classify(EVIDENCE), 0.0, 0.0
    for seed in range(WRITTEN):
        point = campaign.space.point(encoding.coordinates(random_row(encoding, rng)))
        spec = TrialSpec.at(point, seed=seed, run_seed=seed)
        features = batch_features(TrialSpec(seed=seed, descriptor_count=64, total_bytes=1 << 20).batch, spec)
        began = time.perf_counter()
        begun = store.begin_trial(campaign, Plan(spec=spec, purpose=Purpose.SEARCH, origin=Origin.EXPLORE))
        between = time.perf_counter()
        assert begun is not None
        store.finish_trial(campaign, begun.number, Result(evidence=EVIDENCE, verdict=verdict, features=features))
        begin_s, finish_s = begin_s + between - began, finish_s + time.perf_counter() - between
    return begin_s / WRITTEN * 1e3, finish_s / WRITTEN * 1e3


def multiply(url: str, campaign: Campaign, trials: int) -> None:
    """Copy what is written until there are so many trials."""
    engine = create_engine(url if "://" in url else f"sqlite:///{url}")
    names = [column.name for column in TrialRow.__table__.c if column.name not in {"id", "number", "finished"}]
    columns = [getattr(TrialRow, name) for name in names]
    with engine.begin() as connection:
        for shift in range(WRITTEN, trials, WRITTEN):
            copied = select(*columns, TrialRow.number + literal(shift), TrialRow.finished + literal(shift))
            of_first = TrialRow.campaign_id == campaign.id, TrialRow.number <= WRITTEN
            connection.execute(insert(TrialRow).from_select([*names, "number", "finished"], copied.where(*of_first)))
        counts = {"claimed": trials, "finished": trials, "next_number": trials + 1}
        connection.execute(update(CampaignRow).where(CampaignRow.id == campaign.id).values(**counts))
    engine.dispose()


def resume(url: str, name: str) -> None:
    """Take up the campaign as another process would."""
    store = Store.open(url, owner="elsewhere:1:1")
    campaign = store.campaign(name)
    loop = CampaignLoop(
        store, campaign, Recorder(store, campaign, NoEngine()), make_sampler("boundary", campaign.space, 1), seed=1
    )
    assert loop.progress.done_at_start
    store.close()


def measure(url: str, trials: int) -> Figures:
    """Measure everything on a new database."""
    store = Store.open(url, create=True)
    new = NewCampaign(
        name="c",
        driver="sim:null",
        simulated=True,
        seed=1,
        space=Space.default(),
        sampler="boundary",
        budget=trials + 1,
    )
    campaign = store.create_campaign(new)
    begin_ms, finish_ms = write(store, campaign)
    multiply(url, campaign, trials)
    figures = Figures(
        trials=trials,
        begin_ms=round(begin_ms, 3),
        finish_ms=round(finish_ms, 3),
        frame_s=round(min(seconds(lambda: store.frame(campaign)) for _ in range(3)), 2),
        columns_s=round(
            min(seconds(lambda: store.columns(campaign, ["outcome", "descriptor_count"])) for _ in range(3)), 2
        ),
        trials_s=round(seconds(lambda: store.trials(campaign)), 2),
        resume_s=round(seconds(lambda: resume(url, campaign.name)), 2),
    )
    store.close()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--db", help="an empty database; by default a SQLite file that is removed afterwards")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.db or str(Path(folder, "trials.sqlite")), options.trials)
    print(json.dumps(vars(figures), indent=1))
    if options.json:
        options.json.write_text(json.dumps(vars(figures), indent=1) + "\n")


if __name__ == "__main__":
    main()
