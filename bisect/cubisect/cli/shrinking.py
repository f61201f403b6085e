"""`bisect shrink` and `diagnose`: the smallest trial that fails the same way, and where it fails."""

from typing import Annotated

import typer
from rich.console import Console

from cubisect.cli.options import (
    DEFAULT_DATABASE,
    Database,
    Json,
    ShareGpus,
    Timeout,
    open_store,
    parse_gpus,
    parse_timeout,
)
from cubisect.cli.output import print_json, say
from cubisect.cli.records import Trial
from cubisect.report.faults import recorded_faults
from cubisect.reproduce.case import Case
from cubisect.reproduce.diagnose import diagnose as diagnose_case
from cubisect.reproduce.diagnose import outcome_seen
from cubisect.reproduce.recorded import run_shrink
from cubisect.reproduce.shrink import DEFAULT_BUDGET, ShrinkEvent
from cubisect.search.machine import Machine, engine_for
from cubisect.search.recorder import Recorder, run_plans

SHRINK_EPILOG = """
Examples:

  bisect shrink 17                    everything: axes, then the list of descriptors

  bisect shrink 17 --budget 500       spend less; run it again to go on

  bisect shrink 17 --timeout 3        a hang is told after 3 s: shorter waits

  bisect shrink 17 --any-failure      whatever fails counts, not only this signature
"""


def shrink(
    trial: Trial,
    budget: Annotated[int, typer.Option(min=50, help="Most trials to spend now.")] = DEFAULT_BUDGET,
    lanes: Annotated[int | None, typer.Option(min=1, help="Trials at a time.")] = None,
    gpus: Annotated[str | None, typer.Option(metavar="0,1", help="GPUs to use.")] = None,
    share_gpus: ShareGpus = False,
    timeout: Timeout = "auto",
    spares: Annotated[int | None, typer.Option(min=0, help="Processes started ahead.")] = None,
    any_failure: Annotated[
        bool, typer.Option("--any-failure", help="A smaller trial may fail in another way.")
    ] = False,
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Reduce a failing trial while it keeps failing in the same way; every trial is recorded, and used again."""
    store = open_store(db)
    record = store.trial(trial)
    campaign = store.campaign(record.campaign)
    console = Console(stderr=json)
    machine = Machine(
        lanes=lanes, gpus=parse_gpus(gpus), share_gpus=share_gpus, timeout_s=parse_timeout(timeout), spares=spares
    )
    engine = engine_for(campaign, machine, store)
    recorder = Recorder(store, campaign, engine)
    try:
        shrunk = run_shrink(
            store,
            record,
            lambda plans: run_plans(recorder, plans),
            budget=budget,
            parallel=engine.lanes,
            any_failure=any_failure,
            on_event=lambda event: say(console, _line(event, budget)),
        )
    finally:
        recorder.close()
    if json:
        print_json({**shrunk.result.to_json(), "smallest": shrunk.record.ref, "simulated": record.simulated})
        return
    say(console, ("SIMULATED: " if record.simulated else "") + shrunk.result.answer, style="bold")
    for kept in shrunk.result.kept:
        say(console, f"  {kept.answer}")
    say(console, f"next: bisect reproduce {shrunk.record.ref} -o case", style="bold")


def diagnose(
    trial: Trial,
    times: Annotated[int, typer.Option(min=1, help="Tries, for a trial that fails only sometimes.")] = 3,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds after which it counts as hanging.")] = 60.0,
    db: Database = str(DEFAULT_DATABASE),
    json: Json = False,
) -> None:
    """Run a trial again under gdb (or cuda-gdb) and record where it fails, as module + offset."""
    store = open_store(db)
    record = store.trial(trial)
    campaign = store.campaign(record.campaign)
    case = Case.of(record, environment=store.environment_of(record))
    for _ in range(times):
        found = diagnose_case(case, timeout_s=timeout)
        if outcome_seen(found) == record.outcome:
            break
    same = bool(found.frames) and outcome_seen(found) == record.outcome  # another failure says nothing of this one
    if same:
        store.set_frames(campaign, record.number, found.frames)
    if json:
        told = {"trial": record.ref, "simulated": record.simulated, "answer": found.answer, "frames": found.frames}
        signature = {"signature": record.signature, "signature_title": record.signature_title}
        print_json({**told, "recorded": same, **signature})
    else:
        say(Console(), ("SIMULATED: " if record.simulated else "") + found.answer)
        if same:
            say(Console(), recorded_faults(store, campaign).answer)
        elif found.frames:
            say(Console(), f"The recorded trial ended otherwise ({record.outcome}), so this is not recorded with it.")


def _line(event: ShrinkEvent, budget: int) -> str:
    best = event.best.batch
    size = f"{len(best):,} × {int(best.sizes.sum()):,} B × {event.best.repetition}"
    return f"  {event.trials}/{budget}  best {size}  {event.step}: {event.answer.text}"
