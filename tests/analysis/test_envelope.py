import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from cubisect.analysis.envelope import more_trials, safe_envelope
from cubisect.analysis.rules import inside
from support.frames import explore, simulate
from support.truths import LIMIT, NOTHING


def test_the_box_ends_at_a_trial_that_passed() -> None:
    frame = simulate(LIMIT, trials=400)
    found = safe_envelope(frame)
    [condition] = found.conditions
    assert condition.name == "descriptor_count"
    assert condition.high is not None
    assert 500 < condition.high < 1000
    assert condition.high in frame.loc[frame["outcome"] == "ok", "descriptor_count"].tolist()
    assert found.failures == 0


def test_without_failures_the_box_is_the_space_and_every_explored_trial_judges() -> None:
    found = safe_envelope(explore(NOTHING, trials=300))
    assert found.conditions == ()
    assert (found.failures, found.trials, found.more_trials) == (0, 300, 0)
    assert found.upper < found.bound


def test_a_tighter_bound_says_what_it_costs() -> None:
    found = safe_envelope(explore(NOTHING, trials=100), bound=0.01)
    assert found.upper > found.bound
    assert found.more_trials == 199
    assert "Of 100 trials there that did not choose it, 0 failed" in found.answer
    assert "199 more trials" in found.answer


@given(st.integers(0, 5), st.integers(0, 50), st.sampled_from([0.01, 0.05, 0.2]))
def test_so_many_more_trials_and_no_fewer(failures: int, passes: int, bound: float) -> None:
    trials = failures + passes
    more = more_trials(failures, trials, bound=bound)
    assert more is not None
    total = trials + more
    assert beta.ppf(0.95, failures + 1, total - failures) <= bound + 1e-9
    if more:
        assert total - 1 == failures or beta.ppf(0.95, failures + 1, total - 1 - failures) > bound


@pytest.mark.slow
def test_the_bound_covers_the_rate_in_the_chosen_box() -> None:
    large = explore(LIMIT, trials=8000, seed=99)
    missed = 0
    for seed in range(40):
        found = safe_envelope(explore(LIMIT, trials=200, seed=seed))
        truth = (large.loc[inside(found.conditions, large), "outcome"] != "ok").mean()
        missed += truth > found.upper
    assert missed <= 5
