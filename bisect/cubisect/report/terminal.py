"""What is recorded, as tables and panels for a terminal of 80 columns; every outcome is a colour and a word."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cubisect.analysis.faults import Faults
from cubisect.outcome import CrashEvidence, Evidence, Outcome
from cubisect.store import Campaign, CampaignSummary, TrialRecord
from cubisect.trial import TrialSpec

if TYPE_CHECKING:
    from cubisect.analysis.hang_cost import HangCost  # pandas, which `show` can do without

STYLES = {
    Outcome.OK: "green",
    Outcome.ERROR: "yellow",
    Outcome.SEGFAULT: "bold red",
    Outcome.HANG: "bold magenta",
    Outcome.ASYNC_ERROR: "red",
    Outcome.CORRUPT: "bold red",
    Outcome.CRASH: "red",
    Outcome.INCONCLUSIVE: "dim",
}
"""How each outcome is coloured, everywhere."""

SIMULATED = "SIMULATED"
"""The word that marks what was not measured on a GPU."""


def size(octets: float) -> str:
    """Return a number of bytes in the largest binary unit that keeps it above 1: ``64 KiB``, ``1.5 GiB``."""
    for unit in ("B", "KiB", "MiB"):
        if octets < 1024:
            return f"{octets:.3g} {unit}" if octets < 100 or unit == "B" else f"{octets:.0f} {unit}"
        octets /= 1024
    return f"{octets:.3g} GiB"


def outcome_text(outcome: Outcome | None) -> Text:
    """Return an outcome as a coloured word; a trial without one is running."""
    return Text("running", style="cyan") if outcome is None else Text(str(outcome), style=STYLES[outcome])


def counts_text(outcomes: Iterable[tuple[Outcome, int]], none: str = "nothing yet") -> Text:
    """Return ``ok 480, segfault 20``, coloured; `none` where there are none."""
    text = Text()
    for outcome, count in outcomes:
        text.append(", " if text else "")
        text.append(f"{outcome} {count}", style=STYLES[outcome])
    return text or Text(none, style="dim")


def campaigns_table(summaries: Sequence[CampaignSummary]) -> RenderableType:
    """Return the recorded campaigns, the latest first."""
    if not summaries:
        return Text("no campaign is recorded yet; type `bisect explore` to run one")
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("campaign", overflow="fold", no_wrap=True)  # to be copied
    table.add_column("driver", overflow="fold")
    table.add_column("trials", justify="right", no_wrap=True)
    table.add_column("outcomes", overflow="fold")
    for summary in summaries:
        driver = f"{summary.driver} ({SIMULATED})" if summary.simulated else summary.driver
        ordered = sorted(summary.outcomes.items(), key=lambda item: -item[1])
        if summary.replays_alone:
            none = "nothing yet" if summary.running else "no batch call"
            table.add_row(summary.name, driver, str(summary.done), counts_text(ordered, none))
        else:
            table.add_row(summary.name, driver, f"{summary.done}/{summary.budget}", counts_text(ordered))
    return table


def trials_table(records: Sequence[TrialRecord], campaign: Campaign) -> RenderableType:
    """Return trials of one campaign, one line each."""
    mark = f" · {SIMULATED}" if campaign.simulated else ""
    if not records:
        return Text(f"{campaign.name}{mark}: no such trials")
    title = f"{campaign.name}{mark}"
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", title=title, title_justify="left")
    for name, width in (("trial", 5), ("count", 7), ("bytes", 8), ("×", 3), ("batch", 14)):
        table.add_column(name, justify="left" if name == "batch" else "right", no_wrap=True, min_width=width)
    table.add_column("outcome", no_wrap=True, min_width=11)
    table.add_column("purpose", no_wrap=True, overflow="ellipsis")
    table.add_column("s", justify="right", no_wrap=True, min_width=5)
    for record in records:
        spec, (count, octets) = record.spec, record.batch_size
        table.add_row(
            str(record.number), f"{count:,}", size(octets), str(spec.repetition),
            " ".join(kind_of_batch(spec)).strip(), outcome_text(record.outcome), _purpose(record),
            f"{record.wall_s:.2f}",
        )  # fmt: skip
    return table


def trial_panel(
    record: TrialRecord,
    calibration: Mapping[str, float] = MappingProxyType({}),
    cost: "HangCost | None" = None,
    faults: Faults | None = None,
    elsewhere: Sequence[tuple[str, object, object]] = (),
) -> RenderableType:
    """Return one trial: what was submitted, how it ended, the evidence, and what to type next.

    `calibration` is what canaries cost where the trial ran, `cost` what its campaign's hangs cost,
    `faults` what frames say of its campaign's signatures, `elsewhere` in what the environment where it ran differs from
    the campaign's.
    """
    head = Text(record.ref, style="bold")
    head.append(f"  {SIMULATED} by {record.driver}" if record.simulated else f"  {record.driver}")
    table = _facts()
    table.add_row("outcome", outcome_text(record.outcome))
    _add(table, "reason", record.reason)
    _add(table, "signature", record.signature and f"{record.signature_title} ({record.signature})")
    fault = faults and faults.of(record.number)
    if faults and fault:
        _add(table, "fault", fault.answer)
        near = [other for other in faults.faults if set(other.signatures) & set(fault.signatures)]
        _add(table, "not the same", "\n".join(other.answer for other in near if other != fault))
    _add(table, "fail index", record.fail_index)
    table.add_row("purpose", _purpose(record) + (f", of trial {record.parent}" if record.parent else ""))
    table.add_row("batch", _batch(record))
    others = {k: v for k, v in record.spec.point.departures().items() if k not in _SHOWN}
    _add(table, "other axes", ", ".join(f"{name} {value}" for name, value in others.items()))
    table.add_row("seed", str(record.spec.seed))
    _add(table, "GPU", record.gpu)
    differences = (f"{name} {here}, not {there}" for name, there, here in elsewhere)
    _add(table, "ran where", "\n".join(differences))
    parts: list[RenderableType] = [head, table]
    if record.evidence is not None:
        seen = _facts()
        for name, text in evidence_rows(record.evidence, calibration, cost if record.outcome is Outcome.HANG else None):
            _add(seen, name, _shortened(text))
        parts.append(seen)
    parts.append(Text(f"\nreplay it: bisect replay {record.ref} --times 20", style="dim"))
    return Group(*parts)


_SHOWN = frozenset({"descriptor_count", "total_bytes", "repetition", "size_mix", "size_spread"})


def _facts() -> Table:
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _add(table: Table, name: str, value: object) -> None:
    if value not in (None, "", ()):
        table.add_row(name, Text(str(value)))


def _purpose(record: TrialRecord) -> str:
    origin = f"/{record.origin}" if record.origin and str(record.origin) != str(record.purpose) else ""
    return f"{record.purpose}{origin}"


def _batch(record: TrialRecord) -> str:
    spec, (count, octets) = record.spec, record.batch_size
    how = "one batch call" if spec.method == "batch" else "one copy call per descriptor"
    kind, spread = kind_of_batch(spec)
    sizes = f"{kind}, spread {spread}" if spread else kind
    return f"{count:,} descriptors, {octets:,} bytes, {spec.repetition} times; {sizes}; {how}"


def kind_of_batch(spec: TrialSpec) -> tuple[str, str]:
    """Return where the sizes come from, and their spread where that is an axis: a mix, a workload, or given rows."""
    if spec.descriptors is not None:
        return "given", ""
    if spec.workload != "none":
        return spec.workload, ""
    return spec.size_mix, f"{spec.size_spread:.2f}"


def deadline_text(evidence: Evidence, calibration: Mapping[str, float]) -> str:
    """Return how long each part of a trial was allowed to take, and what that was predicted from."""
    if not evidence.allowed_s:
        return "" if evidence.deadline_s is None else f"{evidence.deadline_s:.3g} s"
    allowed = ", ".join(f"{part} {seconds:.3g} s" for part, seconds in evidence.allowed_s.items())
    return f"{allowed}; a canary took {calibration['canary_s']:.2g} s" if "canary_s" in calibration else allowed


def evidence_rows(
    evidence: Evidence, calibration: Mapping[str, float] = MappingProxyType({}), cost: "HangCost | None" = None
) -> list[tuple[str, str]]:
    """Return what was seen of a trial, a name and a text each; what is not known is left out."""
    hang, crash = evidence.hang, evidence.crash
    found = [
        ("reached", f"{evidence.phase.label}, submission {evidence.repetition}"),
        ("took", f"{evidence.wall_s:.3f} s, {evidence.cpu_s:.3f} s of CPU, {size(evidence.max_rss_bytes)}"),
        ("phases", ", ".join(f"{name} {seconds:.3f} s" for name, seconds in evidence.phase_s.items())),
        ("deadline", deadline_text(evidence, calibration)),
        ("hang", hang and f"{hang.kind}, {100 * hang.cpu_share:.0f} % of one CPU"),
        ("cost", cost and cost.answer),
        ("waits in", hang and hang.wait_channel),
        ("GPU", hang and hang.gpu_utilisation is not None and f"{100 * hang.gpu_utilisation:.0f} % busy"),
        ("GPU core", hang and hang.gpu_core),
        ("native stack", hang and hang.native_stack),
        ("crash", crash and crash_text(crash)),
        ("frames", crash and "\n".join(crash.frames)),
        ("Python stack", (hang and hang.python_stack) or (crash and crash.python_stack)),
        ("notes", "\n".join(evidence.notes)),
        *((f"rank {rank.rank}", _rank(rank)) for rank in evidence.ranks),
        ("output", evidence.output_tail.strip()),
    ]
    return [(name, str(text)) for name, text in found if text]


MOST_LINES = 30
"""Lines of one piece of evidence in a terminal: of a stack the innermost frames come first."""


def _shortened(text: str) -> str:
    lines = text.splitlines()
    more = len(lines) - MOST_LINES
    return text if more <= 0 else "\n".join([*lines[:MOST_LINES], f"… {more} more lines; --json has them all"])


def _rank(rank: Evidence) -> str:
    state = (
        "reaped" if rank.killed_by_us and not rank.timed_out else f"signal {rank.signal}" if rank.signal else "ended"
    )
    return f"{state} in {rank.phase.label}, submission {rank.repetition}"


def crash_text(crash: CrashEvidence) -> str:
    """Return ``write to 0x0 by libcuda.so.1+0x1b2c3``, empty where nothing is known."""
    to = {"read": "read of", "write": "write to", "execute": "jump to"}
    at = "" if crash.fault_address is None or not crash.access else f"{to[crash.access]} {crash.fault_address:#x}"
    by = "" if crash.instruction is None else f"{'by' if at else 'in'} {crash.instruction}"
    return f"{at} {by}".strip()
