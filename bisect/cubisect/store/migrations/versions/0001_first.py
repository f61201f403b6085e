"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "environments",
        sa.Column("id", ROW_ID, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("fingerprint", sa.JSON(), nullable=False),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", ROW_ID, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("driver", sa.String(200), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("space", sa.JSON(), nullable=False),
        sa.Column("sampler", sa.String(50), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("environment_id", ROW_ID, sa.ForeignKey("environments.id"), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("claimed", sa.Integer(), nullable=False),
        sa.Column("next_number", sa.Integer(), nullable=False),
        sa.Column("finished", sa.Integer(), nullable=False),
    )
    op.create_table(
        "batches",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("packed", sa.Text(), nullable=False),
    )
    op.create_table(
        "trials",
        sa.Column("id", ROW_ID, primary_key=True),
        sa.Column("campaign_id", ROW_ID, sa.ForeignKey("campaigns.id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("purpose", sa.String(20), nullable=False),
        sa.Column("origin", sa.String(20)),
        sa.Column("parent", sa.Integer()),
        sa.Column("method", sa.String(10), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("run_seed", sa.BigInteger(), nullable=False),
        sa.Column("batch_digest", sa.String(64), sa.ForeignKey("batches.digest")),
        sa.Column("owner", sa.String(100), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime()),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime()),
        sa.Column("finished", sa.Integer()),
        sa.Column("outcome", sa.String(20)),
        sa.Column("reason", sa.Text()),
        sa.Column("cuda_error", sa.Integer()),
        sa.Column("cuda_error_name", sa.String(100)),
        sa.Column("fail_index", sa.BigInteger()),
        sa.Column("phase", sa.String(10)),
        sa.Column("repetition_reached", sa.Integer()),
        sa.Column("signature", sa.String(12)),
        sa.Column("signature_title", sa.Text()),
        sa.Column("wall_s", sa.Float()),
        sa.Column("gpu", sa.String(100)),
        sa.Column("lane", sa.Integer()),
        sa.Column("tainted", sa.Boolean(), nullable=False),
        sa.Column("features", sa.JSON()),
        sa.Column("evidence", sa.JSON()),
        sa.Column("descriptor_count", sa.BigInteger(), nullable=False),
        sa.Column("total_bytes", sa.BigInteger(), nullable=False),
        sa.Column("repetition", sa.BigInteger(), nullable=False),
        sa.Column("size_mix", sa.String(50), nullable=False),
        sa.Column("size_spread", sa.Float(), nullable=False),
        sa.Column("direction", sa.String(50), nullable=False),
        sa.Column("size_floor", sa.BigInteger(), nullable=False),
        sa.Column("size_cap", sa.BigInteger(), nullable=False),
        sa.Column("size_order", sa.String(50), nullable=False),
        sa.Column("layout", sa.String(50), nullable=False),
        sa.Column("alignment", sa.BigInteger(), nullable=False),
        sa.Column("gap", sa.BigInteger(), nullable=False),
        sa.Column("host_memory", sa.String(50), nullable=False),
        sa.Column("access_order", sa.String(50), nullable=False),
        sa.Column("attribute_count", sa.BigInteger(), nullable=False),
        sa.Column("attrs_layout", sa.String(50), nullable=False),
        sa.Column("flags", sa.Integer(), nullable=False),
        sa.Column("abi", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(50), nullable=False),
        sa.Column("stream_state", sa.String(50), nullable=False),
        sa.Column("sync_between", sa.Boolean(), nullable=False),
        sa.Column("in_flight", sa.BigInteger(), nullable=False),
        sa.Column("chunk", sa.BigInteger(), nullable=False),
        sa.Column("neighbours", sa.BigInteger(), nullable=False),
        sa.Column("neighbour_kind", sa.String(50), nullable=False),
        sa.Column("ranks", sa.BigInteger(), nullable=False),
        sa.Column("invalid", sa.String(50), nullable=False),
        sa.Column("workload", sa.String(50), nullable=False),
        sa.Column("scale", sa.BigInteger(), nullable=False),
        sa.Column("fragmentation", sa.Float(), nullable=False),
        sa.UniqueConstraint("campaign_id", "number"),
    )
    op.create_index("ix_trials_finished", "trials", ["campaign_id", "finished"])
    op.create_index("ix_trials_state", "trials", ["campaign_id", "state"])


def downgrade() -> None:
    """Drop the tables."""
    for table in ("trials", "batches", "campaigns", "environments"):
        op.drop_table(table)
