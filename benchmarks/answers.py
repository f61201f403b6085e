"""Draw the pictures of docs/answers.md from the recorded campaigns: `python benchmarks/answers.py`."""

from pathlib import Path

from cubisect.analysis.summary import analyze
from cubisect.report import plots
from cubisect.store.store import Store

ROOT = Path(__file__).resolve().parent.parent
CAMPAIGNS = (("h200-busy", "h200-busy-boundary"), ("h200-busy", "h200-busy-sobol"), ("h200-quiet", "h200-quiet"))


def main() -> None:
    """Write one failure map for each campaign under docs/pictures."""
    for database, name in CAMPAIGNS:
        store = Store.open(str(ROOT / "db" / "reference" / f"{database}.sqlite"))
        campaign = store.campaign(name)
        frame = store.frame(campaign)
        figure = plots.failure_map(frame, analyze(frame, campaign.space).regions.rules)
        (ROOT / "docs" / "pictures" / f"{name}.png").write_bytes(plots.png(figure))
        store.close()


if __name__ == "__main__":
    main()
