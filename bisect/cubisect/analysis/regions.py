"""Where do trials fail? Rules read off a decision tree, made simple, and checked on trials that it never saw.

Two batches in three grow a tree per failing kind (CART, scikit-learn). Each leaf in which failures are common becomes a
box; ends of boxes that no trial needs are dropped, which also joins what the tree cut apart; boxes that add nothing are
left out. Disjoint regions stay separate rules. The remaining batches give each rule's rate and say whether it holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import fisher_exact
from sklearn.tree import DecisionTreeClassifier

from cubisect.analysis.design import Column, columns_of, matrix
from cubisect.analysis.frame import batch_key, failing_kinds, is_in, mapping, with_features
from cubisect.analysis.multiple import holm
from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.result import Result, plural
from cubisect.analysis.rules import Condition, Rule, inside, rounded_conditions
from cubisect.outcome import Outcome
from cubisect.space import AXES, NumericAxis, Value

HELD_OUT = 3
"""One batch in so many is held out."""
MIN_HITS = 6
"""Failing training trials without which a region is not told."""
MAX_ROWS = 20_000
LEAVES = 24
PRUNING = 0.01
"""Splits that lower the Gini impurity (at most 0.5) by less are noise, and make leaves look purer than they are."""
KEEP_RATE = 0.8
"""A box is widened only while failures in it stay this common, relative to the leaf that it came from."""
SIGNIFICANT = 0.05
LESS_OFTEN = 0.1
"""An end stays where the trials that dropping it lets in fail less often than those inside, at this level."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Regions(Result):
    """The rules, most hits first; `outside` counts failing trials of each kind that no rule of the kind covers."""

    rules: tuple[Rule, ...]
    failures: dict[str, int]
    outside: dict[str, int]

    @property
    def answer(self) -> str:
        """The rules in one sentence each."""
        if not self.failures:
            return "Regions: no trial failed."
        if not self.rules:
            return (
                f"Regions: {plural(sum(self.failures.values()), 'failing trial')}, too few or too scattered for a rule."
            )
        left = sum(self.outside.values())
        return f"{'; '.join(rule.answer for rule in self.rules)}; {plural(left, 'failing trial')} outside."


def regions(frame: pd.DataFrame, *, seed: int = 0) -> Regions:
    """Return the rules of every failing kind."""
    rows = with_features(mapping(frame))
    columns = columns_of(rows)
    kinds = failing_kinds(rows)
    if not kinds or not columns:
        return Regions(rules=(), failures={}, outside={})
    held = _held_out(rows, seed)
    rules = [rule for kind in kinds for rule in _rules(kind, rows, held, columns, seed)]
    failures = {str(kind): int(is_in(rows["outcome"], [kind]).sum()) for kind in kinds}
    return Regions(rules=tuple(rules), failures=failures, outside=_outside(rows, kinds, rules))


def _outside(rows: pd.DataFrame, kinds: Sequence[Outcome], rules: Sequence[Rule]) -> dict[str, int]:
    outside = {}
    for kind in kinds:
        left = is_in(rows["outcome"], [kind])
        for rule in rules:
            if rule.kind == kind:
                left &= ~rule.contains(rows)
        outside[str(kind)] = int(left.sum())
    return outside


def _held_out(rows: pd.DataFrame, seed: int) -> Mask:
    """Tell which rows are held out; all trials of one batch go together."""
    keys, index = np.unique(batch_key(rows), return_inverse=True)
    chosen = np.random.default_rng(seed).permutation(len(keys)) % HELD_OUT == 0
    return np.asarray(chosen[index], dtype=np.bool_)


def _rules(kind: Outcome, rows: pd.DataFrame, held: Mask, columns: Sequence[Column], seed: int) -> list[Rule]:
    hits = is_in(rows["outcome"], [kind])
    train = np.flatnonzero(~held)
    if len(train) > MAX_ROWS:
        train = np.sort(np.random.default_rng(seed).choice(train, MAX_ROWS, replace=False))
    if hits[train].sum() < MIN_HITS:
        return []
    x, y = matrix(rows.iloc[train], columns).astype(np.float64), hits[train]
    boxes = [_restored(_simplified(box, x, y), box, x, y) for box in _leaves(x, y, seed)]
    chosen = _covering(_merged(boxes, x, y), x, y)
    found = [_conditions(box, columns, rows.iloc[train]) for box in chosen]
    return _validated(kind, found, rows, hits, held)


# -- boxes in the columns of the matrix --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Box:
    """Open lower and closed upper ends per column, as a tree cuts them."""

    low: Floats
    high: Floats

    def contains(self, x: Floats) -> Mask:
        return np.asarray(((x > self.low) & (x <= self.high)).all(axis=1), dtype=np.bool_)


def _leaves(x: Floats, y: Mask, seed: int) -> list[_Box]:
    """Return the leaves in which failures are common: at least half as common as in the leaf where they are most so."""
    tree = DecisionTreeClassifier(
        max_leaf_nodes=LEAVES, min_samples_leaf=3, class_weight="balanced", ccp_alpha=PRUNING, random_state=seed
    ).fit(x, y)
    leaf = tree.apply(x)
    boxes, rates = [], []
    for node, box in _boxes(tree.tree_, x.shape[1]):
        inside_leaf = leaf == node
        boxes.append(box)
        rates.append(_shrunk_rate(y[inside_leaf]))
    level = max(rates) / 2.0
    return [box for box, rate in zip(boxes, rates, strict=True) if rate >= level]


def _boxes(tree: Any, width: int) -> Iterator[tuple[int, _Box]]:
    """Yield every leaf's number and box."""
    stack = [(0, np.full(width, -np.inf), np.full(width, np.inf))]
    while stack:
        node, low, high = stack.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0:
            yield node, _Box(low, high)
            continue
        column, cut = int(tree.feature[node]), float(tree.threshold[node])
        below, above = high.copy(), low.copy()
        below[column] = min(high[column], cut)
        above[column] = max(low[column], cut)
        stack += [(left, low, below), (right, above, high)]


def _simplified(box: _Box, x: Floats, y: Mask) -> _Box:
    """Return the box without the ends that no trial needs, the most harmless dropped first."""
    own = box.contains(x)
    least = KEEP_RATE * _shrunk_rate(y[own])
    while True:
        harmless = []
        for wider in _wider(box):
            let_in = wider.contains(x) & ~own
            if _shrunk_rate(y[own | let_in]) >= least and _p_more_often(y[own], y[let_in]) > LESS_OFTEN:
                harmless.append((_shrunk_rate(y[let_in]), wider))
        if not harmless:
            return box
        box = max(harmless, key=lambda entry: entry[0])[1]
        own = box.contains(x)


def _restored(wide: _Box, leaf: _Box, x: Floats, y: Mask) -> _Box:
    """Return the widened box with those ends of its leaf that, seen from the whole box, do keep passing trials out.

    An end may have been dropped while the box was small and held too few trials to tell.
    """
    own = wide.contains(x)
    for column in np.flatnonzero((wide.low < leaf.low) | (wide.high > leaf.high)):
        for tight in (
            replace(wide, low=_with(wide.low, int(column), leaf.low[column])),
            replace(wide, high=_with(wide.high, int(column), leaf.high[column])),
        ):
            kept = tight.contains(x)
            if _p_more_often(y[kept], y[own & ~kept]) <= LESS_OFTEN:
                wide, own = tight, kept
                break
    return wide


def _merged(boxes: Sequence[_Box], x: Floats, y: Mask) -> list[_Box]:
    """Return the boxes, any two of which are joined where all that is let in fails as often as the surer of the two."""
    pool = list(boxes)
    for _ in range(len(boxes)):
        for one, other in combinations(pool, 2):
            hull = _Box(np.minimum(one.low, other.low), np.maximum(one.high, other.high))
            sure = max((one.contains(x), other.contains(x)), key=lambda own: _shrunk_rate(y[own]))
            if _p_more_often(y[sure], y[hull.contains(x) & ~sure]) > LESS_OFTEN:
                pool = [hull, *(box for box in pool if box is not one and box is not other)]
                break
        else:
            break
    return pool


def _shrunk_rate(hits: Mask) -> float:
    """Return the share of hits, a few trials' drawn a little towards one half."""
    return float((hits.sum() + 0.5) / (len(hits) + 1.0))


def _wider(box: _Box) -> Iterator[_Box]:
    for column in np.flatnonzero(np.isfinite(box.low)):
        yield replace(box, low=_with(box.low, int(column), -np.inf))
    for column in np.flatnonzero(np.isfinite(box.high)):
        yield replace(box, high=_with(box.high, int(column), np.inf))


def _with(ends: Floats, column: int, value: float) -> Floats:
    changed = ends.copy()
    changed[column] = value
    return changed


def _covering(boxes: Sequence[_Box], x: Floats, y: Mask) -> list[_Box]:
    """Return the boxes that each add at least `MIN_HITS` failures, the one with the most and surest first."""
    left, chosen = y.copy(), []
    pool = [(box, box.contains(x)) for box in boxes]
    while pool:
        box, own = max(pool, key=lambda entry: (left & entry[1]).sum() * _shrunk_rate(y[entry[1]]))
        if (left & own).sum() < MIN_HITS:
            break
        chosen.append(box)
        left &= ~own
        pool = [entry for entry in pool if entry[0] is not box]
    return chosen


# -- rules in words ----------------------------------------------------------------------------------------------------


def _conditions(box: _Box, columns: Sequence[Column], rows: pd.DataFrame) -> tuple[Condition, ...]:
    bounds: dict[str, tuple[float | None, float | None]] = {}
    allowed: dict[str, list[Value]] = {}
    for index, column in enumerate(columns):
        low, high = float(box.low[index]), float(box.high[index])
        if column.value is None:
            if np.isfinite(low) or np.isfinite(high):
                bounds[column.name] = (_value(column.name, low), _value(column.name, high))
            continue
        values = allowed.setdefault(column.name, rows[column.name].unique().tolist())
        if low > 0.0:
            values[:] = [column.value]
        elif high < 1.0 and column.value in values:
            values.remove(column.value)
    categories = [
        Condition(name=name, values=tuple(sorted(values, key=str)))
        for name, values in allowed.items()
        if len(values) < rows[name].nunique()
    ]
    return (*rounded_conditions(bounds, rows), *categories)


def _value(name: str, coordinate: float) -> float | None:
    """Return the value at a coordinate, None at an open end."""
    if not np.isfinite(coordinate):
        return None
    axis = AXES.get(name)
    linear = isinstance(axis, NumericAxis) and axis.scale == "linear"
    return coordinate if linear else 2.0**coordinate


def _validated(
    kind: Outcome, found: Sequence[tuple[Condition, ...]], rows: pd.DataFrame, hits: Mask, held: Mask
) -> list[Rule]:
    """Return the rules with their held-out rates, and whether each is confirmed against the trials outside all."""
    masks = [inside(conditions, rows) for conditions in found]
    outside = held & ~np.logical_or.reduce(masks) if masks else held
    p_values = holm([_p_more_often(hits[mask & held], hits[outside]) for mask in masks])
    return [
        Rule(
            kind=str(kind),
            conditions=conditions,
            rate=Rate.of(str(kind), int(hits[mask & held].sum()), int((mask & held).sum()), Sample.GIVEN),
            support=int(mask.sum()),
            hits=int((mask & hits).sum()),
            confirmed=p <= SIGNIFICANT,
        )
        for conditions, mask, p in zip(found, masks, p_values, strict=True)
    ]


def _p_more_often(within: Mask, without: Mask) -> float:
    table = [[within.sum(), (~within).sum()], [without.sum(), (~without).sum()]]
    return float(fisher_exact(np.array(table), alternative="greater").pvalue)
