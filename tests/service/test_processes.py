"""Campaigns as child processes, with a stand-in for the command."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubisect.errors import InputError
from cubisect.service.processes import Launcher

STAND_IN = """
import os, signal, sys, time
def interrupted(*_):
    print("saved")
    sys.exit(130)
signal.signal(signal.SIGINT, interrupted)
what = sys.argv[1]
open(sys.argv[2], "w").write(os.environ["BISECT_DB"])
if what == "fail":
    sys.exit("no GPU; type `bisect doctor`")
if what == "run":
    time.sleep(60)
"""


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    launcher = Launcher("sqlite:///of-the-server", command=(sys.executable, "-c", STAND_IN))
    yield launcher
    launcher.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "not within 20 s"
        time.sleep(0.02)


def test_start_and_stop(launcher: Launcher, tmp_path: Path) -> None:
    said = tmp_path / "said"
    launcher.start("a", ["run", str(said)])
    wait_until(lambda: said.exists() and bool(said.read_text()))
    assert said.read_text() == "sqlite:///of-the-server"
    assert launcher.running("a")
    assert not launcher.running("b")
    with pytest.raises(InputError, match="campaign a is running"):
        launcher.start("a", ["run", str(said)])
    launcher.stop("a")
    assert not launcher.running("a")
    assert launcher.failure("a") is None


def test_what_a_failing_campaign_said(launcher: Launcher, tmp_path: Path) -> None:
    launcher.start("a", ["fail", str(tmp_path / "said")])
    wait_until(lambda: launcher.failure("a") is not None)
    assert launcher.failure("a") == "no GPU; type `bisect doctor`"


def test_a_finished_campaign_may_be_started_again(launcher: Launcher, tmp_path: Path) -> None:
    for _ in range(2):
        launcher.start("a", ["end", str(tmp_path / "said")])
        wait_until(lambda: not launcher.running("a"))
    assert launcher.failure("a") is None


def test_what_this_server_does_not_run_it_does_not_stop(launcher: Launcher) -> None:
    with pytest.raises(InputError, match="stop it where it was started"):
        launcher.stop("other")


def test_close_stops_all(tmp_path: Path) -> None:
    launcher = Launcher("sqlite://", command=(sys.executable, "-c", STAND_IN))
    for name in "ab":
        launcher.start(name, ["run", str(tmp_path / name)])
    wait_until(lambda: all((tmp_path / name).exists() for name in "ab"))
    launcher.close()
    assert not any(launcher.running(name) for name in "ab")
