"""A fault model that tells nodes apart: ``sim:support.on_nodes:Slow``."""

import os
import time
from collections.abc import Mapping

from cubisect.outcome import Outcome
from cubisect.trial import TrialSpec


class Slow:
    """Nothing fails, and every trial of a campaign takes a while; the description names the node, from `NODE`."""

    name = "sim:support.on_nodes:Slow"

    def __init__(self) -> None:
        self.__doc__ = f"on node {os.environ.get('NODE', 'none')}"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return none, after a while."""
        if trial.run_seed:
            time.sleep(0.05)
        return {}
