"""Ways for a process to end or to hang, done by native code as a faulty library would do them."""

import ctypes
import ctypes.util
import os
from typing import NoReturn


def null_dereference() -> NoReturn:
    """Write one byte through a null pointer in the C library: a real SIGSEGV."""
    ctypes.memset(0, 0, 1)
    raise AssertionError("a write through a null pointer returned")


def abort() -> NoReturn:
    """Die of SIGABRT, as C code does on a failed assertion."""
    os.abort()


def spin_forever() -> NoReturn:
    """Burn CPU in native code that never returns, with the interpreter's lock held.

    The C library searches a binary tree whose only node is its own child: ``tfind`` never reaches a leaf. No signal
    handler of Python's and no other thread runs from here on.
    """
    libc = ctypes.PyDLL(None)
    libc.tfind.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    present = ctypes.c_char_p(b"present")
    key = ctypes.cast(present, ctypes.c_void_p).value
    node = (ctypes.c_void_p * 4)()
    node[0], node[1], node[2] = key, ctypes.addressof(node), ctypes.addressof(node)
    root = ctypes.c_void_p(ctypes.addressof(node))
    compare = ctypes.cast(libc.strcmp, ctypes.c_void_p)
    libc.tfind(b"absent", ctypes.byref(root), compare)
    raise AssertionError("a search without an end ended")


def sleep_forever() -> NoReturn:
    """Sleep in native code, with the interpreter's lock held; unlike `spin_forever` it uses no CPU."""
    libc = ctypes.PyDLL(None)
    while True:
        libc.pause()
