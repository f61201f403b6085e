"""Bringing a database to the newest revision, by Alembic."""

from pathlib import Path
from typing import Any

import alembic.command
import alembic.config
import alembic.script
from sqlalchemy import Engine, inspect, text

from cubisect.store.database import HEAD, revision_of, wait_for_disk


def _config() -> alembic.config.Config:
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def known_revisions() -> set[str]:
    """Return every revision that this program knows."""
    return {script.revision for script in alembic.script.ScriptDirectory.from_config(_config()).walk_revisions()}


def migrate(engine: Engine) -> None:
    """Apply the missing revisions; another process may do so at the same moment, so look again under the lock."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            connection.rollback()
            raw.execute("PRAGMA journal_mode=WAL")
    with engine.execution_options(writes=True).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(49276)"))
            wait_for_disk(connection)
        tables = set(inspect(connection).get_table_names())
        if "alembic_version" in tables and revision_of(connection) == HEAD:
            return
        config = _config()
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "head")
