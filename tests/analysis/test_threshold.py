import numpy as np
import pandas as pd
import pytest

from cubisect.analysis.stump import balanced_accuracy, fit
from cubisect.analysis.threshold import Finding, chancy_thresholds, thresholds
from support.frames import Truth, explore, simulate
from support.truths import BAND, CHANCY_LIMIT, FLAKY, LIMIT, NOTHING, SUBMITTED, TWO


def test_a_limit_in_the_count_is_named_and_lies_between_its_neighbours() -> None:
    [answer] = thresholds(simulate(LIMIT, trials=400, seed=1))
    assert answer.finding is Finding.YES
    assert answer.best is not None
    assert answer.best.quantity == "descriptor_count"
    assert answer.best.side == "above"
    assert answer.best.low < 1000 <= answer.best.high
    assert answer.best.cut == pytest.approx(1000, rel=0.1)
    assert not answer.rivals


def test_a_limit_in_a_product_is_not_given_to_either_axis() -> None:
    [answer] = thresholds(simulate(SUBMITTED, trials=400, seed=1))
    assert answer.finding is Finding.YES
    assert answer.best is not None
    assert answer.best.quantity == "submitted_descriptors"
    alone = {c.quantity: c for c in answer.candidates if c.quantity in {"descriptor_count", "repetition"}}
    assert all(candidate.counterexamples > 10 for candidate in alone.values())


def test_no_single_threshold_is_a_first_class_answer() -> None:
    [answer] = thresholds(simulate(BAND, trials=400, seed=1))
    assert answer.finding is Finding.NO
    assert answer.best is not None
    assert "no single threshold explains this; the best is" in answer.answer


def test_each_kind_is_answered_on_its_own() -> None:
    answers = {a.kind: a for a in thresholds(simulate(TWO, trials=500, seed=1))}
    assert set(answers) == {"any failure", "segfault", "error"}
    assert answers["any failure"].finding is Finding.NO
    assert answers["segfault"].finding is Finding.YES
    assert answers["segfault"].best is not None
    assert answers["segfault"].best.quantity == "descriptor_count"
    assert answers["error"].finding is not Finding.YES


def test_few_failures_are_undecided_and_say_how_many_are_needed() -> None:
    [answer] = thresholds(explore(LIMIT, trials=40))
    assert answer.finding is Finding.UNDECIDED
    assert "20 of each are needed" in answer.reason


def test_without_failures_nothing_is_claimed() -> None:
    [answer] = thresholds(explore(NOTHING, trials=50))
    assert (answer.finding, answer.reason, answer.best) == (Finding.UNDECIDED, "no trial failed", None)


def test_a_no_is_withheld_while_a_chancy_threshold_fits() -> None:
    frame = simulate(CHANCY_LIMIT, trials=400, seed=3)
    [answer] = thresholds(frame)
    assert answer.finding is Finding.UNDECIDED
    assert "by chance is not excluded" in answer.reason
    assert chancy_thresholds(frame)
    assert not chancy_thresholds(simulate(LIMIT, trials=200))


def test_one_counterexample_forbids_yes() -> None:
    frame = simulate(LIMIT, trials=400, seed=1)
    passing = frame.index[(frame["outcome"] == "ok") & (frame["descriptor_count"] < 10)][0]
    frame.loc[passing, "outcome"] = "segfault"
    [answer] = thresholds(frame)
    assert answer.finding is not Finding.YES


def test_the_same_number_under_another_name_is_no_rival() -> None:
    frame = simulate(LIMIT, trials=400, seed=1)
    frame["size_changes"] = frame["descriptor_count"]
    [answer] = thresholds(frame)
    assert answer.finding is Finding.YES
    assert "size_changes" in answer.same


def test_a_different_quantity_that_fits_as_well_is_a_rival_and_forbids_yes() -> None:
    frame = simulate(LIMIT, trials=400, seed=1)
    frame["size_changes"] = frame["descriptor_count"] ** 2
    [answer] = thresholds(frame)
    assert answer.finding is Finding.UNDECIDED
    assert "size_changes" in answer.rivals


@pytest.mark.parametrize("above", [True, False])
def test_a_stump_finds_the_cut_and_the_side(above: bool) -> None:  # noqa: FBT001
    x = np.arange(1.0, 101.0)
    stump = fit(x, (x > 60) == above)
    assert (stump.low, stump.high, stump.above) == (60.0, 61.0, above)


def test_a_quantity_without_two_values_separates_nothing() -> None:
    stump = fit(np.ones(10), np.arange(10) < 5)
    assert stump.low == stump.high


def test_the_interval_of_the_balanced_accuracy_covers() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        _, interval = balanced_accuracy(rng.random(40) < 0.9, rng.random(200) < 0.7)
        hits += 0.8 in interval
    assert hits / 400 > 0.92


@pytest.mark.slow
@pytest.mark.parametrize("truth", [BAND, FLAKY, TWO], ids=["band", "flaky", "two"])
def test_yes_is_never_said_of_any_failure_where_it_is_false(truth: Truth) -> None:
    frames: list[pd.DataFrame] = [simulate(truth, trials=400, seed=seed) for seed in range(15)]
    assert not [seed for seed, frame in enumerate(frames) if thresholds(frame)[0].finding is Finding.YES]
