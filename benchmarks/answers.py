"""Draw the pictures and print the table of docs/answers.md from recorded campaigns: `python benchmarks/answers.py`."""

from pathlib import Path

import pandas as pd

from cubisect.analysis.frame import conclusive, failed
from cubisect.analysis.rates import proportion
from cubisect.analysis.summary import analyze
from cubisect.report import plots
from cubisect.space import KIB, MIB
from cubisect.store.store import Store
from cubisect.trial import Purpose

ROOT = Path(__file__).resolve().parent.parent
CAMPAIGNS = (("h200-busy", "h200-busy-boundary"), ("h200-busy", "h200-busy-sobol"), ("h200-quiet", "h200-quiet"))
DATABASES = ("h200-quiet", "h200-busy", "h200-spares")
PICTURES = ROOT / "docs" / "pictures"

SMALL, BELOW = 24 * KIB, "below_24k"
PER_COPY_BYTES = 32
"""Assumed cost of a copy beside its data. From 24 to 36 bytes give the same table; its source is a guess (docs)."""

LIMIT = 4 * MIB
FEW_CHANGES = 1_100
EDGES_MIB = (0, 2, 3, 4, 5, 6, 8, 16, 64, 4096)


def main() -> None:
    """Write one failure map for each campaign, and one of the small copies over all of them."""
    for database, name in CAMPAIGNS:
        store = _open(database)
        campaign = store.campaign(name)
        frame = store.frame(campaign)
        _write(name, plots.failure_map(frame, analyze(frame, campaign.space).regions.rules))
        store.close()
    trials = host_to_device()
    figure = plots.failure_map(trials, pairs=[(f"bytes_{BELOW}", "size_changes")])
    figure.axes[0].axvline(LIMIT, linestyle="--", color="black", linewidth=1)
    figure.axes[0].text(LIMIT * 0.9, 1, "4 MiB", rotation=90, ha="right")
    _write("h200-small-copies", figure)
    print(small_copies(trials).to_string(), rivals(trials).to_string(), sep="\n\n")


def host_to_device() -> pd.DataFrame:
    """Return every recorded batch call from host to device that says something."""
    frames = []
    for database in DATABASES:
        store = _open(database)
        frames += [store.frame(store.campaign(campaign.name)) for campaign in store.campaigns()]
        store.close()
    trials = conclusive(pd.concat(frames, ignore_index=True))
    chosen = trials[trials["direction"] == "h2d"].copy()
    chosen.attrs = {"campaign": "all recorded host-to-device batch calls"}
    return chosen


def cost(trials: pd.DataFrame) -> pd.Series:
    """Return the bytes that one call has in small copies, with what each copy is assumed to cost beside its data."""
    return trials[f"bytes_{BELOW}"] + PER_COPY_BYTES * trials[f"count_{BELOW}"]


def small_copies(trials: pd.DataFrame) -> pd.DataFrame:
    """Return failures by the bytes that one call has in small copies: of the search alone, and of all trials."""
    binned = trials.assign(mib=pd.cut(cost(trials) / MIB, EDGES_MIB, right=False))
    search = binned[binned["purpose"] == str(Purpose.SEARCH)]
    columns = {
        title: {interval: _rate(group) for interval, group in rows.groupby("mib", observed=False)}
        for title, rows in (("search", search), ("all", binned))
    }
    return pd.DataFrame(columns).rename_axis("MiB in small copies, per call")


def rivals(trials: pd.DataFrame) -> pd.DataFrame:
    """Return failures of calls with little in small copies that are large in another way, and of the contrary."""
    little = cost(trials) < LIMIT
    groups = {
        "little in small copies": little,
        "… and 4 MiB or more in all": little & (trials["total_bytes"] >= LIMIT),
        "… and 4 MiB or more in small copies over all repetitions": little
        & (cost(trials) * trials["repetition"] >= LIMIT),
        "… and 10,000 descriptors or more": little & (trials["descriptor_count"] >= 10_000),
        "… and a busy neighbour": little & (trials["neighbours"] > 0),
        f"much in small copies, fewer than {FEW_CHANGES:,} changes of size": ~little
        & (trials["size_changes"] < FEW_CHANGES),
    }
    return pd.DataFrame({"all": {name: _rate(trials[chosen]) for name, chosen in groups.items()}})


def _rate(rows: pd.DataFrame) -> str:
    k, n = int(failed(rows).sum()), len(rows)
    interval = proportion(k, n)
    return f"{k} of {n} ({100 * interval.low:.1f} to {100 * interval.high:.1f} %)"


def _open(database: str) -> Store:
    return Store.open(str(ROOT / "db" / "reference" / f"{database}.sqlite"))


def _write(name: str, figure: plots.Figure) -> None:
    (PICTURES / f"{name}.png").write_bytes(plots.png(figure))


if __name__ == "__main__":
    main()
