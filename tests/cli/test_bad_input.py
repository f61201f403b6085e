"""Whatever a user can get wrong: one line on stderr that names the value, the right exit code, nothing written."""

from pathlib import Path

import pytest

from cubisect.cli import run
from cubisect.errors import ExitCode

EXPLORE = ["explore", "--driver", "sim:null"]
REFERENCE = Path(__file__).parents[2] / "db" / "reference" / "h200-busy.sqlite"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*EXPLORE, "--fix", "colour=red"], ["unknown axis 'colour'", "descriptor_count"]),
        ([*EXPLORE, "--fix", "descriptor_count=0"], ["descriptor_count", "0", "1 to 1,048,576"]),
        ([*EXPLORE, "--fix", "descriptor_count=many"], ["descriptor_count", "'many'", "1 to 1,048,576"]),
        ([*EXPLORE, "--fix", "size_mix=cauchy"], ["size_mix", "'cauchy'", "lognormal"]),
        ([*EXPLORE, "--fix", "total_bytes=1GB"], ["total_bytes", "'1GB'", "as 64KiB, 16MiB or 1GiB"]),
        ([*EXPLORE, "--fix", "direction=d2h", "--fix", "direction=h2d"], ["direction", "already", "say it once"]),
        (["trials", "--csv", "--json"], ["--csv and --json", "name one"]),
        (["show"], ["TRIAL", "bisect show --help"]),
        ([*EXPLORE, "--fix", "descriptor_count"], ["--fix descriptor_count=VALUE"]),
        ([*EXPLORE, "--vary", "size_spread=0.2"], ["size_spread", "LO:HI"]),
        ([*EXPLORE, "--vary", "size_spread=0.9:0.1"], ["size_spread", "0.9 is above 0.1"]),
        ([*EXPLORE, "--vary", "size_spread", "--fix", "size_spread=0"], ["both fixed and varied"]),
        ([*EXPLORE, "--fix", "total_bytes=2048", "--fix", "descriptor_count=4096"], ["no point of this space"]),
        ([*EXPLORE, "--budget", "0"], ["--budget 0", "at least 1"]),
        ([*EXPLORE, "--budget", "-5"], ["--budget -5", "at least 1"]),
        ([*EXPLORE, "--budget", "lots"], ["--budget"]),
        ([*EXPLORE, "--sampler", "magic"], ["magic", "boundary", "sobol"]),
        ([*EXPLORE, "--timeout", "soon"], ["--timeout soon", "auto"]),
        ([*EXPLORE, "--timeout", "-1"], ["--timeout -1"]),
        ([*EXPLORE, "--gpus", "a,b"], ["--gpus a,b"]),
        ([*EXPLORE, "--gpus", "0,0"], ["--gpus 0,0"]),
        ([*EXPLORE, "--gpus", ""], ["--gpus ", "--gpus all"]),
        ([*EXPLORE, "--fail-on", "explosion"], ["explosion", "segfault"]),
        ([*EXPLORE, "--preset", "nope"], ["nope", "vllm-49276-tp2"]),
        (["explore", "--driver", "sim:nope"], ["nope", "threshold"]),
        (["explore", "--driver", "quantum"], ["quantum", "auto"]),
        (["explore", "--driver", "sim:no.such:Model"], ["no.such:Model"]),
        (["explore", "missing.toml"], ["missing.toml", "No such file"]),
        (["explore", "--resume", "nowhere"], ["db/bisect.sqlite", "no such database"]),
        (["explore", "--resume", "x", "--sampler", "sobol"], ["--resume"]),
        (["trials"], ["db/bisect.sqlite", "no such database", "bisect explore"]),
        (["explore", "--db", "missing/x.sqlite", "--driver", "sim:null"], ["missing", "does not exist"]),
        (["campaigns", "--db", "mysql://x/y"], ["mysql://x/y", "postgresql+psycopg://"]),
        (["frobnicate"], ["frobnicate", "--help"]),
        (["explore", "--bogus"], ["--bogus", "--help"]),
        (["replay", "--fix", "total_bytes=1024", "--fix", "descriptor_count=4096"], ["total_bytes 1024", "4096"]),
        (["replay", "case.json"], ["case.json"]),
        (["replay", "--batch", "rows.json"], ["rows.json"]),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str],
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BISECT_DB", raising=False)
    code = run(arguments)
    told = capsys.readouterr()
    assert code == ExitCode.BAD_INPUT, told
    assert told.err.count("\n") == 1
    assert told.err.startswith("bisect: ")
    for word in words:
        assert word in told.err
    assert not list(tmp_path.rglob("*.sqlite*")), "nothing is written for bad input"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with one small campaign, called `small`."""
    path = str(tmp_path_factory.mktemp("db") / "one.sqlite")
    assert run(["explore", "--driver", "sim:null", "--budget", "3", "--name", "small", "--db", path]) == 0
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explore", "--resume", "nowhere"], ["'nowhere'", "small"]),
        (["explore", "--resume", "small", "--budget", "2"], ["--budget 2", "3 trials"]),
        (["explore", "--driver", "sim:null", "--name", "small"], ["'small' exists", "--resume small"]),
        (["explore", "--driver", "sim:null", "--name", "a/b"], ["'a/b'"]),
        (["trials", "nowhere"], ["'nowhere'", "small"]),
        (["trials", "--outcome", "explosion"], ["explosion", "segfault"]),
        (["trials", "--purpose", "fun"], ["fun", "search"]),
        (["show", "12"], ["12", "small has trials 1 to 3", "CAMPAIGN/12"]),
        (["show", "small/12"], ["12", "small has trials 1 to 3"]),
        (["show", "a/b/c"], ["a/b/c", "CAMPAIGN/NUMBER"]),
        (["show", "nowhere/1"], ["'nowhere'", "small"]),
        (["analyze", "--bound", "2"], ["--bound 2"]),
        (["analyze", "--test", "12"], ["no failing trial"]),
        (["control"], ["no failing trial"]),
        (["compare", "small", "other"], ["'other'", "small"]),
        (["compare", "small", "small", "--fail-on", "old"], ["old", "new"]),
    ],
)
def test_bad_input_about_recorded_trials(
    arguments: list[str], words: list[str], database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run([*arguments, "--db", database]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in words:
        assert word in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[campaign\n", ["not valid TOML"]),
        ("[campaign]\nbudget = 'x'\n", ["budget", "'x'"]),
        ("[campaign]\ncolour = 1\n", ["colour", "budget"]),
        ("[surprise]\n", ["surprise", "vary"]),
        ("[fix]\nmood = 1\n", ["unknown axis 'mood'"]),
        ("[fix]\nflags = 7\n", ["flags", "7", "0, 1"]),
        ("[vary]\ntotal_bytes = '1KiB'\n", ["total_bytes", "LO:HI"]),
        ("[caps]\nmax_submitted_bytes = 'x'\n", ["max_submitted_bytes"]),
        ("[[enqueue]]\nflags = 1\n", ["outside the space", "flags"]),
    ],
)
def test_campaign_file_mistakes_name_the_file_and_the_key(
    text: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(text)
    assert run(["explore", "c.toml", "--driver", "sim:null"]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    for word in words:
        assert word in error


def test_no_gpu_with_driver_cuda_is_an_environment_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cubisect.isolation.resolve.probe_cuda", lambda: {"error": "no CUDA device"})
    assert run(["explore", "--driver", "cuda"]) == ExitCode.BAD_ENVIRONMENT
    assert "no CUDA device" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.sqlite*"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--gpus 5", ["--gpus 5", "there are 0, 1"]),
        ("--fix ranks=4", ["ranks 4", "there are 2 GPUs", "--share-gpus", "--fix ranks=2"]),
        ("--gpus 1 --vary ranks=1:2", ["ranks 2", "there is 1 GPU"]),
    ],
)
def test_gpus_that_there_are_not_are_refused_before_anything_is_recorded(
    options: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    devices = [{"index": index, "uuid": f"GPU-{index}", "name": "a GPU"} for index in (0, 1)]
    monkeypatch.setattr("cubisect.isolation.resolve.probe_cuda", lambda: {"error": None, "devices": devices})
    assert run(["explore", "--driver", "cuda", *options.split()]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    for word in words:
        assert word in error
    assert not list(tmp_path.rglob("*.sqlite*"))


@pytest.mark.parametrize("content", [b"this is not a database", b""])
def test_foreign_files_are_refused_and_left_alone(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "foreign.sqlite"
    path.write_bytes(content)
    assert run(["campaigns", "--db", str(path)]) == ExitCode.BAD_INPUT
    assert str(path) in capsys.readouterr().err
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", "h200-busy-boundary/466", "--control"],
        ["control", "h200-busy-boundary/466"],
        ["isolate", "h200-busy-boundary/466"],
        ["shrink", "h200-busy-boundary/466"],
        ["analyze", "h200-busy-boundary", "--test", "10"],
        ["explore", "--resume", "h200-busy-boundary", "--budget", "400"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_trials_of_a_gpu_are_not_run_where_there_is_none(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cubisect.isolation.resolve.probe_cuda", lambda: {"error": "no CUDA driver here"})
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(REFERENCE.read_bytes())
    assert run([*arguments, "--db", str(copy)]) == ExitCode.BAD_ENVIRONMENT
    assert "--driver cuda: no CUDA driver here; type `bisect doctor`" in capsys.readouterr().err
    assert copy.read_bytes() == REFERENCE.read_bytes(), "nothing is recorded"


def test_a_trial_that_did_not_fail_has_nothing_to_reproduce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(tmp_path / "t.sqlite")
    assert run([*EXPLORE, "--budget", "1", "--name", "c", "--db", database]) == ExitCode.DONE
    assert run(["reproduce", "c/1", "-o", str(tmp_path / "case"), "--db", database]) == ExitCode.BAD_INPUT
    assert "trial c/1 ended ok: reproduce needs a failing one" in capsys.readouterr().err
    assert not (tmp_path / "case").exists()
