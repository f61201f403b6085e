"""From a point and a seed to a batch: exact, reproducible to the byte, never overlapping."""

import base64
import hashlib
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubisect.batch import (
    Batch,
    Descriptors,
    Lane,
    build_batch,
    check_descriptors,
    draw_sizes,
    exp2,
    explicit_batch,
    log2,
    pattern,
    permutation,
    raw_words,
    scale_to_total,
    unit_uniform,
)
from cubisect.errors import InputError
from cubisect.space import AXES, GIB, KIB, MAX_BYTES, MIB, CategoricalAxis, Point

MIXES = ("uniform", "lognormal", "pareto", "bimodal", "page_spans")


def values_of(name: str) -> st.SearchStrategy[Any]:
    axis = AXES[name]
    assert isinstance(axis, CategoricalAxis)
    return st.sampled_from(axis.values)


@st.composite
def points(draw: st.DrawFn, most: int = 400) -> Point:
    """Feasible points of up to `most` descriptors, over every axis that shapes a batch."""
    count = draw(st.integers(1, most))
    floor = draw(st.sampled_from((1, 1, 2, 3, 100, 4096)))
    cap = draw(st.sampled_from((MAX_BYTES, MAX_BYTES, 5, 200, 4096, 100_000)))
    low, high = max(count * floor, KIB), min(count * cap, 4 * GIB)
    if low > high:
        floor, cap, low, high = 1, MAX_BYTES, max(count, KIB), 4 * GIB
    return Point.of(
        {
            "descriptor_count": count,
            "total_bytes": draw(st.integers(low, min(high, 1 << draw(st.integers(low.bit_length(), 33))))),
            "size_mix": draw(st.sampled_from(MIXES)),
            "size_spread": draw(st.sampled_from((0.0, 1.0)) | st.floats(0.0, 1.0)),
            "size_floor": floor,
            "size_cap": cap,
            "size_order": draw(values_of("size_order")),
            "layout": draw(values_of("layout")),
            "alignment": draw(st.integers(1, 4096)),
            "gap": draw(st.sampled_from((0, 1, 7, 64, 65_536)) | st.integers(0, 65_536)),
            "invalid": draw(values_of("invalid")),
        }
    )


seeds = st.integers(0, (1 << 63) - 1)


def overlaps(starts: Any, sizes: Any) -> bool:
    order = np.argsort(starts, kind="stable")
    return bool((starts[order][1:] < (starts + sizes)[order][:-1]).any())


@settings(max_examples=300)
@given(points(), seeds)
def test_a_batch_is_exactly_what_its_point_says(point: Point, seed: int) -> None:
    batch = build_batch(point, seed)
    assert len(batch) == point.descriptor_count
    assert int(batch.sizes.sum()) == point.total_bytes
    assert point.size_floor <= batch.sizes.min()
    assert batch.sizes.max() <= point.size_cap
    for starts, extent in ((batch.source, batch.source_extent), (batch.destination, batch.destination_extent)):
        assert starts.dtype == np.int64
        assert not (starts % point.alignment).any()
        assert starts.min() >= 0
        assert int((starts + batch.sizes).max()) <= extent
        assert not overlaps(starts, batch.sizes + point.gap)
    check_descriptors(batch.descriptors)
    assert (batch.invalid_index is None) == (point.invalid == "none")
    assert batch.invalid_index is None or 0 <= batch.invalid_index < len(batch)


@given(points(), seeds)
def test_the_same_point_and_seed_are_the_same_batch(point: Point, seed: int) -> None:
    first, second = build_batch(point, seed), build_batch(point, seed)
    assert digest(first) == digest(second)


@given(points(), seeds)
def test_order_and_layout_move_the_sizes_but_keep_them(point: Point, seed: int) -> None:
    sizes = np.sort(draw_sizes(point, seed))
    for order in ("shuffled", "ascending", "runs", "alternating"):
        batch = build_batch(point.moved(size_order=order), seed)
        assert np.array_equal(np.sort(batch.sizes), sizes)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("count", [1, 7, 1000])
def test_spread_0_is_all_equal_for_every_mix(mix: str, count: int) -> None:
    even = build_batch(Point.of({"descriptor_count": count, "total_bytes": count * 2048, "size_mix": mix}), 3)
    assert set(even.sizes.tolist()) == {2048}
    odd = build_batch(
        Point.of({"descriptor_count": count, "total_bytes": count * 2048 + count // 2, "size_mix": mix}), 3
    )
    assert int(odd.sizes.max() - odd.sizes.min()) <= 1


@pytest.mark.parametrize("mix", MIXES)
def test_another_seed_is_another_batch_of_the_same_shape(mix: str) -> None:
    point = Point.of({"descriptor_count": 4096, "total_bytes": 64 * MIB, "size_mix": mix, "size_spread": 1.0})
    first, second = (np.sort(draw_sizes(point, seed)) for seed in (1, 2))
    assert not np.array_equal(first, second)
    widths = [np.subtract(*np.quantile(np.log2(sizes), (0.95, 0.05))) for sizes in (first, second)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)


@pytest.mark.parametrize("mix", MIXES)
def test_spread_widens_every_mix(mix: str) -> None:
    point = Point.of({"descriptor_count": 20_000, "total_bytes": 1 << 30, "size_mix": mix})
    spreads = [np.log2(draw_sizes(point.moved(size_spread=s), 5)).std() for s in (0.0, 0.25, 0.5, 1.0)]
    assert spreads == sorted(spreads)
    assert spreads[0] < 1e-3 < spreads[1]


def test_the_mixes_have_the_shapes_that_they_promise() -> None:
    def sizes(mix: str) -> Any:
        point = {"descriptor_count": 50_000, "total_bytes": 4 * GIB, "size_mix": mix, "size_spread": 1.0}
        return draw_sizes(Point.of(point), 11).astype(float)

    uniform, lognormal, bimodal, spans = (sizes(m) for m in ("uniform", "lognormal", "bimodal", "page_spans"))
    assert uniform.max() / uniform.mean() == pytest.approx(2.0, rel=0.01)
    assert np.log2(lognormal).std() == pytest.approx(3.0, rel=0.03)
    assert bimodal.max() / bimodal.min() == pytest.approx(256, rel=0.02)
    assert 60 < spans.max() / spans.min() < 65
    pareto = sizes("pareto")
    assert np.quantile(pareto, 0.99) / np.quantile(pareto, 0.5) == pytest.approx(50 ** (1 / 1.1), rel=0.15)


def test_orders() -> None:
    point = Point.of({"descriptor_count": 1000, "total_bytes": MIB, "size_mix": "lognormal", "size_spread": 1.0})
    ascending = build_batch(point.moved(size_order="ascending"), 1).sizes
    assert (np.diff(ascending) >= 0).all()
    alternating = build_batch(point.moved(size_order="alternating"), 1).sizes
    assert alternating[0::2].max() <= alternating[1::2].min()
    runs = build_batch(point.moved(size_order="runs"), 1).sizes
    assert np.count_nonzero(np.diff(runs) < 0) <= 64
    assert not np.array_equal(runs, ascending)


def test_layouts() -> None:
    point = Point.of({"descriptor_count": 1000, "total_bytes": MIB, "size_mix": "uniform", "size_spread": 1.0})
    contiguous, source, both = (
        build_batch(point.moved(layout=layout), 1) for layout in ("contiguous", "shuffled_source", "shuffled_both")
    )
    assert (np.diff(contiguous.source) > 0).all()
    assert (np.diff(contiguous.destination) > 0).all()
    assert not (np.diff(source.source) > 0).all()
    assert (np.diff(source.destination) > 0).all()
    assert not (np.diff(both.destination) > 0).all()
    assert not np.array_equal(both.source, both.destination)


@settings(max_examples=300)
@given(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=60), st.integers(1, 50), st.integers(0, 100_000), st.data())
def test_sizes_are_scaled_to_any_total_within_any_bounds(
    weights: list[float], floor: int, width: int, data: st.DataObject
) -> None:
    cap = floor + width
    total = data.draw(st.integers(len(weights) * floor, len(weights) * cap))
    sizes = scale_to_total(np.array(weights), total, floor=floor, cap=cap)
    assert int(sizes.sum()) == total
    assert floor <= sizes.min() <= sizes.max() <= cap


@given(st.lists(st.floats(0.01, 100.0), min_size=2, max_size=60), st.integers(10_000, 10**9))
def test_larger_weights_get_larger_sizes(weights: list[float], total: int) -> None:
    sizes = scale_to_total(np.array(weights), total, floor=1, cap=total)
    shares = np.array(weights) / sum(weights) * total
    assert np.abs(sizes - shares).max() <= len(weights) + shares.max() * 1e-5


def test_a_single_tiny_weight_is_no_trouble() -> None:
    """Uniform with spread 1 draws a weight below 2**-20 once in two million."""
    assert scale_to_total(np.array([2.0**-50]), 1000, floor=1, cap=2000).tolist() == [1000]


@pytest.mark.parametrize("total", [9, 41])
def test_an_impossible_total_is_an_input_error(total: int) -> None:
    with pytest.raises(InputError, match="cannot sum to"):
        scale_to_total(np.ones(10), total, floor=1, cap=4)


@given(st.floats(-60, 60))
def test_exp2_is_close(x: float) -> None:
    assert exp2(np.array([x]))[0] == pytest.approx(2.0**x, rel=1e-9)


@given(st.floats(1e-18, 1e18))
def test_log2_is_close(x: float) -> None:
    assert log2(np.array([x]))[0] == pytest.approx(np.log2(x), abs=1e-8)


@given(seeds, st.sampled_from(Lane), st.integers(0, 300))
def test_random_words_are_a_prefix_of_longer_ones(seed: int, lane: Lane, count: int) -> None:
    assert np.array_equal(raw_words(seed, lane, count), raw_words(seed, lane, count + 9)[:count])


@given(seeds, st.integers(1, 500))
def test_a_permutation_is_one(seed: int, count: int) -> None:
    assert np.array_equal(np.sort(permutation(seed, Lane.ORDER, count)), np.arange(count))


def test_uniforms_are_within_0_and_1_and_never_0() -> None:
    extremes = unit_uniform(np.array([0, (1 << 64) - 1], dtype=np.uint64))
    assert 0.0 < extremes[0] < extremes[1] <= 1.0
    assert unit_uniform(raw_words(1, Lane.SIZES, 100_000)).mean() == pytest.approx(0.5, abs=0.01)


def test_lanes_and_seeds_are_independent_streams() -> None:
    streams = {raw_words(seed, lane, 4).tobytes() for seed in range(50) for lane in Lane}
    assert len(streams) == 50 * len(Lane)


# -- golden: the bytes may never change, or every recorded seed means another batch ------------------------------------


def digest(batch: Batch) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of all that a batch is."""
    stacked = np.stack([batch.source, batch.destination, batch.sizes]).astype("<i8")
    tail = f"{batch.source_extent},{batch.destination_extent},{batch.invalid_index}".encode()
    return hashlib.sha256(stacked.tobytes() + tail).hexdigest()[:16]


WIDE: dict[str, Any] = {"size_mix": "lognormal", "size_spread": 0.8}
REPORTED: dict[str, Any] = {"descriptor_count": 51_828, "total_bytes": 824 * MIB}

GOLDEN: list[tuple[dict[str, Any], int, str]] = [
    ({}, 0, "cd5b9f0191311e43"),
    ({"descriptor_count": 1, "total_bytes": 4 * GIB}, 1, "54d2a5f872462f7f"),
    ({"size_mix": "uniform", "size_spread": 1.0}, 2, "ff88f3a5e57eca11"),
    ({"size_mix": "lognormal", "size_spread": 1.0}, 3, "9cd5ee72e554a7c4"),
    ({"size_mix": "pareto", "size_spread": 1.0}, 4, "5bd8008e619ac8dd"),
    ({"size_mix": "bimodal", "size_spread": 0.5}, 5, "77910c3751dfefc5"),
    ({"size_mix": "page_spans", "size_spread": 0.75}, 6, "42d36edfd46d97be"),
    (WIDE | {"size_order": "ascending"}, 7, "23a8bbc1f886bc7a"),
    (
        WIDE | {"size_order": "runs", "layout": "shuffled_source"},
        8,
        "cf01548b359a0706",
    ),
    (
        WIDE | {"size_order": "alternating", "layout": "shuffled_both"},
        9,
        "2679e2ae654ea353",
    ),
    ({"alignment": 256, "gap": 33, "size_mix": "uniform", "size_spread": 0.3}, 10, "9d66795487b42c87"),
    (
        WIDE | {"size_mix": "pareto", "size_floor": 64, "size_cap": 2048, "invalid": "zero_size"},
        11,
        "2838111bd894af52",
    ),
    (
        WIDE | REPORTED,
        49_276,
        "cb6afb84385f2fbc",
    ),
    ({"size_mix": "lognormal", "size_spread": 1.0}, (1 << 63) - 1, "359e2384f3fd69ea"),
]


@pytest.mark.parametrize(("values", "seed", "expected"), GOLDEN, ids=[str(i) for i in range(len(GOLDEN))])
def test_golden_batches(values: dict[str, Any], seed: int, expected: str) -> None:
    assert digest(build_batch(Point.of(values), seed)) == expected


def test_golden_pattern() -> None:
    assert hashlib.sha256(pattern(0).tobytes()).hexdigest()[:16] == "37a816f1588ccd03"


def test_only_raw_bits_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy promises the bits of Philox for ever, its distributions only for a version: none may be used."""

    def forbidden(*_: Any, **__: Any) -> None:
        pytest.fail("a distribution of NumPy was used")

    for name in ("default_rng", "Generator", "RandomState"):
        monkeypatch.setattr(np.random, name, forbidden)
    build_batch(Point.of({"size_mix": "lognormal", "size_spread": 1.0, "layout": "shuffled_both"}), 1)


def test_philox_is_the_published_generator() -> None:
    """Known answer of Philox4x64-10, key (0, 1), counter 1 (Salmon et al. 2011), which is NumPy's first output."""
    assert philox4x64((1, 0, 0, 0), (0, 1)) == raw_words(0, Lane.SIZES, 4).tolist()


def philox4x64(counter: tuple[int, ...], key: tuple[int, int]) -> list[int]:
    """Philox4x64-10 in plain integers, from the paper."""
    mask = (1 << 64) - 1
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(p1 >> 64) ^ c[1] ^ k0, p1 & mask, (p0 >> 64) ^ c[3] ^ k1, p0 & mask]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & mask, (k1 + 0xBB67AE8584CAA73B) & mask
    return c


# -- explicit descriptors ----------------------------------------------------------------------------------------------


def rows(*triples: tuple[int, int, int]) -> Descriptors:
    columns = np.array(triples, dtype=np.int64).reshape(-1, 3)
    return Descriptors(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy())


@given(st.lists(st.tuples(*[st.integers(0, 1 << 50)] * 3), min_size=1, max_size=40))
def test_descriptors_survive_packing(triples: list[tuple[int, int, int]]) -> None:
    given_ = rows(*triples)
    back = Descriptors.unpack(given_.pack())
    for name in ("source", "destination", "sizes"):
        assert np.array_equal(getattr(back, name), getattr(given_, name))


@pytest.mark.parametrize("text", ["", "not base64!", "AAAA", rows((1, 2, 3)).pack()[:-8], "é"])
def test_a_broken_package_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="packed descriptors cannot be read"):
        Descriptors.unpack(text)


def test_a_package_never_unfolds_into_more_than_the_largest_batch() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(100 * MIB))).decode()
    with pytest.raises(InputError, match="more than 1048576 descriptors"):
        Descriptors.unpack(bomb)


def test_the_largest_batch_survives_packing() -> None:
    column = np.arange(1 << 20, dtype=np.int64)
    assert len(Descriptors.unpack(Descriptors(column, column, column).pack())) == 1 << 20


@pytest.mark.parametrize(
    ("descriptors", "told"),
    [
        (rows(), "the batch is empty"),
        (rows((0, 0, 4), (4, 4, 0)), "descriptor 1: size is 0"),
        (rows((0, 0, 4), (-1, 4, 4)), "descriptor 1: source offset is -1"),
        (rows((0, -8, 4)), "descriptor 0: destination offset is -8"),
        (rows((0, 0, 4), (9, 100, 4), (4, 3, 4)), "descriptors 0 and 2 overlap"),
        (rows((0, 5, 4), (4, 5, 4)), "descriptors 0 and 1 overlap"),
    ],
)
def test_descriptors_that_make_no_batch(descriptors: Descriptors, told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_descriptors(descriptors)


def test_sources_may_overlap() -> None:
    check_descriptors(rows((0, 0, 8), (4, 8, 8)))


def test_an_explicit_batch_has_just_enough_room() -> None:
    batch = explicit_batch(rows((100, 7, 10), (0, 50, 3)), Point())
    assert (batch.source_extent, batch.destination_extent, batch.invalid_index) == (110, 53, None)
