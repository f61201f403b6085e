"""The environment of a trial that ran elsewhere than where its campaign was made."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; trials of older campaigns ran, as far as is known, where the campaign was made."""
    kind = "INTEGER" if op.get_bind().dialect.name == "sqlite" else "BIGINT"
    # In one statement: SQLite adds no constraint to a column that is there.
    op.execute(f"ALTER TABLE trials ADD COLUMN environment_id {kind} REFERENCES environments (id)")


def downgrade() -> None:
    """Drop it."""
    with op.batch_alter_table("trials") as trials:
        trials.drop_column("environment_id")
