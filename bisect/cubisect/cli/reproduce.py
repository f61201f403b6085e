"""`bisect reproduce` and `report`: what to hand to a vendor."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from cubisect.analysis.rates import Rate
from cubisect.cli.options import DEFAULT_DATABASE, Database, Json, open_store
from cubisect.cli.output import print_json, say, working
from cubisect.cli.records import Trial
from cubisect.errors import InputError
from cubisect.outcome import FAILURES
from cubisect.report.faults import recorded_faults
from cubisect.report.minimal import minimal_cases
from cubisect.report.pages import Report
from cubisect.report.terminal import SIMULATED
from cubisect.reproduce.c_source import c_source
from cubisect.reproduce.case import Case
from cubisect.reproduce.export import FILES, export, facts_of, timeout_of
from cubisect.reproduce.tallies import recorded_runs
from cubisect.store import Store, TrialRecord

REPRODUCE_EPILOG = """
Examples:

  bisect reproduce 17 -o case        writes case.json, reproduce.c, reproduce.py and README.md

  bisect replay case/case.json --times 20
"""

REPORT_EPILOG = """
Examples:

  bisect report -o report.html            the latest campaign

  bisect report NAME/17 -o report.md      with the reproducer of one trial
"""


def reproduce(
    trial: Trial,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")],
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Write a stand-alone C program, a Python script and a JSON case that submit exactly this batch."""
    store = open_store(db)
    record = store.trial(trial)
    if record.outcome not in FAILURES:
        raise InputError(
            f"trial {record.ref} ended {record.outcome}: reproduce needs a failing one; type `bisect trials`, or "
            f"`bisect replay {record.ref}` to run it again"
        )
    campaign = store.campaign(record.campaign)
    batch_runs, control_runs = recorded_runs(store.frame(campaign), record)
    environment = store.environment_of(record)
    case = export(record, output, environment=environment, batch_runs=batch_runs, control_runs=control_runs)
    if json:
        files = [name for name in FILES if (output / name).exists()]
        print_json({"trial": record.ref, "simulated": record.simulated, "directory": str(output), "files": files})
        return
    console = Console()
    say(console, f"{case.title}: {output}", style="bold")
    say(console, f"read {output / 'README.md'}, or type `bisect replay {output / 'case.json'} --times 20`")


def report(
    what: Annotated[
        str | None, typer.Argument(metavar="[CAMPAIGN|TRIAL]", help="A campaign, or CAMPAIGN/NUMBER, or a number.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A file that ends in .html or .md.")
    ] = Path("report.html"),
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Write a page (HTML, self-contained) or a text (Markdown) to attach to a bug report."""
    if output.suffix not in {".html", ".md"}:
        raise InputError(f"-o {output}: allowed are names that end in .html or .md")
    store = open_store(db)
    record = store.trial(what) if what is not None and ("/" in what or what.isdigit()) else None
    campaign = store.campaign(record.campaign if record else what)
    with working(f"writing of {record.ref if record else campaign.name}"):
        frame = store.frame(campaign)
        minimal = minimal_cases(store, campaign, record)
        listed = minimal[0].after if minimal else record
        page = Report(
            campaign, frame, record, _runs(frame, record), minimal, _reproducer(store, frame, listed), listed,
            recorded_faults(store, campaign),
        )  # fmt: skip
        text = page.html() if output.suffix == ".html" else page.markdown()
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"-o {output}: {error.strerror}; name a file in a folder that exists") from error
    if json:
        print_json({"report": str(output), "campaign": campaign.name, "simulated": campaign.simulated})
    else:
        mark = f", {SIMULATED}" if campaign.simulated else ""
        say(Console(), f"{output}: {record.ref if record else campaign.name}{mark}, {len(text) >> 10} KiB")


def _runs(frame: pd.DataFrame, record: TrialRecord | None) -> list[Rate]:
    """Return how often the very batch of a trial failed, as one call and copy by copy, where it was run again."""
    both = recorded_runs(frame, record) if record else ()
    return [
        tally.rate(what) for what, tally in zip(("batch calls", "per-descriptor runs"), both, strict=False) if tally
    ]


def _reproducer(store: Store, frame: pd.DataFrame, record: TrialRecord | None) -> dict[str, str]:
    """Return the C program of a failing trial by its name."""
    if record is None or record.outcome not in FAILURES:
        return {}
    batch_runs, control_runs = recorded_runs(frame, record)
    case = Case.of(record, environment=store.environment_of(record), batch_runs=batch_runs, control_runs=control_runs)
    return {"reproduce.c": c_source(case.spec, title=case.title, facts=facts_of(case), timeout_s=timeout_of(record))}
