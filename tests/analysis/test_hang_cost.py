"""What hangs cost, on hand-made trials."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.analysis.hang_cost import hang_cost, round_up


def frame(*trials: tuple[str, float]) -> pd.DataFrame:
    """Return trials of these outcomes and seconds."""
    return pd.DataFrame(trials, columns=["outcome", "wall_s"]).convert_dtypes()


def test_hangs_are_added_up_and_a_shorter_deadline_is_named() -> None:
    cost = hang_cost(frame(("ok", 0.04), ("segfault", 0.06), ("hang", 2.0), ("hang", 2.1), ("inconclusive", 9.0)))
    assert cost.hangs == 2
    assert cost.waited_s == pytest.approx(4.1)
    assert cost.share == pytest.approx(4.1 / 13.2)
    assert (cost.slowest_other_s, cost.timeout_s) == (0.06, 0.5)
    assert cost.saved_s == pytest.approx(3.1)
    assert cost.answer == (
        "2 hangs were waited for 4.1 s, 31 % of the time in trials. No other trial took longer than 0.06 s: "
        "--timeout 0.5 would have saved 3.1 s."
    )


def test_a_deadline_that_is_short_already_is_not_remarked_on() -> None:
    cost = hang_cost(frame(("ok", 0.5), ("hang", 2.0)))
    assert cost.timeout_s is None
    assert cost.answer == "1 hang was waited for 2 s, 80 % of the time in trials."


def test_no_hangs_no_cost() -> None:
    assert hang_cost(frame(("ok", 0.5))).answer == "No trial hung."
    assert hang_cost(frame(("hang", 2.0))).timeout_s is None
    assert hang_cost(frame()).hangs == 0


@given(st.floats(1e-3, 1e4))
def test_rounding_up_gives_room_and_never_much(seconds: float) -> None:
    assert seconds * (1 - 1e-8) <= round_up(seconds) <= 2.5 * seconds + 1e-9


@given(st.lists(st.tuples(st.sampled_from(["ok", "hang", "segfault"]), st.floats(1e-3, 100.0)), min_size=1))
def test_no_trial_that_ended_would_be_cut_short(trials: list[tuple[str, float]]) -> None:
    cost = hang_cost(frame(*trials))
    if cost.timeout_s is not None:
        assert all(seconds < cost.timeout_s for outcome, seconds in trials if outcome != "hang")
        assert 0.0 < cost.saved_s < cost.waited_s
