"""Every error a user can meet: one line that names the value, what is allowed, and what to type next."""

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What the ``bisect`` command's exit status means."""

    DONE = 0
    CHECK_FAILED = 1
    BAD_INPUT = 2
    BAD_ENVIRONMENT = 3
    INTERRUPTED = 130


class BisectError(Exception):
    """Root of all errors that are shown to a user as one line instead of a traceback."""

    exit_code: ExitCode = ExitCode.BAD_INPUT


class InputError(BisectError):
    """A value that the user gave cannot be used: an axis, a name, a file, an option."""


class StoreError(InputError):
    """The database cannot be opened, is not ours, or is newer than this program."""


class UnfitEnvironmentError(BisectError):
    """This machine cannot do what was asked: no GPU, a driver without the batch call, a missing tool."""

    exit_code = ExitCode.BAD_ENVIRONMENT


class StoppedError(BisectError):
    """The command was told to end before it was done: by Ctrl-C, or because nobody reads its output any more."""

    exit_code = ExitCode.INTERRUPTED


def choices(values: Iterable[object]) -> str:
    """Return allowed values as they are listed in a message: ``a, b, c``."""
    return ", ".join(str(value) for value in values)
