"""What docs/drivers.md shows and says is so."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubisect import drivers
from cubisect.drivers.fault_models import MODELS
from cubisect.drivers.simulated import SimulatedDriver
from cubisect.outcome import HangKind, Outcome
from cubisect.space import AXES, Point
from cubisect.trial import TrialSpec

PAGE = (Path(__file__).parents[2] / "docs" / "drivers.md").read_text(encoding="utf-8")


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_faults.py").write_text("\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("my_faults", None)
    yield
    sys.modules.pop("my_faults", None)


def model(name: str) -> SimulatedDriver:
    driver = drivers.load(f"sim:my_faults:{name}")
    assert isinstance(driver, SimulatedDriver)
    return driver


@pytest.mark.usefixtures("examples")
def test_the_examples_work() -> None:
    mixed = Point(descriptor_count=1000, total_bytes=16_384_000, size_mix="uniform", size_spread=1.0)
    crossing = model("Crossing").model
    assert crossing.hazards(TrialSpec.at(mixed)) == {"segfault": 0.9}
    assert not crossing.hazards(TrialSpec.at(mixed.moved(size_spread=0.0)))
    late = model("Late").model
    assert late.hazards(TrialSpec.at(Point(repetition=5))) == {Outcome.HANG: 1.0}
    assert late.manner(None, Outcome.HANG).hang is HangKind.BLOCKED  # type: ignore[attr-defined]


def test_every_model_is_listed() -> None:
    assert [name for name in MODELS if f"`{name}`" not in PAGE] == []


def test_every_axis_that_is_named_exists() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", PAGE.split("## How the context axes")[1], flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named <= set(AXES)
    assert len(named) >= 12


def test_the_decisions_exist() -> None:
    for number in set(re.findall(r"decision (\d{4})", PAGE)):
        assert list((Path(__file__).parents[2] / "docs" / "decisions").glob(f"{number}-*.md"))
