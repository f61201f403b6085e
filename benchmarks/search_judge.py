"""One common judge for every sampler: what a classifier learns from the trials, against the known truth.

The judge is SEARCH's: extra-trees on log axes, named values one by one, mean size and the two products; leaf 1 or 4
by out-of-bag Brier score. It knows nothing of how the trials were chosen.

Such trees cut along the axes, and hardly see a slab that is oblique in three of them, however well it was sampled. A
second judge, the same but shown the directions in which the failures among the trials are thin, tells how much of a
poor score is the first judge's; it gives one figure, `f1_directed`, and counts for no goal.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from search_models import MODELS, Model
from sklearn.ensemble import ExtraTreesClassifier

from cubisect.search.boundary.directions import failure_directions, with_directions
from cubisect.search.boundary.encoding import Encoding, Features, Float, Rows
from cubisect.search.boundary.sobol import uniform_rows

FRESH_POINTS = 20_000
LINES = 24
STEP_OCTAVES = 0.125
WORST_OCTAVES = 4.0
"""Error of a boundary that is not predicted at all."""

TREES = 100
LEAVES = (1, 4)
NEAR_OCTAVES = 0.5
HITS = 3
"""Failing trials of a kind that count as having found it."""


@dataclass(frozen=True)
class Truths:
    """Fresh points of a model with their truth, and points on lines that cross its boundaries."""

    encoding: Encoding
    rows: Rows
    failing: Float
    lines: list[tuple[Rows, NDArray[np.bool_], int]]


def columns_of(encoding: Encoding, rows: Rows) -> dict[str, NDArray[np.generic]]:
    """Return rows as columns of coordinates, named values as themselves."""
    return {
        name: np.array(encoding.categories[c], dtype=object)[rows[:, c].astype(int)]
        if c in encoding.categories
        else rows[:, c]
        for c, name in enumerate(encoding.names)
    }


def failing(model: Model, encoding: Encoding, rows: Rows) -> Float:
    """Return the true probability of any failure at each row."""
    return np.asarray(sum(model.failing(columns_of(encoding, rows)).values()), dtype=np.float64)


@lru_cache(maxsize=32)
def truths(name: str) -> Truths:
    """Return the fresh points and lines on which every sampler is judged for a model."""
    model = MODELS[name]
    encoding = Encoding(model.space)
    rng = np.random.default_rng(20_261_201)
    rows = uniform_rows(encoding, rng, int(FRESH_POINTS * 2.5))[:FRESH_POINTS]
    true = failing(model, encoding, rows)
    lines = []
    for row in rows[true > 0][:LINES]:
        for axis in ("descriptor_count", "total_bytes", "repetition"):
            column = encoding.names.index(axis)
            positions = np.arange(encoding.low[column], encoding.high[column] + 1e-9, STEP_OCTAVES)
            line = np.repeat(row[None, :], len(positions), axis=0)
            line[:, column] = positions
            line = line[encoding.feasible(line)]
            lines.append((line, failing(model, encoding, line) > 0, column))
    return Truths(encoding, rows, true, lines)


def score(model: Model, rows: Rows, failed: NDArray[np.bool_], kinds: list[str]) -> dict[str, float]:
    """Return every metric for the trials of one run."""
    known = truths(model.name)
    probability = _classifier(known.encoding, rows, failed)
    fresh = probability(known.rows)
    predicted, true = fresh >= model.level, known.failing > 0
    directed = _classifier(known.encoding, rows, failed, directed=True)(known.rows) >= model.level
    found = {kind for kind in kinds if kind != "ok" and kinds.count(kind) >= HITS}
    return {
        "f1": _f1(predicted, true),
        "f1_directed": _f1(directed, true),
        "balanced_accuracy": _balanced_accuracy(predicted, true),
        "brier": float(((fresh - known.failing) ** 2).mean()),
        "boundary_octaves": _boundary_error(known, probability, model.level),
        "near_boundary": float(_near(model, known.encoding, rows).sum()),
        "failing_trials": float(failed.sum()),
        "faults_found": float(len(found)),
        "faults": float(len(model.failing(columns_of(known.encoding, known.rows[:1]))) if true.any() else 0),
    }


def _f1(predicted: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    """Return F1; where nothing fails, 1 if nothing is predicted to."""
    if not true.any():
        return float(not predicted.any())
    return 2.0 * float((predicted & true).sum()) / float(predicted.sum() + true.sum())


def _balanced_accuracy(predicted: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    shares = [(predicted[true == side] == side).mean() for side in (False, True) if (true == side).any()]
    return float(np.mean(shares))


@dataclass(frozen=True)
class _Probability:
    """P(failure) at rows: of a fitted forest, or 0 where all trials ended alike."""

    encoding: Encoding
    directions: Float
    forest: ExtraTreesClassifier | None = None

    def __call__(self, rows: Rows) -> Float:
        if self.forest is None:
            return np.zeros(len(rows))
        return np.asarray(self.forest.predict_proba(judged_features(self.encoding, rows, self.directions))[:, 1])


def judged_features(encoding: Encoding, rows: Rows, directions: Float) -> Features:
    """Return the judge's features: those of the search without alignment, and the positions along `directions`."""
    features = encoding.features(rows)[:, : -len(encoding.round_columns) or None]
    return with_directions(features, encoding.scaled(rows), directions)


def _classifier(encoding: Encoding, rows: Rows, failed: NDArray[np.bool_], *, directed: bool = False) -> _Probability:
    numeric = encoding.scaled(rows)
    directions = failure_directions(numeric, failed.astype(np.int64)) if directed else np.empty((numeric.shape[1], 0))
    if len(np.unique(failed)) < 2:
        return _Probability(encoding, directions)
    features = judged_features(encoding, rows, directions)
    scores = {leaf: _brier_out_of_bag(features, failed, leaf) for leaf in LEAVES}
    forest = ExtraTreesClassifier(
        TREES, max_features=None, min_samples_leaf=min(scores, key=scores.__getitem__), random_state=0
    )
    return _Probability(encoding, directions, forest.fit(features, failed))


def _brier_out_of_bag(features: Features, failed: NDArray[np.bool_], leaf: int) -> float:
    forest = ExtraTreesClassifier(
        TREES, max_features=None, min_samples_leaf=leaf, bootstrap=True, oob_score=True, random_state=0
    ).fit(features, failed)
    votes = np.nan_to_num(forest.oob_decision_function_[:, 1], nan=float(failed.mean()))
    return float(((votes - failed) ** 2).mean())


def _boundary_error(known: Truths, probability: _Probability, level: float) -> float:
    """Return the mean distance in octaves from true crossings along the lines to the nearest predicted one."""
    if not known.lines:
        return 0.0
    votes = probability(np.concatenate([line for line, _, _ in known.lines]))
    errors: list[float] = []
    start = 0
    for line, true, column in known.lines:
        predicted = votes[start : start + len(line)] >= level
        start += len(line)
        at = line[:, column]
        guessed = at[np.flatnonzero(np.diff(predicted))]
        crossings = at[np.flatnonzero(np.diff(true))]
        errors += [float(np.abs(guessed - crossing).min(initial=WORST_OCTAVES)) for crossing in crossings]
    return float(np.mean(errors)) if errors else 0.0


def _near(model: Model, encoding: Encoding, rows: Rows) -> NDArray[np.bool_]:
    """Tell which trials lie within half an octave, along count, bytes or repetition, of a true boundary."""
    here = failing(model, encoding, rows) > 0
    near = np.zeros(len(rows), dtype=np.bool_)
    for axis in ("descriptor_count", "total_bytes", "repetition"):
        column = encoding.names.index(axis)
        for step in (-NEAR_OCTAVES, -NEAR_OCTAVES / 2, NEAR_OCTAVES / 2, NEAR_OCTAVES):
            moved = rows.copy()
            moved[:, column] = np.clip(moved[:, column] + step, encoding.low[column], encoding.high[column])
            near |= encoding.feasible(moved) & ((failing(model, encoding, moved) > 0) != here)
    return near
