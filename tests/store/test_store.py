"""What every database must do: the same contract on SQLite and on PostgreSQL."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.features import FEATURES, batch_features
from cubisect.outcome import CrashEvidence, Evidence, Outcome, Phase, classify, signature_of
from cubisect.space import AXES, Point
from cubisect.store import REPLAYS, Campaign, Plan, Result, Store, TrialRecord
from cubisect.store.owner import this_process
from cubisect.store.store import HEARTBEAT_S, LEASE
from cubisect.trial import Method, Origin, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import enacted


def plan(purpose: Purpose = Purpose.SEARCH, **rest: object) -> Plan:
    return Plan(spec=TrialSpec(seed=3, **rest), purpose=purpose, origin=Origin.EXPLORE)  # type: ignore[arg-type]


def result(outcome: Outcome, *, tainted: bool = False) -> Result:
    evidence = enacted(outcome)
    verdict = classify(evidence)
    return Result(
        evidence=evidence,
        verdict=verdict,
        signature=signature_of(evidence, verdict),
        features=batch_features(TrialSpec(seed=3).batch, TrialSpec()),
        gpu="GPU-1",
        tainted=tainted,
    )


def ran(store: Store, campaign: Campaign, outcome: Outcome, *, tainted: bool = False, **rest: object) -> TrialRecord:
    begun = store.begin_trial(campaign, plan(**rest))  # type: ignore[arg-type]
    assert begun is not None
    return store.finish_trial(campaign, begun.number, result(outcome, tainted=tainted))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_trial_comes_back_as_it_went_in(store: Store, campaign: Campaign, outcome: Outcome) -> None:
    point = Point.of({"size_mix": "pareto", "size_spread": 0.3, "sync_between": True, "flags": 1, "gap": 5})
    spec = TrialSpec.at(point, seed=(1 << 63) - 1, run_seed=9)
    begun = store.begin_trial(campaign, Plan(spec=spec, purpose=Purpose.REPLICATE, origin=Origin.REPLICATE, parent=4))
    assert begun is not None
    assert begun.state == "running"
    store.finish_trial(campaign, begun.number, result(outcome))
    record = store.trial(f"{campaign.name}/{begun.number}")
    assert record.spec.point == point
    assert (record.spec.seed, record.spec.run_seed) == (spec.seed, spec.run_seed)
    assert (record.outcome, record.purpose, record.origin, record.parent) == (
        outcome, Purpose.REPLICATE, Origin.REPLICATE, 4
    )  # fmt: skip
    assert record.evidence == enacted(outcome)
    assert record.simulated
    assert record.started_at is not None
    assert record.started_at.tzinfo is UTC


def test_crash_evidence_and_ranks_survive(store: Store, campaign: Campaign) -> None:
    crash = Evidence(signal=11, phase=Phase.SUBMIT, crash=CrashEvidence(fault_address=0, frames=("libcuda.so.1+0x1",)))
    evidence = Evidence(ranks=(crash, Evidence(phase=Phase.DONE, rank=1)))
    verdict = classify(evidence)
    begun = store.begin_trial(campaign, plan())
    assert begun is not None
    done = Result(evidence=evidence, verdict=verdict, signature=signature_of(evidence, verdict))
    store.finish_trial(campaign, begun.number, done)
    assert store.trial(str(begun.number)).evidence == evidence


def test_a_trial_that_ran_elsewhere_tells_its_environment(store: Store, campaign: Campaign) -> None:
    other = {**campaign.environment, "host": {"kernel": "another"}}
    for environment in (other, campaign.environment, None, other):
        begun = store.begin_trial(campaign, plan())
        assert begun is not None
        store.finish_trial(campaign, begun.number, replace(result(Outcome.OK), environment=environment))
    trials = store.trials(campaign)
    own = campaign.environment
    assert [store.environment_of(trial) for trial in trials] == [other, own, own, other]
    assert trials[0].environment_id == trials[3].environment_id
    assert store.frame(campaign).attrs["environments"] == 2
    assert [trial.environment_id for trial in trials[1:3]] == [None, None]


def test_replays_alone_are_never_the_latest_campaign_while_there_is_another(store: Store) -> None:
    store.create_campaign(replace(new_campaign("replayed"), sampler=REPLAYS))
    assert store.campaign().name == "replayed"
    for name, sampler in (("older", "sobol"), ("searched", "sobol"), ("again", REPLAYS)):
        ran(store, store.create_campaign(replace(new_campaign(name), sampler=sampler)), Outcome.OK)
    assert store.campaign().name == store.trial("1").campaign == "searched"
    with pytest.raises(InputError, match="the latest campaign searched has trials 1 to 1; write CAMPAIGN/2 for"):
        store.trial("2")
    with pytest.raises(InputError, match=r"campaign again has trials 1 to 1$"):
        store.trial("again/2")


def test_a_summary_counts_replays_only_where_nothing_else_is(store: Store, campaign: Campaign) -> None:
    replays = store.create_campaign(replace(new_campaign("r", budget=1), sampler=REPLAYS))
    controls = store.create_campaign(replace(new_campaign("k", budget=1), sampler=REPLAYS))
    for one in (campaign, replays):
        for outcome in (Outcome.OK, Outcome.OK, Outcome.SEGFAULT, Outcome.INCONCLUSIVE):
            ran(store, one, outcome, purpose=Purpose.REPLAY)
    ran(store, controls, Outcome.OK, purpose=Purpose.REPLAY, method=Method.PERCOPY)
    told = [(s.name, s.done, s.budget, dict(s.outcomes), s.replays_alone) for s in store.campaigns()]
    counted = {Outcome.OK: 2, Outcome.SEGFAULT: 1, Outcome.INCONCLUSIVE: 1}
    assert told == [("k", 0, 1, {}, True), ("r", 3, 3, counted, True), (campaign.name, 0, 10, {}, False)]


def test_explicit_descriptors_are_kept_once(store: Store, campaign: Campaign) -> None:
    rows = np.array([[0, 8], [64, 0], [8, 16]], dtype=np.int64)
    descriptors = Descriptors(*rows)
    for _ in range(2):
        store.begin_trial(campaign, Plan(spec=TrialSpec(descriptors=descriptors), purpose=Purpose.SHRINK))
    record = store.trial("2")
    assert record.spec.descriptors is not None
    np.testing.assert_array_equal(record.spec.descriptors.sizes, rows[2])


def test_the_budget_counts_what_said_something(store: Store, campaign: Campaign) -> None:
    ran(store, campaign, Outcome.INCONCLUSIVE)
    ran(store, campaign, Outcome.OK, tainted=True)
    ran(store, campaign, Outcome.OK, purpose=Purpose.CONTROL)
    assert store.budget_left(campaign) == 10
    for outcome in (Outcome.OK, Outcome.SEGFAULT):
        ran(store, campaign, outcome)
    assert store.budget_left(campaign) == 8
    while store.begin_trial(campaign, plan()) is not None:
        pass
    assert store.budget_left(campaign) == 0
    assert store.begin_trial(campaign, plan(Purpose.CONTROL)) is not None, "controls are not held up by the budget"


def test_tainting_gives_the_budget_back_once(store: Store, campaign: Campaign) -> None:
    record = ran(store, campaign, Outcome.OK)
    assert store.taint(campaign, [record.number]) == 1
    assert store.taint(campaign, [record.number]) == 0
    assert store.budget_left(campaign) == 10
    assert store.trial(str(record.number)).tainted


def test_lost_trials_are_kept_and_do_not_count(store: Store, campaign: Campaign) -> None:
    begun = store.begin_trial(campaign, plan())
    assert begun is not None
    assert store.give_back(campaign) == 1
    assert store.budget_left(campaign) == 10
    late = store.finish_trial(campaign, begun.number, result(Outcome.OK))
    assert late.state == "lost", "a trial that was given up cannot come back and count twice"
    assert store.trials(campaign) == []
    assert len(store.frame(campaign)) == 0


def test_a_lease_runs_out(url: str) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    elsewhere = Store.open(url, create=True, now=lambda: clock[0], owner="otherboot:1:1")
    mine = Store.open(url, now=lambda: clock[0])
    campaign = elsewhere.create_campaign(new_campaign("c", 5))
    elsewhere.begin_trial(campaign, plan())
    assert mine.release_lost(campaign) == 0, "nothing says that the other machine is gone"
    assert [summary.running for summary in mine.campaigns()] == [1]
    clock[0] += timedelta(minutes=10)
    assert [summary.running for summary in mine.campaigns()] == [0]
    assert mine.release_lost(campaign) == 1
    for store in (elsewhere, mine):
        store.close()


def test_a_heartbeat_renews_the_lease_now_and_then(url: str) -> None:
    now, seconds = [datetime(2026, 1, 1, tzinfo=UTC)], [0.0]
    busy = Store.open(url, create=True, now=lambda: now[0], clock=lambda: seconds[0], owner="otherboot:1:1")
    watching = Store.open(url, now=lambda: now[0])
    campaign = busy.create_campaign(new_campaign("c", 5))
    busy.begin_trial(campaign, plan())

    def pass_(time_s: float) -> None:
        now[0] += timedelta(seconds=time_s)
        seconds[0] += time_s

    pass_(HEARTBEAT_S / 2)
    busy.heartbeat(campaign)  # too early to be worth a transaction
    pass_(LEASE.total_seconds() - 1.0)
    busy.heartbeat(campaign)
    pass_(LEASE.total_seconds() - 1.0)
    assert watching.release_lost(campaign) == 0, "it was renewed"
    pass_(2.0)
    assert watching.release_lost(campaign) == 1
    for store in (busy, watching):
        store.close()


def test_one_of_those_that_have_joined_leads(url: str) -> None:
    now, seconds = [datetime(2026, 1, 1, tzinfo=UTC)], [0.0]

    def open_as(owner: str) -> Store:
        return Store.open(url, create=True, now=lambda: now[0], clock=lambda: seconds[0], owner=owner)

    first, second, gone = open_as("boot1:1:1"), open_as("boot2:2:2"), open_as(f"{this_process().split(':')[0]}:1:no")
    campaign = first.create_campaign(new_campaign("c", 5))
    assert gone.take_lead(campaign)
    assert first.take_lead(campaign), "a process of this machine that has ended leads nothing"
    assert not second.take_lead(campaign)
    assert first.take_lead(campaign), "it leads already"
    now[0] += LEASE - timedelta(seconds=1)
    seconds[0] += HEARTBEAT_S
    first.heartbeat(campaign)
    now[0] += timedelta(seconds=2)
    assert not second.take_lead(campaign), "a heartbeat renews it"
    first.give_back(campaign)
    assert second.take_lead(campaign)
    now[0] += LEASE + timedelta(seconds=1)
    assert first.take_lead(campaign), "the second has been silent for a lease"
    assert dict(first.campaign("c").settings)["enqueue"] == []
    for store in (first, second, gone):
        store.close()


def test_a_process_of_this_machine_that_is_gone_loses_its_trials_at_once(url: str) -> None:
    store = Store.open(url, create=True)
    campaign = store.create_campaign(new_campaign("c", 5))
    code = (
        "import sys; from cubisect.store import *; from cubisect.trial import *\n"
        "s = Store.open(sys.argv[1]); c = s.campaign('c')\n"
        "s.begin_trial(c, Plan(spec=TrialSpec(), purpose=Purpose.SEARCH)); print('begun', flush=True)\n"
        "input()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, url], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    assert store.release_lost(campaign) == 0
    assert [summary.running for summary in store.campaigns()] == [1]
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert [summary.running for summary in store.campaigns()] == [0]
    assert store.release_lost(campaign) == 1
    store.close()


def _claim(url: str, start: object) -> None:
    store = Store.open(url)
    campaign = store.campaign("shared")
    start.wait()  # type: ignore[attr-defined]
    while (begun := store.begin_trial(campaign, plan())) is not None:
        store.finish_trial(campaign, begun.number, result(Outcome.OK))
    store.close()


def test_several_processes_share_one_budget_exactly(url: str) -> None:
    store = Store.open(url, create=True)
    campaign = store.create_campaign(new_campaign("shared", 40))
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(3)
    workers = [context.Process(target=_claim, args=(url, start)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    records = store.trials(campaign)
    assert [record.number for record in records] == list(range(1, 41))
    assert sorted(record.finished or 0 for record in records) == list(range(1, 41))
    assert Counter(record.outcome for record in records) == {Outcome.OK: 40}
    store.close()


def test_finished_after_tells_each_trial_once_in_order(store: Store, campaign: Campaign) -> None:
    first, second = store.begin_trial(campaign, plan()), store.begin_trial(campaign, plan())
    assert first is not None
    assert second is not None
    store.finish_trial(campaign, second.number, result(Outcome.OK))
    store.finish_trial(campaign, first.number, result(Outcome.HANG))
    assert [record.number for record in store.finished_after(campaign, 0)] == [second.number, first.number]
    assert [record.number for record in store.finished_after(campaign, 1)] == [first.number]


def test_the_frame_has_every_axis_and_every_feature(store: Store, campaign: Campaign) -> None:
    ran(store, campaign, Outcome.SEGFAULT)
    ran(store, campaign, Outcome.ERROR, method=Method.PERCOPY, purpose=Purpose.CONTROL)
    frame = store.frame(campaign)
    assert set(AXES) | set(FEATURES) <= set(frame.columns)
    assert frame["outcome"].tolist() == ["segfault", "error"]
    assert frame["fail_index"].tolist()[1] == 0
    assert frame["cuda_error"].isna().tolist() == [True, False]
    assert frame.attrs == {"campaign": campaign.name, "driver": "sim:null", "simulated": True, "environments": 1}


def test_a_frame_shows_an_axis_that_only_some_trials_have_left(store: Store, campaign: Campaign) -> None:
    assert "gap" not in campaign.space.varied
    assert store.frame(campaign).empty
    ran(store, campaign, Outcome.OK)
    assert store.frame(campaign)["gap"].tolist() == [0]
    ran(store, campaign, Outcome.OK, purpose=Purpose.ISOLATE, gap=4096, sync_between=True, invalid="zero_size")
    frame = store.frame(campaign)
    assert frame["gap"].tolist() == [0, 4096]
    assert frame["sync_between"].tolist() == [False, True]
    assert frame["sync_between"].dtype == bool
    assert frame["invalid"].tolist() == ["none", "zero_size"]
    assert frame["tainted"].dtype == bool
    assert frame["mean_size"].notna().all()


def test_campaigns_are_listed_with_their_counts(store: Store, campaign: Campaign) -> None:
    ran(store, campaign, Outcome.OK)
    ran(store, campaign, Outcome.HANG)
    ran(store, campaign, Outcome.OK, purpose=Purpose.CONTROL)
    ran(store, campaign, Outcome.SEGFAULT, method=Method.PERCOPY)  # a search trial of the control says nothing here
    store.create_campaign(new_campaign("later", 3))
    later, first = store.campaigns()
    assert (later.name, later.done) == ("later", 0)
    assert (first.done, dict(first.outcomes)) == (2, {Outcome.OK: 1, Outcome.HANG: 1})
    assert store.campaign().name == "later"


def test_names_budgets_and_references_that_cannot_be(store: Store, campaign: Campaign) -> None:
    ran(store, campaign, Outcome.OK)
    for name in ("c", "", "a/b", "17"):
        with pytest.raises(InputError, match="campaign"):
            store.create_campaign(new_campaign(name, 5))
    with pytest.raises(InputError, match="no campaign 'd'; there are c"):
        store.campaign("d")
    with pytest.raises(InputError, match="--budget 0"):
        store.extend_budget(campaign, 0)
    assert store.extend_budget(campaign, 25).budget == 25
    for ref in ("x", "c/", "c/x", "a/b/1", "-1", "²", "c/²", "9" * 20):
        with pytest.raises(InputError, match="CAMPAIGN/NUMBER"):
            store.trial(ref)
    with pytest.raises(InputError, match="has trials 1 to 1"):
        store.trial("c/2")


def test_calibration_is_kept_per_driver_and_gpu(store: Store) -> None:
    store.save_calibration("cuda", "GPU-1", {"start_s": 0.5, "per_byte_s": 1e-9})
    store.save_calibration("cuda", "GPU-1", {"start_s": 0.25})
    assert store.calibration("cuda", "GPU-1") == {"start_s": 0.25, "per_byte_s": 1e-9}
    assert store.calibration("cuda", "GPU-2") == {}
