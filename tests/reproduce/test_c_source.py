"""reproduce.c submits the trial's own descriptors, compiles, and its exit status tells the outcome."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.batch import Descriptors
from cubisect.reproduce.arrays import fill
from cubisect.reproduce.c_source import c_source
from cubisect.reproduce.case import read_case
from cubisect.space import Point
from cubisect.trial import TrialSpec
from reproduce.conftest import CASES, TOOLKIT, point_spec

FakeCuda = Callable[..., dict[str, str]]
Build = Callable[..., Path]

POINTS: dict[str, dict[str, Any]] = {
    "equal": {"descriptor_count": 64},
    "remainder": {"descriptor_count": 61},
    "one": {"descriptor_count": 1},
    "lognormal": {"size_mix": "lognormal", "size_spread": 0.7},
    "bimodal": {"size_mix": "bimodal", "size_spread": 0.4, "size_order": "runs", "descriptor_count": 500},
    "alternating": {"size_mix": "bimodal", "size_spread": 0.4, "size_order": "alternating"},
    "scattered": {"layout": "shuffled_both", "gap": 100, "alignment": 256, "size_mix": "pareto", "size_spread": 0.5},
    "padded": {"gap": 24, "alignment": 64},
    "d2h": {"direction": "d2h", "host_memory": "pageable"},
    "h2h": {"direction": "h2h", "host_memory": "managed"},
    "d2d": {"direction": "d2d", "layout": "shuffled_source"},
    "chunks of memory": {"host_memory": "registered_chunks", "direction": "h2h"},
    "registered": {"host_memory": "registered", "access_order": "during_api_call"},
    "calls": {"chunk": 7, "repetition": 3, "sync_between": True},
    "attributes": {"attribute_count": 9, "flags": 1, "access_order": "any", "abi": 13000, "chunk": 50},
    "in flight": {"repetition": 9, "in_flight": 2, "stream": "per_thread"},
    "blocked": {"stream_state": "blocked", "repetition": 2},
    "backlog": {"stream_state": "backlog"},
    "neighbour kinds": {"neighbour_kind": "batches"},
}


def dumped(program: Path, env: dict[str, str]) -> np.ndarray[Any, Any]:
    text = subprocess.run([program, "--dump"], env=env, check=True, capture_output=True, text=True).stdout
    return np.array([[int(word) for word in line.split()] for line in text.splitlines()])


def run(program: Path, env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("values", POINTS.values(), ids=POINTS.keys())
def test_same_descriptors_and_every_byte_arrives(values: dict[str, Any], build_c: Build, fake_cuda: FakeCuda) -> None:
    spec = point_spec(**values)
    program = build_c(spec)
    expected = np.stack([spec.batch.source, spec.batch.destination, spec.batch.sizes], axis=1)
    assert np.array_equal(dumped(program, fake_cuda()), expected)
    for extra in ([], ["--percopy"]):
        done = run(program, fake_cuda(), *extra)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "run 1: every byte arrived -> ok" in done.stdout


@pytest.mark.skipif(not (TOOLKIT / "cuda.h").exists(), reason="no CUDA toolkit here")
@pytest.mark.parametrize(
    "name", ["lognormal", "chunks of memory", "attributes", "blocked", "backlog", "neighbour kinds"]
)
def test_compiles_with_the_real_header(name: str, build_c: Build) -> None:
    assert build_c(point_spec(**POINTS[name]), include=TOOLKIT).exists()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
@pytest.mark.parametrize("name", ["lognormal", "neighbour kinds"])
def test_compiles_with_nvcc(name: str, tmp_path: Path) -> None:
    source = tmp_path / "reproduce.c"
    source.write_text(c_source(point_spec(**POINTS[name]), title="a test"))
    command = ["nvcc", "-O2", "-c", "-Xcompiler", "-Wall,-Wextra,-Werror", "-o", str(tmp_path / "reproduce.o")]
    subprocess.run([*command, str(source)], check=True)


def test_explicit_descriptors(build_c: Build, fake_cuda: FakeCuda) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5000, 40)
    order = rng.permutation(40)
    destination = np.empty(40, dtype=np.int64)
    destination[order] = np.cumsum(sizes[order] + 13) - sizes[order]
    rows = Descriptors(rng.integers(0, 1 << 16, 40), destination, sizes)
    program = build_c(TrialSpec.at(Point(), descriptors=rows))
    assert np.array_equal(dumped(program, fake_cuda()), np.stack([rows.source, rows.destination, rows.sizes], axis=1))
    assert run(program, fake_cuda()).returncode == 0


@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        ("error:10", 10, "failIdx 30, cuMemcpyBatchAsync: CUDA_ERROR_INVALID_VALUE (1) -> error"),
        ("silent:10", 10, "failIdx not written"),
        ("segfault:10", 11, "-> segfault"),
        ("spin:10", 12, "-> hang"),
        ("async:10", 13, "-> async_error"),
        ("corrupt:10", 14, "1 of 65536 bytes differ"),
        ("abort:10", 15, "-> crash"),
    ],
)
def test_exit_status_tells_the_outcome(fault: str, status: int, word: str, build_c: Build, fake_cuda: FakeCuda) -> None:
    program = build_c(point_spec(), timeout_s=1)
    done = run(program, fake_cuda(fault=fault), "--times", "2")
    assert done.returncode == status, done.stdout + done.stderr
    assert word in done.stdout
    assert "2 of 2" in done.stdout
    assert run(program, fake_cuda(fault=fault), "--percopy").returncode == 0


def test_error_of_work_in_flight_is_asynchronous(build_c: Build, fake_cuda: FakeCuda) -> None:
    done = run(build_c(point_spec(repetition=3)), fake_cuda(fault="async:10"))
    assert done.returncode == 13
    assert "cuMemcpyBatchAsync: CUDA_ERROR_LAUNCH_FAILED (719)" in done.stdout


@pytest.mark.parametrize("name", ["h200-async_error", "h200-segfault"])
def test_published_cases_build_and_submit_what_was_recorded(
    name: str, compile_c: Build, fake_cuda: FakeCuda, tmp_path: Path
) -> None:
    case, log = read_case(CASES / name / "case.json"), tmp_path / "log"
    batch = case.spec.batch
    program = compile_c((CASES / name / "reproduce.c").read_text())
    assert np.array_equal(
        dumped(program, fake_cuda()), np.stack([batch.source, batch.destination, batch.sizes], axis=1)
    )
    assert run(program, fake_cuda(log=log)).returncode == 0
    assert log.read_text().count(f"batch {case.spec.abi} count={len(batch)} ") == case.spec.repetition
    assert run(program, fake_cuda(fault="segfault:10")).returncode == 11
    assert run(program, fake_cuda(fault="segfault:10"), "--percopy").returncode == 0


@pytest.mark.parametrize("invalid", ["null_source", "null_destination", "zero_size", "out_of_bounds"])
def test_wrong_on_purpose(invalid: str, build_c: Build, fake_cuda: FakeCuda) -> None:
    spec = point_spec(invalid=invalid)
    done = run(build_c(spec), fake_cuda())
    assert done.returncode == 10
    assert f"failIdx {spec.batch.invalid_index}," in done.stdout


def test_usage_and_set_up(build_c: Build, fake_cuda: FakeCuda) -> None:
    program = build_c(point_spec())
    unknown = run(program, fake_cuda(), "--never")
    assert (unknown.returncode, "--percopy --times N" in unknown.stderr) == (2, True)
    assert run(program, fake_cuda(), "--times", "0").returncode == 2
    nothing = run(program, fake_cuda(devices=0))
    assert nothing.returncode == 3
    assert nothing.stdout == "cuInit(0): ? (100)\nno usable GPU or driver\n"  # the stand-in has no name for it
    assert run(program, fake_cuda(version=12040)).returncode == 3
    assert run(program, fake_cuda(memory=1000)).returncode == 3


@pytest.mark.parametrize("kind", ["copies", "memsets", "batches"])
def test_neighbours_work_and_end(kind: str, build_c: Build, fake_cuda: FakeCuda, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = build_c(point_spec(neighbours=1, neighbour_kind=kind, descriptor_count=70))
    done = run(program, fake_cuda(log=log), "--neighbours", "2")
    assert done.returncode == 0, done.stdout
    assert "2 neighbour(s)" in done.stdout
    wanted = {"copies": "copy_async 33554432", "memsets": "memset_async 268435456", "batches": "batch 12080 count=64"}
    assert log.read_text().count(wanted[kind]) >= 16
    time.sleep(0.2)
    running = subprocess.run(["pgrep", "-f", str(program)], capture_output=True, text=True, check=False).stdout
    assert running == ""


def test_the_call_is_as_recorded(build_c: Build, fake_cuda: FakeCuda, tmp_path: Path) -> None:
    log = tmp_path / "log"
    spec = point_spec(attribute_count=6, abi=13000, flags=1, access_order="any", stream="per_thread", repetition=2)
    assert run(build_c(spec), fake_cuda(log=log)).returncode == 0
    calls = [line for line in log.read_text().splitlines() if line.startswith("batch")]
    assert calls == ["batch 13000 count=60 attrs=6 second=10 order=3 flags=1 stream=per_thread"] * 2


def test_nothing_personal_and_short(build_c: Build) -> None:
    text = c_source(point_spec(descriptor_count=64), title="t */ x")
    assert os.uname().nodename not in text
    assert str(Path.home()) not in text.replace("/usr/local", "")
    assert "t * / x" in text


def test_what_must_be_read_comes_first_and_is_short() -> None:
    text = c_source(point_spec(descriptor_count=64), title="t")
    under_test, processes = text.split("/* ---- Processes")
    assert text.index("/* ---- The copies") < text.index("/* ---- The call under test")
    assert under_test.count("\n") <= 115
    assert processes.count("\n") <= 155


@pytest.mark.parametrize("values", POINTS.values(), ids=POINTS.keys())
def test_no_line_is_too_long(values: dict[str, Any]) -> None:
    assert max(len(line) for line in c_source(point_spec(**values), title="t").splitlines()) <= 100


def test_ranks_submit_together_on_their_own_gpus(build_c: Build, fake_cuda: FakeCuda, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = build_c(point_spec(ranks=3, repetition=4, neighbours=1))
    done = run(program, fake_cuda(log=log, devices=2), "--times", "2")
    assert done.returncode == 0, done.stdout
    assert "4 times, 3 ranks, 1 neighbour(s)" in done.stdout
    assert log.read_text().count("batch 12080 count=60") == 2 * 3 * 4


@pytest.mark.parametrize(("fault", "status"), [("segfault:10", 11), ("spin:10", 12), ("error:10", 10)])
def test_outcome_of_ranks(fault: str, status: int, build_c: Build, fake_cuda: FakeCuda) -> None:
    done = run(build_c(point_spec(ranks=2, repetition=2), timeout_s=1), fake_cuda(fault=fault))
    assert done.returncode == status, done.stdout
    assert "in rank" in done.stdout


@given(st.lists(st.integers(1, 9), min_size=1, max_size=200))
def test_arrays_never_raise_and_stay_short(values: list[int]) -> None:
    written = fill("size", np.array(values, dtype=np.int64))
    assert written.statements
    assert all(len(line) <= 96 for table in written.tables for line in table.lines)
