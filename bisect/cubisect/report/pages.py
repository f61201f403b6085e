"""A report to attach to a bug: everything a campaign showed, as one HTML page or one Markdown text.

Both come from the same facts; the HTML page needs no network and no other file.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from cubisect.analysis.control import Control, control_effect
from cubisect.analysis.faults import Faults
from cubisect.analysis.frame import conclusive, explored, failing_kinds
from cubisect.analysis.rates import Rate
from cubisect.analysis.result import plural
from cubisect.analysis.summary import Analysis, analyze
from cubisect.report import plots
from cubisect.report.facts import Rows, asked_rows, environment_rows, outcomes_of, seen_rows
from cubisect.report.minimal import MinimalCase, described, minimal_sentence
from cubisect.report.text_grid import text_grid
from cubisect.report.trial_map import BOTTOM, EDGE, HEIGHT, LEFT, WIDTH, trial_map
from cubisect.store import Campaign, TrialRecord

MOST_MARKDOWN = 65_000
"""Characters; GitHub takes an issue of 65,536."""


@dataclass(frozen=True)
class Report:
    """What a report says of a campaign, or of one trial within it.

    `runs` are of the trial's very batch, both ways, the trial itself left out; `minimal` is what shrinking left, the
    smallest first; `files` are the texts of a reproducer by name and `listed` is the trial that they submit, `faults`
    what frames say of the signatures.
    """

    campaign: Campaign
    frame: pd.DataFrame
    trial: TrialRecord | None = None
    runs: Sequence[Rate] = ()
    minimal: Sequence[MinimalCase] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    listed: TrialRecord | None = None
    faults: Faults = field(default_factory=lambda: Faults(faults=()))

    @cached_property
    def analysis(self) -> Analysis:
        """Everything that the trials say."""
        return analyze(self.frame, self.campaign.space)

    def html(self) -> str:
        """Return the report as a self-contained page."""
        return self._render("report.html.j2", html=True)

    def markdown(self) -> str:
        """Return the report as text to paste into a bug tracker; without the listing where that would be too long."""
        text = self._render("report.md.j2", html=False)
        return text if len(text) <= MOST_MARKDOWN else self._render("report.md.j2", html=False, listing=False)

    def _render(self, template: str, *, html: bool, listing: bool = True) -> str:
        analysis, pictures = self.analysis, self._pictures() if html else {}
        return _templates(html=html).get_template(template).render(
            campaign=self.campaign, simulated=self.campaign.simulated, analysis=analysis, title=self._title,
            summary=self._summary(), contents=self._contents(), facts=environment_rows(self.campaign),
            asked=asked_rows(self.campaign.space), outcomes=outcomes_of(analysis.rates, self.frame),
            rules=analysis.regions.rules, outside=self._outside(), control=self._control, own_control=self._own_control,
            trial=self.trial, size=self._size(), seen=self._seen(), runs=self.runs, minimal=self.minimal,
            minimal_sentence=minimal_sentence, files=self.files, listed=self.listed, listing=listing,
            faults=self.faults, pictures=pictures, grid=None if html else text_grid(self.frame),
            map=trial_map(self.frame, analysis.regions.rules) if html else None,
            width=WIDTH, height=HEIGHT, left=LEFT, bottom=BOTTOM, edge=EDGE,
            environment=json.dumps(_public(self.campaign.environment), indent=2, default=str),
        )  # fmt: skip

    @property
    def _title(self) -> str:
        if self.trial is None:
            return self.campaign.name
        return f"{self.trial.signature_title or self.trial.outcome}, trial {self.trial.ref}"

    def _summary(self) -> str:
        """Return what a reader must know when reading no further."""
        smallest = [minimal_sentence(self.minimal[0])] if self.minimal else []
        if self.trial is not None:
            whose = "" if self._own_control else f"In campaign {self.campaign.name}: "
            return " ".join([*self._how_it_ended(self.trial), *smallest, whose + self._control.answer])
        return " ".join([*self._how_many(), self._control.answer, *smallest])

    def _how_it_ended(self, trial: TrialRecord) -> Iterator[str]:
        yield f"How it ended: {trial.reason}."
        again = ", ".join(f"{run.failures} of {run.trials} {run.what} failed" for run in self.runs)
        if again:
            yield f"The same batch again: {again}."

    def _how_many(self) -> Iterator[str]:
        overall, every = self.analysis.rates.overall, conclusive(self.frame)
        yield f"{overall.failures} of {plural(overall.trials, 'explored trial')} failed ({overall.interval.answer})."
        counts = ", ".join(f"{kind} {int((every['outcome'] == kind).sum())}" for kind in failing_kinds(every))
        if counts:
            led = ", those led to failures included" if len(every) > overall.trials else ""
            yield f"Of all {len(every):,} trials{led}, these failed: {counts}."

    def _size(self) -> Mapping[str, str]:
        return described(self.trial.spec) if self.trial else {}

    def _seen(self) -> Rows:
        return seen_rows(self.trial.evidence) if self.trial and self.trial.evidence else []

    def _contents(self) -> list[tuple[str, str]]:
        cases = [(f"minimal{k}", f"Minimal case {k}") for k in range(1, len(self.minimal) + 1)]
        files = [(f"file{k}", name) for k, name in enumerate(self.files, 1)]
        trial = [("trial", "Trial")] if self.trial else []
        return [
            *trial, ("environment", "Environment"), ("asked", "What was asked"), ("outcomes", "Outcomes"),
            ("map", "Map"), ("rules", "Where it fails"), ("monotone", "Monotone?"), ("control", "Control"), *cases,
            ("answers", "Open questions"), ("limits", "Limits"), *files,
        ]  # fmt: skip

    def _outside(self) -> str:
        found = self.analysis.regions
        if not found.rules:
            return found.answer
        left = sum(found.outside.values())
        return f"{plural(left, 'failing trial')} outside of these rules." if left else "No failing trial lies outside."

    @cached_property
    def _control(self) -> Control:
        """What the controls say: of the trial and what it was shrunk to where there are any, else of the campaign."""
        return self._of_trial if self._own_control else self.analysis.control

    @property
    def _own_control(self) -> bool:
        return self.trial is not None and self._of_trial.pairs > 0

    @cached_property
    def _of_trial(self) -> Control:
        numbers = [record.number for record in (self.trial, *(case.after for case in self.minimal)) if record]
        return control_effect(self.frame[self.frame["parent"].isin(numbers) | self.frame["number"].isin(numbers)])

    def _pictures(self) -> dict[str, str]:
        """Return the pictures by what they show, as base64 of a PNG."""
        figures: dict[str, Figure] = {}
        for curve in self.analysis.monotonicity.curves:
            if curve.trials:
                what = f"Failure rate of explored trials by {curve.axis}; dashed: the best monotone curve"
                figures[what] = plots.rate_curves(self.frame, [curve], titled=False)
        for name in plots.varied_categories(explored(self.frame))[:2]:
            figures[f"Failure rate of explored trials by {name}"] = plots.outcomes_by(self.frame, name, titled=False)
        return {name: base64.b64encode(plots.png(figure)).decode() for name, figure in figures.items()}


def _templates(*, html: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cubisect.report"),
        autoescape=html,  # noqa: S701  (Markdown is text, and pasted as such)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"code": _code, "base64": lambda text: base64.b64encode(text.encode()).decode()}
    return environment


def _code(text: str) -> Markup:
    """Return text as HTML, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  (escaped just before)


_PRIVATE = frozenset({"uuid", "pci_bus_id", "serial", "hostname", "node", "user"})
"""What names one machine, and has no place on a page that is attached to a public report."""


def _public(found: Any) -> Any:
    """Return an environment without what names one machine."""
    if isinstance(found, Mapping):
        return {name: _public(value) for name, value in found.items() if name not in _PRIVATE}
    return [_public(value) for value in found] if isinstance(found, list) else found
