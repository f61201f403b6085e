"""The exported folder: complete, atomic, without anything personal; case.json replays the very batch."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.reproduce.case import Case, Tally, read_case
from cubisect.reproduce.export import FILES, export, files_of
from cubisect.store import TrialRecord
from cubisect.trial import Purpose, TrialSpec
from reproduce.conftest import CASES, point_spec

FakeCuda = Callable[..., dict[str, str]]

ENVIRONMENT: dict[str, Any] = {
    "driver": {
        "driver": "cuda", "driver_version": "580.1", "cuda_version": 13000,
        "devices": [{"name": "Some GPU", "uuid": "GPU-secret", "pci_bus_id": "secret", "vbios": "96.00",
                     "compute_capability": "9.0"}],
    },
    "host": {"system": "Linux", "kernel": "6.1", "hostname": "secret-host", "cpus": 2},
    "packages": {"numpy": "2.4"},
}  # fmt: skip


def record(spec: TrialSpec, outcome: Outcome | None = Outcome.SEGFAULT) -> TrialRecord:
    return TrialRecord(
        campaign="c", driver="cuda", simulated=False, number=7, state="done", spec=replace(spec, number=7),
        purpose=Purpose.SEARCH, origin=None, parent=None, owner="secret-host:1", outcome=outcome,
        reason="killed by SIGSEGV in phase submit, submission 1", signature="abc", gpu="GPU-secret",
        signature_title="segfault in submit", wall_s=0.3, phase="submit",
    )  # fmt: skip


def exported(folder: Path, spec: TrialSpec) -> Case:
    runs = {"batch_runs": Tally(failures=19, trials=20), "control_runs": Tally(failures=0, trials=20)}
    return export(record(spec), folder, environment=ENVIRONMENT, **runs)


def test_folder_is_complete_and_replays(tmp_path: Path) -> None:
    spec = point_spec(size_mix="lognormal", size_spread=0.4)
    case = exported(tmp_path / "out", spec)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(FILES)
    back = read_case(tmp_path / "out" / "case.json")
    assert back == case
    assert back.spec.batch.descriptors == spec.batch.descriptors
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "19 of 20 runs failed (95 %: 76 % to 99.11 %)" in readme
    assert "Driver: 580.1, CUDA 13.0." in readme


def test_one_copy_is_told_in_the_singular(tmp_path: Path) -> None:
    exported(tmp_path / "out", point_spec(descriptor_count=1))
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "Killed by SIGSEGV in phase submit, submission 1." in readme
    assert "- Batch: 1 copy, 65,536 bytes, h2d." in readme
    assert "\n1 copy of 65,536 bytes, 1 time.\n" in readme


def test_the_name_of_a_call_is_not_capitalised() -> None:
    case = replace(Case.of(record(point_spec()), environment={}), reason="cuMemcpyBatchAsync returned X (1)")
    assert "\ncuMemcpyBatchAsync returned X (1).\n" in files_of(case)["README.md"]


def test_nothing_personal(tmp_path: Path) -> None:
    exported(tmp_path / "out", point_spec())
    for file in (tmp_path / "out").iterdir():
        text = file.read_text()
        assert "secret" not in text
        assert str(tmp_path) not in text
        assert os.uname().nodename not in text
    assert "GPU: Some GPU" in (tmp_path / "out" / "reproduce.c").read_text()


def test_again_over_an_earlier_export_what_else_lies_there_stays(tmp_path: Path) -> None:
    exported(tmp_path / "out", point_spec())
    (tmp_path / "out" / "batch.log").write_text("mine")
    exported(tmp_path / "out", point_spec(stream_state="blocked"))
    assert read_case(tmp_path / "out" / "case.json").spec.stream_state == "blocked"
    left = {"README.md", "case.json", "reproduce.c", "batch.log"}  # no reproduce.py of the first one
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == left


def test_the_case_of_another_batch_is_left_alone(tmp_path: Path) -> None:
    exported(tmp_path / "out", point_spec())
    before = (tmp_path / "out" / "case.json").read_bytes()
    with pytest.raises(InputError, match="case of another batch"):
        exported(tmp_path / "out", point_spec(descriptor_count=3))
    assert (tmp_path / "out" / "case.json").read_bytes() == before


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        exported(tmp_path, point_spec())
    (tmp_path / "case.json").write_text("{}")
    with pytest.raises(InputError, match="holds other files"):
        exported(tmp_path, point_spec())
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["h200-async_error", "h200-segfault"])
def test_published_cases_are_what_is_written_today(name: str) -> None:
    """Where this fails, type the command of docs/cases/README.md again."""
    written = files_of(read_case(CASES / name / "case.json"))
    for file in written.keys() - {"case.json"}:  # what the others are written from
        assert (CASES / name / file).read_text() == written[file], file


def test_running_trial_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not finished"):
        export(record(point_spec(), outcome=None), tmp_path / "out", environment=ENVIRONMENT)


def test_simulated_says_so() -> None:
    case = replace(Case.of(record(point_spec()), environment={}), simulated=True, driver="sim:null")
    for name, text in files_of(case).items():
        assert "SIMULATED" in text or (name == "case.json" and '"simulated": true' in text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(format="x"), "no case file"),
        (lambda data: data.update(version=99), "update bisect"),
        (lambda data: data.pop("driver"), "driver"),
        (lambda data: data.pop("outcome"), "'outcome' is missing"),
        (lambda data: data["spec"].update(descriptor_count=-1), "descriptor_count: -1 is not allowed"),
        (lambda data: data["spec"].update(colour="red"), "colour"),
        (lambda data: data["spec"].update(seed=99, size_mix="pareto", size_spread=1.0), "another batch"),
    ],
)
def test_broken_cases(change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path) -> None:
    exported(tmp_path / "out", point_spec())
    file = tmp_path / "out" / "case.json"
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        read_case(file)


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_case(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match="no JSON"):
        read_case(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("fault", "status"), [("none", 0), ("error:10", 10), ("segfault:10", 11), ("spin:10", 12), ("async:10", 13),
                          ("corrupt:10", 14), ("abort:10", 15)]
)  # fmt: skip
def test_python_program(fault: str, status: int, tmp_path: Path, fake_cuda: FakeCuda) -> None:
    spec = point_spec(size_mix="pareto", size_spread=0.5, attribute_count=4, repetition=1, host_memory="registered")
    exported(tmp_path / "out", spec)
    command = [sys.executable, str(tmp_path / "out" / "reproduce.py")]
    done = subprocess.run(
        [*command, "--timeout", "2"], env=fake_cuda(fault=fault), capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    if fault == "none":
        rows = subprocess.run([*command, "--dump"], env=fake_cuda(), capture_output=True, text=True, check=True).stdout
        table = np.array([[int(word) for word in line.split()] for line in rows.splitlines()])
        assert np.array_equal(table, np.stack([spec.batch.source, spec.batch.destination, spec.batch.sizes], axis=1))
    control = subprocess.run([*command, "--percopy"], env=fake_cuda(fault=fault), check=False, capture_output=True)
    assert control.returncode == 0


def test_python_program_is_left_out_where_it_lacks_something(tmp_path: Path) -> None:
    exported(tmp_path / "out", point_spec(stream_state="blocked"))
    assert not (tmp_path / "out" / "reproduce.py").exists()
    assert "cannot show a stream that is blocked" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    "kind", ["copies", pytest.param("memsets", marks=pytest.mark.slow), pytest.param("batches", marks=pytest.mark.slow)]
)
def test_python_neighbours_work_and_end(kind: str, tmp_path: Path, fake_cuda: FakeCuda) -> None:
    exported(tmp_path / "out", point_spec(neighbours=2, neighbour_kind=kind, descriptor_count=70))
    program, log = tmp_path / "out" / "reproduce.py", tmp_path / "log"
    done = subprocess.run(
        [sys.executable, program], env=fake_cuda(log=log), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = {"copies": "copy_async 33554432", "memsets": "memset_async 268435456", "batches": "batch 12080 count=64"}
    assert log.read_text().count(wanted[kind]) >= 16
    assert not subprocess.run(["pgrep", "-f", str(program)], capture_output=True, text=True, check=False).stdout


def test_python_ranks_submit_together(tmp_path: Path, fake_cuda: FakeCuda) -> None:
    exported(tmp_path / "out", point_spec(ranks=3, repetition=4))
    command, log = [sys.executable, str(tmp_path / "out" / "reproduce.py"), "--timeout", "20"], tmp_path / "log"
    done = subprocess.run(command, env=fake_cuda(log=log, devices=2), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert log.read_text().count("batch 12080 count=60") == 3 * 4
    failing = subprocess.run(command, env=fake_cuda(fault="segfault:10"), capture_output=True, text=True, check=False)
    assert failing.returncode == 11, failing.stdout + failing.stderr
    assert "in rank" in failing.stdout
