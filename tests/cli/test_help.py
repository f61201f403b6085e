"""Every command explains itself, and the README names only commands that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cubisect import __version__
from cubisect.cli import run
from cubisect.cli.app import COMMANDS as LISTED
from cubisect.cli.lazy import LazyCommand

ROOT = Path(__file__).parents[2]
COMMANDS_IN_ORDER = [command.name for command in LISTED]
COMMANDS = sorted(COMMANDS_IN_ORDER)


SLOW_TO_IMPORT = ("pandas", "scipy", "sklearn", "optuna", "sqlalchemy", "alembic", "matplotlib", "plotly")


def imported(*arguments: str) -> set[str]:
    """Return which of the slow packages a command line has imported at its end."""
    program = (
        "import sys\nfrom cubisect.cli import run\n"
        f"run({list(arguments)!r})\nsys.stderr.write(' '.join(set(sys.modules) & set({SLOW_TO_IMPORT!r})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_the_list_of_commands_imports_none_of_them() -> None:
    assert imported("--help") == set()
    assert imported("doctor") == set()


def test_a_replay_loads_no_statistics(tmp_path: Path) -> None:
    assert imported("replay", "--driver", "sim:null", "--db", str(tmp_path / "t.sqlite")) <= {"sqlalchemy", "alembic"}
    assert imported("show", "1", "--db", str(tmp_path / "t.sqlite")) == {"sqlalchemy"}


@pytest.mark.parametrize("listed", LISTED, ids=COMMANDS_IN_ORDER)
def test_listed_as_it_describes_itself(listed: LazyCommand) -> None:
    assert " ".join(listed.load().help.split("\n\n")[0].split()) == listed.summary


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Usage: bisect" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_the_readme_names_real_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"^bisect ([a-z]+)", text, re.MULTILINE)) | set(re.findall(r"`bisect ([a-z]+)", text))
    assert named
    assert named <= set(COMMANDS)


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"bisect {__version__}\n"
