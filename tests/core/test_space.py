"""Axes, points, spaces: what is allowed, what it is called, and that nothing infeasible is ever made."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubisect.errors import InputError
from cubisect.space import (
    AXES,
    GIB,
    KIB,
    MAX_SCALE,
    MIB,
    PRIMARY_AXES,
    CategoricalAxis,
    NumericAxis,
    Point,
    Range,
    Scale,
    Space,
    axis_named,
    full_domain,
    infeasible_reason,
    parse_domain,
    parse_number,
)

NUMERIC = [axis for axis in AXES.values() if isinstance(axis, NumericAxis)]
CATEGORICAL = [axis for axis in AXES.values() if isinstance(axis, CategoricalAxis)]


def values_of(axis: NumericAxis) -> st.SearchStrategy[int | float]:
    if axis.integer:
        return st.integers(int(axis.low), int(axis.high))
    return st.floats(axis.low, axis.high)


@given(st.data(), st.sampled_from(NUMERIC))
def test_a_value_survives_its_coordinate(data: st.DataObject, axis: NumericAxis) -> None:
    value = data.draw(values_of(axis))
    back = axis.from_coordinate(axis.to_coordinate(value))
    assert back == value
    assert type(back) is (int if axis.integer else float)


@given(st.sampled_from(NUMERIC), st.floats(-60, 60), st.floats(-60, 60))
def test_rounding_is_monotone_and_within_the_range(axis: NumericAxis, a: float, b: float) -> None:
    low, high = sorted((axis.from_coordinate(a), axis.from_coordinate(b)))
    assert axis.low <= low <= high <= axis.high
    if a != b:
        assert (axis.from_coordinate(a) <= axis.from_coordinate(b)) == (a < b) or low == high


@given(st.sampled_from(NUMERIC), st.lists(st.floats(-40, 40), min_size=1, max_size=9))
def test_many_coordinates_are_rounded_as_one(axis: NumericAxis, coordinates: list[float]) -> None:
    together = axis.values_at(np.array(coordinates))
    assert together.tolist() == [axis.from_coordinate(c) for c in coordinates]


@pytest.mark.parametrize("axis", NUMERIC, ids=lambda axis: axis.name)
def test_numeric_axes_refuse_what_is_outside(axis: NumericAxis) -> None:
    for value in (axis.low - 1, axis.high + 1, float("nan"), float("inf"), True, None, "7"):
        with pytest.raises(InputError, match=axis.name):
            axis.check(value)
    if axis.integer:
        with pytest.raises(InputError, match="not a whole number"):
            axis.check(axis.low + 0.5)
    assert axis.check(axis.default) == axis.default
    assert not (axis.scale is Scale.LOG2 and axis.low <= 0)


@pytest.mark.parametrize("axis", CATEGORICAL, ids=lambda axis: axis.name)
def test_categorical_axes_refuse_what_is_not_listed(axis: CategoricalAxis) -> None:
    for value in ("nonsense", None, 99):
        with pytest.raises(InputError, match=f"{axis.name}.*allowed are"):
            axis.check(value)
    assert [axis.parse(str(value)) for value in axis.values] == list(axis.values)
    assert axis.check(axis.default) == axis.default
    assert len(set(axis.values)) == len(axis.values)


def test_a_flag_is_not_a_truth_value() -> None:
    with pytest.raises(InputError):
        axis_named("flags").check(bool(1))
    with pytest.raises(InputError):
        axis_named("sync_between").check(1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("51828", 51828), ("51_828", 51828), ("51,828", 51828), ("2^20", 1 << 20), ("64KiB", 64 * KIB), ("4g", 4 * GIB),
        ("1.5MiB", 3 * MIB // 2), ("0.5", 0.5), ("1e3", 1000), ("7b", 7), (" 12 ", 12), ("", None), ("twelve", None),
        ("2^-1", None), ("1.0001b", None), ("kib", None), ("2^x", None), ("-", None),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, value: float | None) -> None:
    assert parse_number(text) == value


@given(st.text(max_size=12))
def test_no_text_breaks_the_parser(text: str) -> None:
    value = parse_number(text)
    assert value is None or isinstance(value, int | float)


@given(st.sampled_from(NUMERIC), st.text(max_size=8))
def test_an_axis_answers_any_text_with_a_value_in_range_or_an_input_error(axis: NumericAxis, text: str) -> None:
    try:
        value = axis.parse(text)
    except InputError as error:
        assert axis.name in str(error)  # noqa: PT017
    else:
        assert axis.low <= value <= axis.high


def test_the_default_point_is_that_of_the_axes() -> None:
    assert Point().values() == {name: axis.default for name, axis in AXES.items()}
    assert infeasible_reason(Point()) is None
    assert Point().departures() == {}


def test_departures_and_moves() -> None:
    point = Point().moved(descriptor_count=7, direction="d2h")
    assert point.departures() == {"descriptor_count": 7, "direction": "d2h"}
    assert point.moved(descriptor_count=1024, direction="h2d") == Point()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"total_bytes": 2048, "descriptor_count": 4096}, "raise total_bytes to 4096"),
        ({"total_bytes": MIB, "descriptor_count": 16, "size_floor": MIB}, f"raise total_bytes to {16 * MIB}"),
        ({"total_bytes": MIB, "descriptor_count": 16, "size_cap": KIB}, f"lower total_bytes to {16 * KIB}"),
        ({"descriptor_count": 4, "attribute_count": 5}, "lower it to 4"),
        ({"workload": "decode-step", "scale": 65}, "allowed are 1 to 64"),
        ({"no_such_axis": 1}, "descriptor_count, total_bytes, repetition"),
        ({"repetition": 0}, "1 to 256"),
    ],
)
def test_an_infeasible_point_says_how_to_mend_it(values: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        Point.of(values)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_default_space_varies_the_primary_axes() -> None:
    assert tuple(Space.default().varied) == PRIMARY_AXES
    assert len(PRIMARY_AXES) == 5


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Spaces with any axes fixed, varied over part of their range, and capped; None where nothing is feasible."""
    chosen = draw(st.lists(st.sampled_from(sorted(AXES)), max_size=6, unique=True))
    fix: dict[str, Any] = {}
    vary: dict[str, Any] = {}
    for name in chosen:
        axis = AXES[name]
        if isinstance(axis, CategoricalAxis):
            values = draw(st.lists(st.sampled_from(axis.values), min_size=1, max_size=3, unique=True))
            (fix if len(values) == 1 else vary)[name] = values[0] if len(values) == 1 else tuple(values)
        elif draw(st.booleans()):
            fix[name] = draw(values_of(axis))
        else:
            low, high = sorted((draw(values_of(axis)), draw(values_of(axis))))
            vary[name] = Range(low=low, high=high)
    caps = {
        "max_submitted_descriptors": draw(st.none() | st.integers(1, 1 << 28)),
        "max_submitted_bytes": draw(st.none() | st.integers(KIB, 1 << 42)),
    }
    try:
        return Space.of(fix=fix, vary=vary, **caps)
    except InputError as error:
        assert "no point of this space is feasible" in str(error) or "nothing is varied" in str(error)  # noqa: PT017
        return Space.default()


def coordinates_in(draw: Callable[..., Any], space: Space, count: int) -> dict[str, np.ndarray[Any, Any]]:
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for axis, low, high in space.numeric():
        columns[axis.name] = np.array(draw(st.lists(st.floats(low, high), min_size=count, max_size=count)))
    for axis_c, values in space.categorical():
        column = np.empty(count, dtype=object)
        column[:] = draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))
        columns[axis_c.name] = column
    return columns


@settings(max_examples=300)
@given(st.data(), spaces())
def test_feasible_is_what_contains_says_of_the_rounded_point(data: st.DataObject, space: Space) -> None:
    columns = coordinates_in(data.draw, space, 4)
    told = space.feasible(columns)
    for i in range(4):
        point = space.point({name: column[i] for name, column in columns.items()})
        assert space.within(point)
        assert bool(told[i]) == space.contains(point)
        if told[i]:
            assert Point.of(point.values()) == point


@settings(max_examples=150)
@given(st.data(), spaces())
def test_a_point_survives_its_coordinates(data: st.DataObject, space: Space) -> None:
    columns = coordinates_in(data.draw, space, 1)
    point = space.point({name: column[0] for name, column in columns.items()})
    assert space.point(space.coordinates(point)) == point


@given(spaces())
def test_a_space_survives_json(space: Space) -> None:
    assert Space.from_json(json.loads(json.dumps(space.to_json()))) == space


def test_a_space_that_is_feasible_only_within_is_accepted() -> None:
    space = Space.of(fix={"total_bytes": MIB, "size_floor": 1000, "size_cap": 2000})
    assert space.contains(Point.of({"descriptor_count": 800, "total_bytes": MIB, "size_floor": 1000, "size_cap": 2000}))


@pytest.mark.parametrize(
    "values",
    [
        {"fix": {"total_bytes": KIB, "size_floor": 4096}},
        {"fix": {"size_floor": 4096, "size_cap": 1024}},
        {"fix": {"descriptor_count": 2}, "max_submitted_descriptors": 1},
        {"max_submitted_bytes": 512},
        {"fix": {"attribute_count": 100, "descriptor_count": 10}},
        {"fix": {"workload": "decode-step", "scale": 100}},
    ],
)
def test_a_space_without_a_feasible_point_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no point of this space is feasible"):
        Space.of(**values)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 60), st.integers(1, 60), st.integers(1024, 3000))
def test_the_search_for_a_feasible_point_is_exact(
    floor: int, cap: int, low_count: int, high_count: int, total: int
) -> None:
    low_count, high_count = sorted((low_count, high_count))
    exists = any(count * floor <= total <= count * cap for count in range(low_count, high_count + 1))
    try:
        Space.of(
            fix={"total_bytes": total, "size_floor": floor, "size_cap": cap},
            vary={"descriptor_count": Range(low=low_count, high=high_count)},
        )
    except InputError:
        assert not exists
    else:
        assert exists


def test_workloads_among_the_values_keep_the_rule_for_the_others() -> None:
    space = Space.of(vary={"workload": ("none", "llama8b-load")})
    columns: dict[str, Any] = {
        "descriptor_count": np.array([20.0, 20.0]), "total_bytes": np.array([10.0, 10.0]),
        "repetition": np.zeros(2), "size_spread": np.zeros(2),
        "size_mix": np.array(["uniform"] * 2), "workload": np.array(["none", "llama8b-load"]),
    }  # fmt: skip
    assert space.feasible(columns).tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"fix": {"repetition": 3}, "vary": {"repetition": None}}, "both fixed and varied"),
        ({"vary": {"repetition": Range(low=9, high=3)}}, "9 is above 3"),
        ({"vary": {"repetition": ("a", "b")}}, "give a range LO:HI"),
        ({"vary": {"direction": ()}}, "give values out of h2d"),
        ({"vary": {"direction": ("sideways",)}}, "sideways"),
        ({"fix": {"nonsense": 3}}, "unknown axis 'nonsense'"),
        ({"vary": {"nonsense": None}}, "unknown axis 'nonsense'"),
    ],
)
def test_a_space_that_makes_no_sense(values: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        Space.of(**values)
    assert told in str(caught.value)


def test_everything_fixed_is_no_space() -> None:
    with pytest.raises(InputError, match="nothing is varied"):
        Space.of(fix={name: AXES[name].default for name in PRIMARY_AXES})


@pytest.mark.parametrize(
    ("name", "text", "domain"),
    [
        ("descriptor_count", "1k:2^20", Range(low=1024, high=1 << 20)),
        ("size_spread", "0.25:1", Range(low=0.25, high=1.0)),
        ("direction", "h2d, d2h", ("h2d", "d2h")),
        ("flags", "0,1", (0, 1)),
        ("sync_between", "true,false", (True, False)),
        ("repetition", None, None),
    ],
)
def test_domains_as_people_write_them(name: str, text: str | None, domain: object) -> None:
    assert parse_domain(name, text) == domain


def test_a_domain_without_a_colon() -> None:
    with pytest.raises(InputError, match="--vary repetition=LO:HI within 1 to 256"):
        parse_domain("repetition", "7")


def test_within_sees_every_axis() -> None:
    space = Space.default()
    assert space.within(Point())
    assert not space.within(replace(Point(), gap=1))
    assert full_domain(AXES["repetition"]) == Range(low=1, high=256)
    assert full_domain(AXES["workload"]) == tuple(MAX_SCALE)
