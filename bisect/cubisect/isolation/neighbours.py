"""Other processes that keep the GPU busy while a trial runs: started, verified busy, always reaped."""

import time
from collections.abc import Callable, Sequence

from cubisect.isolation.server import Child, ForkServer
from cubisect.outcome import signal_name
from cubisect.trial import TrialSpec

BUSY_LIMIT_S = 30.0
"""A context and its first work take a second or two, longer when many are created at once."""

BUSY_TICKS = 2
"""One tick may be work that was already under way; two show that it goes on."""

NAP_S = 0.002

Key = tuple[str, int, tuple[int, ...]]


class NeighbourLostError(Exception):
    """A neighbour died or does nothing: the trial beside it says nothing."""


class Neighbours:
    """The neighbours of one lane. They stay between trials that ask for the same ones, to save their start."""

    def __init__(self, server: ForkServer, clock: Callable[[], float] = time.monotonic) -> None:
        self._server, self._clock = server, clock
        self._key: Key = ("", 0, ())
        self._children: list[Child] = []

    def provide(self, spec: TrialSpec, gpus: Sequence[int]) -> None:
        """See to it that exactly the neighbours of `spec` live on each of `gpus`, and that all of them are busy.

        Raises:
            NeighbourLostError: one of them is not.
        """
        key: Key = (spec.neighbour_kind, spec.neighbours, tuple(gpus)) if spec.neighbours else ("", 0, ())
        if key != self._key:
            self.stop()
            self._key = key
            for gpu in gpus[: len(gpus) * bool(spec.neighbours)]:
                for _ in range(spec.neighbours):
                    child = self._server.fork(gpu)
                    self._children.append(child)
                    child.assign({"role": "neighbour", "kind": spec.neighbour_kind})
        for child in self._children:
            self._server.await_birth(child)
        self._await_busy()

    def check(self) -> None:
        """Raise `NeighbourLostError` when one has died."""
        for child in self._children:
            if child.ended is not None:
                raise NeighbourLostError(f"a neighbour process {_ending(child)}")

    def stop(self) -> None:
        """End them all; the fork server reaps them."""
        for child in self._children:
            child.kill()
        until = self._clock() + BUSY_LIMIT_S
        while any(child.ended is None for child in self._children):
            if not self._server.pump(until - self._clock()):
                break
        self.forget()

    def forget(self) -> None:
        """Close what is left of them, when the fork server has ended them."""
        for child in self._children:
            child.close()
        self._children.clear()
        self._key = ("", 0, ())

    def _await_busy(self) -> None:
        goals = [(child, child.page.ticks + BUSY_TICKS) for child in self._children]
        until = self._clock() + BUSY_LIMIT_S
        while any(child.page.ticks < goal for child, goal in goals):
            self._server.pump(NAP_S)
            self.check()
            if self._clock() > until:
                raise NeighbourLostError(f"a neighbour process did no work for {BUSY_LIMIT_S:.0f} s")


def _ending(child: Child) -> str:
    """Return how a neighbour ended, and why where it said so."""
    assert child.ended is not None
    _, report = child.result()
    if isinstance(report, dict) and report.get("setup_failed"):
        return f"gave up: {report['setup_failed']}"
    if child.ended.signal is not None:
        return f"was killed by {signal_name(child.ended.signal)}"
    return f"exited with status {child.ended.exit_code}"
