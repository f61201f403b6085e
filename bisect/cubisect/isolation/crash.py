"""Where a process crashed: what the kernel left on the stack of its signal handler.

Before a handler runs, the kernel writes the interrupted registers to the stack that it runs on. A trial process has
that stack in memory that it shares with the harness, so that the registers outlive it: nothing of ours has to run in
a process that has just crashed. Only its first thread, which submits, has such a stack.

The layout is that of ``struct rt_sigframe`` on x86-64 (Linux, arch/x86/include/uapi/asm/sigcontext.h and
asm-generic/ucontext.h); on other processors nothing is found.
"""

import json
import platform
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

STACK_BYTES = 64 << 10
"""The frame takes up to 12 KiB (AMX registers), faulthandler a few more."""

MODULES_BYTES = 32 << 10
"""About 40 bytes each; a process with a CUDA context has a hundred."""

# ucontext: flags, link, then the stack in use (address, flags, size), by which it is recognised.
_STACK = struct.Struct("<QixxxxQ")
_STACK_AT = 16
_REGISTERS_AT = 40
_RIP, _ERROR, _TRAP, _CR2 = 16, 19, 20, 22
_REGISTERS = struct.Struct("<23Q")

_PAGE_FAULT = 14
_ERROR_WRITE, _ERROR_FETCH = 0x2, 0x10


@dataclass(frozen=True, kw_only=True)
class Trap:
    """What the processor was doing. `address` and `access` (read, write, execute) are those of a page fault.

    Without one the signal was sent, or the address is one that no process can have, which the processor does not tell.
    """

    instruction: int
    address: int | None = None
    access: str | None = None


@dataclass(frozen=True, kw_only=True)
class Module:
    """A file in the memory of a process, from its first to its last byte there."""

    name: str
    start: int
    stop: int


def trap_in(stack: bytes, stack_address: int) -> Trap | None:
    """Return what `stack` tells, which was at `stack_address`: the outermost handler's frame, None without one."""
    if platform.machine() != "x86_64" or not stack_address:
        return None
    needle = _STACK.pack(stack_address, 0, len(stack))
    at = stack.rfind(needle) - _STACK_AT + _REGISTERS_AT  # the stack grows downwards: the first frame is the last
    if at < _REGISTERS_AT or at + _REGISTERS.size > len(stack):
        return None
    registers = _REGISTERS.unpack_from(stack, at)
    if registers[_TRAP] != _PAGE_FAULT:
        return Trap(instruction=registers[_RIP])
    error = registers[_ERROR]
    access = "execute" if error & _ERROR_FETCH else "write" if error & _ERROR_WRITE else "read"
    return Trap(instruction=registers[_RIP], address=registers[_CR2], access=access)


def place_of(address: int, modules: Sequence[Module]) -> str | None:
    """Return ``libcuda.so.1+0x1b2c3``, the same in every run of that file; None outside of all modules."""
    for module in modules:
        if module.start <= address < module.stop:
            return f"{module.name}+{address - module.start:#x}"
    return None


def modules_of(pid: int | str) -> list[Module]:
    """Return the files in the memory of a living process (0.3 ms); devices are left out."""
    found: dict[str, Module] = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            span, _, path = line.partition(" ")
            path = path[path.find("/") :] if "/" in path else ""
            if path and not path.startswith(("/dev/", "/memfd:")):
                start, stop = (int(end, 16) for end in span.split("-"))
                first = found.get(path)
                name = path.rpartition("/")[2]
                found[path] = Module(name=name, start=first.start if first else start, stop=stop)
    return list(found.values())


def to_bytes(modules: Sequence[Module]) -> bytes:
    """Return modules as text that `from_bytes` reads; those that do not fit into `MODULES_BYTES` are left out."""
    rows = [[module.name, module.start, module.stop] for module in modules]
    while len(text := json.dumps(rows, separators=(",", ":")).encode()) > MODULES_BYTES:
        rows = rows[: len(rows) // 2]
    return text


def from_bytes(data: bytes) -> list[Module]:
    """Return the modules in memory that a crashed process wrote: what is not as it should be is passed over."""
    return list(_modules(data.rstrip(b"\0")))


def _modules(data: bytes) -> Iterator[Module]:
    with suppress(ValueError, TypeError):
        for name, start, stop in json.loads(data or b"[]"):
            yield Module(name=str(name), start=int(start), stop=int(stop))
