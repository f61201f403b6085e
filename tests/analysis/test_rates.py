import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.analysis.rates import Sample, failure_rates, proportion
from support.frames import explore, simulate
from support.truths import LIMIT, NOTHING


def test_no_failure_in_500_gives_an_upper_bound_and_not_safe() -> None:
    rates = failure_rates(explore(NOTHING, trials=500))
    assert rates.overall.interval.high == pytest.approx(0.00735, abs=1e-5)
    assert rates.overall.interval.method == "exact"
    assert "at most 0.74 %" in rates.answer


@given(st.integers(0, 300), st.integers(0, 300))
def test_an_interval_holds_its_rate_and_stays_within_0_and_1(failures: int, passes: int) -> None:
    trials = failures + passes
    interval = proportion(failures, trials)
    assert 0.0 <= interval.low <= interval.high <= 1.0
    if trials:
        assert failures / trials in interval


def test_rates_are_of_explored_trials_and_name_their_sample() -> None:
    frame = simulate(LIMIT, trials=300)
    rates = failure_rates(frame)
    even = frame[(frame["purpose"] == "search") & (frame["origin"] == "explore")]
    assert (rates.overall.trials, rates.overall.failures) == (len(even), (even["outcome"] != "ok").sum())
    assert rates.overall.sample is Sample.EXPLORED
    assert rates.replicates.sample is Sample.REPLICATES
    assert sum(rates.elsewhere.values()) + rates.overall.failures == (frame["outcome"] != "ok").sum()
    by_kind = {rate.what: rate.failures for rate in rates.by_outcome}
    assert by_kind["segfault"] == rates.overall.failures
    assert by_kind["hang"] == 0


def test_what_says_nothing_about_the_batch_call_is_left_out() -> None:
    frame = explore(LIMIT, trials=60)
    whole = failure_rates(frame).overall.trials
    frame.loc[0, "outcome"] = "inconclusive"
    frame.loc[1, "tainted"] = True
    frame.loc[2, "method"] = "percopy"
    frame.loc[3, "invalid"] = "zero_size"
    frame.loc[4, "stream"] = "legacy"
    rates = failure_rates(frame)
    assert rates.overall.trials == whole - 5
    assert rates.inconclusive == 1
