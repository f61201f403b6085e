"""`bisect explore`: run a campaign."""

import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cubisect.cli.display import Display, counts, duration
from cubisect.cli.options import (
    DEFAULT_DATABASE,
    Address,
    Chunk,
    Database,
    Engine,
    FailOn,
    Fix,
    GpuCoreDump,
    Json,
    ShareGpus,
    Timeout,
    Vary,
    gpu_core_folder,
    open_store,
    parse_fix,
    parse_gpus,
    parse_timeout,
    parse_vary,
)
from cubisect.cli.output import check_fail_on, parse_fail_on, print_json, say
from cubisect.errors import ExitCode, InputError
from cubisect.report.findings import campaign_summary
from cubisect.search.campaign import Progress
from cubisect.search.campaign_file import CampaignFile, campaign_request, read_campaign_file
from cubisect.search.explore import new_campaign, resume_campaign, run_campaign
from cubisect.search.machine import Machine, check_fits, resolve
from cubisect.store import Campaign, Store

EPILOG = """
Examples:

  bisect explore --budget 500                        the main job; CUDA where there is a GPU

  bisect explore --driver sim:band --budget 200      a simulated driver with a known fault

  bisect explore --fix direction=d2h --vary flags    hold one axis, vary another

  bisect explore --vary total_bytes=1MiB:64MiB       a part of an axis

  bisect explore --preset vllm-49276-tp2             around a real transfer

  bisect explore campaigns/cliff.toml                a campaign kept in a file

  bisect explore --engine ray --address HOST:6379    on the nodes of a Ray cluster

  bisect explore --resume NAME                       go on after an interruption
"""


def explore(
    campaign_file: Annotated[
        Path | None, typer.Argument(metavar="[CAMPAIGN.toml]", help="A campaign file; options win over it.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Trials that run the batch call.  [default: 500]")] = None,
    driver: Annotated[
        str | None,
        typer.Option(help="auto, cuda, sim:NAME or sim:package.module:Class.  [default: auto]", show_default=False),
    ] = None,
    db: Database = str(DEFAULT_DATABASE),
    name: Annotated[str | None, typer.Option(help="Name of the campaign.  [default: from driver and time]")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the campaign.  [default: drawn, and recorded]")] = None,
    sampler: Annotated[str | None, typer.Option(help="boundary, sobol, tpe or random.  [default: boundary]")] = None,
    fix: Fix = None,
    vary: Vary = None,
    preset: Annotated[str | None, typer.Option(help="Start from a real transfer: see `bisect presets`.")] = None,
    lanes: Annotated[
        int | None,
        typer.Option(min=1, help="Trials at a time.  [default: one per GPU; on a simulated driver, one per core]"),
    ] = None,
    gpus: Annotated[str | None, typer.Option(metavar="0,1|all", help="GPUs to use.  [default: all]")] = None,
    engine: Engine = "local",
    address: Address = None,
    chunk: Chunk = None,
    share_gpus: ShareGpus = False,
    timeout: Timeout = "auto",
    spares: Annotated[
        int | None, typer.Option(min=0, help="Processes started ahead.  [default: 3 on cuda, none simulated]")
    ] = None,
    memory_limit: Annotated[
        int | None, typer.Option(metavar="MIB", min=64, help="Address space of a trial process, in MiB.")
    ] = None,
    control: Annotated[
        bool, typer.Option(help="Run the control (per-descriptor copies) on each new signature.")
    ] = True,
    resume: Annotated[str | None, typer.Option(metavar="NAME", help="Go on with a recorded campaign.")] = None,
    gpu_core_dump: GpuCoreDump = None,
    fail_on: FailOn = None,
    json: Json = False,
) -> None:
    """Search for failures of the batch copy call, one fresh process per trial.

    Every trial submits its batch in its own process and is classified ok, error, segfault or hang (or async_error,
    corrupt, crash; inconclusive when the set-up failed). Outcomes go to the database as they happen.

    A trial submits at most 2^22 descriptors and 64 GiB in all its repetitions, unless [caps] in a campaign file says
    otherwise.
    """
    outcomes = parse_fail_on(fail_on)
    machine = Machine(
        lanes=lanes,
        gpus=parse_gpus(gpus),
        share_gpus=share_gpus,
        timeout_s=parse_timeout(timeout),
        spares=spares,
        memory_limit_bytes=None if memory_limit is None else memory_limit << 20,
        controls=control,
        gpu_core_folder=gpu_core_folder(gpu_core_dump),
        engine=engine,
        address=address,
    )
    console = Console(stderr=json)
    if resume is not None:
        _refuse_with_resume(campaign_file, driver, seed, sampler, fix, vary, preset, name, chunk)
        store = open_store(db)
        resolve(store.campaign(resume).driver, machine)  # before the record says that there is more to do
        campaign = resume_campaign(store, resume, budget=budget)
    else:
        options = CampaignFile(
            name=name, driver=driver, budget=budget, seed=seed, sampler=sampler, preset=preset,
            fix=parse_fix(fix, chunk), vary=parse_vary(vary),
        )  # fmt: skip
        file = read_campaign_file(campaign_file) if campaign_file else CampaignFile()
        request = campaign_request(file.changed_by(options), drawn_seed=secrets.randbelow(1 << 31))
        resolved = resolve(request.driver, machine)
        if resolved.note:
            say(console, resolved.note, style="bold yellow" if resolved.simulated else "bold")
        check_fits(machine, resolved, request.space)
        store = open_store(db, create=True)
        campaign = new_campaign(store, request, resolved)
    progress = _run(store, campaign, machine, console, db)
    _finish(store, campaign, progress, json=json, console=console)
    check_fail_on(outcomes, progress.outcomes)


def _refuse_with_resume(*given: object) -> None:
    if any(value is not None for value in given):
        raise InputError(
            "--resume goes on with the campaign as it was recorded: only --budget, --db, --lanes, --gpus, --engine, "
            "--address, --timeout, --spares, --memory-limit and --gpu-core-dump may be given with it"
        )


def _run(store: Store, campaign: Campaign, machine: Machine, console: Console, db: str) -> Progress:
    label = campaign.name + (" · SIMULATED" if campaign.simulated else "")
    say(console, f"campaign {campaign.name}, seed {campaign.seed}, driver {campaign.driver}, {campaign.budget} trials")
    try:
        with Display(console, label=label) as display:
            return run_campaign(store, campaign, machine, display.update)
    except KeyboardInterrupt:
        where = "" if db == str(DEFAULT_DATABASE) else f" --db {db}"
        say(console, f"\ninterrupted; everything is saved. To go on: bisect explore --resume {campaign.name}{where}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _finish(store: Store, campaign: Campaign, progress: Progress, *, json: bool, console: Console) -> None:
    if json:
        print_json(
            {
                "campaign": campaign.name,
                "driver": campaign.driver,
                "simulated": campaign.simulated,
                "seed": campaign.seed,
                "budget": campaign.budget,
                "outcomes": dict(progress.outcomes),
                "controls": dict(progress.controls),
                "signatures": dict(progress.signatures),
                "elapsed_s": round(progress.elapsed_s, 3),
                "seconds_in_trials": round(progress.seconds_in_trials, 3),
                "seconds_in_hangs": round(progress.seconds_in_hangs, 3),
            }
        )
        return
    say(console, f"{progress.done} trials in {duration(progress.elapsed_s)}: {counts(progress)}")
    console.print(campaign_summary(store.frame(campaign), campaign))
