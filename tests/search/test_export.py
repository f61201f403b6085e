"""A campaign as an Optuna study that Optuna itself opens."""

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.search.distributions import distributions
from cubisect.search.export import export_study
from cubisect.search.plan import plan_of
from cubisect.search.samplers import BoundarySampler
from cubisect.space import Point, Space
from cubisect.store import TrialRecord
from cubisect.trial import Origin, Purpose, TrialSpec

SPACE = Space.default()


def record(number: int, outcome: Outcome | None, finished: int, **rest: Any) -> TrialRecord:
    point = Point(descriptor_count=1000 + number, size_spread=0.5)
    values: dict[str, Any] = {
        "purpose": Purpose.SEARCH,
        "origin": Origin.EXPLORE,
        "parent": None,
        "wall_s": 0.2,
        **rest,
    }
    return TrialRecord(
        campaign="c", driver="sim:null", simulated=True, number=number, state="finished", owner="o",
        spec=TrialSpec.at(point, seed=number), outcome=outcome, finished=finished, **values,
    )  # fmt: skip


RECORDS = [
    record(0, Outcome.OK, 2),
    record(1, Outcome.ERROR, 1, cuda_error=719, signature_title="error 719 in submit", reason="it said so"),
    record(2, Outcome.ERROR, 4, purpose=Purpose.REPLICATE, origin=Origin.REPLICATE, parent=1),
    record(3, Outcome.OK, 3, purpose=Purpose.CONTROL, origin=None, parent=1),
    record(4, Outcome.INCONCLUSIVE, 5),
    record(5, None, 0),
]


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_optuna_opens_the_export_and_goes_on_from_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "study"
    target = str(path) if kind == "journal" else f"sqlite:///{path}"
    assert export_study(RECORDS, SPACE, "c", target, about={"simulated": True}) == 4
    storage = JournalStorage(JournalFileBackend(str(path))) if kind == "journal" else target
    study = optuna.load_study(study_name="c", storage=storage, sampler=BoundarySampler(SPACE))
    first, second, third, last = study.trials
    assert [t.user_attrs["trial"] for t in study.trials] == ["c/1", "c/0", "c/2", "c/4"]
    assert (first.user_attrs["kind"], first.user_attrs["descriptor_count"]) == ("error 719", 1001)
    assert SPACE.point(first.params) == RECORDS[1].spec.point
    assert second.value == 0.0
    assert plan_of(third).parent == 0
    assert study.user_attrs == {"simulated": True}
    assert last.state is TrialState.FAIL
    assert study.best_trial.user_attrs["outcome"] == "error"
    assert SPACE.contains(SPACE.point(study.ask(distributions(SPACE)).params))


def test_a_second_export_under_the_same_name_is_refused(tmp_path: Path) -> None:
    target = str(tmp_path / "study")
    export_study(RECORDS, SPACE, "c", target)
    with pytest.raises(InputError, match="already holds a study 'c'"):
        export_study(RECORDS, SPACE, "c", target)


def test_a_file_that_is_no_journal_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(InputError, match="is there already and no Optuna journal"):
        export_study(RECORDS, SPACE, "c", str(path))
    assert path.read_text() == "mine"


def test_a_journal_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "study"
    export_study(RECORDS, SPACE, "c", str(target))
    before = target.read_bytes()
    broken = [*RECORDS, record(6, Outcome.OK, 6, reason=object())]
    with pytest.raises(TypeError):
        export_study(broken, SPACE, "d", str(target))
    assert target.read_bytes() == before


def test_two_campaigns_share_a_journal(tmp_path: Path) -> None:
    target = str(tmp_path / "study")
    for name in ("c", "d"):
        export_study(RECORDS, SPACE, name, target)
    assert optuna.get_all_study_names(JournalStorage(JournalFileBackend(target))) == ["c", "d"]


def test_a_target_that_is_no_storage_is_refused() -> None:
    with pytest.raises(InputError, match="give a path or"):
        export_study(RECORDS, SPACE, "c", "nonsense://nowhere")
