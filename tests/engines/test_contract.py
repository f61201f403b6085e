"""What every engine promises: jobs in, results out, whatever the trials do; and everything ends when it is told to."""

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cubisect.engines.base import Engine, Job
from cubisect.engines.local import LocalEngine
from cubisect.engines.ray import RayEngine
from cubisect.errors import InputError
from cubisect.isolation import LaneOptions, health
from cubisect.isolation.resolve import resolve_driver
from cubisect.outcome import Outcome, classify
from cubisect.space import Point
from cubisect.trial import TrialSpec
from support.faulty import BrokenGpu, Fault, Faulty, trial
from support.processes import marked, wait_until
from support.ray_nodes import running_cluster
from support.running import results

QUICK = LaneOptions(native_stacks=False)

MakeEngine = Callable[..., Engine]

ENGINES = ["local", pytest.param("ray", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", autouse=True)
def mark() -> Iterator[str]:
    """Mark the processes that these tests start, by their environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STARTED_BY", mark := uuid.uuid4().hex)
        yield mark


@pytest.fixture(scope="module", params=ENGINES)
def engine_class(request: pytest.FixtureRequest, mark: str) -> Iterator[Callable[..., Engine]]:
    """Return what makes an engine; for Ray a cluster of two nodes runs meanwhile."""
    if request.param == "local":
        yield LocalEngine
        return
    with running_cluster(nodes=2, cores=1) as cluster:
        yield lambda driver, **more: RayEngine(driver, address=cluster.address, **more)


@pytest.fixture
def make_engine(engine_class: Callable[..., Engine]) -> Iterator[MakeEngine]:
    """Make engines that are closed at the end."""
    engines: list[Engine] = []

    def make(driver: str = Faulty.name, **more: Any) -> Engine:
        engines.append(engine_class(driver, **{"options": QUICK, "lanes": 2, **more}))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def test_each_job_comes_back_once_with_its_own_outcome(make_engine: MakeEngine) -> None:
    faults = [Fault.NONE, Fault.SEGFAULT, Fault.ERROR, Fault.ABORT, Fault.GARBAGE, Fault.DAEMON] * 3
    found = results(make_engine(), [trial(fault) for fault in faults])
    expected = [Outcome.OK, Outcome.SEGFAULT, Outcome.ERROR, Outcome.CRASH, Outcome.CRASH, Outcome.OK] * 3
    assert [classify(found[key].evidence).outcome for key in sorted(found)] == expected
    assert not any(completed.tainted for completed in found.values())
    assert {completed.gpu for completed in found.values()} == {"0"}
    here = resolve_driver(Faulty.name).environment
    assert all(completed.environment == here for completed in found.values())


def test_a_timeout_of_the_user_ends_a_hang(make_engine: MakeEngine) -> None:
    engine = make_engine(timeout_s=0.2, lanes=1)
    engine.submit(Job(key=1, spec=trial(Fault.SPIN)))
    completed = engine.next_result(20.0)
    assert completed is not None
    assert classify(completed.evidence).outcome is Outcome.HANG


def test_a_driver_that_cannot_be_loaded_is_told_with_the_first_result_at_the_latest(make_engine: MakeEngine) -> None:
    def first_result() -> None:
        engine = make_engine("sim:nonsense")
        engine.submit(Job(key=1, spec=TrialSpec.at(Point())))
        engine.next_result(20.0)

    with pytest.raises(InputError, match="nonsense"):
        first_result()


def test_no_result_in_time_is_none(make_engine: MakeEngine) -> None:
    assert make_engine().next_result(0.01) is None


def test_closing_gives_running_trials_up_at_once(make_engine: MakeEngine, mark: str) -> None:
    engine = make_engine(timeout_s=60.0)
    engine.submit(Job(key=1, spec=trial(Fault.SPIN)))
    engine.submit(Job(key=2, spec=trial(Fault.SLEEP)))
    assert wait_until(lambda: bool(marked("CUBISECT_LANE=", mark)), 20.0)
    time.sleep(0.7)
    began = time.monotonic()
    engine.close()
    assert time.monotonic() - began < 5.0
    assert wait_until(lambda: not marked("CUBISECT_LANE=", mark), 5.0)


def test_a_gpu_that_fails_its_canaries_pauses_the_campaign(make_engine: MakeEngine) -> None:
    engine = make_engine(BrokenGpu.name, lanes=1)
    found = results(engine, [trial(Fault.NONE), trial(Fault.SEGFAULT)])
    assert [found[key].tainted for key in (0, 1)] == [False, True]
    with pytest.raises(health.UnfitGpuError, match="GPU 0 is set aside") as raised:
        engine.next_result(5.0)
    assert raised.value.tainted == (0, 1)


def test_no_lane_is_refused(make_engine: MakeEngine) -> None:
    with pytest.raises(InputError, match="--lanes 0"):
        make_engine(lanes=0)
