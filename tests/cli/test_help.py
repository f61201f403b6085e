"""Every command explains itself, and the README names only commands that exist."""

import re
from pathlib import Path

import pytest

from cubisect import __version__
from cubisect.cli import run
from cubisect.cli.app import app

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(str(command.name) for command in app.registered_commands)


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
