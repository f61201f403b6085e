"""`bisect export`: the format that is meant, one line about it, and nothing written over."""

import json
from pathlib import Path

import pandas as pd
import pytest

from cubisect.cli import run
from cubisect.errors import ExitCode
from cubisect.store import Store


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with one small campaign that has failures, called `c`."""
    path = str(tmp_path_factory.mktemp("db") / "t.sqlite")
    explore = ["explore", "--driver", "sim:threshold", "--budget", "12", "--seed", "3", "--name", "c", "--db", path]
    assert run(explore) == 0
    return path


@pytest.mark.parametrize(
    ("name", "form"),
    [("t.csv", "csv"), ("t.parquet", "parquet"), ("t.journal", "optuna"), ("t.sqlite", "database")],
)
def test_the_end_of_the_name_tells_the_format(
    name: str, form: str, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    output = str(tmp_path / name)
    capsys.readouterr()
    assert run(["export", "c", "-o", output, "--db", database, "--json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert (told["campaign"], told["simulated"], told["format"], told["output"]) == ("c", True, form, output)
    assert captured.err == ""
    store = Store.open(database)
    controls = 12 if form == "optuna" else len(store.trials(store.campaign("c")))
    assert told["trials"] == controls
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_a_copy_is_a_database_that_every_command_reads(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "copy.sqlite")
    assert run(["export", "-o", output, "--db", database]) == 0
    assert "SIMULATED, as database" in capsys.readouterr().out
    for told in ("trials", "campaigns", "analyze"):
        answers = []
        for one in (database, output):
            assert run([told, "--json", "--db", one]) == 0
            answers.append(json.loads(capsys.readouterr().out))
        assert answers[0] == answers[1]


def test_csv_on_standard_output_is_the_file(database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "-o", str(tmp_path / "t"), "--as", "csv", "--db", database]) == 0
    capsys.readouterr()
    assert run(["trials", "--csv", "--db", database]) == 0
    text = capsys.readouterr().out
    assert text == (tmp_path / "t").read_text("utf-8")
    assert set(pd.read_csv(tmp_path / "t")["simulated"]) == {True}


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("t.zip", ["-o t.zip", "--as, one of csv, parquet, optuna, database"]),
        ("sqlite:///t.sqlite", ["its end tells no format"]),
        ("t.csv --as xml", ["--as xml", "csv, parquet, optuna, database"]),
        ("own.sqlite --as csv", ["own.sqlite", "is there already"]),
        ("own.sqlite --as optuna", ["own.sqlite", "holds campaigns"]),
        ("sqlite:///own.sqlite --as optuna", ["own.sqlite", "holds campaigns"]),
        ("own.sqlite", ["own.sqlite has a campaign 'c' already"]),
        ("missing/t.csv", ["missing/t.csv", "name a file in a folder that exists"]),
        ("missing/t.journal", ["missing/t.journal", "give a path or"]),
        ("missing/t.sqlite", ["the folder missing does not exist", "with -o"]),
    ],
)
def test_what_cannot_be_written_is_one_line_and_changes_nothing(
    output: str,
    words: list[str],
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["export", "-o", "own.sqlite", "--db", database]) == 0
    capsys.readouterr()
    before = Path("own.sqlite").read_bytes()
    assert run(["export", "-o", *output.split(), "--db", "own.sqlite"]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in words:
        assert word in error
    assert Path("own.sqlite").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} <= {"own.sqlite", "own.sqlite-wal", "own.sqlite-shm"}
