"""A campaign killed at any instant goes on: nothing finished is lost, nothing runs twice, the budget is completed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cubisect.cli import run
from cubisect.store import Store
from cubisect.trial import BUDGETED

BUDGET = 40


def explore(database: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cubisect.cli", "explore", "--db", str(database), *more]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_trials(database: Path, count: int) -> set[int]:
    """Wait until so many trials are finished; return their numbers."""
    for _ in range(600):
        if database.exists() and database.stat().st_size:
            store = Store.open(str(database), create=True)
            names = store.campaigns()
            finished = {r.number for r in store.trials(store.campaign()) if r.outcome} if names else set()
            store.close()
            if len(finished) >= count:
                return finished
        time.sleep(0.05)
    pytest.fail("the campaign does not get on")


@pytest.mark.parametrize(
    "after", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 5, 9, 14, 20, 27, 33, 39))]
)
def test_killed_with_its_whole_group_it_goes_on(after: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "t.sqlite"
    options = ("--driver", "sim:vllm-49276", "--budget", str(BUDGET), "--seed", "3", "--name", "killed", "--lanes", "2")
    process = explore(database, *options)
    before = wait_for_trials(database, after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    assert run(["explore", "--resume", "killed", "--db", str(database), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    store = Store.open(str(database))
    records = store.trials(store.campaign("killed"))
    numbers = [record.number for record in records]
    assert before <= set(numbers), "what was finished is still there"
    assert len(numbers) == len(set(numbers))
    assert all(record.outcome is not None for record in records), "nothing is left running"
    assert sum(record.purpose in BUDGETED for record in records) == BUDGET
    assert sum(told["outcomes"].values()) == BUDGET
    store.close()


def test_resumed_on_another_machine_it_tells_which_trials_ran_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "t.sqlite")
    assert run(["explore", "--driver", "sim:null", "--budget", "2", "--name", "c", "--db", database]) == 0
    for release in ("6.99-another", None):  # a second machine, then the first again
        with monkeypatch.context() as patch:
            if release is not None:
                patch.setattr("platform.release", lambda found=release: found)
            budget = "4" if release else "6"
            assert run(["explore", "--resume", "c", "--budget", budget, "--db", database]) == 0
    capsys.readouterr()
    assert run(["analyze", "c", "--db", database]) == 0
    assert "in 2 environments" in " ".join(capsys.readouterr().out.split())
    store = Store.open(database)
    kernels = [store.environment_of(record)["host"]["kernel"] for record in store.trials(store.campaign("c"))]
    assert kernels == [kernels[0]] * 2 + ["6.99-another"] * 2 + [kernels[0]] * 2
    store.close()


def test_ctrl_c_saves_everything_and_says_how_to_go_on(tmp_path: Path) -> None:
    database = tmp_path / "t.sqlite"
    command = [sys.executable, "-m", "cubisect.cli", "explore", "--db", str(database), "--driver", "sim:null",
               "--budget", "100000", "--name", "long"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for_trials(database, 5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert f"bisect explore --resume long --db {database}" in output
    assert "Traceback" not in output
    store = Store.open(str(database))
    assert all(record.outcome is not None for record in store.trials(store.campaign("long")))
    store.close()
