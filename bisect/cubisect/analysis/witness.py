"""Is it monotone? A test on fresh trials, the only sound way to a verdict.

From the campaign, choose a few failing points and, for each, the same point with one axis raised to where a classifier
expects a pass. Run both sides afresh, each run with a new batch. If more never fails less often, then, given each
pair's margins, the failures on the lower side are at most hypergeometric; their sum over the pairs is tested exactly (a
stratified Fisher test). How the pairs were chosen cannot bias it, and it needs no model of chance. A bootstrap of the
recorded flips was tried in its place and is wrong both ways.

A test can only speak against monotonicity. Without fresh trials the answer is "undecided".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.ensemble import ExtraTreesClassifier

from cubisect.analysis.design import columns_of, matrix, points_frame
from cubisect.analysis.frame import (
    conclusive,
    failed,
    failing_kinds,
    is_in,
    mapping,
    numeric_axes,
    point_of,
    with_features,
)
from cubisect.analysis.multiple import holm
from cubisect.analysis.result import Result, amount, plural
from cubisect.analysis.threshold import ANY, Finding
from cubisect.outcome import Outcome
from cubisect.space import AXES, NumericAxis, Point, Space
from cubisect.trial import Purpose

PAIRS = 3
MIN_RUNS = 6
"""Runs on each side of a pair; with fewer even a certain violation is seldom significant."""
SUGGESTED_BUDGET = 2 * PAIRS * MIN_RUNS
ANCHORS, LEVELS = 40, 12
MODEL_ROWS = 5_000
SIGNIFICANT = 0.05


@dataclass(frozen=True, kw_only=True)
class WitnessPair:
    """Two points to run `runs` times each, with a new batch each time.

    `parent` is the failing trial that has the point `low`; `high` differs on `axis` alone, where it has more. Record
    the trials with purpose `test` and this parent, and `witness_strata` will find them. `fall` is by how much the
    classifier expects the failure rate to fall.
    """

    parent: int
    kind: str
    axis: str
    low: Point
    high: Point
    runs: int
    fall: float


def plan_witness_test(
    frame: pd.DataFrame, space: Space, budget: int = SUGGESTED_BUDGET, *, seed: int = 0
) -> list[WitnessPair]:
    """Return the pairs on which `budget` fresh trials tell most; empty without failures or numeric axes.

    Each failing kind with an expected violation gets its share, the strongest first, while the budget lasts.
    """
    rows = with_features(mapping(frame))
    found = {str(kind): _candidates(kind, rows, space, seed) for kind in failing_kinds(rows)}
    kinds = sorted((kind for kind, pairs in found.items() if pairs), key=lambda kind: -found[kind][0].fall)
    kinds = kinds[: max(budget // SUGGESTED_BUDGET, 1)]
    plan = []
    for kind in kinds:
        share = budget // len(kinds)
        pairs = found[kind][: min(PAIRS, max(share // (2 * MIN_RUNS), 1))]
        plan += [replace(pair, runs=share // (2 * len(pairs))) for pair in pairs]
    return [pair for pair in plan if pair.runs]


def _candidates(kind: Outcome, rows: pd.DataFrame, space: Space, seed: int) -> list[WitnessPair]:
    """Return the best pair of each likely anchor: the best of each axis first, then by the expected fall."""
    hits = is_in(rows["outcome"], [kind])
    model = _Model(rows, hits, seed)
    anchors = rows[hits].drop_duplicates(list(AXES))
    sure = model.rate(anchors)
    likely = np.argsort(-sure, kind="stable")[:ANCHORS]
    found = [_best_pair(anchors.iloc[i], str(kind), float(sure[i]), space, model) for i in likely]
    pairs = sorted((pair for pair in found if pair is not None), key=lambda pair: -pair.fall)
    firsts: dict[str, WitnessPair] = {}
    for pair in pairs:
        if pair.fall >= pairs[0].fall / 2.0:
            firsts.setdefault(pair.axis, pair)
    leading = list(firsts.values())
    return leading + [pair for pair in pairs if pair not in leading]


class _Model:
    """Extremely randomised trees of the chance of one kind of failure at a point."""

    def __init__(self, rows: pd.DataFrame, hits: NDArray[np.bool_], seed: int) -> None:
        keep = np.arange(len(rows))
        if len(rows) > MODEL_ROWS:
            keep = np.random.default_rng(seed).choice(len(rows), MODEL_ROWS, replace=False)
            keep = np.union1d(keep, np.flatnonzero(hits)[:MODEL_ROWS])
        self.columns = columns_of(rows)
        self.trees = ExtraTreesClassifier(100, min_samples_leaf=2, max_features=None, random_state=seed)
        self.trees.fit(matrix(rows.iloc[keep], self.columns), hits[keep])

    def rate(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """Return the expected failure rate at each row."""
        classes = list(self.trees.classes_)
        share = self.trees.predict_proba(matrix(rows, self.columns))
        return np.asarray(share[:, classes.index(True)], dtype=np.float64)


def _best_pair(anchor: "pd.Series[Any]", kind: str, sure: float, space: Space, model: _Model) -> WitnessPair | None:
    low = point_of(anchor)
    highs = [(axis.name, point) for axis, _, top in space.numeric() for point in _raised(low, axis, top, space)]
    if not highs:
        return None
    rates = model.rate(points_frame(point for _, point in highs))
    best = int(np.argmin(rates))
    axis, high = highs[best]
    fall = sure - float(rates[best])
    return WitnessPair(parent=int(anchor["number"]), kind=kind, axis=axis, low=low, high=high, runs=0, fall=fall)


def _raised(low: Point, axis: NumericAxis, top: float, space: Space) -> list[Point]:
    """Return feasible points of the space with more on one axis, up to the coordinate `top`."""
    here = getattr(low, axis.name)
    steps = np.linspace(axis.to_coordinate(here), top, LEVELS + 1)[1:]
    values = sorted({axis.from_coordinate(float(step)) for step in steps})
    points = [Point(**{**low.values(), axis.name: value}) for value in values if value > here]
    return [point for point in points if space.contains(point)]


# -- the verdict -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """What the fresh trials of one pair showed, for one kind of failure."""

    parent: int
    kind: str
    axis: str
    low_value: float
    high_value: float
    low_failures: int
    low_trials: int
    high_failures: int
    high_trials: int


@dataclass(frozen=True, kw_only=True)
class WitnessVerdict(Result):
    """Whether fresh trials speak against monotonicity. `p_values` are Holm-corrected over the kinds."""

    finding: Finding
    p_values: dict[str, float]
    strata: tuple[Stratum, ...]
    trials: int

    @property
    def answer(self) -> str:
        """The verdict with its strongest pair."""
        if not self.strata:
            return f"Whether more is always worse needs fresh trials: `bisect analyze NAME --test {SUGGESTED_BUDGET}`."
        kind = min(self.p_values, key=lambda k: self.p_values[k])
        p = f"corrected p = {self.p_values[kind]:.2g}, {plural(self.trials, 'fresh trial')}"
        if self.finding is not Finding.NO:
            return f"That more is always worse is not refuted ({p})."
        s = max((s for s in self.strata if s.kind == kind), key=_fall)
        low, high = amount(s.axis, s.low_value), amount(s.axis, s.high_value)
        return (
            f"Not monotone ({kind}): at {s.axis} {low}, {s.low_failures} of {s.low_trials} fail; at {high}, all else "
            f"equal, {s.high_failures} of {s.high_trials} ({p})."
        )


def _fall(stratum: Stratum) -> float:
    return stratum.low_failures / max(stratum.low_trials, 1) - stratum.high_failures / max(stratum.high_trials, 1)


def witness_strata(frame: pd.DataFrame) -> tuple[Stratum, ...]:
    """Return a stratum per failing trial tested again: for its kind of failure, and for any."""
    rows = conclusive(frame)
    tests = rows[is_in(rows["purpose"], [Purpose.TEST])]
    anchors = rows.drop_duplicates("number").set_index("number")
    strata = []
    for parent, runs in tests.groupby(tests["parent"].astype("Int64")):
        found = anchors[anchors.index == parent]
        if len(found):
            kinds = dict.fromkeys((str(found["outcome"].iloc[0]), ANY))
            strata += [_stratum(int(runs["parent"].iloc[0]), runs, found, kind) for kind in kinds]
    return tuple(s for s in strata if s.low_trials and s.high_trials)


def _stratum(parent: int, runs: pd.DataFrame, anchor: pd.DataFrame, kind: str) -> Stratum:
    hits = failed(runs) if kind == ANY else is_in(runs["outcome"], [kind])
    names = [axis.name for axis in numeric_axes(AXES)]
    steps = runs[names].to_numpy(dtype=np.float64) - anchor[names].to_numpy(dtype=np.float64)
    low, high = (steps == 0.0).all(axis=1), (steps >= 0.0).all(axis=1) & (steps > 0.0).any(axis=1)
    axis = names[int(np.argmax((steps > 0.0).sum(axis=0)))]
    values = runs[axis].to_numpy(dtype=np.float64)
    here = float(anchor[axis].iloc[0])
    return Stratum(
        parent=parent,
        kind=kind,
        axis=axis,
        low_value=here,
        high_value=float(values[high].max()) if high.any() else here,
        low_failures=int(hits[low].sum()),
        low_trials=int(low.sum()),
        high_failures=int(hits[high].sum()),
        high_trials=int(high.sum()),
    )


def witness_verdict(strata: Sequence[Stratum]) -> WitnessVerdict:
    """Return what fresh trials say about monotonicity."""
    kinds = sorted({s.kind for s in strata})
    values = holm([stratified_p([s for s in strata if s.kind == kind]) for kind in kinds])
    finding = Finding.NO if values and min(values) <= SIGNIFICANT else Finding.UNDECIDED
    trials = sum(s.low_trials + s.high_trials for s in strata if s.kind == ANY)
    return WitnessVerdict(
        finding=finding, p_values=dict(zip(kinds, values, strict=True)), strata=tuple(strata), trials=trials
    )


def stratified_p(strata: Sequence[Stratum]) -> float:
    """Return the exact chance of so many failures on the lower sides, were both sides of each pair alike."""
    distribution, least, seen = np.ones(1), 0, 0
    for s in strata:
        failures, trials = s.low_failures + s.high_failures, s.low_trials + s.high_trials
        support = np.arange(max(0, failures - s.high_trials), min(failures, s.low_trials) + 1)
        distribution = np.convolve(distribution, hypergeom.pmf(support, trials, failures, s.low_trials))
        least += int(support[0])
        seen += s.low_failures
    return float(min(distribution[seen - least :].sum(), 1.0))
