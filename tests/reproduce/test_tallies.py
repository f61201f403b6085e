"""How often a very batch failed: both ways, without the trial itself, without what was tainted or is another batch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cubisect.outcome import Outcome
from cubisect.reproduce.case import Tally
from cubisect.reproduce.rows import contiguous
from cubisect.reproduce.tallies import recorded_runs
from cubisect.search.recorder import Recorder, run_plans
from cubisect.space import Point
from cubisect.store import Plan, Store, TrialRecord
from cubisect.trial import Method, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import InProcessEngine


class Always:
    """Segfault, always."""

    name = "always"

    def hazards(self, trial: TrialSpec) -> dict[Outcome, float]:
        del trial
        return {Outcome.SEGFAULT: 1.0}


def _tallies(path: Path, spec: TrialSpec, other: TrialSpec) -> tuple[Tally | None, Tally | None]:
    """Return the tallies of a trial that was run again four times, one of them tainted, beside one of another batch."""
    store = Store.open(str(path), create=True)
    campaign = store.create_campaign(new_campaign())

    def run(plans: Sequence[Plan]) -> list[TrialRecord]:
        return run_plans(Recorder(store, campaign, InProcessEngine(Always(), lanes=len(plans))), plans)

    (record,) = run([Plan(spec=spec, purpose=Purpose.SEARCH)])
    again = Plan(spec=replace(spec, run_seed=1), purpose=Purpose.REPLICATE, parent=record.number)
    runs = run([again] * 4)
    run([Plan(spec=replace(spec, method=Method.PERCOPY), purpose=Purpose.CONTROL, parent=record.number)])
    run([Plan(spec=other, purpose=Purpose.SEARCH)])
    store.taint(campaign, [runs[0].number])
    found = recorded_runs(store.frame(campaign), record)
    store.close()
    return found


def test_runs_of_a_drawn_batch(tmp_path: Path) -> None:
    point = Point(descriptor_count=10, total_bytes=1 << 14)
    found = _tallies(tmp_path / "x.sqlite", TrialSpec.at(point, seed=3), TrialSpec.at(point, seed=4))
    assert found == (Tally(failures=3, trials=3), Tally(failures=0, trials=1))


def test_runs_of_given_descriptors(tmp_path: Path) -> None:
    spec = TrialSpec.at(
        Point(descriptor_count=2, total_bytes=1 << 10), seed=3, descriptors=contiguous(np.array([32, 64]))
    )
    other = replace(spec, descriptors=contiguous(np.array([32, 65])))
    found = _tallies(tmp_path / "x.sqlite", spec, other)
    assert found == (Tally(failures=3, trials=3), Tally(failures=0, trials=1))
