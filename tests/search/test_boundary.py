"""The parts of the boundary search, and how well they map known regions."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier

from cubisect.search.boundary.axis import probes
from cubisect.search.boundary.directions import failure_directions
from cubisect.search.boundary.encoding import Encoding, Float
from cubisect.search.boundary.forest import GROVES, refit_times
from cubisect.search.boundary.history import History, Proposal
from cubisect.search.boundary.planner import Planner, Rules, uncertainty
from cubisect.search.boundary.replicates import due_repeat, failure_rates
from cubisect.search.boundary.sobol import Explorer, uniform_rows
from cubisect.space import Range, Space
from cubisect.trial import Origin, Purpose

SPACE = Space.of(vary={"direction": ("h2d", "d2h"), "neighbours": Range(low=0, high=3)})
ENCODING = Encoding(SPACE)
Truth = Callable[[Float, int], str | None]
"""What fails at a row in the n-th trial; None where it passes."""


def run(planner: Planner, truth: Truth, count: int) -> Planner:
    for number in range(count):
        proposal = planner.propose(number)
        planner.history.told(number, proposal, truth(proposal.row, number), 0.1)
    return planner


def column(name: str) -> int:
    return ENCODING.names.index(name)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=ENCODING.width, max_size=ENCODING.width))
def test_a_row_survives_the_way_through_the_database(unit: list[float]) -> None:
    row = ENCODING.from_unit(np.array([unit]))[0]
    if ENCODING.feasible(row[None, :])[0]:
        point = SPACE.point(ENCODING.coordinates(row))
        assert SPACE.contains(point)
        assert (ENCODING.row(SPACE.coordinates(point)) == row).all()


def test_every_named_value_and_whole_number_gets_its_share() -> None:
    rows = uniform_rows(ENCODING, np.random.default_rng(0), 8000)
    for name, count in (("size_mix", 5), ("direction", 2), ("neighbours", 4)):
        shares = np.bincount(rows[:, column(name)].astype(int), minlength=count) / len(rows)
        assert shares == pytest.approx(np.full(count, 1 / count), abs=0.02)


def test_the_explorer_gives_the_same_point_for_an_index_in_any_order() -> None:
    late = Explorer(ENCODING, 5).point(700)
    explorer = Explorer(ENCODING, 5)
    assert (explorer.point(3) == Explorer(ENCODING, 5).point(3)).all()
    assert (explorer.point(700) == late).all()


def test_trailing_zeros_are_shown_to_the_trees() -> None:
    row = ENCODING.row({**ENCODING.coordinates(ENCODING.low), "descriptor_count": np.log2(96), "total_bytes": 20.0})
    assert ENCODING.features(row[None, :])[0, -2:].tolist() == [5.0, 20.0]


def test_a_slab_oblique_in_three_axes_is_seen() -> None:
    rng = np.random.default_rng(1)
    points = rng.random((600, 4))
    normal = np.array([1.0, 0.6, 1.5, 0.0]) / np.linalg.norm([1.0, 0.6, 1.5])
    codes = (np.abs(points @ normal - 0.9) < 0.05).astype(np.int64)
    found = failure_directions(points, codes)[:, 0]
    assert abs(found @ normal) / np.linalg.norm(found) > 0.98


@given(st.integers(1, 30_000))
def test_trees_are_renewed_on_a_schedule_that_depends_on_the_count_alone(count: int) -> None:
    times = refit_times(count)
    assert 1 <= len(times) <= GROVES
    assert times == sorted(set(times))
    assert 0.94 * count - GROVES <= times[0] <= times[-1] <= count
    assert set(refit_times(count + 1)) <= {*times, count + 1}  # at most one grove is new after a result


@pytest.mark.parametrize("level", [0.15, 0.25, 0.5])
def test_uncertainty_is_greatest_at_the_level(level: float) -> None:
    p = np.linspace(0, 1, 201)
    assert p[np.argmax(uncertainty(p, level))] == pytest.approx(level, abs=0.006)


def test_bisection_closes_in_on_both_ends_of_a_window_within_a_quarter_octave() -> None:
    history = History(ENCODING)
    at, other = column("descriptor_count"), column("total_bytes")
    row = ENCODING.row({**ENCODING.coordinates(ENCODING.low), "descriptor_count": 12.0, "total_bytes": 31.0})
    history.told(0, Proposal(row, Origin.EXPLORE), "segfault", 0.1)
    for number in range(1, 60):
        moves = [probe for probe in probes(history, 0) if probe[at] != row[at]]
        if not moves:
            break
        fails = 10.3 < moves[0][at] < 13.7
        history.told(number, Proposal(moves[0], Origin.AXIS), "segfault" if fails else None, 0.1)
    else:
        pytest.fail("the bisection did not end")
    tried = history.rows[:, at]
    for crossing in (10.3, 13.7):
        assert tried[tried > crossing].min() - tried[tried < crossing].max() <= 0.26
    assert (history.rows[:, other] == row[other]).all()


def test_a_bracket_has_one_probe_at_a_time() -> None:
    history = History(ENCODING)
    row = ENCODING.row({**ENCODING.coordinates(ENCODING.low), "descriptor_count": 12.0, "total_bytes": 31.0})
    history.told(0, Proposal(row, Origin.EXPLORE), "segfault", 0.1)
    seen: set[bytes] = set()
    for number in range(1, 40):
        probe = next(probes(history, 0), None)
        if probe is None:
            return
        assert probe.tobytes() not in seen
        seen.add(probe.tobytes())
        history.asked(number, Proposal(probe, Origin.AXIS))
    pytest.fail("probes without end while nothing is told")


def test_repeats_stop_when_they_agree_and_the_rate_is_that_of_the_repeats() -> None:
    for answers, rate, asked in ((["segfault"], 1.0, 3), ([None, "segfault"], 0.53, 14)):
        history = History(ENCODING)
        history.told(0, Proposal(ENCODING.from_unit(np.full((1, 7), 0.5))[0], Origin.EXPLORE), "segfault", 0.1)
        purposes = []
        for number in range(1, 40):
            repeat = due_repeat(history)
            if repeat is None:
                break
            purposes.append(repeat.purpose)
            history.told(number, repeat, answers[number % len(answers)], 0.1)
        assert len(purposes) == asked
        assert {Purpose.REPLICATE, Purpose.RESAMPLE} == set(purposes)
        assert failure_rates(history)[0] == pytest.approx(rate, abs=0.01)


def test_a_mapped_null_model_claims_nothing() -> None:
    planner = run(Planner(SPACE, 1), nothing, 200)
    assert planner.history.kinds == []
    assert set(planner.history.origins) == {Origin.EXPLORE}


def nothing(row: Float, number: int) -> str | None:
    return None


def _f1(rows: Float, failed: np.ndarray, truth: Truth) -> float:
    fresh = uniform_rows(ENCODING, np.random.default_rng(99), 5000)
    true = np.array([truth(row, -1) is not None for row in fresh])
    forest = ExtraTreesClassifier(60, max_features=None, random_state=0).fit(ENCODING.features(rows), failed)
    predicted = forest.predict_proba(ENCODING.features(fresh))[:, -1] >= 0.5
    return 2.0 * float((predicted & true).sum()) / max(float(predicted.sum() + true.sum()), 1.0)


def narrow_band(row: Float, number: int) -> str | None:
    mean = row[column("total_bytes")] - row[column("descriptor_count")]
    return "segfault" if 11 < mean < 14 and 0.2 < row[column("size_spread")] < 0.7 else None


def corner_of_two(row: Float, number: int) -> str | None:
    submitted = row[column("descriptor_count")] + row[column("repetition")]
    return "hang" if submitted > 20.5 and row[column("direction")] == 0 else None


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "gain"), [(narrow_band, 0.1), (corner_of_two, 0.02)])
def test_boundary_maps_better_than_sobol_with_the_same_trials(truth: Truth, gain: float) -> None:
    gains = []
    for seed in range(3):
        scores = []
        for rules in (Rules(), Rules(explore_share=1.0, repeats=False)):
            history = run(Planner(SPACE, seed, rules), truth, 250).history
            scores.append(_f1(history.rows, history.codes > 0, truth))
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > gain
    assert min(gains) > -0.02
