"""Copies of campaigns: complete, and naming no machine."""

from pathlib import Path

import pytest

from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.outcome import CrashEvidence, Evidence, Outcome, Phase, classify
from cubisect.store import Plan, Result, Store
from cubisect.store.export import copy_campaign, export_parquet, without_folders
from cubisect.trial import Origin, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import enacted

STACK = 'File "/home/someone/project/bisect/cubisect/drivers/cuda.py", line 184 in run'

ELSEWHERE = {"host": {"kernel": "another"}}


@pytest.fixture
def filled(tmp_path: Path) -> Store:
    store = Store.open(str(tmp_path / "from.sqlite"), create=True)
    campaign = store.create_campaign(new_campaign())
    crash = Evidence(signal=11, phase=Phase.SUBMIT, crash=CrashEvidence(python_stack=STACK))
    descriptors = TrialSpec(seed=1).batch.descriptors
    for evidence, explicit in ((enacted(Outcome.OK), None), (crash, descriptors)):
        plan = Plan(spec=TrialSpec(descriptors=explicit), purpose=Purpose.SEARCH, origin=Origin.EXPLORE)
        begun = store.begin_trial(campaign, plan)
        assert begun is not None
        result = Result(evidence=evidence, verdict=classify(evidence), environment=ELSEWHERE if explicit else None)
        store.finish_trial(campaign, begun.number, result)
    return store


def test_a_copy_says_the_same_and_names_no_machine(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "to.sqlite"
    assert copy_campaign(filled, filled.campaign("c"), str(path)) == 2
    copied = Store.open(str(path))
    ours, theirs = filled.frame(filled.campaign("c")), copied.frame(copied.campaign("c"))
    assert ours.equals(theirs)
    assert copied.campaign("c").environment == filled.campaign("c").environment
    record = copied.trial("c/2")
    assert copied.environment_of(record) == ELSEWHERE
    assert copied.environment_of(copied.trial("c/1")) == filled.campaign("c").environment
    assert isinstance(record.spec.descriptors, Descriptors)
    assert b"someone" not in path.read_bytes()
    assert record.evidence is not None
    assert record.evidence.crash is not None
    assert record.evidence.crash.python_stack == 'File "cuda.py", line 184 in run'
    assert [file.name for file in tmp_path.glob("to.sqlite*")] == ["to.sqlite"]


def test_a_name_that_is_there_already_is_refused(filled: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "to.sqlite")
    copy_campaign(filled, filled.campaign("c"), path)
    with pytest.raises(InputError, match="'c' already"):
        copy_campaign(filled, filled.campaign("c"), path)


def test_what_is_no_path_stays() -> None:
    kept = {"rate": "1.5 trials/s", "a": ["ok/none", "50 %"], "n": 3, "none": None}
    assert without_folders(kept) == kept


def test_parquet_holds_every_trial(filled: Store, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    export_parquet(filled, filled.campaign("c"), tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet")["outcome"].tolist() == ["ok", "segfault"]
