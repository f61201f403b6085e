"""What every failure needs: found where there is something, and hardly ever where there is nothing."""

import pytest

from cubisect.analysis.needs import needs
from support.frames import SMALL_SPACE, Truth, explore, simulate
from support.truths import CHANCY_LIMIT, LIMIT, NOTHING, Where

LARGE_BATCH = Where(lambda t: int(t.sizes[t.sizes < 24 * 1024].sum()) >= 4 << 20 and t.seed % 3 > 0)
"""Small copies of 4 MiB in all are needed, and two batches in three fail then: as seen on an H200."""

EVERYWHERE = Where(lambda t: t.seed % 8 == 0)
"""One batch in eight fails, wherever it is."""


@pytest.mark.parametrize("truth", [LIMIT, CHANCY_LIMIT], ids=["always", "by chance"])
def test_a_bound_in_an_axis_is_found_and_confirmed(truth: Truth) -> None:
    found = needs(simulate(truth, trials=400, seed=2))
    first = found.confirmed[0]
    assert first.condition.name in {"descriptor_count", "submitted_descriptors"}
    assert first.condition.low is not None
    assert 300 <= first.condition.low <= 1300
    assert first.outside.failures <= 0.02 * first.outside.trials
    assert "descriptor" in found.answer


def test_a_bound_in_a_derived_quantity_is_found_though_not_everything_above_fails() -> None:
    found = needs(simulate(LARGE_BATCH, trials=400, seed=1))
    first = found.confirmed[0]
    assert first.condition.name in {"bytes_below_24k", "bytes_below_28k", "bytes_below_32k", "bytes_below_16k"}
    assert first.condition.low is not None
    assert 2 << 20 <= first.condition.low <= 5 << 20
    assert first.inside.failures < first.inside.trials


def test_nothing_is_needed_where_nothing_fails() -> None:
    found = needs(explore(NOTHING, trials=200))
    assert found.needs == ()
    assert "nothing" in found.answer


def test_a_failure_anywhere_needs_nothing() -> None:
    """Over many seeds a condition is confirmed by chance in at most one campaign in ten."""
    wrong = sum(bool(needs(explore(EVERYWHERE, trials=300, seed=seed), seed=seed).confirmed) for seed in range(30))
    assert wrong <= 3


def test_the_same_frame_gives_the_same_needs() -> None:
    frame = simulate(LIMIT, trials=200, space=SMALL_SPACE)
    assert needs(frame, seed=4).to_json() == needs(frame, seed=4).to_json()
