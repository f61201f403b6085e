"""Extremely randomised trees that are renewed a few at a time while results come in.

Refitting all trees after every result would cost more than a trial. Two of 48 are replaced per result, later fewer: no
tree is older than 24 results or 5 % of them. When each was fitted is a function of the number of results alone: a
resumed search rebuilds the same trees from the record.

Source: Geurts, Ernst, Wehenkel, Extremely randomized trees, Machine Learning 63 (2006).
"""

from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeClassifier

from cubisect.search.boundary.directions import failure_directions, with_directions
from cubisect.search.boundary.encoding import Features, Float, Rows
from cubisect.search.boundary.history import History
from cubisect.search.boundary.replicates import failure_rates

GROVES = 24
"""Pairs of trees fitted at the same time. One of each pair is shown directions in which failures are thin, the other is
not: where they differ, the map is not yet known to those who look at it without directions."""

RESULTS_PER_STEP = 500
"""With n results a grove is renewed every 1 + n // 500 of them: trees over many results age slowly and cost much."""

RELIABLE = 0.6
"""Above this rate of failure a leaf may be a single trial; below, one trial says little."""

FLAKY_LEAF = 3


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree fitted to one prefix of the results, the kinds that it knows and its leaves' shares of them."""

    tree: Any
    kinds: NDArray[np.intp]
    shares: Float
    directions: Float

    def add_votes(self, features: Features, numeric: Float, votes: Float, voters: Float) -> None:
        """Add the share of every kind in each row's leaf to `votes`, and this tree to the `voters` on its kinds."""
        leaves = self.tree.apply(with_directions(features, numeric, self.directions))
        votes[:, self.kinds] += self.shares[leaves]
        voters[self.kinds] += 1


class Forest:
    """P(kind) at any row, after the results so far."""

    def __init__(self, seed: int, *, directions: bool = True) -> None:
        self._seed, self._directed = seed, directions
        self._groves: dict[int, list[_Tree]] = {}

    def probabilities(self, history: History, rows: Rows) -> Float:
        """Return an array of shape (rows, 1 + kinds): the probability of a pass and of every kind of failure.

        A kind is judged by the trees that have met it; it is 0 everywhere while there is none.
        """
        times = refit_times(len(history))
        self._groves = {t: self._groves.get(t) or self._fit(history, t) for t in times}
        features = history.encoding.features(rows)
        numeric = history.encoding.scaled(rows)
        votes = np.zeros((len(rows), 1 + len(history.kinds)))
        voters = np.zeros(votes.shape[1])
        for tree in chain.from_iterable(self._groves.values()):
            tree.add_votes(features, numeric, votes, voters)
        return np.asarray(votes / np.maximum(voters, 1))

    def _fit(self, history: History, count: int) -> list[_Tree]:
        rates = failure_rates(history, count)
        leaf = 1 if rates.min(initial=1.0) >= RELIABLE else FLAKY_LEAF
        features, codes = history.features[:count], history.codes[:count]
        numeric = history.encoding.scaled(history.rows[:count])
        plain = np.empty((numeric.shape[1], 0))
        views = (failure_directions(numeric, codes) if self._directed else plain, plain)
        trees = []
        for index, directions in enumerate(views):
            fitted = ExtraTreeClassifier(
                max_features=None, min_samples_leaf=leaf, random_state=(self._seed + 31 * count + index) % (1 << 32)
            ).fit(with_directions(features, numeric, directions), codes, check_input=False)
            trees.append(_Tree(fitted.tree_, fitted.classes_, fitted.tree_.value[:, 0, :], directions))
        return trees


def refit_times(count: int) -> list[int]:
    """Return after how many results the groves in use were fitted, given `count` results of which there is one."""
    times: deque[int] = deque(maxlen=GROVES)
    time = 1
    while time <= count:
        times.append(time)
        time += 1 + time // RESULTS_PER_STEP
    return list(times)
