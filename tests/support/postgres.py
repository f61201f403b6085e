"""A real PostgreSQL server, started where it is needed and gone afterwards; it listens in its own folder alone."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

BINARIES = (Path("/usr/local/bin"), *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))


class NoServerError(Exception):
    """No PostgreSQL server is installed here, or it cannot be run by this user."""


@dataclass
class Server:
    """A server of ours in a folder; databases are made in it by name."""

    folder: Path
    settings: Sequence[str] = ()
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def url(self, name: str = "postgres") -> str:
        """Return the URL of a database."""
        return f"postgresql+psycopg://bisect@/{name}?host={self.folder}"

    def make(self) -> None:
        """Make the server's files."""
        self.folder.mkdir(exist_ok=True)
        for parent in (self.folder, *self.folder.parents[:3]):
            parent.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self.folder, _user(), _user())
        self._run([_binary("initdb"), "-D", self._data, "-U", "bisect", "-A", "trust", "--no-sync"]).wait()

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = [f"-c{setting}" for setting in ("listen_addresses=", *self.settings)]
        self._process = self._run([_binary("postgres"), "-D", self._data, "-k", str(self.folder), *options])
        engine = create_engine(self.url())
        for _ in range(200):
            try:
                engine.connect().close()
                break
            except OperationalError:
                time.sleep(0.05)
        engine.dispose()

    def stop(self) -> None:
        """Stop it at once, as a crash would, so that whoever is connected loses the connection."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
            self._process = None

    def create(self, name: str) -> str:
        """Create a database and return its URL."""
        engine = create_engine(self.url(), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, command: list[str]) -> subprocess.Popen[bytes]:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": str(self.folder)}
        return subprocess.Popen(_as_server_user(command), **quiet)


@contextmanager
def running_server(folder: Path, settings: Sequence[str] = ("fsync=off",)) -> Iterator[Server]:
    """Run a server whose files are in `folder`, an empty one.

    Raises:
        NoServerError: there is none to run.
    """
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        raise NoServerError("PostgreSQL refuses to run as root, and setpriv is not installed")
    server = Server(folder, settings)
    server.make()
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _binary(name: str) -> str:
    found = shutil.which(name)
    candidates = [Path(found)] if found else []
    candidates += [folder / name for folder in BINARIES]
    for path in candidates:
        if path.exists():
            return str(path)
    raise NoServerError("no PostgreSQL server is installed here (initdb and postgres)")


def _as_server_user(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={_user()}", f"--regid={_user()}", "--clear-groups", *command]


def _user() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
