"""What a person sees while a campaign runs: a live panel on a terminal, plain lines anywhere else."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cubisect.analysis.result import percent
from cubisect.cli.output import say
from cubisect.outcome import FAILURES
from cubisect.report.terminal import STYLES, kind_of_batch
from cubisect.space import AXES
from cubisect.store import TrialRecord
from cubisect.trial import Method

if TYPE_CHECKING:
    from cubisect.search.campaign import Progress  # Optuna, which a replay can do without

PLAIN_EVERY_S = 10.0
"""Seconds between plain lines; failures are always printed."""


def duration(seconds: float | None) -> str:
    """Return seconds as people say them: ``45 s``, ``12 min``, ``3.4 h``; a dash when unknown."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def describe(record: TrialRecord) -> str:
    """Return one line about a trial: number, outcome, where."""
    spec, (count, octets) = record.spec, record.batch_size
    where = f"{count:,} × {octets:,} B × {spec.repetition}, {' '.join(kind_of_batch(spec)).strip()}"
    for name in ("neighbours", "ranks"):
        if getattr(spec, name) != AXES[name].default:
            where += f", {getattr(spec, name)} {name}"
    if spec.method is Method.PERCOPY:
        where += ", one copy per descriptor"
    return f"#{record.number} {record.outcome} at {where}"


class Display:
    """A context manager whose `update` is a campaign's listener."""

    def __init__(self, console: Console, *, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._label, self._clock = console, label, clock
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
        self._printed_at = clock()
        self._spent = False

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def update(self, progress: "Progress", record: TrialRecord | None) -> None:
        """Show where the campaign stands; `record` is the trial that has just ended."""
        if self._live:
            self._live.update(self._panel(progress))
            return
        failed = record is not None and record.outcome in FAILURES and record is progress.last_failure
        if failed and record is not None:
            self._console.print(f"  {describe(record)}", highlight=False, soft_wrap=True)
        if record is not None and (self._due() or self._at_last(progress)):
            self._console.print(self._line(progress), highlight=False, soft_wrap=True)

    def _at_last(self, progress: "Progress") -> bool:
        """Tell once that the budget is spent: controls may follow."""
        spent, self._spent = progress.done == progress.budget and not self._spent, progress.done == progress.budget
        return spent

    def _due(self) -> bool:
        if self._clock() - self._printed_at < PLAIN_EVERY_S:
            return False
        self._printed_at = self._clock()
        return True

    def _line(self, progress: "Progress") -> str:
        return f"  {progress.done}/{progress.budget}  {counts(progress)}  {rate(progress)}"

    def _panel(self, progress: "Progress") -> Group:
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(self._label, style="bold"),
            ProgressBar(total=progress.budget, completed=progress.done, width=24),
            f"{progress.done}/{progress.budget}",
            rate(progress),
        )
        row = Text("  ")
        for outcome, number in sorted(progress.outcomes.items()):
            row.append(f"{outcome} {number}   ", style=STYLES[outcome])
        last = describe(progress.last_failure) if progress.last_failure else "none yet"
        return Group(head, row, Text(f"  last failure: {last}", style="dim", overflow="ellipsis", no_wrap=True))


def counts(progress: "Progress") -> str:
    """Return the outcome counts in one line, most frequent first."""
    return ", ".join(f"{outcome} {number}" for outcome, number in progress.outcomes.most_common()) or "nothing yet"


def rate(progress: "Progress") -> str:
    """Return trials per second, the time left, and how much of the time in trials was spent waiting for hangs."""
    ran = progress.done - progress.done_at_start
    per_second = ran / progress.elapsed_s if progress.elapsed_s else 0.0
    hung = progress.seconds_in_hangs / progress.seconds_in_trials if progress.seconds_in_trials else 0.0
    waits = f", {duration(progress.seconds_in_hangs)} in hangs ({percent(hung)})" if hung else ""
    return f"{per_second:.1f} trials/s, {duration(progress.eta_s())} left{waits}"


def run_line(console: Console, *, total: int) -> Callable[[TrialRecord], None]:
    """Return a listener that prints one line per finished trial: how many of at most `total`, and the time left."""
    start, done = time.monotonic(), 0

    def listen(record: TrialRecord) -> None:
        nonlocal done
        done += 1
        left = (time.monotonic() - start) / done * max(total - done, 0)
        say(console, f"  {done}/{total}, at most {duration(left)} left  {describe(record)}")

    return listen
