"""A real server on a free port, over a small recorded database."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from cubisect.service.app import create_app
from service.recorded import record_campaign

TOKEN = "a-token-for-the-tests"


@dataclass(frozen=True)
class Running:
    """A server that runs: its application, address, and clients of three kinds."""

    app: FastAPI
    url: str
    reader: httpx.Client
    program: httpx.Client
    person: httpx.Client

    @property
    def form_token(self) -> str:
        token: str = self.app.state.service.access.form_token
        return token


Serve = Callable[[FastAPI], Running]


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """Return a function that serves an application until the tests end."""
    stops: list[Callable[[], None]] = []

    def start(app: FastAPI) -> Running:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        clients = [httpx.Client(base_url=url, timeout=60) for _ in range(3)]
        clients[1].headers["Authorization"] = f"Bearer {TOKEN}"
        clients[2].post("/login", data={"token": TOKEN})

        def stop() -> None:
            for client in clients:
                client.close()
            server.should_exit = True
            thread.join()
            listener.close()

        stops.append(stop)
        return Running(app, url, *clients)

    yield start
    for stop in stops:
        stop()


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with three campaigns: two complete, one with budget left."""
    path = tmp_path_factory.mktemp("service") / "bisect.sqlite"
    record_campaign(path, "band", trials=300)
    record_campaign(path, "other", trials=200, seed=2, gpu="another")
    record_campaign(path, "open", trials=20, budget=50, seed=3)
    return path


@pytest.fixture(scope="session")
def server(database: Path, serve: Serve) -> Running:
    """Return a server over `database`."""
    return serve(create_app(str(database), TOKEN))
