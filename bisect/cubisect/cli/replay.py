"""`bisect replay`: exactly one batch, again; and `bisect presets`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from cubisect.cli.display import describe
from cubisect.cli.options import (
    DEFAULT_DATABASE,
    Chunk,
    Database,
    FailOn,
    Fix,
    GpuCoreDump,
    Json,
    ShareGpus,
    Timeout,
    gpu_core_folder,
    open_store,
    parse_fix,
    parse_gpus,
    parse_timeout,
)
from cubisect.cli.output import check_fail_on, parse_fail_on, print_json, say
from cubisect.cli.records import record_json
from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.reproduce.case import read_case
from cubisect.search.machine import Machine
from cubisect.search.replays import Replay, replay_batch
from cubisect.space import Point, Value
from cubisect.store import TrialRecord
from cubisect.trial import Method, TrialSpec
from cubisect.workloads import WORKLOADS, preset_point, read_batch_file

EPILOG = """
Examples:

  bisect replay 17 --times 20                        trial 17 of the latest campaign

  bisect replay case.json                            what `bisect reproduce` wrote

  bisect replay --fix invalid=zero_size              a point of your own

  bisect replay --preset vllm-49276-tp4 --fix fragmentation=1 --times 20 --resample --control

  bisect replay --batch rows.json --method percopy   your own descriptors, as the control
"""


WAYS = {Method.BATCH: "one batch call", Method.PERCOPY: "one copy call per descriptor"}
"""How people call the two ways of submitting a batch."""


def replay(
    what: Annotated[
        str | None, typer.Argument(metavar="[TRIAL|case.json]", help="A recorded trial, or an exported case.")
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="Runs, each in a fresh process.")] = 1,
    fix: Fix = None,
    preset: Annotated[str | None, typer.Option(help="A real transfer: see `bisect presets`.")] = None,
    batch: Annotated[
        Path | None, typer.Option(help="Rows of (source offset, destination offset, size): JSON, .npy or .npz.")
    ] = None,
    method: Annotated[Method | None, typer.Option(help="One batch call, or one copy call per descriptor.")] = None,
    seed: Annotated[int | None, typer.Option(help="Draw another batch of the same point.")] = None,
    resample: Annotated[bool, typer.Option("--resample", help="Draw another batch for every run.")] = False,
    control: Annotated[bool, typer.Option("--control", help="Run each batch as one copy per descriptor too.")] = False,
    driver: Annotated[str | None, typer.Option(help="auto, cuda or sim:…  [default: the trial's own, or auto]")] = None,
    gpus: Annotated[str | None, typer.Option(metavar="0,1|all", help="GPUs to use.  [default: all]")] = None,
    chunk: Chunk = None,
    share_gpus: ShareGpus = False,
    timeout: Timeout = "auto",
    spares: Annotated[int | None, typer.Option(min=0, help="Processes started ahead.")] = None,
    db: Database = str(DEFAULT_DATABASE),
    gpu_core_dump: GpuCoreDump = None,
    fail_on: FailOn = None,
    json: Json = False,
) -> None:
    """Submit exactly the same batch again: of a recorded trial, an exported case, a preset, a file or a point."""
    outcomes = parse_fail_on(fail_on)
    request = _request(db, what, parse_fix(fix, chunk), preset, batch)
    if seed is not None:
        request = replace(request, spec=replace(request.spec, seed=seed, descriptors=None))
    if method is not None:
        request = replace(request, spec=replace(request.spec, method=method))
    if driver is not None:
        request = replace(request, driver=driver)
    if control and request.spec.method is Method.PERCOPY:
        raise InputError("--control runs the batch call and its control; leave out --method percopy")
    if resample and request.spec.descriptors is not None:
        raise InputError("--resample draws new batches, and this one is a given list; leave out --resample")
    request = replace(request, resample=resample, control=control)
    console = Console(stderr=json)
    machine = Machine(
        lanes=1,
        gpus=parse_gpus(gpus),
        share_gpus=share_gpus,
        timeout_s=parse_timeout(timeout),
        spares=spares,
        gpu_core_folder=gpu_core_folder(gpu_core_dump),
    )
    records = replay_batch(
        open_store(db, create=True),
        request,
        times=times,
        machine=machine,
        on_note=lambda note: say(console, note, style="bold"),
        on_record=lambda record: say(console, f"{describe(record)}: {record.reason}"),
    )
    tallies = {way: Counter(_outcome(r) for r in records if r.spec.method is way) for way in Method}
    if json:
        print_json({
            "outcomes": dict(sum(tallies.values(), Counter())),
            "by_method": {str(way): dict(tally) for way, tally in tallies.items()},
            "trials": [record_json(record) for record in records],
        })  # fmt: skip
    elif times > 1 or control:
        for way, tally in tallies.items():
            counts = ", ".join(f"{outcome} {count}" for outcome, count in tally.most_common())
            if counts:
                say(console, f"{WAYS[way]}: {counts}")
    check_fail_on(outcomes, tallies[Method.BATCH] or tallies[Method.PERCOPY])


def presets(json: Json = False) -> None:
    """List the real transfers that --preset knows."""
    if json:
        print_json(
            [
                {
                    "name": w.name,
                    "summary": w.summary,
                    "scale_unit": w.unit,
                    "point": preset_point(w.name).values(),
                }
                for w in WORKLOADS.values()
            ]
        )
        return
    table = Table(box=None, padding=(0, 1))
    table.add_column("preset", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    for workload in WORKLOADS.values():
        table.add_row(workload.name, workload.summary)
    Console().print(table)


def _outcome(record: TrialRecord) -> Outcome:
    return Outcome(record.outcome or Outcome.INCONCLUSIVE)


def _request(db: str, what: str | None, fixed: dict[str, Any], preset: str | None, batch: Path | None) -> Replay:
    if sum(source is not None for source in (what, preset, batch)) > 1:
        raise InputError("give one of TRIAL, case.json, --preset and --batch")
    if what is not None and (file := _case_file(what)) is not None:
        case = read_case(file)
        return Replay(spec=_changed(case.spec, fixed), driver=case.driver)
    if what is not None:
        record = open_store(db).trial(what)
        return Replay(spec=_changed(record.spec, fixed), driver=record.driver, parent=record)
    if batch is not None:
        descriptors = read_batch_file(batch)
        total = int(descriptors.sizes.sum())
        point = replace(Point(**fixed), descriptor_count=len(descriptors), total_bytes=total)
        return Replay(spec=TrialSpec.at(point, descriptors=descriptors))
    if preset is None:
        return Replay(spec=TrialSpec.at(Point.of(fixed)))
    scale = fixed.pop("scale", None)
    return Replay(spec=TrialSpec.at(preset_point(preset, None if scale is None else int(scale), **fixed)))


def _case_file(what: str) -> Path | None:
    """Return the file of an exported case, which may be named by its folder; None for a recorded trial."""
    if what.endswith(".json"):
        return Path(what)
    return Path(what, "case.json") if Path(what, "case.json").is_file() else None


def _changed(spec: TrialSpec, fixed: Mapping[str, Value]) -> TrialSpec:
    return replace(spec, **spec.point.moved(**fixed).values()) if fixed else spec
