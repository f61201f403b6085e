"""Running jobs on an engine."""

import time

from cubisect.engines.base import Completed, Engine, Job
from cubisect.trial import TrialSpec


def results(engine: Engine, specs: list[TrialSpec], limit_s: float = 60.0) -> dict[int, Completed]:
    """Run all specs, as many at a time as there are lanes."""
    waiting = list(enumerate(specs))[::-1]
    found: dict[int, Completed] = {}
    running, until = 0, time.monotonic() + limit_s
    while waiting or running:
        while waiting and running < engine.lanes:
            key, spec = waiting.pop()
            engine.submit(Job(key=key, spec=spec))
            running += 1
        completed = engine.next_result(1.0)
        if completed is not None:
            found[completed.key] = completed
            running -= 1
        assert time.monotonic() < until
    return found
