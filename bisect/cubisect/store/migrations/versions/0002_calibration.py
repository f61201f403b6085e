"""Calibrated constants for deadlines, and an index for looking up outcomes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the index."""
    op.create_table(
        "calibration",
        sa.Column("driver", sa.String(200), primary_key=True),
        sa.Column("gpu", sa.String(100), primary_key=True),
        sa.Column("name", sa.String(50), primary_key=True),
        sa.Column("value", sa.Float(), nullable=False),
    )
    op.create_index("ix_trials_outcome", "trials", ["campaign_id", "outcome"])


def downgrade() -> None:
    """Drop both."""
    op.drop_index("ix_trials_outcome", "trials")
    op.drop_table("calibration")
