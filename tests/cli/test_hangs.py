"""What hangs cost and what they leave, as the commands tell it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cubisect.cli import run
from cubisect.errors import ExitCode
from support.faulty import DumpsGpuCores, Hanging

Told = Callable[..., Any]


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Run a command on a database of its own; return what it printed, as JSON where that was asked for."""

    def tell(*arguments: str) -> Any:
        capsys.readouterr()
        assert run([*arguments, "--db", str(tmp_path / "t.sqlite")]) == ExitCode.DONE
        text = capsys.readouterr().out
        return json.loads(text) if "--json" in arguments else " ".join(text.split())

    return tell


def test_a_core_dump_of_the_gpu_is_had_where_it_is_asked_for(told: Told, tmp_path: Path) -> None:
    cores = tmp_path / "cores"
    common = ("replay", "--driver", DumpsGpuCores.name, "--timeout", "0.3", "--json")
    seen = told(*common, "--gpu-core-dump", str(cores))
    shown = told("show", seen["trials"][0]["trial"], "--json")
    core = Path(shown["evidence"]["hang"]["gpu_core"])
    assert core.parent == cores
    assert core.exists()
    assert str(core.name) in told("show", seen["trials"][0]["trial"]).replace(" ", "")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    arguments = ["replay", "--driver", "sim:null", "--db", str(tmp_path / "t.sqlite"), "--gpu-core-dump"]
    assert run([*arguments, str(tmp_path / "file" / "cores")]) == ExitCode.BAD_INPUT
    assert "--gpu-core-dump" in capsys.readouterr().err


def test_what_hangs_cost_is_told_by_explore_and_show(told: Told) -> None:
    common = ("explore", "--driver", Hanging.name, "--budget", "6", "--seed", "1", "--lanes", "2", "--no-control")
    summary = told(*common, "--name", "h")
    assert "hangs were waited for" in summary
    assert "--timeout" in summary
    assert " in hangs (" in summary
    number = told("trials", "h", "--outcome", "hang", "--json")[0]["trial"]
    shown = told("show", number, "--json")
    assert shown["hang_cost"]["hangs"] >= 2
    assert shown["evidence"]["allowed_s"] == {"set-up": 2.0, "submission": 2.0, "verification": 2.0}
    text = told("show", number)
    assert "set-up 2 s, submission 2 s, verification 2 s; a canary took 0.0" in text
    assert "hangs were waited for" in text


def test_what_canaries_took_is_kept_for_the_next_campaign(told: Told) -> None:
    common = ("explore", "--driver", "sim:null", "--budget", "3", "--lanes", "1", "--json", "--name")
    told(*common, "a")
    told(*common, "b")
    first, second = (told("show", f"{name}/1", "--json")["calibration"] for name in "ab")
    assert first["canary_s"] > 0.0
    assert first == second
