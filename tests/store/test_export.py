"""Copies of campaigns: complete, and naming no machine."""

import errno
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cubisect.batch import Descriptors
from cubisect.errors import InputError, StoreError
from cubisect.outcome import CrashEvidence, Evidence, Outcome, Phase, classify
from cubisect.store import Campaign, Plan, Result, Store
from cubisect.store.database import is_ours, without_password
from cubisect.store.export import copy_campaign, trial_table, without_folders, write_csv, write_parquet
from cubisect.trial import Origin, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import enacted

STACK = 'File "/home/someone/project/bisect/cubisect/drivers/cuda.py", line 184 in run'

ELSEWHERE = {"host": {"kernel": "another"}}


@pytest.fixture
def filled(store: Store, campaign: Campaign) -> Store:
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


def test_a_copy_is_led_by_nobody(filled: Store, tmp_path: Path) -> None:
    assert filled.take_lead(filled.campaign("c"))
    copy_campaign(filled, filled.campaign("c"), str(tmp_path / "to.sqlite"))
    settings = Store.open(str(tmp_path / "to.sqlite")).campaign("c").settings
    assert settings == {"enqueue": []}


def test_a_table_tells_campaign_driver_and_where_each_trial_ran(filled: Store, tmp_path: Path) -> None:
    table = trial_table(filled, filled.campaign("c"))
    assert table["simulated"].all()
    assert set(table["campaign"] + " " + table["driver"]) == {"c sim:null"}
    assert table["environment"].nunique() == 2
    copy_campaign(filled, filled.campaign("c"), str(tmp_path / "to.sqlite"))
    copied = Store.open(str(tmp_path / "to.sqlite"))
    assert trial_table(copied, copied.campaign("c"))["environment"].equals(table["environment"])


def columns(table: pd.DataFrame) -> dict[Any, list[Any]]:
    """Return the values of every column, None where nothing is known."""
    return table.astype(object).where(table.notna(), None).to_dict("list")


def test_a_csv_file_reads_back_as_it_was(filled: Store, tmp_path: Path) -> None:
    path, table = tmp_path / "t.csv", trial_table(filled, filled.campaign("c"))
    assert write_csv(filled, filled.campaign("c"), path) == 2
    assert columns(pd.read_csv(path)) == columns(table)


def test_a_parquet_file_reads_back_as_it_was(filled: Store, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path, table = tmp_path / "t.parquet", trial_table(filled, filled.campaign("c"))
    assert write_parquet(filled, filled.campaign("c"), path) == 2
    pd.testing.assert_frame_equal(pd.read_parquet(path), table)


def test_without_pyarrow_one_line_says_what_to_install(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"Parquet needs pyarrow; type pip install 'cubisect\[parquet\]'"):
        write_parquet(filled, filled.campaign("c"), tmp_path / "t.parquet")
    assert not list(tmp_path.glob("t.parquet*"))


def test_a_campaign_without_a_trial_is_a_table_of_columns(filled: Store, tmp_path: Path) -> None:
    empty = filled.create_campaign(new_campaign("empty"))
    assert write_csv(filled, empty, tmp_path / "t.csv") == 0
    assert list(pd.read_csv(tmp_path / "t.csv")) == list(trial_table(filled, filled.campaign("c")))


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_file_that_is_there_stays(write: Any, filled: Store, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        write(filled, filled.campaign("c"), tmp_path / "t")
    assert (tmp_path / "t").read_text() == "mine"


def test_half_a_file_is_never_left(filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(table: pd.DataFrame, path: Path, **_: Any) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(InputError, match="No space left"):
        write_csv(filled, filled.campaign("c"), tmp_path / "t.csv")
    assert not list(tmp_path.glob("t.csv*"))


def test_a_copy_into_a_folder_that_is_not_there_is_refused(filled: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist; make it, or name another with -o"):
        copy_campaign(filled, filled.campaign("c"), str(tmp_path / "no" / "to.sqlite"))


def test_ours_is_a_database_with_campaigns(filled: Store, tmp_path: Path) -> None:
    assert is_ours(filled.url)
    copy_campaign(filled, filled.campaign("c"), str(tmp_path / "copy.sqlite"))
    assert is_ours(f"sqlite:///{tmp_path / 'copy.sqlite'}")
    (tmp_path / "text").write_text("some text that is no database at all, and long enough")
    sqlite3.connect(tmp_path / "other.sqlite").close()
    for other in ("text", "other.sqlite", "missing.sqlite"):
        assert not is_ours(str(tmp_path / other))
    assert not is_ours("mysql://host/name")
    assert not (tmp_path / "missing.sqlite").exists()


def test_a_password_is_not_shown() -> None:
    assert without_password("postgresql+psycopg://u:secret@h/n") == "postgresql+psycopg://u:***@h/n"
    assert without_password("a/path.csv") == "a/path.csv"
