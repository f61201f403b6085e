"""A fault model whose trials take a known time and never fail, for `benchmarks/joined.py`."""

import os
import time
from collections.abc import Mapping

from cubisect.outcome import Outcome
from cubisect.trial import TrialSpec

SECONDS = "BISECT_BENCHMARK_TRIAL_S"
"""The environment variable that says how long a trial sleeps."""


class Sleeping:
    """No failures; every trial that a campaign asked for sleeps."""

    name = "sleeping"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return none, after a while; trials without a chance of their own (checks, canaries) are not slowed down."""
        if trial.run_seed:
            time.sleep(float(os.environ.get(SECONDS, "0.05")))
        return {}
