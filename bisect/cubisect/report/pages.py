"""A report to attach to a bug: everything a campaign showed, as one HTML page or one Markdown text.

Both come from the same facts; the HTML page needs no network and no other file.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jinja2
import pandas as pd

from cubisect.analysis.control import Control, control_effect
from cubisect.analysis.faults import Faults
from cubisect.analysis.frame import failed, mapping
from cubisect.analysis.rates import Rate
from cubisect.analysis.result import amount, plural
from cubisect.analysis.summary import Analysis, analyze
from cubisect.report import plots
from cubisect.report.minimal import MinimalCase, minimal_sentence
from cubisect.report.terminal import size
from cubisect.report.text_grid import text_grid
from cubisect.report.trial_map import BOTTOM, EDGE, HEIGHT, LEFT, WIDTH, trial_map
from cubisect.store import Campaign, TrialRecord


@dataclass(frozen=True)
class Report:
    """What a report says of a campaign, or of one trial within it.

    `minimal` is what shrinking left, the smallest first; `files` are the texts of a reproducer by name and `listed` is
    the trial that they submit, `faults` what frames say of the signatures.
    """

    campaign: Campaign
    frame: pd.DataFrame
    trial: TrialRecord | None = None
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
        """Return the report as text to paste into a bug tracker."""
        return self._render("report.md.j2", html=False)

    def _render(self, template: str, *, html: bool) -> str:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("cubisect.report"),
            autoescape=html,  # noqa: S701  (Markdown is text, and pasted as such)
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        environment.filters["size"] = size
        analysis = self.analysis
        return environment.get_template(template).render(
            campaign=self.campaign, simulated=self.campaign.simulated, analysis=analysis, summary=self._summary(),
            contents=self._contents(), rates=self._rates(), asked=self._asked(), facts=self._facts(),
            rules=analysis.regions.rules, outside=self._outside(), control=self._control(), trial=self.trial,
            minimal=self.minimal, minimal_sentence=minimal_sentence, files=self.files, listed=self.listed,
            faults=self.faults,
            pictures=self._pictures() if html else {}, grid=None if html else text_grid(self.frame),
            map=trial_map(self.frame, analysis.regions.rules) if html else None,
            width=WIDTH, height=HEIGHT, left=LEFT, bottom=BOTTOM, edge=EDGE,
            environment=json.dumps(_public(self.campaign.environment), indent=2, default=str),
        )  # fmt: skip

    def _summary(self) -> str:
        """Return what a reader must know when reading no further."""
        overall = self.analysis.rates.overall
        what = f"{overall.failures} of {plural(overall.trials, 'explored trial')} failed ({overall.interval.answer})"
        kinds = ", ".join(f"{rate.what} {rate.failures}" for rate in self.analysis.rates.by_outcome if rate.failures)
        smallest = f" {minimal_sentence(self.minimal[0])}" if self.minimal else ""
        return f"{what}{f': {kinds}' if kinds else ''}. {self._control().answer}{smallest}"

    def _contents(self) -> list[tuple[str, str]]:
        cases = [(f"minimal{k}", f"Minimal case {k}") for k in range(1, len(self.minimal) + 1)]
        files = [(f"file{k}", name) for k, name in enumerate(self.files, 1)]
        return [
            ("environment", "Environment"), ("asked", "What was asked"), ("outcomes", "Outcomes"), ("map", "Map"),
            ("rules", "Where it fails"), ("monotone", "Monotone?"), ("control", "Control"), *cases, *files,
            ("answers", "Open questions"), ("limits", "Limits"),
        ]  # fmt: skip

    def _outside(self) -> str:
        found = self.analysis.regions
        if not found.rules:
            return found.answer
        left = sum(found.outside.values())
        return f"{plural(left, 'failing trial')} outside of these rules." if left else "No failing trial lies outside."

    def _control(self) -> Control:
        """Return what the controls say: of the trial and what it was shrunk to, or of the campaign."""
        if self.trial is None:
            return self.analysis.control
        numbers = [self.trial.number, *(case.after.number for case in self.minimal)]
        return control_effect(self.frame[self.frame["parent"].isin(numbers) | self.frame["number"].isin(numbers)])

    def _rates(self) -> list[Rate]:
        rates = self.analysis.rates
        return [rates.overall, *(rate for rate in (*rates.by_outcome, *rates.by_signature) if rate.failures)]

    def _asked(self) -> list[tuple[str, str]]:
        space = self.campaign.space
        rows = []
        for name, domain in space.varied.items():
            if isinstance(domain, tuple):
                text = ", ".join(map(str, domain))
            else:
                text = f"{amount(name, domain.low)} to {amount(name, domain.high)}"
            rows.append((name, text))
        held = space.base.departures()
        return rows + [(f"{name} (held)", str(value)) for name, value in held.items() if name not in space.varied]

    def _facts(self) -> list[tuple[str, str]]:
        driver = self.campaign.environment.get("driver", {})
        device = (driver.get("devices") or [{}])[0]
        rows, cuda = mapping(self.frame), driver.get("cuda_version")
        found = [
            ("driver under test", self.campaign.driver + (" (SIMULATED)" if self.campaign.simulated else "")),
            ("GPU", device.get("name")),
            ("VBIOS", device.get("vbios")),
            ("driver version", driver.get("driver_version")),
            ("CUDA version", cuda and f"{cuda // 1000}.{cuda % 1000 // 10}"),
            ("kernel", self.campaign.environment.get("host", {}).get("kernel")),
            ("trials", f"{len(rows)}, of which {int(failed(rows).sum())} failed"),
            ("campaign", f"{self.campaign.name}, seed {self.campaign.seed}, sampler {self.campaign.sampler}"),
        ]
        return [(name, str(value)) for name, value in found if value]

    def _pictures(self) -> dict[str, str]:
        analysis = self.analysis
        figures: dict[str, Any] = {}
        if any(curve.trials for curve in analysis.monotonicity.curves):
            figures["rate curves"] = plots.rate_curves(self.frame, analysis.monotonicity.curves)
        for name in plots.varied_categories(self.frame)[:2]:
            figures[f"failure rate by {name}"] = plots.outcomes_by(self.frame, name)
        return {name: base64.b64encode(plots.png(figure)).decode() for name, figure in figures.items()}


_PRIVATE = frozenset({"uuid", "pci_bus_id", "serial", "hostname", "node", "user"})
"""What names one machine, and has no place on a page that is attached to a public report."""


def _public(found: Any) -> Any:
    """Return an environment without what names one machine."""
    if isinstance(found, Mapping):
        return {name: _public(value) for name, value in found.items() if name not in _PRIVATE}
    return [_public(value) for value in found] if isinstance(found, list) else found
