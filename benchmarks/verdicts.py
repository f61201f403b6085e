"""How often is the verdict right? Simulated campaigns on models whose truth is known, over many seeds.

    python benchmarks/verdicts.py --seeds 20 --budget 500

Each campaign explores, replicates, bisects along axes and redraws near failures (tests/support/frames.py). After the
analysis, the witness test spends 72 fresh trials. Right, wrong and undecided are counted per model; a wrong verdict is
a false claim, which "undecided" never is.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cubisect.analysis.summary import Analysis, analyze
from cubisect.analysis.threshold import Finding
from cubisect.analysis.witness import plan_witness_test
from cubisect.drivers.fault_models import MODELS
from cubisect.space import Range, Space
from support.frames import Simulation, Truth, run_witness_test, simulate_campaign

TEST_BUDGET = 72
SPACE = Space.of(vary={"descriptor_count": Range(low=1, high=1 << 18)})
"""The default space with at most 262,144 descriptors: the truth of every model below lies within."""


@dataclass(frozen=True)
class Score:
    """One campaign's verdict: right, wrong or undecided, and why."""

    mark: str
    note: str


@dataclass(frozen=True)
class Run:
    """What one campaign's analysis says, and the model's true failure rate over the space."""

    analysis: Analysis
    rate: float


def score_threshold(run: Run) -> Score:
    """Right: one threshold in the descriptor count within 10 % of 40,000, and not "not monotone"."""
    return _one_threshold(run.analysis, "descriptor_count", 40_000)


def score_accumulation(run: Run) -> Score:
    """Right: one threshold in count × repetition within 10 % of 3,000,000, and in neither alone."""
    alone = {a.question: a.finding for a in run.analysis.answers}
    if Finding.YES in (
        alone["Is there a limit in the descriptor count?"],
        alone["Is there a limit in the repetition?"],
    ):
        return Score("wrong", "claims a limit in one of the two alone")
    return _one_threshold(run.analysis, "submitted_descriptors", 3_000_000)


def _one_threshold(analysis: Analysis, quantity: str, truth: float) -> Score:
    answer = analysis.thresholds[0]
    if analysis.witness.finding is Finding.NO:
        return Score("wrong", analysis.witness.answer)
    if answer.finding is Finding.NO:
        return Score("wrong", answer.answer)
    if answer.finding is Finding.UNDECIDED or answer.best is None:
        return Score("undecided", answer.answer)
    near = abs(answer.best.cut / truth - 1.0) <= 0.1
    if answer.best.quantity == quantity and near:
        return Score("right", f"{answer.best.cut:.0f}")
    return Score("wrong", answer.answer)


def score_band(run: Run) -> Score:
    """Right: no single threshold, not monotone by the witness test, with witnesses."""
    analysis = run.analysis
    if any(a.finding is Finding.YES for a in analysis.thresholds):
        return Score("wrong", analysis.thresholds[0].answer)
    no_threshold = analysis.thresholds[0].finding is Finding.NO
    if no_threshold and analysis.witness.finding is Finding.NO and analysis.monotonicity.witnesses:
        return Score("right", analysis.witness.answer)
    return Score("undecided", f"{analysis.thresholds[0].answer} {analysis.witness.answer}")


def score_null(run: Run) -> Score:
    """Right: no failure, an upper bound, no rule and no threshold."""
    analysis = run.analysis
    overall = analysis.rates.overall
    clean = not overall.failures and not analysis.regions.rules and analysis.witness.finding is Finding.UNDECIDED
    clean = clean and all(a.finding is Finding.UNDECIDED for a in analysis.thresholds)
    return Score("right" if clean and 0.0 < overall.interval.high < 0.01 else "wrong", overall.answer)


def score_flaky(run: Run) -> Score:
    """Right: the true rate is within its interval (95 % of campaigns should), and no threshold is claimed."""
    analysis = run.analysis
    if any(a.finding is Finding.YES for a in analysis.thresholds):
        return Score("wrong", analysis.thresholds[0].answer)
    if analysis.witness.finding is Finding.NO:
        return Score("wrong", analysis.witness.answer)
    overall = analysis.rates.overall
    return Score("right" if run.rate in overall.interval else "wrong", f"true {run.rate:.4f}; {overall.answer}")


def score_several(run: Run) -> Score:
    """Right: no single threshold explains any failure; one is claimed for no kind but where the model has one."""
    claims = [a for a in run.analysis.thresholds if a.finding is Finding.YES]
    true_one = {"error": "mean_size"}  # vllm-49276 refuses batches with a mean size of 64 MiB or more
    false = [a for a in claims if a.best is None or true_one.get(a.kind) != a.best.quantity]
    if false:
        return Score("wrong", false[0].answer)
    overall = run.analysis.thresholds[0]
    return Score("right" if overall.finding is Finding.NO else "undecided", overall.answer)


SCORES: Mapping[str, Callable[[Run], Score]] = {
    "threshold": score_threshold,
    "accumulation": score_accumulation,
    "band": score_band,
    "null": score_null,
    "flaky": score_flaky,
    "island": score_several,
    "vllm-49276": score_several,
}


def true_rate(truth: Truth, trials: int = 20_000) -> float:
    """Return the model's failure rate over the space, from points of an independent Sobol sequence."""
    simulation = Simulation(truth, SPACE, seed=987_654)
    return simulation.expected_rate(trials)


def campaign(model: str, seed: int, *, budget: int, rate: float) -> Score:
    """Return the score of one simulated campaign."""
    simulation = simulate_campaign(MODELS[model](), SPACE, trials=budget, seed=seed)
    for pair in plan_witness_test(simulation.frame(), SPACE, TEST_BUDGET):
        run_witness_test(simulation, pair)
    return SCORES[model](Run(analyze(simulation.frame(), SPACE), rate))


def main() -> None:
    """Run the campaigns and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--models", nargs="*", default=list(SCORES), choices=list(SCORES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    for model in options.models:
        one = partial(campaign, model, budget=options.budget, rate=true_rate(MODELS[model]()))
        with ProcessPoolExecutor(options.workers) as pool:
            scores = list(pool.map(one, range(options.seeds)))
        marks = Counter(score.mark for score in scores)
        print(f"{model:13s} right {marks['right']:2d} of {options.seeds}, undecided {marks['undecided']}, "
              f"wrong {marks['wrong']}", flush=True)  # fmt: skip
        for seed, score in enumerate(scores):
            if options.verbose or score.mark != "right":
                print(f"    seed {seed}: {score.mark}: {score.note[:400]}", flush=True)


if __name__ == "__main__":
    main()
