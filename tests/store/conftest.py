"""Databases of both kinds: a file, and a real PostgreSQL server that the tests start themselves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cubisect.store import Campaign, Store
from support.campaigns import new_campaign
from support.postgres import NoServerError, Server, running_server


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server."""
    try:
        with running_server(tmp_path_factory.mktemp("postgres")) as server:
            yield server
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "trials.sqlite")
    server: Server = request.getfixturevalue("postgres_server")
    return server.create(f"t{abs(hash(tmp_path))}")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store.open(url, create=True)
    yield opened
    opened.close()


@pytest.fixture
def campaign(store: Store) -> Campaign:
    return store.create_campaign(new_campaign())
