"""Ctrl-C waits until a write is over: in the middle of one it would leave the database locked, even against us."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hear SIGINT when the block is over; a second one at once, for the block may wait for a server that is gone.

    In threads other than the main one, where Python raises nothing, and where SIGINT is ignored, it does nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = 0

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        if heard > 1:
            handler(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard == 1:
            signal.raise_signal(signal.SIGINT)
