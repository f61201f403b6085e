"""The progress page: what the writer did is what a reader sees."""

import os
import threading

from cubisect.isolation.page import ProgressPage, RankBarrier
from cubisect.outcome import Phase


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_seconds_add_up_per_phase() -> None:
    clock = Clock()
    fd = ProgressPage.new_file()
    writer, reader = ProgressPage(fd, clock), ProgressPage(fd)
    os.close(fd)
    writer.begin()
    for step, (phase, repetition) in enumerate(
        [(Phase.SETUP, 0), (Phase.SUBMIT, 1), (Phase.SYNC, 1), (Phase.SUBMIT, 2)]
    ):
        clock.now += 1.0 + step
        writer.enter(phase, repetition)
    assert (reader.phase, reader.repetition) == (Phase.SUBMIT, 2)
    assert reader.seconds(clock.now + 10.0) == {"start": 1.0, "setup": 2.0, "submit": 13.0, "sync": 4.0}
    writer.close()
    reader.close()


def test_nonsense_on_the_page_is_survived() -> None:
    fd = ProgressPage.new_file()
    page = ProgressPage(fd)
    os.pwrite(fd, b"\xff" * 4, 0)
    os.close(fd)
    assert page.phase is Phase.START
    page.close()


def test_no_rank_leaves_the_line_before_all_are_there() -> None:
    ranks, rounds = 3, 20
    line = RankBarrier.new_file()
    arrived = [0] * ranks
    wrong: list[list[int]] = []

    def run(rank: int) -> None:
        fd = ProgressPage.new_file()
        barrier = RankBarrier(line, rank, ranks, ProgressPage(fd))
        os.close(fd)
        for turn in range(1, rounds + 1):
            arrived[rank] = turn
            barrier.wait()
            if min(arrived) < turn:
                wrong.append(list(arrived))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    os.close(line)
    assert arrived == [rounds] * ranks
    assert not wrong
