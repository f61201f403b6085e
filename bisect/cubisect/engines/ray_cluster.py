"""Finding a Ray cluster, quietly, and what it can hold. The only module that imports Ray."""

import atexit
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubisect.engines.ray_lane import resolve_here
from cubisect.errors import BisectError, InputError, UnfitEnvironmentError
from cubisect.isolation.resolve import Resolved

CONNECT_LIMIT_S = 5.0
"""Ray itself tries for two minutes, then ends the process."""

PLACE_LIMIT_S = 60.0
"""How long a cluster may take to find room and start a process; mostly it takes two seconds."""

HEAD_LOOK_S = 2.0
"""How often to see whether the head of the cluster answers."""

HEAD_LIMIT_S = 20.0
"""How long it may be silent; Ray itself waits for 60 s, then ends the process without a word on what to do."""

RESUME = "What is recorded is kept: `bisect explore --resume NAME` goes on"


@dataclass(frozen=True, kw_only=True)
class Room:
    """How many lanes a cluster can hold, and the resources that Ray sets aside for each."""

    lanes: int
    resources: dict[str, int]
    unit: str

    def lanes_of(self, asked: int | None) -> int:
        """Return how many lanes there shall be, all that there is room for where none is `asked` for.

        Raises:
            InputError: there is no room for so many.
        """
        if asked is not None and not 1 <= asked <= self.lanes:
            raise InputError(
                f"--lanes {asked}: the Ray cluster has room for {self.lanes}, by its {self.unit}s; leave it out for all"
            )
        return asked or self.lanes


def connect(address: str | None) -> Any:
    """Return the module `ray`, connected to the cluster at `address` (HOST:PORT; by default one that is known here).

    Raises:
        InputError: Ray is not installed, or the address is none.
        UnfitEnvironmentError: no cluster answers.
    """
    ray = _installed()
    if ray.is_initialized():
        return ray
    where = address or os.environ.get("RAY_ADDRESS") or _last_started()
    _check_answers(where)
    terminate = signal.getsignal(signal.SIGTERM)  # Ray puts its own handler in its place
    try:
        ray.init(address=where, log_to_driver=False, logging_level="ERROR")
    except (Exception, SystemExit) as error:  # of many kinds, and it ends the process when it has waited in vain
        raise UnfitEnvironmentError(f"{_told(where)} cannot be joined ({_first_line(error)}); {_ADVICE}") from error
    signal.signal(signal.SIGTERM, terminate)
    return ray


def room(ray: Any, driver: str, ranks: int, *, share_gpus: bool) -> Room:
    """Return the room for lanes: on `cuda` each has a GPU for every rank, on a simulated driver a core.

    Raises:
        InputError: no node has as many GPUs as a trial has ranks, and they may not share.
        UnfitEnvironmentError: there is no GPU, or no core, to be had.
    """
    unit = "GPU" if driver == "cuda" else "CPU"
    nodes = [int(node["Resources"].get(unit, 0)) for node in ray.nodes() if node["Alive"]]
    most = max(nodes, default=0)
    if most == 0:
        raise UnfitEnvironmentError(
            f"--engine ray: no node of the cluster offers a {unit}; "
            f"give it some with `ray start --num-{unit.lower()}s N`"
        )
    if driver != "cuda":
        return Room(lanes=sum(nodes), resources={"num_cpus": 1}, unit=unit)
    if ranks > most and not share_gpus:
        raise InputError(
            f"ranks {ranks}: no node of the cluster has more than {most} GPU{'s' * (most > 1)}; "
            f"add --share-gpus to let several ranks use one GPU, or --fix ranks={most}"
        )
    each = min(ranks, most)
    return Room(lanes=sum(gpus // each for gpus in nodes), resources={"num_cpus": 0, "num_gpus": each}, unit=unit)


class Head:
    """Watches whether the head of the cluster is there: without it Ray ends this process after a minute, silently."""

    def __init__(self, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._address, self._clock = address, clock
        self._looked_at = self._answered_at = clock()

    def check(self) -> None:
        """Look now and then.

        Raises:
            LostHeadError: it has not answered for `HEAD_LIMIT_S`.
        """
        now = self._clock()
        if now - self._looked_at < HEAD_LOOK_S:
            return
        self._looked_at = now
        if _refusal(self._address) is None:
            self._answered_at = now
        elif now - self._answered_at > HEAD_LIMIT_S:
            raise LostHeadError(
                f"the head of the Ray cluster at {self._address} has not answered for {HEAD_LIMIT_S:.0f} s; start the "
                f"cluster anew. {RESUME}"
            )


class LostHeadError(UnfitEnvironmentError):
    """The head of the cluster is gone, and with it whatever Ray could be asked."""


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect, and let go of the cluster again where something goes wrong."""
    ray = connect(address)
    try:
        yield ray
    except BaseException:
        ray.shutdown()
        raise


def check_room(address: str | None, driver: str, lanes: int | None, ranks: int, *, share_gpus: bool) -> None:
    """Raise the error of `room` or `Room.lanes_of`, if any, before a campaign is recorded."""
    with connected(address) as ray:
        room(ray, driver, ranks, share_gpus=share_gpus).lanes_of(lanes)


def resolve_on(address: str | None, driver: str) -> Resolved:
    """Return what a driver's name means on a node of the cluster: `auto` takes CUDA where a node has a GPU.

    Raises:
        InputError: the name is of no driver, or Ray is not installed.
        UnfitEnvironmentError: no cluster or no GPU is there.
    """
    with connected(address) as ray:
        return _resolved(ray, driver)


def _resolved(ray: Any, driver: str) -> Resolved:
    has_gpus = any(node["Alive"] and node["Resources"].get("GPU", 0) >= 1 for node in ray.nodes())
    kind = "cuda" if driver == "cuda" or (driver == "auto" and has_gpus) else driver
    asked = ray.remote(**room(ray, kind, 1, share_gpus=False).resources, max_retries=0)(_resolve).remote(driver)
    try:
        resolved: Resolved | BisectError = ray.get(asked, timeout=PLACE_LIMIT_S)
    except ray.exceptions.GetTimeoutError as error:
        raise no_room() from error
    except ray.exceptions.RayError as error:
        raise broken(error) from error
    if isinstance(resolved, BisectError):
        raise resolved
    return resolved


def no_room() -> UnfitEnvironmentError:
    """Return the error for a cluster whose resources others hold."""
    return UnfitEnvironmentError(
        f"the Ray cluster has had no room for a trial for {PLACE_LIMIT_S:.0f} s; `ray status` tells who uses it. "
        f"{RESUME}"
    )


def broken(error: BaseException) -> UnfitEnvironmentError:
    """Return the error for a node on which our own code does not run."""
    cause = getattr(error, "cause", None) or error
    return UnfitEnvironmentError(
        f"a node of the Ray cluster cannot run trials ({_last_line(cause)}); install the same cubisect on every node"
    )


def _resolve(driver: str) -> Resolved | BisectError:
    """Run on a node. Errors come back as values, see `RemoteLane`."""
    try:
        return resolve_here(driver)
    except BisectError as error:
        return error


def _installed() -> Any:
    try:
        import ray  # noqa: PLC0415  (an extra)
        from ray._private import worker  # noqa: PLC0415
    except ImportError as error:
        raise InputError("--engine ray needs Ray; type pip install 'cubisect[ray]', or use --engine local") from error
    worker._worker_logs_enabled = False  # noqa: SLF001  (it writes of lost nodes to standard output, where JSON may be)
    return ray


_ADVICE = (
    "type `ray start --head` on one machine and `ray start --address=HOST:PORT` on the others, this one too, "
    "or use --engine local"
)


def _last_started() -> str:
    """Return the address of the cluster that was started on this machine last."""
    file = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster")
    try:
        return file.read_text("utf-8").strip()
    except OSError:
        raise UnfitEnvironmentError(
            f"--engine ray: no Ray cluster runs on this machine; name one with --address HOST:PORT, or {_ADVICE}"
        ) from None


def _check_answers(where: str) -> None:
    """See that something listens there, before Ray tries for minutes."""
    host, colon, port = where.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or "/" in host:
        raise InputError(f"--address {where}: write HOST:PORT, as `ray start --head` prints it")
    why = _refusal(where)
    if why is not None:
        raise UnfitEnvironmentError(f"{_told(where)} does not answer ({why}); {_ADVICE}")


def _refusal(where: str) -> str | None:
    """Return why nothing listens at HOST:PORT, None where something does."""
    host, _, port = where.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_LIMIT_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return None


def let_go(ray: Any) -> None:
    """Leave a cluster whose head is gone.

    At the end of a process Ray takes leave of its cluster, which takes a minute here, and crashes where it may not. So
    the process ends without it, with the exit code of `LostHeadError`.
    """
    atexit.unregister(ray.shutdown)
    atexit.register(_leave)


def _leave() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(LostHeadError.exit_code)


def _told(where: str) -> str:
    return f"--address {where}: the Ray cluster"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _last_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1]
