"""Every fault model: what its docstring promises is what it does."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cubisect import drivers
from cubisect.drivers.fault_models import MODELS, DetailedFaultModel, check_model, checked_hazards
from cubisect.errors import InputError
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import MIB, Point, Space
from cubisect.trial import TrialSpec

SHARE = re.compile(r"\(([\d.]+) %(?: of the default space)?\)")


def at(**values: Any) -> TrialSpec:
    return TrialSpec.at(Point.of(values))


def sample_of_default_space(count: int) -> list[TrialSpec]:
    space = Space.default()
    rng = np.random.default_rng(49276)
    columns = {axis.name: rng.uniform(low, high, count) for axis, low, high in space.numeric()}
    columns |= {axis.name: rng.choice(values, count) for axis, values in space.categorical()}
    feasible = np.flatnonzero(space.feasible(columns))
    return [TrialSpec.at(space.point({name: columns[name][i].item() for name in columns})) for i in feasible]


@pytest.fixture(scope="module")
def sample() -> list[TrialSpec]:
    return sample_of_default_space(20_000)


@pytest.mark.parametrize("name", MODELS)
def test_docstring_tells_the_share_of_the_default_space_that_can_fail(name: str, sample: list[TrialSpec]) -> None:
    model = MODELS[name]()
    told = sum(float(share) for share in SHARE.findall(type(model).__doc__ or "")) if name != "null" else 0.0
    measured = 100 * sum(bool(model.hazards(trial)) for trial in sample) / len(sample)
    assert measured == pytest.approx(told, abs=1.0)
    assert (told > 0) == (name != "null")


@pytest.mark.parametrize("name", MODELS)
def test_hazards_build_no_batch_when_the_axes_say_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cubisect.trial.build_batch", lambda *_: pytest.fail("the batch was built"))
    check_model(MODELS[name]())


def test_the_shapes_of_the_report() -> None:
    model = MODELS["vllm-49276"]()
    assert model.hazards(at(descriptor_count=51_828, total_bytes=824 * MIB)) == {Outcome.SEGFAULT: 1.0}
    assert model.hazards(at(descriptor_count=19_634, total_bytes=312 * MIB, repetition=3)) == {Outcome.HANG: 0.8}
    assert not model.hazards(at(descriptor_count=19_634, total_bytes=312 * MIB, repetition=2))
    assert not model.hazards(at(descriptor_count=20_000, total_bytes=20_000 * 128, repetition=256))
    assert not model.hazards(at(descriptor_count=51_828, total_bytes=824 * MIB, chunk=8192))
    hang = at(descriptor_count=19_634, total_bytes=312 * MIB, repetition=9)
    assert isinstance(model, DetailedFaultModel)
    assert model.manner(hang, Outcome.HANG).repetition == 3


def test_accumulation_strikes_in_the_submission_that_passes_the_limit() -> None:
    model = MODELS["accumulation"]()
    trial = at(descriptor_count=1_000_000, total_bytes=1 << 30, repetition=4)
    assert model.hazards(trial) == {Outcome.HANG: 1.0}
    assert isinstance(model, DetailedFaultModel)
    assert model.manner(trial, Outcome.HANG).repetition == 4
    assert not model.hazards(at(descriptor_count=1_000_000, total_bytes=1 << 30, repetition=3))


def test_every_outcome_reaches_every_failure(sample: list[TrialSpec]) -> None:
    model = MODELS["every-outcome"]()
    assert {outcome for trial in sample for outcome in model.hazards(trial)} == FAILURES


class Broken:
    name = "broken"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: Mapping[Outcome, float] = self.answer
        return answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"segfault": 0.7, "hang": 0.6}, "segfault=0.7, hang=0.6; together that is over 1"),
        ({"segfault": -0.1}, "segfault=-0.1; each must be a number from 0 to 1"),
        ({"segfault": float("nan")}, "segfault=nan"),
        ({"segfault": "often"}, "segfault='often'"),
        ({"ok": 1.0}, "'ok'; a hazard is one of async_error, corrupt"),
        ({"inconclusive": 0.5}, "'inconclusive'"),
        ({"explode": 0.5}, "'explode'"),
        (None, "raised AttributeError"),
        (ZeroDivisionError("division by zero"), "raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_model_is_told_by_name_and_value(answer: Any, told: str) -> None:
    with pytest.raises(InputError, match="fault model 'broken'") as caught:
        check_model(Broken(answer))
    assert told in str(caught.value)


def test_hazards_come_back_in_a_fixed_order() -> None:
    answer = {"segfault": 0.1, Outcome.ERROR: 0.2, "hang": 0.3}
    assert list(checked_hazards(Broken(answer), at())) == [Outcome.ERROR, Outcome.SEGFAULT, Outcome.HANG]


USER_MODULE = """
class Mine:
    name = "mine"
    def hazards(self, trial):
        return {"segfault": 1.0 if trial.sizes.max() > 100_000 else 0.0}
class OverOne:
    name = "over-one"
    def hazards(self, trial):
        return {"segfault": 1.5}
class Needy:
    def __init__(self, required): ...
class Idle:
    pass
"""


@pytest.fixture
def user_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_faults.py").write_text(USER_MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_faults", raising=False)


@pytest.mark.usefixtures("user_module")
def test_a_model_of_ones_own_is_found_in_the_working_directory() -> None:
    driver = drivers.load("sim:my_faults:Mine")
    assert driver.simulated
    assert driver.name == "sim:my_faults:Mine"


@pytest.mark.usefixtures("user_module")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sim:my_faults:OverOne", "segfault=1.5"),
        ("sim:my_faults:Needy", "needs no arguments"),
        ("sim:my_faults:Idle", "no method hazards"),
        ("sim:my_faults:Absent", "Absent"),
        ("sim:no_such_module:Model", "no_such_module"),
        ("sim:nonsense", "vllm-49276, threshold"),
        ("sim:", "auto, cuda, sim:vllm-49276"),
        ("rocm", "auto, cuda, sim:vllm-49276"),
        ("driver:my_faults:Mine", "is no driver"),
    ],
)
def test_a_driver_that_cannot_be_loaded_is_one_clear_line(name: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        drivers.load(name)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
