"""`bisect campaigns`, `trials` and `show`: what is recorded."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from cubisect.cli.options import DEFAULT_DATABASE, Database, Json, open_store
from cubisect.cli.output import print_json
from cubisect.errors import InputError, choices
from cubisect.isolation.calibration import place_of
from cubisect.outcome import Outcome
from cubisect.report.environments import differences
from cubisect.report.faults import frames_of, recorded_faults
from cubisect.report.terminal import campaigns_table, trial_panel, trials_table
from cubisect.store import Campaign as CampaignRecord
from cubisect.store import Store, TrialRecord
from cubisect.trial import Purpose

if TYPE_CHECKING:
    from cubisect.analysis.hang_cost import HangCost

Campaign = Annotated[str | None, typer.Argument(metavar="CAMPAIGN", help="Name of a campaign.  [default: the latest]")]
Trial = Annotated[str, typer.Argument(metavar="TRIAL", help="CAMPAIGN/NUMBER, or a number within the latest campaign.")]
"""The latest that searched: replays of a batch that belongs to no campaign are named in full."""


def campaigns(db: Database = str(DEFAULT_DATABASE), json: Json = False) -> None:
    """List the recorded campaigns with their outcome counts."""
    summaries = open_store(db).campaigns()
    if json:
        print_json([asdict(summary) for summary in summaries])
    else:
        Console().print(campaigns_table(summaries))


def trials(
    campaign: Campaign = None,
    db: Database = str(DEFAULT_DATABASE),
    outcome: Annotated[str | None, typer.Option(metavar="OUTCOMES", help="Only these: segfault,hang")] = None,
    purpose: Annotated[str | None, typer.Option(metavar="PURPOSES", help="Only these: search,control")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The last so many.")] = 50,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, every column, every trial.")] = False,
    json: Json = False,
) -> None:
    """List the trials of a campaign.

    Examples:
      bisect trials --outcome segfault,hang

      bisect trials NAME --csv > trials.csv
    """
    if as_csv and json:
        raise InputError("--csv and --json are two forms; name one")
    store = open_store(db)
    chosen = store.campaign(campaign)
    if as_csv:
        from cubisect.store.export import trial_table  # noqa: PLC0415  (pandas, which the list can do without)

        trial_table(store, chosen).to_csv(sys.stdout, index=False)
        return
    records = store.trials(
        chosen, outcomes=_parse(outcome, Outcome), purposes=_parse(purpose, Purpose), limit=limit, newest_first=True
    )
    if json:
        print_json([record_json(record) for record in records])
    else:
        Console().print(trials_table(records, chosen))


def show(trial: Trial, db: Database = str(DEFAULT_DATABASE), json: Json = False) -> None:
    """Show one trial: what was submitted, how it ended, and the evidence."""
    store = open_store(db)
    record = store.trial(trial)
    campaign = store.campaign(record.campaign)
    environment = store.environment_of(record)
    calibration = store.calibration(record.driver, place_of(record.gpu or "", environment))
    faults = recorded_faults(store, campaign) if frames_of(record) else None
    cost = _hang_cost(store, campaign) if record.outcome is Outcome.HANG else None
    if json:
        told: dict[str, Any] = {"evidence": record.evidence_json, "calibration": calibration}
        told |= {
            "environment": environment,
            "hang_cost": cost and cost.to_json(),
            "faults": faults and faults.to_json(),
        }
        print_json({**record_json(record), **told})
    else:
        elsewhere = differences(campaign.environment, environment)
        Console().print(trial_panel(record, calibration, cost, faults, elsewhere))


def record_json(record: TrialRecord) -> dict[str, Any]:
    """Return a trial as JSON; its evidence is told by `show`."""
    return {
        "trial": record.ref,
        "simulated": record.simulated,
        "purpose": record.purpose,
        "origin": record.origin,
        "parent": record.parent,
        "method": record.spec.method,
        "outcome": record.outcome,
        "reason": record.reason,
        "cuda_error": record.cuda_error,
        "fail_index": record.fail_index,
        "phase": record.phase,
        "repetition_reached": record.repetition_reached,
        "signature": record.signature,
        "signature_title": record.signature_title,
        "wall_s": record.wall_s,
        "gpu": record.gpu,
        "tainted": record.tainted,
        "seed": record.spec.seed,
        "point": record.spec.point.values(),
    }


def _hang_cost(store: Store, campaign: CampaignRecord) -> "HangCost":
    from cubisect.analysis.hang_cost import hang_cost  # noqa: PLC0415  (pandas, which only a hang needs)

    return hang_cost(store.frame(campaign))


def _parse(text: str | None, kind: Any) -> Any:
    if text is None:
        return None
    try:
        return [kind(part.strip()) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{text!r} is not allowed; allowed are {choices(kind)}, with commas between") from None
