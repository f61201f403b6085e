"""Tables and the picture of `benchmarks/search.py`, from its records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]

NOTHING_FAILS = "null"
"""The model that is left out of every mean: there is nothing to find."""

WHOLE = "boundary:all"
"""The search from which an ablation leaves parts out."""

SMALL_LOSS = 0.01
"""A run that is worse than Sobol's with the same seed by more than this counts as below it."""


def models_of(records: Sequence[Record], *, failing: bool = False) -> list[str]:
    """Return the models on record, in the order in which they were first run."""
    names = dict.fromkeys(r["model"] for r in records)
    return [name for name in names if not (failing and name == NOTHING_FAILS)]


def samplers_of(records: Sequence[Record]) -> list[str]:
    """Return the samplers on record, in the order in which they were first run."""
    return list(dict.fromkeys(r["sampler"] for r in records))


def values(records: Sequence[Record], metric: str, **wanted: Any) -> list[float]:
    """Return a metric of the records whose keys have the wanted values."""
    return [r[metric] for r in records if all(r[key] == value for key, value in wanted.items())]


def mean_error(found: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard error; NaN where there are too few values."""
    if not found:
        return float("nan"), float("nan")
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan")


def over_models(records: Sequence[Record], metric: str, sampler: str, budget: int) -> tuple[float, float, int]:
    """Return the mean over models of a metric, its standard error, and how many models were run.

    The error is that of the seeds: models are given, not drawn.
    """
    cells = [
        mean_error(values(records, metric, model=model, sampler=sampler, budget=budget))
        for model in models_of(records, failing=True)
    ]
    means = [cell for cell in cells if not np.isnan(cell[0])]
    if not means:
        return float("nan"), float("nan"), 0
    error = float(np.sqrt(np.sum([e**2 for _, e in means])) / len(means))
    return float(np.mean([m for m, _ in means])), error, len(means)


def table(records: Sequence[Record], metric: str, budget: int) -> str:
    """Return a table in Markdown: mean ± standard error (worst run; number of seeds), a column per sampler."""
    samplers = [s for s in samplers_of(records) if values(records, metric, sampler=s, budget=budget)]
    lines = [f"| {metric} at {budget} | {' | '.join(samplers)} |", "|---" * (len(samplers) + 1) + "|"]
    for model in models_of(records):
        found = [values(records, metric, model=model, sampler=s, budget=budget) for s in samplers]
        lines.append(f"| {model} | {' | '.join(_cell(metric, some) for some in found)} |")
    d = digits(metric)
    means = [over_models(records, metric, s, budget) for s in samplers]
    lines.append(f"| **mean** (models) | {' | '.join(f'{m:.{d}f} ± {e:.{d}f} ({n})' for m, e, n in means)} |")
    return "\n".join(lines)


def compact(records: Sequence[Record], sampler: str = "boundary", other: str = "sobol") -> str:
    """Return a table in Markdown: two samplers side by side, means over seeds, at 200 and 500 trials."""
    columns = [("f1", 200), ("f1", 500), ("f1_directed", 500), ("boundary_octaves", 500)]
    heads = [f"{metric} at {budget}" for metric, budget in columns]
    lines = [f"| model | seeds | {' | '.join(heads)} |", "|---" * (len(columns) + 2) + "|"]
    for model in models_of(records):
        pairs = [[values(records, m, model=model, sampler=s, budget=b) for s in (sampler, other)] for m, b in columns]
        cells = [" / ".join(f"{mean_error(found)[0]:.2f}" for found in pair) for pair in pairs]
        lines.append(f"| {model} | {len(pairs[1][0])} | {' | '.join(cells)} |")
    means = [[over_models(records, m, s, b)[0] for s in (sampler, other)] for m, b in columns]
    lines.append(f"| **mean** | | {' | '.join(' / '.join(f'{x:.2f}' for x in pair) for pair in means)} |")
    return "\n".join(lines)


def below_sobol(records: Sequence[Record], sampler: str, budget: int) -> tuple[list[str], int]:
    """Return the model of every run that is worse than Sobol's with the same seed, and the number of pairs of runs.

    Worse is by more than `SMALL_LOSS`.
    """
    pairs = paired(
        [r for r in records if r["sampler"] == sampler and r["budget"] == budget],
        [r for r in records if r["sampler"] == "sobol" and r["budget"] == budget],
    )
    return [mine["model"] for mine, other in pairs if mine["f1"] < other["f1"] - SMALL_LOSS], len(pairs)


def paired(records: Sequence[Record], others: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return pairs of runs of the same model with the same seed and as many trials."""
    known = {(r["model"], r["seed"], r["budget"]): r for r in others}
    mine = [(r, known.get((r["model"], r["seed"], r["budget"]))) for r in records]
    return [(r, other) for r, other in mine if other is not None]


def changes(records: Sequence[Record], whole: Sequence[Record], budget: int) -> str:
    """Return a table in Markdown, a row per sampler: how F1 differs from its own in `whole`, or from `WHOLE`."""
    lines = ["| | pairs of runs | F1 | most on |", "|---|---|---|---|"]
    failing = [r for r in records if r["budget"] == budget and r["model"] != NOTHING_FAILS]
    for sampler in samplers_of(failing):
        others = [r for r in whole if r["sampler"] in {sampler, WHOLE}]
        pairs = paired([r for r in failing if r["sampler"] == sampler], others)
        gains = [(r["model"], r["f1"] - other["f1"]) for r, other in pairs]
        if pairs and any(r is not other for r, other in pairs):
            mean, error = mean_error([gain for _, gain in gains])
            by_model = {m: float(np.mean([g for n, g in gains if n == m])) for m in dict.fromkeys(m for m, _ in gains)}
            worst = sorted(by_model, key=by_model.__getitem__)[:2]
            most = ", ".join(f"{m} {by_model[m]:+.2f}" for m in worst if by_model[m] < -SMALL_LOSS) or "–"
            lines.append(f"| {sampler} | {len(pairs)} | {mean:+.3f} ± {error:.3f} | {most} |")
    return "\n".join(lines)


def digits(metric: str) -> int:
    """Return how many decimals of a metric are worth showing."""
    return 4 if metric == "brier" else 3


def _cell(metric: str, found: Sequence[float]) -> str:
    if not found:
        return "–"
    mean, error = mean_error(found)
    worst = min(found) if metric in {"f1", "f1_directed", "balanced_accuracy"} else max(found)
    return f"{mean:.{digits(metric)}f} ± {error:.{digits(metric)}f} ({worst:.2f}; {len(found)})"


def summary(records: Sequence[Record], budget: int) -> str:
    """Return what the tables do not show: runs in which a sampler lost to Sobol, and faults that were not found."""
    sobol = [r for r in records if r["sampler"] == "sobol" and r["budget"] == budget]
    lines = []
    for sampler in samplers_of(records):
        mine = [r for r in records if r["sampler"] == sampler and r["budget"] == budget]
        pairs = paired(mine, sobol)
        if not pairs or sampler == "sobol":
            continue
        gain, error = mean_error([r["f1"] - s["f1"] for r, s in pairs])
        lost, _ = below_sobol(records, sampler, budget)
        near, near_sobol = (np.mean([pair[side]["near_boundary"] for pair in pairs]) for side in (0, 1))
        lines.append(
            f"{sampler} at {budget}: F1 {gain:+.3f} ± {error:.3f} against Sobol over {len(pairs)} pairs of runs, below "
            f"it by more than {SMALL_LOSS} in {len(lost)}; {near:.0f} trials near a boundary, Sobol {near_sobol:.0f}; "
            f"all faults found in {sum(r['faults_found'] >= r['faults'] for r in mine)} of {len(mine)} runs"
        )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Write a picture: mean F1 over the models against the number of trials, one line per sampler."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 5))
    budgets = sorted({r["budget"] for r in records})
    for sampler in samplers_of(records):
        points = [(b, *over_models(records, "f1", sampler, b)) for b in budgets]
        most = max((models for _, _, _, models in points), default=0)
        shown = np.array([(b, mean, error) for b, mean, error, models in points if models == most])
        axes.errorbar(shown[:, 0], shown[:, 1], yerr=2 * shown[:, 2], marker="o", capsize=3, linewidth=2, label=sampler)
        axes.annotate(
            f"{sampler} {shown[-1, 1]:.2f}", shown[-1, :2], xytext=(8, 0), textcoords="offset points", va="center"
        )
    count = len(models_of(records, failing=True))
    axes.set(xlabel="trials", ylabel=f"F1 of the common judge, mean over {count} models", ylim=(0, 1))
    axes.set_title("SIMULATED failure regions: how well are they mapped? (bars: two standard errors)", fontsize=11)
    axes.set_xscale("log")
    axes.set_xticks(budgets, [str(b) for b in budgets])
    axes.minorticks_off()
    axes.set_xlim(budgets[0] * 0.85, budgets[-1] * 1.7)
    axes.grid(visible=True, alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
