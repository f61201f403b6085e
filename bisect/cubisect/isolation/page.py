"""Memory shared with a trial process: how far it got, seen by the parent whatever becomes of the process."""

import mmap
import struct
import time
from collections.abc import Callable

from cubisect.isolation import crash
from cubisect.isolation.kernel import set_signal_stack
from cubisect.isolation.wire import memory_file
from cubisect.outcome import Phase

PAGE_BYTES = mmap.PAGESIZE
_STACK_AT = PAGE_BYTES
_MODULES_AT = _STACK_AT + crash.STACK_BYTES
_FILE_BYTES = _MODULES_AT + crash.MODULES_BYTES

_WHERE = struct.Struct("<II")  # phase, repetition: written together
_SINCE = struct.Struct("<d")
_COUNT = struct.Struct("<Q")
_ADDRESS = struct.Struct("<Q")
_WHERE_AT, _SINCE_AT, _TICKS_AT, _FLAGS_AT, _ADDRESS_AT, _SECONDS_AT = 0, 8, 16, 24, 32, 64
_TAKEN_AT, _WAITING_AT = _FLAGS_AT, _FLAGS_AT + 1


class ProgressPage:
    """One page: phase and repetition, seconds spent in each phase, a counter of work done, two flags.

    Behind it are the stack of the process's signal handlers and a list of its modules, from which `trap` and `place`
    tell where it crashed (`isolation.crash`).

    Written by one process, read by another. `clock` must be one clock for both: CLOCK_MONOTONIC is.
    """

    def __init__(self, fd: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = mmap.mmap(fd, _FILE_BYTES)
        self._clock = clock

    @staticmethod
    def new_file() -> int:
        """Return the descriptor of a fresh page."""
        return memory_file("progress", _FILE_BYTES, fixed=True)

    def close(self) -> None:
        """Unmap the page."""
        self._memory.close()

    # -- written by the trial process ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the clock of phase START."""
        _SINCE.pack_into(self._memory, _SINCE_AT, self._clock())

    def take(self) -> None:
        """Record that the request has been read: from now on the process belongs to a trial."""
        self._memory[_TAKEN_AT] = 1

    def enter(self, phase: Phase, repetition: int = 0) -> None:
        """Record that `phase` begins; see `drivers.base.Progress`."""
        now = self._clock()
        at = _SECONDS_AT + self.phase * _SINCE.size
        spent = _SINCE.unpack_from(self._memory, at)[0] + now - _SINCE.unpack_from(self._memory, _SINCE_AT)[0]
        _SINCE.pack_into(self._memory, _SINCE_AT, now)  # first: who reads in between must not count time twice
        _SINCE.pack_into(self._memory, at, spent)
        _WHERE.pack_into(self._memory, _WHERE_AT, phase, repetition)

    def tick(self) -> None:
        """Count one piece of a neighbour's work."""
        _COUNT.pack_into(self._memory, _TICKS_AT, self.ticks + 1)

    def set_waiting(self, *, waiting: bool) -> None:
        """Record that the process waits for the other ranks, which is not its own doing."""
        self._memory[_WAITING_AT] = waiting

    def lend_stack(self) -> None:
        """Have the signal handlers of this thread run on the stack behind the page, which must never be closed then."""
        address = set_signal_stack(self._memory, _STACK_AT, crash.STACK_BYTES)
        _ADDRESS.pack_into(self._memory, _ADDRESS_AT, address)

    def list_modules(self) -> None:
        """Record which files are where in this process's memory: what it loads later is not known."""
        text = crash.to_bytes(crash.modules_of("self"))
        self._memory[_MODULES_AT : _MODULES_AT + len(text)] = text

    # -- read by the parent --------------------------------------------------------------------------------------------

    @property
    def taken(self) -> bool:
        """Whether the request has been read."""
        return bool(self._memory[_TAKEN_AT])

    @property
    def waiting(self) -> bool:
        """Whether the process waits for other ranks."""
        return bool(self._memory[_WAITING_AT])

    @property
    def phase(self) -> Phase:
        """The phase entered last; START where the page holds nonsense."""
        number = _WHERE.unpack_from(self._memory, _WHERE_AT)[0]
        return Phase(number) if number in Phase.__members__.values() else Phase.START

    @property
    def repetition(self) -> int:
        """The submissions begun."""
        return int(_WHERE.unpack_from(self._memory, _WHERE_AT)[1])

    @property
    def ticks(self) -> int:
        """The pieces of work done by a neighbour."""
        return int(_COUNT.unpack_from(self._memory, _TICKS_AT)[0])

    def seconds(self, end: float) -> dict[str, float]:
        """Return the seconds spent in each phase that was reached, the last one counted until `end`."""
        current, since = self.phase, _SINCE.unpack_from(self._memory, _SINCE_AT)[0]
        spent = {p: _SINCE.unpack_from(self._memory, _SECONDS_AT + p * _SINCE.size)[0] for p in Phase}
        if since:
            spent[current] += max(end - since, 0.0)
        return {phase.label: seconds for phase, seconds in spent.items() if seconds > 0.0}

    def trap(self) -> crash.Trap | None:
        """Return what the processor was doing when the process died of a signal that it had a handler for."""
        stack = self._memory[_STACK_AT:_MODULES_AT]
        return crash.trap_in(stack, _ADDRESS.unpack_from(self._memory, _ADDRESS_AT)[0])

    def modules(self) -> list[crash.Module]:
        """Return the modules that the process recorded, none where it did not."""
        return crash.from_bytes(self._memory[_MODULES_AT:_FILE_BYTES])


class RankBarrier:
    """The line from which the ranks of one trial start together: one counter of arrivals per rank.

    A rank waits until every counter has reached its own. Nobody wakes anybody, so that a dead rank leaves no lock
    behind; the parent ends those who wait for it.
    """

    SPIN_S = 0.002
    """Spinning keeps the start of the ranks within microseconds; afterwards a core is not worth it."""
    NAP_S = 0.0002

    def __init__(self, fd: int, rank: int, ranks: int, page: ProgressPage) -> None:
        self._memory = mmap.mmap(fd, PAGE_BYTES)
        self._rank, self._ranks, self._page = rank, ranks, page
        self._arrivals = 0

    @staticmethod
    def new_file() -> int:
        """Return the descriptor of a fresh line."""
        return memory_file("barrier", PAGE_BYTES, fixed=True)

    def wait(self) -> None:
        """Return when every rank is here."""
        self._arrivals += 1
        _COUNT.pack_into(self._memory, self._rank * _COUNT.size, self._arrivals)
        self._page.set_waiting(waiting=True)
        spin_until = time.monotonic() + self.SPIN_S
        while not self._all_here():
            time.sleep(0.0 if time.monotonic() < spin_until else self.NAP_S)
        self._page.set_waiting(waiting=False)

    def _all_here(self) -> bool:
        return all(
            _COUNT.unpack_from(self._memory, rank * _COUNT.size)[0] >= self._arrivals for rank in range(self._ranks)
        )
