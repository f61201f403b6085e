"""What gdb printed, as module and offset of every frame: the same on every run and every machine with that file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MAPPING = re.compile(r"^\s*0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+(?:[-rwxps]{4}\s+)?(/\S.*)$")
_THREAD = re.compile(r"^Thread (\d+) \(")
_FRAME = re.compile(r"^#(\d+)\s+(?:0x([0-9a-f]+) in )?(\S+)")
_VALUE = re.compile(r"^\$\d+ = (?:\(.*?\) )?0x([0-9a-f]+)")
_SIGNAL = re.compile(r"received signal (SIG\w+)")

INTERPRETER = re.compile(r"^(python[\d.]*|libpython.*|_ctypes.*|libffi.*|driver\..*\.so)$")
"""Where the caller begins: frames from here outwards are ours, and say nothing about the fault."""

MOST_FRAMES = 8


@dataclass(frozen=True)
class Frame:
    """One frame: ``libcuda.so.580.1+0x1b2c3``; `function` is the debugger's guess, empty where it has none."""

    module: str
    offset: int
    function: str = ""

    @property
    def place(self) -> str:
        """Module and offset, as they go into a signature."""
        return f"{self.module}+{self.offset:#x}"


@dataclass(frozen=True)
class Backtraces:
    """Frames of every thread, innermost first, by gdb's number of the thread; `signal` is what stopped the process."""

    signal: str | None
    threads: Mapping[int, Sequence[Frame]]

    def faulting(self, thread: int = 1) -> tuple[str, ...]:
        """Return the places of a thread from the innermost frame to the last one before the caller."""
        frames = self.threads.get(thread, ())
        inner = next((i for i, frame in enumerate(frames) if INTERPRETER.match(frame.module)), len(frames))
        return tuple(frame.place for frame in frames[: min(max(inner, 1), MOST_FRAMES)])


def parse(text: str) -> Backtraces:
    """Return what ``info proc mappings``, ``thread apply all p/x $pc`` and ``thread apply all bt`` printed so."""
    lines = text.splitlines()
    mappings = [
        (int(m[1], 16), int(m[2], 16), m[3].strip().rsplit("/", 1)[-1]) for m in map(_MAPPING.match, lines) if m
    ]
    threads: dict[int, list[Frame]] = {}
    counters: dict[int, int] = {}
    thread = 1
    for line in lines:
        if found := _THREAD.match(line):
            thread = int(found[1])
        elif found := _VALUE.match(line):
            counters[thread] = int(found[1], 16)
        elif found := _FRAME.match(line):
            address = int(found[2], 16) if found[2] else counters.get(thread) if found[1] == "0" else None
            if address is not None:  # a frame that was inlined has no address of its own
                function = "" if found[3] == "??" else found[3]
                threads.setdefault(thread, []).append(_located(address, mappings, function))
    stopped = _SIGNAL.search(text)
    return Backtraces(stopped[1] if stopped else None, threads)


def _located(address: int, mappings: Sequence[tuple[int, int, str]], function: str) -> Frame:
    module = next((name for start, stop, name in mappings if start <= address < stop), None)
    if module is None:
        return Frame("unmapped", 0 if address < 1 << 16 else address, function)
    return Frame(module, address - min(start for start, _, name in mappings if name == module), function)
