"""Frames part a signature into several faults and merge several signatures into one."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cubisect.analysis.faults import Diagnosed, faults_of, similar


def seen(number: int, *frames: str, title: str = "segfault in submit", outcome: str = "segfault") -> Diagnosed:
    return Diagnosed(number=number, outcome=outcome, signature_title=title, frames=frames)


def test_near_identical_frames_can_be_merged() -> None:
    assert similar(["a+1", "b+2"], ["a+1", "c+3"])
    assert similar(["x+0", "a+1", "b+2", "c+3"], ["a+1", "b+2", "c+3"])
    assert not similar(["a+1", "b+2"], ["b+2", "c+3"])
    assert not similar([], ["a+1"])


def test_one_signature_may_be_two_faults() -> None:
    found = faults_of([seen(9, "a+1", "b+2"), seen(3, "a+1", "c+3"), seen(5, "z+1", "y+2")])
    assert [fault.trials for fault in found.faults] == [(3, 9), (5,)]
    assert found.split == ("segfault in submit",)
    assert found.answer == "Frames: 3 diagnosed trials, 2 faults; segfault in submit is 2 different ones."
    assert found.faults[0].answer == "segfault in submit at a+1: trials 3, 9"
    fault = found.of(5)
    assert fault is not None
    assert fault.frames == ("z+1", "y+2")
    assert found.of(4) is None


def test_two_signatures_may_be_one_fault() -> None:
    spinning, polling = "hang in sync, spinning", "hang in submit, polling"
    found = faults_of([seen(1, "a+1", title=spinning, outcome="hang"), seen(2, "a+1", title=polling, outcome="hang")])
    assert found.split == ()
    assert found.faults[0].signatures == (spinning, polling)
    assert "are one, at a+1" in found.answer


def test_outcomes_are_never_merged() -> None:
    assert len(faults_of([seen(1, "a+1"), seen(2, "a+1", outcome="hang")]).faults) == 2


def test_nothing_diagnosed_says_what_to_run() -> None:
    assert "bisect diagnose" in faults_of([seen(1)]).answer


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True), max_size=12), st.randoms())
def test_the_order_of_diagnosis_does_not_matter(stacks: list[list[str]], random: Random) -> None:
    trials = [seen(number, *frames) for number, frames in enumerate(stacks)]
    shuffled = list(trials)
    random.shuffle(shuffled)
    assert faults_of(trials) == faults_of(shuffled)
    assert sorted(n for fault in faults_of(trials).faults for n in fault.trials) == list(range(len(stacks)))
