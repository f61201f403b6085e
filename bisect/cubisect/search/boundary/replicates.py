"""Repeats that tell how often a failure happens where it happens at all.

Two kinds of chance are planned apart: a *replicate* runs the same batch again (the chance of the run), a *resample*
draws another batch at the same point (the chance of the batch). The first failures of every kind are repeated a few
times; while the answers disagree, repeating goes on.
"""

from dataclasses import dataclass

import numpy as np

from cubisect.search.boundary.encoding import Float
from cubisect.search.boundary.history import History, Proposal
from cubisect.trial import Origin, Purpose

CHECKED_FAILURES = 2
"""So many failing points of every kind are repeated."""

FIRST_REPEATS = (
    (Purpose.REPLICATE, Purpose.REPLICATE, Purpose.RESAMPLE),
    (Purpose.RESAMPLE, Purpose.RESAMPLE, Purpose.REPLICATE),
)
"""What is asked of the first and of the second failing point, whatever the answers."""

MOST_REPEATS = 14
"""Repeats of one point while they disagree: the rate's standard error is then at most 0.13, and 0.1 over two points."""

ORIGIN_OF = {Purpose.REPLICATE: Origin.REPLICATE, Purpose.RESAMPLE: Origin.RESAMPLE}


@dataclass(frozen=True)
class _Check:
    """The repeats of one failing trial: how many were answered, by the same kind of failure, and are running."""

    number: int
    position: int
    answered: int
    hits: int
    running: int

    @property
    def settled(self) -> bool:
        """Tell whether nothing more is to be asked of this point."""
        asked = self.answered + self.running
        if asked < len(FIRST_REPEATS[self.position]):
            return False
        return self.hits == self.answered or asked >= MOST_REPEATS

    @property
    def next_purpose(self) -> Purpose:
        """Return what to ask next; beyond the first questions, both in turn."""
        first = FIRST_REPEATS[self.position]
        asked = self.answered + self.running
        return first[asked] if asked < len(first) else first[asked % 2 * 2]


def due_repeat(history: History) -> Proposal | None:
    """Return the repeat that is due, None when every first failure is settled."""
    for code in range(1, len(history.kinds) + 1):
        for check in _checks(history, code):
            if not check.settled:
                purpose = check.next_purpose
                row = history.rows[history.entry_of[check.number]].copy()
                return Proposal(row, ORIGIN_OF[purpose], purpose, check.number)
    return None


def failure_rates(history: History, upto: int | None = None) -> Float:
    """Return how often each kind (from code 1 on) fails where it does, from the repeats among the first `upto` trials.

    The failure that made a point be repeated is not counted: it was selected for failing. A prior of one certain
    failure stands in for it, so that nothing repeated yet counts as reliable.
    """
    rates = []
    for code in range(1, len(history.kinds) + 1):
        checks = _checks(history, code, upto)
        hits, answered = sum(c.hits for c in checks), sum(c.answered for c in checks)
        rates.append((hits + 1.0) / (answered + 1.0))
    return np.array(rates, dtype=np.float64)


def _checks(history: History, code: int, upto: int | None = None) -> list[_Check]:
    limit = len(history) if upto is None else upto
    running: dict[int, int] = {}
    for proposal in history.pending.values():
        if proposal.parent is not None:
            running[proposal.parent] = running.get(proposal.parent, 0) + 1
    checks = []
    for position, entry in enumerate(history.failures[code][:CHECKED_FAILURES]):
        number = history.number(entry)
        answers = [history.codes[e] for e in history.repeats.get(number, ()) if e < limit]
        hits = sum(1 for answer in answers if answer == code)
        checks.append(_Check(number, position, len(answers), hits, running.get(number, 0)))
    return checks
