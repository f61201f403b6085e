"""The campaign files at the root of the repository: every point of their grids is feasible and is what it says."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cubisect.batch import build_batch
from cubisect.search.campaign_file import campaign_request, read_campaign_file
from cubisect.space import KIB, Point
from cubisect.workloads import preset_point

FOLDER = Path(__file__).parents[2] / "campaigns"


def points_of(name: str) -> list[Point]:
    file = read_campaign_file(FOLDER / f"{name}.toml")
    request = campaign_request(file, drawn_seed=1)
    assert file.budget is not None
    assert len(request.enqueue) <= file.budget
    return list(request.enqueue)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_file_is_named_after_its_campaign(path: Path) -> None:
    assert read_campaign_file(path).name == path.stem


def test_cliff_is_the_whole_grid() -> None:
    grid = {
        (count, size * KIB, flags, order)
        for count in (16, 1000, 10_000, 50_000, 100_000)
        for size in (4, 8, 16, 20, 24, 26, 28, 32, 64)
        for flags in (0, 1)
        for order in ("stream", "any")
        if (count, size) != (100_000, 64)
    }
    points = points_of("cliff")
    assert {(p.descriptor_count, p.total_bytes // p.descriptor_count, p.flags, p.access_order) for p in points} == grid
    assert len(points) == len(grid)
    small = next(point for point in points if point.descriptor_count == 1000)
    assert len(set(build_batch(small, 1).sizes.tolist())) == 1


def test_chunked_is_the_preset_cut_into_calls() -> None:
    points = points_of("chunked")
    assert Counter((p.chunk, p.neighbours) for p in points) == {
        (chunk, n): 10 for chunk in (256, 1024, 4096, 8192, 1 << 20) for n in (0, 1)
    }
    preset = preset_point("vllm-49276-tp4", fragmentation=1.0)
    assert {p.moved(chunk=preset.chunk, neighbours=0) for p in points} == {preset}


def test_ranks_is_the_preset_by_one_two_and_four_in_rounds() -> None:
    points = points_of("ranks")
    settings = [(ranks, n) for ranks in (1, 2, 4) for n in (0, 1)]
    assert [(p.ranks, p.neighbours) for p in points] == settings * 20
    preset = preset_point("vllm-49276-tp4", fragmentation=1.0)
    assert {p.moved(ranks=preset.ranks, neighbours=0) for p in points} == {preset}


def test_two_size_has_two_sizes_to_one_percent() -> None:
    points = points_of("two-size")
    assert len(points) == 3 * 13
    for point in points[::3]:
        sizes = build_batch(point, 7).sizes
        small, large = sizes[sizes < sizes.mean()], sizes[sizes >= sizes.mean()]
        ratio = math.log2(float(np.median(large)) / float(np.median(small))) / 8
        assert ratio == pytest.approx(point.size_spread, abs=0.003)
        assert np.ptp(small) <= 1
        assert np.ptp(large) <= 1
        assert abs(len(small) - len(large)) < 0.05 * len(sizes)
