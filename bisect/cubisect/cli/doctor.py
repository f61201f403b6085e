"""`bisect doctor`: what this machine can and cannot do."""

from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cubisect.cli.options import Json
from cubisect.cli.output import print_json
from cubisect.errors import ExitCode
from cubisect.isolation.doctor import Check, State, examine

_STYLES = {State.OK: "green", State.LIMITED: "yellow", State.MISSING: "red"}


def doctor(json: Json = False) -> None:
    """Say what this machine can and cannot do, and why.

    Exits with 3 when real trials cannot run here; simulated ones run on any Linux.
    """
    checks = examine()
    if json:
        print_json([asdict(check) for check in checks])
    else:
        Console().print(_table(checks))
    if checks[0].state is not State.OK:
        raise typer.Exit(ExitCode.BAD_ENVIRONMENT)


def _table(checks: list[Check]) -> Table:
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        text = Text(check.found + (f"\n{check.hint}" if check.hint else ""))
        table.add_row(Text(check.state, style=_STYLES[check.state]), check.name, text)
    return table
