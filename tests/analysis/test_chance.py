import numpy as np

from cubisect.analysis.chance import Source, chance
from cubisect.trial import Origin, Purpose
from support.frames import SMALL_SPACE, Simulation, Truth
from support.truths import BY_BATCH, FLAKY, LIMIT


def repeated(truth: Truth, groups: int = 20, seed: int = 0) -> Simulation:
    """Return a campaign in which each of the first failures has three replicates and three resamples."""
    simulation = Simulation(truth, SMALL_SPACE, seed)
    points = simulation.sobol()
    done = 0
    while done < groups:
        point = next(points)
        row = simulation.run(point, origin=Origin.EXPLORE)
        if row["outcome"] == "ok":
            continue
        done += 1
        for purpose in (Purpose.REPLICATE, Purpose.RESAMPLE) * 3:
            simulation.run(point, purpose=purpose, parent=row["number"])
    return simulation


def test_chance_of_the_run_is_told_from_chance_of_the_batch() -> None:
    run, batch = chance(repeated(FLAKY).frame()), chance(repeated(BY_BATCH).frame())
    assert run.source is Source.RUN
    assert batch.source is Source.BATCH
    assert batch.run.failures == 0
    assert batch.batch_share == 1.0


def test_a_reliable_failure_shows_no_chance_but_a_bound() -> None:
    found = chance(repeated(LIMIT).frame())
    assert found.source is Source.NONE
    assert found.batch_share is None
    assert 0.0 < found.run.interval.high < 0.1


def test_too_few_repeats_are_undecided() -> None:
    found = chance(repeated(FLAKY, groups=3).frame())
    assert found.source is Source.UNDECIDED
    assert "5 are needed" in found.answer
    assert "undecided" not in found.answer  # the finding says so already


def test_being_chosen_for_failing_does_not_bias_the_split() -> None:
    shares = [chance(repeated(FLAKY, seed=seed).frame()).batch_share or 0.0 for seed in range(8)]
    assert np.mean(shares) < 0.25
