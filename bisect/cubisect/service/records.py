"""What is recorded, as the API and the pages show it: the only module of the service that asks the store."""

import math
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from cubisect.analysis.compare import RegionChange, compare
from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.report.environments import differences
from cubisect.service.failure_map import Points, View
from cubisect.service.models import CampaignModel, ProgressModel, TrialDetailModel, TrialModel
from cubisect.service.processes import Launcher
from cubisect.service.snapshot import Snapshot, Snapshots
from cubisect.store import Campaign, CampaignSummary, Store, TrialRecord
from cubisect.store.export import trial_table
from cubisect.trial import Purpose

COUNT_S = 0.5
"""Age at which outcome counts are counted anew: all the readers of a large campaign share one count."""


class UnknownRecordError(InputError):
    """No campaign or trial of that name is recorded."""


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Two campaigns. `environment` and `signatures` list a name or title, and what it is before and after."""

    before: CampaignModel
    after: CampaignModel
    changes: Sequence[RegionChange]
    environment: Sequence[tuple[str, Any, Any]]
    signatures: Sequence[tuple[str, int, int]]


class Records:
    """The recorded campaigns of one database, and which of them this server runs. Used from several threads."""

    def __init__(self, store: Store, launcher: Launcher, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._launcher, self._clock = store, launcher, clock
        self._summaries: tuple[float, list[CampaignSummary]] = (-math.inf, [])
        self._snapshots = Snapshots(lambda name: Snapshot(store, self.recorded(name)))

    # -- campaigns -----------------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        """Tell whether a campaign of that name is recorded."""
        try:
            self.recorded(name)
        except UnknownRecordError:
            return False
        return True

    def recorded(self, name: str) -> Campaign:
        """Return a campaign as the store has it.

        Raises:
            UnknownRecordError: there is none of that name.
        """
        try:
            return self._store.campaign(name)
        except InputError as error:
            raise UnknownRecordError(str(error)) from error

    def campaigns(self) -> list[ProgressModel]:
        """Return where every campaign stands, the latest first."""
        return [ProgressModel.model_validate(self._standing(summary)) for summary in self._counted()]

    def progress(self, name: str) -> ProgressModel:
        """Return where a campaign stands."""
        return ProgressModel.model_validate(self._standing(self._summary(name)))

    def campaign(self, name: str) -> CampaignModel:
        """Return a campaign with what was asked and where it ran."""
        campaign = self.recorded(name)
        own = {"seed": campaign.seed, "environment": campaign.environment, "space": campaign.space.to_json()}
        return CampaignModel.model_validate({**self._standing(self._summary(name)), **own})

    def count_anew(self) -> None:
        """Let the next answer be counted in the store, after something was started or stopped."""
        self._summaries = (-math.inf, [])

    def _summary(self, name: str) -> CampaignSummary:
        for summary in self._counted():
            if summary.name == name:
                return summary
        self.count_anew()
        self.recorded(name)
        return next(summary for summary in self._counted() if summary.name == name)

    def _counted(self) -> list[CampaignSummary]:
        """Return all summaries, counted anew when they are older than `COUNT_S`."""
        counted_at, summaries = self._summaries
        if self._clock() - counted_at > COUNT_S:
            summaries = self._store.campaigns()
            self._summaries = (self._clock(), summaries)
        return summaries

    def _standing(self, summary: CampaignSummary) -> dict[str, Any]:
        return {
            **asdict(summary),
            "outcomes": {str(outcome): count for outcome, count in sorted(summary.outcomes.items(), key=_order)},
            "running_here": self._launcher.running(summary.name),
            "complete": summary.done >= summary.budget,
            "message": self._launcher.failure(summary.name),
        }

    # -- trials --------------------------------------------------------------------------------------------------------

    def snapshot(self, name: str) -> Snapshot:
        """Return the finished trials of a campaign."""
        summary = self._summary(name)
        return self._snapshots.get(name, (summary.created_at, sum(summary.outcomes.values()), summary.running))

    def trials(
        self,
        name: str,
        *,
        outcomes: Iterable[Outcome] | None = None,
        purposes: Iterable[Purpose] | None = None,
        limit: int,
    ) -> list[TrialModel]:
        """Return the latest trials of a campaign."""
        records = self._store.trials(
            self.recorded(name), outcomes=outcomes, purposes=purposes, limit=limit, newest_first=True
        )
        return [TrialModel.model_validate(_trial(record)) for record in records]

    def latest(
        self, name: str, snapshot: Snapshot, points: Points, view: View | None, *, only_failing: bool, limit: int
    ) -> tuple[list[TrialRecord], int]:
        """Return the latest trials of the map in a view, and how many there are in all."""
        numbers, total = snapshot.latest(points, view, only_failing=only_failing, limit=limit)
        return self._store.trials(self.recorded(name), numbers=numbers, newest_first=True), total

    def record(self, name: str, number: int) -> TrialRecord:
        """Return a trial as the store has it.

        Raises:
            UnknownRecordError: there is no such campaign or trial.
        """
        self.recorded(name)
        try:
            return self._store.trial(f"{name}/{number}")
        except InputError as error:
            raise UnknownRecordError(str(error)) from error

    def environment_of(self, record: TrialRecord) -> Mapping[str, Any]:
        """Return the environment in which a trial ran."""
        return self._store.environment_of(record)

    def trial(self, name: str, number: int) -> TrialDetailModel:
        """Return a trial with its evidence, and how the same batch ended otherwise."""
        record = self.record(name, number)
        snapshot = self.snapshot(name)
        return TrialDetailModel.model_validate(
            {
                **_trial(record),
                "evidence": record.evidence_json,
                "features": {key: _plain(value) for key, value in record.features.items()},
                "controls": snapshot.of_parent(number, Purpose.CONTROL),
                "replicates": snapshot.of_parent(number, Purpose.REPLICATE),
                "environment": self.environment_of(record),
                "replay": f"bisect replay {shlex.quote(record.ref)} --times 20",
            }
        )

    # -- whole campaigns -----------------------------------------------------------------------------------------------

    def frame(self, name: str) -> pd.DataFrame:
        """Return every finished trial, every column."""
        return self._store.frame(self.recorded(name))

    def table(self, name: str) -> pd.DataFrame:
        """Return it with campaign, driver, whether it is simulated, and where each trial ran."""
        return trial_table(self._store, self.recorded(name))

    def side_by_side(self, before: str, after: str) -> SideBySide:
        """Return what changed from one campaign to another."""
        comparison = compare(self.frame(before), self.frame(after))
        return SideBySide(
            before=self.campaign(before),
            after=self.campaign(after),
            changes=[change for change in (comparison.overall, *comparison.changes) if change is not None],
            environment=differences(self.recorded(before).environment, self.recorded(after).environment),
            signatures=_joined(self.snapshot(before).signatures(), self.snapshot(after).signatures()),
        )


def _trial(record: TrialRecord) -> dict[str, Any]:
    """Return the values of a `TrialModel`."""
    own = {name: getattr(record, name) for name in TrialModel.model_fields if hasattr(record, name)}
    spec = record.spec
    return {**own, "trial": record.ref, "method": spec.method, "seed": spec.seed, "point": spec.point.values()}


def _order(item: tuple[Outcome, int]) -> int:
    return list(Outcome).index(item[0])


def _plain(value: float) -> float:
    """Return a whole number as an integer."""
    return int(value) if float(value).is_integer() else value


def _joined(before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return the counts of two tables by key, the commonest first."""
    rows = [(key, before.get(key, 0), after.get(key, 0)) for key in {**before, **after}]
    return sorted(rows, key=lambda row: (-row[1] - row[2], row[0]))
