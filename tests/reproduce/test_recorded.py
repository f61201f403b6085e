"""Shrinking through the store: every run recorded, stopped anywhere and gone on with, a record to export at the end."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.reproduce.recorded import Run, run_shrink, shrink_trials
from cubisect.search.recorder import Recorder, run_plans
from cubisect.space import MIB, Point
from cubisect.store import Campaign, Plan, Store, TrialRecord
from cubisect.trial import Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import InProcessEngine

START = Point.of({"descriptor_count": 1500, "total_bytes": MIB, "repetition": 4})


class Small:
    """Segfault, always, with 300 or more copies in one batch; few, for every run is recorded with its features."""

    name = "small"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        return {Outcome.SEGFAULT: 1.0} if len(trial.sizes) >= 300 else {}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'db.sqlite'}", create=True)


def running(store: Store, campaign: Campaign, *, stop_after: int = 10_000) -> Run:
    """Return what runs plans in this process, until the user presses Ctrl-C after so many."""
    left = stop_after

    def run(plans: Sequence[Plan]) -> list[TrialRecord]:
        nonlocal left
        left -= len(plans)
        if left < 0:
            raise KeyboardInterrupt
        return run_plans(Recorder(store, campaign, InProcessEngine(Small(), lanes=len(plans))), plans)

    return run


def failing(store: Store, campaign: Campaign) -> TrialRecord:
    plan = Plan(spec=TrialSpec.at(START, seed=3), purpose=Purpose.SEARCH)
    return running(store, campaign)([plan])[0]


def test_ends_with_a_record_that_shows_the_smallest_trial(store: Store) -> None:
    campaign = store.create_campaign(new_campaign())
    record = failing(store, campaign)
    shrunk = run_shrink(store, record, running(store, campaign), parallel=2)
    assert 300 <= shrunk.result.after.descriptors <= 450
    assert shrunk.record.signature == record.signature
    assert shrunk.record.purpose is Purpose.SHRINK
    assert shrunk.record.parent == record.number
    assert shrunk.record.spec.batch.descriptors == shrunk.result.spec.batch.descriptors
    recorded = shrink_trials(store, record)
    assert len(recorded) == shrunk.result.trials
    assert len({(trial.spec.run_seed, trial.spec.batch.descriptors) for trial in recorded[:30]}) == 30


def test_interrupted_it_goes_on_where_it_was(store: Store) -> None:
    campaign = store.create_campaign(new_campaign())
    record = failing(store, campaign)
    with pytest.raises(KeyboardInterrupt):
        run_shrink(store, record, running(store, campaign, stop_after=60))
    done = len(shrink_trials(store, record))
    assert done == 60
    shrunk = run_shrink(store, record, running(store, campaign))
    other = store.create_campaign(new_campaign("other"))
    at_once = run_shrink(store, failing(store, other), running(store, other))
    assert shrunk.result.after == at_once.result.after
    assert shrunk.result.trials == at_once.result.trials - done


def test_what_did_not_fail_is_not_shrunk(store: Store) -> None:
    campaign = store.create_campaign(new_campaign())
    plan = Plan(spec=TrialSpec(descriptor_count=8), purpose=Purpose.SEARCH)
    record = running(store, campaign)([plan])[0]
    assert record.outcome is Outcome.OK
    with pytest.raises(InputError, match=r"trial c/1 did not fail \(ok\)"):
        run_shrink(store, record, running(store, campaign))
