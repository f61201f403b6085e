"""What the search is held to, and whether the records of `benchmarks/search.py` meet it: means over seeds."""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

import numpy as np
from search_report import Record, below_sobol, mean_error, values

F1_AT_500 = MappingProxyType(
    {
        "threshold": 0.99, "accumulation": 0.99, "band": 0.97, "island": 0.88, "mixridge": 0.88, "slab3": 0.75,
        "two49276": 0.94, "flaky30": 0.88, "flaky50": 0.88, "align8d": 0.99, "archipelago": 0.90, "null": 1.0,
    }
)  # fmt: skip
"""Mean F1 of the first judge at 500 trials."""

NINE = tuple(name for name in F1_AT_500 if name not in {"null", "slab3", "flaky50"})
"""The models over which the goals for means are set."""

HIT_BEFORE = 250
"""The island's goal holds for runs that met it once before this trial: nothing can map what was never met."""

OVER_NINE = (
    ("F1 at 200 trials", "f1", 200, 0.80, 1),
    ("boundary error at 500, octaves", "boundary_octaves", 500, 0.35, -1),
    ("Brier score at 500", "brier", 500, 0.0035, -1),
)
"""Goals for means over the nine: (words, metric, trials, goal, 1 if more is better)."""

ALL_FOUND = (("two49276", 1.0), ("archipelago", 0.9))
"""Share of runs with three failing trials of each kind, at 500: (model, goal)."""

BELOW_SOBOL = 0.02
"""Share of runs that may be worse than Sobol's by more than .01, over all models."""

NEAR_RATIO = 10.0
"""Trials near a boundary against Sobol's, at 500."""


def goals_table(records: Sequence[Record]) -> str:
    """Return every goal with what `boundary` reached, in Markdown."""
    head = "| goal | at least | boundary | second judge | Sobol | seeds | |"
    return "\n".join(
        [head, "|---|---|---|---|---|---|---|", *_models(records), *_found(records), *_means(records), _below(records)]
    )


def _models(records: Sequence[Record]) -> Iterator[str]:
    for model, goal in F1_AT_500.items():
        runs = [r for r in records if r["model"] == model and r["budget"] == 500]
        if model == "island":
            runs = [r for r in runs if r["first_failure"] is not None and r["first_failure"] < HIT_BEFORE]
        mine = values(runs, "f1", sampler="boundary")
        if mine:
            mean, error = mean_error(mine)
            second = np.mean(values(runs, "f1_directed", sampler="boundary"))
            sobol = _mean(values(runs, "f1", sampler="sobol"))
            yield (
                f"| {model} | {goal:.2f} | {mean:.3f} ± {error:.3f} | {second:.2f} | {sobol:.2f} | {len(mine)} "
                f"| {verdict(mean >= goal)} |"
            )


def _found(records: Sequence[Record]) -> Iterator[str]:
    for model, goal in ALL_FOUND:
        mine, sobol = (
            [r["faults_found"] >= r["faults"] for r in records if (r["model"], r["sampler"], r["budget"]) == wanted]
            for wanted in ((model, "boundary", 500), (model, "sobol", 500))
        )
        met = verdict(_mean(mine) >= goal)
        yield (
            f"| {model}, runs that find every kind | {goal:.0%} | {sum(mine)} of {len(mine)} | "
            f"| {sum(sobol)} of {len(sobol)} | {len(mine)} | {met} |"
        )


def _below(records: Sequence[Record]) -> str:
    lost, pairs = below_sobol(records, "boundary", 500)
    names = ", ".join(f"{name} {lost.count(name)}" for name in dict.fromkeys(lost))
    share = f"{len(lost)} of {pairs}" + (f" ({names})" if names else "")
    met = verdict(len(lost) <= BELOW_SOBOL * pairs)
    return f"| runs worse than Sobol by more than .01 | at most {BELOW_SOBOL:.0%} | {share} | | | | {met} |"


def _means(records: Sequence[Record]) -> Iterator[str]:
    for words, metric, budget, goal, sign in OVER_NINE:
        mine, sobol = (_over_nine(records, metric, sampler, budget) for sampler in ("boundary", "sobol"))
        bound = f"{goal}" if sign > 0 else f"at most {goal}"
        yield f"| {words} | {bound} | {mine:.4g} | | {sobol:.4g} | | {verdict(sign * (mine - goal) >= 0)} |"
    near, near_sobol = (_over_nine(records, "near_boundary", sampler, 500) for sampler in ("boundary", "sobol"))
    met = verdict(near >= NEAR_RATIO * near_sobol)
    yield f"| trials near a boundary at 500 | {NEAR_RATIO:.0f} × Sobol | {near:.0f} | | {near_sobol:.0f} | | {met} |"


def _over_nine(records: Sequence[Record], metric: str, sampler: str, budget: int) -> float:
    return _mean([_mean(values(records, metric, model=m, sampler=sampler, budget=budget)) for m in NINE])


def _mean(found: Sequence[float]) -> float:
    return float(np.mean(found)) if found else float("nan")


def verdict(met: bool) -> str:  # noqa: FBT001
    """Return what is said of a goal."""
    return "met" if met else "**missed**"
