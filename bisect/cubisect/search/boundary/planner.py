"""Which trial next: repeats that are due, then exploring, single axes and the model in turn.

Everything is a function of the seed, the results in their order, the trials still running, and the number of the
trial asked for; so a search rebuilt from its record goes on as it would have.
"""

from dataclasses import dataclass

import numpy as np

from cubisect.search.boundary.axis import next_probe
from cubisect.search.boundary.candidates import candidate_rows, moved_failure
from cubisect.search.boundary.encoding import Encoding, Float
from cubisect.search.boundary.forest import Forest
from cubisect.search.boundary.history import History, Proposal
from cubisect.search.boundary.replicates import due_repeat, failure_rates
from cubisect.search.boundary.sobol import Explorer
from cubisect.space import Space
from cubisect.trial import Origin

EXPLORE_SHARE = 0.3
"""Of all trials but the enqueued ones, for ever: exploring finds the other regions, and rates are sound on it alone."""

BISECTABLE = 0.55
"""A failure seen less often than this cannot be bisected along a line: the passes on it mean too little."""

DOUBT = 0.05
"""Share of model steps that move a known failure at random, whatever the model is certain of."""

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, fill the unit interval evenly from the first one on."""


HEAD_START = 5
"""Added to the failures of every kind when they take turns, so that the newest one does not take all of them."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the search does; every switch exists so that `benchmarks/search.py` can show what its part earns."""

    explore_share: float = EXPLORE_SHARE
    repeats: bool = True
    axis: bool = True
    turns: bool = True
    level: bool = True
    directions: bool = True
    doubt: bool = True
    cost: bool = True


class Planner:
    """Proposes trials over one space."""

    def __init__(self, space: Space, seed: int, rules: Rules | None = None) -> None:
        self.encoding = Encoding(space)
        self.history = History(self.encoding)
        self.rules = rules or Rules()
        self._seed = seed
        self._explorer = Explorer(self.encoding, seed)
        self._forest = Forest(seed, directions=self.rules.directions)

    def propose(self, number: int) -> Proposal:
        """Return the trial to run under this number, and note it as running."""
        proposal = self._choose(np.random.default_rng([self._seed, number]))
        self.history.asked(number, proposal)
        return proposal

    def _choose(self, rng: np.random.Generator) -> Proposal:
        if self._explore_is_due():
            return self._explore()
        repeat = due_repeat(self.history) if self.rules.repeats else None
        if repeat is not None:
            return repeat
        rates = failure_rates(self.history)
        if self._axis_is_due():
            probe = self._axis(rates, rng)
            if probe is not None:
                return Proposal(probe, Origin.AXIS)
        code = self._turn(np.arange(1, len(rates) + 1), self.history.origins[Origin.MODEL])
        return Proposal(self._model(code, rates[code - 1], rng), Origin.MODEL)

    def _explore_is_due(self) -> bool:
        origins = self.history.origins
        chosen = origins.total() - origins[Origin.ENQUEUED] + 1
        return not self.history.kinds or origins[Origin.EXPLORE] < self.rules.explore_share * chosen

    def _explore(self) -> Proposal:
        return Proposal(self._explorer.point(self.history.origins[Origin.EXPLORE]), Origin.EXPLORE)

    def _axis_is_due(self) -> bool:
        origins = self.history.origins
        return self.rules.axis and origins[Origin.AXIS] <= origins[Origin.MODEL]

    def _axis(self, rates: Float, rng: np.random.Generator) -> Float | None:
        codes = np.flatnonzero(rates >= BISECTABLE) + 1
        if not len(codes):
            return None
        return next_probe(self.history, self._turn(codes, self.history.origins[Origin.AXIS]), rng)

    def _model(self, code: int, rate: float, rng: np.random.Generator) -> Float:
        """Return the candidate at which it is least certain whether a kind of failure of this rate happens."""
        if self.rules.doubt and rng.random() < DOUBT:
            return moved_failure(self.history, code, rng)
        rows = candidate_rows(self.history, code, rng)
        shares = self._forest.probabilities(self.history, rows)
        if not shares[:, code].any():  # no tree has met the kind yet
            return moved_failure(self.history, code, rng)
        score = uncertainty(shares[:, code], rate / 2 if self.rules.level else 0.5)
        if self.rules.cost:
            score /= np.sqrt(shares @ self.history.mean_costs())
        return np.asarray(rows[np.argmax(score)])

    def _turn(self, codes: np.ndarray, step: int) -> int:
        """Return the kind whose turn it is: rarer for one with many failures on record, and for one that costs more.

        So a kind that is met late catches up, and a hang, which costs its deadline, does not eat the time.
        """
        if not self.rules.turns:
            return int(codes[0])
        hits = np.array([len(self.history.failures[code]) for code in codes]) + HEAD_START
        costs = self.history.mean_costs()[codes] if self.rules.cost else np.ones(len(codes))
        weights = 1.0 / (hits * np.sqrt(costs))
        reached = np.cumsum(weights) / weights.sum()
        return int(codes[np.searchsorted(reached, (step + 1) * GOLDEN % 1.0, side="right").clip(0, len(codes) - 1)])


def uncertainty(probability: Float, level: float) -> Float:
    """Return the entropy of probabilities after the level is moved to one half: greatest where P = `level`."""
    p = np.clip(probability, 1e-6, 1 - 1e-6)
    q = p * (1 - level) / (p * (1 - level) + (1 - p) * level)
    return np.asarray(-(q * np.log(q) + (1 - q) * np.log(1 - q)))
