"""What the search is held to, and whether the records of `benchmarks/search.py` meet it: means over seeds."""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

import numpy as np
from search_report import Record, mean_error, values

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

NEAR_RATIO = 10.0
"""Trials near a boundary against Sobol's, at 500."""


def goals_table(records: Sequence[Record]) -> str:
    """Return every goal with what `boundary` reached, in Markdown."""
    head = "| goal | at least | boundary | second judge | Sobol | seeds | |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *_models(records), *_means(records)])


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
