"""Ctrl-C in the middle of a write is heard when the write is over."""

import signal
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import event

from cubisect.store import Store
from cubisect.store.database import BUSY_TIMEOUT_S
from cubisect.store.interrupts import uninterrupted
from support.campaigns import new_campaign


def interrupted(times: int, reached: list[str]) -> None:
    with uninterrupted():
        for number in range(times):
            signal.raise_signal(signal.SIGINT)
            reached.append(f"past {number + 1}")


def test_it_is_heard_at_the_end() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(1, reached)
    assert reached == ["past 1"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_second_one_is_heard_at_once() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(2, reached)
    assert reached == ["past 1"]


def test_an_error_of_the_block_is_not_lost() -> None:
    with pytest.raises(ValueError, match="ours"), uninterrupted():
        raise ValueError("ours")


def test_other_threads_and_programs_that_ignore_it_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)

    def elsewhere() -> None:
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) is before

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupted_write_is_whole_and_the_next_one_need_not_wait(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "t.sqlite"), create=True)
    just_locked = lambda _: signal.raise_signal(signal.SIGINT)  # noqa: E731  (an event wants the same object twice)
    event.listen(store.engine, "begin", just_locked)
    with pytest.raises(KeyboardInterrupt):
        store.create_campaign(new_campaign("threshold", 5))
    event.remove(store.engine, "begin", just_locked)
    started = time.monotonic()
    store.create_campaign(new_campaign("band", 6))
    assert time.monotonic() - started < BUSY_TIMEOUT_S / 2
    assert [campaign.budget for campaign in store.campaigns()] == [6, 5]
    store.close()
