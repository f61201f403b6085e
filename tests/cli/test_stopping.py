"""Commands that are told to end early say so in one line, and what was recorded is kept."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cubisect.errors import ExitCode

BISECT = [sys.executable, "-m", "cubisect.cli"]
LONG = ["--driver", "sim:null", "--db"]


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*BISECT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def recorded(database: Path) -> int:
    """Return how many trials are recorded with their outcome, replays of no campaign too."""
    with closing(sqlite3.connect(database)) as connection:
        count: int = connection.execute("SELECT count(*) FROM trials WHERE outcome IS NOT NULL").fetchone()[0]
    return count


def test_ctrl_c_ends_a_replay_with_one_line(tmp_path: Path) -> None:
    database = tmp_path / "t.sqlite"
    with started("replay", "--times", "100000", *LONG, str(database)) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("#"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert errors == "bisect: interrupted; what was recorded is kept\n"
    assert recorded(database) > 0


def test_a_campaign_that_nobody_reads_ends_with_one_line(tmp_path: Path) -> None:
    database = tmp_path / "t.sqlite"
    failing = ["--driver", "sim:vllm-49276", "--timeout", "0.2"]  # a line for every failure
    with started("explore", "--budget", "100000", *failing, "--db", str(database)) as process:
        assert process.stdout is not None
        while "segfault" not in process.stdout.readline():
            assert process.poll() is None
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert errors == "bisect: nobody reads the output any more; what was recorded is kept\n"
    assert recorded(database) > 0


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]], ids=" ".join)
def test_a_list_of_which_nobody_reads_the_rest_is_no_trouble(form: list[str], tmp_path: Path) -> None:
    database = shutil.copy(Path(__file__).parents[2] / "db" / "reference" / "h200-quiet.sqlite", tmp_path)
    with started("trials", *form, "--limit", "1000", "--db", str(database)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (ExitCode.DONE, "")
