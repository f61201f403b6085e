"""Every preset: the arithmetic of its sources, the order and place of its copies, and that they are reproducible."""

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubisect.batch import build_batch, check_descriptors
from cubisect.errors import InputError
from cubisect.space import AXES, GIB, MAX_DESCRIPTORS, MAX_SCALE, Point, Range, Space, Value
from cubisect.trial import TrialSpec
from cubisect.workloads import WORKLOADS, describe, preset_point, workload_descriptors

NAMES = sorted(WORKLOADS)
SMALL_SCALE = 24


def test_presets_are_the_values_of_the_axis() -> None:
    assert ["none", *WORKLOADS] == AXES["workload"].range_text.split(", ") == list(MAX_SCALE)


@pytest.mark.parametrize(
    ("name", "count", "total"),
    [
        # counts of the public reports; bytes = 836 and 317 blocks of 985,664 less the copies that the reports lack
        ("vllm-49276-tp2", 51_828, 836 * 985_664 - 4 * 1_168),
        ("vllm-49276-tp4", 19_634, 317 * 985_664 - 20 * 1_168),
        ("dsv4-agent-restore", 24_242, 391 * 985_664),
        ("glm5-simple-offload", 19_968, 128 * 78 * (36_864 + 8_448)),
        ("llama8b-load", 16_384, 16_384 * 32_768),
        ("llama70b-tp4-store", 40_960, 40_960 * 8_192),
        ("canonical-fragments", 1_048_576, 1_048_576 * 512),
        ("sglang-page-first-direct", 32_768, 32_768 * 16_384),
        ("lmcache-kimi", 7 * 128 + 14, 7 * 128 * 1_179_648),  # 15 boundaries, one of them between two copies
        ("trtllm-coldpage", 1_025, 1024 * (1 << 20) + 1024 * 8),
        ("decode-step", 32, 2 * (4 * (2**15 - 1)) + 4 + 8),
    ],
)
def test_sums_of_the_sources(name: str, count: int, total: int) -> None:
    point = preset_point(name)
    sizes = build_batch(point, seed=5).sizes
    assert (len(sizes), int(sizes.sum())) == (count, total)
    assert (point.descriptor_count, point.total_bytes) == (count, total)


@pytest.mark.parametrize(
    ("name", "scale", "count"),
    [("glm5-simple-offload", 2048, 319_488), ("llama8b-load", 2048, 131_072), ("llama70b-tp4-store", 2048, 327_680)],
)
def test_upper_end_of_the_reported_range(name: str, scale: int, count: int) -> None:
    assert preset_point(name, scale).descriptor_count == count


def test_shares_of_the_reported_sizes() -> None:
    common = {c.size: c for c in describe(build_batch(preset_point("vllm-49276-tp2"), 0).descriptors).common}
    assert {size: round(100 * c.share, 1) for size, c in common.items()} == {37_376: 33.9, 8_448: 33.9, 1_168: 32.3}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fragmentation", [0.0, 0.4, 1.0])
def test_copies_are_valid_and_disjoint_on_both_sides(name: str, fragmentation: float) -> None:
    batch = build_batch(_small(name, fragmentation=fragmentation), seed=11)
    check_descriptors(batch.descriptors)
    for offsets in (batch.source, batch.destination):
        order = np.argsort(offsets)
        assert (np.diff(offsets[order]) >= batch.sizes[order][:-1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_fragmentation_adds_cuts_and_moves_the_same_bytes(name: str) -> None:
    whole, cut = (build_batch(_small(name, fragmentation=f), seed=2).sizes for f in (0.0, 0.7))
    assert len(cut) > len(whole)
    assert cut.sum() == whole.sum()


def test_fragmented_compact_transfer_cuts_at_most_15_times_per_block_into_multiples_of_16() -> None:
    blocks = 50
    whole = build_batch(preset_point("dsv4-agent-restore", blocks), 3)
    cut = build_batch(preset_point("dsv4-agent-restore", blocks, fragmentation=1.0), 3)
    assert 0 < len(cut) - len(whole) <= 15 * blocks
    assert (cut.sizes % 16 == 0).all()
    assert (cut.source % 16 == 0).all()
    assert (whole.destination % 64 == 0).all()


def test_pieces_of_a_fragmented_copy_stay_within_their_host_page() -> None:
    page = 64 << 10
    cut = build_batch(preset_point("dsv4-agent-restore", 50, fragmentation=1.0), 3)
    assert ((cut.source // page) == (cut.source + cut.sizes - 1) // page).all()


def test_order_is_group_slice_block() -> None:
    sizes = build_batch(preset_point("dsv4-agent-restore", 10), 1).sizes
    assert sizes.tolist() == [37_376] * 210 + [8_448] * 210 + [1_168] * 200


def test_host_block_holds_its_slices_one_after_the_other() -> None:
    blocks = 10
    batch = build_batch(preset_point("dsv4-agent-restore", blocks), 1)
    of_one_block = batch.source[3::blocks]
    assert (np.diff(of_one_block) == batch.sizes[3::blocks][:-1]).all()


def test_page_first_submits_block_by_block() -> None:
    batch = build_batch(preset_point("sglang-page-first-direct", 4), 1)
    pages = batch.destination // (64 * 16_384)
    assert len({*pages[:64].tolist()}) == 1
    assert sorted({int(pages[i]) for i in range(0, 256, 64)}) == [0, 1, 2, 3]


def test_registered_chunks_are_never_crossed() -> None:
    batch = build_batch(preset_point("lmcache-kimi"), 9)
    chunk = 64 << 20
    assert (batch.source // chunk == (batch.source + batch.sizes - 1) // chunk).all()


def test_index_comes_last_and_has_eight_bytes_per_page() -> None:
    sizes = build_batch(preset_point("trtllm-coldpage", 64), 0).sizes
    assert sizes.tolist() == [4 << 20] * 64 + [512]


@pytest.mark.parametrize("name", NAMES)
def test_direction_swaps_source_and_destination(name: str) -> None:
    load = workload_descriptors(_small(name, direction="h2d"), 4)
    store = workload_descriptors(_small(name, direction="d2h"), 4)
    assert (load.source == store.destination).all()
    assert (load.destination == store.source).all()


@pytest.mark.parametrize("name", NAMES)
def test_seed_scatters_and_reproduces(name: str) -> None:
    point = _small(name, fragmentation=0.3)
    one, again, other = (build_batch(point, seed) for seed in (1, 1, 2))
    assert (one.source == again.source).all()
    assert (one.sizes == again.sizes).all()
    assert not np.array_equal(one.source, other.source)


def test_batch_is_the_same_on_every_machine() -> None:
    """A golden value: a change here changes what recorded trials mean."""
    batch = build_batch(preset_point("vllm-49276-tp2", 7, fragmentation=0.5), seed=1234)
    weights = np.arange(1, len(batch) + 1)
    sums = [int((column * weights).sum()) for column in (batch.source, batch.destination, batch.sizes)]
    assert sums == GOLDEN


def test_caller_s_context_is_in_the_point() -> None:
    point = preset_point("vllm-49276-tp4")
    assert (point.direction, point.access_order, point.flags) == ("h2d", "any", 0)
    assert (point.ranks, point.repetition, point.stream_state, point.host_memory) == (4, 3, "blocked", "pinned")
    assert preset_point("lmcache-kimi").chunk == 7


def test_overrides_win() -> None:
    assert preset_point("vllm-49276-tp2", ranks=1, chunk=1024).departures()["chunk"] == 1024


def test_negative_controls_are_those_of_equal_sizes() -> None:
    controls = [name for name, workload in WORKLOADS.items() if workload.negative_control]
    assert controls == ["llama8b-load", "llama70b-tp4-store"]
    for name in controls:
        assert describe(build_batch(_small(name), 0).descriptors).distinct_sizes == 1


def test_unknown_name_lists_the_workloads() -> None:
    with pytest.raises(InputError, match=r"'vllm'.*vllm-49276-tp2.*bisect presets"):
        preset_point("vllm")


@pytest.mark.parametrize("scale", [0, 65_536])
def test_scale_beyond_the_workload_is_refused_with_its_unit(scale: int) -> None:
    with pytest.raises(InputError, match=r"blocks of 256 tokens of vllm-49276-tp2 .* 1 to 8,192"):
        preset_point("vllm-49276-tp2", scale)


def test_space_refuses_a_scale_that_no_workload_reaches() -> None:
    space = Space.of(
        fix={"workload": "decode-step", "repetition": 1},
        vary={"scale": None, "fragmentation": None},
    )
    columns = {
        name: np.full(3, space.coordinates(space.base)[name])
        for name in ("descriptor_count", "total_bytes", "size_spread", "fragmentation")
    }
    columns["scale"] = np.log2([8.0, 64.0, 65.0])
    assert space.feasible(columns).tolist() == [True, True, False]
    assert not space.contains(Point(workload="decode-step", scale=65))


def test_space_over_several_workloads_knows_the_scale_of_each() -> None:
    space = Space.of(vary={"workload": ("decode-step", "llama8b-load"), "scale": Range(low=1, high=4096)})
    columns = {name: np.full(2, 12.0) for name in space.varied}
    columns["workload"] = np.array(["decode-step", "llama8b-load"])
    assert space.feasible(columns).tolist() == [False, True]


@pytest.mark.parametrize("name", NAMES)
def test_largest_scale_stays_within_one_call_and_8_gib(name: str) -> None:
    workload = WORKLOADS[name]
    count, total = workload.generator.size(workload.max_scale)
    assert count <= MAX_DESCRIPTORS
    assert total <= 8 * GIB


@given(st.sampled_from(NAMES), st.integers(1, 60), st.floats(0, 1), st.integers(0, 2**63))
@settings(max_examples=60, deadline=None)
def test_every_batch_is_valid_and_of_the_told_size(name: str, scale: int, fragmentation: float, seed: int) -> None:
    scale = min(scale, MAX_SCALE[name])
    point = preset_point(name, scale, fragmentation=fragmentation)
    batch = build_batch(point, seed)
    check_descriptors(batch.descriptors)
    count, total = WORKLOADS[name].generator.size(scale)
    assert int(batch.sizes.sum()) == total
    assert len(batch) >= count
    assert fragmentation or len(batch) == count


def test_trial_of_a_workload_survives_json() -> None:
    spec = TrialSpec.at(_small("vllm-49276-tp2", fragmentation=0.5), seed=8)
    again = TrialSpec.from_json(spec.to_json())
    assert (again.batch.source == spec.batch.source).all()


def test_a_million_descriptors_are_built_within_a_second() -> None:
    started = time.perf_counter()
    batch = build_batch(preset_point("canonical-fragments", fragmentation=1.0), 0)
    assert len(batch) == MAX_DESCRIPTORS
    assert time.perf_counter() - started < 3.0  # 0.4 s on an idle core; three leaves room for a busy machine


def test_runs_of_equal_sizes_are_counted() -> None:
    description = describe(build_batch(preset_point("glm5-simple-offload", 10), 0).descriptors, most=1)
    assert (description.runs, description.distinct_sizes) == (2, 2)
    assert (description.common[0].count, description.others) == (780, 780)
    assert (description.smallest, description.largest) == (8_448, 36_864)


def test_names_are_unique_and_summaries_short() -> None:
    assert all(len(workload.summary) <= 100 for workload in WORKLOADS.values())
    assert all(a < b for a, b in pairwise(NAMES))


def _small(name: str, **overrides: Value) -> Point:
    return preset_point(name, min(SMALL_SCALE, WORKLOADS[name].default_scale), **overrides)


GOLDEN = [430345197824, 689598753072, 879390816]


@pytest.mark.parametrize("name", NAMES)
def test_page_of_the_workloads_tells_their_size(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
    workload, point = WORKLOADS[name], preset_point(name)
    figures = f"| {workload.unit} | {point.scale:,} | {point.descriptor_count:,} | {point.total_bytes:,} |"
    assert figures in row
    assert workload.negative_control == ("negative control" in row)
