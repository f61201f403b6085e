"""What the processes of isolation say to each other, and how: frames, messages with descriptors, shared files.

A trial process may be arbitrarily broken, so nothing it sends is believed before length and checksum agree, and
nothing is ever unpickled.
"""

import array
import fcntl
import json
import os
import socket
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from cubisect.outcome import ResultState

MAGIC = b"CUBI"
VERSION = 1
_HEADER = struct.Struct("<4sHxxII")  # magic, version, length, CRC-32 of the payload

MAX_RESULT_BYTES = 64 << 10
"""A report is about 1 KiB; more than this is garbage. It also fits a socket's buffer, so that sending never blocks."""

MAX_MESSAGE_BYTES = 64 << 10
MAX_DESCRIPTORS = 8
_INT = array.array("i")


def json_bytes(value: Any) -> bytes:
    """Return a JSON-able value as compact text."""
    return json.dumps(value, separators=(",", ":")).encode()


def encode(payload: Any) -> bytes:
    """Return a JSON-able value as a frame."""
    body = json_bytes(payload)
    return _HEADER.pack(MAGIC, VERSION, len(body), zlib.crc32(body)) + body


def decode(data: bytes) -> tuple[ResultState, Any]:
    """Return what arrived and, where it is complete, the value; never raises."""
    if not data:
        return ResultState.MISSING, None
    if not MAGIC.startswith(data[:4]) and not data.startswith(MAGIC):
        return ResultState.CORRUPT, None
    if len(data) < _HEADER.size:
        return ResultState.PARTIAL, None
    _, version, length, checksum = _HEADER.unpack_from(data)
    body = data[_HEADER.size :]
    if version != VERSION or length > MAX_RESULT_BYTES or len(body) > length:
        return ResultState.CORRUPT, None
    if len(body) < length:
        return ResultState.PARTIAL, None
    if zlib.crc32(body) != checksum:
        return ResultState.CORRUPT, None
    try:
        return ResultState.COMPLETE, json.loads(body)
    except ValueError:
        return ResultState.CORRUPT, None


def send(sock: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message, and copies of the descriptors, over a SOCK_SEQPACKET socket."""
    data = json_bytes(message)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    sock.sendmsg([data], rights)


def receive(sock: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return the next message and its descriptors (closed on exec); None when the other side is gone."""
    room = socket.CMSG_SPACE(MAX_DESCRIPTORS * _INT.itemsize)
    try:
        data, ancillary, _, _ = sock.recvmsg(MAX_MESSAGE_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None, []
    descriptors = array.array("i")
    for level, kind, raw in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(raw[: len(raw) - len(raw) % descriptors.itemsize])
    return (json.loads(data) if data else None), list(descriptors)


def memory_file(name: str, size: int = 0, *, fixed: bool = False) -> int:
    """Return a descriptor of an anonymous file of `size` bytes; a `fixed` one can neither grow nor shrink.

    Writing beyond the end of a fixed file fails at once: a gigabyte of output costs what fits, and nobody has to
    drain anything.
    """
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if size:
        os.ftruncate(fd, size)
    if fixed:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def read_all(fd: int) -> bytes:
    """Return the whole content of an anonymous file."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def write_all(fd: int, data: bytes) -> None:
    """Write everything to an anonymous file."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
