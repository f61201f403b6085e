import numpy as np
import pytest
from scipy.stats import fisher_exact

from cubisect.analysis.threshold import ANY, Finding
from cubisect.analysis.witness import (
    Stratum,
    plan_witness_test,
    stratified_p,
    witness_strata,
    witness_verdict,
)
from cubisect.space import AXES
from support.frames import SMALL_SPACE, Truth, run_witness_test, simulate_campaign
from support.truths import BAND, CHANCY_LIMIT, LIMIT, NOTHING


def stratum(low: tuple[int, int], high: tuple[int, int], kind: str = ANY) -> Stratum:
    return Stratum(
        parent=0,
        kind=kind,
        axis="repetition",
        low_value=1,
        high_value=2,
        low_failures=low[0],
        low_trials=low[1],
        high_failures=high[0],
        high_trials=high[1],
    )


@pytest.mark.parametrize(("low", "high"), [((6, 6), (0, 6)), ((4, 6), (3, 6)), ((0, 5), (5, 5)), ((3, 12), (1, 7))])
def test_one_stratum_is_fishers_exact_test(low: tuple[int, int], high: tuple[int, int]) -> None:
    table = np.array([[low[0], low[1] - low[0]], [high[0], high[1] - high[0]]])
    expected = fisher_exact(table, alternative="greater").pvalue
    assert stratified_p([stratum(low, high)]) == pytest.approx(expected)


def test_strata_add_up() -> None:
    one = stratum((5, 6), (2, 6))
    assert stratified_p([one, one]) < stratified_p([one])
    assert stratified_p([]) == 1.0


def test_the_level_holds_whatever_the_rates_of_the_pairs_are() -> None:
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(600):
        rates = rng.random(3)
        drawn = [stratum((rng.binomial(8, r), 8), (rng.binomial(8, r), 8)) for r in rates]
        rejected += stratified_p(drawn) <= 0.05
    assert rejected / 600 < 0.07


def test_no_fresh_trials_are_undecided_and_say_what_to_spend() -> None:
    verdict = witness_verdict(())
    assert verdict.finding is Finding.UNDECIDED
    assert "--test 36" in verdict.answer
    assert "undecided" not in verdict.answer  # the finding says so already


def test_pairs_differ_on_one_axis_upwards_and_stay_within_space_and_budget() -> None:
    campaign = simulate_campaign(BAND, trials=300)
    plan = plan_witness_test(campaign.frame(), SMALL_SPACE, 40)
    assert plan
    assert sum(2 * pair.runs for pair in plan) <= 40
    for pair in plan:
        low, high = pair.low.values(), pair.high.values()
        assert {name for name in AXES if low[name] != high[name]} == {pair.axis}
        assert high[pair.axis] > low[pair.axis]
        assert SMALL_SPACE.contains(pair.high)
        assert campaign.rows[pair.parent]["outcome"] == pair.kind


def test_a_band_is_not_monotone() -> None:
    campaign = simulate_campaign(BAND, trials=300)
    for pair in plan_witness_test(campaign.frame(), SMALL_SPACE, 36):
        run_witness_test(campaign, pair)
    verdict = witness_verdict(witness_strata(campaign.frame()))
    assert verdict.finding is Finding.NO
    assert verdict.trials == 36
    assert "Not monotone" in verdict.answer


@pytest.mark.parametrize("truth", [LIMIT, CHANCY_LIMIT], ids=["limit", "chancy"])
def test_a_monotone_truth_is_never_called_otherwise(truth: Truth) -> None:
    rejected = 0
    for seed in range(4):
        campaign = simulate_campaign(truth, trials=150, seed=seed)
        for pair in plan_witness_test(campaign.frame(), SMALL_SPACE, 36):
            run_witness_test(campaign, pair)
        rejected += witness_verdict(witness_strata(campaign.frame())).finding is Finding.NO
    assert rejected <= 1


def test_without_failures_there_is_nothing_to_plan() -> None:
    campaign = simulate_campaign(NOTHING, trials=30)
    assert plan_witness_test(campaign.frame(), SMALL_SPACE, 36) == []
