import numpy as np
import pandas as pd
import pytest

from cubisect.analysis.alternatives import alternatives, between
from cubisect.analysis.frame import batch_key, conclusive, explored, mapping, new_batches, point_of, with_features
from cubisect.analysis.result import amount, number, percent
from cubisect.analysis.threshold import thresholds
from cubisect.space import AXES, MIB, NumericAxis, Point, Range, infeasible_reason
from support.frames import SMALL_SPACE, explore, simulate
from support.truths import LIMIT


def test_the_parts_of_a_frame_are_what_they_say() -> None:
    frame = simulate(LIMIT, trials=200)
    assert set(explored(frame)["origin"]) == {"explore"}
    assert set(mapping(frame)["purpose"]) == {"search", "replicate", "resample"}
    assert set(new_batches(frame)["purpose"]) == {"search", "resample"}
    assert len(conclusive(frame)) == 200


def test_replicates_share_their_batch_and_resamples_do_not() -> None:
    frame = simulate(LIMIT, trials=200)
    keys = dict(zip(frame["number"], batch_key(frame), strict=True))
    for row in frame.itertuples():
        expected = row.parent if row.purpose == "replicate" else row.number
        assert keys[row.number] == expected


def test_a_workload_is_judged_by_its_real_count_and_bytes() -> None:
    frame = explore(LIMIT, trials=20)
    frame.loc[3, "workload"] = "vllm-49276-tp2"
    frame.loc[3, ["submitted_descriptors", "repetition"]] = [3 * 51_828, 3]
    assert conclusive(frame)["descriptor_count"].tolist()[3] == 51_828
    assert frame["descriptor_count"].max() < 10_000
    assert conclusive(frame)["descriptor_count"].dtype == np.int64


def test_trials_without_recorded_quantities_are_left_out_of_what_needs_them() -> None:
    frame = simulate(LIMIT, trials=300, seed=1)
    frame["mean_size"] = frame["mean_size"].astype("float64")
    frame.loc[[1, 2], "mean_size"] = np.nan
    assert len(with_features(frame)) == 298
    assert thresholds(frame)[0].best is not None


def test_columns_as_a_database_gives_them_are_read() -> None:
    frame = simulate(LIMIT, trials=100)
    frame["tainted"] = pd.array([0] * 100, dtype="Int64")
    frame["parent"] = frame["parent"].astype("object")
    frame["lane"] = pd.array([None] * 100, dtype="Int64")
    assert len(conclusive(frame)) == 100
    assert len(batch_key(frame)) == 100


def test_the_point_of_a_row_is_the_point_that_ran() -> None:
    frame = explore(LIMIT, trials=3)
    point = point_of(frame.iloc[1])
    assert SMALL_SPACE.contains(point)
    assert all(type(value) in {int, float, str, bool} for value in point.values().values())


@pytest.mark.parametrize(
    "point",
    [Point(), Point(descriptor_count=51_828, total_bytes=256 * MIB, repetition=3), Point(workload="decode-step")],
    ids=["default", "reported", "workload"],
)
def test_alternatives_are_feasible_allowed_and_never_the_own_value(point: Point) -> None:
    plans = alternatives(point, {"ranks": Range(low=1, high=2)})
    assert {plan.axis.name for plan in plans} == set(AXES)
    for plan in plans:
        assert bool(plan.values) != bool(plan.reason)
        for value in plan.values:
            assert value != getattr(point, plan.axis.name)
            assert plan.axis.check(value) == value
            assert infeasible_reason(Point(**{**point.values(), plan.axis.name: value})) is None
    ranks = next(plan for plan in plans if plan.axis.name == "ranks")
    assert ranks.values == (2,)


def test_between_two_neighbouring_whole_numbers_there_is_nothing() -> None:
    axis = AXES["repetition"]
    assert isinstance(axis, NumericAxis)
    assert between(axis, 2, 3) is None
    assert between(axis, 1, 256) == 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(2_956_486), "2,956,000"),
        (number(0.25), "0.25"),
        (number(float("inf")), "unbounded"),
        (amount("total_bytes", 64 * MIB), "64 MiB"),
        (amount("descriptor_count", 51_828), "51,828"),
        (amount("count_below_64k", 40_000), "40,000"),
        (percent(0.0), "0 %"),
        (percent(0.0074), "0.74 %"),
        (percent(0.99999), "99.99 %"),
    ],
)
def test_numbers_are_written_for_people(text: str, expected: str) -> None:
    assert text == expected
