"""The CUDA driver, against the stand-in libcuda that `fake_cuda` builds: cuda-python itself is loaded."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cubisect import drivers
from cubisect.errors import UnfitEnvironmentError
from cubisect.outcome import DriverReport, Evidence, Outcome, Phase, ResultState, classify
from cubisect.space import AXES, MIB, Point, Range, Space
from cubisect.trial import TrialSpec

MakeTrial = Callable[..., TrialSpec]
InChild = Callable[..., Any]
FakeCuda = Callable[..., dict[str, str]]

SMALL: dict[str, Any] = {"descriptor_count": 300, "total_bytes": 300_000, "size_mix": "lognormal", "size_spread": 0.8}

AXIS_VALUES: dict[str, dict[str, Any]] = {
    "default": {},
    **{f"direction={d}": {"direction": d} for d in ("h2d", "d2h", "d2d", "h2h")},
    **{
        f"host_memory={m},{d}": {"host_memory": m, "direction": d}
        for m in ("pinned", "registered", "registered_chunks", "pageable", "managed")
        for d in ("h2d", "d2h", "h2h")
    },
    **{f"access_order={a}": {"access_order": a} for a in ("stream", "during_api_call", "any")},
    **{f"layout={a}": {"layout": a} for a in ("contiguous", "shuffled_source", "shuffled_both")},
    "chunks of scattered memory": {"layout": "shuffled_both", "host_memory": "registered_chunks", "direction": "h2h"},
    "alignment and gap": {"alignment": 256, "gap": 100, "layout": "shuffled_both"},
    "attribute_count": {"attribute_count": 7},
    "attrs_layout=per_copy": {"attrs_layout": "per_copy"},
    "flags=1": {"flags": 1},
    "abi=13000": {"abi": 13000},
    "stream=per_thread": {"stream": "per_thread"},
    "blocked": {"stream_state": "blocked", "repetition": 3},
    "blocked, synchronising": {"stream_state": "blocked", "repetition": 3, "sync_between": True},
    "blocked, during_api_call": {"stream_state": "blocked", "access_order": "during_api_call"},
    "backlog": {"stream_state": "backlog"},
    "sync_between": {"repetition": 4, "sync_between": True},
    "in_flight": {"repetition": 5, "in_flight": 2},
    "chunk": {"chunk": 100},
    "a page or more": {"total_bytes": 40 * MIB, "descriptor_count": 17},
    "one byte each": {"total_bytes": 2048, "descriptor_count": 2048, "size_mix": "uniform", "size_spread": 0.0},
    "explicit": {"workload": "none", "size_order": "alternating"},
}


@pytest.fixture(scope="module", params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def somewhere(request: pytest.FixtureRequest, fake_cuda: FakeCuda) -> dict[str, str]:
    """The environment of a process that finds the stand-in, or the real driver and its GPU."""
    return fake_cuda() if request.param == "stand-in" else dict(os.environ)


@pytest.fixture(scope="module")
def on_every_axis(trial: MakeTrial, in_child: InChild, somewhere: dict[str, str]) -> dict[str, DriverReport]:
    """One report for each of `AXIS_VALUES`, by batch and by copies, all from one process."""
    names = [f"{name} {method}" for name in AXIS_VALUES for method in ("batch", "percopy")]
    specs = [trial(method=name.rpartition(" ")[2], **SMALL | AXIS_VALUES[name.rpartition(" ")[0]]) for name in names]
    ended = in_child("cuda", specs, env=somewhere)
    assert (ended.returncode, ended.unfit) == (0, [])
    return dict(zip(names, ended.reports, strict=True))


@pytest.mark.parametrize("method", ["batch", "percopy"])
@pytest.mark.parametrize("name", AXIS_VALUES)
def test_every_axis_value_ends_ok_and_is_verified(
    name: str, method: str, on_every_axis: dict[str, DriverReport]
) -> None:
    report = on_every_axis[f"{name} {method}"]
    assert report.api == ("cuMemcpyBatchAsync" if method == "batch" else "cuMemcpyAsync")
    assert (report.cuda_error, report.mismatched_bytes, report.setup_failed) == (0, 0, None)
    assert set(report.seconds) == {"setup", "submit", "sync", "verify"}
    assert all(value >= 0 for value in report.seconds.values())


@pytest.fixture
def logged(in_child: InChild, fake_cuda: FakeCuda, tmp_path: Path) -> Callable[[TrialSpec], list[str]]:
    """Run a trial; return what the stand-in noted."""

    def run(spec: TrialSpec) -> list[str]:
        log = tmp_path / "log"
        ended = in_child("cuda", spec, env=fake_cuda(log=log))
        assert ended.report.cuda_error == 0
        return log.read_text().splitlines()

    return run


def test_the_call_is_given_what_the_axes_say(trial: MakeTrial, logged: Callable[[TrialSpec], list[str]]) -> None:
    spec = trial(
        **SMALL, access_order="any", flags=1, attribute_count=3, stream="per_thread", repetition=2, abi=13000, chunk=200
    )
    calls = [line for line in logged(spec) if line.startswith("batch")]
    first = "batch 13000 count=200 attrs=3 second=66 order=3 flags=1 stream=per_thread"
    last = "batch 13000 count=100 attrs=3 second=33 order=3 flags=1 stream=per_thread"
    assert calls == [first, last] * 2


def test_everything_is_given_back(trial: MakeTrial, logged: Callable[[TrialSpec], list[str]]) -> None:
    spec = trial(**SMALL, host_memory="registered_chunks", stream_state="blocked")
    lines = logged(spec)
    taken = sorted(line.removeprefix("alloc ") for line in lines if line.startswith("alloc"))
    given = sorted(line.removeprefix("free ") for line in lines if line.startswith("free"))
    assert taken == given
    assert len([line for line in taken if line.startswith("registered")]) > 4
    assert lines.count("stream_create 1") == lines.count("stream_destroy") == 2


def test_in_flight_bounds_what_is_pending(trial: MakeTrial, logged: Callable[[TrialSpec], list[str]]) -> None:
    order = [line.split()[0] for line in logged(trial(**SMALL, repetition=5, in_flight=2))]
    assert [word for word in order if word in {"batch", "synchronise"}] == (
        ["batch", "batch", "synchronise"] * 2 + ["batch", "synchronise"]
    )


def test_the_stream_is_blocked_and_the_backlog_queued_before_the_call(
    trial: MakeTrial, logged: Callable[[TrialSpec], list[str]]
) -> None:
    blocked = [line.split()[0] for line in logged(trial(**SMALL, stream_state="blocked"))]
    assert blocked.index("wait_event") < blocked.index("batch")


def test_the_backlog_is_queued_before_the_call(trial: MakeTrial, logged: Callable[[TrialSpec], list[str]]) -> None:
    lines = [line.split()[0] for line in logged(trial(**SMALL, stream_state="backlog"))]
    assert lines.index("batch") - lines.index("copy_async") == lines.count("copy_async") == 32


def test_a_submission_that_waits_for_a_blocked_stream_is_let_go_on(
    trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    """Or the trial would wait for itself, and its hang would be our doing."""
    ended = in_child("cuda", trial(**SMALL, stream_state="blocked"), env=fake_cuda(fault="full"))
    assert (ended.report.cuda_error, ended.report.mismatched_bytes) == (0, 0)
    assert 0.9 < ended.report.seconds["submit"] < 5


def test_an_asynchronous_error_may_be_told_by_the_next_submission(
    trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    ended = in_child("cuda", trial(**SMALL, repetition=3), env=fake_cuda(fault="async"))
    assert (ended.report.api, ended.report.cuda_error) == ("cuMemcpyBatchAsync", 719)
    assert ended.steps[-1] == ("submit", 2)
    evidence = Evidence(
        exit_code=0, phase=Phase.SUBMIT, repetition=2, result_state=ResultState.COMPLETE, report=ended.report
    )
    assert classify(evidence).outcome is Outcome.ASYNC_ERROR


def test_phases_and_submissions(trial: MakeTrial, in_child: InChild, somewhere: dict[str, str]) -> None:
    ended = in_child("cuda", trial(**SMALL, repetition=2, sync_between=True), env=somewhere)
    assert ended.steps == [("setup", 0), ("submit", 1), ("sync", 1), ("submit", 2), ("sync", 2), ("verify", 2)]


OnInvalid = dict[tuple[str, ...], tuple[TrialSpec, DriverReport]]
INVALID = ("null_source", "null_destination", "zero_size", "out_of_bounds")


@pytest.fixture(scope="module")
def on_invalid(trial: MakeTrial, in_child: InChild, somewhere: dict[str, str]) -> OnInvalid:
    keys = [
        (kind, direction, str(abi), method)
        for kind in (*INVALID, "wrong_attributes")
        for direction in ("h2d", "d2h", "d2d", "h2h")
        for abi in (12080, 13000)
        for method in ("batch", "percopy")
    ]
    specs = [
        trial(invalid=kind, direction=direction, abi=int(abi), method=method, seed=7, chunk=100, **SMALL)
        for kind, direction, abi, method in keys
    ]
    ended = in_child("cuda", specs, env=somewhere)
    assert (ended.returncode, ended.unfit) == (0, [])
    return dict(zip(keys, zip(specs, ended.reports, strict=True), strict=True))


@pytest.mark.parametrize("direction", ["h2d", "d2h", "d2d", "h2h"])
@pytest.mark.parametrize("kind", INVALID)
def test_an_invalid_descriptor_is_named_on_the_older_abi(kind: str, direction: str, on_invalid: OnInvalid) -> None:
    spec, report = on_invalid[kind, direction, "12080", "batch"]
    assert report.cuda_error_name == "CUDA_ERROR_INVALID_VALUE"
    assert report.fail_index == report.expected_fail_index == spec.batch.invalid_index
    assert report.fail_index_written


@pytest.mark.parametrize("kind", INVALID)
def test_the_newer_abi_names_none(kind: str, on_invalid: OnInvalid) -> None:
    _, report = on_invalid[kind, "h2d", "13000", "batch"]
    assert (report.cuda_error, report.fail_index, report.expected_fail_index) == (1, None, None)


def test_wrong_attributes_are_refused_without_an_index(
    on_invalid: OnInvalid,
) -> None:
    _, report = on_invalid["wrong_attributes", "h2d", "12080", "batch"]
    assert (report.cuda_error, report.fail_index, report.fail_index_written) == (1, None, False)
    assert report.expected_fail_index is None


@pytest.mark.parametrize("kind", INVALID)
def test_the_control_names_the_copy_that_it_could_not_make(kind: str, on_invalid: OnInvalid) -> None:
    spec, report = on_invalid[kind, "h2d", "12080", "percopy"]
    assert report.api == "cuMemcpyAsync"
    if kind == "zero_size":  # a copy of nothing is no error; that descriptor's bytes stay as they were
        assert (report.cuda_error, report.mismatched_bytes, report.expected_fail_index) == (0, 0, None)
    else:
        assert (report.cuda_error, report.fail_index) == (1, spec.batch.invalid_index)


def test_a_swallowed_invalid_descriptor_is_no_corruption(
    trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    spec = trial(**SMALL, invalid="null_source", seed=7)
    report = in_child("cuda", spec, env=fake_cuda(fault="swallow")).report
    assert (report.cuda_error, report.mismatched_bytes) == (0, 0)
    assert report.expected_fail_index == spec.batch.invalid_index


@pytest.mark.parametrize("values", [{"stream": "legacy"}, {"attrs_layout": "per_copy", "attribute_count": 2}])
def test_a_wrong_call_is_refused_without_an_index(
    values: dict[str, Any], trial: MakeTrial, in_child: InChild, somewhere: dict[str, str]
) -> None:
    report = in_child("cuda", trial(**SMALL, **values), env=somewhere).report
    assert (report.cuda_error, report.fail_index, report.fail_index_written) == (1, None, False)


def test_an_index_that_is_not_written_is_told_from_one_that_is(
    trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    silent = in_child("cuda", trial(**SMALL), env=fake_cuda(fault="silent")).report
    told = in_child("cuda", trial(**SMALL), env=fake_cuda(fault="error")).report
    assert (silent.cuda_error, silent.fail_index, silent.fail_index_written) == (1, None, False)
    assert (told.cuda_error, told.fail_index, told.fail_index_written) == (1, 150, True)


@pytest.mark.parametrize(("kind", "number"), [("segfault", signal.SIGSEGV), ("abort", signal.SIGABRT)])
def test_a_death_in_the_call_is_attributed_to_its_submission(
    kind: str, number: int, trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    ended = in_child("cuda", trial(**SMALL, repetition=5), env=fake_cuda(fault=f"{kind}:300:3"))
    assert ended.returncode == -number
    assert ended.steps[-1] == ("submit", 3)


@pytest.mark.parametrize(("kind", "state"), [("spin", "R"), ("block", "S")])
def test_a_hang_in_the_call(kind: str, state: str, trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda) -> None:
    ended = in_child("cuda", trial(**SMALL), env=fake_cuda(fault=kind), hangs_in="submit 1")
    assert ended.returncode is None
    assert ended.steps[-1] == ("submit", 1)
    assert ended.state == state


def test_an_asynchronous_error_shows_in_the_synchronisation(
    trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    ended = in_child("cuda", trial(**SMALL), env=fake_cuda(fault="async"))
    assert (ended.report.api, ended.report.cuda_error) == ("cuStreamSynchronize", 719)
    assert ended.report.cuda_error_name == "CUDA_ERROR_LAUNCH_FAILED"
    assert ended.steps[-1] == ("sync", 1)


@pytest.mark.parametrize("direction", ["h2d", "d2h", "d2d", "h2h"])
def test_one_wrong_byte_is_found(direction: str, trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda) -> None:
    spec = trial(**SMALL, direction=direction, layout="shuffled_both")
    report = in_child("cuda", spec, env=fake_cuda(fault="corrupt")).report
    assert (report.cuda_error, report.mismatched_bytes, report.late_bytes) == (0, 1, 1)
    assert [list(run) for run in report.mismatched_runs] == [[150, 150]]


@pytest.mark.parametrize("memory", ["pinned", "pageable"])
def test_a_source_read_after_the_call_returned_is_found(
    memory: str, trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    spec = trial(**SMALL, access_order="during_api_call", host_memory=memory)
    report = in_child("cuda", spec, env=fake_cuda(fault="late")).report
    assert report.mismatched_bytes > 200_000


def test_no_memory_is_a_failed_set_up(trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda) -> None:
    ended = in_child("cuda", [trial(total_bytes=8 * MIB), trial(**SMALL)], env=fake_cuda(memory=4 * MIB))
    assert "CUDA_ERROR_OUT_OF_MEMORY" in ended.unfit[0]
    assert ended.report.cuda_error == 0


def test_managed_memory_beyond_a_quarter_is_refused(trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda) -> None:
    spec = trial(total_bytes=2 * MIB, host_memory="managed")
    ended = in_child("cuda", spec, env=fake_cuda(memory=7 * MIB))
    assert "more than a quarter" in ended.unfit[0]


def test_a_driver_without_the_newer_abi(trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda) -> None:
    ended = in_child("cuda", [trial(abi=13000), trial(**SMALL)], env=fake_cuda(version=12080))
    assert "no cuMemcpyBatchAsync with the ABI of CUDA 13.0" in ended.unfit[0]
    assert ended.report.cuda_error == 0


def test_out_of_bounds_that_nobody_could_notice_is_not_tried(
    trial: MakeTrial, in_child: InChild, fake_cuda: FakeCuda
) -> None:
    spec = trial(**SMALL, invalid="out_of_bounds", direction="h2h", host_memory="pageable")
    assert "needs memory that CUDA knows" in in_child("cuda", spec, env=fake_cuda()).unfit[0]


def probe(env: dict[str, str]) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "cubisect.drivers.probe"], env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout)


def test_the_probe_lists_the_devices(fake_cuda: FakeCuda) -> None:
    code, found = probe(fake_cuda(devices=2))
    assert (code, found["error"], found["cuda_version"]) == (0, None, 13000)
    assert [device["pci_bus_id"] for device in found["devices"]] == ["0000:0a:00.0", "0000:0b:00.0"]
    assert found["devices"][0]["uuid"] == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert set(found["packages"]) == {"cuda-bindings", "numpy"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"devices": 0}, "no usable CUDA device: cuInit returned CUDA_ERROR_NO_DEVICE (100)"),
        ({"version": 12040}, "supports CUDA 12.4 and has no cuMemcpyBatchAsync"),
    ],
)
def test_the_probe_says_why_there_is_no_cuda(settings: dict[str, Any], told: str, fake_cuda: FakeCuda) -> None:
    code, found = probe(fake_cuda(**settings))
    assert code == 3
    assert told in found["error"]
    assert found["devices"] == []


def test_the_probe_without_a_driver(tmp_path: Path, fake_cuda: FakeCuda) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    code, found = probe({**fake_cuda(), "LD_LIBRARY_PATH": str(tmp_path)})
    assert code == 3 or found["driver_version"] is not None  # a machine with a real driver finds that one instead


NEIGHBOUR = """
import sys
from cubisect import drivers
class Enough(Exception): ...
ticks = 0
def tick():
    global ticks
    ticks += 1
    if ticks == 3: raise Enough
try:
    driver = drivers.load("cuda")
    driver.warm_up(0)
    driver.neighbour(sys.argv[1], 0, tick)
except Enough:
    print("three ticks")
"""


@pytest.mark.parametrize(
    ("kind", "work"), [("copies", "copy_async"), ("memsets", "memset_async"), ("batches", "batch")]
)
def test_a_neighbour_works_and_ticks(kind: str, work: str, fake_cuda: FakeCuda, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = subprocess.run(
        [sys.executable, "-c", NEIGHBOUR, kind], env=fake_cuda(log=log), capture_output=True, text=True, check=True
    )
    assert done.stdout == "three ticks\n"
    assert sum(line.startswith(work) for line in log.read_text().splitlines()) == 24


def test_without_cuda_python_the_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cubisect.drivers.cuda")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(UnfitEnvironmentError, match=r"pip install 'cuda-python>=13'.*sim:vllm-49276"):
        drivers.load("cuda")


def test_loading_the_driver_does_not_touch_the_gpu(fake_cuda: FakeCuda) -> None:
    program = "from cubisect import drivers; drivers.load('cuda'); print(open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", program], env=fake_cuda(), capture_output=True, text=True, check=True)
    assert "libcuda.so.1" not in done.stdout


SMALL_DOMAINS: dict[str, Range | tuple[str, ...]] = {
    "descriptor_count": Range(low=1, high=2000),
    "total_bytes": Range(low=1024, high=4 * MIB),
    "repetition": Range(low=1, high=9),
    "size_floor": Range(low=1, high=64),
    "size_cap": Range(low=64, high=MIB),
    "attribute_count": Range(low=1, high=50),
    "chunk": Range(low=1, high=2000),
    "gap": Range(low=0, high=300),
    "alignment": Range(low=1, high=256),
    "in_flight": Range(low=1, high=9),
    "stream": ("dedicated", "per_thread"),
}
HELD = {"neighbours", "neighbour_kind", "ranks", "workload", "scale", "fragmentation", "stream_state", "invalid"}


def valid_points(count: int) -> list[Point]:
    """Return small feasible points, anywhere in the space, that no driver may refuse."""
    space = Space.of(vary={name: SMALL_DOMAINS.get(name) for name in AXES if name not in HELD})
    rng = np.random.default_rng(5)
    size = 20 * count
    columns: dict[str, Any] = {axis.name: rng.uniform(low, high, size) for axis, low, high in space.numeric()}
    columns |= {axis.name: rng.choice(np.array(values, dtype=object), size) for axis, values in space.categorical()}
    feasible = np.flatnonzero(space.feasible(columns))
    points = [space.point({name: column[i] for name, column in columns.items()}) for i in feasible]
    return [p for p in points if p.attrs_layout == "run_starts" or min(p.attribute_count, p.chunk) == 1][:count]


def test_a_faultless_driver_is_found_faultless_anywhere(in_child: InChild, fake_cuda: FakeCuda) -> None:
    points = valid_points(200)
    ended = in_child("cuda", [TrialSpec.at(point, seed=n) for n, point in enumerate(points)], env=fake_cuda())
    assert (ended.returncode, ended.unfit) == (0, [])
    for point, report in zip(points, ended.reports, strict=True):
        assert (report.cuda_error, report.mismatched_bytes) == (0, 0), point
