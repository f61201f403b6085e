"""The minimal case of a report: the smallest trial that shrinking found, from the record alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cubisect.analysis.rates import Rate, Sample
from cubisect.outcome import Outcome
from cubisect.report.minimal import SETTLED_RUNS, minimal_cases, minimal_sentence
from cubisect.report.pages import Report
from cubisect.reproduce.recorded import run_shrink
from cubisect.reproduce.shrink import FINAL_RUNS
from cubisect.search.recorder import Recorder, run_plans
from cubisect.space import Point
from cubisect.store import Plan, Store, TrialRecord
from cubisect.trial import Method, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import InProcessEngine


class Small:
    """Segfault, always, with 300 or more copies in one batch."""

    name = "small"

    def hazards(self, trial: TrialSpec) -> dict[Outcome, float]:
        return {Outcome.SEGFAULT: 1.0} if len(trial.sizes) >= 300 else {}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'db.sqlite'}", create=True)


def test_what_shrinking_left_is_found_and_told(store: Store) -> None:
    campaign = store.create_campaign(new_campaign())

    def run(plans: Sequence[Plan]) -> list[TrialRecord]:
        return run_plans(Recorder(store, campaign, InProcessEngine(Small(), lanes=len(plans))), plans)

    start = Point(descriptor_count=1500, total_bytes=1 << 20, repetition=4, neighbours=1)
    (record,) = run([Plan(spec=TrialSpec.at(start, seed=3), purpose=Purpose.SEARCH)])
    assert minimal_cases(store, campaign) == []
    shrunk = run_shrink(store, record, run)
    (case,) = minimal_cases(store, campaign)
    assert minimal_cases(store, campaign, record) == [case]
    assert case.after.spec.descriptors == shrunk.record.spec.descriptors
    assert (case.rate.failures, case.rate.trials) == (shrunk.result.rate.failures, shrunk.result.rate.trials)
    copies = next(row for row in case.rows if row[0] == "copies")
    assert ("neighbours", "1", "0") in case.rows
    assert copies == ("copies", "1,500", f"{shrunk.result.after.descriptors:,}")
    assert f"fails in the same way in {case.rate.trials} of {case.rate.trials} runs" in minimal_sentence(case)
    text = Report(campaign, store.frame(campaign), record, minimal=[case]).markdown()
    assert "## Minimal case: segfault in submit" in text
    assert "| copies | 1,500 | 300 |" in text


class Big:
    """An error, always, in copies of 64 MiB or more."""

    name = "big"

    def hazards(self, trial: TrialSpec) -> dict[Outcome, float]:
        return {Outcome.ERROR: 1.0} if trial.sizes.max() >= 1 << 26 else {}


def test_what_shrinking_ended_with_is_told_though_a_round_number_is_larger(store: Store) -> None:
    campaign = store.create_campaign(new_campaign())

    def run(plans: Sequence[Plan]) -> list[TrialRecord]:
        return run_plans(Recorder(store, campaign, InProcessEngine(Big(), lanes=len(plans))), plans)

    start = Point(descriptor_count=1, total_bytes=69_820_567, repetition=9)
    (record,) = run([Plan(spec=TrialSpec.at(start, seed=3), purpose=Purpose.SEARCH)])
    shrunk = run_shrink(store, record, run)
    assert shrunk.result.after.bytes > record.spec.total_bytes
    assert "descriptor_count = 1: a batch has one copy at least" in [kept.answer for kept in shrunk.result.kept]
    (case,) = minimal_cases(store, campaign)
    assert case.after.spec.total_bytes == shrunk.record.spec.total_bytes
    assert case.rate.trials >= SETTLED_RUNS == FINAL_RUNS


def test_a_report_of_a_trial_leads_with_it_and_says_whose_control_it_shows(store: Store) -> None:
    campaign = store.create_campaign(new_campaign())

    def run(plans: Sequence[Plan]) -> list[TrialRecord]:
        return run_plans(Recorder(store, campaign, InProcessEngine(Small(), lanes=len(plans))), plans)

    spec = TrialSpec.at(Point(descriptor_count=1500, total_bytes=1 << 20), seed=3)
    mine, other = run([Plan(spec=replace(spec, seed=seed), purpose=Purpose.SEARCH) for seed in (3, 4)])

    def both_ways(trial: TrialRecord) -> None:
        for method in Method:
            twin = replace(trial.spec, method=method, run_seed=5)
            run([Plan(spec=twin, purpose=Purpose.CONTROL, parent=trial.number)] * 8)

    def text() -> str:
        return Report(
            campaign, store.frame(campaign), mine, [Rate.of("batch calls", 7, 8, Sample.REPLICATES)]
        ).markdown()

    both_ways(other)
    before = text()
    assert before.startswith(f"# `cuMemcpyBatchAsync`: segfault in submit, trial {mine.ref}")
    assert before.index("## Trial") < before.index("## Environment")
    assert "The same batch again: 7 of 8 batch calls failed." in before
    assert "| batch calls | 7 | 8 |" in before
    assert "In campaign c: It is the batch call" in before
    assert "This trial was not run both ways" in before
    both_ways(mine)
    after = text()
    assert "In campaign c" not in after
    assert "This trial was not run both ways" not in after
    assert "8 of 8 fresh batch calls and 0 of 8 per-descriptor runs" in after
