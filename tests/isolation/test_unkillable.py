"""A process that not even SIGKILL ends: recorded, left to the kernel, and its GPU set aside."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cubisect.cli import run
from cubisect.engines.base import Job
from cubisect.engines.local import LocalEngine
from cubisect.errors import ExitCode
from cubisect.isolation import Lane, LaneOptions, lane
from cubisect.isolation.hang import process_state
from cubisect.isolation.health import UnfitGpuError
from cubisect.outcome import HangKind, Outcome, classify
from support.deaf_files import NoMountError, deaf_file_system
from support.faulty import Fault, Faulty, Unkillable, trial
from support.processes import wait_until

pytestmark = pytest.mark.slow

QUICK = LaneOptions(native_stacks=False)


@pytest.fixture(autouse=True)
def deaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have `Fault.UNKILLABLE` end in uninterruptible sleep until the test is over; nobody waits for it for long."""
    monkeypatch.setattr(lane, "DYING_LIMIT_S", 1.0)
    monkeypatch.setenv("DEAF_FILES", str(tmp_path))
    with ExitStack() as stack:
        try:
            stack.enter_context(deaf_file_system(tmp_path))
        except NoMountError as error:
            pytest.skip(f"no file system can be mounted here: {error}")
        yield


def test_it_is_recorded_and_the_lane_goes_on() -> None:
    with Lane(Faulty.name, options=QUICK) as here:
        began = time.monotonic()
        seen = here.run(trial(Fault.UNKILLABLE), 0.3)
        assert time.monotonic() - began < 10.0
        (pid,) = here.unkillable
        assert process_state(pid).letter == "D"
        assert seen.hang is not None
        assert seen.hang.kind is HangKind.UNINTERRUPTIBLE
        assert (seen.exit_code, seen.signal, seen.killed_by_us) == (None, None, True)
        assert classify(seen).outcome is Outcome.HANG
        assert classify(here.run(trial(Fault.NONE), 5.0)).outcome is Outcome.OK


def test_its_gpu_is_set_aside() -> None:
    engine = LocalEngine(Faulty.name, lanes=2, gpus=(0, 1), timeout_s=0.3, options=QUICK)
    try:
        engine.submit(Job(key=1, spec=trial(Fault.UNKILLABLE)))
        results = [engine.next_result(20.0)]
        assert results[0] is not None
        assert results[0].tainted
        with pytest.raises(
            UnfitGpuError, match=r"is set aside: process \d+ cannot be killed; nothing is lost"
        ) as raised:
            engine.next_result(5.0)
        assert 1 in raised.value.tainted
    finally:
        engine.close()


def test_a_campaign_stops_with_one_line(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path_factory.mktemp("db") / "t.sqlite")
    common = ["--budget", "5", "--seed", "1", "--lanes", "1", "--timeout", "0.3", "--db", database, "--name", "stuck"]
    assert run(["explore", "--driver", Unkillable.name, *common]) == ExitCode.BAD_ENVIRONMENT
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert "cannot be killed" in line
    assert "--resume" in line


def test_it_goes_when_the_kernel_lets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path.parent / f"{tmp_path.name}-own"
    folder.mkdir()
    monkeypatch.setenv("DEAF_FILES", str(folder))
    with Lane(Faulty.name, options=QUICK) as here:
        with deaf_file_system(folder):
            here.run(trial(Fault.UNKILLABLE), 0.3)
            (pid,) = here.unkillable
            assert process_state(pid).letter == "D"
        assert wait_until(lambda: process_state(pid).exiting, 5.0)
