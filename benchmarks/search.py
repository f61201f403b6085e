"""How well do samplers map failure regions? Known truths, in-process; every sampler is judged by one classifier.

    python benchmarks/search.py --seeds 20 --budgets 100,200,500 --samplers boundary,sobol --json OUT.json

Results are written as they come. Run again, and what is missing in OUT.json is added: more seeds, models, samplers.
Results of another version of what was measured are left out. `--minutes 0` shows what there is.

All results are of SIMULATED faults. Optional peers (`gp`, `cmaes`) are named as skipped when they are not installed.
"""

import argparse
import ast
import hashlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from search_goals import goals_table
from search_judge import columns_of, failing, score, truths
from search_models import MODELS, Model
from search_report import WHOLE, changes, compact, draw, summary, table

import cubisect.search
from cubisect.outcome import Outcome
from cubisect.search.boundary.candidates import redraw
from cubisect.search.boundary.encoding import Encoding
from cubisect.search.boundary.planner import EXPLORE_SHARE, Rules
from cubisect.search.boundary.sobol import uniform_rows
from cubisect.search.distributions import distributions
from cubisect.search.plan import plan_of, recorded_trial, tell_outcome
from cubisect.search.samplers import BoundarySampler, make_sampler
from cubisect.trial import Origin

SamplerFactory = Callable[[Model, int], optuna.samplers.BaseSampler]

ABLATIONS = {
    "all": Rules(),
    "no-repeats": Rules(repeats=False),
    "no-axis": Rules(axis=False),
    "no-turns": Rules(turns=False),
    "no-level": Rules(level=False),
    "no-doubt": Rules(doubt=False),
    "no-directions": Rules(directions=False),
    "explore-10": Rules(explore_share=0.1),
}
"""Every part of the search, left out one at a time."""

OPTIONAL = {"gp": "torch", "cmaes": "cmaes"}
"""Peers that need a package that is not a dependency."""

ATTEMPTS = 50
"""Infeasible proposals of a foreign sampler that are told as passes and cost nothing."""

HERE, SEARCH = Path(__file__).parent, Path(cubisect.search.__file__).parent


@dataclass(frozen=True)
class Task:
    """One run of one sampler on one model."""

    model: str
    sampler: str
    seed: int
    budgets: tuple[int, ...]
    batch: int = 1
    stop_at: float = float("inf")

    def key(self, budget: int) -> tuple[Any, ...]:
        """Return what tells the record of this run at a budget from all others."""
        return self.model, self.sampler, self.seed, self.batch, budget, version(self.sampler)


def key_of(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key of a record, as `Task.key` gives it."""
    return tuple(record[name] for name in ("model", "sampler", "seed", "batch", "budget", "version"))


@cache
def version(sampler: str) -> str:
    """Return a fingerprint of the code that determines a result: truths, judge, samplers; comments are not code."""
    sources = [HERE / "search_models.py", HERE / "search_judge.py"]
    sources += [SEARCH / "boundary/encoding.py", SEARCH / "boundary/directions.py"]
    if sampler.startswith("boundary"):
        sources += [*sorted((SEARCH / "boundary").glob("*.py")), SEARCH / "samplers.py"]
    return hashlib.sha256("".join(ast.dump(ast.parse(path.read_text())) for path in sources).encode()).hexdigest()[:8]


def sampler_for(name: str, model: Model, seed: int) -> optuna.samplers.BaseSampler:
    """Return the sampler called `name`; `boundary:PART` is one with a part left out."""
    base, _, part = name.partition(":")
    if base == "boundary":
        return BoundarySampler(model.space, seed, rules=ABLATIONS[part or "all"])
    if base == "gp":
        return optuna.samplers.GPSampler(seed=seed)
    if base == "cmaes":
        return optuna.samplers.CmaEsSampler(seed=seed)
    return make_sampler(base, model.space, seed)


def run(task: Task) -> list[dict[str, Any]]:
    """Run a task and return one record per budget; none when the time for the benchmark is up."""
    if time.time() > task.stop_at:
        return []
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    model = MODELS[task.model]
    encoding = Encoding(model.space)
    study = optuna.create_study(sampler=sampler_for(task.sampler, model, task.seed))
    rng = np.random.default_rng([task.seed, 0xB1])
    rows, kinds, records = [], [], []
    spent = 0.0
    while len(rows) < max(task.budgets):
        started = time.perf_counter()
        asked = [_ask(study, encoding) for _ in range(min(task.batch, max(task.budgets) - len(rows)))]
        spent += time.perf_counter() - started
        for trial, row in asked:
            outcome = _draw(model, encoding, row, rng)
            started = time.perf_counter()
            tell_outcome(study, trial, outcome, cost_s=0.1)
            spent += time.perf_counter() - started
            rows.append(row)
            kinds.append(outcome.value)
            if len(rows) in task.budgets:
                records.append(_record(task, model, rows, kinds, spent, study))
    return records


def _ask(study: optuna.Study, encoding: Encoding) -> tuple[optuna.Trial, Any]:
    for _ in range(ATTEMPTS):
        trial = study.ask(distributions(encoding.space))
        row = encoding.row(trial.params)
        if encoding.feasible(row[None, :])[0]:
            return trial, row
        tell_outcome(study, trial, Outcome.OK)
    message = "the sampler proposes infeasible points only"
    raise RuntimeError(message)


def _draw(model: Model, encoding: Encoding, row: Any, rng: np.random.Generator) -> Outcome:
    chance = rng.random()
    for outcome, p in model.failing(columns_of(encoding, row[None, :])).items():
        if chance < p[0]:
            return outcome
        chance -= p[0]
    return Outcome.OK


def _record(
    task: Task, model: Model, rows: list[Any], kinds: list[str], spent: float, study: optuna.Study
) -> dict[str, Any]:
    failed = np.array([kind != "ok" for kind in kinds])
    explored = sum(plan_of(t).origin == "explore" for t in study.get_trials(deepcopy=False))
    return {
        "model": task.model, "sampler": task.sampler, "seed": task.seed, "budget": len(rows), "batch": task.batch,
        "version": version(task.sampler),
        "first_failure": int(np.argmax(failed)) if failed.any() else None,
        "explored": explored / len(rows), "ms_per_trial": 1e3 * spent / len(rows),
        **score(model, np.array(rows), failed, kinds),
    }  # fmt: skip


def shares() -> None:
    """Print the share of the feasible space in which each model fails."""
    for name in MODELS:
        print(f"{name:14s} {100 * (truths(name).failing > 0).mean():6.2f} %")


WARM_UP, TIMED = 40, 80
"""Asks before and while the clock runs: the first one renews all trees, and repeats of the first failures are cheap."""


def time_per_trial(sampler: str, sizes: Sequence[int]) -> None:
    """Print CPU time of ask + tell on top of so many finished trials, chosen as the boundary search does."""
    model = MODELS["two49276"]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    encoding, rng = Encoding(model.space), np.random.default_rng(0)
    for size in sizes:
        study = optuna.create_study(sampler=sampler_for(sampler, model, 0))
        for row, origin in _past(model, encoding, size, rng):
            outcome = _draw(model, encoding, row, rng)
            params = encoding.coordinates(row)
            study.add_trial(recorded_trial(encoding.space, params, outcome, origin=origin, cost_s=0.1))
        laps = [_lap(study, model, encoding, rng) for _ in range(WARM_UP + TIMED)]
        first, rest = laps[0], np.array(laps[WARM_UP:])
        print(
            f"{sampler:10s} {size:6d} trials: {rest.mean():6.1f} ms of CPU in the mean, {np.quantile(rest, 0.95):6.1f} "
            f"at the 95th percentile; {first:6.0f} for the first ask after a resume"
        )


def _past(model: Model, encoding: Encoding, count: int, rng: np.random.Generator) -> list[tuple[Any, Origin]]:
    rows = uniform_rows(encoding, rng, 4 * count)
    inside = rows[failing(model, encoding, rows) > 0]
    near = redraw(encoding, inside[rng.integers(len(inside), size=4 * count)], rng)
    near = near[encoding.feasible(near)]
    explored = int(EXPLORE_SHARE * count)
    turns = [Origin.AXIS, Origin.MODEL] * count
    return [(row, Origin.EXPLORE) for row in rows[:explored]] + list(zip(near[: count - explored], turns, strict=False))


def _lap(study: optuna.Study, model: Model, encoding: Encoding, rng: np.random.Generator) -> float:
    started = time.process_time()
    trial, row = _ask(study, encoding)
    asked = time.process_time()
    outcome = _draw(model, encoding, row, rng)
    told = time.process_time()
    tell_outcome(study, trial, outcome, cost_s=0.1)
    return 1e3 * (time.process_time() - told + asked - started)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budgets", default="100,200,500,1000")
    parser.add_argument("--models", default="all", help="names, or: all, known, held-out")
    parser.add_argument("--samplers", default="boundary,sobol,random,tpe,gp,cmaes")
    parser.add_argument("--batch", type=int, default=1, help="trials that run side by side")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further run after this time")
    parser.add_argument("--ablation", action="store_true", help=f"leave parts out: {', '.join(ABLATIONS)}")
    parser.add_argument("--json", type=Path, help="where results are kept, and looked for before anything is run")
    parser.add_argument("--against", type=Path, help="results that F1 is compared with, run by run: say, of no batches")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--shares", action="store_true", help="print the models' shares of the space, and stop")
    parser.add_argument("--time", default="", help="print ask + tell at these numbers of trials, and stop")
    return parser.parse_args(argv)


def chosen_models(text: str) -> list[str]:
    """Return the names of the models that `--models` asks for."""
    if text in {"all", "known", "held-out"}:
        return [name for name, model in MODELS.items() if text == "all" or model.held_out is (text == "held-out")]
    return text.split(",")


def chosen_samplers(options: argparse.Namespace) -> list[str]:
    """Return the samplers that can run here, and name on stderr those that cannot."""
    if options.ablation:
        return [f"boundary:{part}" for part in ABLATIONS]
    names = options.samplers.split(",")
    missing = [n for n in names if n in OPTIONAL and importlib.util.find_spec(OPTIONAL[n]) is None]
    for name in missing:
        print(f"skipped {name}: the package {OPTIONAL[name]} is not installed", file=sys.stderr)
    return [name for name in names if name not in missing]


def known_records(path: Path | None) -> list[dict[str, Any]]:
    """Return the records in a file that the code of today would still give."""
    if path is None or not path.exists():
        return []
    records = json.loads(path.read_text())["records"]
    current = [r for r in records if r.get("version") == version(r["sampler"])]
    if len(current) < len(records):
        print(f"{path}: {len(records) - len(current)} records of other versions are left out", file=sys.stderr)
    return current


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Replace the file by one that holds these records, one a line."""
    lines = ",\n".join(json.dumps(record) for record in records)
    new = path.with_suffix(".new")
    new.write_text(f'{{"simulated": true, "records": [\n{lines}\n]}}\n')
    new.replace(path)


def new_records(tasks: Sequence[Task], jobs: int) -> Iterator[list[dict[str, Any]]]:
    """Run the tasks and yield the records of each as soon as they are there."""
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(run, task) for task in tasks]):
            yield [{k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()} for r in future.result()]


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a record for every model, sampler, seed and budget that is asked for, as far as there was time."""
    budgets = tuple(int(b) for b in options.budgets.split(","))
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    tasks = [
        Task(model, sampler, seed, budgets, options.batch, time.time() + 60 * options.minutes)
        for seed, model, sampler in product(seeds, chosen_models(options.models), chosen_samplers(options))
    ]
    kept = known_records(options.json)
    known = {key_of(record) for record in kept}
    for records in new_records([t for t in tasks if not known.issuperset(map(t.key, budgets))], options.jobs):
        kept += [record for record in records if key_of(record) not in known]
        if options.json and records:
            write_records(options.json, kept)
    wanted = {task.key(budget) for task in tasks for budget in budgets}
    found = [record for record in kept if key_of(record) in wanted]
    print(f"SIMULATED; {len(found)} of {len(wanted)} results; mean ± standard error (worst run; seeds)\n")
    return sorted(found, key=lambda r: (list(MODELS).index(r["model"]), r["seed"], r["budget"]))


def main() -> None:
    """Run the benchmark."""
    options = arguments()
    if options.shares:
        shares()
        return
    if options.time:
        for name in chosen_samplers(options):
            time_per_trial(name, [int(size) for size in options.time.split(",")])
        return
    records = measure(options)
    budgets = sorted({r["budget"] for r in records})
    for metric, budget in [
        *product(["f1"], budgets),
        *product(["f1_directed", "boundary_octaves", "brier"], budgets[-1:]),
    ]:
        print(table(records, metric, budget), end="\n\n")
    for budget in budgets[-1:]:
        print(summary(records, budget))
    if {200, 500} <= set(budgets) and {"boundary", "sobol"} <= {r["sampler"] for r in records}:
        print(compact(records), goals_table(records), sep="\n\n")
    whole = known_records(options.against) or [r for r in records if r["sampler"] == WHOLE]
    if whole:
        print(changes(records, whole, budgets[-1]))
    if options.picture and records:
        draw(records, options.picture)


if __name__ == "__main__":
    main()
