"""Campaigns for tests."""

from cubisect.space import Space
from cubisect.store import NewCampaign


def new_campaign(name: str = "c", budget: int = 10) -> NewCampaign:
    """Return a campaign on `sim:null` over the default space."""
    return NewCampaign(
        name=name, driver="sim:null", simulated=True, seed=7, space=Space.default(), sampler="sobol", budget=budget,
        settings={"enqueue": []}, environment={"driver": {"driver": "sim:null"}},
    )  # fmt: skip
