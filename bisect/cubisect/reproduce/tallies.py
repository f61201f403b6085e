"""How often the very batch of a trial failed, both ways, as far as it was recorded."""

import pandas as pd

from cubisect.outcome import Outcome
from cubisect.reproduce.case import Tally
from cubisect.space import AXES
from cubisect.store import TrialRecord
from cubisect.trial import Method


def recorded_runs(frame: pd.DataFrame, record: TrialRecord) -> tuple[Tally | None, Tally | None]:
    """Return the runs of the trial's batch as one call and as one copy per descriptor; None where there are none.

    The trial itself is left out: it was chosen because it failed; tainted runs say nothing.
    """
    frame = frame[~frame["tainted"].astype("boolean").fillna(value=False).to_numpy(dtype=bool)]
    if record.spec.descriptors is not None:  # explicit descriptors: the columns do not determine the batch
        same = frame[frame["parent"] == record.number]
    else:
        same = frame[(frame["seed"] == record.spec.seed) & (frame["number"] != record.number)]
        for name in AXES:
            same = same[same[name] == getattr(record.spec, name)]
    tallies = []
    for method in (Method.BATCH, Method.PERCOPY):
        outcomes = [Outcome(text) for text in same.loc[same["method"] == str(method), "outcome"]]
        tally = Tally.of(outcomes)
        tallies.append(tally if tally.trials else None)
    return tallies[0], tallies[1]
