"""Printing: JSON for programs, one-line statements for people, and the ``--fail-on`` check."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from cubisect.errors import ExitCode, InputError, choices
from cubisect.outcome import Outcome


def print_json(data: Any) -> None:
    """Write one JSON document to standard output."""
    json.dump(data, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on a terminal what takes some seconds, while it does."""
    with Console(stderr=True).status(f"{what} …"):
        yield


def say(console: Console, text: str, *, style: str = "") -> None:
    """Print one statement as it is, without wrapping or markup."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def parse_fail_on(text: str | None) -> frozenset[Outcome]:
    """Return the outcomes of ``--fail-on segfault,hang``."""
    if text is None:
        return frozenset()
    try:
        return frozenset(Outcome(part.strip()) for part in text.split(","))
    except ValueError:
        raise InputError(f"--fail-on {text}: allowed are {choices(Outcome)}, with commas between") from None


def check_fail_on(asked: frozenset[Outcome], seen: Mapping[Outcome, int]) -> None:
    """Exit with `ExitCode.CHECK_FAILED` when one of the asked outcomes was seen."""
    if any(seen.get(outcome, 0) for outcome in asked):
        raise typer.Exit(ExitCode.CHECK_FAILED)
