"""Recorded campaigns for the tests of the service, written straight into the tables, 100,000 trials in seconds."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, update

from cubisect.features import FEATURES
from cubisect.outcome import FAILURES, CrashEvidence, Evidence, Outcome, Phase
from cubisect.space import Point, Space
from cubisect.store import Campaign, NewCampaign, Store
from cubisect.store.codec import evidence_to_json
from cubisect.store.database import open_engine
from cubisect.store.models import CampaignRow, TrialRow

EVIDENCE = Evidence(
    signal=11,
    phase=Phase.SUBMIT,
    repetition=1,
    wall_s=0.05,
    crash=CrashEvidence(python_stack="Fatal error\n  File <b>\n" + "a line longer than a page is wide, " * 20),
)
WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def record_campaign(
    path: Path, name: str = "band", *, trials: int = 60, budget: int | None = None, seed: int = 1, **settings: Any
) -> Campaign:
    """Record a campaign whose trials fail in a band of the plane. The budget is spent unless one is given."""
    store = Store.open(str(path), create=True)
    campaign = store.create_campaign(
        NewCampaign(
            name=name,
            driver="sim:band",
            simulated=True,
            seed=seed,
            space=Space.default(),
            sampler="boundary",
            budget=budget or trials,
            environment={"gpu": settings.get("gpu", "simulated"), "driver_version": "1.0"},
        )
    )
    rows = [_row(campaign, number, *draw) for number, draw in enumerate(_draws(trials, seed), 1)]
    engine = open_engine(str(path), create=False)
    with engine.execution_options(writes=True).begin() as connection:
        if rows:
            connection.execute(insert(TrialRow), rows)
        counters = {"claimed": trials, "next_number": trials + 1, "finished": trials}
        connection.execute(update(CampaignRow).where(CampaignRow.id == campaign.id).values(counters))
    engine.dispose()
    store.close()
    return campaign


def _draws(trials: int, seed: int) -> list[tuple[int, int, Outcome]]:
    rng = np.random.default_rng(seed)
    counts = (2.0 ** rng.uniform(0, 20, trials)).astype(int).tolist()
    totals = (2.0 ** rng.uniform(20, 32, trials)).astype(int).tolist()
    kinds = [Outcome.SEGFAULT, Outcome.HANG, Outcome.ASYNC_ERROR]
    chance = rng.uniform(size=trials).tolist()
    picks = rng.integers(0, 3, trials).tolist()
    fails = [c < 0.8 and 12 < np.log2(max(t / n, 1)) < 15 for n, t, c in zip(counts, totals, chance, strict=True)]
    return [(n, t, kinds[k] if bad else Outcome.OK) for n, t, k, bad in zip(counts, totals, picks, fails, strict=True)]


def _row(campaign: Campaign, number: int, count: int, total: int, outcome: Outcome) -> dict[str, Any]:
    failing = outcome in FAILURES
    features = dict.fromkeys(FEATURES, 0.0)
    features |= {"mean_size": total / count, "submitted_descriptors": count, "submitted_bytes": total}
    return {
        **Point(descriptor_count=count, total_bytes=total).values(),
        "campaign_id": campaign.id, "number": number, "state": "done", "simulated": True, "purpose": "search",
        "origin": "explore", "parent": None, "method": "batch", "seed": number, "run_seed": number,
        "owner": "test", "started_at": WHEN, "ended_at": WHEN, "finished": number, "outcome": str(outcome),
        "reason": f"{outcome} <b>in</b> submit", "phase": "submit" if failing else "done", "repetition_reached": 1,
        "signature": "0123456789ab" if failing else None, "wall_s": 0.05, "lane": 0, "tainted": False,
        "signature_title": f"{outcome} in submit" if failing else None, "features": features,
        "evidence": evidence_to_json(EVIDENCE) if failing else None,
    }  # fmt: skip
