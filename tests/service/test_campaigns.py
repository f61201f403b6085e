"""Starting, stopping and resuming through the API and the forms, without real campaigns."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from cubisect.service.app import create_app
from cubisect.service.processes import Launcher
from service.conftest import TOKEN, Running, Serve
from service.recorded import record_campaign


class StandIn(Launcher):
    """Records a finished campaign at once; a request for CUDA fails as on a machine without a GPU."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path
        self.started: list[tuple[str, Sequence[str]]] = []
        self.stopped: list[str] = []

    def start(self, name: str, arguments: Sequence[str]) -> None:
        self.started.append((name, arguments))
        if "--driver=cuda" not in arguments and "--resume" not in arguments[1]:
            record_campaign(self.path, name, trials=4)

    def stop(self, name: str) -> None:
        self.stopped.append(name)

    def running(self, name: str) -> bool:
        return False

    def failure(self, name: str) -> str | None:
        failed = any(started == name and "--driver=cuda" in arguments for started, arguments in self.started)
        return "no GPU found; type `bisect doctor`" if failed else None


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> Running:
    path = tmp_path_factory.mktemp("changed") / "bisect.sqlite"
    return serve(create_app(str(path), TOKEN, create=True, launcher=StandIn(path)))


@pytest.fixture
def launcher(changed: Running) -> StandIn:
    launcher: StandIn = changed.app.state.service.launcher
    launcher.started.clear()
    launcher.stopped.clear()
    return launcher


def test_an_empty_database_says_how_to_begin(tmp_path: Path, serve: Serve) -> None:
    running = serve(create_app(str(tmp_path / "new.sqlite"), TOKEN, create=True))
    assert "Nothing is recorded yet" in running.reader.get("/").text
    assert running.reader.get("/api/campaigns").json() == []


def test_start_by_the_api(changed: Running, launcher: StandIn) -> None:
    request = {"name": "one", "driver": "sim:band", "budget": 4, "fix": {"direction": "d2h"}}
    answer = changed.program.post("/api/campaigns", json=request)
    assert answer.status_code == 201
    assert answer.json()["done"] == 4
    (started,) = launcher.started
    assert started[0] == "one"
    assert {"--budget=4", "--fix=direction=d2h"} <= set(started[1])


def test_start_without_a_name(changed: Running, launcher: StandIn) -> None:
    answer = changed.program.post("/api/campaigns", json={"driver": "sim:null"})
    assert answer.json()["name"].startswith("null-20")


def test_start_by_the_form(changed: Running, launcher: StandIn) -> None:
    fields = {"form_token": changed.form_token, "name": "two", "driver": "sim:band", "vary": "flags"}
    answer = changed.person.post("/start", data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/campaigns/two")
    assert "--vary=flags" in launcher.started[0][1]


def test_why_a_campaign_could_not_start(changed: Running, launcher: StandIn) -> None:
    answer = changed.program.post("/api/campaigns", json={"name": "gpu", "driver": "cuda"})
    assert (answer.status_code, answer.json()["detail"]) == (409, "no GPU found; type `bisect doctor`")
    fields = {"form_token": changed.form_token, "name": "gpu", "driver": "cuda"}
    shown = changed.person.post("/start", data=fields)
    assert (shown.status_code, "no GPU found" in shown.text) == (422, True)


def test_stop_and_resume(changed: Running, launcher: StandIn) -> None:
    changed.program.post("/api/campaigns", json={"name": "three", "driver": "sim:null"})
    launcher.started.clear()
    assert changed.program.post("/api/campaigns/three/stop").status_code == 200
    assert changed.program.post("/api/campaigns/three/resume", json={"budget": 9}).status_code == 200
    form = {"form_token": changed.form_token}
    assert changed.person.post("/campaigns/three/stop", data=form).headers["location"] == "/campaigns/three"
    assert changed.person.post("/campaigns/three/resume", data={**form, "budget": ""}).status_code == 303
    assert changed.person.post("/campaigns/three/resume", data={**form, "budget": "many"}).status_code == 422
    assert changed.program.post("/api/campaigns/none/stop").status_code == 404
    assert launcher.stopped == ["three", "three"]
    assert launcher.started == [
        ("three", ["explore", "--resume=three", "--budget=9"]),
        ("three", ["explore", "--resume=three"]),
    ]


@pytest.mark.slow
def test_the_server_ends_at_once_with_pages_open(database: Path) -> None:
    script = (
        "import sys; from cubisect.service import *; app = create_app(sys.argv[1]); "
        "print(login_url(app, 8973), flush=True); serve(app, 8973)"
    )
    command = [sys.executable, "-c", script, str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        _wait_for("http://127.0.0.1:8973/login")
        assert httpx.get(address).status_code == 303
        with httpx.stream("GET", "http://127.0.0.1:8973/api/campaigns/open/events") as events:
            next(events.iter_text())
            started = time.monotonic()
            server.send_signal(signal.SIGINT)
            server.wait(20)
        assert time.monotonic() - started < 10


def _wait_for(address: str) -> None:
    for _ in range(200):
        try:
            httpx.get(address)
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"nothing answers at {address}")
