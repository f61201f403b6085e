"""Shrinking against known truths: as small as it can be, the same signature, and no run for nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.reproduce.oracle import Known, TrialOutcome, spec_key
from cubisect.reproduce.rows import contiguous, plainer, without_pieces
from cubisect.reproduce.shrink import FINAL_RUNS, ShrinkEvent, ShrinkResult, shrink
from cubisect.space import AXES, NumericAxis, Point
from cubisect.trial import TrialSpec
from reproduce.truths import SIGNATURE, TRUTHS, ThisBatch, Truth, drawing

SLACK = 1.5


def shrunk(truth: Truth, seed: int) -> ShrinkResult:
    spec = TrialSpec.at(truth.start, seed=seed)
    assert truth.model.hazards(spec), "the start must fail"
    return shrink(spec, SIGNATURE, drawing(truth.model, seed))


def check(truth: Truth, result: ShrinkResult) -> None:
    hazards = truth.model.hazards(result.spec)
    assert sum(hazards.values()) == sum(truth.model.hazards(TrialSpec.at(truth.start, seed=result.spec.seed)).values())
    small = {
        "descriptor_count": result.after.descriptors, "total_bytes": result.after.bytes,
        "repetition": result.after.repetition, "size_spread": result.spec.size_spread,
    }  # fmt: skip
    for name, least in truth.minimum.items():
        assert small[name] <= SLACK * least, (name, small[name], least)
    assert result.rate.trials == FINAL_RUNS
    if result.spec.descriptors is None:
        check_locally_smallest(truth, result.spec)


def check_locally_smallest(truth: Truth, spec: TrialSpec) -> None:
    """No size axis alone can be lowered by the slack."""
    for name in ("descriptor_count", "total_bytes", "repetition"):
        axis = AXES[name]
        assert isinstance(axis, NumericAxis)
        lower = int(getattr(spec, name) / SLACK)
        if lower < axis.low or (name == "total_bytes" and lower < spec.descriptor_count):
            continue
        assert not truth.model.hazards(TrialSpec.at(Point(**{**spec.values(), name: lower}), seed=spec.seed)), name


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", TRUTHS)
def test_as_small_as_the_truth_allows(name: str, seed: int) -> None:
    result = shrunk(TRUTHS[name], seed)
    check(TRUTHS[name], result)
    print(f"{name} seed {seed}: {result.trials} trials; {result.after.answer}")  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
@pytest.mark.parametrize("name", TRUTHS)
def test_as_small_over_more_seeds(name: str, seed: int) -> None:
    check(TRUTHS[name], shrunk(TRUTHS[name], seed))


def test_resumes_without_repeating_a_run() -> None:
    truth = TRUTHS["threshold"]
    spec = TrialSpec.at(truth.start, seed=1)
    known: Known = {}
    first = shrink(spec, SIGNATURE, drawing(truth.model, 1), known=known, budget=150)
    assert not first.complete
    assert first.trials <= 150
    assert first.after.descriptors < first.before.descriptors
    runs = sum(len(outcomes) for outcomes in known.values())
    again = shrink(spec, SIGNATURE, drawing(truth.model, 2), known=known)
    whole = shrink(spec, SIGNATURE, drawing(truth.model, 3))
    assert again.complete
    assert again.trials == whole.trials - runs
    assert again.after == whole.after


def test_best_so_far_is_always_told_and_always_fails() -> None:
    truth = TRUTHS["two-sizes"]
    events: list[ShrinkEvent] = []
    spec = TrialSpec.at(truth.start, seed=1)
    shrink(spec, SIGNATURE, drawing(truth.model, 1), on_event=events.append)
    assert all(truth.model.hazards(event.best) for event in events)
    counts = [event.trials for event in events]
    assert counts == sorted(counts)


def test_another_fault_below_is_not_followed() -> None:
    def oracle(spec: TrialSpec, times: int) -> Sequence[TrialOutcome]:
        signature = SIGNATURE if spec.descriptor_count >= 5000 else "another fault"
        return [TrialOutcome(Outcome.SEGFAULT, signature)] * times

    result = shrink(TrialSpec.at(Point(descriptor_count=20_000)), SIGNATURE, oracle)
    assert 5000 <= result.after.descriptors <= SLACK * 5000


def test_a_passing_midpoint_hides_nothing_below() -> None:
    def oracle(spec: TrialSpec, times: int) -> Sequence[TrialOutcome]:
        fails = 60 <= spec.descriptor_count <= 300 or spec.descriptor_count >= 9000
        return [TrialOutcome(Outcome.HANG, SIGNATURE) if fails else TrialOutcome(Outcome.OK)] * times

    result = shrink(TrialSpec.at(Point(descriptor_count=16_000)), SIGNATURE, oracle)
    assert 60 <= result.after.descriptors <= SLACK * 60


def test_what_hangs_on_the_very_batch_is_cut_down_as_a_list() -> None:
    """Any axis that is moved draws another batch, which passes; the list itself can lose nearly all of it."""
    point = Point.of({"descriptor_count": 3000, "total_bytes": 3000 * 3232, "size_mix": "lognormal",
                      "size_spread": 0.36, "repetition": 5, "neighbours": 2})  # fmt: skip
    spec = TrialSpec.at(point, seed=4)
    model = ThisBatch(*(int(size) for size in spec.sizes[700:702]))
    result = shrink(spec, SIGNATURE, drawing(model, 1))
    assert result.complete
    assert (result.after.descriptors, result.after.repetition, result.spec.neighbours) == (2, 1, 0)
    assert result.trials < 300


def test_any_failure_may_be_followed() -> None:
    def oracle(spec: TrialSpec, times: int) -> Sequence[TrialOutcome]:
        if spec.descriptor_count >= 5000:
            return [TrialOutcome(Outcome.CORRUPT, "one")] * times
        return [
            TrialOutcome(Outcome.SEGFAULT, "two") if spec.descriptor_count >= 700 else TrialOutcome(Outcome.OK)
        ] * times

    result = shrink(TrialSpec.at(Point(descriptor_count=20_000)), None, oracle)
    assert 700 <= result.after.descriptors <= SLACK * 700


def test_inconclusive_runs_are_neither_failure_nor_pass() -> None:
    rng = np.random.default_rng(0)
    truth = TRUTHS["threshold"]
    clean = drawing(truth.model, 0)

    def oracle(spec: TrialSpec, times: int) -> Sequence[TrialOutcome]:
        silent = rng.random(times) < 0.3
        return [TrialOutcome(Outcome.INCONCLUSIVE) if s else r for s, r in zip(silent, clean(spec, times), strict=True)]

    check(truth, shrink(TrialSpec.at(truth.start), SIGNATURE, oracle))


def test_a_machine_that_answers_nothing_ends_it() -> None:
    with pytest.raises(InputError, match="did not fail in the same way in 0 runs"):
        shrink(TrialSpec(), SIGNATURE, lambda _, times: [TrialOutcome(Outcome.INCONCLUSIVE)] * times)


def test_nothing_to_shrink() -> None:
    with pytest.raises(InputError, match="did not fail in the same way in 24 runs"):
        shrink(TrialSpec(), SIGNATURE, lambda _, times: [TrialOutcome(Outcome.OK)] * times)


def test_key_is_of_the_batch_and_not_of_the_run() -> None:
    spec = TrialSpec(seed=3)
    assert spec_key(spec) == spec_key(replace(spec, number=9, run_seed=4))
    assert spec_key(spec) != spec_key(replace(spec, seed=4))
    rows = contiguous(np.array([1, 2, 3]))
    assert spec_key(replace(spec, descriptors=rows)) == spec_key(
        replace(spec, descriptors=contiguous(np.array([1, 2, 3])))
    )
    assert spec_key(replace(spec, descriptors=rows)) != spec_key(spec)


def test_leaving_out_pieces_keeps_what_is_needed() -> None:
    rows = contiguous(np.arange(1, 65))
    needed = {5, 40, 41}
    smallest = without_pieces(rows, lambda part: needed <= set(part.sizes.tolist()))
    assert needed <= set(smallest.sizes.tolist())
    assert len(smallest) <= 6


def test_plainer_rows_are_valid_and_as_many() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 100_000, 50)
    rows = Descriptors(np.cumsum(sizes) - sizes + 7, np.cumsum(sizes) - sizes + 3, sizes)
    for _, other in plainer(rows):
        assert len(other) == 50
        assert (other.sizes >= 1).all()
        ends = other.destination + other.sizes
        assert (other.destination[1:] >= ends[:-1]).all()
