import pytest

from cubisect.analysis.control import control_effect, plan_control
from cubisect.analysis.threshold import Finding
from cubisect.trial import Method, Origin, Purpose
from support.frames import SMALL_SPACE, Simulation, Truth
from support.truths import FLAKY, LIMIT


def campaign(truth: Truth, *, failures: int = 4) -> Simulation:
    simulation = Simulation(truth, SMALL_SPACE, 0)
    points = simulation.sobol()
    while sum(row["outcome"] != "ok" for row in simulation.rows) < failures:
        simulation.run(next(points), origin=Origin.EXPLORE)
    return simulation


def controlled(simulation: Simulation, method: Method, runs: int) -> None:
    """Run the batches of all failing trials again; the simulated driver never fails per descriptor."""
    for row in [row for row in simulation.rows if row["outcome"] != "ok" and row["purpose"] == "search"]:
        point = simulation.point(row["number"])
        for _ in range(runs):
            simulation.run(point, purpose=Purpose.CONTROL, parent=row["number"], method=method)


def test_it_is_the_batch_call_when_only_it_fails() -> None:
    simulation = campaign(LIMIT)
    controlled(simulation, Method.BATCH, 2)
    controlled(simulation, Method.PERCOPY, 2)
    found = control_effect(simulation.frame())
    assert found.finding is Finding.YES
    assert (found.pairs, found.only_batch, found.only_copies) == (8, 8, 0)
    assert found.p_value == pytest.approx(2 * 0.5**8)


def test_the_trials_that_were_chosen_for_failing_are_no_evidence() -> None:
    simulation = campaign(LIMIT)
    controlled(simulation, Method.PERCOPY, 3)
    found = control_effect(simulation.frame())
    assert found.finding is Finding.UNDECIDED
    assert found.pairs == 0


def test_it_is_not_the_batch_call_alone_when_copies_fail_as_well() -> None:
    simulation = campaign(FLAKY)
    controlled(simulation, Method.BATCH, 3)
    controlled(simulation, Method.BATCH, 3)
    frame = simulation.frame()
    second = frame["purpose"].eq("control") & (frame["number"] % 2 == 0)
    frame.loc[second, "method"] = "percopy"
    assert control_effect(frame).finding is not Finding.YES


def test_a_plan_runs_each_signature_both_ways_within_its_budget() -> None:
    simulation = campaign(LIMIT)
    plans = plan_control(simulation.frame(), 24)
    assert len(plans) == 1
    assert sum(2 * plan.runs for plan in plans) <= 24
    assert simulation.rows[plans[0].parent]["outcome"] == "segfault"
