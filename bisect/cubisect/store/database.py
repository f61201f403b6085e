"""Opening a database: the right file, at the right revision, with the right settings."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    DisconnectionError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
)

from cubisect.errors import StoreError

HEAD = "0003"
"""The newest revision in `migrations/versions`; a test holds the two together."""

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for another process; a transaction here takes milliseconds."""

IDLE_S = 5.0
"""A connection that was not used for so long is tried before it is used again: its server may have been restarted."""

SQLITE_MAGIC = b"SQLite format 3\x00"


def open_engine(url: str, *, create: bool) -> Engine:
    """Return an engine on a database that is ours and at the newest revision; older ones are migrated.

    Raises:
        StoreError: the database cannot be reached, is foreign, is newer than this program, or does not exist.
    """
    parsed = parse_url(url)
    shown = shown_url(parsed)
    if parsed.drivername == "sqlite":
        _check_file(Path(parsed.database or ""), create=create)
    engine = _engine(parsed)
    try:
        _bring_up_to_date(engine, shown, create=create)
    except DBAPIError as error:
        engine.dispose()
        kind = "cannot be opened" if isinstance(error, OperationalError) else "cannot be read"
        raise StoreError(f"{shown}: {kind}: {_first_line(error)}; name another database with --db") from error
    return engine


def parse_url(url: str) -> URL:
    """Return the URL of a database; a bare path is a SQLite file.

    Raises:
        StoreError: it is no URL of a kind of database that is supported.
    """
    try:
        parsed = make_url(url) if "://" in url else URL.create("sqlite", database=url)
    except ArgumentError as error:
        raise StoreError(
            f"--db {url}: not a database URL; write a path or postgresql+psycopg://USER@HOST/NAME"
        ) from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise StoreError(f"--db {url}: allowed are a path of a SQLite file and postgresql+psycopg://USER@HOST/NAME")
    if parsed.get_backend_name() == "sqlite" and not parsed.database:
        raise StoreError(f"--db {url}: name a file; trials outlive the process that runs them")
    return parsed


def _check_file(path: Path, *, create: bool) -> None:
    """Refuse a file that is not ours before SQLite opens it, and so before anything is written."""
    if not path.exists():
        if not create:
            raise StoreError(f"{path}: no such database; type `bisect explore` to make one, or name it with --db")
        if not path.parent.is_dir():
            raise StoreError(f"{path}: the folder {path.parent} does not exist; make it, or name another with --db")
        return
    try:
        with path.open("rb") as file:
            head = file.read(len(SQLITE_MAGIC))
        if not head and create:  # left by a process that was killed between making the file and filling it
            return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; name another database with --db") from error
    if head != SQLITE_MAGIC:
        raise StoreError(f"{path}: not a SQLite database; name another with --db")


def _engine(url: URL) -> Engine:
    try:
        if url.get_backend_name() == "postgresql":
            engine = create_engine(url)
            event.listen(engine, "connect", _configure_postgresql)
            event.listen(engine, "checkin", _note_idle)
            event.listen(engine, "checkout", _check_idle)
            return engine
        engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"--db {url.drivername}: {error}; type pip install 'cubisect[postgres]'") from error
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite`, not by the module sqlite3
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")  # with a write-ahead log: a power cut may cost the last commits,
    # a killed process costs nothing


def _configure_postgresql(connection: Any, _record: Any) -> None:
    connection.autocommit = True
    connection.execute("SET synchronous_commit TO off")  # a server that crashes may lose the last half second, a
    # killed process loses nothing; who waits for the disk would hold up all that have joined. See `wait_for_disk`.
    connection.autocommit = False


def _note_idle(_connection: Any, record: Any) -> None:
    record.info["idle_since"] = time.monotonic()


def _check_idle(connection: Any, record: Any, _proxy: Any) -> None:
    """See whether the server is still there, after a while only: asking costs as much as a statement."""
    if time.monotonic() - record.info.get("idle_since", time.monotonic()) < IDLE_S:
        return
    try:
        connection.autocommit = True
        connection.execute("SELECT 1")
        connection.autocommit = False
    except connection.OperationalError as error:
        raise DisconnectionError(str(error)) from error  # the pool makes a new connection


def wait_for_disk(connection: Connection) -> None:
    """Let the commit of this transaction wait until it is on the server's disk."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL synchronous_commit TO on"))


def reading(engine: Engine) -> Engine:
    """Return the engine for reading: on a server each statement by itself, which spares two messages of three."""
    if engine.dialect.name == "sqlite":
        return engine
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at once where a transaction will write, so that two writers queue instead of failing."""
    immediate = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _bring_up_to_date(engine: Engine, shown: str, *, create: bool) -> None:
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        revision = revision_of(connection) if "alembic_version" in tables else None
    if revision == HEAD:
        return
    if revision is None and tables:
        raise StoreError(f"{shown}: a database of another program; name another with --db")
    if revision is None and not create:
        raise StoreError(f"{shown}: an empty database; type `bisect explore --db {shown}` to fill it")
    from cubisect.store import upgrade  # noqa: PLC0415  (Alembic is seldom needed and takes a while to load)

    if revision is not None and revision not in upgrade.known_revisions():
        raise StoreError(
            f"{shown}: its schema is at revision {revision}, newer than {HEAD}, which this program knows; "
            "upgrade cubisect, or name another database with --db"
        )
    upgrade.migrate(engine)


def is_ours(url: str) -> bool:
    """Tell whether a URL names a database that holds campaigns, of whatever revision; nothing is changed there."""
    try:
        parsed = parse_url(url)
    except StoreError:
        return False
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").exists():
        return False
    engine = _engine(parsed)
    try:
        with engine.connect() as connection:
            return inspect(connection).has_table("campaigns")
    except DBAPIError:
        return False
    finally:
        engine.dispose()


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database's schema."""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


@contextmanager
def telling_trouble(engine: Engine, doing: str) -> Iterator[None]:
    """Turn what goes wrong in a database while it is "read" or "written" into `StoreError`; broken rules pass."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        where = shown_url(engine.url)
        raise StoreError(f"{where}: cannot be {doing}: {_first_line(error)}; {_advice(error)}") from error


_ADVICE = (
    ("full", "make room"),
    ("readonly", "allow writing to the file and its folder"),
    ("read-only", "allow writing to it"),
    ("locked", "end the program that holds it"),
    ("disk I/O", "see that its disk is sound"),
    ("malformed", "restore it from a copy"),
    ("no such table", "name another database with --db"),
    ("does not exist", "name another database with --db"),
)
"""What to do, by what the database says."""


def _advice(error: DBAPIError) -> str:
    text = _first_line(error)
    first = next((advice for words, advice in _ADVICE if words in text), "see that the server runs and can be reached")
    return f"{first}, then `bisect explore --resume NAME` goes on: what is recorded is kept"


def shown_url(url: URL) -> str:
    """Return how a database is called in a message: its file, or its address without the password."""
    return str(url.database) if url.drivername == "sqlite" else url.render_as_string(hide_password=True)


def without_password(target: str) -> str:
    """Return a path or URL as it may be shown."""
    try:
        return make_url(target).render_as_string(hide_password=True) if "://" in target else target
    except ArgumentError:
        return target


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip() or type(error.orig).__name__).splitlines()[0]
