"""Local lanes: jobs in, results out, whatever the trials do; and everything ends when it is told to."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from cubisect.engines import local
from cubisect.engines.base import Job
from cubisect.engines.local import LocalEngine
from cubisect.errors import InputError
from cubisect.isolation import LaneOptions
from cubisect.space import Point
from cubisect.trial import TrialSpec
from support.faulty import Faulty
from support.running import results

QUICK = LaneOptions(native_stacks=False)


@pytest.fixture
def make_engine() -> Iterator[Callable[..., LocalEngine]]:
    """Make engines that are closed at the end."""
    engines: list[LocalEngine] = []

    def make(driver: str = Faulty.name, **more: Any) -> LocalEngine:
        engines.append(LocalEngine(driver, **{"options": QUICK, "lanes": 2, **more}))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def test_both_lanes_work(make_engine: Callable[..., LocalEngine]) -> None:
    engine = make_engine("sim:null")
    found = results(engine, [TrialSpec.at(Point(), run_seed=n) for n in range(40)])
    assert Counter(completed.lane for completed in found.values()).keys() == {0, 1}
    calibrations = engine.calibrations()
    assert set(calibrations) == {"0", "1"}
    assert calibrations["0"]["canary_s"] > 0.0


class Book:
    """Keeps calibrations in memory."""

    def __init__(self) -> None:
        self.pages: dict[tuple[str, str], dict[str, float]] = {}

    def calibration(self, driver: str, gpu: str) -> Mapping[str, float]:
        return self.pages.get((driver, gpu), {})

    def save_calibration(self, driver: str, gpu: str, constants: Mapping[str, float]) -> None:
        self.pages[driver, gpu] = dict(constants)


def test_calibrations_are_kept_and_used_again(make_engine: Callable[..., LocalEngine]) -> None:
    book, specs = Book(), [TrialSpec.at(Point(), run_seed=n) for n in range(20)]
    first = make_engine("sim:null", book=book)
    results(first, specs)
    ((driver, place),) = book.pages
    assert driver == "sim:null"
    assert place.startswith("0@")
    slowest = max(lane["canary_s"] for lane in first.calibrations().values())
    assert book.pages[driver, place]["canary_s"] == slowest
    book.pages[driver, place]["start_s"] = 0.125  # as if this machine were slower than it is
    again = make_engine("sim:null", book=book)
    results(again, specs)
    assert {lane["start_s"] for lane in again.calibrations().values()} == {0.125}
    assert book.pages[driver, place]["start_s"] == 0.125


def test_calibrations_of_another_environment_are_measured_again(
    make_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    book, specs = Book(), [TrialSpec.at(Point())]
    results(make_engine("sim:null", book=book, lanes=1), specs)
    monkeypatch.setattr(local, "environment", lambda _: {"host": {"kernel": "another"}})
    results(make_engine("sim:null", book=book, lanes=1), specs)
    assert len(book.pages) == 2


FOUR_GPUS = {"devices": [{"index": index, "uuid": f"GPU-{index}"} for index in range(4)]}


def test_lanes_leave_every_rank_a_gpu_of_its_own(
    make_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "usable_cuda", lambda: FOUR_GPUS)
    lanes = {ranks: make_engine("cuda", lanes=None, gpus=None, ranks=ranks) for ranks in (1, 2, 3, 4)}
    assert {n: [a.lane.gpu for a in engine._attendants] for n, engine in lanes.items()} == {
        1: [0, 1, 2, 3], 2: [0, 2], 3: [0], 4: [0],
    }  # fmt: skip


def test_more_ranks_than_gpus_must_be_allowed_to_share(
    make_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "usable_cuda", lambda: FOUR_GPUS)
    with pytest.raises(InputError, match="ranks 8: there are 4 GPUs; add --share-gpus"):
        make_engine("cuda", lanes=None, gpus=None, ranks=8)
    with pytest.raises(InputError, match="ranks 2: there is 1 GPU; add --share-gpus"):
        make_engine("cuda", lanes=None, gpus=(3,)).submit(Job(key=1, spec=TrialSpec.at(Point(ranks=2))))
    assert make_engine("cuda", lanes=None, gpus=None, ranks=8, share_gpus=True).lanes == 1


def test_ranks_that_share_a_gpu_are_noted(make_engine: Callable[..., LocalEngine]) -> None:
    found = results(make_engine("sim:null", lanes=1), [TrialSpec.at(Point(ranks=3)), TrialSpec.at(Point())])
    assert "3 ranks share 1 GPU" in found[0].evidence.notes
    assert not found[1].evidence.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [({"lanes": 0}, "--lanes 0"), ({"gpus": (0, 0)}, "--gpus 0,0"), ({"gpus": (-1,)}, "--gpus -1")],
)
def test_bad_numbers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LocalEngine("sim:null", **options)
