"""Opening: older databases are migrated, newer and foreign ones refused, and nothing is written when refused."""

import os
import sqlite3
from pathlib import Path

import alembic.command
import alembic.config
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from cubisect.errors import StoreError
from cubisect.store import Store
from cubisect.store.database import HEAD, open_engine
from cubisect.store.models import Base
from cubisect.store.upgrade import _config


def at_revision(path: Path, revision: str) -> None:
    """Make a database as an older program would have left it."""
    engine = create_engine(f"sqlite:///{path}")
    config: alembic.config.Config = _config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, revision)
    engine.dispose()


def test_the_migrations_lead_to_the_models(url: str) -> None:
    engine = open_engine(url, create=True)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_an_older_database_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    at_revision(path, "0001")
    store = Store.open(str(path))
    store.save_calibration("cuda", "GPU-1", {"start_s": 1.0})  # a table that 0001 had not
    store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (HEAD,)


def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    Store.open(str(path), create=True).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"revision 9999, newer than {HEAD}.*upgrade"):
        Store.open(str(path))
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "foreign.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store.open(str(path), create=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database at all", b"SQLite format 3\x00 but then garbage" * 50])
def test_a_file_that_is_no_database_is_refused_untouched(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"x\.sqlite"):
        Store.open(str(path), create=True)
    assert path.read_bytes() == content


def test_an_empty_file_is_filled_when_one_is_to_be_made_and_refused_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    with pytest.raises(StoreError, match="not a SQLite database"):
        Store.open(str(path))
    Store.open(str(path), create=True).close()
    assert path.stat().st_size > 0


def test_a_path_is_taken_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "what?now%20.sqlite"
    Store.open(str(path), create=True).close()
    assert path.exists()


def test_missing_things_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        Store.open(str(tmp_path / "no.sqlite"))
    with pytest.raises(StoreError, match="does not exist"):
        Store.open(str(tmp_path / "no" / "no.sqlite"), create=True)
    with pytest.raises(StoreError, match="name a file"):
        Store.open("sqlite://", create=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    Store.open(str(path), create=True).close()
    path.chmod(0)
    with pytest.raises(StoreError, match="Permission denied"):
        Store.open(str(path))


def test_a_server_that_does_not_answer_is_one_line() -> None:
    with pytest.raises(StoreError) as told:
        Store.open("postgresql+psycopg://nobody:secret@127.0.0.1:1/none")
    assert "\n" not in str(told.value)
    assert "secret" not in str(told.value)


def test_opening_again_at_head_reads_only(url: str) -> None:
    Store.open(url, create=True).close()
    engine = open_engine(url, create=False)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD
    engine.dispose()
