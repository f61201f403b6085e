"""The open questions of the crash report, each answered with a number or with what to run next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cubisect.analysis.chance import Chance
from cubisect.analysis.control import Control
from cubisect.analysis.envelope import Envelope
from cubisect.analysis.needs import Needs
from cubisect.analysis.rates import Rates
from cubisect.analysis.regions import Regions
from cubisect.analysis.result import Result, amount, percent
from cubisect.analysis.settings import Settings
from cubisect.analysis.threshold import MIN_EACH_SIDE, NO_ACCURACY, Candidate, Finding, ThresholdAnswer
from cubisect.analysis.witness import WitnessVerdict

LIMITS = {
    "descriptor_count": "Is there a limit in the descriptor count?",
    "total_bytes": "Is there a limit in the total bytes?",
    "attribute_count": "Is there a limit in the attributes?",
    "repetition": "Is there a limit in the repetition?",
}
RISING = frozenset({"descriptor_count", "total_bytes", "repetition", "submitted_descriptors", "submitted_bytes"})
"""Quantities that never fall when an axis is raised: with a threshold above which trials fail on one, more is worse."""
RARE = 0.1
"""Replicates that all agree say "no chance of the run" only once the bound is below this (36 of them)."""


@dataclass(frozen=True, kw_only=True)
class Answer(Result):
    """An open question and what the trials say. Where `finding` is undecided, the sentence says what to run."""

    question: str
    finding: Finding
    sentence: str

    @property
    def answer(self) -> str:
        """The sentence."""
        return self.sentence


def open_questions(
    *,
    rates: Rates,
    thresholds: Sequence[ThresholdAnswer],
    by_chance: Sequence[str],
    witness: WitnessVerdict,
    regions: Regions,
    envelope: Envelope,
    control: Control,
    chance: Chance,
    settings: Settings,
    needs: Needs,
) -> tuple[Answer, ...]:
    """Return the answers, in the order in which a reader asks."""
    return (
        Answer(question="Does it fail, and how often?", finding=_of_rate(rates), sentence=_how_often(rates, settings)),
        *(_limit(name, thresholds, by_chance) for name in LIMITS),
        Answer(
            question="Is it one quantity?",
            finding=thresholds[0].finding,
            sentence=_with_advice(thresholds[0].finding, " ".join(t.answer for t in thresholds)),
        ),
        _monotone(thresholds, witness),
        Answer(
            question="Which region?",
            finding=Finding.YES if any(rule.confirmed for rule in regions.rules) else Finding.UNDECIDED,
            sentence=regions.answer,
        ),
        Answer(
            question="What does every failure need?",
            finding=Finding.YES if needs.confirmed else Finding.UNDECIDED,
            sentence=needs.answer,
        ),
        Answer(
            question="What is safe?",
            finding=Finding.YES if envelope.upper <= envelope.bound else Finding.UNDECIDED,
            sentence=envelope.answer,
        ),
        Answer(question="Is it the batch call?", finding=control.finding, sentence=control.answer),
        Answer(
            question="Does the same batch end differently from run to run?",
            finding=_of_chance(chance),
            sentence=chance.answer,
        ),
    )


def _of_rate(rates: Rates) -> Finding:
    return Finding.YES if rates.overall.failures or rates.elsewhere else Finding.UNDECIDED


def _how_often(rates: Rates, settings: Settings) -> str:
    """Return the rate over the space, that of the settings tried on purpose, or both."""
    if not settings.settings:
        return rates.answer
    return f"{settings.answer} Over the space, {rates.answer}" if rates.overall.trials else settings.answer


def _of_chance(chance: Chance) -> Finding:
    if chance.run.failures:
        return Finding.YES
    return Finding.NO if chance.run.interval.high <= RARE else Finding.UNDECIDED


def _with_advice(finding: Finding, sentence: str) -> str:
    if finding is not Finding.UNDECIDED:
        return sentence
    return f"{sentence} To decide: `bisect explore --resume NAME --budget N` with a larger N."


def _limit(name: str, thresholds: Sequence[ThresholdAnswer], by_chance: Sequence[str]) -> Answer:
    """Return whether a single limit in one axis explains the failures, or those of one kind."""
    question = LIMITS[name]
    for answer in thresholds:
        best = answer.best
        if answer.finding is Finding.YES and best is not None and name in {best.quantity, *answer.same}:
            return Answer(question=question, finding=Finding.YES, sentence=answer.answer)
    overall = thresholds[0]
    own = next((c for c in overall.candidates if c.quantity == name), None)
    if own is None:
        why = (
            "nothing failed"
            if not overall.failures
            else "nothing passed"
            if not overall.passes
            else "it was not varied"
        )
        sentence = f"Undecided for {name}: {why}; run `bisect explore --vary {name}` with a larger --budget."
        return Answer(question=question, finding=Finding.UNDECIDED, sentence=sentence)
    return Answer(question=question, **_alone(own, overall, by_chance))


def _alone(own: Candidate, overall: ThresholdAnswer, by_chance: Sequence[str]) -> dict[str, Any]:
    accuracy = (
        f"its best cut, {amount(own.quantity, own.cut)}, separates with {percent(own.accuracy)} ({own.interval.answer})"
    )
    chancy = overall.finding is Finding.UNDECIDED and own.quantity in by_chance
    enough = min(overall.failures, overall.passes) >= MIN_EACH_SIDE
    if own.interval.high < NO_ACCURACY and enough and not chancy:
        return {"finding": Finding.NO, "sentence": f"Not in {own.quantity} alone: {accuracy}."}
    chance = ", or trials fail by chance beyond a limit" if chancy else ""
    sentence = f"Undecided for {own.quantity}: {accuracy}{chance}."
    return {"finding": Finding.UNDECIDED, "sentence": _with_advice(Finding.UNDECIDED, sentence)}


def _monotone(thresholds: Sequence[ThresholdAnswer], witness: WitnessVerdict) -> Answer:
    question = "Is more always worse (monotone)?"
    best = thresholds[0].best
    implied = thresholds[0].finding is Finding.YES and best is not None and best.side == "above"
    if witness.finding is Finding.UNDECIDED and implied and best is not None and best.quantity in RISING:
        sentence = f"Yes, as far as one threshold in {best.quantity} explains every trial. {witness.answer}"
        return Answer(question=question, finding=Finding.YES, sentence=sentence)
    return Answer(question=question, finding=witness.finding, sentence=witness.answer)
