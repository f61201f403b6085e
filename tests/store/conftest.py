"""Databases of both kinds: a file, and a real PostgreSQL server that the tests start themselves."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cubisect.store import Campaign, Store
from support.campaigns import new_campaign

BINARIES = (Path("/usr/local/bin"), *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))


def _binary(name: str) -> str | None:
    found = shutil.which(name)
    candidates = [Path(found)] if found else []
    candidates += [folder / name for folder in BINARIES]
    return next((str(path) for path in candidates if path.exists()), None)


def _as_server_user(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={_user()}", f"--regid={_user()}", "--clear-groups", *command]


def _user() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a running server, without a database name."""
    initdb, postgres = _binary("initdb"), _binary("postgres")
    if initdb is None or postgres is None or (os.geteuid() == 0 and shutil.which("setpriv") is None):
        pytest.skip("no PostgreSQL server is installed here (initdb and postgres)")
    folder = tmp_path_factory.mktemp("postgres")
    for parent in (folder, *folder.parents[:3]):
        parent.chmod(0o755)
    data = folder / "data"
    data.mkdir()
    if os.geteuid() == 0:
        shutil.chown(data, _user(), _user())
        shutil.chown(folder, _user(), _user())
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": str(folder)}
    subprocess.run(
        _as_server_user([initdb, "-D", str(data), "-U", "bisect", "-A", "trust", "--no-sync"]), check=True, **quiet
    )
    server = subprocess.Popen(
        _as_server_user([postgres, "-D", str(data), "-k", str(folder), "-c", "listen_addresses=", "-F"]), **quiet
    )
    url = f"postgresql+psycopg://bisect@/{{name}}?host={folder}"
    try:
        _wait_for(url.format(name="postgres"))
        yield url
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(url: str) -> None:
    import time

    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import OperationalError

    engine = create_engine(url)
    for _ in range(100):
        try:
            with engine.connect() as connection:
                connection.execute(text("SELECT 1"))
            break
        except OperationalError:
            time.sleep(0.1)
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "trials.sqlite")
        return
    pattern: str = request.getfixturevalue("postgres_server")
    from sqlalchemy import create_engine, text

    name = f"t{abs(hash(tmp_path))}"
    admin = create_engine(pattern.format(name="postgres"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    yield pattern.format(name=name)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store.open(url, create=True)
    yield opened
    opened.close()


@pytest.fixture
def campaign(store: Store) -> Campaign:
    return store.create_campaign(new_campaign())
