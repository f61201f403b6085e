"""What shrinking left: for each shrunk trial the smallest recorded one that fails as it does, and how often."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.result import plural
from cubisect.outcome import FAILURES, Outcome
from cubisect.space import AXES
from cubisect.store import Campaign, Store, TrialRecord
from cubisect.trial import Purpose, TrialSpec

SETTLED_RUNS = 20
"""So often `shrink` runs what it ends with (a round number may be larger than what it came from)."""

LEAST_RATE = 0.5
"""What fails more seldom is no minimal case: a vendor would have to try it too often."""


@dataclass(frozen=True, kw_only=True)
class MinimalCase:
    """A trial and what it was shrunk to. `rate` is of the last runs of the smallest, `trials` what shrinking took."""

    before: TrialRecord
    after: TrialRecord
    rate: Rate
    trials: int

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """What there was before and is after, by name; what is the same is left out."""
        before, after = described(self.before.spec), described(self.after.spec)
        pairs = [(name, _value(before, name), _value(after, name)) for name in {**before, **after}]
        return [pair for pair in pairs if pair[0] in _ALWAYS or pair[1] != pair[2]]


def _value(described: Mapping[str, str], name: str) -> str:
    return described[name] if name in described else str(AXES[name].default)


_ALWAYS = ("copies", "bytes", "submissions")
_SIZE_AXES = frozenset({"descriptor_count", "total_bytes", "repetition"})


def described(spec: TrialSpec) -> dict[str, str]:
    """Return how large a trial is, and its axes that are not at their defaults, by name."""
    sizes = spec.sizes
    values = {"copies": f"{len(sizes):,}", "bytes": f"{int(sizes.sum()):,}", "submissions": f"{spec.repetition:,}"}
    others = {k: f"{v:.3g}" if isinstance(v, float) else str(v) for k, v in spec.point.departures().items()}
    return values | {name: text for name, text in others.items() if name not in _SIZE_AXES}


def minimal_cases(store: Store, campaign: Campaign, trial: TrialRecord | None = None) -> list[MinimalCase]:
    """Return the minimal case of every shrunk trial of a campaign, or of one trial; the smallest first."""
    runs: dict[int, list[TrialRecord]] = {}
    for record in store.trials(campaign, purposes=[Purpose.SHRINK]):
        if record.parent is not None and record.outcome is not None and not record.tainted:
            runs.setdefault(record.parent, []).append(record)
    wanted = [trial.number] if trial is not None else list(runs)
    parents = store.trials(campaign, numbers=[number for number in wanted if number in runs])
    cases = [case for parent in parents if (case := _smallest(parent, runs[parent.number])) is not None]
    return sorted(cases, key=lambda case: _size(case.after.spec))


def _smallest(parent: TrialRecord, runs: Sequence[TrialRecord]) -> MinimalCase | None:
    """Return what shrinking ended with, or the smallest so far that fails often enough in the same way.

    Any failure will do where it never failed in the same way.
    """
    for same in (lambda run: run.signature == parent.signature, lambda run: run.outcome in FAILURES):
        found = []
        for group in _by_batch(runs, without=parent.spec):
            told = [run for run in group if run.outcome is not Outcome.INCONCLUSIVE]
            told = told[-SETTLED_RUNS:]  # those by which it was not chosen, where shrinking came to its end
            failing = [run for run in told if same(run)]
            if failing and len(failing) >= LEAST_RATE * len(told):
                rate = Rate.of("runs with the same signature", len(failing), len(told), Sample.REPLICATES)
                found.append(MinimalCase(before=parent, after=failing[-1], rate=rate, trials=len(runs)))
        settled = [case for case in found if case.rate.trials >= SETTLED_RUNS]
        if settled:
            return max(settled, key=lambda case: case.after.number)
        smallest = min(found, key=lambda case: _size(case.after.spec), default=None)
        if smallest is not None and _size(smallest.after.spec) < _size(parent.spec):
            return smallest
    return None


def _by_batch(runs: Sequence[TrialRecord], *, without: TrialSpec) -> list[list[TrialRecord]]:
    groups: dict[TrialSpec, list[TrialRecord]] = {}
    for run in runs:
        groups.setdefault(_batch_of(run.spec), []).append(run)
    groups.pop(_batch_of(without), None)
    return list(groups.values())


def _batch_of(spec: TrialSpec) -> TrialSpec:
    return replace(spec, number=0, run_seed=0, gpu=0)


def _size(spec: TrialSpec) -> tuple[int, int, int, int]:
    """Order by descriptors, then bytes, submissions and axes that are not at their defaults."""
    return len(spec.sizes), int(spec.sizes.sum()), spec.repetition, len(spec.point.departures())


def minimal_sentence(case: MinimalCase) -> str:
    """Return one sentence for people."""
    return (
        f"Trial {case.after.ref} fails in the same way in {case.rate.failures} of {plural(case.rate.trials, 'run')} "
        f"(95 %: {case.rate.interval.answer}); shrinking trial {case.before.number} to it took "
        f"{plural(case.trials, 'trial')}."
    )
