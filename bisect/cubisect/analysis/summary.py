"""Everything that the recorded trials say: `analyze`."""

from dataclasses import dataclass

import pandas as pd

from cubisect.analysis.answers import Answer, open_questions
from cubisect.analysis.chance import Chance, chance
from cubisect.analysis.control import Control, control_effect
from cubisect.analysis.envelope import BOUND, CONFIDENCE, Envelope, safe_envelope
from cubisect.analysis.limits import Limits, limits_of
from cubisect.analysis.monotone import Monotonicity, monotonicity
from cubisect.analysis.needs import Needs
from cubisect.analysis.needs import needs as needs_of
from cubisect.analysis.rates import Rates, failure_rates
from cubisect.analysis.regions import Regions, regions
from cubisect.analysis.result import Result
from cubisect.analysis.settings import Settings
from cubisect.analysis.settings import settings as listed_settings
from cubisect.analysis.threshold import ThresholdAnswer, chancy_thresholds, thresholds
from cubisect.analysis.witness import WitnessVerdict, witness_strata, witness_verdict
from cubisect.space import Space


@dataclass(frozen=True, kw_only=True)
class Analysis(Result):
    """All results on one frame. `campaign`, `driver` and `simulated` are those of the frame."""

    campaign: str
    driver: str
    simulated: bool
    trials: int
    rates: Rates
    chance: Chance
    thresholds: tuple[ThresholdAnswer, ...]
    monotonicity: Monotonicity
    witness: WitnessVerdict
    regions: Regions
    needs: Needs
    envelope: Envelope
    control: Control
    settings: Settings
    limits: Limits
    answers: tuple[Answer, ...]

    @property
    def answer(self) -> str:
        """The threshold verdict for any failure, marked where simulated."""
        mark = f"[simulated by {self.driver}] " if self.simulated else ""
        return mark + self.thresholds[0].answer


def analyze(
    frame: pd.DataFrame,
    space: Space | None = None,
    *,
    bound: float = BOUND,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Analysis:
    """Return everything that a frame of trials says; the same for the same frame and seed.

    `space` is the campaign's, without which caps on the submitted work are not known. `bound` and `confidence` are the
    safe envelope's.
    """
    separated = thresholds(frame, seed=seed)
    rates = failure_rates(frame)
    verdict = witness_verdict(witness_strata(frame))
    found = regions(frame, seed=seed)
    needed = needs_of(frame, seed=seed)
    envelope = safe_envelope(frame, bound=bound, confidence=confidence, seed=seed)
    control = control_effect(frame)
    split = chance(frame, seed=seed)
    settings = listed_settings(frame)
    answers = open_questions(
        rates=rates,
        thresholds=separated,
        by_chance=chancy_thresholds(frame),
        witness=verdict,
        regions=found,
        envelope=envelope,
        control=control,
        chance=split,
        settings=settings,
        needs=needed,
    )
    return Analysis(
        campaign=str(frame.attrs.get("campaign", "")),
        driver=str(frame.attrs.get("driver", "")),
        simulated=bool(frame.attrs.get("simulated", False)),
        trials=len(frame),
        rates=rates,
        chance=split,
        thresholds=separated,
        monotonicity=monotonicity(frame, space, seed=seed),
        witness=verdict,
        regions=found,
        needs=needed,
        envelope=envelope,
        control=control,
        settings=settings,
        limits=limits_of(frame),
        answers=answers,
    )
