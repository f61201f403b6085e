"""A report to attach to a bug: everything a campaign showed, as one HTML page or one Markdown text.

Both come from the same facts; the HTML page needs no network and no other file.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jinja2
import pandas as pd

from cubisect.analysis.frame import failed, mapping
from cubisect.analysis.rates import Rate
from cubisect.analysis.summary import Analysis, analyze
from cubisect.report import plots
from cubisect.report.terminal import size
from cubisect.store import Campaign, TrialRecord


@dataclass(frozen=True)
class Report:
    """What a report says of a campaign, or of one trial within it.

    `files` are the texts of a reproducer by name, where one has been made.
    """

    campaign: Campaign
    frame: pd.DataFrame
    trial: TrialRecord | None = None
    files: Mapping[str, str] | None = None

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
        return environment.get_template(template).render(
            campaign=self.campaign,
            simulated=self.campaign.simulated,
            analysis=self.analysis,
            rates=self._rates(),
            asked=self._asked(),
            facts=self._facts(),
            trial=self.trial,
            files=self.files or {},
            pictures=self._pictures() if html else {},
            environment=json.dumps(_public(self.campaign.environment), indent=2, default=str),
        )

    def _rates(self) -> list[Rate]:
        rates = self.analysis.rates
        return [rate for rate in (rates.overall, *rates.by_outcome, *rates.by_signature) if rate.failures]

    def _asked(self) -> list[tuple[str, str]]:
        space = self.campaign.space
        rows = []
        for name, domain in space.varied.items():
            text = ", ".join(map(str, domain)) if isinstance(domain, tuple) else f"{domain.low:g} to {domain.high:g}"
            rows.append((name, text))
        held = space.base.departures()
        return rows + [(f"{name} (held)", str(value)) for name, value in held.items() if name not in space.varied]

    def _facts(self) -> list[tuple[str, str]]:
        driver = self.campaign.environment.get("driver", {})
        device = (driver.get("devices") or [{}])[0]
        rows = mapping(self.frame)
        found = [
            ("driver under test", self.campaign.driver + (" (SIMULATED)" if self.campaign.simulated else "")),
            ("GPU", device.get("name")),
            ("VBIOS", device.get("vbios")),
            ("driver version", driver.get("driver_version")),
            ("CUDA version", driver.get("cuda_version")),
            ("kernel", self.campaign.environment.get("host", {}).get("kernel")),
            ("trials", f"{len(rows)}, of which {int(failed(rows).sum())} failed"),
            ("campaign", f"{self.campaign.name}, seed {self.campaign.seed}, sampler {self.campaign.sampler}"),
        ]
        return [(name, str(value)) for name, value in found if value]

    def _pictures(self) -> dict[str, str]:
        analysis = self.analysis
        figures: dict[str, Any] = {"failure map": plots.failure_map(self.frame, analysis.regions.rules)}
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
