"""Derived quantities against a plain count over the sizes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.batch import Descriptors, build_batch, explicit_batch
from cubisect.features import FEATURES, SIZE_CUTS, batch_features
from cubisect.space import KIB, Point


def features_of(sizes: list[int], repetition: int = 1) -> dict[str, int | float]:
    column = np.array(sizes, dtype=np.int64)
    offsets = np.cumsum(column) - column
    point = Point(repetition=repetition)
    return batch_features(explicit_batch(Descriptors(offsets, offsets, column), point), point)


@given(st.lists(st.sampled_from((1, 1023, 1024, 1025, 4096, 16_384, 37_376, 65_536, 1 << 20)), min_size=1, max_size=40))
def test_features_are_plain_counts(sizes: list[int]) -> None:
    told = features_of(sizes, repetition=3)
    assert told["mean_size"] == pytest.approx(sum(sizes) / len(sizes))
    assert (told["smallest_size"], told["largest_size"]) == (min(sizes), max(sizes))
    assert told["distinct_sizes"] == len(set(sizes))
    assert told["size_changes"] == sum(a != b for a, b in pairwise(sizes))
    assert told["submitted_descriptors"] == 3 * len(sizes)
    assert told["submitted_bytes"] == 3 * sum(sizes)
    for cut in SIZE_CUTS:
        name = f"{cut // KIB}k"
        assert told[f"count_below_{name}"] == sum(size < cut for size in sizes)
        assert told[f"bytes_below_{name}"] == sum(size for size in sizes if size < cut)
        assert told[f"crossings_{name}"] == sum((a < cut) != (b < cut) for a, b in pairwise(sizes))


def test_every_feature_is_named_and_a_plain_number() -> None:
    told = batch_features(build_batch(Point(), 1), Point())
    assert list(told) == list(FEATURES)
    assert all(type(value) in {int, float} for value in told.values())
    assert all(text and name.isidentifier() for name, text in FEATURES.items())


def test_the_largest_space_does_not_overflow() -> None:
    assert features_of([1 << 34] * 4, repetition=256)["submitted_bytes"] == 1 << 44
