"""A group of commands that are imported when they are called, for the statistics behind some take seconds to load."""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cubisect.errors import StoppedError

RUNS = "Run"
"""The panel of the commands that spend trials."""


@dataclass(frozen=True)
class LazyCommand:
    """A command that is the function `module.name`; `summary` is the first line of its docstring.

    `epilog` names what of the module stands below its options, if anything.
    """

    panel: str
    module: str
    name: str
    summary: str
    epilog: str | None = None

    def load(self) -> Any:
        """Import the module and return the command."""
        module = importlib.import_module(f"cubisect.cli.{self.module}")
        function: Callable[..., Any] = getattr(module, self.name)
        epilog = None if self.epilog is None else getattr(module, self.epilog)
        alone = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False, add_completion=False)
        alone.command(self.name, epilog=epilog)(function)
        return typer.main.get_command(alone)

    def listed(self) -> TyperCommand:
        """Return what the list of commands shows of it."""
        return TyperCommand(self.name, help=self.summary, rich_help_panel=self.panel)


def discard_output() -> None:
    """Send what is still to be printed nowhere: its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def lazy_group(commands: tuple[LazyCommand, ...]) -> type[TyperGroup]:
    """Return a group of these commands, to be given to Typer as `cls`."""
    by_name = {command.name: command for command in commands}

    class Group(TyperGroup):
        """Lists every command, and imports the one that is called."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**{**settings, "commands": {name: c.listed() for name, c in by_name.items()}})

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            name, listed, rest = super().resolve_command(ctx, args)
            return name, listed and by_name[str(listed.name)].load(), rest

        def invoke(self, ctx: Any) -> Any:
            """Run the command; keep from Typer what it would end without a word."""
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                raise StoppedError("interrupted; what was recorded is kept") from None
            except (BrokenPipeError, SystemExit):  # the latter is how Rich passes on the former
                discard_output()
                if by_name[ctx.invoked_subcommand].panel != RUNS:
                    return None  # `bisect trials | head` has said all that was asked for
                raise StoppedError("nobody reads the output any more; what was recorded is kept") from None

    return Group
