"""The commands, by name; each lives in a module of its own."""

from typing import Annotated

import typer

from cubisect import __version__
from cubisect.cli.lazy import RUNS, LazyCommand, lazy_group

COMMANDS = (
    LazyCommand(
        RUNS,
        "explore",
        "explore",
        "Search for failures of the batch copy call, one fresh process per trial.",
        "EPILOG",
    ),
    LazyCommand(
        RUNS,
        "replay",
        "replay",
        "Submit exactly the same batch again: of a recorded trial, an exported case, a preset, a file or a point.",
        "EPILOG",
    ),
    LazyCommand(
        RUNS,
        "analyze",
        "control",
        "Run failing batches both ways, as one batch call and as one copy per descriptor: is it the batch call?",
        "CONTROL_EPILOG",
    ),
    LazyCommand(
        RUNS,
        "analyze",
        "isolate",
        "Vary one factor at a time around a failing trial: which are needed, which irrelevant, which make it worse?",
        "ISOLATE_EPILOG",
    ),
    LazyCommand(
        RUNS,
        "shrinking",
        "shrink",
        "Reduce a failing trial while it keeps failing in the same way; every trial is recorded, and used again.",
        "SHRINK_EPILOG",
    ),
    LazyCommand(
        RUNS,
        "shrinking",
        "diagnose",
        "Run a trial again under gdb (or cuda-gdb) and record where it fails, as module + offset.",
    ),
    LazyCommand(
        "Look",
        "analyze",
        "analyze",
        "Say what the trials show: rates, thresholds, monotonicity, regions, what is safe; each with its interval.",
        "ANALYZE_EPILOG",
    ),
    LazyCommand(
        "Look", "analyze", "compare", "Say what changed between two campaigns: drivers, GPUs, versions, neighbours."
    ),
    LazyCommand("Look", "records", "campaigns", "List the recorded campaigns with their outcome counts."),
    LazyCommand("Look", "records", "trials", "List the trials of a campaign."),
    LazyCommand("Look", "records", "show", "Show one trial: what was submitted, how it ended, and the evidence."),
    LazyCommand(
        "Look",
        "serve",
        "serve",
        "Serve the record as a live page and an HTTP API: watch, start, stop and resume campaigns.",
    ),
    LazyCommand(
        "Hand over",
        "reproduce",
        "reproduce",
        "Write a stand-alone C program, a Python script and a JSON case that submit exactly this batch.",
        "REPRODUCE_EPILOG",
    ),
    LazyCommand(
        "Hand over",
        "reproduce",
        "report",
        "Write a page (HTML, self-contained) or a text (Markdown) to attach to a bug report.",
        "REPORT_EPILOG",
    ),
    LazyCommand(
        "Hand over",
        "export",
        "export",
        "Write a campaign for other programs: a table of its trials, an Optuna study, or a database of its own.",
        "EPILOG",
    ),
    LazyCommand("Set up", "doctor", "doctor", "Say what this machine can and cannot do, and why."),
    LazyCommand("Set up", "replay", "presets", "List the real transfers that --preset knows."),
)

app = typer.Typer(
    name="bisect",
    cls=lazy_group(COMMANDS),
    help="Find where and why CUDA's batch memory copy (cuMemcpyBatchAsync) fails.",
    epilog="Start with `bisect doctor`, then `bisect explore --budget 500`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
