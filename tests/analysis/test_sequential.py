from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.analysis.sequential import SequentialTest, SequentialVerdict
from cubisect.errors import InputError


def run(test: SequentialTest, rate: float, rng: np.random.Generator) -> SequentialVerdict:
    while test.verdict is SequentialVerdict.CONTINUE:
        test.update(fails=bool(rng.random() < rate))
    return test.verdict


def test_a_reliable_failure_is_seen_in_two_trials_and_a_reliable_pass_in_five() -> None:
    test = SequentialTest()
    assert test.update(fails=True) is SequentialVerdict.CONTINUE
    assert test.update(fails=True) is SequentialVerdict.FAILS
    test = SequentialTest()
    for _ in range(5):
        test.update(fails=False)
    assert (test.verdict, test.trials) == (SequentialVerdict.PASSES, 5)


@pytest.mark.parametrize(("rate", "wrong"), [(0.05, SequentialVerdict.FAILS), (0.5, SequentialVerdict.PASSES)])
@pytest.mark.parametrize("cap", [5, 20, 1000])
def test_error_rates_hold_at_every_cap(rate: float, wrong: SequentialVerdict, cap: int) -> None:
    rng = np.random.default_rng(1)
    wrongs = sum(run(SequentialTest(cap=cap), rate, rng) is wrong for _ in range(2000))
    assert wrongs / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 30))
def test_never_more_than_the_cap_and_never_a_change_of_mind(trials: list[bool], cap: int) -> None:
    test = SequentialTest(cap=cap)
    verdicts = [test.update(fails=fails) for fails in trials]
    final = [v for v in verdicts if v is not SequentialVerdict.CONTINUE]
    assert test.trials <= cap
    assert len(set(final)) <= 1
    assert test.trials + test.most_needed() <= cap


@pytest.mark.parametrize("bad", [{"p0": 0.5, "p1": 0.5}, {"p0": 0.0}, {"alpha": 0.5}, {"cap": 0}])
def test_a_test_that_cannot_be_is_refused_with_what_is_allowed(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="allowed is"):
        SequentialTest(**bad)
