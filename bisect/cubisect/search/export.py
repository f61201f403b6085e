"""A recorded campaign as an Optuna study, so that optuna-dashboard opens it and an Optuna user goes on from it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import optuna
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import BaseJournalBackend, JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial

from cubisect.errors import InputError
from cubisect.outcome import Outcome
from cubisect.search.plan import kind_of, recorded_trial
from cubisect.space import Space
from cubisect.store import TrialRecord
from cubisect.store.database import without_password
from cubisect.trial import BUDGETED, Origin

ORIGIN_UNKNOWN = Origin.ENQUEUED
"""A recorded trial without an origin was asked for by a person."""


def export_study(
    records: Sequence[TrialRecord],
    space: Space,
    name: str,
    target: str,
    *,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Write the campaign's search trials as a study called `name`; return how many.

    Parameters are the coordinates that the samplers work with (log2 on log axes); values, outcome, signature and
    reason are user attributes; the objective is the severity of the outcome. `about` are attributes of the study.
    `target` is a database URL (``sqlite:///study.db``) or the path of an Optuna journal, which is many times as fast
    and is written in one piece.

    Raises:
        InputError: the target cannot be opened, or holds a study of this name.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it announces every study on stderr
    journal = None if "://" in target else _journal(target)
    study = _new_study(name, target, journal)
    for key, value in about.items():
        study.set_user_attr(key, value)
    numbers: dict[int, int] = {}  # of the campaign's trials to those of the study
    ended = [r for r in records if r.purpose in BUDGETED and r.outcome is not None]
    for record in sorted(ended, key=lambda r: (r.finished or 0, r.number)):
        study.add_trial(_trial(record, space, numbers))
        numbers[record.number] = len(numbers)
    if journal is not None:
        journal.write()
    return len(numbers)


def _trial(record: TrialRecord, space: Space, numbers: dict[int, int]) -> FrozenTrial:
    outcome = Outcome(record.outcome or Outcome.INCONCLUSIVE)
    trial = recorded_trial(
        space,
        space.coordinates(record.spec.point),
        outcome,
        origin=record.origin or ORIGIN_UNKNOWN,
        purpose=record.purpose,
        parent=None if record.parent is None else numbers.get(record.parent),
        cost_s=record.wall_s,
        kind=kind_of(outcome, record.cuda_error),
        direction=StudyDirection.MAXIMIZE,
    )
    told = {"trial": record.ref, "reason": record.reason, "signature": record.signature_title}
    varied = {axis: getattr(record.spec, axis) for axis in space.varied}
    trial.user_attrs = {**trial.user_attrs, **{k: v for k, v in told.items() if v is not None}, **varied}
    if record.started_at is not None and record.ended_at is not None:
        trial.datetime_start, trial.datetime_complete = _naive(record.started_at), _naive(record.ended_at)
    return trial


def _naive(moment: datetime) -> datetime:
    """Return the moment in UTC without saying so, as Optuna stores it."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


class _WholeJournal(BaseJournalBackend):  # type: ignore[misc]  # Optuna is not typed
    """A journal that is added to its file in one piece: Optuna would wait for the disk after every trial."""

    def __init__(self, path: str) -> None:
        self._file = JournalFileBackend(path)
        self._logs: list[dict[str, Any]] = list(self._file.read_logs(0))
        self._there = len(self._logs)

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        """Return what is in the file, and what will be."""
        return self._logs[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Keep it until `write`, as the file would give it back."""
        self._logs += json.loads(json.dumps(logs))

    def write(self) -> None:
        """Add everything that is new to the file."""
        self._file.append_logs(self._logs[self._there :])


def _journal(target: str) -> _WholeJournal:
    try:
        if Path(target).exists():
            with Path(target).open("rb") as file:
                if file.read(1) not in {b"", b"{"}:  # the journal would be written at its end
                    raise InputError(f"{target}: is there already and no Optuna journal; name a new file")
        return _WholeJournal(target)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error


def _new_study(name: str, target: str, journal: _WholeJournal | None) -> optuna.Study:
    try:
        storage = RDBStorage(target) if journal is None else JournalStorage(journal)
        return optuna.create_study(study_name=name, storage=storage, direction=StudyDirection.MAXIMIZE)
    except optuna.exceptions.DuplicatedStudyError as error:
        raise InputError(f"{without_password(target)} already holds a study {name!r}; give another file") from error
    except Exception as error:
        raise _unwritable(target, error) from error


def _unwritable(target: str, error: Exception) -> InputError:
    shown = without_password(target)
    return InputError(f"{shown}: cannot be written as an Optuna storage ({error}); give a path or sqlite:///FILE.db")
