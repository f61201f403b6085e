from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubisect.analysis import monotone
from cubisect.analysis.monotone import minimum_flips, monotonicity, rate_curves
from cubisect.space import Space
from support.frames import SMALL_SPACE, explore, simulate
from support.truths import BAND, LIMIT


@settings(deadline=None)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=14))
def test_flips_are_the_smallest_vertex_cover(edges: set[tuple[int, int]]) -> None:
    array = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    vertices = sorted({v for edge in edges for v in edge})
    for size in range(len(vertices) + 1):
        if any(all(a in cover or b in cover for a, b in edges) for cover in map(set, combinations(vertices, size))):
            assert minimum_flips(array) == size
            return


def test_a_monotone_truth_has_no_witness() -> None:
    found = monotonicity(simulate(LIMIT, trials=300))
    assert (found.pairs, found.flips, found.witnesses) == (0, 0, ())


def test_witnesses_are_what_they_say() -> None:
    frame = simulate(BAND, trials=300)
    found = monotonicity(frame)
    rows = frame.set_index("number")
    assert found.flips > 0
    assert found.witnesses
    for witness in found.witnesses:
        bad, good = rows.loc[witness.failing], rows.loc[witness.passing]
        assert (bad["outcome"], good["outcome"]) == (witness.outcome, "ok")
        assert bad["size_mix"] == good["size_mix"]
        assert all(good[axis] >= bad[axis] for axis in found.axes)
        assert witness.raised == {a: (bad[a], good[a]) for a in found.axes if good[a] > bad[a]} != {}


def test_flips_make_the_labels_monotone() -> None:
    frame = explore(BAND, trials=200)
    found = monotonicity(frame)
    assert found.flips <= min((frame["outcome"] != "ok").sum(), (frame["outcome"] == "ok").sum())
    assert found.flips <= found.pairs


def test_beyond_the_bound_a_sample_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = simulate(BAND, trials=300)
    whole = monotonicity(frame)
    monkeypatch.setattr(monotone, "MAX_PAIRS", whole.pairs // 3)
    part = monotonicity(frame)
    assert part.counted < part.trials == whole.trials
    assert part.flips <= whole.flips
    assert "at least, from" in part.answer


def test_rate_curves_use_explored_trials_and_find_the_fall() -> None:
    frame = explore(BAND, trials=400)
    curves = {curve.axis: curve for curve in rate_curves(frame)}
    assert sum(curves["descriptor_count"].trials) == 400
    assert (curves["descriptor_count"].p_value or 1.0) <= 0.05
    assert (curves["total_bytes"].p_value or 0.0) > 0.05
    monotone_rates = curves["descriptor_count"].monotone_rates
    assert list(monotone_rates) == sorted(monotone_rates)


def test_a_cap_on_the_work_forbids_reading_the_curves() -> None:
    frame = explore(BAND, trials=200)
    capped = Space(varied=SMALL_SPACE.varied, max_submitted_descriptors=1 << 14)
    assert all(curve.p_value is None and "cap" in curve.reason for curve in rate_curves(frame, capped))


def test_a_monotone_truth_is_seldom_rejected_by_the_curves() -> None:
    rejected = 0
    for seed in range(12):
        curves = rate_curves(explore(LIMIT, trials=150, seed=seed))
        rejected += any(curve.p_value is not None and curve.p_value <= 0.05 for curve in curves)
    assert rejected <= 2
