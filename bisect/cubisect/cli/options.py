"""Options that several commands share, and how their text becomes values."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cubisect.errors import InputError
from cubisect.space import Range, Value, axis_named, parse_domain

if TYPE_CHECKING:
    from cubisect.store import Store

DEFAULT_DATABASE = Path("db/bisect.sqlite")

Database = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="BISECT_DB",
        metavar="URL",
        help="The database: a path of a SQLite file, or postgresql+psycopg://USER@HOST/NAME.",
        show_default=True,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Fix = Annotated[
    list[str] | None,
    typer.Option("--fix", metavar="AXIS=VALUE", help="Hold an axis at a value; may be given several times."),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="AXIS[=LO:HI|a,b]",
        help="Vary an axis, over all of it or a part; may be given several times.",
    ),
]
Timeout = Annotated[
    str,
    typer.Option(
        "--timeout",
        metavar="auto|SECONDS",
        help="Longest time for each of set-up, submissions and verification of a trial.",
    ),
]
Chunk = Annotated[
    int | None,
    typer.Option(metavar="K", help="Submit a batch in calls of at most K descriptors; the same as --fix chunk=K."),
]
ShareGpus = Annotated[
    bool, typer.Option("--share-gpus", help="Let the ranks of a trial share GPUs when there are fewer.")
]
Engine = Annotated[
    str, typer.Option("--engine", metavar="local|ray", help="Where trials run: this machine, or a Ray cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="The Ray cluster.  [default: RAY_ADDRESS, or one started on this machine]"),
]
GpuCoreDump = Annotated[
    Path | None,
    typer.Option(
        "--gpu-core-dump",
        metavar="FOLDER",
        help="Ask CUDA for a core dump of what the GPU does when a trial hangs, for cuda-gdb; written to this folder.",
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", metavar="OUTCOMES", help="Exit with 1 if any of these outcomes was seen: segfault,hang"),
]


def open_store(url: str, *, create: bool = False) -> "Store":
    """Open the database; the default one gets its folder made."""
    if create and url == str(DEFAULT_DATABASE):
        DEFAULT_DATABASE.parent.mkdir(exist_ok=True)
    from cubisect.store import Store  # noqa: PLC0415  (SQLAlchemy takes a quarter of a second, and is not always needed)

    return Store.open(url, create=create)


def gpu_core_folder(folder: Path | None) -> Path | None:
    """Return the folder of ``--gpu-core-dump``, made where it is missing, as an absolute path."""
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--gpu-core-dump {folder}: {error.strerror}; name a folder that can be written to") from error
    return folder.resolve()


def parse_fix(items: list[str] | None, chunk: int | None = None) -> dict[str, Any]:
    """Return the values of ``--fix AXIS=VALUE``, and of ``--chunk``, which is one of them."""
    fixed: dict[str, Any] = {} if chunk is None else {"chunk": axis_named("chunk").check(chunk)}
    for item in items or []:
        name, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"--fix {item}: write --fix {name}=VALUE, allowed is {axis_named(name).range_text}")
        if name in fixed:
            raise InputError(f"--fix {item}: {name} is held at {fixed[name]} already; say it once, or use --vary")
        fixed[name] = axis_named(name).parse(text)
    return fixed


def parse_vary(items: list[str] | None, option: str = "--vary") -> dict[str, Range | tuple[Value, ...] | None]:
    """Return the domains of ``--vary AXIS[=LO:HI]``, or of another option of that form."""
    varied: dict[str, Range | tuple[Value, ...] | None] = {}
    for item in items or []:
        name, equals, text = item.partition("=")
        axis_named(name)
        if name in varied:
            raise InputError(f"{option} {item}: {name} is named twice; say it once")
        varied[name] = parse_domain(name, text if equals else None, option)
    return varied


def parse_gpus(text: str | None) -> tuple[int, ...] | None:
    """Return the ordinals of ``--gpus 0,1`` or None for ``all`` and when nothing is said."""
    if text is None or text == "all":
        return None
    try:
        gpus = tuple(int(part) for part in text.split(","))
    except ValueError:
        gpus = ()
    if not gpus or min(gpus) < 0 or len(set(gpus)) < len(gpus):
        raise InputError(f"--gpus {text}: write the numbers of the GPUs, as in --gpus 0,1, or --gpus all")
    return gpus


def parse_timeout(text: str) -> float | None:
    """Return the seconds of ``--timeout``, None for ``auto``."""
    if text == "auto":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"--timeout {text}: write auto or a number of seconds above 0")
    return seconds


def default_database() -> str:
    """Return the database used when none is named."""
    return os.environ.get("BISECT_DB", str(DEFAULT_DATABASE))
