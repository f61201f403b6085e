"""`diagnose` parts and merges signatures: a real debugger on simulated faults that are enacted for real."""

import json
import shutil
from pathlib import Path

import pytest

from cubisect.cli import run
from cubisect.report.faults import recorded_faults
from cubisect.report.pages import Report
from cubisect.store import Store

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

SEGFAULT = ["replay", "--driver", "sim:threshold", "--fix", "descriptor_count=50000", "--times", "3"]


@needs_gdb
def test_frames_part_one_signature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same fault twice is one; the third trial's frames are given, for the simulated driver has but one fault."""
    db = ["--db", str(tmp_path / "t.sqlite")]
    assert run([*SEGFAULT, *db]) == 0
    assert run(["diagnose", "1", *db]) == 0
    assert run(["diagnose", "2", *db]) == 0
    assert "Frames: 2 diagnosed trials, 1 fault." in capsys.readouterr().out
    store = Store.open(str(tmp_path / "t.sqlite"))
    campaign = store.campaign()
    store.set_frames(campaign, 3, ["libcuda.so.1+0x1234", "libcuda.so.1+0x88"])
    found = recorded_faults(store, campaign)
    assert [fault.trials for fault in found.faults] == [(1, 2), (3,)]
    assert found.faults[0].frames[0].startswith("libc")
    assert found.split == ("segfault in submit",)
    assert "at libcuda.so.1+0x1234: trial 3" in Report(campaign, store.frame(campaign), faults=found).markdown()
    store.close()
    assert run(["show", "1", *db]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not the same segfault in submit at libcuda.so.1+0x1234: trial 3" in shown
    assert run(["analyze", *db]) == 0
    assert "segfault in submit is 2 different ones" in " ".join(capsys.readouterr().out.split())


@needs_gdb
@pytest.mark.slow  # a debugger waits for the hang, which is first waited for without one
def test_a_hang_is_recorded_with_where_it_hangs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", str(tmp_path / "t.sqlite")]
    hang = ["--driver", "sim:accumulation", "--fix", "descriptor_count=100000", "--fix", "repetition=40"]
    assert run(["replay", *hang, "--times", "1", "--timeout", "1", *db]) == 0
    assert "#1 hang at" in capsys.readouterr().out
    assert run(["diagnose", "1", "--times", "1", "--timeout", "3", "--json", *db]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["recorded"]
    assert told["simulated"]
    assert told["answer"].startswith("It hangs in libc")
    assert run(["report", "1", "-o", str(tmp_path / "r.md"), *db]) == 0
    assert f"| frames | {'<br>'.join(told['frames'])} |" in (tmp_path / "r.md").read_text()


@needs_gdb
def test_another_outcome_is_not_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trial that passed fails under no debugger, and what is not seen is not written down."""
    db = ["--db", str(tmp_path / "t.sqlite")]
    assert run(["replay", "--driver", "sim:null", *db]) == 0
    assert run(["diagnose", "1", "--times", "1", *db]) == 0
    assert "did not fail" in capsys.readouterr().out
    store = Store.open(str(tmp_path / "t.sqlite"))
    assert recorded_faults(store, store.campaign()).faults == ()
    store.close()
