"""The failure map: every trial is counted once, in the cell where it lies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.outcome import Outcome
from cubisect.service.failure_map import CODES, COLUMNS, QUANTITIES, ROWS, Points, View, failure_map
from cubisect.space import AXES

X, Y = QUANTITIES["descriptor_count"], QUANTITIES["total_bytes"]

coordinates = st.floats(-50, 50)
rows = st.lists(st.tuples(coordinates, coordinates, st.sampled_from(list(Outcome))), max_size=60)


def points_of(table: list[tuple[float, float, Outcome]]) -> Points:
    return Points(
        number=np.arange(1, len(table) + 1),
        outcome=np.array([CODES[outcome] for _, _, outcome in table], dtype=np.int64),
        x=np.array([x for x, _, _ in table], dtype=np.float64),
        y=np.array([y for _, y, _ in table], dtype=np.float64),
    )


@given(rows)
def test_every_trial_is_counted_once_by_its_outcome(table: list[tuple[float, float, Outcome]]) -> None:
    drawn = failure_map(points_of(table), X, Y)
    assert drawn.trials == len(table)
    assert drawn.outside == 0
    for outcome in Outcome:
        assert sum(c.counts.get(outcome, 0) for c in drawn.cells) == sum(row[2] is outcome for row in table)


@given(rows, coordinates, coordinates, st.floats(0.01, 40), st.floats(0.01, 40))
def test_a_cell_holds_the_trials_within_its_bounds(
    table: list[tuple[float, float, Outcome]], x: float, y: float, width: float, height: float
) -> None:
    points = points_of(table)
    view = View(x_low=x, x_high=x + width, y_low=y, y_high=y + height)
    drawn = failure_map(points, X, Y, view)
    assert drawn.trials + drawn.outside == len(table)
    assert drawn.trials == int(points.inside(view).sum())
    for cell in drawn.cells:
        bounds = drawn.bounds(cell)
        slack = 1e-9 * (1 + abs(x) + abs(y) + width + height)
        wide = View(
            x_low=bounds.x_low - slack,
            x_high=bounds.x_high + slack,
            y_low=bounds.y_low - slack,
            y_high=bounds.y_high + slack,
        )
        assert int(points.inside(wide).sum()) >= cell.total
        if cell.only is not None:
            assert cell.total == 1
            assert points.inside(wide)[cell.only - 1]


def test_trials_of_one_point_share_a_cell_and_a_view() -> None:
    drawn = failure_map(points_of([(3.0, 4.0, Outcome.OK)] * 3), X, Y)
    assert [cell.total for cell in drawn.cells] == [3]
    assert drawn.view.x_low < 3 < drawn.view.x_high


def test_no_trials_is_an_empty_map() -> None:
    assert failure_map(points_of([]), X, Y).cells == []


def test_worst_names_the_gravest_failure_and_ignores_inconclusive_trials() -> None:
    table = [(0.0, 0.0, outcome) for outcome in (Outcome.INCONCLUSIVE, Outcome.OK, Outcome.SEGFAULT, Outcome.HANG)]
    (cell,) = failure_map(points_of(table), X, Y).cells
    assert (cell.worst, cell.failing, cell.total) == (Outcome.SEGFAULT, 2, 4)
    (unclear,) = failure_map(points_of(table[:1]), X, Y).cells
    assert unclear.worst is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("name", sorted(QUANTITIES))
def test_every_quantity_has_few_labelled_ticks_and_coordinates_of_its_default(name: str) -> None:
    quantity = QUANTITIES[name]
    ticks = quantity.ticks(0.0, 1.0 if not quantity.log else 20.0)
    assert 1 <= len(ticks) <= 8
    assert all(quantity.text(tick) for tick in ticks)
    if name in AXES:
        assert quantity.coordinates(np.array([AXES[name].default]))[0] >= 0


def test_every_value_of_a_categorical_side_is_labelled_once() -> None:
    direction = QUANTITIES["direction"]
    assert [direction.text(tick) for tick in direction.ticks(-0.3, 0.4)] == ["h2d"]
    assert [direction.text(tick) for tick in direction.ticks(-0.3, 3.3)] == list(direction.labels)


def test_quantities_are_read_as_people_write_them() -> None:
    assert QUANTITIES["total_bytes"].text(26.0) == "64 MiB"
    assert QUANTITIES["descriptor_count"].text(16.0) == "65,536"
    assert QUANTITIES["direction"].text(1.0) == "d2h"
    assert QUANTITIES["size_spread"].text(0.25) == "0.25"


def test_zooming_keeps_the_middle_and_never_collapses() -> None:
    view = View(x_low=0, x_high=8, y_low=0, y_high=4)
    assert view.around(2, 2, 0.5) == View(x_low=0, x_high=4, y_low=1, y_high=3)
    for _ in range(100):
        view = view.around(1, 1, 0.1)
    assert view.x_high > view.x_low
    assert failure_map(points_of([(1.0, 1.0, Outcome.OK)]), X, Y, view).trials == 1


def test_grid_is_small_enough_for_a_page() -> None:
    table = [(float(x), float(y), Outcome.OK) for x in range(100) for y in range(100)]
    assert len(failure_map(points_of(table), X, Y).cells) <= COLUMNS * ROWS
