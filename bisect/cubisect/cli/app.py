"""The commands, by name; each lives in a module of its own."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from cubisect import __version__
from cubisect.cli import analyze, explore, records, replay, reproduce, shrinking
from cubisect.cli.doctor import doctor
from cubisect.cli.serve import serve

app = typer.Typer(
    name="bisect",
    help="Find where and why CUDA's batch memory copy (cuMemcpyBatchAsync) fails.",
    epilog="Start with `bisect doctor`, then `bisect explore --budget 500`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The panel of the help page, the function, what stands below its options.
_COMMANDS: tuple[tuple[str, Callable[..., Any], str], ...] = (
    ("Run", explore.explore, explore.EPILOG),
    ("Run", replay.replay, replay.EPILOG),
    ("Run", analyze.control, analyze.CONTROL_EPILOG),
    ("Run", analyze.isolate, analyze.ISOLATE_EPILOG),
    ("Look", analyze.analyze, analyze.ANALYZE_EPILOG),
    ("Look", analyze.compare, ""),
    ("Look", records.campaigns, ""),
    ("Look", records.trials, ""),
    ("Look", records.show, ""),
    ("Run", shrinking.shrink, shrinking.SHRINK_EPILOG),
    ("Run", shrinking.diagnose, ""),
    ("Hand over", reproduce.reproduce, reproduce.REPRODUCE_EPILOG),
    ("Hand over", reproduce.report, reproduce.REPORT_EPILOG),
    ("Look", serve, ""),
    ("Set up", doctor, ""),
    ("Set up", replay.presets, ""),
)

for _panel, _function, _epilog in _COMMANDS:
    app.command(_function.__name__, rich_help_panel=_panel, epilog=_epilog or None)(_function)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bisect {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find where and why CUDA's batch memory copy (cuMemcpyBatchAsync) fails."""
