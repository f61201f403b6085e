"""What the evidence cannot say: read this before the answers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cubisect.analysis.frame import conclusive, explored, is_in, mapping, varied_axes
from cubisect.analysis.result import Result, plural
from cubisect.space import AXES
from cubisect.trial import Purpose

FEW_REPLICATES = 20


@dataclass(frozen=True, kw_only=True)
class Limits(Result):
    """Known limits of a campaign's evidence, each a sentence."""

    sentences: tuple[str, ...]

    @property
    def answer(self) -> str:
        """All limits."""
        return " ".join(self.sentences)


def limits_of(frame: pd.DataFrame) -> Limits:
    """Return what the trials of this frame cannot say."""
    rows, simulated = conclusive(frame), bool(frame.attrs.get("simulated"))
    found = [
        _simulated(frame),
        _held(rows),
        _repeats(rows),
        "" if simulated else _machines(rows),
        _environments(frame),
        "" if simulated else _lanes(rows),
        _lost(frame),
        _chosen(rows),
    ]
    return Limits(sentences=tuple(sentence for sentence in found if sentence))


def _simulated(frame: pd.DataFrame) -> str:
    if not frame.attrs.get("simulated"):
        return ""
    return f"Simulated by {frame.attrs.get('driver', 'a fault model')}: this says nothing about real hardware."


def _held(rows: pd.DataFrame) -> str:
    """Name what the search held; trials around one failure (isolate, shrink) vary axes that the answers do not use."""
    varied = varied_axes(mapping(rows))
    held = [name for name in AXES if name in rows and name not in varied]
    return f"Not varied, so nothing is known of their effect: {', '.join(held)}." if held else ""


def _repeats(rows: pd.DataFrame) -> str:
    counts = {p: int(is_in(rows["purpose"], [p]).sum()) for p in (Purpose.REPLICATE, Purpose.RESAMPLE)}
    if min(counts.values()) >= FEW_REPLICATES:
        return ""
    return (
        f"Only {plural(counts[Purpose.REPLICATE], 'replicate')} and {plural(counts[Purpose.RESAMPLE], 'resample')}: "
        "chance of the run and of the batch are known roughly at best."
    )


def _machines(rows: pd.DataFrame) -> str:
    gpus = rows["gpu"].dropna().nunique()
    return "One GPU: whether another of its kind behaves alike is not known." if gpus == 1 else ""


def _environments(frame: pd.DataFrame) -> str:
    count = int(frame.attrs.get("environments", 1))
    if count <= 1:
        return ""
    return (
        f"The trials ran in {count} environments, which are not told apart here: "
        "`bisect trials --csv` has a column that does."
    )


def _lanes(rows: pd.DataFrame) -> str:
    lanes = rows["lane"].dropna().nunique()
    if lanes <= max(int(rows["gpu"].dropna().nunique()), 1):
        return ""
    return f"{lanes} lanes shared the GPU and disturbed each other: the rates are those of a busy GPU."


def _lost(frame: pd.DataFrame) -> str:
    lost = int(np.count_nonzero(is_in(frame["outcome"], ["inconclusive"])))
    tainted = int(frame["tainted"].astype("boolean").fillna(value=False).sum())
    if not lost and not tainted:
        return ""
    return f"Left out: {plural(lost, 'inconclusive trial')} and {tainted} on a GPU that failed its canary."


def _chosen(rows: pd.DataFrame) -> str:
    even = len(explored(rows))
    if even == len(rows):
        return ""
    return (
        f"Rates and curves use the {even:,} explored of {len(rows):,} conclusive trials; the others sought boundaries."
    )
