"""The few Linux calls that Python does not offer."""

import ctypes
import mmap
import os

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_PTRACER = 1, 36, 0x59616D61
_PR_SET_PTRACER_ANY = ctypes.c_ulong(-1 & (2**64 - 1))

_libc = ctypes.CDLL(None, use_errno=True)
_sigaltstack = _libc.sigaltstack  # looked up once, before any fork


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


class _Stack(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def set_signal_stack(memory: mmap.mmap, offset: int, size: int) -> int:
    """Have this thread's signal handlers run on a part of `memory`, and return its address."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory, offset))
    stack = _Stack(address, 0, size)
    if _sigaltstack(ctypes.byref(stack), None) != 0:
        raise _last_error()
    return address


def _prctl(option: int, argument: ctypes.c_ulong) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        raise _last_error()


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
