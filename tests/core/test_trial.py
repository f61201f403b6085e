"""A trial travels as JSON and arrives the same; its batch is built once, and only when looked at."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.batch import Batch, Descriptors, build_batch
from cubisect.space import Point
from cubisect.trial import Method, TrialSpec, derive_seed

ROWS = Descriptors(*np.array([[0, 100], [0, 200], [10, 20]], dtype=np.int64))


@given(
    st.integers(0, (1 << 63) - 1),
    st.integers(0, (1 << 63) - 1),
    st.sampled_from(Method),
    st.none() | st.just(ROWS),
    st.floats(0, 1),
)
def test_a_trial_survives_json(
    seed: int, run_seed: int, method: Method, descriptors: Descriptors | None, spread: float
) -> None:
    point = Point.of({"size_spread": spread, "direction": "d2h", "sync_between": True})
    spec = TrialSpec.at(point, number=7, seed=seed, run_seed=run_seed, method=method, gpu=3, descriptors=descriptors)
    back = TrialSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert back == spec
    assert hash(back) == hash(spec)
    assert back.point == point
    assert back.batch == spec.batch


def test_the_batch_is_that_of_point_and_seed_and_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []

    def build(point: Point, seed: int) -> Batch:
        built.append((point, seed))
        return build_batch(point, seed)

    monkeypatch.setattr("cubisect.trial.build_batch", build)
    spec = TrialSpec.at(Point(), seed=5)
    assert not built
    assert spec.batch == build_batch(Point(), 5)
    assert spec.sizes is spec.batch.sizes
    assert built == [(Point(), 5)]


def test_explicit_descriptors_are_the_batch() -> None:
    spec = TrialSpec.at(Point(descriptor_count=9), descriptors=ROWS)
    assert spec.sizes.tolist() == [10, 20]
    assert (spec.batch.source_extent, spec.batch.destination_extent) == (120, 220)


def test_the_seed_draws_the_invalid_descriptor_of_explicit_ones() -> None:
    drawn = {
        TrialSpec.at(Point(invalid="zero_size"), seed=seed, descriptors=ROWS).batch.invalid_index for seed in range(20)
    }
    assert drawn == {0, 1}


def test_a_trial_has_every_axis_as_an_attribute() -> None:
    spec = TrialSpec.at(Point(repetition=3, gap=5))
    assert {name: getattr(spec, name) for name in Point().values()} == Point(repetition=3, gap=5).values()


def test_derived_seeds_depend_on_every_part_and_never_change() -> None:
    assert derive_seed("campaign", 1, "run") == derive_seed("campaign", 1, "run")
    assert len({derive_seed("campaign", n, kind) for n in range(1000) for kind in ("batch", "run")}) == 2000
    assert all(0 <= derive_seed(n) < 1 << 63 for n in range(1000))
