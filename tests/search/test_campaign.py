"""The loop of a campaign: what it records, how it goes on, and what it does with trouble."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cubisect.drivers.fault_models import MODELS
from cubisect.engines.base import Completed
from cubisect.errors import UnfitEnvironmentError
from cubisect.isolation.health import UnfitGpuError
from cubisect.outcome import Outcome
from cubisect.search.campaign import CONTROLS_PER_SIGNATURE, FRUITLESS_LIMIT
from cubisect.search.explore import run_on
from cubisect.search.machine import Machine
from cubisect.search.recorder import RETRIES
from cubisect.space import Point
from cubisect.store import Campaign, Store
from cubisect.trial import BUDGETED, Method, Origin, Purpose
from support.campaigns import new_campaign
from support.inprocess import InProcessEngine, enacted


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "t.sqlite"), create=True)


def campaign(store: Store, model: str, budget: int = 30, sampler: str = "sobol") -> Campaign:
    return store.create_campaign(replace(new_campaign(model, budget), driver=f"sim:{model}", sampler=sampler))


def history(store: Store, of: Campaign) -> list[tuple[object, ...]]:
    """What was run and how it ended, without when and by whom."""
    return [
        (r.number, r.spec.point, r.spec.seed, r.spec.run_seed, r.purpose, r.origin, r.parent, r.outcome)
        for r in store.trials(of)
    ]


@pytest.mark.parametrize("sampler", ["boundary", "sobol", "random", "tpe"])
def test_a_budget_is_spent_exactly_and_controls_are_extra(store: Store, sampler: str) -> None:
    chosen = campaign(store, "threshold", 40, sampler)
    engine = InProcessEngine(MODELS["threshold"](), lanes=2)
    progress = run_on(store, chosen, engine, Machine())
    records = store.trials(chosen)
    assert progress.done == 40
    assert sum(record.purpose in BUDGETED for record in records) == 40
    controls = [record for record in records if record.purpose is Purpose.CONTROL]
    assert len(controls) == CONTROLS_PER_SIGNATURE * len({r.signature for r in records if r.signature})
    assert all(record.spec.method is Method.PERCOPY and record.parent for record in controls)
    assert engine.closed


def test_a_control_has_the_batch_of_its_parent(store: Store) -> None:
    chosen = campaign(store, "threshold")
    run_on(store, chosen, InProcessEngine(MODELS["threshold"]()), Machine())
    by_number = {record.number: record for record in store.trials(chosen)}
    controls = [record for record in by_number.values() if record.purpose is Purpose.CONTROL]
    assert controls
    for control in controls:
        parent = by_number[control.parent or 0]
        assert (control.spec.point, control.spec.seed) == (parent.spec.point, parent.spec.seed)


def test_no_controls_when_they_are_switched_off(store: Store) -> None:
    chosen = campaign(store, "threshold")
    progress = run_on(store, chosen, InProcessEngine(MODELS["threshold"]()), Machine(controls=False))
    assert progress.signatures
    assert not progress.controls


def test_replicates_repeat_the_batch_and_resamples_redraw_it(store: Store) -> None:
    chosen = campaign(store, "flaky", 120, "boundary")
    run_on(store, chosen, InProcessEngine(MODELS["flaky"]()), Machine())
    records = {record.number: record for record in store.trials(chosen)}
    kinds = Counter(record.purpose for record in records.values())
    assert kinds[Purpose.REPLICATE] > 0
    assert kinds[Purpose.RESAMPLE] > 0
    for record in records.values():
        if record.purpose in {Purpose.REPLICATE, Purpose.RESAMPLE}:
            parent = records[record.parent or 0]
            assert record.spec.point == parent.spec.point
            assert (record.spec.seed == parent.spec.seed) is (record.purpose is Purpose.REPLICATE)
            assert record.spec.run_seed != parent.spec.run_seed


def interrupted(path: Path, sampler: str, stop_after: int) -> None:
    """Record a campaign of 40 trials that was interrupted after so many."""
    store = Store.open(str(path), create=True, owner="a:1:1")
    chosen, ran = campaign(store, "band", 40, sampler), 0

    def interrupt(completed: Completed) -> Completed:
        nonlocal ran
        ran += 1
        if ran > stop_after:
            raise KeyboardInterrupt
        return completed

    with pytest.raises(KeyboardInterrupt):
        run_on(store, chosen, InProcessEngine(MODELS["band"](), disturb=interrupt), Machine())
    store.close()


def resumed(path: Path) -> list[tuple[object, ...]]:
    """Finish an interrupted campaign and return what it did."""
    store = Store.open(str(path), owner="a:2:2")
    chosen = store.campaign(store.campaigns()[0].name)
    run_on(store, chosen, InProcessEngine(MODELS["band"]()), Machine())
    return searched(store, chosen)


def searched(store: Store, chosen: Campaign) -> list[tuple[object, ...]]:
    return [row[1:6] + row[7:] for row in history(store, chosen) if row[4] in BUDGETED]


@pytest.mark.parametrize("stop_after", [1, 17, 39])
def test_an_interrupted_campaign_goes_on_as_if_nothing_had_happened(tmp_path: Path, stop_after: int) -> None:
    whole = Store.open(str(tmp_path / "whole.sqlite"), create=True)
    chosen = campaign(whole, "band", 40, "sobol")
    run_on(whole, chosen, InProcessEngine(MODELS["band"]()), Machine())
    interrupted(tmp_path / "broken.sqlite", "sobol", stop_after)
    assert resumed(tmp_path / "broken.sqlite") == searched(whole, chosen)


def test_what_a_resumed_search_does_follows_from_the_record(tmp_path: Path) -> None:
    """It knows what had finished; a trial that was proposed beside the last of them is proposed anew."""
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    interrupted(first, "boundary", 17)
    shutil.copy(first, second)
    went_on = resumed(first)
    assert len(went_on) == 40
    assert resumed(second) == went_on


def test_trouble_that_is_not_the_trials_own_runs_it_again(store: Store) -> None:
    chosen = campaign(store, "null", 5)
    failed: set[int] = set()

    def once(completed: Completed) -> Completed:
        if completed.spec.seed in failed:
            return completed
        failed.add(completed.spec.seed)
        return replace(completed, evidence=enacted(Outcome.INCONCLUSIVE))

    progress = run_on(store, chosen, InProcessEngine(MODELS["null"](), disturb=once), Machine())
    assert progress.done == 5
    outcomes = Counter(record.outcome for record in store.trials(chosen))
    assert outcomes == {Outcome.INCONCLUSIVE: 5, Outcome.OK: 5}


def test_a_machine_that_can_run_nothing_ends_the_campaign(store: Store) -> None:
    chosen = campaign(store, "null", 500)

    def always(completed: Completed) -> Completed:
        return replace(completed, evidence=enacted(Outcome.INCONCLUSIVE))

    with pytest.raises(UnfitEnvironmentError, match=f"{FRUITLESS_LIMIT} trials in a row.*pulled the plug.*--resume"):
        run_on(store, chosen, InProcessEngine(MODELS["null"](), disturb=always), Machine())
    assert store.budget_left(chosen) == 500


def test_a_gpu_that_fails_its_canary_taints_what_it_ran(store: Store) -> None:
    chosen = campaign(store, "null", 20)
    ran: list[int] = []

    def breaks(completed: Completed) -> Completed:
        ran.append(completed.key)
        if len(ran) == 4:
            raise UnfitGpuError("GPU 0 failed its canary", tainted=ran[1:3])
        return completed

    with pytest.raises(UnfitGpuError):
        run_on(store, chosen, InProcessEngine(MODELS["null"](), disturb=breaks), Machine())
    tainted = [record.number for record in store.trials(chosen) if record.tainted]
    assert tainted == ran[1:3]
    assert store.budget_left(chosen) == 19


def test_a_trial_that_stays_tainted_tells_nothing(store: Store) -> None:
    chosen = campaign(store, "everything", 12)
    tainted: set[int] = set()

    def taints(completed: Completed) -> Completed:
        if not tainted or completed.spec.seed in tainted:
            tainted.add(completed.spec.seed)
            return replace(completed, evidence=enacted(Outcome.SEGFAULT), tainted=True)
        return replace(completed, evidence=enacted(Outcome.OK))

    progress = run_on(store, chosen, InProcessEngine(MODELS["null"](), disturb=taints), Machine())
    assert sum(record.tainted for record in store.trials(chosen)) == 1 + RETRIES
    assert progress.done == 12
    assert progress.outcomes == {Outcome.OK: 12, Outcome.INCONCLUSIVE: 1}
    assert not progress.controls
    assert not progress.signatures


def test_joined_processes_see_each_other_and_share_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t.sqlite")
    first, second = Store.open(path, create=True, owner="a:1:1"), Store.open(path, owner="b:1:1")
    chosen = campaign(first, "threshold", 30)
    others: list[object] = []

    def meanwhile(completed: Completed) -> Completed:
        if not others:  # while the first has a trial running, a second process joins and runs all that is left
            others.append(run_on(second, chosen, InProcessEngine(MODELS["threshold"](), lanes=2), Machine()))
        return completed

    # The second would wait for the first's trial, which here ends only when the second has returned.
    answers = iter([1])
    first_running = InProcessEngine(MODELS["threshold"](), disturb=meanwhile)
    monkeypatch.setattr(second, "others_running", lambda _: next(answers, 0))
    progress = run_on(first, chosen, first_running, Machine())
    records = [record for record in first.trials(chosen) if record.purpose in BUDGETED]
    assert len(records) == 30
    assert progress.done == 30
    assert len({(record.spec.point, record.spec.seed) for record in records}) == 30


def test_what_is_enqueued_is_run_first_and_as_often_as_listed(store: Store) -> None:
    points = [Point.of({"descriptor_count": count}) for count in (4096, 8192)]
    made = new_campaign("null", 6)
    settings = {"enqueue": [point.values() for point in [*points, points[0]]]}
    chosen = store.create_campaign(replace(made, sampler="boundary", settings=settings))
    run_on(store, chosen, InProcessEngine(MODELS["null"]()), Machine())
    records = store.trials(chosen)
    assert [r.spec.descriptor_count for r in records if r.origin is Origin.ENQUEUED] == [4096, 8192, 4096]
    assert [r.origin is Origin.ENQUEUED for r in records] == [True] * 3 + [False] * 3
    assert records[0].spec.seed != records[2].spec.seed
