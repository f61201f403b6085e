"""The loop of a campaign: ask for a point, run it, record it, tell what happened.

One loop serves one process. Several may join the same campaign: each adds the others' finished trials to its own
study, and the store shares out the budget.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import optuna

from cubisect.errors import UnfitEnvironmentError
from cubisect.outcome import FAILURES, Outcome
from cubisect.search.distributions import distributions
from cubisect.search.plan import kind_of, plan_of, recorded_trial, tell_outcome
from cubisect.search.recorder import POLL_S, Recorder, told_by
from cubisect.space import Point
from cubisect.store import Campaign, Plan, Store, TrialRecord
from cubisect.trial import BUDGETED, Method, Origin, Purpose, TrialSpec, derive_seed

AHEAD = 1
"""Trials that wait for a lane, so that none waits for the search and the store. The sampler knows them as running."""

CONTROLS_PER_SIGNATURE = 3
"""Per-descriptor runs of the batch that first showed a signature: enough to see at once whether it is the batch call;
`bisect control` runs more."""

IDLE_POLL_S = 0.1
"""With nothing of ours running, how often to see whether the other processes have finished, or are gone."""

FRUITLESS_LIMIT = 25
"""So many inconclusive trials in a row say that this machine cannot run the campaign."""


@dataclass(kw_only=True)
class Progress:
    """Where a campaign stands.

    `seconds_in_trials` is wall time of this run's trials, summed over lanes; so is `seconds_in_hangs`, of those that
    hung.
    """

    budget: int
    done: int = 0
    done_at_start: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    controls: Counter[Outcome] = field(default_factory=Counter)
    signatures: Counter[str] = field(default_factory=Counter)
    last_failure: TrialRecord | None = None
    elapsed_s: float = 0.0
    seconds_in_trials: float = 0.0
    seconds_in_hangs: float = 0.0

    def count(self, record: TrialRecord) -> None:
        """Add one finished trial."""
        outcome = told_by(record)
        if record.purpose is Purpose.CONTROL:
            self.controls[outcome] += 1
        if record.purpose not in BUDGETED:
            return
        self.outcomes[outcome] += 1
        self.done += outcome is not Outcome.INCONCLUSIVE
        if outcome in FAILURES:
            self.last_failure = record
            self.signatures[record.signature_title or str(outcome)] += 1

    def eta_s(self) -> float | None:
        """Return the seconds left at the mean rate of this run, None before the first trial of it is done."""
        ran = self.done - self.done_at_start
        return None if ran <= 0 else self.elapsed_s / ran * (self.budget - self.done)


Listener = Callable[[Progress, TrialRecord | None], None]
"""Told after every finished trial, and with None now and then while none finishes."""


class CampaignLoop:
    """Runs one campaign until its budget is spent.

    `seed` draws the batches; processes that have joined one campaign have one each, so that no two run the same trial.
    """

    def __init__(
        self,
        store: Store,
        campaign: Campaign,
        recorder: Recorder,
        sampler: optuna.samplers.BaseSampler,
        *,
        seed: int,
        enqueue: Sequence[Point] = (),
        controls: bool = True,
        listener: Listener | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._campaign, self._recorder = store, campaign, recorder
        self._space, self._seed = campaign.space, seed
        self._controls, self._listener, self._clock = controls, listener, clock
        self._distributions = distributions(campaign.space)
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # it announces every study on stderr
        self._study = optuna.create_study(sampler=sampler)
        self._asked: dict[int, optuna.Trial] = {}
        self._records: dict[int, TrialRecord] = {}  # by the study's trial number
        self._study_numbers: dict[int, int] = {}  # from the store's trial number to the study's
        self._control_plans: deque[Plan] = deque()
        self._signatures: set[str] = set()
        self._study_size = 0
        self._joined = 0  # so many of the campaign's finished trials are known here
        self._behind = True  # other processes have finished more, or may have
        self._spent = True  # the budget is, or may be
        self._fruitless = 0
        self.progress = Progress(budget=campaign.budget)
        self._restore(enqueue)

    def run(self) -> Progress:
        """Run until the budget is spent and every running trial is recorded.

        Raises:
            UnfitEnvironmentError: the GPU failed its canary, or trial after trial was inconclusive.
            KeyboardInterrupt: passed on, after running trials were given back to the store.
        """
        started, record = self._clock(), None
        try:
            while True:
                self._fill()
                self.progress.elapsed_s = self._clock() - started
                if self._listener is not None:  # after the lanes have been filled, which need not wait for it
                    self._listener(self.progress, record)
                if not self._recorder.busy() and self._others_are_done():
                    self._join()
                    return self.progress
                finished = self._recorder.poll(POLL_S if self._recorder.busy() else IDLE_POLL_S)
                record = None if finished is None else self._finish(*finished)
        finally:
            self._recorder.close()

    def _others_are_done(self) -> bool:
        """Tell whether no other process runs a trial; what a killed one has left is ours to finish."""
        self._behind = True
        if not self._store.others_running(self._campaign):
            return True
        self._store.release_lost(self._campaign)
        return False

    # -- asking --------------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Start trials until all lanes are busy and more wait: controls first, then what the sampler proposes."""
        while self._recorder.has_room(AHEAD):
            if self._control_plans:
                self._recorder.start(self._control_plans.popleft())
            elif not self._start_search():
                return

    def _start_search(self) -> bool:
        if self._spent and self._store.budget_left(self._campaign) <= 0:
            return False
        if self._behind:
            self._join()
        trial = self._study.ask(self._distributions)
        self._study_size = trial.number + 1
        self._spent = not self._recorder.start(self._plan(trial), trial.number)
        if self._spent:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            return False
        self._asked[trial.number] = trial
        return True

    def _plan(self, trial: optuna.Trial) -> Plan:
        """Return the trial that the sampler asked for: a new point, or a known batch or point once more."""
        planned = plan_of(trial)
        parent = None if planned.parent is None else self._records[planned.parent]
        point = self._space.point(trial.params) if parent is None else parent.spec.point
        seed = derive_seed(self._seed, "batch", trial.number)
        if parent is not None and planned.purpose is Purpose.REPLICATE:
            seed = parent.spec.seed
        run_seed = derive_seed(self._seed, "run", trial.number)
        return Plan(
            spec=TrialSpec.at(point, seed=seed, run_seed=run_seed),
            purpose=planned.purpose,
            origin=planned.origin,
            parent=None if parent is None else parent.number,
        )

    # -- telling -------------------------------------------------------------------------------------------------------

    def _finish(self, record: TrialRecord, study_number: int | None) -> TrialRecord:
        self.progress.count(record)
        self.progress.seconds_in_trials += record.wall_s
        self.progress.seconds_in_hangs += record.wall_s if record.outcome is Outcome.HANG else 0.0
        self._behind = self._behind or record.finished != self._joined + 1  # a gap: others have finished some
        if not self._behind:
            self._joined += 1
        if study_number is None:
            return record
        outcome = told_by(record)
        kind = kind_of(outcome, record.cuda_error)
        tell_outcome(self._study, self._asked.pop(study_number), outcome, cost_s=record.wall_s, kind=kind)
        self._remember(record, study_number)
        self._plan_controls(record)
        self._check_fruitful(record, outcome)
        return record

    def _remember(self, record: TrialRecord, study_number: int) -> None:
        self._records[study_number] = record
        self._study_numbers[record.number] = study_number

    def _plan_controls(self, record: TrialRecord) -> None:
        """Queue per-descriptor runs of the batch that showed a signature for the first time."""
        if record.signature is None or record.tainted or record.signature in self._signatures:
            return
        self._signatures.add(record.signature)
        if self._controls:
            for run in range(CONTROLS_PER_SIGNATURE):
                run_seed = derive_seed(record.spec.run_seed, "control", run)
                spec = replace(record.spec, method=Method.PERCOPY, run_seed=run_seed)
                self._control_plans.append(Plan(spec=spec, purpose=Purpose.CONTROL, origin=None, parent=record.number))

    def _check_fruitful(self, record: TrialRecord, outcome: Outcome) -> None:
        self._fruitless = self._fruitless + 1 if outcome is Outcome.INCONCLUSIVE else 0
        if self._fruitless >= FRUITLESS_LIMIT:
            raise UnfitEnvironmentError(
                f"{FRUITLESS_LIMIT} trials in a row were inconclusive, the last because: {record.reason}; "
                f"type `bisect doctor`, then `bisect explore --resume {self._campaign.name}`"
            )

    # -- the past, and what other processes have finished --------------------------------------------------------------

    def _restore(self, enqueue: Sequence[Point]) -> None:
        self._join()
        self.progress.done_at_start = self.progress.done
        tried = Counter(r.spec.point for r in self._records.values() if r.origin is Origin.ENQUEUED)
        for point in enqueue:  # one that is listed several times is tried as often, with a new batch each time
            if tried[point]:
                tried[point] -= 1
            elif self._space.contains(point):
                self._study.enqueue_trial(dict(self._space.coordinates(point)))

    def _join(self) -> None:
        """Add what other processes (or this campaign's earlier ones) have finished to the study."""
        self._behind = False
        for record in self._store.finished_after(self._campaign, self._joined):
            self._joined = record.finished or self._joined
            if record.owner == self._store.owner or record.tainted:
                continue
            self.progress.count(record)
            if record.purpose in BUDGETED:
                self._add(record)

    def _add(self, record: TrialRecord) -> None:
        outcome = told_by(record)
        frozen = recorded_trial(
            self._space,
            self._space.coordinates(record.spec.point),
            outcome,
            origin=record.origin or Origin.EXPLORE,
            purpose=record.purpose,
            parent=None if record.parent is None else self._study_numbers.get(record.parent),
            cost_s=record.wall_s,
            kind=kind_of(outcome, record.cuda_error),
        )
        self._remember(record, self._study_size)
        self._study.add_trial(frozen)
        self._study_size += 1
        if record.signature is not None:
            self._signatures.add(record.signature)
