import json

import pandas as pd
import pytest

from cubisect.analysis.limits import limits_of
from cubisect.analysis.summary import analyze
from cubisect.analysis.threshold import Finding
from cubisect.space import Point
from cubisect.trial import Origin
from support.frames import SMALL_SPACE, Simulation, Truth, explore, simulate
from support.truths import BAND, LIMIT, NOTHING, SUBMITTED, TWO


def answers(frame: pd.DataFrame) -> dict[str, Finding]:
    return {answer.question: answer.finding for answer in analyze(frame, SMALL_SPACE).answers}


def test_a_limit_in_the_count_answers_the_open_questions() -> None:
    found = answers(simulate(LIMIT, trials=400, seed=1))
    assert found["Is there a limit in the descriptor count?"] is Finding.YES
    assert found["Is there a limit in the total bytes?"] is Finding.NO
    assert found["Is there a limit in the repetition?"] is Finding.NO
    assert found["Is there a limit in the attributes?"] is Finding.UNDECIDED
    assert found["Is it one quantity?"] is Finding.YES
    assert found["Is more always worse (monotone)?"] is Finding.YES
    assert found["Is it the batch call?"] is Finding.UNDECIDED


def test_a_limit_in_a_product_is_no_limit_in_its_factors() -> None:
    found = answers(simulate(SUBMITTED, trials=400, seed=1))
    assert found["Is it one quantity?"] is Finding.YES
    assert found["Is there a limit in the descriptor count?"] is Finding.NO
    assert found["Is there a limit in the repetition?"] is Finding.NO


def test_without_failures_nothing_is_claimed_but_a_bound() -> None:
    analysis = analyze(explore(NOTHING, trials=300), SMALL_SPACE)
    claims = [a.question for a in analysis.answers if a.finding is not Finding.UNDECIDED]
    assert claims == ["What is safe?"]
    assert not analysis.regions.rules


@pytest.mark.parametrize("truth", [BAND, TWO, NOTHING], ids=["band", "two", "nothing"])
def test_everything_goes_into_json_and_names_its_source(truth: Truth) -> None:
    analysis = analyze(simulate(truth, trials=200), SMALL_SPACE)
    data = json.loads(json.dumps(analysis.to_json(), allow_nan=False))
    assert data["simulated"] is True
    assert data["answer"].startswith("[simulated by sim:test]")
    assert {
        "rates",
        "chance",
        "thresholds",
        "monotonicity",
        "witness",
        "regions",
        "envelope",
        "control",
        "settings",
    } <= set(data)
    assert all(answer["answer"] for answer in data["answers"])


def test_settings_tried_on_purpose_answer_how_often() -> None:
    simulation = Simulation(LIMIT, SMALL_SPACE, seed=1)
    for count in (16, 2048) * 6:
        simulation.run(Point.of({"descriptor_count": count}), origin=Origin.ENQUEUED)
    how_often = analyze(simulation.frame(), SMALL_SPACE).answers[0]
    assert how_often.finding is Finding.YES
    assert how_often.answer.startswith("1 of 2 settings fail; most often descriptor_count 2,048: any failure: 6 of 6")


def test_the_same_frame_gives_the_same_analysis() -> None:
    frame = simulate(BAND, trials=200)
    assert analyze(frame).to_json() == analyze(frame).to_json()


@pytest.mark.parametrize("trials", [0, 1, 3])
def test_hardly_any_trials_are_undecided_and_no_error(trials: int) -> None:
    frame = explore(LIMIT, trials=8).iloc[:trials]
    found = analyze(frame, SMALL_SPACE)
    assert all(a.finding is not Finding.NO for a in found.answers)
    json.dumps(found.to_json(), allow_nan=False)


def test_nothing_but_failures_is_no_error() -> None:
    frame = explore(LIMIT, trials=60)
    frame["outcome"], frame["signature"], frame["signature_title"] = "hang", "x", "hang in submit"
    found = analyze(frame, SMALL_SPACE)
    assert found.thresholds[0].finding is Finding.UNDECIDED
    assert found.rates.overall.failures == 60


def test_limits_say_when_environments_were_mixed() -> None:
    frame = explore(LIMIT, trials=20)
    for count, told in ((1, False), (3, True)):
        frame.attrs["environments"] = count
        assert ("ran in 3 environments" in limits_of(frame).answer) is told


def test_limits_name_what_was_held_and_what_was_left_out() -> None:
    frame = simulate(LIMIT, trials=100)
    frame.loc[5, "outcome"] = "inconclusive"
    text = limits_of(frame).answer
    assert "Simulated by sim:test" in text
    assert "host_memory" in text.split("Not varied")[1]
    assert "descriptor_count" not in text.split("Not varied")[1].split(".")[0]
    assert "1 inconclusive trial" in text
    assert "One GPU" not in text
    frame.attrs["simulated"] = False
    assert "Simulated" not in limits_of(frame).answer
    assert "One GPU" in limits_of(frame).answer


def test_lanes_that_shared_a_real_gpu_are_a_limit() -> None:
    frame = explore(LIMIT, trials=20)
    frame["lane"] = [0, 1] * 10
    assert "lanes" not in limits_of(frame).answer
    frame.attrs["simulated"] = False
    assert "2 lanes shared the GPU" in limits_of(frame).answer
