"""`bisect reproduce` and `report`: what to hand to a vendor."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cubisect.cli.options import DEFAULT_DATABASE, Database, Json, open_store
from cubisect.cli.output import print_json, say
from cubisect.cli.records import Trial
from cubisect.errors import InputError
from cubisect.report.pages import Report
from cubisect.reproduce.case import Case
from cubisect.reproduce.export import FILES, export, files_of
from cubisect.reproduce.tallies import recorded_runs

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
    campaign = store.campaign(record.campaign)
    batch_runs, control_runs = recorded_runs(store.frame(campaign), record)
    case = export(record, output, environment=campaign.environment, batch_runs=batch_runs, control_runs=control_runs)
    if json:
        print_json({"directory": str(output), "files": [name for name in FILES if (output / name).exists()]})
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
    frame = store.frame(campaign)
    files = {}
    if record is not None:
        batch_runs, control_runs = recorded_runs(frame, record)
        case = Case.of(record, environment=campaign.environment, batch_runs=batch_runs, control_runs=control_runs)
        files = {name: text for name, text in files_of(case).items() if name == "reproduce.c"}
    page = Report(campaign, frame, record, files)
    text = page.html() if output.suffix == ".html" else page.markdown()
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"-o {output}: {error.strerror}; name a file in a folder that exists") from error
    if json:
        print_json({"report": str(output), "campaign": campaign.name, "simulated": campaign.simulated})
    else:
        say(Console(), f"{output}: {len(text) >> 10} KiB")
