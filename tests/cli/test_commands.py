"""Every command on a small simulated campaign: text for people, JSON for programs, the right exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from cubisect.cli import run
from cubisect.errors import ExitCode
from cubisect.outcome import Outcome, classify
from cubisect.store import Plan, Result, Store
from cubisect.trial import Origin, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import enacted


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with a campaign that has segfaults, called `limit`, and one without a failure, called `clean`."""
    path = str(tmp_path_factory.mktemp("db") / "t.sqlite")
    common = ["--budget", "40", "--seed", "3", "--db", path]
    assert run(["explore", "--driver", "sim:null", "--name", "clean", *common]) == 0
    assert run(["explore", "--driver", "sim:threshold", "--name", "limit", *common]) == 0
    return path


@pytest.fixture(scope="module")
def failing(database: str) -> str:
    store = Store.open(database)
    records = [record for record in store.trials(store.campaign("limit")) if record.signature]
    store.close()
    return records[-1].ref


def told(arguments: list[str], database: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    """Run a command with --json; return what it printed."""
    capsys.readouterr()
    assert run([*arguments, "--db", database, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_records_are_shown(database: str, failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = [campaign["name"] for campaign in told(["campaigns"], database, capsys)]
    assert names == ["limit", "clean"]
    trials = told(["trials", "--outcome", "segfault"], database, capsys)
    assert trials
    assert {trial["outcome"] for trial in trials} == {"segfault"}
    assert all(trial["simulated"] for trial in trials)
    shown = told(["show", failing], database, capsys)
    assert shown["evidence"]["signal"] == 11
    for arguments in (["campaigns"], ["trials"], ["show", failing]):
        assert run([*arguments, "--db", database]) == 0
        text = capsys.readouterr().out
        assert "SIMULATED" in text
        assert max(len(line) for line in text.splitlines()) <= 80


def test_every_trial_comes_as_csv(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["trials", "limit", "--csv", "--db", database]) == 0
    lines = capsys.readouterr().out.splitlines()
    store = Store.open(database)
    assert len(lines) == len(store.frame(store.campaign("limit"))) + 1
    store.close()


def test_analysis_and_its_pictures(database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = told(["analyze", "limit", "--test", "12", "--pictures", str(tmp_path / "p")], database, capsys)
    assert result["simulated"] is True
    assert {file.suffix for file in (tmp_path / "p").iterdir()} == {".png", ".html"}
    assert result["witness"]["trials"] == 12


def test_controls_pass_where_the_batch_fails(database: str, failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = told(["control", failing, "--budget", "12"], database, capsys)
    assert result["finding"] == "yes"
    assert result["copies"]["failures"] == 0


def test_isolation_finds_what_the_failure_needs(
    database: str, failing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["isolate", failing, "--axis", "descriptor_count", "--axis", "flags", "--budget", "200"]
    roles = {factor["name"]: factor["role"] for factor in told(arguments, database, capsys)["factors"]}
    assert (roles["descriptor_count"], roles["flags"]) == ("needed", "irrelevant")


def test_a_smaller_trial_a_case_and_its_replay(
    database: str, failing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shrunk = told(["shrink", failing, "--budget", "120"], database, capsys)
    assert shrunk["after"]["bytes"] < shrunk["before"]["bytes"]
    folder = tmp_path / "case"
    told(["reproduce", shrunk["smallest"], "-o", str(folder)], database, capsys)
    assert sorted(file.name for file in folder.iterdir()) == ["README.md", "case.json", "reproduce.c", "reproduce.py"]
    replayed = told(["replay", str(folder / "case.json"), "--times", "2"], database, capsys)
    assert replayed["outcomes"] == {"segfault": 2}
    own = told(["replay", failing, "--method", "percopy"], database, capsys)
    assert own["outcomes"] == {"ok": 1}


def test_replays_of_no_campaign_are_listed_by_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(tmp_path / "t.sqlite")
    told(["explore", "--driver", "sim:null", "--budget", "3", "--name", "searched"], database, capsys)
    replay = ["replay", "--driver", "sim:threshold", "--fix", "descriptor_count=65536", "--times", "2"]
    capsys.readouterr()
    assert run([*replay, "--db", database]) == 0
    name = told(["campaigns"], database, capsys)[0]["name"]
    assert run([*replay, "--method", "percopy", "--db", database, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)["trials"][0]["trial"]
    assert told(["show", "1"], database, capsys)["trial"] == "searched/1"
    assert told(["show", f"{name}/1"], database, capsys)["outcome"] == "segfault"
    assert run(["campaigns", "--db", database]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 segfault 2" in text
    assert "0 no batch call" in text
    assert "3/3 ok 3" in text
    assert run(["explore", "--resume", name, "--db", database]) == ExitCode.BAD_INPUT
    assert f"bisect replay {name}/1" in capsys.readouterr().err
    assert alone != f"{name}/1"


def test_a_trial_that_ran_elsewhere_says_in_what_its_environment_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "t.sqlite")
    store = Store.open(database, create=True)
    campaign = store.create_campaign(new_campaign())
    other = {**campaign.environment, "host": {"kernel": "6.1-other"}}
    for environment in (None, other):
        begun = store.begin_trial(campaign, Plan(spec=TrialSpec(), purpose=Purpose.SEARCH, origin=Origin.EXPLORE))
        assert begun is not None
        evidence = enacted(Outcome.SEGFAULT)
        result = Result(evidence=evidence, verdict=classify(evidence), environment=environment)
        store.finish_trial(campaign, begun.number, result)
    store.close()
    assert told(["show", "1"], database, capsys)["environment"] == campaign.environment
    assert told(["show", "2"], database, capsys)["environment"] == other
    for number, differs in (("1", False), ("2", True)):
        assert run(["show", number, "--db", database]) == 0
        assert ("host kernel 6.1-other, not –" in capsys.readouterr().out) is differs
    told(["reproduce", "2", "-o", str(tmp_path / "case")], database, capsys)
    assert "6.1-other" in (tmp_path / "case" / "case.json").read_text("utf-8")


def test_a_preset_is_run_with_new_batches_and_its_control(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    preset = ["replay", "--preset", "vllm-49276-tp2", "--driver", "sim:vllm-49276", "--fix", "ranks=1", "--times", "2"]
    replayed = told([*preset, "--resample", "--control"], database, capsys)
    assert replayed["by_method"] == {"batch": {"segfault": 2}, "percopy": {"ok": 2}}
    seeds = [trial["seed"] for trial in replayed["trials"]]
    assert (seeds[0], seeds[2]) == (seeds[1], seeds[3])
    assert seeds[0] != seeds[2]
    assert run([*preset, "--method", "percopy", "--control", "--db", database]) == ExitCode.BAD_INPUT
    assert "--method percopy" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["r.html", "r.md"])
def test_a_report_says_that_it_is_simulated(
    name: str, database: str, failing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(["report", failing, "-o", str(tmp_path / name)], database, capsys)
    text = (tmp_path / name).read_text("utf-8")
    assert "SIMULATED" in text
    assert "cuMemcpyBatchAsync" in text
    assert str(tmp_path) not in text


def test_a_comparison_can_fail_a_pipeline(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    worse = told(["compare", "clean", "limit", "--fail-on", "new"], database, capsys, code=ExitCode.CHECK_FAILED)
    assert any(change["change"] in {"new", "fails more often"} for change in [worse["overall"], *worse["changes"]])
    told(["compare", "limit", "clean", "--fail-on", "new"], database, capsys)


def test_seen_outcomes_can_fail_a_pipeline(database: str, failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    told(["replay", failing, "--fail-on", "segfault,hang"], database, capsys, code=ExitCode.CHECK_FAILED)
    told(["replay", failing, "--fail-on", "hang"], database, capsys)


def test_the_doctor_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    code = run(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)
    assert code == (ExitCode.DONE if checks[0]["state"] == "ok" else ExitCode.BAD_ENVIRONMENT)
    assert all(check["hint"] for check in checks if check["state"] == "missing")


def test_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["presets", "--json"]) == 0
    assert "vllm-49276-tp2" in [preset["name"] for preset in json.loads(capsys.readouterr().out)]


def test_a_trials_work_is_capped_unless_a_campaign_file_says_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, file = str(tmp_path / "t.sqlite"), tmp_path / "c.toml"
    file.write_text("[caps]\nmax_submitted_descriptors = 1024\n")
    common = ["--driver", "sim:null", "--budget", "30", "--seed", "1", "--sampler", "random"]
    told(["explore", *common, "--name", "default"], database, capsys)
    told(["explore", str(file), *common, "--name", "filed"], database, capsys)
    store = Store.open(database)
    for name, most in (("default", 1 << 22), ("filed", 1024)):
        work = [r.spec.descriptor_count * r.spec.repetition for r in store.trials(store.campaign(name))]
        assert max(work) <= most
    store.close()
    assert run(["explore", *common, "--fix", "descriptor_count=2^20", "--fix", "repetition=256", "--db", database]) == 2
    assert "[caps]" in capsys.readouterr().err
