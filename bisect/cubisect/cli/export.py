"""`bisect export`: a campaign for other programs."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer
from rich.console import Console

from cubisect.cli.options import DEFAULT_DATABASE, Database, Json, open_store
from cubisect.cli.output import print_json, say, working
from cubisect.cli.records import Campaign
from cubisect.errors import InputError, choices
from cubisect.report.terminal import SIMULATED
from cubisect.search.export import export_study
from cubisect.store import Campaign as CampaignRecord
from cubisect.store import Store
from cubisect.store.database import is_ours, without_password
from cubisect.store.export import copy_campaign, write_csv, write_parquet

EPILOG = """
Examples:

  bisect export -o trials.parquet                    the latest campaign, as a table

  bisect export NAME -o trials.csv

  bisect export NAME -o study.journal                for optuna-dashboard

  bisect export NAME -o sqlite:///study.db --as optuna

  bisect export NAME -o alone.sqlite                 a database of its own
"""

Writer = Callable[[Store, CampaignRecord, str], int]


def _study(store: Store, campaign: CampaignRecord, target: str) -> int:
    if is_ours(target):
        raise InputError(
            f"-o {without_password(target)}: holds campaigns, and a study wants a place of its own; name another"
        )
    about = {"driver": campaign.driver, "simulated": campaign.simulated}
    return export_study(store.trials(campaign), campaign.space, campaign.name, target, about=about)


WRITERS: dict[str, Writer] = {
    "csv": lambda store, campaign, target: write_csv(store, campaign, Path(target)),
    "parquet": lambda store, campaign, target: write_parquet(store, campaign, Path(target)),
    "optuna": _study,
    "database": copy_campaign,
}

ENDS = MappingProxyType({".csv": "csv", ".parquet": "parquet", ".journal": "optuna", ".sqlite": "database"})
"""The formats that the end of a name tells."""


def export(
    campaign: Campaign = None,
    *,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE|URL", help="What to write.")],
    as_: Annotated[
        str | None,
        typer.Option("--as", metavar="FORMAT", help="csv, parquet, optuna or database.  [default: by the name's end]"),
    ] = None,
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Write a campaign for other programs: a table of its trials, an Optuna study, or a database of its own.

    A table (CSV, Parquet) has a row per finished trial. A study has the trials of the search, and Optuna goes on from
    it. A database has everything, and names no machine.
    """
    form = _form(output, as_)
    store = open_store(db)
    chosen = store.campaign(campaign)
    with working(f"exporting {chosen.name}"):
        trials = WRITERS[form](store, chosen, output)
    place = without_password(output)
    if json:
        told = {"campaign": chosen.name, "simulated": chosen.simulated, "format": form, "output": place}
        print_json({**told, "trials": trials})
        return
    mark = f", {SIMULATED}" if chosen.simulated else ""
    say(Console(), f"{place}: {trials} trials of {chosen.name}{mark}, as {form}")


def _form(output: str, asked: str | None) -> str:
    if asked is not None:
        if asked not in WRITERS:
            raise InputError(f"--as {asked}: unknown; allowed are {choices(WRITERS)}")
        return asked
    form = "database" if output.startswith("postgresql") else ENDS.get(Path(output).suffix)
    if form is None or (form == "database" and output.startswith("sqlite:")):
        raise InputError(f"-o {without_password(output)}: its end tells no format; add --as, one of {choices(WRITERS)}")
    return form
