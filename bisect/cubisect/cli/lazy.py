"""A group of commands that are imported when they are called, for the statistics behind some take seconds to load."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


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

    return Group
