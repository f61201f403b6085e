"""The faults of a campaign, from the trials that were run under a debugger."""

from cubisect.analysis.faults import Diagnosed, Faults, faults_of
from cubisect.outcome import FAILURES
from cubisect.store import Campaign, Store, TrialRecord


def recorded_faults(store: Store, campaign: Campaign) -> Faults:
    """Return what the recorded frames say."""
    return faults_of(Diagnosed(
        number=record.number, outcome=str(record.outcome), signature_title=record.signature_title or "",
        frames=frames_of(record),
    ) for record in store.trials(campaign, outcomes=FAILURES))  # fmt: skip


def frames_of(record: TrialRecord) -> tuple[str, ...]:
    """Return module and offset of a trial's frames, none where nobody has looked."""
    crash = (record.evidence_json or {}).get("crash") or {}
    return tuple(crash.get("frames") or ())
