"""Trials on a Ray cluster: what is asked of it, what is said where it cannot be had, and what a lost node costs."""

import itertools
import json
import socket
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cubisect.cli import run
from cubisect.engines import ray_cluster
from cubisect.engines.ray_cluster import (
    HEAD_LIMIT_S,
    HEAD_LOOK_S,
    Head,
    LostHeadError,
    Room,
    check_room,
    connect,
    room,
)
from cubisect.errors import ExitCode, InputError, UnfitEnvironmentError
from cubisect.outcome import Outcome
from cubisect.search.explore import NewRequest, new_campaign, run_campaign
from cubisect.search.machine import Machine, resolve
from cubisect.space import Space
from cubisect.store import Store
from support.on_nodes import Slow
from support.processes import marked, wait_until
from support.ray_nodes import running_cluster


@pytest.fixture(autouse=True)
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """Mark the processes that a test starts, by their environment."""
    monkeypatch.setenv("STARTED_BY", mark := uuid.uuid4().hex)
    return mark


def nodes(*resources: Mapping[str, float], alive: bool = True) -> Any:
    """Return a cluster with these nodes, as far as `room` looks at it."""
    return SimpleNamespace(nodes=lambda: [{"Alive": alive, "Resources": each} for each in resources])


def test_a_simulated_driver_has_a_lane_per_core() -> None:
    cluster = nodes({"CPU": 4.0, "GPU": 1.0}, {"CPU": 2.0}, {"memory": 1.0})
    assert room(cluster, "sim:null", 1, share_gpus=False) == Room(lanes=6, resources={"num_cpus": 1}, unit="CPU")


@pytest.mark.parametrize(("ranks", "lanes", "each"), [(1, 7, 1), (2, 3, 2), (4, 1, 4), (8, 1, 4)])
def test_every_rank_has_a_gpu_of_one_node(ranks: int, lanes: int, each: int) -> None:
    cluster = nodes({"CPU": 1.0, "GPU": 4.0}, {"GPU": 3.0}, {"CPU": 8.0})
    found = room(cluster, "cuda", ranks, share_gpus=ranks > 4)
    assert (found.lanes, found.resources) == (lanes, {"num_cpus": 0, "num_gpus": each})


def test_more_ranks_than_any_node_has_gpus_must_be_allowed_to_share() -> None:
    with pytest.raises(InputError, match="ranks 5: no node of the cluster has more than 4 GPUs; add --share-gpus"):
        room(nodes({"GPU": 4.0}, {"GPU": 3.0}), "cuda", 5, share_gpus=False)


def test_more_lanes_than_there_is_room_for_are_refused_and_the_cluster_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go = []
    cluster = nodes({"CPU": 4.0}, {"CPU": 2.0})
    cluster.shutdown = lambda: let_go.append(True)
    monkeypatch.setattr(ray_cluster, "connect", lambda _: cluster)
    check_room(None, "sim:null", 6, 1, share_gpus=False)
    assert not let_go
    for lanes in (0, 7):
        with pytest.raises(InputError, match=f"--lanes {lanes}: the Ray cluster has room for 6, by its CPUs"):
            check_room(None, "sim:null", lanes, 1, share_gpus=False)
    assert len(let_go) == 2


@pytest.mark.parametrize("cluster", [nodes({"CPU": 4.0}), nodes({"GPU": 4.0}, alive=False)])
def test_a_cluster_without_gpus_cannot_run_cuda(cluster: Any) -> None:
    with pytest.raises(UnfitEnvironmentError, match="no node of the cluster offers a GPU; give it some"):
        room(cluster, "cuda", 1, share_gpus=False)


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    command = f"explore --engine ray --driver sim:null --budget 3 --db {tmp_path / 'c.sqlite'}"
    assert run(command.split()) == ExitCode.BAD_INPUT
    told = capsys.readouterr().err
    assert told == "bisect: --engine ray needs Ray; type pip install 'cubisect[ray]', or use --engine local\n"
    assert not (tmp_path / "c.sqlite").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--engine cloud", "--engine cloud: unknown; allowed are local, ray"),
        ("--address here:1", "--address here:1: this is for --engine ray; add it"),
        ("--engine ray --gpus 0", "--gpus: Ray shares out the GPUs"),
        ("--engine ray --gpu-core-dump .", "--gpu-core-dump: a folder of this machine"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_recorded(
    options: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    database = tmp_path / "c.sqlite"
    assert run(f"explore {options} --driver sim:null --budget 3 --db {database}".split()) == ExitCode.BAD_INPUT
    assert capsys.readouterr().err.startswith(f"bisect: {message}")
    assert not database.exists()


class NotConnected:
    """A Ray that is installed and knows no cluster yet; it fails when asked to connect."""

    def is_initialized(self) -> bool:
        return False

    def init(self, **_: Any) -> None:
        sys.exit(15)


@pytest.fixture
def not_connected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ray_cluster, "_installed", NotConnected)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.parametrize("address", ["nonsense", ":6379", "host:", "host:port", "ray://host:10001"])
def test_an_address_that_is_none_is_refused(not_connected: None, address: str) -> None:
    with pytest.raises(InputError, match="write HOST:PORT"):
        connect(address)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "no-such-host.invalid:6379"])
def test_a_dead_address_is_told_at_once(not_connected: None, address: str) -> None:
    with pytest.raises(UnfitEnvironmentError, match=f"--address {address}: the Ray cluster does not answer") as raised:
        connect(address)
    assert "ray start --head" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_answers_and_is_no_ray_cluster_is_told(not_connected: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(UnfitEnvironmentError, match=f"--address {address}: the Ray cluster cannot be joined"):
            connect(address)


def test_without_an_address_the_cluster_of_this_machine_is_meant(
    not_connected: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnfitEnvironmentError, match="no Ray cluster runs on this machine; name one with --address"):
        connect(None)
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:2\n")
    with pytest.raises(UnfitEnvironmentError, match=r"--address 127\.0\.0\.1:2: "):
        connect(None)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:3")
    with pytest.raises(UnfitEnvironmentError, match=r"--address 127\.0\.0\.1:3: "):
        connect(None)


def test_a_head_that_is_silent_for_a_while_is_lost() -> None:
    now = 0.0
    with socket.create_server(("127.0.0.1", 0)) as server:
        head = Head(f"127.0.0.1:{server.getsockname()[1]}", clock=lambda: now)
        for _ in range(3):
            now += HEAD_LIMIT_S + 1
            head.check()
    for _ in range(int(HEAD_LIMIT_S // HEAD_LOOK_S)):
        now += HEAD_LOOK_S
        head.check()
    now += HEAD_LOOK_S
    with pytest.raises(LostHeadError, match=r"has not answered for 20 s.*bisect explore --resume NAME"):
        head.check()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_without_its_head_a_campaign_ends_with_what_to_type(tmp_path: Path) -> None:
    database = str(tmp_path / "c.sqlite")
    with running_cluster(nodes=1, cores=2) as cluster:
        explore = [sys.executable, "-m", "cubisect.cli", "explore", "--engine", "ray", "--address", cluster.address]
        what = ["--driver", Slow.name, "--sampler", "sobol", "--budget", "100000", "--name", "c", "--db", database]
        with subprocess.Popen(
            [*explore, *what], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            store = Store.open(database, create=True)
            assert wait_until(lambda: sum(campaign.done for campaign in store.campaigns()) > 20, 120.0)
            cluster.head_node.kill_gcs_server()
            _, told = process.communicate()
        assert process.returncode == ExitCode.BAD_ENVIRONMENT
        assert told.count("\n") == 1
        assert "the head of the Ray cluster at" in told
        assert "bisect explore --resume NAME" in told
    assert [summary.running for summary in store.campaigns()] == [0]
    assert {record.outcome for record in store.trials(store.campaign("c"))} <= {Outcome.OK, Outcome.INCONCLUSIVE}
    store.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_campaign_survives_the_loss_of_a_node(tmp_path: Path, capfd: pytest.CaptureFixture[str], mark: str) -> None:
    budget = 200
    with running_cluster(nodes=3, cores=2) as cluster:
        machine = Machine(engine="ray", address=cluster.address)
        store = Store.open(str(tmp_path / "c.sqlite"), create=True)
        request = NewRequest(space=Space.default(), driver=Slow.name, budget=budget, sampler="sobol", name="c")
        campaign = new_campaign(store, request, resolve(Slow.name, machine))
        victim, count = min(cluster.worker_nodes, key=lambda node: node.unique_id), itertools.count()
        capfd.readouterr()

        def kill_once(*_: object) -> None:
            if next(count) == budget // 3:
                cluster.remove_node(victim, allow_graceful=False)

        progress = run_campaign(store, campaign, machine, kill_once)
        quiet = capfd.readouterr()
        assert wait_until(lambda: not marked("CUBISECT_LANE=", mark), 5.0)
    records = store.trials(campaign)
    ok = [record for record in records if record.outcome is Outcome.OK]
    lost = [record for record in records if record.outcome is Outcome.INCONCLUSIVE]
    assert progress.done == len(ok) == budget
    assert [record.number for record in records] == list(range(1, budget + len(lost) + 1))
    assert 1 <= len(lost) <= 2 * 2  # both lanes were running, and may have been given a trial as they died
    assert {record.reason for record in lost} == {"the node of the Ray cluster that ran it was lost"}
    batch = {record.number: (record.spec.seed, record.spec.run_seed, record.spec.point) for record in records}
    assert {batch[record.number] for record in lost} <= {batch[record.number] for record in ok}
    assert len({batch[record.number] for record in ok}) == budget
    told = Counter(store.environment_of(record)["driver"]["fault_model"] for record in ok)
    assert sorted(told) == ["on node 0", "on node 1", "on node 2"]
    assert (quiet.out, quiet.err) == ("", "")


@pytest.mark.slow
def test_a_campaign_on_a_cluster_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "c.sqlite"
    with running_cluster(nodes=1, cores=2) as cluster:
        base = f"explore --engine ray --address {cluster.address} --driver sim:null --budget 12 --db {database}"
        capfd.readouterr()
        assert run(f"{base} --json".split()) == ExitCode.DONE
        told = capfd.readouterr()
        assert json.loads(told.out)["outcomes"] == {"ok": 12}
        assert told.err.count("\n") == 3
        assert run(f"{base} --lanes 3 --name other".split()) == ExitCode.BAD_INPUT
        assert "--lanes 3: the Ray cluster has room for 2, by its CPUs" in capfd.readouterr().err
    assert run(f"{base} --name third".split()) == ExitCode.BAD_ENVIRONMENT
    assert "does not answer" in capfd.readouterr().err
    store = Store.open(str(database))
    assert len(store.campaigns()) == 1, "what was refused has left no campaign"
    record = store.trial("1")
    assert record.environment_id is None
