"""A file system whose server reads every request and answers none: who touches it sleeps and cannot be killed.

FUSE lets a killed process go only while its request has not been read (Linux, fs/fuse/dev.c, `request_wait_answer`);
closing the server's descriptor ends all requests. The protocol's numbers are those of include/uapi/linux/fuse.h.
"""

import ctypes
import os
import select
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_IN_HEADER = struct.Struct("<IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, padding
_OUT_HEADER = struct.Struct("<IiQ")  # length, error, unique
_INIT_OUT = struct.Struct("<IIIIHHIIHHI28x")  # major, minor, read-ahead, flags, …
_INIT = 26
_READ_BYTES = 1 << 17
_MNT_DETACH = 2


class NoMountError(Exception):
    """This process may not mount file systems."""


@contextmanager
def deaf_file_system(folder: Path) -> Iterator[Path]:
    """Mount it on `folder`; at the end everybody who waits for an answer goes on with an error.

    Raises:
        NoMountError: there is no FUSE, or we may not mount.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise NoMountError(str(error)) from error
    options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
    if libc.mount(b"deaf", os.fsencode(folder), b"fuse", 0, options) != 0:
        os.close(fd)
        raise NoMountError(os.strerror(ctypes.get_errno()))
    stop = threading.Event()
    server = threading.Thread(target=_serve, args=(fd, stop), daemon=True)
    server.start()
    try:
        yield folder
    finally:
        libc.umount2(os.fsencode(folder), _MNT_DETACH)
        stop.set()
        server.join()
        os.close(fd)


def _serve(fd: int, stop: threading.Event) -> None:
    with suppress(OSError):
        while not stop.is_set():
            if not select.select([fd], [], [], 0.05)[0]:
                continue
            request = os.read(fd, _READ_BYTES)
            _, opcode, unique, *_ = _IN_HEADER.unpack_from(request)
            if opcode == _INIT:
                body = _INIT_OUT.pack(7, 31, 0, 0, 0, 0, 4096, 0, 0, 0, 0)
                os.write(fd, _OUT_HEADER.pack(_OUT_HEADER.size + len(body), 0, unique) + body)
