"""`bisect analyze`, `control`, `isolate` and `compare`: what the trials say, and fresh ones that say more."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cubisect.analysis.compare import compare as compare_frames
from cubisect.analysis.control import control_effect
from cubisect.analysis.envelope import BOUND, CONFIDENCE
from cubisect.analysis.factors import Isolation
from cubisect.analysis.summary import analyze as analyze_frame
from cubisect.cli.display import run_line
from cubisect.cli.options import (
    DEFAULT_DATABASE,
    Database,
    Json,
    ShareGpus,
    Timeout,
    open_store,
    parse_gpus,
    parse_timeout,
    parse_vary,
)
from cubisect.cli.output import print_json, say, working
from cubisect.cli.records import Campaign, Trial
from cubisect.errors import ExitCode, InputError
from cubisect.outcome import FAILURES
from cubisect.report.faults import recorded_faults
from cubisect.report.findings import analysis_view, comparison_view, isolation_view
from cubisect.report.plots import write_pictures
from cubisect.search.followups import isolation_domains, run_controls, run_isolation, run_witness_test
from cubisect.search.machine import Machine

ISOLATE_EPILOG = """
Examples:

  bisect isolate 17                              every axis, context axes included

  bisect isolate 17 --axis size_spread --axis neighbours=0:2
"""

ANALYZE_EPILOG = """
Examples:

  bisect analyze                         the latest campaign

  bisect analyze NAME --test 72          spend 72 fresh trials on a verdict about monotonicity

  bisect analyze NAME --pictures DIR     also write pictures, one of them to zoom in a browser

  bisect analyze NAME --json > a.json
"""

CONTROL_EPILOG = """
Examples:

  bisect control NAME --budget 24        every signature of a campaign

  bisect control NAME/17                 the batch of one trial
"""

Gpus = Annotated[str | None, typer.Option(metavar="0,1", help="GPUs to use.")]
Lanes = Annotated[int | None, typer.Option(min=1, help="Trials at a time.")]


def analyze(
    campaign: Campaign = None,
    test: Annotated[int, typer.Option(min=0, metavar="N", help="First spend N fresh trials on monotonicity.")] = 0,
    bound: Annotated[float, typer.Option(help="Failure rate that the safe envelope stays below.")] = BOUND,
    confidence: Annotated[float, typer.Option(help="Confidence of the safe envelope.")] = CONFIDENCE,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write failure map, rate curves and outcomes as PNG and HTML.")
    ] = None,
    lanes: Lanes = None,
    gpus: Gpus = None,
    share_gpus: ShareGpus = False,
    timeout: Timeout = "auto",
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Say what the trials show: rates, thresholds, monotonicity, regions, what is safe; each with its interval."""
    for name, value in (("--bound", bound), ("--confidence", confidence)):
        if not 0 < value < 1:
            raise InputError(f"{name} {value}: give a number between 0 and 1")
    store = open_store(db)
    chosen = store.campaign(campaign)
    console = Console(stderr=json)
    if test:
        machine = Machine(lanes=lanes, gpus=parse_gpus(gpus), share_gpus=share_gpus, timeout_s=parse_timeout(timeout))
        run_witness_test(store, chosen, test, machine, run_line(console, total=test))
    with working(f"analysing {chosen.name}"):
        frame = store.frame(chosen)
        result = analyze_frame(frame, chosen.space, bound=bound, confidence=confidence)
        faults = recorded_faults(store, chosen)
        files = list(write_pictures(frame, result, pictures)) if pictures else []
    for file in files:
        say(console, str(file))
    if json:
        print_json({**result.to_json(), "faults": faults.to_json()})
    else:
        console.print(analysis_view(result, faults))


def control(
    what: Annotated[
        str | None, typer.Argument(metavar="[CAMPAIGN|TRIAL]", help="A campaign, or CAMPAIGN/NUMBER, or a number.")
    ] = None,
    budget: Annotated[int, typer.Option(min=2, help="Trials to spend, half of them per method.")] = 24,
    lanes: Lanes = None,
    gpus: Gpus = None,
    share_gpus: ShareGpus = False,
    timeout: Timeout = "auto",
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Run failing batches both ways, as one batch call and as one copy per descriptor: is it the batch call?"""
    store = open_store(db)
    trial = store.trial(what) if what is not None and ("/" in what or what.isdigit()) else None
    chosen = store.campaign(trial.campaign if trial else what)
    console = Console(stderr=json)
    machine = Machine(lanes=lanes, gpus=parse_gpus(gpus), share_gpus=share_gpus, timeout_s=parse_timeout(timeout))
    run_controls(store, chosen, machine, budget=budget, trial=trial, on_record=run_line(console, total=budget))
    frame = store.frame(chosen)
    if trial is not None:
        frame = frame[(frame["parent"] == trial.number) | (frame["number"] == trial.number)]
    effect = control_effect(frame)
    if json:
        print_json({**effect.to_json(), "campaign": chosen.name, "simulated": chosen.simulated})
    else:
        say(console, ("SIMULATED: " if chosen.simulated else "") + effect.answer)


def isolate(
    trial: Trial,
    budget: Annotated[int, typer.Option(min=10, help="Most trials to spend.")] = 1500,
    axis: Annotated[
        list[str] | None, typer.Option("--axis", metavar="AXIS[=LO:HI|a,b]", help="Only these axes; several times.")
    ] = None,
    error: Annotated[float, typer.Option(help="Probability that any verdict is wrong, at most.")] = 0.05,
    lanes: Lanes = None,
    gpus: Gpus = None,
    share_gpus: ShareGpus = False,
    timeout: Timeout = "auto",
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Vary one factor at a time around a failing trial: which are needed, which irrelevant, which make it worse?"""
    if not 0 < error < 0.5:
        raise InputError(f"--error {error}: give a probability above 0 and below 0.5")
    only = parse_vary(axis, "--axis")
    store = open_store(db)
    record = store.trial(trial)
    if record.outcome not in FAILURES:
        raise InputError(
            f"trial {record.ref} ended {record.outcome}: isolate needs a failing one; type `bisect trials`"
        )
    console = Console(stderr=json)
    machine = Machine(lanes=lanes, gpus=parse_gpus(gpus), share_gpus=share_gpus, timeout_s=parse_timeout(timeout))
    domains = isolation_domains(record.spec.point, only)
    planner = Isolation(record.spec.point, domains=domains, error=error, budget=budget)
    listen = run_line(console, total=budget)
    result = run_isolation(store, store.campaign(record.campaign), record, machine, planner, listen)
    if json:
        print_json({**result.to_json(), "trial": record.ref, "simulated": record.simulated})
    else:
        console.print(isolation_view(result, record))


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="The campaign before.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The campaign after.")],
    db: Database = str(DEFAULT_DATABASE),
    after_db: Annotated[str | None, typer.Option(metavar="URL", help="Database of B.  [default: that of A]")] = None,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", metavar="new", help="Exit with 1 when B fails anew or more often.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what changed between two campaigns: drivers, GPUs, versions, neighbours.

    Example: bisect compare driver-570 driver-580 --fail-on new
    """
    if fail_on not in {None, "new"}:
        raise InputError(f"--fail-on {fail_on}: allowed is new")
    store = open_store(db)
    other = open_store(after_db) if after_db else store
    first, second = store.campaign(before), other.campaign(after)
    if first.name == second.name and (after_db is None or after_db == db):
        raise InputError(f"{before} and {after} are one campaign; name two, `bisect campaigns` lists them")
    with working(f"comparing {first.name} and {second.name}"):
        result = compare_frames(
            store.frame(first), other.frame(second), same_space=first.space.to_json() == second.space.to_json()
        )
    if json:
        told = {"before": first.name, "after": second.name, "simulated": first.simulated or second.simulated}
        print_json({**told, **result.to_json()})
    else:
        Console().print(comparison_view(result, first, second))
    if fail_on and result.any_new:
        raise typer.Exit(ExitCode.CHECK_FAILED)
