"""The few Linux calls that Python does not offer."""

import ctypes
import os

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_PTRACER = 1, 36, 0x59616D61
_PR_SET_PTRACER_ANY = ctypes.c_ulong(-1 & (2**64 - 1))

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int, signal_number: int) -> bool:
    """Ask for a signal when the parent dies; False when it is not `parent` any more (it died just now)."""
    _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number))
    return os.getppid() == parent


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, wherever it hides (a subreaper)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))


def allow_debuggers() -> None:
    """Let any process of this user look at our stacks, where Yama restricts that; elsewhere it does nothing."""
    _libc.prctl(_PR_SET_PTRACER, _PR_SET_PTRACER_ANY, 0, 0, 0)


def _prctl(option: int, argument: ctypes.c_ulong) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
