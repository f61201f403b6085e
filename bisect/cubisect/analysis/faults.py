"""Which failures are one fault, by where a debugger saw them: signatures are parted and merged by their frames.

A signature (outcome, CUDA error, phase) is known of every failing trial. Frames are known of those that
`bisect diagnose` has run again, so they do not change signatures: they say which of these hold several faults, and
which are one fault under several names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cubisect.analysis.result import Result, plural

MOST_NUMBERS = 5
"""Trials that a sentence lists."""


@dataclass(frozen=True, kw_only=True)
class Diagnosed:
    """A failing trial with module and offset of its frames, innermost first."""

    number: int
    outcome: str
    signature_title: str
    frames: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Fault(Result):
    """Diagnosed trials with near-identical frames. `frames` are the first one's, `signatures` their titles."""

    outcome: str
    signatures: tuple[str, ...]
    frames: tuple[str, ...]
    trials: tuple[int, ...]

    @property
    def answer(self) -> str:
        """``segfault in submit at libcuda.so.1+0x1b2c3: trials 3 and 9``."""
        listed = ", ".join(map(str, self.trials[:MOST_NUMBERS])) + (", …" if len(self.trials) > MOST_NUMBERS else "")
        noun = "trial" if len(self.trials) == 1 else "trials"
        return f"{' or '.join(self.signatures)} at {self.frames[0]}: {noun} {listed}"


@dataclass(frozen=True, kw_only=True)
class Faults(Result):
    """What frames say of a campaign's signatures; `faults` in the order of their first trials."""

    faults: tuple[Fault, ...]

    @property
    def split(self) -> tuple[str, ...]:
        """The signatures that hold several faults."""
        titles = [title for fault in self.faults for title in fault.signatures]
        return tuple(dict.fromkeys(title for title in titles if titles.count(title) > 1))

    @property
    def answer(self) -> str:
        """How many faults there are, and where signatures mislead."""
        if not self.faults:
            return "Frames: no failing trial was diagnosed; run `bisect diagnose TRIAL`."
        trials = sum(len(fault.trials) for fault in self.faults)
        text = f"Frames: {plural(trials, 'diagnosed trial')}, {plural(len(self.faults), 'fault')}"
        for title in self.split:
            text += f"; {title} is {sum(title in fault.signatures for fault in self.faults)} different ones"
        for fault in self.faults:
            if len(fault.signatures) > 1:
                text += f"; {' and '.join(fault.signatures)} are one, at {fault.frames[0]}"
        return f"{text}."

    def of(self, number: int) -> Fault | None:
        """Return the fault of a trial, None where it was not diagnosed."""
        return next((fault for fault in self.faults if number in fault.trials), None)


def similar(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two trials' frames may be merged: the same innermost frame, or most of the frames in common."""
    if not one or not other:
        return False
    common = len(set(one) & set(other))
    return one[0] == other[0] or 2 * common > len(set(one) | set(other))


def faults_of(diagnosed: Iterable[Diagnosed]) -> Faults:
    """Return the faults: trials of one outcome, each similar to another one of its fault."""
    groups: list[list[Diagnosed]] = []
    for trial in sorted(diagnosed, key=lambda trial: trial.number):
        if not trial.frames:
            continue
        near = [group for group in groups if any(_same(trial, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(other for group in near for other in group), trial])
    ordered = sorted((sorted(group, key=lambda trial: trial.number) for group in groups), key=lambda g: g[0].number)
    return Faults(faults=tuple(_fault(group) for group in ordered))


def _same(one: Diagnosed, other: Diagnosed) -> bool:
    return one.outcome == other.outcome and similar(one.frames, other.frames)


def _fault(group: Sequence[Diagnosed]) -> Fault:
    return Fault(
        outcome=group[0].outcome,
        signatures=tuple(dict.fromkeys(trial.signature_title for trial in group)),
        frames=group[0].frames,
        trials=tuple(trial.number for trial in group),
    )
