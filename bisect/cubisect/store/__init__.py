"""The record: SQLAlchemy models, migrations, import and export."""

from cubisect.store.records import REPLAYS, Campaign, CampaignSummary, NewCampaign, Plan, Result, TrialRecord
from cubisect.store.store import Store

__all__ = ["REPLAYS", "Campaign", "CampaignSummary", "NewCampaign", "Plan", "Result", "Store", "TrialRecord"]
