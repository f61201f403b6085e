"""What the analysis found, for a terminal of 80 columns."""

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cubisect.analysis.compare import Comparison
from cubisect.analysis.factors import Isolated
from cubisect.analysis.faults import Faults
from cubisect.analysis.frame import failed, mapping
from cubisect.analysis.hang_cost import hang_cost
from cubisect.analysis.levels import Role
from cubisect.analysis.rates import failure_rates
from cubisect.analysis.regions import regions
from cubisect.analysis.result import percent
from cubisect.analysis.settings import Settings, settings
from cubisect.analysis.summary import Analysis
from cubisect.outcome import Outcome
from cubisect.report.terminal import SIMULATED, counts_text
from cubisect.store import Campaign, TrialRecord

ENOUGH_FAILURES = 5
"""Fewer failures than this make no region worth a line in a summary."""


def campaign_summary(frame: pd.DataFrame, campaign: Campaign) -> RenderableType:
    """Return what a finished campaign showed in a few lines: rates, where it failed, and which command comes next."""
    rows = mapping(frame)
    failures = int(failed(rows).sum())
    rates, listed = failure_rates(frame), settings(frame)
    lines: list[RenderableType] = [settings_table(listed), Text()] if listed.settings else []
    if rates.overall.trials or not listed.settings:
        lines.append(Text(rates.answer))
    if failures >= ENOUGH_FAILURES:
        lines += [Text(f"  {rule.answer}") for rule in regions(frame).rules]
    cost = hang_cost(frame)
    if cost.hangs:
        lines.append(Text(cost.answer))
    lines.append(Text(_next_steps(frame, campaign, failures), style="bold"))
    return Group(*lines)


def analysis_view(analysis: Analysis, faults: Faults | None = None) -> RenderableType:
    """Return every question with its answer, what frames say where there are any, then the limits of the evidence."""
    title = Text(f"{analysis.campaign}: {analysis.trials} trials on {analysis.driver}", style="bold")
    if analysis.simulated:
        title.append(f"  {SIMULATED}", style="bold yellow")
    table = Table(box=None, padding=(0, 1, 1, 0), show_header=False)
    table.add_column(width=12, no_wrap=True)
    table.add_column(overflow="fold")
    for answer in analysis.answers:
        table.add_row(
            Text(str(answer.finding), style="bold"), Text.assemble((answer.question, "bold"), "\n", answer.answer)
        )
    settings = [settings_table(analysis.settings), Text()] if analysis.settings.settings else []
    limits = Text("Limits of this evidence: " + analysis.limits.answer, style="dim")
    places = [] if faults is None or not faults.faults else [Text(faults_text(faults)), Text()]
    return Group(title, Text(), *settings, table, *places, limits)


def faults_text(faults: Faults) -> str:
    """Return what frames say of the signatures, then every fault."""
    return "\n".join([faults.answer, *(f"  {fault.answer}" for fault in faults.faults)])


def settings_table(found: Settings) -> RenderableType:
    """Return the settings that a campaign tried several times, a row each: outcomes, failure rate, control."""
    confidence = found.settings[0].rate.interval.confidence
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("setting", overflow="fold")
    table.add_column("outcomes", overflow="fold")
    table.add_column("fails", justify="right", no_wrap=True)
    table.add_column(f"{percent(confidence)} interval", justify="right", no_wrap=True)
    table.add_column("copy by copy", justify="right", no_wrap=True)
    for setting in found.settings:
        rate = setting.rate
        by_count = sorted(setting.outcomes.items(), key=lambda item: -item[1])
        table.add_row(
            setting.name,
            counts_text((Outcome(outcome), count) for outcome, count in by_count),
            f"{rate.failures} of {rate.trials}",
            f"at most {percent(rate.interval.high)}" if not rate.failures else rate.interval.answer,
            f"{setting.control_failures} of {setting.controls}" if setting.controls else "–",
        )
    return table


def isolation_view(result: Isolated, record: TrialRecord) -> RenderableType:
    """Return which factors a failure needs, the needed ones first."""
    title = Text(f"{record.ref}: {record.signature_title}", style="bold")
    if record.simulated:
        title.append(f"  {SIMULATED}", style="bold yellow")
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for role in Role:
        for factor in result.factors:
            if factor.role is role and role is not Role.NOT_TRIED:
                table.add_row(str(role), factor.answer)
    return Group(title, table, Text(), Text(result.answer))


def comparison_view(comparison: Comparison, before: Campaign, after: Campaign) -> RenderableType:
    """Return what changed, a row per region, and which trials count."""
    title = Text("\n").join(
        Text(f"{when}: {_named(c)}", style="bold") for when, c in (("before", before), ("after", after))
    )
    counted = (
        "A region counts held-out trials of the campaign that it was found in, and all trials of the other one. "
        "Differences with 95 % intervals."
    )
    return Group(title, Text(), comparison_table(comparison), Text(), Text(counted, style="dim"))


def _named(campaign: Campaign) -> str:
    mark = f"  {SIMULATED}" if campaign.simulated else ""
    return f"{campaign.name} on {campaign.driver}{mark}"


def comparison_table(comparison: Comparison) -> RenderableType:
    """Return what changed, a row per region."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("change", no_wrap=True)
    table.add_column("region", overflow="fold", min_width=20)
    table.add_column("before", justify="right", no_wrap=True)
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("difference")
    for change in (comparison.overall, *comparison.changes):
        interval = f"{100 * change.difference.low:+.0f} to {100 * change.difference.high:+.0f} points"
        table.add_row(
            str(change.change),
            f"{change.kind}: {change.region}",
            f"{change.before.failures}/{change.before.trials}",
            f"{change.after.failures}/{change.after.trials}",
            interval,
        )
    return table


def _next_steps(frame: pd.DataFrame, campaign: Campaign, failures: int) -> str:
    if not failures:
        return f"next: bisect analyze {campaign.name}"
    rows = mapping(frame)
    first = int(rows.loc[failed(rows), "number"].iloc[-1])
    trial = f"{campaign.name}/{first}"
    commands = (f"analyze {campaign.name}", f"show {trial}", f"isolate {trial}", f"shrink {trial}")
    return "\n      ".join(("next: bisect " + commands[0], *(f"bisect {command}" for command in commands[1:])))
